/** Parts of a summary that come from later runs, and from the traces of a process. */
import { expect, test } from 'vitest'
import { LEASE_MS } from '../../src/ledger/concerns.ts'
import { type ExportStart, type Ledger, noTallies } from '../../src/ledger/ledger.ts'
import { byKind, noCounts } from '../../src/model/balance.ts'
import { exitOf } from '../../src/story/balance.ts'
import { activityOf, cameAnew, gatherDetails, readSince, summarise } from '../../src/story/facts.ts'
import type { RunSummary } from '../../src/story/run-story.ts'
import { beginExport, beginRun, openChunk, passingLedger, settleChunk } from '../ledger/begun-run.ts'
import { fault } from '../ledger/export-fault.ts'

const NOW = Date.parse('2026-03-02T07:00:00Z')
const at = (seconds: number): string => new Date(NOW + seconds * 1_000).toISOString()

const runOf = async (ledger: Ledger, id: string) =>
  (await ledger.runs.find(id)) ?? expect.fail(`${id} is gone`)

interface Later {
  readonly export: Partial<ExportStart>
  readonly ends?: 'finished' | 'failed'
  readonly seconds?: number
  readonly job?: string
}

test.each<[string, Later, 'read' | 'anew' | 'no']>([
  ['reads one of its name with other content', { export: { sha256: 'second' } }, 'anew'],
  ['reads the same file', { export: {} }, 'read'],
  ['reads what was packed in it', { export: { name: 'a.csv!b.csv', sha256: 'second' } }, 'read'],
  ['reads one whose name begins alike', { export: { name: 'a.csv.gz', sha256: 'second' } }, 'no'],
  ['reads selected rows of it', { export: { sha256: 'second', reading: 'selected' } }, 'no'],
  ['reads corrected rejects of it', { export: { sha256: 'second', reading: 'rejects' } }, 'no'],
  ['cannot read it either', { export: { sha256: 'second' }, ends: 'failed' }, 'no'],
  ['began before it', { export: { sha256: 'second' }, seconds: -1 }, 'no'],
  ['began with it', { export: { sha256: 'second' }, seconds: 0 }, 'no'],
  ['is of another job', { export: { sha256: 'second' }, job: 'weekly' }, 'no'],
])('an export that failed: a run that %s', async (_what, later, expected) => {
  const { ends = 'finished', seconds = 60, job = 'nightly' } = later
  const ledger = await passingLedger()
  const first = await beginRun(ledger, 'run-1', { startedAt: NOW })
  const failed = await beginExport(first)
  await first.endExport(failed, 'failed', fault('export-empty'))
  await first.endRun({ state: 'finished', endedAt: NOW, reason: null })
  await ledger.leases.release(first.lease)
  const second = await beginRun(ledger, 'run-2', { startedAt: NOW + seconds * 1_000, job })
  const read = await beginExport(second, later.export)
  await second.endExport(read, ends, ends === 'failed' ? fault('export-empty') : undefined)

  const run = await runOf(ledger, 'run-1')
  const since = new Map(expected === 'no' ? [] : [['a.csv', 'run-2']])
  expect(await readSince(ledger, run, ['a.csv', 'other.csv'])).toEqual(since)
  expect((await cameAnew(ledger, run, ['a.csv'])).map(({ run }) => run)).toEqual(
    expected === 'anew' ? ['run-2'] : [],
  )
  const { exports } = await summarise(ledger, '/home', 'run-1')
  expect(exports).toMatchObject([{ error: 'export-empty' }])
  expect(exports[0]?.readSince).toBe(since.get('a.csv'))
})

test('of several exports that failed, each names the run that has read it since', async () => {
  const ledger = await passingLedger()
  const names = ['a.csv', 'b.csv', 'c.csv']
  const first = await beginRun(ledger, 'run-1', { startedAt: NOW })
  for (const [index, name] of names.entries())
    await first.endExport(
      await beginExport(first, { ordinal: index + 1, name }),
      'failed',
      fault('export-empty'),
    )
  await first.endRun({ state: 'finished', endedAt: NOW, reason: null })
  await ledger.leases.release(first.lease)
  for (const [index, name] of ['a.csv', 'b.csv'].entries()) {
    const later = await beginRun(ledger, `run-${index + 2}`, { startedAt: NOW + 1 + index })
    await later.endExport(await beginExport(later, { name }), 'finished')
    await ledger.leases.release(later.lease)
  }
  const { exports } = await summarise(ledger, '/home', 'run-1')
  expect(exports.map(({ readSince }) => readSince)).toEqual(['run-2', 'run-3', undefined])
})

test.each([
  ['files', '/in/a.csv'],
  [undefined, undefined],
] as const)(
  'an export that failed tells where it was looked for, where it was named: %s',
  async (part, named) => {
    const ledger = await passingLedger()
    const run = await beginRun(ledger, 'run-1', { part })
    await beginExport(run, { failed: fault('export-empty') })
    await beginExport(run, { ordinal: 2 })
    const { exports } = await summarise(ledger, '/home', 'run-1')
    expect(exports.map((one) => one.named)).toEqual([named, undefined])
  },
)

test('an exit code is that of a run that is over; its rejects are there whichever chunk has them', async () => {
  const ledger = await passingLedger()
  const run = await beginRun(ledger, 'run-1')
  const [one, other] = [await beginExport(run), await beginExport(run, { ordinal: 2, exportId: 'f' })]
  for (const exportRow of [one, other]) {
    for (const chunk of [1, 2, 3]) await openChunk(run, exportRow, chunk)
    const counts = JSON.stringify(noCounts())
    for (const chunk of [1, 2])
      await settleChunk(run, exportRow, chunk, { counts, rejectsLength: exportRow === one ? 20 : 0 })
  }
  const running = await summarise(ledger, '/home', 'run-1')
  expect([running.exit, running.soFar]).toEqual([undefined, true])
  expect(running.exports.map(({ rejects }) => rejects !== undefined)).toEqual([true, false])
  await run.endRun({ state: 'interrupted', endedAt: NOW, reason: 'gateway-unreachable' })
  const over = await summarise(ledger, '/home', 'run-1')
  expect([over.exit, over.soFar]).toEqual([3, true])
})

test('what was in doubt and is stored counts once as what it became, before and after its run is pruned', async () => {
  const ledger = await passingLedger()
  const run = await beginRun(ledger, 'run-1')
  const exportRow = await beginExport(run)
  await openChunk(run, exportRow, 1)
  const counts = noCounts()
  Object.assign(counts.rows, { read: 1, mapped: 1 })
  Object.assign(counts.records.biometric, { made: 2, accepted: 1, inDoubt: 1 })
  const content = '00000000c0ffee00'
  await settleChunk(run, exportRow, 1, {
    ...{ counts: JSON.stringify(counts), receiptsLength: 9, rejectsLength: 9 },
    exceptions: [
      {
        ...{ row: 1, line: 2, byteOffset: 0, kind: 'biometric', rule: 'hba1c', content, outcome: 'in-doubt' },
        ...{ stage: 'submit', code: 'no-answer', field: null, message: 'm', batchId: 'b' },
      },
    ],
  })
  await run.endRun({ state: 'finished', endedAt: NOW, reason: null })
  const [{ id = 0 } = {}] = await ledger.left.inDoubt('run-1', 0, 1)
  await run.rule({ run: null, decisions: [{ exception: id, event: 'find' }], released: [] }, NOW)
  await ledger.leases.release(run.lease)
  const became = { made: 2, accepted: 2, rejected: 0, unchanged: 0, inDoubt: 0, pending: 0 }
  const before = await summarise(ledger, '/home', 'run-1')
  expect([before.records.biometric, before.balanced]).toEqual([became, true])
  expect(before.files).toEqual({ rejects: '/home/r', receipts: '/home/r' })
  const [totals] = before.exports.map((one) => JSON.stringify(one.counts))
  await ledger.pruning.mark('run-1', new Map([[exportRow, totals ?? '']]), NOW)
  const after = await summarise(ledger, '/home', 'run-1')
  expect([after.records.biometric, after.balanced, after.exports.length]).toEqual([became, true, 1])
  expect(after.files).toEqual({})
})

/** Seconds since the run began: when a chunk of it settled, its lease was renewed or let go, another run began. */
interface Signs {
  readonly settled?: readonly number[]
  readonly renewed?: number
  readonly released?: true
  readonly other?: number
}

test.each<[string, Signs, number]>([
  ['has its start', {}, 0],
  ['has settled two chunks', { settled: [10, 25] }, 25],
  ['has renewed its lease after its last chunk', { settled: [10, 25], renewed: 40 }, 40],
  ['has settled a chunk after it renewed its lease', { settled: [10, 45], renewed: 40 }, 45],
  ['has let its lease go', { settled: [10, 20], renewed: 40, released: true }, 20],
  ['was followed by another run of the job', { settled: [10, 20], other: 300 }, 20],
])('the last sign of a process that is gone: it %s', async (_what, signs, seconds) => {
  const { settled = [], renewed, released, other } = signs
  const ledger = await passingLedger()
  const run = await beginRun(ledger, 'run-1', { startedAt: NOW })
  const exportRow = await beginExport(run)
  for (const [index, second] of settled.entries()) {
    await openChunk(run, exportRow, index + 1)
    await settleChunk(run, exportRow, index + 1, { at: NOW + second * 1_000 })
  }
  if (renewed !== undefined) await run.renew(NOW + renewed * 1_000, LEASE_MS)
  if (released) await ledger.leases.release(run.lease)
  if (other !== undefined) await beginRun(ledger, 'run-2', { startedAt: NOW + other * 1_000 })
  const record = await runOf(ledger, 'run-1')
  const owner = other === undefined ? { owner: 'here:1' } : {}
  expect(await activityOf(ledger, record, NOW + 3_600_000, () => true)).toEqual({
    ...{ kind: 'stopped', lastSign: at(seconds) },
    ...owner,
  })
})

test('the working time of a run under way goes on between two renewals of its lease, and no longer than the lease', async () => {
  const ledger = await passingLedger()
  const run = await beginRun(ledger, 'run-1', { startedAt: NOW })
  const worked = async (ms: number) =>
    (await gatherDetails({ ledger, home: '/home', now: NOW + ms, isDead: () => false }, 'run-1')).summary
      .durationMs
  expect([await worked(0), await worked(3_000), await worked(-1)]).toEqual([0, 3_000, 0])
  await run.renew(NOW + 15_000, LEASE_MS)
  expect(await worked(20_000)).toBe(20_000)
  expect(await worked(15_000 + LEASE_MS + 1)).toBe(15_000)
})

test('a run is under way as long as its lease lasts and its process lives', async () => {
  const ledger = await passingLedger()
  const run = await beginRun(ledger, 'run-1', { startedAt: NOW })
  const kind = async (ms: number, isDead = false) =>
    (await activityOf(ledger, await runOf(ledger, 'run-1'), NOW + ms, () => isDead))?.kind
  expect(await kind(LEASE_MS - 1)).toBe('under-way')
  expect(await kind(LEASE_MS)).toBe('stopped')
  expect(await kind(1, true)).toBe('stopped')
  await run.endRun({ state: 'interrupted', endedAt: NOW, reason: 'interrupted' })
  expect(await kind(1)).toBeUndefined()
})

const one = { made: 1, accepted: 0, rejected: 0, unchanged: 0, inDoubt: 0, pending: 0 }
const ofKind = (kind: keyof RunSummary['records'], outcome: Partial<typeof one>) => ({
  records: { ...byKind(() => ({ ...one, accepted: 1 })), [kind]: { ...one, ...outcome } },
})
const people = { asked: 1, collected: 0, unchanged: 0, none: 0, refused: 0, pending: 0 }
const failed = { name: 'a.csv', error: 'export-empty' } as RunSummary['exports'][number]
const fine = { name: 'b.csv' } as RunSummary['exports'][number]

test.each<[number, string, Partial<RunSummary>]>([
  [0, 'nothing was there', {}],
  [0, 'all is accepted', ofKind('biometric', { accepted: 1 })],
  [0, 'all is unchanged', ofKind('biometric', { unchanged: 1 })],
  [0, 'rows were skipped', { rows: { read: 1, mapped: 0, skipped: 1, rejected: 0, corrected: 0 } }],
  [0, 'rows were corrected', { rows: { read: 1, mapped: 1, skipped: 0, rejected: 0, corrected: 1 } }],
  [1, 'a row was rejected', { rows: { read: 1, mapped: 0, skipped: 0, rejected: 1, corrected: 0 } }],
  [1, 'a biometric was rejected', ofKind('biometric', { rejected: 1 })],
  [1, 'a condition is in doubt', ofKind('condition', { inDoubt: 1 })],
  [1, 'a care-team entry is pending', ofKind('careTeam', { pending: 1 })],
  [1, 'an account was rejected', ofKind('account', { rejected: 1 })],
  [1, 'a test was rejected', ofKind('assessment', { rejected: 1 })],
  [1, 'a mark is owed', { careTeams: { ...noTallies().careTeams, owed: 1 } }],
  [0, 'a person has nothing', { people: { ...people, none: 1 } }],
  [0, 'a person is unchanged', { people: { ...people, unchanged: 1 } }],
  [1, 'a person was refused', { people: { ...people, refused: 1 } }],
  [1, 'a person is pending', { people: { ...people, pending: 1 } }],
  [0, 'all exports were read', { exports: [fine] }],
  [1, 'one export of two failed', { exports: [failed, fine] }],
  [2, 'all exports failed', { exports: [failed, failed] }],
])('exit code %d where %s', (exit, _what, more) => {
  const { rows, records } = noCounts()
  expect(exitOf({ exports: [], rows, records, ...noTallies(), ...more } as unknown as RunSummary)).toBe(exit)
})
