import { expect, test } from 'vitest'
import { createNearest } from './nearest.ts'

const TEXTS = new Map([
  [
    'src/story/sums.ts',
    'const half = (n: number) => n / 2\nexport const third = (n: number) => n / 3\nexport const quarter = (n: number) => half(half(n))\n',
  ],
  ['src/story/page.ts', "import { quarter } from './sums.ts'\nexport const page = () => quarter(8)\n"],
  ['src/story/all.ts', "export * from './sums.ts'\n"],
  ['src/main.ts', "export const main = async () => (await import('./story/page.ts')).page()\n"],
  ['test/story/sums.test.ts', "import { main } from '../../src/main.ts'\nmain()\n"],
  ['test/story/page.test.ts', "import { page } from '../../src/story/page.ts'\npage()\n"],
  ['test/story/third.test.ts', "import { third } from '../../src/story/sums.ts'\nthird(9)\n"],
  ['test/story/typed.test.ts', "import type { quarter } from '../../src/story/sums.ts'\n"],
  ['test/laws/all.test.ts', "import { quarter } from '../../src/story/all.ts'\nquarter(8)\n"],
  ['test/cli/clinic.ts', "import { main } from '../../src/main.ts'\nexport const clinic = () => main()\n"],
  ['test/cli/named.test.ts', "import { clinic } from './clinic.ts'\nclinic('sums')\n"],
  ['test/cli/another.test.ts', "import { clinic } from './clinic.ts'\nclinic()\n"],
])

const nearestTo = (text: string): string[] => {
  const start = TEXTS.get('src/story/sums.ts')?.indexOf(text) ?? -1
  return createNearest(TEXTS)({ file: 'src/story/sums.ts', start, end: start + text.length })
}

test('the test that mirrors the file comes first, then the shortest ways, then those that name the file', () => {
  expect(nearestTo('2')).toEqual([
    'test/story/sums.test.ts',
    'test/story/page.test.ts',
    'test/laws/all.test.ts',
    'test/cli/named.test.ts',
    'test/cli/another.test.ts',
  ])
})

test('tests of other declarations of the file are none', () => {
  expect(nearestTo('3')).toEqual(['test/story/third.test.ts'])
})
