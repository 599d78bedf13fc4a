import { readFileSync } from 'node:fs'
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { LAKESIDE, lakesideLines } from '../../samples/lakeside.ts'
import { createWorkplace, PROJECT } from '../cli/command-line.ts'
import { page } from './pages.ts'

/** Blocks of code in their order, with what the comment before one says. */
const blocks = [...page('docs/tutorial.md').matchAll(/(?:<!-- exit (\d+) -->\n)?```(\w+)\n(.*?)```/gs)].map(
  ([, exit = '0', kind, body = '']) => ({ exit: Number(exit), kind, body }),
)

/** Columns are as wide as what stands in them, and blanks at the end of a line are not seen. */
const alike = (line: string): string => line.replaceAll(/ +/g, ' ').trim()

it('the sample of the tutorial is what its generator makes', () => {
  expect(readFileSync(LAKESIDE, 'utf8')).toBe([...lakesideLines()].join(''))
})

it('docs/tutorial.md: each command does and prints what it says, one after the other', async () => {
  const workplace = await createWorkplace()
  const { folder } = workplace
  for (const name of ['samples/tutorial', 'mappings/catalog'])
    await cp(join(PROJECT, name), join(folder, name), { recursive: true })
  Object.assign(workplace.environment, {
    WAYBILL_MAPPINGS: join(folder, 'mappings'),
    WAYBILL_GATEWAY_URL: 'built-in',
  })
  let printed = readFileSync(LAKESIDE, 'utf8')
  for (const { exit, kind, body } of blocks) {
    if (kind === 'text') {
      const lines = printed.split('\n').map(alike)
      let from = 0
      for (const line of body.trimEnd().split('\n')) {
        const found = lines.indexOf(alike(line), from)
        expect(found, `${line}\nin\n${printed}`).toBeGreaterThanOrEqual(0)
        from = found + 1
      }
    } else if (kind === 'yaml') {
      const [, name = ''] = /^# (\S+)\n/.exec(body) ?? []
      await writeFile(join(folder, name), body)
    } else if (kind === 'diff') {
      const [, name = '', changes = ''] = /^--- (\S+)\n(.*)$/s.exec(body) ?? []
      const of = (sign: string): string =>
        changes
          .split('\n')
          .flatMap((line) => (line.startsWith(sign) ? [`${line.slice(1)}\n`] : []))
          .join('')
      const before = await readFile(join(folder, name), 'utf8')
      expect(before.split(of('-')), `${of('-')}\nin\n${before}`).toHaveLength(2)
      await writeFile(
        join(folder, name),
        before.replace(of('-'), () => of('+')),
      )
    } else {
      printed = ''
      for (const command of body.trimEnd().split('\n')) {
        const [npx, waybill, ...args] = command.split(' ')
        expect([npx, waybill]).toEqual(['npx', 'waybill'])
        const { code, out, err } = await workplace.waybill(...args)
        printed += out
        if (command === body.trimEnd().split('\n').at(-1)) expect(code, `${command}\n${out}${err}`).toBe(exit)
      }
    }
  }
  expect(blocks.filter(({ kind }) => kind === 'sh').length).toBeGreaterThan(6)
})
