/** Records that fill a chunk: those that are sent, and those that the mapping rejects, as each may be told of. */
import { expect, onTestFinished, test } from 'vitest'
import type { CsvRow } from '../../src/model/row.ts'
import { CHUNK_SIZE, cutChunks } from '../../src/run/chunks.ts'
import { biometric, EXPORT_ID, IDENTITY, mappedRow } from '../load/made-up-entries.ts'

const issue = { stage: 'transform', code: 'unit-unknown', message: 'm' } as const

test.each([
  [4, 0, 1, [1, 1, 1, 1]],
  [1, 3, 1, [1, 1, 1, 1]],
  [1, 1, 1, [2, 2]],
  [1, 0, 1, [4]],
  [2, 1, 1, [2, 2]],
  [4, 0, 2, [2, 2]],
  [8, 0, 4, [2, 2]],
  [8, 0, 16, [2, 2]],
])(
  '%i records sent of a row and %i rejected, in one of %i parts, make chunks of %j rows',
  async (sent, left, step, sizes) => {
    const usual = { ...CHUNK_SIZE }
    onTestFinished(() => void Object.assign(CHUNK_SIZE, usual))
    CHUNK_SIZE.records = 4
    const rejected = Array.from({ length: left }, () => ({
      kind: 'biometric' as const,
      rule: 'weight',
      issue,
    }))
    async function* blocks() {
      yield [1, 2, 3, 4].map((row): CsvRow => {
        return { kind: 'cells', row, line: row + 1, byteOffset: row * 10, cells: [] }
      })
    }
    const mapper = ({ row }: { row: number }) => ({
      ...mappedRow(
        Array.from({ length: sent }, () => biometric()),
        { row },
      ),
      rejected,
    })
    const found: number[] = []
    const range = { number: 1, skip: 0, limit: Number.POSITIVE_INFINITY, cutBefore: new Map(), step }
    for await (const { rows } of cutChunks(blocks(), mapper, IDENTITY, EXPORT_ID, range))
      found.push(rows.length)
    expect(found).toEqual(sizes)
  },
)
