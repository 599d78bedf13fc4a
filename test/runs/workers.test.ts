/** A worker and its tickets: what it hands back, what it completes, and what its log says. */
import { existsSync, renameSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Ledger, RunRecord } from '../../src/ledger/ledger.ts'
import type { RunRequest, Ticket, TicketEnd, Tickets } from '../../src/ledger/tickets.ts'
import { WaybillError } from '../../src/model/errors.ts'
import { LOOK_EVERY_MS } from '../../src/run/lease.ts'
import type { Application, GatewayConnection } from '../../src/runs/application.ts'
import { keepWorking } from '../../src/runs/workers.ts'
import { readSettings } from '../../src/system/settings.ts'
import { passingLedger } from '../ledger/begun-run.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const REQUEST: RunRequest = { what: 'run', job: 'missing', files: [] }
/** Looks into the ledger first. */
const RERUN: RunRequest = { what: 'rerun', job: 'nightly', run: 'run-1', only: 'left-behind' }

/** Pause of a free worker between two looks. */
const ASK_EVERY_MS = 500
const KEY = 'k'.repeat(64)
const GATEWAY = 'https://gateway.test'
const JOB = `job: nightly
exports: { from: in, match: "night_{date:yyyyMMdd}.csv" }
mapping: m
`

interface Given {
  readonly request?: RunRequest | undefined
  readonly attempt?: number
  readonly sentAt?: number
  /** Thrown when the ticket is worked on. */
  readonly thrown?: unknown
  /** Looks for a ticket that fail, by their numbers. */
  readonly failing?: readonly number[]
  readonly concurrency?: number
  /** Settings of the worker, beside the usual ones. */
  readonly variables?: Readonly<Record<string, string>>
  /** The queue takes no end of a ticket. */
  readonly isDeaf?: true
  /** Called with the home at each look for a ticket. */
  readonly onLook?: (look: number, home: string) => void
  /** Called at each pause between two looks. */
  readonly onPause?: (pause: number, home: string) => void
  /** Looks of a free worker before it gets the ticket. */
  readonly idle?: number
  /** Fills the ledger. */
  readonly before?: (ledger: Ledger) => Promise<unknown>
  /** Answers the connection of the gateway. @param interrupt ends the worker */
  readonly connect?: (
    worker: Application,
    interrupt: () => void,
    sent: readonly unknown[],
  ) => Promise<GatewayConnection>
}

const refusing = async (): Promise<never> => {
  throw new WaybillError('gateway-unreachable', 'away')
}

/** Works until one ticket is completed or handed back. */
async function work(given: Given) {
  const { request, attempt = 0, sentAt = 0, thrown, failing = [], before, connect } = given
  const home = await temporaryFolder()
  await mkdir(join(home, 'jobs'))
  await writeFile(join(home, 'jobs/nightly.yaml'), JOB)
  const ledger = await passingLedger()
  await before?.(ledger)
  const close = ledger.close
  ledger.close = async () => {}
  const interrupt = new AbortController()
  const ticket = { id: 't', lane: 'run', request, attempt, sentAt } as unknown as Ticket
  const ends: (TicketEnd | 'given back')[] = []
  const log: string[] = []
  const sent: unknown[] = []
  const beats: number[] = []
  const lanes: string[] = []
  const pauses = new Set<number>()
  let looks = 0
  let asks = 0
  let isTaken = false
  let isClosed = false
  let now = 0
  const end = async (one: TicketEnd | 'given back') => {
    ends.push(one)
    interrupt.abort()
    if (given.isDeaf) throw new WaybillError('ledger-unusable', 'the queue is away')
  }
  const tickets = {
    async take(lane: string) {
      lanes.push(lane)
      given.onLook?.(looks, home)
      if (failing.includes(looks++)) throw new WaybillError('ledger-unusable', 'the queue is away')
      if (lane !== 'run' || isTaken || looks <= (given.idle ?? 0)) return undefined
      isTaken = true
      return ticket
    },
    async beat(one: Ticket) {
      expect(one).toBe(ticket)
      beats.push(now)
      throw new WaybillError('ledger-unusable', 'the queue is away')
    },
    complete: (_: Ticket, one: TicketEnd) => end(one),
    giveBack: () => end('given back'),
    async send(...one: unknown[]) {
      await turnOfTheLoop()
      sent.push(one)
    },
    async close() {
      for (const _ of [1, 2, 3]) await turnOfTheLoop()
      isClosed = true
    },
  } as unknown as Tickets
  const variables = {
    WAYBILL_HOME: home,
    WAYBILL_LEDGER: 'postgres://db/waybill',
    WAYBILL_GATEWAY_URL: GATEWAY,
    WAYBILL_API_KEY: 'a',
    WAYBILL_ACCESS_TOKEN: 'b',
    WAYBILL_RUN_BY: 'workers',
    WAYBILL_KEY: KEY,
    ...given.variables,
  }
  const settings = readSettings(variables, home)
  const openLedger = async () => {
    if (isTaken && thrown !== undefined) throw thrown
    return ledger
  }
  const logged =
    (level: string) =>
    (words: string, facts: { readonly code?: string | undefined } = {}): void =>
      void log.push([level, words, ...(facts.code === undefined ? [] : [facts.code])].join(' '))
  const application = {
    ...{ settings, openLedger, openTickets: async () => tickets },
    ...{ interrupt: interrupt.signal, owner: 'there:7#boot.1', now: () => now, randomHex: () => 'f' },
    isDead: (owner: string) => owner === GONE,
    logger: { info: logged('info'), warn: logged('warn'), error: logged('error') },
    connectGateway(this: Application) {
      return (connect ?? refusing)(this, () => interrupt.abort(), sent)
    },
    sleep(ms: number, signal: AbortSignal) {
      if (ms === ASK_EVERY_MS) given.onPause?.(++asks, home)
      return new Promise<void>((resolve) => {
        pauses.add(ms)
        // Others wait for their places and their next beats.
        if (ms === LOOK_EVERY_MS) now += ms
        if (signal.aborted) resolve()
        else setImmediate(resolve)
      })
    },
  } as unknown as Application
  const over = keepWorking(application, () => ({ listener: {} }), given.concurrency ?? 1).finally(() => {
    ledger.close = close
  })
  const failed = await over.then(
    () => undefined,
    (error: unknown) => error,
  )
  const [first, ...others] = ends
  expect(others).toEqual([])
  // Who is refused has opened no queue.
  expect(isClosed).toBe(lanes.length > 0)
  if (lanes.length > 0 && failed === undefined)
    expect([log.at(0), log.at(-1)]).toEqual(['info the worker has started', 'info the worker has ended'])
  const told = log.filter((line) => !/worker has (started|ended)/.test(line))
  return { end: first, log: told, failed, waited: now, beats, sent, lanes, pauses }
}

const GONE = 'gone:1#boot.1'

test('a job that is not there is refused, and the words name the worker', async () => {
  const { end, log } = await work({ request: REQUEST })
  expect(end).toMatchObject({ exit: 2, code: 'job-not-found' })
  const { words } = end as TicketEnd
  expect(words?.message).toMatch(/ \(on the worker there:7.*\)$/)
  // The log of the worker itself has message and remedy.
  expect(log).toEqual([expect.stringMatching(/^error .*missing.*\. .+ job-not-found$/)])
})

test('a ticket of another key is completed as refused', async () => {
  const { end } = await work({ request: undefined })
  expect(end).toMatchObject({ code: 'key-differs' })
})

test.each([
  ['ledger-unusable', 'given back'],
  ['ledger-newer', 'given back'],
  ['home-differs', 'given back'],
  ['disk-full', { code: 'disk-full' }],
] as const)('of a worker that meets %s the ticket is %j', async (code, expected) => {
  const thrown = new WaybillError(code, 'here')
  const { end, failed } = await work({ request: RERUN, thrown })
  // The worker of an old version ends, and says why.
  expect(failed).toBe(code === 'ledger-newer' ? thrown : undefined)
  if (expected === 'given back') expect(end).toBe(expected)
  else expect(end).toMatchObject(expected)
})

test('an unforeseen error is told by its kind: its message may hold anything', async () => {
  const { end, log } = await work({ request: RERUN, thrown: new TypeError('health data') })
  expect(end).toEqual({ exit: 70 })
  expect(log).toHaveLength(1)
  expect(log[0]).not.toContain('health data')
})

test('a queue that is away for a while is told once, and once more when it is back', async () => {
  const { log } = await work({ request: undefined, failing: [0, 1, 2] })
  expect(log.slice(0, 2)).toEqual([
    'warn no ticket can be taken: the queue is away',
    'info tickets can be taken again',
  ])
  expect(log.filter((line) => !line.startsWith('error'))).toHaveLength(2)
})

test('each time that the queue is away is told', async () => {
  const { log } = await work({ request: undefined, failing: [0, 1, 2, 6, 7, 8], idle: 9 })
  expect(log.filter((line) => !line.startsWith('error'))).toEqual([
    ...['warn no ticket can be taken: the queue is away', 'info tickets can be taken again'],
    ...['warn no ticket can be taken: the queue is away', 'info tickets can be taken again'],
  ])
})

test('a worker takes runs, as many as it may, and beside them one backfill and one part', async () => {
  const { lanes, pauses } = await work({ request: REQUEST, concurrency: 3 })
  expect(lanes.slice(0, 5)).toEqual(['run', 'run', 'run', 'backfill', 'part'])
  // Half of the silence after which its ticket goes to another, and the pause between two looks.
  expect([...pauses].toSorted((a, b) => a - b)).toEqual([ASK_EVERY_MS, 5_000])
})

test.each<[string, Given, string]>([
  [
    'without a ledger that machines share',
    { variables: { WAYBILL_LEDGER: '', WAYBILL_RUN_BY: 'this-process' } },
    'usage-wrong',
  ],
  [
    'with another key than that of the ledger',
    { before: ({ installation }) => installation.useKey('another', 0) },
    'key-differs',
  ],
])('a worker %s is refused, and takes no ticket', async (_, given, code) => {
  const { failed, lanes, end } = await work({ request: RUN, ...given })
  expect(failed).toMatchObject({ code })
  expect([lanes, end]).toEqual([[], undefined])
})

test('a worker whose home is not mounted takes no ticket until it is', async () => {
  const looked: string[] = []
  const { log, end } = await work({
    request: REQUEST,
    async before(ledger) {
      let mark: string | undefined
      Object.assign(ledger, {
        sharedHome: {
          mark: async () => mark,
          claim: async (made: string) => {
            mark = made
            return mark
          },
        },
      })
    },
    onLook(look, home) {
      looked.push(`${look} ${existsSync(join(home, 'shared-home'))}`)
    },
    onPause(pause, home) {
      const file = join(home, 'shared-home')
      if (pause === 1) renameSync(file, `${file}-away`)
      if (pause === 7) renameSync(`${file}-away`, file)
    },
    idle: 2,
  })
  expect(log.slice(0, 2)).toEqual([
    'warn no ticket can be taken: the shared home is not mounted',
    'info tickets can be taken again',
  ])
  expect(looked.filter((look) => look.endsWith('false'))).toEqual([])
  expect(end).toMatchObject({ code: 'job-not-found' })
})

test('an end that the queue does not take is told with its job: the ticket comes back', async () => {
  const { log, end } = await work({ request: REQUEST, isDeaf: true })
  expect(end).toMatchObject({ code: 'job-not-found' })
  expect(log.at(-1)).toBe('warn the end of the run cannot be noted in the queue')
})

interface Known extends Partial<Pick<RunRecord, 'reason'>> {
  /** Difference of the clock of its worker. */
  readonly aheadMs?: number
  readonly of?: string
  readonly backfill?: true
  readonly state?: 'finished' | 'failed' | 'interrupted'
  readonly from: number
  readonly to: number
  readonly gateway?: string
  readonly job?: string
}

const RANGE = { from: '2026-03-01', to: '2026-03-02' }

/** Begins and ends a run under a lease of its own. */
async function run(ledger: Ledger, id: string, known: Known): Promise<void> {
  const { of, backfill, state = 'finished', from, to, reason = null, aheadMs = 0 } = known
  const jobId = await ledger.jobs.id(known.job ?? 'nightly', known.gateway ?? GATEWAY)
  const asked = { jobId, runId: id, owner: GONE, now: from, ttlMs: 1 }
  const answer = await ledger.leases.acquire(asked, () => true)
  if (!answer.ok) return expect.fail('held')
  const begun = await ledger.runs.start(answer.lease, {
    ...{ id, jobId, startedAt: from + aheadMs, rejectsPath: 'r', receiptsPath: 'r' },
    origin: of === undefined ? undefined : { run: of, selection: 'left-behind' },
    backfill: backfill && RANGE,
  })
  await begun.endRun({ state, endedAt: to + aheadMs, reason })
  await ledger.leases.release(answer.lease)
}

const RUN: RunRequest = { what: 'run', job: 'nightly', files: [] }
const RESUME: RunRequest = { ...RUN, unfinishedAlone: true }
const BACKFILL: RunRequest = { what: 'backfill', job: 'nightly', range: RANGE }
const RESEND: RunRequest = {
  ...{ what: 'resend', job: 'nightly', run: 'run-1', transactions: [], by: 'ann', note: null },
}
const RECONCILE: RunRequest = { what: 'reconcile', job: 'nightly', run: 'it' }

/** A run that begins, or goes on, gets as far as the gateway. A rerun that begins looks for its run first, and this ledger has none. */
const BEGUN = { code: 'gateway-unreachable' }
const ANEW = { code: 'run-not-found' }
const ITS_END = { run: 'it', exit: 0 }
const STOPPED = { run: 'it', exit: 130 }
const SENT_AT = 1_000
const SINCE = { from: SENT_AT + 1, to: SENT_AT + 2 }
const UNFINISHED = { state: 'interrupted', reason: 'interrupted' } as const
const HOUR_MS = 3_600_000
const SLOW = { aheadMs: -HOUR_MS }
const SLOW_STOP = { ...SINCE, ...SLOW, state: 'interrupted', reason: 'asked-to-stop' } as const
const STOPPED_SINCE = { state: 'interrupted', reason: 'asked-to-stop', from: 1, to: SENT_AT + 1 } as const

test.each<[string, RunRequest, Known | undefined, object]>([
  ['a run that began and ended since', RUN, SINCE, ITS_END],
  ['a run that began at the instant of the ticket', RUN, { from: SENT_AT, to: SENT_AT }, ITS_END],
  ['a run that failed since', RUN, { ...SINCE, state: 'failed', reason: 'exports-failed' }, { run: 'it' }],
  ['no run', RUN, undefined, BEGUN],
  ['an earlier run by a clock that is fast', RUN, { from: 1, to: 2, aheadMs: HOUR_MS }, BEGUN],
  ['a rerun that ended since by a clock that is slow', RERUN, { ...SINCE, of: 'run-1', ...SLOW }, ITS_END],
  ['a rerun that was stopped since by a slow clock', RERUN, { ...SLOW_STOP, of: 'run-1' }, STOPPED],
  ['a run that another command began, and that ended since', RUN, { from: 999, to: SENT_AT + 1 }, BEGUN],
  ['a run at another gateway', RUN, { ...SINCE, gateway: 'https://other.test' }, BEGUN],
  ['a run of another job', RUN, { ...SINCE, job: 'weekly' }, BEGUN],
  ['a rerun', RUN, { ...SINCE, of: 'run-1' }, BEGUN],
  ['a backfill', RUN, { ...SINCE, backfill: true }, BEGUN],
  ['an unfinished run', RUN, { ...SINCE, ...UNFINISHED }, BEGUN],
  ['a run that was stopped since', RUN, STOPPED_SINCE, STOPPED],
  ['the unfinished run alone, which ended since', RESUME, { from: 1, to: SENT_AT + 1 }, ITS_END],
  ['the unfinished run alone, which ended just then', RESUME, { from: 1, to: SENT_AT }, ITS_END],
  ['the unfinished run alone, and one that ended before', RESUME, { from: 1, to: SENT_AT - 1 }, BEGUN],
  ['a backfill that ended since', BACKFILL, { from: 1, to: SENT_AT + 1, backfill: true }, ITS_END],
  ['a backfill, and an ordinary run since', BACKFILL, SINCE, BEGUN],
  ['a backfill that was stopped since', BACKFILL, { ...STOPPED_SINCE, backfill: true }, STOPPED],
  ['a rerun that ended since', RERUN, { from: 1, to: SENT_AT + 1, of: 'run-1' }, ITS_END],
  ['a rerun of another run', RERUN, { ...SINCE, of: 'run-2' }, ANEW],
  ['a rerun, and an ordinary run', RERUN, SINCE, ANEW],
  ['an unfinished rerun', RERUN, { ...SINCE, ...UNFINISHED, of: 'run-1' }, BEGUN],
  ['an unfinished rerun of another run', RERUN, { ...SINCE, ...UNFINISHED, of: 'run-2' }, ANEW],
  ['a rerun that was stopped since', RERUN, { ...STOPPED_SINCE, of: 'run-1' }, STOPPED],
  ['a rerun that was stopped just then', RERUN, { ...STOPPED_SINCE, to: SENT_AT, of: 'run-1' }, STOPPED],
  ['a rerun that was stopped before', RERUN, { ...STOPPED_SINCE, to: SENT_AT - 1, of: 'run-1' }, BEGUN],
  ['a rerun of another run that was stopped', RERUN, { ...STOPPED_SINCE, of: 'run-2' }, ANEW],
  ['sent again, which ended since', RESEND, { from: 1, to: SENT_AT + 1, of: 'run-1' }, ITS_END],
  ['sent again, unfinished', RESEND, { ...SINCE, ...UNFINISHED, of: 'run-1' }, BEGUN],
  ['sent again, and an ordinary run', RESEND, SINCE, ANEW],
  ['a reconciliation, which sends nothing', RECONCILE, SINCE, BEGUN],
])(
  'a ticket that came back meets %s: its end, its rest, or a new beginning',
  async (_, request, known, expected) => {
    const before = async (ledger: Ledger): Promise<void> => {
      if (known !== undefined) await run(ledger, 'it', known)
    }
    const { end } = await work({ request, attempt: 1, sentAt: SENT_AT, before })
    expect(end).toMatchObject(expected)
  },
)

test('a ticket that comes for the first time begins, whatever ran meanwhile', async () => {
  const { end } = await work({ request: RUN, sentAt: SENT_AT, before: (ledger) => run(ledger, 'it', SINCE) })
  expect(end).toMatchObject(BEGUN)
})

test('the run of a ticket is found behind later runs', async () => {
  const before = async (ledger: Ledger): Promise<void> => {
    await run(ledger, 'it', SINCE)
    for (let at = 0; at < 20; at++)
      await run(ledger, `rerun-${at}`, { from: 2_000 + at, to: 3_000, of: 'it' })
  }
  expect((await work({ request: RUN, attempt: 1, sentAt: SENT_AT, before })).end).toMatchObject(ITS_END)
})

const ALIVE = 'here:2#boot.1'

test.each<[string, RunRequest, { owner?: string; since?: number; lastsMs: number; givesWay?: true }, number]>(
  [
    ['of a process that has ended', RUN, { owner: GONE, lastsMs: 60_000 }, 0],
    ['that runs out', RUN, { lastsMs: 20_000 }, 20_000],
    ['of somebody else, since before the ticket', RUN, { lastsMs: 100_000 }, 30_000],
    ['of a silent try that goes on', RUN, { since: SENT_AT, lastsMs: 45_000 }, 46_000],
    ['of a backfill, which gives way', RUN, { lastsMs: 60_000, givesWay: true }, 0],
    ['of a backfill', BACKFILL, { lastsMs: 20_000, givesWay: true }, 20_000],
    ['of a run, beside a backfill', BACKFILL, { lastsMs: 60_000 }, 0],
    ['of a run, beside a reconciliation', RECONCILE, { lastsMs: 20_000 }, 20_000],
  ],
)(
  'a ticket that came back meets a lease %s: it waits no longer than it has to',
  async (_, request, lease, ms) => {
    const { owner = ALIVE, since = 0, lastsMs, givesWay } = lease
    const { waited } = await work({
      ...{ request, attempt: 1, sentAt: SENT_AT },
      async before(ledger) {
        await run(ledger, 'it', { from: 0, to: 0 })
        const jobId = await ledger.jobs.id('nightly', GATEWAY)
        const asked = {
          jobId,
          runId: 'other',
          owner,
          now: since,
          ttlMs: lastsMs,
          ...(givesWay && { givesWay }),
        }
        await ledger.leases.acquire(asked, () => true)
      },
    })
    expect(waited).toBe(ms)
  },
)

test.each<['interrupted' | 'asked-to-stop' | 'gateway-unreachable', boolean, boolean]>([
  ['interrupted', true, true],
  ['asked-to-stop', false, false],
  ['gateway-unreachable', true, false],
])(
  'a run that ends as %s, its worker ending: %s, is handed back: %s',
  async (code, isEnding, isHandedBack) => {
    const { end } = await work({
      request: RUN,
      async connect(_, interrupt) {
        if (isEnding) interrupt()
        throw new WaybillError(code, 'here')
      },
    })
    if (isHandedBack) expect(end).toBe('given back')
    else expect(end).toMatchObject({ code })
  },
)

test('a worker sends no run to workers, and each part of an export has a ticket of its own', async () => {
  let sentBefore = 0
  const { sent, beats } = await work({
    request: RUN,
    async connect(worker, _, sent) {
      expect(worker.settings.runBy).toBe('this-process')
      await worker.sendPart?.('nightly', 'run-1', { exportRow: 7, number: 2, of: 3 })
      sentBefore = sent.length
      return refusing()
    },
  })
  // Whoever waits for the part knows that it is asked for.
  expect(sentBefore).toBe(1)
  expect(sent).toEqual([
    ['part 7:2', { what: 'part', job: 'nightly', run: 'run-1', exportRow: 7, number: 2 }],
  ])
  // A queue that hears no beats ends no run.
  expect(beats).not.toEqual([])
})
