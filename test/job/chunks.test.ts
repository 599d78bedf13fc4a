import fc from 'fast-check'
import { expect, it } from 'vitest'
import { CHUNK_SIZE, type Chunk, type ChunkRange, cutChunks } from '../../src/job/chunks.ts'
import type { CsvRow } from '../../src/model/row.ts'
import { biometric, EXPORT_ID, IDENTITY, mappedRow } from '../load/made-up-entries.ts'

const rowsOf = (count: number): CsvRow[] =>
  Array.from({ length: count }, (_, at) => ({
    kind: 'cells',
    row: at + 1,
    line: at + 2,
    byteOffset: at * 10,
    cells: [],
  }))
async function* inBlocks(rows: CsvRow[], size: number) {
  for (let at = 0; at < rows.length; at += size) yield rows.slice(at, at + size)
}
async function cut(
  rows: CsvRow[],
  block: number,
  range: Partial<ChunkRange> = {},
  records = 1,
): Promise<Chunk[]> {
  const made = biometric()
  const mapper = ({ row }: { row: number }) =>
    mappedRow(row % 7 === 0 ? [] : Array<typeof made>(records).fill(made), { row })
  const chunks: Chunk[] = []
  for await (const chunk of cutChunks(inBlocks(rows, block), mapper, IDENTITY, EXPORT_ID, {
    number: 1,
    skip: 0,
    limit: Number.POSITIVE_INFINITY,
    cutBefore: new Map(),
    ...range,
  }))
    chunks.push(chunk)
  return chunks
}
const shape = (chunks: Chunk[]) =>
  chunks.map((chunk) => [chunk.number, chunk.start.row, chunk.rows.length, chunk.entries.length])
const ordinals = (chunks: Chunk[]) => chunks.flatMap((chunk) => chunk.rows.map(({ source }) => source.row))

it('holds every row once, in order, and cuts the same whatever the blocks', async () => {
  const rows = rowsOf(2 * CHUNK_SIZE + 17)
  const expected = shape(await cut(rows, rows.length))
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 9000 }), async (block) => {
      const chunks = await cut(rows, block)
      expect(ordinals(chunks)).toEqual(rows.map(({ row }) => row))
      expect(shape(chunks)).toEqual(expected)
    }),
    { numRuns: 6 },
  )
})

it('closes with the row that brings it to so many rows or records', async () => {
  expect((await cut(rowsOf(CHUNK_SIZE + 1), 1000)).map((chunk) => chunk.rows.length)).toEqual([CHUNK_SIZE, 1])
  const wide = await cut(rowsOf(CHUNK_SIZE), 1000, {}, 10)
  for (const chunk of wide.slice(0, -1)) expect(chunk.entries.length).toBeGreaterThanOrEqual(CHUNK_SIZE)
  for (const chunk of wide) expect(chunk.entries.length).toBeLessThan(CHUNK_SIZE + 10)
})

it('gives the same rest when it goes on behind a settled chunk', async () => {
  const rows = rowsOf(3 * CHUNK_SIZE - 5)
  const whole = await cut(rows, 999)
  const [first] = whole
  const rest = await cut(rows, 1234, { number: 2, skip: first?.rows.length ?? 0 })
  expect(shape(rest)).toEqual(shape(whole.slice(1)))
  expect(rest.flatMap((chunk) => chunk.entries.map((entry) => entry.transactionId))).toEqual(
    whole.slice(1).flatMap((chunk) => chunk.entries.map((entry) => entry.transactionId)),
  )
})

it('takes no more rows than the limit', async () => {
  for (const limit of [0, 1, 10, 25, 30])
    expect(ordinals(await cut(rowsOf(25), 10, { limit }))).toHaveLength(Math.min(limit, 25))
  expect(ordinals(await cut(rowsOf(25), 10, { skip: 5, limit: 3 }))).toEqual([6, 7, 8])
})

it('of no rows cuts no chunk', async () => {
  expect(await cut([], 10)).toEqual([])
})
