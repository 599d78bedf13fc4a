import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openExport } from '../../src/extract/open-export.ts'
import { readDefinition } from '../../src/extract/read-definition.ts'
import { type Reading, type RowPair, rowPairs } from '../../src/mapping-tools/compare-outcomes.ts'

async function pairs(content: Buffer, before: object, after: object): Promise<RowPair[]> {
  const folder = await mkdtemp(join(tmpdir(), 'waybill-pairs-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const path = join(folder, 'export.csv')
  await writeFile(path, content)
  const reading = async (definition: object): Promise<Reading> => {
    const read = readDefinition.parse({ format: 'csv', ...definition })
    return { read, opened: await openExport(path, read) }
  }
  const found: RowPair[] = []
  for await (const block of rowPairs(await reading(before), await reading(after))) found.push(...block)
  return found
}

const lines = (found: readonly RowPair[]): (number | undefined)[][] =>
  found.map((pair) => pair.map((row) => row?.line))

const cells = (pair: RowPair | undefined): unknown =>
  pair?.map((row) => (row?.kind === 'cells' ? row.cells.join() : row?.kind))

test('mappings that read alike see each row once', async () => {
  const found = await pairs(Buffer.from('a,b\n1,2\n3,4\n'), {}, {})
  expect(lines(found)).toEqual([
    [2, 2],
    [3, 3],
  ])
  expect(found.every(([one, other]) => one === other)).toBe(true)
})

test('rows that begin on the same line are paired, and others stand alone', async () => {
  const text = 'a,b\nunits,x\n1,2\n# remark,\n3,4\nTRL,2\n'
  const found = await pairs(
    Buffer.from(text),
    {},
    { header: { skip: 1 }, comment: '#', trailer: { match: '^TRL' } },
  )
  expect(lines(found)).toEqual([
    [2, undefined],
    [3, 3],
    [4, undefined],
    [5, 5],
    [6, undefined],
  ])
})

test('a file that is decoded differently is paired by line', async () => {
  const latin = Buffer.from('a\nJos\xe9\nZo\xeb\nx\n', 'latin1')
  const found = await pairs(latin, { encoding: 'windows-1252' }, { encoding: 'utf-8' })
  expect(lines(found)).toEqual([
    [2, 2],
    [3, 3],
    [4, 4],
  ])
  expect(found.map(cells)).toEqual([
    ['José', 'unreadable'],
    ['Zoë', 'unreadable'],
    ['x', 'x'],
  ])
})
