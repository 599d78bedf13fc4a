/** Runs that another is compared with, and people that are chosen by lot. */
import { expect, test } from 'vitest'
import { type Exception, type ExportStart, noTallies, type RunStart } from '../../src/ledger/ledger.ts'
import { noCounts } from '../../src/model/balance.ts'
import { rowsOfExport } from '../../src/runs/backfills.ts'
import { lastRun, newReasons } from '../../src/runs/new-reasons.ts'
import { createLowestDraws, drawOf } from '../../src/runs/reconcile.ts'
import { beginExport, beginRun, openChunk, passingLedger, settleChunk } from '../ledger/begun-run.ts'

const rejected = (code: string, rule: string | null, more: Partial<Exception> = {}): Exception => ({
  ...{ row: 1, line: 2, byteOffset: 1, kind: rule === null ? null : 'biometric', rule, content: null },
  ...{ outcome: 'rejected', stage: 'transform', code, field: null, message: 'm', batchId: null, ...more },
})

async function scene() {
  const ledger = await passingLedger()
  let runs = 0
  /** A run of one export. */
  const ran = async (
    start: Partial<RunStart> & { readonly job?: string } = {},
    {
      state = 'finished',
      left = [],
      ...more
    }: Partial<ExportStart> & {
      readonly state?: 'finished' | 'failed' | 'interrupted'
      readonly left?: readonly Exception[]
    } = {},
  ): Promise<string> => {
    const id = `run-${++runs}`
    const run = await beginRun(ledger, id, { startedAt: runs, ...start })
    const exportRow = await beginExport(run, { sha256: id, ...more })
    await openChunk(run, exportRow, 1)
    await settleChunk(run, exportRow, 1, { exceptions: left })
    await run.endExport(exportRow, 'finished')
    await run.endRun({ state, endedAt: runs, reason: null })
    await ledger.leases.release(run.lease)
    return id
  }
  return { ledger, ran }
}

const NIGHTLY = { job: 'nightly', gateway: 'gateway' }

test('compared is the newest finished run that read a whole export, of the job at the gateway', async () => {
  const { ledger, ran } = await scene()
  const last = async () => (await lastRun(ledger, NIGHTLY))?.id
  expect(await last()).toBeUndefined()
  const first = await ran()
  await ran({ job: 'weekly' })
  await ran({}, { state: 'failed' })
  await ran({}, { state: 'interrupted' })
  await ran({ origin: { run: first, selection: 'rejected' } })
  await ran({}, { reading: 'rejects' })
  expect(await last()).toBe(first)
  expect((await lastRun(ledger, { ...NIGHTLY, gateway: 'another' }))?.id).toBeUndefined()
  const pruned = await ran()
  expect(await last()).toBe(pruned)
  await ledger.pruning.mark(pruned, new Map(), 99)
  expect(await last()).toBe(first)
})

test('by a mapping compared is the newest run of any job that read with it', async () => {
  const { ledger, ran } = await scene()
  const other = { name: 'n', digest: 'd2', content: '{}' }
  await ran()
  const weekly = await ran({ job: 'weekly' })
  const late = await ran({}, { mapping: other })
  expect((await lastRun(ledger, { mapping: 'm' }))?.id).toBe(weekly)
  expect((await lastRun(ledger, { mapping: 'n' }))?.id).toBe(late)
  expect(await lastRun(ledger, { mapping: 'x' })).toBeUndefined()
})

test('new is a reject whose reason, of its rule, the compared run did not have: the most frequent first', async () => {
  const { ledger, ran } = await scene()
  const left = [
    rejected('date-invalid', null),
    rejected('unit-unknown', 'weight'),
    rejected('care-team-kept', 'pcp', { outcome: 'warning' }),
  ]
  const run = await ran({}, { left })
  const found = [
    { code: 'date-invalid', rule: null, count: 9 },
    { code: 'unit-unknown', rule: 'weight', count: 8 },
    { code: 'unit-unknown', rule: 'height', count: 1 },
    { code: 'date-invalid', rule: 'weight', count: 2 },
    { code: 'care-team-kept', rule: 'pcp', count: 3 },
  ]
  expect(await newReasons(ledger, NIGHTLY, found)).toEqual({ run, reasons: [found[4], found[3], found[2]] })
  expect(await newReasons(ledger, { job: 'weekly', gateway: 'gateway' }, found)).toBeUndefined()
})

test('rows of an export are those of its settled chunks; of a pruned one its total', async () => {
  const ledger = await passingLedger()
  const run = await beginRun(ledger, 'run-1')
  const id = await beginExport(run)
  const counts = (read: number): string => {
    const own = noCounts()
    return JSON.stringify({ ...own, rows: { ...own.rows, read } })
  }
  for (const chunk of [1, 2, 3]) await openChunk(run, id, chunk)
  for (const chunk of [1, 2])
    await settleChunk(run, id, chunk, { counts: counts(chunk), tallies: noTallies() })
  expect(await rowsOfExport(ledger, { id, totals: null })).toBe(3)
  expect(await rowsOfExport(ledger, { id, totals: counts(7) })).toBe(7)
})

test('the lot of a person is from 0 to 1, alike for a seed and evenly spread', () => {
  const draws = Array.from({ length: 4_000 }, (_, at) => drawOf('seed', `person ${at}`))
  expect(drawOf('seed', 'person 0')).toBe(draws[0])
  expect(drawOf('another', 'person 0')).not.toBe(draws[0])
  for (const tenth of Array.from({ length: 10 }, (_, at) => at / 10)) {
    const share = draws.filter((one) => one >= tenth && one < tenth + 0.1).length / draws.length
    expect(share).toBeGreaterThan(0.07)
    expect(share).toBeLessThan(0.13)
  }
})

test.each<[number, number[], number]>([
  [2, [], -1],
  [2, [0.5], 0.5],
  [2, [0.5, 0.1, 0.9], 0.5],
  [2, [0.9, 0.5, 0.1], 0.5],
  // Two records of a person are one lot.
  [2, [0.1, 0.1, 0.1, 0.9, 0.5], 0.5],
  [3, [0.4, 0.3, 0.2, 0.1, 0.2], 0.3],
  [1, [0, 0.5], 0],
])('the %i lowest lots of %j end with %d', (people, draws, highest) => {
  const lowest = createLowestDraws(people)
  for (const draw of draws) lowest.add(draw)
  expect(lowest.highest).toBe(highest)
})
