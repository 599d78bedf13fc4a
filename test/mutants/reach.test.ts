import { expect, test } from 'vitest'
import { probed } from './reach.ts'

const SOURCES = new Map([
  ['parts.ts', 'const [TENTH, HALF] = [0.1, 0.5]\nexport const half = (n: number) => n * HALF\n'],
  ['limits.ts', 'export const LIMIT = 5\nexport const LIMITS = { most: LIMIT }\n'],
  ['use.ts', "import { LIMITS } from './limits.ts'\nexport const isOver = (n: number) => n > LIMITS.most\n"],
  ['own.ts', 'export function f(a = 1) {\n  if (a) return\n  for (const b of c) d(b, (e) => e + 1)\n}\n'],
])

const probe = (file: string, text: string): Map<string, string> => {
  const start = SOURCES.get(file)?.indexOf(text) ?? -1
  return probed(SOURCES, [{ file, start, end: start + text.length }], (at) => `note(${at})`)
}

test('a statement is noted before it begins', () => {
  expect(probe('own.ts', 'a) return').get('own.ts')).toContain('{\n  note(0);if (a) return')
})

test('an expression that is all of a function is noted with it', () => {
  expect(probe('own.ts', 'e + 1').get('own.ts')).toContain('(e) => (note(0), e + 1))')
})

test('what a parameter is by default is noted where its function begins', () => {
  expect(probe('own.ts', '= 1').get('own.ts')).toContain('f(a = 1) {note(0);\n')
})

test('a constant of a module is noted where functions use what is made of it, in other files too', () => {
  expect([...probe('limits.ts', '5')]).toEqual([
    [
      'use.ts',
      "import { LIMITS } from './limits.ts'\nexport const isOver = (n: number) => (note(0), n > LIMITS.most)\n",
    ],
  ])
})

test('so is one that is declared with others, in a list', () => {
  expect(probe('parts.ts', '0.5').get('parts.ts')).toContain('=> (note(0), n * HALF)')
})
