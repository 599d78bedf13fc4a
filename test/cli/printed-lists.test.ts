/** Lists as people read them: of a ledger with several of each, so that no second line, number or name may go missing. */
import { chmod, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Exception, RunLedger } from '../../src/ledger/ledger.ts'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { noCounts } from '../../src/model/balance.ts'
import { beginExport, beginRun, openChunk, settleChunk } from '../ledger/begun-run.ts'
import { createWorkplace } from './command-line.ts'

const NIGHT = Date.parse('2026-03-02T07:15:00Z')
const MINUTE_MS = 60_000
const DAY = Date.parse('2026-03-01T00:00:00Z') / 86_400_000

const rejected: Omit<Exception, 'row' | 'line'> = {
  ...{ byteOffset: 1, kind: 'biometric', rule: 'weight', content: 'c'.repeat(16), outcome: 'rejected' },
  ...{ stage: 'transform', code: 'value-not-a-number', field: null, message: 'm', batchId: null },
}
const doubtful = { ...rejected, outcome: 'in-doubt', stage: 'read-back', code: 'in-doubt' } as const

/** An export in one chunk. @param counted rows read, skipped, rejected */
async function readExport(
  run: RunLedger,
  name: string,
  ordinal: number,
  counted: readonly [number, number, number],
  exceptions: readonly Exception[] = [],
  day?: number,
): Promise<void> {
  const start = {
    ordinal,
    exportId: `${name}-${run.lease.runId}`,
    name,
    sha256: name,
    bytes: 1_500 * ordinal,
  }
  const exportRow = await beginExport(run, { ...start, ...(day === undefined ? {} : { day, anchor: 1 }) })
  const counts = noCounts()
  const [read, skipped, left] = counted
  Object.assign(counts.rows, { read, skipped, rejected: left, mapped: read - skipped - left })
  counts.records.biometric.inDoubt = exceptions.filter(({ outcome }) => outcome === 'in-doubt').length
  await openChunk(run, exportRow, 1)
  await settleChunk(run, exportRow, 1, { counts: JSON.stringify(counts), exceptions })
  await run.endExport(exportRow, 'finished')
}

async function install() {
  const { home, waybill, job } = await createWorkplace({}, NIGHT + 60 * MINUTE_MS)
  await job('nightly', 'exports: { from: in, match: "*.csv" }\nmapping: m\n')
  await mkdir(home, { mode: 0o700 })
  const ledger = await openLedger(join(home, 'ledger.sqlite'))
  const first = await beginRun(ledger, 'run-1', { startedAt: NIGHT })
  const rows = [
    { ...rejected, row: 1_200, line: 1_201 },
    { ...rejected, row: 1_300, line: 1_302, rule: null, content: null },
  ]
  const doubts = Array.from({ length: 201 }, (_, at) => ({ ...doubtful, row: 2_001 + at, line: 2_002 + at }))
  await readExport(first, 'a.csv', 1, [4_000, 30, 2], [...rows, ...doubts])
  await readExport(
    first,
    'b.csv',
    2,
    [7, 0, 1],
    [
      { ...rejected, row: 3, line: 4 },
      { ...doubtful, row: 5, line: 6 },
    ],
  )
  await first.endRun({ state: 'finished', endedAt: NIGHT + 1, reason: null })
  await ledger.leases.release(first.lease)
  const second = await beginRun(ledger, 'run-2', { startedAt: NIGHT + MINUTE_MS })
  await readExport(second, 'c.csv', 1, [9, 1, 0], [{ ...doubtful, row: 8, line: 9 }])
  await second.endRun({ state: 'finished', endedAt: NIGHT + MINUTE_MS + 1, reason: null })
  await ledger.leases.release(second.lease)
  const filled = [
    ['fill-1', '2026-01-01', '2026-01-31', 'archive'],
    ['fill-2', '2026-02-01', '2026-02-28', 'yearly'],
  ] as const
  for (const [at, [id, from, to, name]] of filled.entries()) {
    // The second is under way.
    const startedAt = NIGHT + (59 + at / 2) * MINUTE_MS
    const run = await beginRun(ledger, id, { job: name, startedAt, backfill: { from, to } })
    await readExport(run, 'd.csv', 1, [1_000 + at, 0, 0], [], DAY)
    await readExport(run, 'e.csv', 2, [2_000, 0, 0], [], DAY + 1)
    if (at > 0) continue
    await run.endRun({ state: 'interrupted', endedAt: startedAt + 90_000, reason: 'interrupted' })
    await ledger.leases.release(run.lease)
  }
  const note = { by: 'ann', at: NIGHT, note: 'moved' }
  for (const run of ['run-1', 'run-2'])
    await ledger.audit.note({ ...note, action: 'acknowledge', job: 'nightly', run, subject: null })
  for (const subject of ['one', 'two', 'three'])
    await ledger.audit.note({ ...note, action: 'accounts-erase', job: 'nightly', run: null, subject })
  await ledger.audit.note({
    ...note,
    by: 'ben',
    action: 'see-values',
    job: 'nightly',
    run: 'run-1',
    subject: 'x',
  })
  await ledger.close()
  await chmod(join(home, 'ledger.sqlite'), 0o600)
  /** Lines with one space between two words. */
  return async (...args: string[]): Promise<string[]> => {
    const { code, out, err } = await waybill(...args)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    return out
      .trimEnd()
      .split('\n')
      .map((line) => line.trim().replaceAll(/\s+/g, ' '))
  }
}

test('each list of a ledger has all lines, each with its own numbers, and says where it ends', async () => {
  const linesOf = await install()
  expect(await linesOf('exports', 'nightly')).toEqual([
    'export run begun rows skipped rejected size',
    'c.csv run-2 2026-03-02T07:16 9 1 0 1.5 kB',
    'b.csv run-1 2026-03-02T07:15 7 0 1 3.0 kB',
    'a.csv run-1 2026-03-02T07:15 4,000 30 2 1.5 kB',
  ])
  expect(await linesOf('exports', 'unread')).toEqual(['No run of unread has read an export yet.'])
  expect(await linesOf('backfills')).toEqual([
    'run job from to state exports rows at work',
    'fill-2 yearly 2026-02-01 2026-02-28 under way 2 3,001 0 s',
    'fill-1 archive 2026-01-01 2026-01-31 interrupted 2 3,000 0 s',
  ])
  expect(await linesOf('show', 'run-1', '--reason', 'value-not-a-number')).toEqual([
    'row line export rule today transaction',
    expect.stringMatching(/^1,200 1,201 a\.csv weight \S+ \S+$/),
    expect.stringMatching(/^1,300 1,302 a\.csv \(row\) \S+$/),
    expect.stringMatching(/^3 4 b\.csv weight \S+ \S+$/),
  ])
  expect(await linesOf('audit')).toEqual([
    'UTC by action of why',
    '2026-03-02 07:15 ann acknowledge 2 runs of nightly moved',
    '2026-03-02 07:15 ann accounts-erase 3 people moved',
    '2026-03-02 07:15 ben see-values run-1 x moved',
  ])
  const doubts = await linesOf('in-doubt')
  expect(doubts.filter((line) => line.startsWith('Run'))).toEqual([
    'Run run-2 of nightly: 1 record in doubt. To look again: waybill reconcile run-2',
    'Run run-1 of nightly: 200 records in doubt. To look again: waybill reconcile run-1',
  ])
  expect(doubts.at(2)).toMatch(/^\S+ c\.csv 8 weight unclear$/)
  expect(doubts.at(-1)).toBe('The first 200. The rejects file has all.')
  expect(doubts).toHaveLength(3 + 202 + 1)
})
