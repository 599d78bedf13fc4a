/** Settling of the rows in the middle of which `stopWhen` has stopped a run. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { noCounts } from '../../src/model/balance.ts'
import type { CsvRow } from '../../src/model/row.ts'
import type { ChunkRow } from '../../src/run/chunks.ts'
import { holdBack, readHeldBack } from '../../src/run/held-back.ts'
import { openAppended } from '../../src/run/receipts.ts'
import { gatherStory, mostFrequentReason } from '../../src/story/facts.ts'
import { readRejects } from '../cli/run-outputs.ts'
import { beginExport, beginRun, openChunk, passingLedger, settleChunk } from '../ledger/begun-run.ts'
import { mappedRow } from '../load/made-up-entries.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const ORIGIN = { name: 'a.csv', exportId: '0123456789abcdef' }

const place = (row: number) => ({ row, line: row + 1, byteOffset: row * 10 })
const source = (row: number): CsvRow => ({ kind: 'cells', ...place(row), cells: [`cell ${row}`] })
const issue = (code: string) => ({ stage: 'transform' as const, code, message: 'm' })
const rejected = (row: number, code = 'date-invalid'): ChunkRow => ({
  source: source(row),
  outcome: { ...place(row), outcome: 'rejected', issue: issue(code) },
})
const skipped = (row: number): ChunkRow => ({
  source: source(row),
  outcome: { ...place(row), outcome: 'skipped', reason: 'deceased', leftOut: [], warnings: [] },
})
const mapped = (row: number, ...rules: string[]): ChunkRow => ({
  source: source(row),
  outcome: {
    ...mappedRow([], { row }),
    rejected: rules.map((rule) => ({ kind: 'biometric' as const, rule, issue: issue('unit-unknown') })),
  },
})

async function hold(rows: readonly ChunkRow[], before = '') {
  const folder = await temporaryFolder()
  const path = join(folder, 'rejects.csv')
  const file = openAppended(folder, path, 0, async () => {})
  await file.append(Buffer.from(before))
  const held = readHeldBack(await holdBack(ORIGIN, ['one'], file, { rows }))
  await file.close()
  return { held, path }
}

test('rows and records are counted by why they were left, the most frequent first; what went through is not', async () => {
  const rows = [
    mapped(1),
    rejected(2, 'row-too-short'),
    mapped(3, 'hba1c'),
    mapped(4, 'hba1c', 'pulse'),
    mapped(5, 'hba1c'),
    skipped(6),
    skipped(7),
  ]
  const { held, path } = await hold(rows)
  expect(held?.reasons.map(({ code, rule, count }) => [code, rule, count])).toEqual([
    ['unit-unknown', 'hba1c', 3],
    ['deceased', null, 2],
    ['row-too-short', null, 1],
    ['unit-unknown', 'pulse', 1],
  ])
  // In the file stand those that can be put right: no row that the mapping skips.
  expect(held?.sample).toBe(4)
  expect((await readRejects(path)).map(({ _row, _rule }) => `${_row} ${_rule}`)).toEqual([
    ...['2 ', '3 hba1c', '4 hba1c', '4 pulse', '5 hba1c'],
  ])
})

test('of many rows a hundred stand in the file, and all are counted', async () => {
  const { held, path } = await hold(Array.from({ length: 101 }, (_, at) => rejected(at + 1)))
  expect(held).toMatchObject({ reasons: [{ count: 101 }], sample: 100 })
  expect(await readRejects(path)).toHaveLength(100)
})

test('a file that has rejects already has its columns once; one that has none has no sample', async () => {
  const first = await hold([rejected(1)])
  const text = await readFile(first.path, 'utf8')
  const second = await hold([rejected(2)], text)
  expect((await readRejects(second.path)).map(({ _row }) => _row)).toEqual(['1', '2'])
  const none = await hold([mapped(1), skipped(2)])
  expect(none.held?.sample).toBe(0)
  await expect(readFile(none.path)).rejects.toThrow('ENOENT')
})

test('what stopped a run is told before what it left behind, of whichever export', async () => {
  const ledger = await passingLedger()
  const run = await beginRun(ledger, 'run-1')
  const [first, second] = [await beginExport(run), await beginExport(run, { ordinal: 2, name: 'b.csv' })]
  await openChunk(run, first, 1)
  const more = { kind: null, rule: null, content: null, field: null, message: 'm', batchId: null }
  await settleChunk(run, first, 1, {
    counts: JSON.stringify(noCounts()),
    exceptions: [{ ...place(1), outcome: 'rejected', stage: 'transform', code: 'date-invalid', ...more }],
  })
  const reason = { stage: 'transform', code: 'deceased', rule: null, field: null, message: 'm', count: 9 }
  await run.noteHeldBack(second, JSON.stringify({ reasons: [reason], sample: 0 }))
  expect(await mostFrequentReason(ledger, 'run-1')).toEqual({ code: 'date-invalid', count: 1 })
  const nothingLeft = { ...ledger, reasons: { ...ledger.reasons, mostFrequent: async () => undefined } }
  expect(await mostFrequentReason(nothingLeft, 'run-1')).toEqual({ code: 'deceased', count: 9 })
  expect(
    (await gatherStory({ ledger, home: '/home' }, 'run-1')).reasons.map((one) => [
      one.outcome,
      one.code,
      one.exportName,
    ]),
  ).toEqual([
    ['held-back', 'deceased', 'b.csv'],
    ['rejected', 'date-invalid', 'a.csv'],
  ])
})
