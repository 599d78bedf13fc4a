/** How a run ends is told, whatever has become of the ledger meanwhile; and what is told is true. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createApplication } from '../../src/application.ts'
import { type Job, readJob } from '../../src/definitions/definition-files.ts'
import { storedTargets, type Target } from '../../src/definitions/notify-definition.ts'
import { type FireRecord, type Ledger, noTallies } from '../../src/ledger/ledger.ts'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { WaybillError } from '../../src/model/errors.ts'
import type { UnsentNotice } from '../../src/notify/notice.ts'
import { createRunEvents, type RunDependencies } from '../../src/run/events.ts'
import { begin, runFollowed } from '../../src/runs/begin.ts'
import {
  followByNotices,
  followRefusals,
  type Noticed,
  tellDeadRun,
  tellHolder,
  tellLastTry,
} from '../../src/runs/run-notices.ts'
import { createTeller, type Teller } from '../../src/runs/teller.ts'
import { gatherStory } from '../../src/story/facts.ts'
import type { JobEnd, RunSummary } from '../../src/story/run-story.ts'
import { readSettings } from '../../src/system/settings.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { beginRun, passingLedger } from '../ledger/begun-run.ts'
import { SECRET, startHookServer } from '../notify/hook-server.ts'
import { UNSENT } from '../notify/sample-notice.ts'
import { temporaryFolder } from '../temporary-folder.ts'

async function install() {
  const folder = await temporaryFolder()
  await mkdir(join(folder, 'jobs'))
  const ledger = await openLedger(join(folder, 'ledger.sqlite'))
  const hook = await startHookServer()
  const lines: string[] = []
  let ids = 0
  const context = {
    settings: readSettings({ WAYBILL_WEBHOOK_SECRET: SECRET }, folder),
    logger: createLogger(
      { level: 'warn', form: 'text', print: (line) => lines.push(line) },
      undefined,
      Date.now,
    ),
    now: Date.now,
    sleep: async () => {},
    randomHex: () => String(++ids),
    owner: 'night-host:7',
    isDead: () => false,
    version: '0.0.0',
  }
  const target: Target = { webhook: `${hook.url}/`, on: 'failure', folder }
  return { folder, ledger, hook, lines, context, target }
}

/** No metrics of the last run. */
const UNCOUNTED = { tell: [], counts: () => false }

test('a run that ends as the ledger is gone is told, and not as one that was never begun', async () => {
  const { folder, ledger, hook, context, target } = await install()
  const teller = createTeller(context, ledger)
  const failure = new WaybillError('ledger-unusable', 'the ledger is damaged')
  const deps = {
    ...{ ledger, gatewayName: 'gateway', home: folder, now: Date.now, isDead: () => false },
    events: createRunEvents(),
  } as unknown as RunDependencies
  const job = {
    definition: { job: 'nightly', notify: [target] },
    file: join(folder, 'jobs/nightly.yaml'),
  } as unknown as Job
  const work = async (told: RunDependencies): Promise<JobEnd> => {
    const begun = { job: 'nightly', gateway: 'gateway', resumed: false, tallies: noTallies() }
    told.events.emit({ type: 'runStarted', id: 'run-1', ...begun })
    await ledger.close()
    throw failure
  }
  await expect(runFollowed(context, { teller, deps, job, refusals: true, ...UNCOUNTED, work })).rejects.toBe(
    failure,
  )
  expect(hook.titles()).toEqual(['waybill.run-stopped Waybill: nightly was stopped (ledger-unusable)'])
  const [told] = hook.received()
  expect(told?.data.details).toEqual({
    ...{ run: 'run-1', error: 'ledger-unusable', exit: 2 },
    ...{ host: 'night-host', home: context.settings.home },
  })
})

test('a strangely small export is told while the run is on', async () => {
  const { folder, ledger, hook, context, target } = await install()
  onTestFinished(() => ledger.close())
  const teller = createTeller(context, ledger, new Map([['nightly', [target]]]))
  const small = { name: 'a.csv', bytes: 12, modifiedAt: Date.UTC(2026, 2, 2, 6), usual: 100 }
  const deps = {
    ...{ ledger, gatewayName: 'gateway', home: folder, now: Date.now, isDead: () => false },
    events: createRunEvents(),
  } as unknown as RunDependencies
  const file = join(folder, 'jobs/nightly.yaml')
  const job = { definition: { job: 'nightly', notify: [target] }, file } as unknown as Job
  const over = new WaybillError('exports-none', 'what the run was waiting for has come')
  const work = async (told: RunDependencies): Promise<JobEnd> => {
    told.events.emit({ type: 'exportSmall', ...small, source: '/inbox/*.csv', mapping: 'm' })
    await vi.waitFor(() => expect(hook.titles()).toHaveLength(1), { timeout: 60_000 })
    throw over
  }
  await expect(runFollowed(context, { teller, deps, job, refusals: false, ...UNCOUNTED, work })).rejects.toBe(
    over,
  )
  expect(hook.titles()).toEqual(['waybill.export-small Waybill: nightly: a.csv has 12 % of the usual size'])
})

test.each([
  ['interrupted', ['waybill.run-stopped Waybill: nightly was stopped (interrupted)']],
  ['lease-lost', []],
] as const)('how a run ends is told by whoever has it by then: %s', async (code, titles) => {
  const { folder, ledger, hook, context, target } = await install()
  onTestFinished(() => ledger.close())
  const teller = createTeller(context, ledger, new Map([['nightly', [target]]]))
  const jobId = await ledger.jobs.id('nightly', 'gateway')
  const request = { jobId, runId: 'run-1', owner: 'here:1', now: Date.now(), ttlMs: 60_000 }
  const answer = await ledger.leases.acquire(request, () => false)
  if (!answer.ok) return expect.fail('held')
  const start = { id: 'run-1', jobId, startedAt: Date.now(), rejectsPath: 'r', receiptsPath: 'r' }
  await ledger.runs.start(answer.lease, start)
  const deps = {
    ...{ ledger, gatewayName: 'gateway', home: folder, now: Date.now, isDead: () => false },
    events: createRunEvents(),
  } as unknown as RunDependencies
  const file = join(folder, 'jobs/nightly.yaml')
  const job = { definition: { job: 'nightly', notify: [target] }, file } as unknown as Job
  const error = new WaybillError(code, 'it was stopped')
  const work = async (): Promise<JobEnd> => ({
    ...(await gatherStory({ ledger, home: folder }, 'run-1')),
    exit: error.exit,
    error,
  })
  await runFollowed(context, { teller, deps, job, refusals: true, ...UNCOUNTED, work })
  await teller.deliver()
  expect(hook.titles()).toEqual(titles)
})

test.each(['ends', 'takes up'])('a run that another process %s just then is not dead', async (how) => {
  const { ledger, hook, context, target } = await install()
  onTestFinished(() => ledger.close())
  const jobId = await ledger.jobs.id('nightly', 'gateway')
  const request = { jobId, runId: 'run-1', owner: 'there:1', now: Date.now(), ttlMs: 60_000 }
  const answer = await ledger.leases.acquire(request, () => false)
  if (!answer.ok) return expect.fail('held')
  const start = {
    id: 'run-1',
    jobId,
    startedAt: Date.now(),
    rejectsPath: 'rejects',
    receiptsPath: 'receipts',
  }
  const run = await ledger.runs.start(answer.lease, start)
  const end = async (state: 'finished' | 'interrupted'): Promise<void> => {
    await run.endRun({ state, endedAt: Date.now(), reason: null })
    await ledger.leases.release(answer.lease)
  }
  if (how === 'takes up') await end('interrupted')
  const moved = {
    ends: () => end('finished'),
    async 'takes up'() {
      const [record] = await ledger.runs.list(1)
      const again = await ledger.leases.acquire(request, () => false)
      if (!again.ok || record === undefined) return expect.fail('held')
      await ledger.runs.resume(again.lease, record, Date.now())
    },
  }[how]
  let asked = false
  const once = async (): Promise<void> => {
    if (!asked) await moved?.()
    asked = true
  }
  const between: typeof ledger = {
    ...ledger,
    runs: {
      ...ledger.runs,
      async unfinished(...given) {
        if (how === 'takes up') await once()
        const found = await ledger.runs.unfinished(...given)
        if (how === 'ends') await once()
        return found
      },
    },
  }
  const deps = { ledger: between, gatewayName: 'gateway', now: Date.now, isDead: () => false }
  const teller = createTeller(context, ledger, new Map([['nightly', [target]]]))
  await tellDeadRun(teller, deps, 'nightly', [target], true)
  await teller.deliver()
  expect(hook.titles()).toEqual([])
})

test('a job that is run by the path of its file is told to whom that names, though the jobs folder has one of its name', async () => {
  const { folder, ledger, hook, lines, context, target } = await install()
  onTestFinished(() => ledger.close())
  await writeFile(join(folder, 'jobs/nightly.yaml'), 'job: nightly\nnotify: { command: "true" }\n')
  const teller = createTeller(context, ledger, new Map([['nightly', [target]]]))
  await teller.tell({ ...UNSENT, job: 'nightly' }, [target])
  await teller.deliver()
  expect(lines).toEqual([])
  expect(hook.received()).toHaveLength(1)
})

test('what a run throws is told before it is thrown', async () => {
  const { folder, ledger, hook, target } = await install()
  await ledger.close()
  const settings = readSettings({ WAYBILL_WEBHOOK_SECRET: SECRET, WAYBILL_HOME: folder }, folder)
  const application = createApplication('0', settings, () => {}, new AbortController().signal)
  const job = { definition: { job: 'nightly', notify: [target] }, file: 'x' } as unknown as Job
  const failure = new WaybillError('mapping-invalid', 'the mapping has 1 problem')
  const work = (): Promise<JobEnd> => Promise.reject(failure)
  const beginning = { job, gateway: 'built-in', refusals: true, work }
  await expect(begin(application, { listener: {} }, beginning)).rejects.toBe(failure)
  expect(hook.titles()).toEqual(['waybill.run-refused Waybill: nightly was not run (mapping-invalid)'])
})

const AT = Date.parse('2026-03-02T07:00Z')
const TARGET: Target = { command: 'true', on: 'always', folder: '/' }

/** Notes the notices, each when it is stored: the first takes longest. */
function noted() {
  const notices: UnsentNotice[] = []
  let ticks = 20
  let deliveries = 0
  const teller = {
    async tell(notice: UnsentNotice) {
      ticks = Math.max(1, ticks - 5)
      for (let tick = 0; tick < ticks; tick++) await setImmediate()
      notices.push(notice)
    },
    deliver: async () => void deliveries++,
  } as unknown as Teller
  const kinds = (): string[] => notices.map(({ kind, subject }) => `${kind} ${subject}`)
  return { teller, notices, kinds, deliveries: () => deliveries }
}

const ASIDE: Noticed['job'] = {
  ...{ definition: { job: 'nightly', notify: [TARGET] }, file: '/jobs/nightly.yaml', sources: [] },
} as unknown as Job

async function noticed(more: Partial<Noticed> & { readonly ledger?: Ledger }) {
  const { ledger = await passingLedger(), ...given } = more
  const told = noted()
  const deps = { ledger, gatewayName: 'gateway', home: '/nowhere', now: () => AT, isDead: () => false }
  const logger = { warn: (words: string) => expect.fail(words) } as never
  const run: Noticed = { teller: told.teller, deps, job: ASIDE, refusals: true, ...given }
  return { ...told, ledger, follower: followByNotices({ logger }, run) }
}

/** The end of a run without exports. */
async function endOf(changed: Partial<RunSummary>, more: Partial<JobEnd> = {}): Promise<JobEnd> {
  const ledger = await passingLedger()
  await (await beginRun(ledger, 'it')).endRun({ state: 'finished', endedAt: AT, reason: null })
  const story = await gatherStory({ ledger, home: '/nowhere' }, 'it')
  return { ...story, summary: { ...story.summary, ...changed }, exit: 0, ...more }
}

const GOOD = ['job-recovered it', 'run-ended it finished']
const ENDED = ['run-ended it finished']
const STOPPED = ['run-stopped it interrupted 2026-03-02T07:00:00.000Z']
const ORIGIN = { run: 'run-1', selection: 'left-behind' } as const
const BACKFILL = { from: '2026-03-01', to: '2026-03-02' } as unknown as NonNullable<RunSummary['backfill']>
const isTriedAgain = (code: string | undefined): boolean => code === 'gateway-failing'
const errorOf = (code: 'gateway-failing' | 'lease-lost'): Partial<JobEnd> => ({
  error: new WaybillError(code, 'here'),
  exit: 3,
})

test.each<[string, Partial<RunSummary>, Partial<JobEnd>, Partial<Noticed>, readonly string[]]>([
  ['with nothing left behind', {}, {}, {}, GOOD],
  ['of a typed command', {}, {}, { refusals: false }, ENDED],
  ['whose refusals are judged one by one', {}, {}, { refusals: async () => false }, GOOD],
  ['with records left behind', {}, { exit: 1 }, {}, ENDED],
  ['that takes leftovers up', { origin: ORIGIN }, {}, {}, ENDED],
  ['that is a backfill', { backfill: BACKFILL }, {}, {}, ENDED],
  ['that was interrupted', { state: 'interrupted' }, { exit: 130 }, {}, STOPPED],
  ['that is unfinished without an error', { state: 'interrupted' }, { exit: 0 }, {}, STOPPED],
  ['that another process has taken over', {}, errorOf('lease-lost'), { isTriedAgain }, []],
  ['that is tried again', {}, errorOf('gateway-failing'), { isTriedAgain }, []],
  ['that is not tried again', {}, errorOf('gateway-failing'), {}, ENDED],
])('the notices of a run %s are stored when its end is heard', async (_, changed, more, given, expected) => {
  const { follower, kinds } = await noticed(given)
  await follower.ended?.(await endOf(changed, more))
  expect(kinds()).toEqual(expected)
})

test('a run that has finished an earlier one has a notice of both, the earlier first', async () => {
  const { follower, kinds } = await noticed({ refusals: false })
  const resumed = await endOf({ run: 'earlier' })
  await follower.ended?.(await endOf({}, { resumed }))
  expect(kinds()).toEqual(['run-ended earlier finished', 'run-ended it finished'])
})

const MISSING = `job: nightly
exports: { from: in, match: "*.csv", expect: { by: "0 6 * * *", zone: Etc/UTC } }
mapping: m
notify: { command: "true" }
`

test.each<
  [
    string,
    'mapping-invalid' | 'gateway-failing' | 'exports-none' | 'job-held',
    Partial<Noticed>,
    readonly string[],
  ]
>([
  ['an invalid mapping', 'mapping-invalid', {}, ['run-refused']],
  ['an error that the person sees who typed the command', 'mapping-invalid', { refusals: false }, []],
  ['an error that is judged to be known', 'mapping-invalid', { refusals: async () => false }, []],
  ['an error that is judged to be news', 'mapping-invalid', { refusals: async () => true }, ['run-refused']],
  ['a gateway at which it is tried again', 'gateway-failing', { isTriedAgain }, []],
  ['a missing export', 'exports-none', {}, ['run-refused']],
  ['a missing export of which the watch has told', 'exports-none', { job: undefined as never }, []],
  ['a mapping, though an export is missing', 'mapping-invalid', { job: undefined as never }, ['run-refused']],
  ['a job that nobody holds any more', 'job-held', {}, ['run-refused']],
])('a run that is refused by %s', async (_, code, given, expected) => {
  const folder = await temporaryFolder()
  await writeFile(join(folder, 'nightly.yaml'), MISSING)
  const job = 'job' in given ? await readJob({ jobs: folder, mappings: folder }, 'nightly') : ASIDE
  const ledger = await passingLedger()
  const judged = async () => [{ due: Date.parse('2026-03-02T06:00Z'), state: 'missing' }]
  const watched = { ...ledger, expectations: { ...ledger.expectations, judged } } as unknown as Ledger
  const { follower, notices } = await noticed({ ...given, job, ledger: watched })
  const error = new WaybillError(code, 'here')
  await follower.failed?.(error)
  expect(notices.map(({ kind }) => kind)).toEqual(expected)
  // Nothing is opened for an error that was notified.
  await followRefusals({ settings: undefined } as never, 'nightly').failed?.(error)
})

test('a job without targets is not followed', async () => {
  const job = { ...ASIDE, definition: { ...ASIDE.definition, notify: [] } }
  expect((await noticed({ job })).follower).toEqual({})
})

const ROWS = { measure: 'rows', level: 'look' }
const EMPTY = { measure: 'empty', level: 'look', column: 'a1c' }

test.each<[string, boolean, readonly object[], readonly string[]]>([
  ['few rows', false, [ROWS], ['rows']],
  ['few rows of a file that was notified as small', true, [ROWS], []],
  ['empty values of a file that was notified as small', true, [ROWS, EMPTY], ['empty']],
  ['rows and empty values', false, [ROWS, EMPTY], ['rows', 'empty']],
])(
  'an export that differs by %s is notified before the end of the run',
  async (_, isSmall, findings, expected) => {
    const { follower, notices } = await noticed({ refusals: false })
    const { emit } = createRunEvents(follower.listener ?? {})
    for (const id of ['run-1', 'run-2']) emit({ type: 'runStarted', id } as never)
    emit({ type: 'exportDrifted', name: 'a.csv', sha256: 's'.repeat(64), isSmall, findings } as never)
    const error = new WaybillError('ledger-unusable', 'gone')
    await follower.failed?.(error)
    const drifted = notices.find(({ kind }) => kind === 'export-drifted')
    const found = (drifted?.data as { findings?: { measure: string }[] } | undefined)?.findings ?? []
    expect(found.map(({ measure }) => measure)).toEqual(expected)
    expect(drifted?.data['run']).toBe(expected.length > 0 ? 'run-2' : undefined)
    expect(drifted === undefined).toBe(expected.length === 0)
  },
)

const LEASE = { owner: 'there:1#boot.1', run_id: 'it', acquired_at: 1, token: 1 }
const ABOUT = { job: 'nightly', gateway: 'gateway', at: AT }
const withLease = async (expires_at: number, run: object | undefined = { id: 'it', state: 'running' }) => {
  const last = async () => ({ ...LEASE, expires_at })
  const holder = async (_: number, now: number) => (expires_at > now ? last() : undefined)
  const unfinished = async (_: number, kind: string) => (kind === 'ordinary' ? run : undefined)
  return { jobs: { id: async () => 7 }, leases: { last, holder }, runs: { unfinished } } as unknown as Ledger
}

test.each([
  ['has run out just now', AT, false],
  ['runs out next', AT + 1, true],
])('a lease that %s: its owner holds the job, or is dead', async (_, expires, isHeld) => {
  const { teller, kinds } = noted()
  const ledger = await withLease(expires)
  expect(await tellHolder(teller, ledger, ABOUT, [TARGET], () => AT)).toBe(isHeld)
  await tellDeadRun(
    teller,
    { ledger, gatewayName: 'gateway', now: () => AT, isDead: () => false },
    'nightly',
    [],
    true,
  )
  const since = '1970-01-01T00:00:00.001Z'
  expect(kinds()).toEqual([isHeld ? `job-held it there:1 ${since}` : `run-stopped it there:1 ${since}`])
})

test.each([
  ['that the process resumes', true, 'Its progress is stored: it continues by itself.'],
  ['that a rerun leaves alone', false, 'Its progress is stored.'],
])(
  'a dead run %s is notified at the begin of the next, and earlier notices are delivered',
  async (_, refusals, words) => {
    const { follower, notices, deliveries } = await noticed({ refusals, ledger: await withLease(AT) })
    await follower.begun?.()
    expect(notices.map(({ kind }) => kind)).toEqual(['run-stopped'])
    expect(notices[0]?.text).toContain(words)
    expect(deliveries()).toBe(1)
  },
)

test.each([
  ['job-held', 'job-held it there:1'],
  ['mapping-invalid', 'run-refused mapping-invalid'],
] as const)('a refusal by %s while another process holds the job', async (code, notice) => {
  const ledger = { ...(await withLease(AT + 1)), runs: { list: async () => [] } } as unknown as Ledger
  const { follower, kinds } = await noticed({ ledger })
  await follower.failed?.(new WaybillError(code, 'here'))
  expect(kinds()).toEqual([expect.stringContaining(notice)])
})

test.each([
  [
    'finished',
    ['run-ended it finished', expect.stringMatching(/^run-refused mapping-invalid .* after it$/)],
    0,
  ],
  ['interrupted', STOPPED, 2],
] as const)('a call that broke off behind a run that is %s', async (state, expected, exit) => {
  const ledger = await passingLedger()
  await (await beginRun(ledger, 'it')).endRun({ state, endedAt: 5, reason: null })
  const { follower, kinds, notices } = await noticed({ ledger })
  createRunEvents(follower.listener ?? {}).emit({ type: 'runStarted', id: 'it' } as never)
  await follower.failed?.(new WaybillError('mapping-invalid', 'line 3'))
  expect(kinds()).toEqual(expected)
  expect(notices[0]?.text[0]).toContain(`exit code ${exit}`)
})

test.each<[string, Partial<FireRecord>, 'interrupted' | 'finished', readonly Target[], readonly object[]]>([
  ['that was interrupted', { exit: 3, ended_at: 5 }, 'interrupted', [TARGET], [{ at: 5, failure: true }]],
  [
    'without a noted end',
    { exit: null, ended_at: null },
    'interrupted',
    [TARGET],
    [{ at: AT, failure: true }],
  ],
  ['of a job without targets', { exit: 3, ended_at: 5 }, 'interrupted', [], []],
  ['that a person has finished', { exit: 3, ended_at: 5 }, 'finished', [TARGET], []],
  ['that never began', { exit: 3, ended_at: 5, run_id: null }, 'interrupted', [TARGET], []],
])('the last try of a run %s', async (_, fire, state, targets, expected) => {
  const ledger = await passingLedger()
  await (await beginRun(ledger, 'it')).endRun({ state, endedAt: 5, reason: null })
  const { teller, notices } = noted()
  const record = { run_id: 'it', ...fire } as FireRecord
  await tellLastTry(teller, { ledger, home: '/nowhere' }, ABOUT, targets, record)
  expect(notices).toMatchObject(expected)
})

test.each<[string, string | undefined, 'job-invalid' | 'job-not-found', boolean, number]>([
  ['an invalid file with a target', 'exports: 7\nnotify: { webhook: URL }\n', 'job-invalid', true, 1],
  ['an invalid file, and the ledger', 'exports: 7\nnotify: { webhook: URL }\n', 'job-invalid', false, 1],
  ['an invalid file without a target', 'exports: 7\n', 'job-invalid', true, 0],
  ['a file that cannot be read', 'job: "a', 'job-invalid', true, 1],
  ['a file that cannot be read, and the ledger', 'job: "a', 'job-invalid', false, 0],
  ['a mistyped name', undefined, 'job-not-found', true, 0],
])('a command that meets %s notifies those that can be known', async (_, text, code, isUsable, count) => {
  const { folder, ledger, hook, context, target } = await install()
  onTestFinished(() => ledger.close())
  const lastTargets = { of: async (job: string) => (job === 'nightly' ? storedTargets([target]) : undefined) }
  if (text !== undefined)
    await writeFile(join(folder, 'jobs/nightly.yaml'), text.replace('URL', `"${hook.url}/"`))
  let open = 0
  const openLedger = async (): Promise<Ledger> => {
    if (!isUsable) throw new WaybillError('ledger-unusable', 'gone')
    open++
    const close = async (): Promise<void> => {
      await setImmediate()
      open--
    }
    return {
      ...ledger,
      lastTargets: { ...ledger.lastTargets, ...lastTargets },
      close,
    }
  }
  const settings = { ...context.settings, ledger: 'postgres://db/w', jobs: join(folder, 'jobs') }
  const application = { ...context, settings, openLedger } as unknown as Parameters<typeof followRefusals>[0]
  await followRefusals(application, 'nightly').failed?.(new WaybillError(code, 'line 3'))
  expect(hook.titles()).toEqual(
    Array(count).fill(`waybill.run-refused Waybill: nightly was not run (${code})`),
  )
  expect(open).toBe(0)
})
