/**
 * Options, exit codes and words that commands hand on, seen at the far end: in the requests that a command sends to workers, in the ledger, and in
 * what is printed. All within this process, over a ledger in memory.
 */
import { createHash } from 'node:crypto'
import { mkdir, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { CommandContext } from '../../src/cli/command-form.ts'
import { readJob } from '../../src/definitions/definition-files.ts'
import { keyOf, nameOf } from '../../src/definitions/notify-definition.ts'
import { watchedSources } from '../../src/expect/expectation-watch.ts'
import { type Exception, noTallies, type RunLedger } from '../../src/ledger/ledger.ts'
import type { RunRequest, TicketEnd, Tickets } from '../../src/ledger/tickets.ts'
import { noCounts } from '../../src/model/balance.ts'
import { WaybillError } from '../../src/model/errors.ts'
import { noteRefusedStart } from '../../src/needs/refused-starts.ts'
import { serve } from '../gateway/loopback.ts'
import { beginExport, beginRun, openChunk, passingLedger, settleChunk } from '../ledger/begun-run.ts'
import { SECRET } from '../notify/hook-server.ts'
import { createWorkplace, type Ended, PROJECT } from './command-line.ts'

const GATEWAY = 'https://gateway.test'
const JOB = 'exports: { from: .., match: "night_{date:yyyyMMdd}.csv" }\nmapping: acme-onsite\n'
const START = Date.parse('2026-03-02T07:15:00Z')
const RANGE = { from: '2026-01-01', to: '2026-01-31' }

const REJECTED: Exception = {
  ...{ row: 7, line: 8, byteOffset: 1, kind: 'biometric', rule: 'weight', content: 'c'.repeat(16) },
  ...{ outcome: 'rejected', stage: 'transform', code: 'value-not-a-number', field: null, message: 'm' },
  batchId: null,
}
const DOUBTFUL: Exception = { ...REJECTED, outcome: 'in-doubt', stage: 'read-back', code: 'in-doubt' }

/** Reads an export to its end, in one chunk. */
async function readExport(
  run: RunLedger,
  start: Parameters<typeof beginExport>[1],
  rows = 1,
  unchanged = 0,
  at = START,
): Promise<void> {
  const exportRow = await beginExport(run, start)
  const counts = noCounts()
  Object.assign(counts.rows, { read: rows, mapped: rows })
  Object.assign(counts.records.biometric, { made: rows, unchanged, accepted: rows - unchanged })
  const tallies = noTallies()
  await openChunk(run, exportRow, 1, rows)
  await settleChunk(run, exportRow, 1, {
    counts: JSON.stringify(counts),
    at,
    tallies: { ...tallies, requests: { ...tallies.requests, sent: rows } },
  })
  await run.endExport(exportRow, 'finished')
}

type Begun = Parameters<typeof beginRun>[2]

/**
 * A machine whose jobs are run by workers, with the finished run-1 of the job nightly.
 * @param ends of the tickets, one after the other; the last one of all others
 */
async function openMachine(...ends: readonly TicketEnd[]) {
  const { waybillWith, job, folder, home, environment } = await createWorkplace({
    ...{ WAYBILL_GATEWAY_URL: GATEWAY, WAYBILL_API_KEY: 'a', WAYBILL_ACCESS_TOKEN: 't' },
    ...{ WAYBILL_LEDGER: 'postgres://db/waybill', WAYBILL_RUN_BY: 'workers', WAYBILL_KEY: 'k'.repeat(64) },
    WAYBILL_WEBHOOK_SECRET: SECRET,
  })
  for (const name of ['nightly', 'weekly']) await job(name, JOB)
  await mkdir(home, { mode: 0o700 })
  const ledger = await passingLedger()
  const kept = { ...ledger, close: async () => {} }
  const begin = (id: string, start: Begun = {}): Promise<RunLedger> =>
    beginRun(ledger, id, { gateway: GATEWAY, startedAt: START, ...start })
  const end = async (run: RunLedger, state: 'finished' | 'interrupted' = 'finished'): Promise<void> => {
    await run.endRun({ state, endedAt: START + 1, reason: state === 'finished' ? null : state })
    await ledger.leases.release(run.lease)
  }
  /** Begins and ends a run of one export that left something behind. */
  const leave = async (
    id: string,
    left: readonly Exception[],
    start: Begun = {},
    exportId = id,
  ): Promise<void> => {
    const run = await begin(id, start)
    const exportRow = await beginExport(run, { exportId, name: `${id}.csv`, sha256: id })
    const counts = noCounts()
    const { length: inDoubt } = left.filter(({ outcome }) => outcome === 'in-doubt')
    Object.assign(counts.rows, { read: left.length, mapped: left.length })
    Object.assign(counts.records.biometric, {
      ...{ made: left.length, inDoubt, rejected: left.length - inDoubt },
    })
    await openChunk(run, exportRow, 1)
    await settleChunk(run, exportRow, 1, { counts: JSON.stringify(counts), exceptions: left })
    await run.endExport(exportRow, 'finished')
    await end(run)
  }
  await end(await begin('run-1'))
  const sent: RunRequest[] = []
  const lanes: string[] = []
  const interrupt = new AbortController()
  let onEnd = (): void => {}
  const tickets: Tickets = {
    ...({} as Tickets),
    async send(_key, request) {
      sent.push(request)
      return { id: 't', lane: 'run' }
    },
    async stateOf() {
      onEnd()
      return ends[sent.length - 1] ?? ends.at(-1) ?? { run: 'run-1', exit: 0 }
    },
    async take(lane) {
      lanes.push(lane)
      // Each place has asked once.
      if (lanes.length === 5) interrupt.abort()
      return undefined
    },
    find: async () => undefined,
    close: async () => {},
  }
  const clock = { now: START + 30_000 }
  const around: { terminal?: CommandContext['terminal']; input?: CommandContext['input'] } = {}
  let sleep = async (_ms: number): Promise<unknown> => undefined
  const type = (...args: string[]): Promise<Ended> =>
    waybillWith(
      (context) => ({
        ...context,
        ...{ user: 'ann', interrupt: interrupt.signal, now: () => clock.now, isDead: () => false },
        ...{ openLedger: async () => kept, readLedger: async () => kept, openTickets: async () => tickets },
        sleep: async (ms: number) => void (await sleep(ms)),
        ...around,
      }),
      ...args,
    )
  return {
    ...{
      type,
      ledger,
      begin,
      end,
      leave,
      sent,
      lanes,
      folder,
      home,
      interrupt,
      clock,
      job,
      around,
      environment,
    },
    onEnd(act: () => void) {
      onEnd = act
    },
    onSleep(act: (ms: number) => Promise<unknown>) {
      sleep = act
    },
  }
}

const words = (text: string): string[] => text.split(' ')
const linesOf = ({ out }: Ended): string[] =>
  out
    .trimEnd()
    .split('\n')
    .map((line) => line.trim().replaceAll(/\s+/g, ' '))

/** A backfill tells its plan first. */
const withoutPlan = (err: string): string => err.replace(/^Backfill of nightly, .*\n/, '')

const RUN = { what: 'run', job: 'nightly', files: [], acceptDrift: false }
const RERUN = { what: 'rerun', job: 'nightly', run: 'run-1', only: 'left-behind' }
const RECONCILE = { what: 'reconcile', job: 'nightly', run: 'run-1' }
const RESEND = { what: 'resend', job: 'nightly', run: 'run-1', transactions: [], by: 'ann', note: null }
const FOUND = { found: 2, missed: 1, batches: 1, reads: 9 }
const FILL = 'backfill nightly --from 2026-01-01 --to 2026-01-31'
const FILLING = { what: 'backfill', job: 'nightly', range: RANGE }

test.each<[string, object]>([
  ['run nightly', RUN],
  ['run nightly --limit 3', { ...RUN, limit: 3 }],
  ['run nightly --limit 0', { ...RUN, limit: 0 }],
  ['run nightly --accept-drift', { ...RUN, acceptDrift: true }],
  ['run nightly --accept-end', { ...RUN, acceptEnd: true }],
  ['run nightly --file /in/a.csv /in/b.csv', { ...RUN, files: ['/in/a.csv', '/in/b.csv'] }],
  ['resume nightly', { ...RUN, unfinishedAlone: true }],
  ['rerun run-1', RERUN],
  ['rerun run-1 --only in-doubt', { ...RERUN, only: 'in-doubt' }],
  ['rerun run-1 --only rejected', { ...RERUN, only: 'rejected' }],
  ['reconcile run-1', RECONCILE],
  ['reconcile run-1 --verify', { ...RECONCILE, verify: { sample: { kind: 'all' } } }],
  [
    'reconcile run-1 --verify --sample 5% --seed s',
    { ...RECONCILE, verify: { sample: { kind: 'share', share: 0.05 }, seed: 's' } },
  ],
  ['resolve run-1 --resend', RESEND],
  [
    'resolve run-1 --resend --transaction a b --by ben --note seen',
    { ...RESEND, transactions: ['a', 'b'], by: 'ben', note: 'seen' },
  ],
  [FILL, FILLING],
  [`${FILL} --accept-drift`, { ...FILLING, range: { ...RANGE, acceptDrift: true } }],
  [`${FILL} --accept-end`, { ...FILLING, range: { ...RANGE, acceptEnd: true } }],
  [`${FILL} --rate 0.5`, { ...FILLING, range: { ...RANGE, rate: 0.5 } }],
])('%s', async (args, request) => {
  const { type, sent, folder } = await openMachine({ run: 'run-1', exit: 0, report: FOUND })
  await writeFile(join(folder, 'night_20260105.csv'), 'a\n')
  const { err } = await type(...words(args))
  expect(sent).toEqual([request])
  expect(withoutPlan(err)).toBe('')
})

test.each([
  'run nightly',
  'resume nightly',
  'resume nightly --backfill',
  'rerun run-2',
  'rerun --job nightly',
  'resolve run-2 --resend',
  FILL,
])('%s has the exit code and the error of its run, once', async (args) => {
  const told = { message: 'away', remedy: 'Wait.', findings: [] }
  const ended: TicketEnd = {
    run: 'run-2',
    resumed: 'run-1',
    exit: 3,
    code: 'gateway-unreachable',
    words: told,
  }
  const { type, begin, end, leave, folder } = await openMachine(ended)
  await writeFile(join(folder, 'night_20260105.csv'), 'a\n')
  await leave('run-2', [REJECTED])
  await end(await begin('fill', { backfill: RANGE }), 'interrupted')
  const isResolve = args.startsWith('resolve')
  const { code, err, out } = await type(...words(args))
  expect([code, err.match(/^error gateway-unreachable: away$/gm)]).toEqual([
    3,
    ['error gateway-unreachable: away'],
  ])
  // The earlier run that was finished first stands first.
  const runs = [...out.matchAll(/^Run (run-\d) of nightly/gm)].map(([, run]) => run)
  expect(runs).toEqual(isResolve ? ['run-2', 'run-2'] : ['run-1', 'run-2'])
  const json = await type(...words(args), '--json')
  expect([json.code, withoutPlan(json.err)]).toEqual([3, ''])
  const parsed = JSON.parse(json.out)
  const shown = args.includes('--job') ? parsed.runs[0] : parsed
  expect(shown).toMatchObject({ error: { code: 'gateway-unreachable', message: 'away' } })
  if (!isResolve && !args.includes('--job'))
    expect(shown).toMatchObject({ run: 'run-2', resumed: { run: 'run-1' } })
  if (isResolve) return
  const quiet = await type(...words(args), '--quiet')
  expect([quiet.code, quiet.out, quiet.err.trim().split('\n')[0]]).toEqual([
    3,
    '',
    'error gateway-unreachable: away',
  ])
})

test('a quiet run that left something behind says it in one line; one that is well says nothing', async () => {
  const { type, leave } = await openMachine({ run: 'run-2', exit: 1 }, { run: 'run-1', exit: 0 })
  await leave('run-2', [REJECTED])
  expect(await type('run', 'nightly', '--quiet')).toEqual({
    ...{ code: 1, out: '' },
    err: 'Run run-2 of nightly finished with 1 rejected record: waybill show run-2\n',
  })
  expect(await type('run', 'nightly', '--quiet')).toEqual({ code: 0, out: '', err: '' })
})

test.each<[string, readonly TicketEnd[], number]>([
  [
    'the first',
    [
      { run: 'run-2', exit: 1 },
      { run: 'run-3', exit: 0 },
    ],
    1,
  ],
  [
    'the second',
    [
      { run: 'run-2', exit: 0 },
      { run: 'run-3', exit: 4 },
    ],
    4,
  ],
  [
    'neither',
    [
      { run: 'run-2', exit: 0 },
      { run: 'run-3', exit: 0 },
    ],
    0,
  ],
])('of several reruns, of which %s ends badly, the worst gives the exit code', async (_, ends, expected) => {
  const { type, leave } = await openMachine(...ends)
  await leave('run-2', [REJECTED])
  await leave('run-3', [REJECTED])
  const { code, err, out } = await type('rerun', '--job', 'nightly', '--json')
  expect([code, err]).toEqual([expected, ''])
  expect(JSON.parse(out).runs.map(({ run }: { run: string }) => run)).toEqual(['run-2', 'run-3'])
})

test('reruns that an interrupt has left out are named, and the exit code says so', async () => {
  const { type, leave, interrupt, onEnd } = await openMachine({ run: 'run-2', exit: 0 })
  await leave('run-2', [REJECTED])
  await leave('run-3', [REJECTED])
  onEnd(() => interrupt.abort(new WaybillError('interrupted', 'by hand')))
  const { code, out } = await type('rerun', '--job', 'nightly', '--json')
  expect([code, JSON.parse(out).runs[1]]).toEqual([130, { run: 'run-3', notBegun: true }])
})

const NONE = { equal: 0, differs: 0, hidden: 0, missing: 0 }
const VERIFIED = {
  ...{ sample: { kind: 'people', people: 1_200 }, seed: 's' },
  records: {
    biometric: { equal: 1_001, differs: 2, hidden: 3, missing: 4 },
    condition: NONE,
    careTeam: { equal: 5, differs: 6, hidden: 7, missing: 8 },
  },
  fields: { value: 3, unit: 5 },
  listed: [
    { transactionId: 't-1', verdict: 'differs', fields: ['value', 'unit'] },
    { transactionId: 't-2', verdict: 'missing' },
  ],
}

test('a reconciliation prints each figure under its name, and lists what differs', async () => {
  const { type, leave } = await openMachine({
    run: 'run-2',
    exit: 0,
    report: { ...FOUND, verified: VERIFIED },
  })
  await leave('run-2', [DOUBTFUL])
  const ended = await type('reconcile', 'run-2', '--verify')
  const lines = linesOf(ended)
  expect(lines[0]).toBe(
    'Run run-2, records in doubt: 2 stored, 1 not stored, 1 unknown. 1 open batch settled, 9 reads of profiles.',
  )
  expect(lines.slice(lines.findIndex((line) => line.startsWith('Verified')))).toEqual([
    'Verified: 1,200 people, seed s',
    'accepted, read back equal differs not visible missing',
    'biometrics 1,001 2 3 4',
    'conditions 0 0 0 0',
    'care teams 5 6 7 8',
    'Fields that differ: value 3, unit 5',
    't-1 differs (value, unit)',
    't-2 missing',
    'Not visible: the profile shows a newer record, or another one of the same date.',
  ])
  const { code, out } = await type('reconcile', '--job', 'nightly', '--verify', '--json')
  expect([code, JSON.parse(out)]).toMatchObject([1, { runs: [{ ...FOUND, inDoubt: 1, verified: VERIFIED }] }])
})

test.each([
  [20, false],
  [21, true],
])('of %i records that differ, 20 are listed, and more are told: %s', async (number, isMore) => {
  const listed = Array.from({ length: number }, (_, at) => ({ transactionId: `t-${at}`, verdict: 'differs' }))
  const { type } = await openMachine({
    run: 'run-1',
    exit: 0,
    report: { ...FOUND, verified: { ...VERIFIED, listed } },
  })
  const { out } = await type('reconcile', 'run-1', '--verify')
  expect(out.match(/^ {2}t-/gm)).toHaveLength(20)
  expect(out.includes('and more; --json lists up to 100')).toBe(isMore)
})

test.each<[string, object | undefined, boolean, number]>([
  ['nothing in doubt', undefined, false, 0],
  ['a record in doubt', undefined, true, 1],
  ['all equal', { biometric: { ...NONE, equal: 9, hidden: 9 } }, false, 0],
  ['one that differs', { condition: { ...NONE, differs: 1 } }, false, 1],
  ['one that is missing', { careTeam: { ...NONE, missing: 1 } }, false, 1],
])('reconcile ends with %s: its exit code', async (_, some, isInDoubt, expected) => {
  const records = { biometric: NONE, condition: NONE, careTeam: NONE, ...some }
  const verified = some && { ...VERIFIED, records }
  const { type, leave } = await openMachine({ run: 'run-2', exit: 0, report: { ...FOUND, verified } })
  await leave('run-2', [isInDoubt ? DOUBTFUL : REJECTED])
  for (const args of [
    'reconcile run-2 --verify',
    'reconcile run-2 --verify --json',
    'reconcile --job nightly',
  ])
    expect([args, (await type(...words(args))).code]).toEqual([args, expected])
})

test('a worker takes as many runs at once as it is asked to', async () => {
  const { type, lanes } = await openMachine()
  expect((await type('worker', '--concurrency', '3')).code).toBe(0)
  expect(lanes).toEqual(['run', 'run', 'run', 'backfill', 'part'])
})

test.each<[string, 'finished' | 'interrupted', number, readonly string[]]>([
  ['watch', 'finished', 1, ['newer']],
  ['watch under-way', 'finished', 1, ['under-way']],
  ['watch under-way', 'interrupted', 130, ['under-way']],
  ['run nightly --watch --new-key', 'finished', 1, ['under-way']],
])('%s follows to the end (%s), with its exit code %i', async (args, state, exit, [run = '']) => {
  const { type, begin, end, onSleep, ledger } = await openMachine()
  await ledger.installation.meet(GATEWAY, 0)
  const runs = {
    'under-way': await begin('under-way'),
    newer: await begin('newer', { job: 'weekly', startedAt: START + 1 }),
  }
  let looks = 0
  onSleep(async () => {
    if (++looks < 3) return
    const one = run === 'newer' ? runs.newer : runs['under-way']
    const exportRow = await beginExport(one)
    await openChunk(one, exportRow, 1)
    const counts = noCounts()
    Object.assign(counts.rows, { read: 1, rejected: 1 })
    await settleChunk(one, exportRow, 1, {
      counts: JSON.stringify(counts),
      exceptions: [{ ...REJECTED, rule: null, kind: null }],
    })
    await one.endExport(exportRow, 'finished')
    await end(one, state)
  })
  const { code, err, out } = await type(...words(args), '--json')
  expect(JSON.parse(out)).toMatchObject({ run, state })
  // Each state once.
  const followed = err.replace(`Records go to ${GATEWAY}.\n`, '')
  expect([code, followed]).toEqual([exit, `Run ${run}: 0 rows settled, 0 accepted, 0 unchanged\n`])
})

test('a run whose process has ended without a word is shown at once, as interrupted', async () => {
  const { type, begin, ledger } = await openMachine()
  const { lease } = await begin('stopped')
  await ledger.leases.release(lease)
  const { code, out } = await type('watch', '--json')
  expect([code, JSON.parse(out)]).toMatchObject([130, { run: 'stopped', activity: { kind: 'stopped' } }])
})

test('a job that another process runs is refused, and followed only if asked', async () => {
  const { type, begin } = await openMachine()
  await begin('under-way')
  const { code, err } = await type('run', 'nightly', '--new-key')
  expect([code, err]).toEqual([5, expect.stringContaining('error job-held: ')])
})

test('what is acknowledged is named: a run, several, a refused start, and both', async () => {
  const { type, leave, home } = await openMachine()
  const refuse = (): void =>
    noteRefusedStart(home, 'nightly', new WaybillError('exports-none', 'nothing is there'), START)
  const acknowledge = async (...args: string[]): Promise<string[]> =>
    linesOf(await type('acknowledge', ...args))
  const NONE_LEFT = 'No run needs attention.'
  refuse()
  expect(await acknowledge('--job', 'nightly')).toEqual([
    'Acknowledged: the refused start of nightly',
    NONE_LEFT,
  ])
  await leave('run-2', [REJECTED])
  refuse()
  expect(await acknowledge('--job', 'nightly')).toEqual([
    'Acknowledged: run-2, and the refused start of nightly',
    NONE_LEFT,
  ])
  await leave('run-3', [REJECTED, { ...DOUBTFUL, row: 9 }])
  await leave('run-4', [REJECTED, { ...DOUBTFUL, row: 9 }, { ...DOUBTFUL, row: 11 }])
  await leave('run-5', [REJECTED], { job: 'weekly' })
  refuse()
  expect(await acknowledge('--job', 'nightly', '--reason', 'value-not-a-number')).toEqual([
    'Acknowledged: for value-not-a-number in 2 runs',
    '3 records are in doubt and need a decision: waybill in-doubt',
    '3 runs need attention: waybill runs --failed',
  ])
  expect(await acknowledge('run-3')).toEqual([
    'Acknowledged: run-3',
    '1 record is in doubt and needs a decision: waybill show run-3',
    '3 runs need attention: waybill runs --failed',
  ])
  expect(await acknowledge('--job', 'weekly')).toEqual([
    'Acknowledged: run-5',
    '2 runs need attention: waybill runs --failed',
  ])
})

test('a refused start is listed without a ledger, and a ledger that cannot be used is an error', async () => {
  const { waybill, home } = await createWorkplace()
  await mkdir(home, { mode: 0o700 })
  noteRefusedStart(home, 'nightly', new WaybillError('exports-none', 'nothing is there'), START)
  const list = () => waybill('acknowledge', '--job', 'nightly', '--dry-run')
  expect(await list()).toEqual({
    ...{ code: 0, err: '' },
    out: 'The refused start of nightly (exports-none), since 2026-03-02 07:15 UTC\n',
  })
  await writeFile(join(home, 'ledger.sqlite'), 'no ledger'.repeat(1_000), { mode: 0o600 })
  expect(await list()).toMatchObject({ code: 2, err: expect.stringContaining('error ledger-unusable') })
})

test('a dry run tells of each export that cannot be read, and of the fit to each of the others', async () => {
  const { type, folder } = await openMachine()
  const good = await readFile(join(PROJECT, 'samples/inbox/acme_screening_20260302.csv'), 'utf8')
  const text = good.split('\n').slice(0, 3).join('\n')
  for (const [day, content] of Object.entries({
    '01': '',
    '02': text,
    '03': '',
    '04': text.replace('\n', '\r\n'),
  }))
    await writeFile(join(folder, `night_202601${day}.csv`), content)
  const { out } = await type('run', 'nightly', '--dry-run')
  expect(out.match(/^ {2}night_.*would not be sent$/gm)).toEqual([
    '  night_20260101.csv: would not be sent',
    '  night_20260103.csv: would not be sent',
  ])
  expect(out.match(/^How the mapping fits .*$/gm)).toEqual([
    'How the mapping fits night_20260102.csv',
    'How the mapping fits night_20260104.csv',
  ])
})

test('each job file that is wrong is told by schedule --explain', async () => {
  const { type, job } = await openMachine()
  for (const name of ['nightly', 'weekly']) await job(name, 'exports: 7\n')
  const { code, err } = await type('schedule', '--explain')
  expect([code, err.match(/^error job-invalid: jobs\/\w+/gm)]).toEqual([
    2,
    ['error job-invalid: jobs/nightly', 'error job-invalid: jobs/weekly'],
  ])
})

test('expect says that no job expects exports, and nothing if it is to be quiet', async () => {
  const { type } = await openMachine()
  expect((await type('expect')).out).toBe('No job expects exports. See docs/jobs.md, "Expected".\n')
  expect(await type('expect', '--quiet')).toEqual({ code: 0, out: '', err: '' })
})

test.each([
  ['rerun', 'name a run, or choose several with --job or --reason'],
  ['rerun run-1 --job nightly --reason r', 'a named run goes without --job, --reason'],
  ['reconcile run-1 --export e --since 1d', 'a named run goes without --export, --since'],
  ['reconcile run-1 --sample 5%', '--sample needs --verify, and --seed needs --sample'],
  ['reconcile run-1 --verify --seed s', '--sample needs --verify, and --seed needs --sample'],
  ['acknowledge run-1 --job nightly', 'a named run goes without --job'],
  ['acknowledge --dry-run', 'name a run, or choose several with --job or --reason'],
  ['resolve run-1', 'give either --accept or --resend, or --give-up for the whole run'],
  ['resolve run-1 --accept --resend', 'give either --accept or --resend, or --give-up for the whole run'],
  ['resolve run-1 --accept --give-up', 'give either --accept or --resend, or --give-up for the whole run'],
  [
    'resolve run-1 --give-up --transaction t',
    'give either --accept or --resend, or --give-up for the whole run',
  ],
  ['resolve run-1 --accept --by _', '--by is empty'],
  ['resolve run-1 --accept --note _', '--note is empty'],
  ['show run-1 --values', '--values needs --reason'],
  ['trace', 'give one of: a transaction id, a row with --row EXPORT:17, a person with --person REFERENCE'],
  [
    'trace t --person p',
    'give one of: a transaction id, a row with --row EXPORT:17, a person with --person REFERENCE',
  ],
  ['put-aside e', '--reason is missing: why may the export stay unread?'],
  ['mapping check --export e', '--export needs the name of one mapping'],
  ['mapping check a b --export e', '--export needs the name of one mapping'],
  ['mapping init a --out b.txt', '--out is not a YAML file'],
  ['gateway --account a', '--account is given without --check'],
  ['gateway --known-account', '--known-account is given without --check'],
  ['gateway --made-up-users', '--made-up-users is given without --check'],
  [
    'gateway --upload-lifetime soon',
    '--upload-lifetime must be a number and a unit (ms, s, m, h, d), like 30m',
  ],
])('%s is refused', async (args, message) => {
  const { type, sent } = await openMachine()
  const { code, err, out } = await type(...words(args).map((word) => (word === '_' ? ' ' : word)))
  expect([code, out, sent]).toEqual([2, '', []])
  expect(err).toContain(`error usage-wrong: ${message}\n`)
})

test('names and notes are stored without the spaces around them', async () => {
  const { type } = await openMachine()
  await type('pause', 'nightly', '--by', ' ben ', '--note', ' moving ')
  const { audit } = JSON.parse((await type('audit', '--json')).out)
  expect(audit).toMatchObject([{ action: 'pause', by: 'ben', note: 'moving' }])
})

test('the plan of a backfill says of each export what becomes of it, and how long it takes', async () => {
  const { type, folder, begin, end, ledger } = await openMachine()
  const past = async (id: string, rows: number, unchanged: number): Promise<void> => {
    const run = await begin(id)
    await readExport(run, { exportId: id, name: id, sha256: id }, rows, unchanged, START + 20_000)
    await run.endRun({ state: 'finished', endedAt: START + 20_000, reason: null })
    await ledger.leases.release(run.lease)
  }
  await past('sent', 600, 0)
  await past('known', 1_200, 1_200)
  const written = async (day: string, text = `id\n${day}\n`) => {
    const name = `night_202601${day}.csv`
    await writeFile(join(folder, name), text)
    const sha256 = createHash('sha256').update(text).digest('hex')
    return { name, path: join(folder, name), sha256, exportId: sha256.slice(0, 16) }
  }
  await written('08')
  await written('09', '')
  const delivered = await begin('delivered')
  await readExport(delivered, await written('03'))
  const aside = await written('05')
  await delivered.endExport(await beginExport(delivered, { ...aside, ordinal: 2 }), 'failed', {
    reason: 'export-empty',
    detail: 'empty',
    remedy: null,
  })
  await end(delivered)
  expect(await ledger.putAside.begin(aside.name, 'nightly', { by: 'ann', note: null, at: START })).toBe(true)
  const fill = await begin('fill', { backfill: { ...RANGE, rate: 0.001 } })
  await readExport(fill, {
    ...(await written('04')),
    mapping: { name: 'acme-onsite', digest: 'of-acme', content: '{}' },
  })
  await end(fill, 'interrupted')
  for (let day = 10; day < 30; day++) await writeFile(join(folder, `night_202613${day}.csv`), 'id\n')
  const plan = () => type(...words(FILL), '--dry-run', '--rate', '0.001')
  const ended = await plan()
  expect(ended.code).toBe(1)
  const lines = linesOf(ended)
  expect(lines.slice(3, 15)).toEqual([
    'date bytes rows export state',
    '2026-01-03 6 1 night_20260103.csv delivered before',
    '2026-01-04 6 1 night_20260104.csv done',
    '2026-01-05 6 night_20260105.csv put aside',
    '2026-01-08 6 1 night_20260108.csv',
    '2026-01-09 0 night_20260109.csv export-empty',
    '',
    'Exports 5, 24 bytes, 3 rows',
    'Resumes run fill is unfinished: 1 export (1 row) done, not read again',
    'Known 1 export (1 row) was delivered before; only changed records are sent',
    // One row, with a request a row, at a request in 1,000 s.
    'Time about 16 min 40 s, by 30 rows a second sent and 60 known ones read in the latest 3 runs, limited by --rate',
    'Without 26 of 31 days have no export here:',
  ])
  expect(lines.slice(15, 20)).toEqual([
    ...['2026-01-01 to 2026-01-02 (2)', '2026-01-06 to 2026-01-07 (2)', '2026-01-10 to 2026-01-31 (22)'],
    ...['Left out 20 files: the name matches no pattern of the job, or has no date:', 'night_20261310.csv'],
  ])
  // 20 are named, and nothing is told of more.
  expect(lines.slice(38, 41)).toEqual([
    ...['night_20261329.csv', 'night_20260109.csv: would not be sent'],
    'error export-empty: The export is empty.',
  ])
  await writeFile(join(folder, 'night_20261330.csv'), 'id\n')
  expect(linesOf(await plan()).slice(38, 40)).toEqual([
    ...['night_20261329.csv', 'and 1 more: --json lists all'],
  ])
  expect((await type(...words(FILL))).err).toBe(
    'Backfill of nightly, 2026-01-01 to 2026-01-31: 5 exports, of 2026-01-03 to 2026-01-09, 24 bytes; 26 days without one; 21 files left out by name (--dry-run lists them).\n',
  )
})

test('the log of a schedule names each event of a fire and of a file, with its level', async () => {
  const words = { message: 'away', remedy: 'Wait.', findings: [] }
  const { type, onSleep, interrupt, clock, job, folder } = await openMachine(
    { run: 'run-1', exit: 0 },
    { run: 'run-1', exit: 1 },
    { run: 'run-1', exit: 130 },
    { exit: 3, code: 'gateway-unreachable', words },
  )
  const retry = '{ every: 2m, until: "07:39" }'
  await job(
    'nightly',
    `${JOB}schedule: { cron: "*/5 * * * *", zone: Etc/UTC, missed: once, retry: ${retry} }\n`,
  )
  const weekly = `${JOB}schedule: { cron: "1,50 * * * *", zone: Etc/UTC, missed: skip }\n`
  await job('weekly', weekly)
  onSleep(async (ms) => {
    // Whatever is under way comes to its end first.
    for (let turn = 0; turn < 50; turn++) await setImmediate()
    clock.now += ms
    const minute = Math.floor((clock.now - START) / 60_000) + 15
    if (minute === 44) clock.now += 900_000
    if (minute === 60) await job('weekly', 'exports: 7\n')
    if (minute === 62) await rename(join(folder, 'jobs'), join(folder, 'away'))
    if (minute === 64) await rename(join(folder, 'away'), join(folder, 'jobs'))
    if (minute === 65) await job('weekly', weekly)
    if (minute === 66) await job('nightly', JOB)
    if (minute > 68) interrupt.abort(new WaybillError('interrupted', 'by hand'))
  })
  const { code, err } = await type('schedule')
  expect(code).toBe(0)
  const lines = err
    .replaceAll(/^\S+ +/gm, '')
    .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d/g, 'THEN')
    .replaceAll(folder, 'FOLDER')
    .split('\n')
  const away = 'gateway-unreachable (exit 3)'
  expect([...new Set(lines)]).toEqual(
    expect.arrayContaining([
      'info  the schedule has started',
      'info  scheduled "*/5 * * * *" in Etc/UTC, next on Mon THEN +00:00 job=nightly',
      'info  the fire of THEN UTC is run job=nightly',
      'info  the fire of THEN UTC has ended: all accounted for, run run-1 run=run-1 job=nightly',
      'warn  the fire of THEN UTC has ended: something was left behind (exit 1), run run-1 run=run-1 job=nightly',
      'info  the fire of THEN UTC was interrupted: run run-1, continues when the schedule starts run=run-1 job=nightly',
      'info  the fire of THEN UTC is resumed run=run-1 job=nightly',
      'error away. Wait. job=nightly code=gateway-unreachable',
      `warn  the fire of THEN UTC is tried again: ${away}, tried again at THEN job=nightly code=gateway-unreachable`,
      `warn  the fire of THEN UTC is not tried again: ${away} job=nightly code=gateway-unreachable`,
      `warn  the fire of THEN UTC has ended: ${away} job=nightly code=gateway-unreachable`,
      'info  the fire of THEN UTC is skipped: no schedule was running, covered by the fire of THEN job=nightly',
      'info  the fire of THEN UTC is run: late (no schedule was running) job=nightly',
      'info  the fire of THEN UTC is skipped: no schedule was running job=weekly',
      'warn  the fire of THEN UTC was missed: the job file or a mapping was wrong: jobs/weekly.yaml: 1 problem, will run late job=weekly',
      'error not run until corrected: jobs/weekly.yaml: 1 problem; jobs/weekly.yaml:2:10 exports: must be a block of keys, or must be a list. Correct the job file at the lines named above. job=weekly code=job-invalid',
      'error the jobs folder FOLDER/jobs cannot be read. Check WAYBILL_JOBS. code=job-not-found',
      'info  the folder of jobs can be read again',
      'info  no longer scheduled job=nightly',
      'info  the schedule has ended',
    ]),
  )
})

test('a plan of two days with one export tells of the day without one', async () => {
  const { type, folder } = await openMachine()
  await writeFile(join(folder, 'night_20260105.csv'), 'a\n')
  const { err } = await type(...words('backfill nightly --from 2026-01-05 --to 2026-01-06'))
  expect(err).toBe(
    'Backfill of nightly, 2026-01-05 to 2026-01-06: 1 export, of 2026-01-05 to 2026-01-05, 2 bytes; 1 day without one (--dry-run lists them).\n',
  )
})

test.each([
  ['runs --job weekly', 'There are no runs of weekly yet. Start one with: waybill run weekly'],
  ['runs --job weekly --failed', 'No run of weekly failed or left anything behind.'],
  ['runs --job nightly --since 2030-01-01', 'There are no matching runs of nightly.'],
  ['runs --state failed', 'There are no matching runs.'],
  ['runs --page 2', '0 of 1 run, page 2 of 1'],
  ['runs --limit 1 --job nightly --page 9', '0 of 1 run, page 9 of 1'],
])('%s, where there is none', async (args, expected) => {
  const { type } = await openMachine()
  expect(await type(...words(args))).toEqual({ code: 0, out: `${expected}\n`, err: '' })
})

test.each([
  [1, 1, '1 of 2 runs, page 1 of 2; the next: --page 2'],
  [1, 2, '1 of 2 runs, page 2 of 2'],
  [2, 1, undefined],
])('a list of two runs, %i a page, says at page %i: %s', async (limit, page, expected) => {
  const { type, leave } = await openMachine()
  await leave('run-2', [REJECTED])
  const { out } = await type('runs', '--limit', `${limit}`, '--page', `${page}`)
  expect(/^.* runs, page .*$/m.exec(out)?.[0]).toBe(expected)
})

test('trace names each pruned run that has read the export', async () => {
  const { type, leave, ledger } = await openMachine()
  const exportId = 'e'.repeat(16)
  for (const id of ['old-1', 'old-2', 'new']) await leave(id, [{ ...REJECTED, row: 10 }], {}, exportId)
  const pruned = Date.parse('2026-03-05T10:00:00Z')
  for (const id of ['old-1', 'old-2']) await ledger.pruning.mark(id, new Map(), pruned)
  const { out } = await type('trace', `${exportId}-000010-weight-cccccccc`)
  expect(out.match(/^Run .*$/gm)).toEqual([
    'Run          new, chunk 1: rejected',
    'Run          old-2: pruned on 2026-03-05',
    'Run          old-1: pruned on 2026-03-05',
  ])
})

test('prune says of each run why it keeps its detail, and counts those of an earlier pruning', async () => {
  const { type, leave, begin, end, ledger, clock } = await openMachine()
  const range = { from: '2026-01-01', to: '2026-01-31' }
  await leave('marked', [REJECTED])
  await ledger.pruning.mark('marked', new Map(), START)
  await leave('original', [REJECTED])
  await leave('doubtful', [DOUBTFUL], { origin: { run: 'original', selection: 'left-behind' } })
  await end(await begin('fill', { backfill: range }), 'interrupted')
  await leave('of-weekly', [REJECTED], { job: 'weekly' })
  await begin('under-way', { job: 'weekly', startedAt: START + 20_000 })
  clock.now = START + 10_000
  const prune = async (...args: string[]): Promise<string[]> =>
    linesOf(await type('prune', '--older-than', '1s', ...args))
  const first = await prune()
  expect(first.slice(first.indexOf('Kept, though older:') + 1, -1).toSorted()).toEqual([
    'doubtful has records in doubt; to look them up: waybill reconcile doubtful',
    'fill unfinished; to finish it: waybill backfill nightly --from 2026-01-01 --to 2026-01-31',
    'of-weekly its job is under way (run under-way); prune again afterwards',
    'original run doubtful, younger or kept, has retried what it left behind',
  ])
  expect(first.slice(0, 2)).toEqual([
    'Removed the detail of 1 run that ended before 2026-03-02T07:15Z.',
    'Also of an earlier, interrupted pruning: 1.',
  ])
})

test.each<[string, number, number, readonly string[], number]>([
  ['no notice waits', 0, 0, [], 0],
  ['one is delivered', 1, 0, ['delivered 1 notice of before'], 0],
  ['one is not', 0, 1, ['waiting 1 notice of before'], 1],
  ['of three one is not', 2, 1, ['delivered 2 notices of before', 'waiting 1 notice of before'], 1],
])('notify, where %s', async (_, good, bad, expected, exit) => {
  const { type, ledger, job } = await openMachine()
  const { url } = await serve(({ body }) => ({ status: body.includes('"bad') ? 404 : 204 }))
  const target = { webhook: `${url}/hook`, on: 'failure' as const }
  await job('nightly', `${JOB}notify: { webhook: "${target.webhook}" }\n`)
  const notice = { kind: 'run-ended', job: 'nightly', gateway: GATEWAY, failure: true, at: START, text: [] }
  const rows = ['good', 'good', 'bad'].map((one, at) => ({
    ...{ messageId: `msg_${at}`, kind: notice.kind, subject: `${one} ${at}` },
    ...{ target: keyOf(target), address: nameOf(target) },
    notice: JSON.stringify({ ...notice, subject: `${one} ${at}`, title: one, next: [], data: {} }),
  }))
  const jobId = await ledger.jobs.id('nightly', GATEWAY)
  await ledger.notifications.add(jobId, [...rows.slice(0, good), ...rows.slice(2, 2 + bad)], START)
  const ended = await type('notify', 'nightly')
  expect([ended.code, linesOf(ended)]).toEqual([exit, [`delivered ${nameOf(target)}`, ...expected]])
})

test.each([
  ['accounts forget', '0 of 1 account at https://other.test forgotten;'],
  ['accounts confirm', '1 person at https://other.test confirmed;'],
  ['accounts erase --dry-run', 'Would erase 1 account at https://other.test;'],
])('%s --job is at the gateway of the job', async (args, expected) => {
  const { type, folder, job, environment } = await openMachine()
  delete environment['WAYBILL_GATEWAY_URL']
  await job('elsewhere', `${JOB}gateway: https://other.test\n`)
  await writeFile(join(folder, 'ids.csv'), 'partnerAccountId\nann\n')
  const { out, err } = await type(...words(args), '--file', 'ids.csv', '--job', 'elsewhere')
  expect([out.slice(0, expected.length), err]).toEqual([expected, ''])
})

test('accounts export --file has the people of that file', async () => {
  const { type, folder } = await openMachine()
  const sample = await readFile(join(PROJECT, 'samples/inbox/acme_screening_20260302.csv'), 'utf8')
  const lines = sample.split('\n')
  // The first row of the sample is of somebody who did not come.
  await writeFile(join(folder, 'night_20260101.csv'), lines.slice(0, 3).join('\n'))
  await writeFile(join(folder, 'other.csv'), lines.slice(0, 5).join('\n'))
  const people = async (...args: string[]): Promise<unknown> =>
    JSON.parse((await type('accounts', 'export', 'nightly', '--json', ...args)).out)
  expect(await people('--out', 'a.csv')).toMatchObject({ written: 0, unknown: 1 })
  expect(await people('--out', 'b.csv', '--file', 'other.csv')).toMatchObject({ written: 0, unknown: 3 })
})

test.each([
  ['terminal', { terminal: false as const, input: () => Readable.from(['no\n']) }],
  ['input', { terminal: () => 80, input: undefined }],
])('accounts are not erased without a %s to confirm it', async (_, given) => {
  const { type, folder, around } = await openMachine()
  await writeFile(join(folder, 'ids.csv'), 'partnerAccountId\nann\n')
  Object.assign(around, given)
  const { code, err } = await type('accounts', 'erase', '--file', 'ids.csv')
  expect([code, err]).toEqual([2, expect.stringContaining('there is no terminal to confirm it')])
})

test('logs say that the log has no line of a run', async () => {
  const { type, leave, folder, environment } = await openMachine()
  await leave('run-2', [])
  const log = join(folder, 'waybill.log')
  await writeFile(log, `${JSON.stringify({ timestamp: 't', level: 'info', message: 'm', run: 'run-1' })}\n`)
  environment['WAYBILL_LOG_FILE'] = log
  const none = 'The log has no lines of this run: the run started without a log file, or the lines are gone.'
  expect(linesOf(await type('logs', 'run-2'))).toEqual([none])
  expect(linesOf(await type('logs', 'run-1'))).toEqual(['t info m'])
})

test('schedule --explain tells why the run waits, and how many exports were strangely small', async () => {
  const { type, begin, ledger, job, folder } = await openMachine()
  const expected = 'expect: { by: "0 6 * * *", zone: Etc/UTC, size: 50% }'
  await job('nightly', JOB.replace('.csv" }', `.csv", ${expected} }`))
  const run = await begin('under-way')
  const waits = { since: START, givesUpAt: START + 60_000, class: 'unavailable', what: '503', pending: 7 }
  await run.noteOutage(JSON.stringify(waits))
  const explain = async (): Promise<string> => (await type('schedule', '--explain', 'nightly')).out
  expect(await explain()).toMatch(
    /under way since 2026-03-02T07:15:00Z, by process \S+; it waits for the gateway since 2026-03-02T07:15:00Z, .*7 records are pending$/m,
  )
  const folders = { jobs: join(folder, 'jobs'), mappings: join(PROJECT, 'mappings') }
  const [watched] = watchedSources(await readJob(folders, 'nightly'))
  const { key } = watched ?? expect.fail('nothing is expected')
  const judged = { ...key, due: START, judged_at: START, state: 'arrived' as const, expected: 3, arrived: 3 }
  await ledger.expectations.judge({ ...judged, small: 2, known: '[]' })
  expect(await explain()).toContain('arrived (3 of 3, 2 strangely small)')
})

test('a report replaces an earlier one of its run alone, and its size is told in bytes', async () => {
  const { type, leave, folder } = await openMachine()
  await leave('run-2', [REJECTED])
  const report = (run: string, out: string): Promise<Ended> => type('report', run, '--out', out, '--json')
  for (let times = 0; times < 2; times++) {
    const { code, out } = await report('run-2', 'r.html')
    const { size } = await stat(join(folder, 'r.html'))
    expect([code, JSON.parse(out)]).toMatchObject([0, { run: 'run-2', bytes: size }])
  }
  await writeFile(join(folder, 'other.html'), 'other')
  await mkdir(join(folder, 'folder'))
  for (const [run, file] of [
    ['run-1', 'r.html'],
    ['run-2', 'other.html'],
    ['run-2', 'folder'],
    ['run-2', 'other.html/r.html'],
  ] as const) {
    const { code, err } = await report(run, file)
    const path = join(folder, file)
    expect([code, err]).toEqual([
      2,
      expect.stringContaining(`${path} exists already, and is not a report of run ${run}`),
    ])
  }
})

test.each([
  [
    { owner: 'there:7#boot.1', begun_at: START - 86_400_000 },
    'there:7, which started it at 2026-03-01 07:15 UTC',
  ],
  [{}, 'a process'],
])('a schedule tells whose fire was left running: %j', async (change, who) => {
  const { type, ledger, job, interrupt, onSleep } = await openMachine()
  const cron = '0 7 * * *'
  await job('nightly', `${JOB}schedule: { cron: "${cron}", zone: Etc/UTC, missed: once }\n`)
  const jobId = await ledger.jobs.id('nightly', GATEWAY)
  const due = START - 900_000
  await ledger.fires.comeDue(jobId, undefined, { cron, zone: 'Etc/UTC', seenUntil: START }, [due])
  for (const fire of await ledger.fires.open(jobId)) await ledger.fires.move(fire, 'begin', change)
  onSleep(async () => interrupt.abort(new WaybillError('interrupted', 'by hand')))
  const { err } = await type('schedule')
  expect(err).toContain(
    `warn  the fire of 2026-03-02 07:00 UTC was interrupted: its process has ended: ${who} job=nightly`,
  )
})

test('a refused run of nothing to read is no warning of the schedule', async () => {
  const words = { message: 'nothing is there', remedy: 'Wait.', findings: [] }
  const { type, job, interrupt, onSleep, clock } = await openMachine({ exit: 2, code: 'exports-none', words })
  await job('nightly', `${JOB}schedule: { cron: "16 7 * * *", zone: Etc/UTC, missed: once }\n`)
  onSleep(async (ms) => {
    for (let turn = 0; turn < 50; turn++) await setImmediate()
    clock.now += ms
    if (clock.now > START + 120_000) interrupt.abort(new WaybillError('interrupted', 'by hand'))
  })
  const { err } = await type('schedule')
  expect(err).toMatch(/ info {2}the fire of 2026-03-02 07:16 UTC has ended: found no exports job=nightly/)
})

test('the count of a plan leaves nothing on the terminal', async () => {
  const { type, folder, around } = await openMachine()
  await writeFile(join(folder, 'night_20260105.csv'), 'a\n')
  around.terminal = () => 80
  const { err } = await type(...words(FILL), '--dry-run')
  expect(err.split('\r\u001b[2K')).toEqual(['', '1 of 1: counting night_20260105.csv', ''])
})

test('a schedule that runs jobs by itself tells where the records go', async () => {
  const { type, job, interrupt, onSleep, clock, environment, folder } = await openMachine()
  delete environment['WAYBILL_RUN_BY']
  await job('nightly', `${JOB}schedule: { cron: "16 7 * * *", zone: Etc/UTC, missed: once }\n`)
  await writeFile(join(folder, 'night_20260105.csv'), 'a\n1\n')
  onSleep(async (ms) => {
    for (let turn = 0; turn < 50; turn++) await setImmediate()
    clock.now += ms
    if (clock.now > START + 120_000) interrupt.abort(new WaybillError('interrupted', 'by hand'))
  })
  const { err } = await type('schedule')
  expect(err).toContain(`Records go to ${GATEWAY}.\n`)
})

test.each([
  ['nightly', 'weekly'],
  ['weekly', 'nightly'],
])(
  'expect ends with the highest exit code of all jobs, also where %s lacks its exports and %s its folder',
  async (missing, gone) => {
    const { type, job } = await openMachine()
    const expected = JOB.replace('.csv" }', '.csv", expect: { by: "0 6 * * *", zone: Etc/UTC } }')
    await job(missing, expected)
    expect((await type('expect')).code).toBe(1)
    await job(gone, expected.replace('from: ..,', 'from: ../gone/away,'))
    const { code, out } = await type('expect')
    expect([code, out.match(/^\w+: \w+/gm)?.toSorted()]).toEqual([
      2,
      [`${gone}: unreachable`, `${missing}: missing`].toSorted(),
    ])
    const json = await type('expect', '--json')
    expect([json.code, JSON.parse(json.out)]).toMatchObject([2, { exit: 2 }])
  },
)
