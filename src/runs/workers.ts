/**
 * Runs on several machines over one ledger in PostgreSQL: a worker takes tickets, and carries out each request by the function of its command.
 */
import { readJob } from '../definitions/definition-files.ts'
import { gatewayNameOf } from '../definitions/jobs.ts'
import { type Ledger, type PartOf, processName, type RunRecord } from '../ledger/ledger.ts'
import {
  type Lane,
  laneOf,
  type RunRequest,
  type Ticket,
  type TicketEnd,
  type Tickets,
} from '../ledger/tickets.ts'
import { codeOf, EXIT, endingOf, WaybillError } from '../model/errors.ts'
import { LOOK_EVERY_MS } from '../run/lease.ts'
import { gatherStory } from '../story/facts.ts'
import type { JobEnd } from '../story/run-story.ts'
import { present } from '../system/shown-text.ts'
import { beginBackfill, beginRerun, beginRun, reconcile, resend, resumeRun } from './actions.ts'
import { type Application, knownIdentity, withKnownLedger } from './application.ts'
import { assertShared, refusalOf } from './ask-workers.ts'
import type { BeginWatch } from './begin.ts'
import { beginFireOfTicket } from './fire-run.ts'
import { readPart } from './part-of-run.ts'
import { Findings } from './reconcile.ts'
import { assertSharedHome } from './shared-home.ts'

/** Half of the silence allowed to a worker. */
const BEAT_EVERY_MS = 5_000
/** Interval at which a free worker asks for a ticket. */
const ASK_EVERY_MS = 500
/** Longest wait for the lease of a dead worker: longer than a lease in PostgreSQL lasts. */
const MOST_WAIT_MS = 30_000
/** Number of recent runs to search. */
const LOOKED_AT = 50

/**
 * Carries out tickets until interrupted. An interrupted run is handed back: another worker continues the run at once.
 * @param concurrency runs at once; one backfill and one part of an export beside them
 * @param watch makes the watch of each run
 * @throws WaybillError `usage-wrong` without a ledger in PostgreSQL, `ledger-unusable`; `ledger-newer` after an upgrade, once the runs under
 *   way have ended
 */
export async function keepWorking(
  application: Application,
  watch: () => BeginWatch,
  concurrency: number,
): Promise<void> {
  const { interrupt, logger, sleep } = application
  assertShared(application)
  // Refuses another key than that of the ledger.
  await knownIdentity(application)
  const hasHome = await withKnownLedger(application, (ledger) => assertSharedHome(application, ledger))
  // A worker sends no tickets.
  const tickets = await application.openTickets({ supervises: true })
  const worker = {
    ...application,
    settings: { ...application.settings, runBy: 'this-process' },
    async sendPart(job: string, run: string, { exportRow, number }: PartOf) {
      const request = { what: 'part', job, run, exportRow, number } as const
      // A part whose ticket is open gets no other.
      await tickets.send(`part ${exportRow}:${number}`, request)
    },
  } as const
  const pause = () => sleep(ASK_EVERY_MS, interrupt).catch(() => {})
  let isAway = false
  let isOld = false
  const takeOne = async (lane: Lane): Promise<Ticket | undefined> => {
    try {
      if (!hasHome()) throw new WaybillError('home-differs', 'the shared home is not mounted')
      const ticket = await tickets.take(lane)
      if (isAway) logger.info('tickets can be taken again')
      isAway = false
      return ticket
    } catch (error) {
      const why = error instanceof WaybillError ? error.message : codeOf(error)
      if (!isAway) logger.warn(`no ticket can be taken: ${why}`)
      isAway = true
      return undefined
    }
  }
  const serve = async (lane: Lane): Promise<void> => {
    while (!interrupt.aborted && !isOld) {
      const ticket = await takeOne(lane)
      if (ticket === undefined) await pause()
      else isOld = (await carryTicket(worker, tickets, ticket, watch())) === 'ledger-newer' || isOld
    }
  }
  logger.info('the worker has started')
  try {
    const runs = Array.from({ length: concurrency }, () => serve('run'))
    await Promise.all([...runs, serve('backfill'), serve('part')])
  } finally {
    await tickets.close()
  }
  // Newer workers take the ticket.
  if (isOld) await withKnownLedger(application, async () => {})
  logger.info('the worker has ended')
}

/** Refusals of this machine alone, and interruptions: another worker continues. */
const HANDED_BACK: ReadonlySet<string | undefined> = new Set([
  'ledger-unusable',
  'ledger-newer',
  'home-differs',
])

/** @returns the code of the end */
async function carryTicket(
  application: Application,
  tickets: Tickets,
  ticket: Ticket,
  watch: BeginWatch,
): Promise<TicketEnd['code']> {
  const { interrupt, logger, sleep } = application
  const over = new AbortController()
  const beating = (async () => {
    while (!over.signal.aborted) {
      // Without a heartbeat the ticket goes to another worker, and the lease decides who sends.
      await tickets.beat(ticket).catch(() => {})
      await sleep(BEAT_EVERY_MS, over.signal).catch(() => {})
    }
  })()
  const end = named(application, await runTicket(application, ticket, watch))
  over.abort()
  await beating
  const isHandedBack = (interrupt.aborted && end.exit === EXIT.interrupted) || HANDED_BACK.has(end.code)
  await (isHandedBack ? tickets.giveBack(ticket) : tickets.complete(ticket, end)).catch(() => {
    // The ticket comes back after the silence, and the next try finds the run in the ledger.
    logger.warn('the end of the run cannot be noted in the queue', { job: ticket.request?.job })
  })
  return end.code
}

/** A message about files and folders concerns the machine of the worker. */
function named({ owner }: Application, { words, ...end }: TicketEnd): TicketEnd {
  if (words === undefined) return end
  return { ...end, words: { ...words, message: `${words.message} (on the worker ${processName(owner)})` } }
}

async function runTicket(application: Application, ticket: Ticket, watch: BeginWatch): Promise<TicketEnd> {
  const { request } = ticket
  try {
    if (request === undefined) throw sealedByAnotherKey()
    if (request.what === 'part') return await readPart(application, watch, request)
    const before = ticket.attempt === 0 ? 'nothing' : await begunBefore(application, ticket, request)
    if (typeof before === 'object') return endOfTicket(before)
    if (request.what === 'run' && request.fire !== undefined)
      return await beginFireOfTicket(application, watch, { job: request.job, due: request.fire })
    if (request.what === 'reconcile') {
      const { run, ...found } = await reconcile(application, watch, request.run, request.verify)
      return { run, exit: EXIT.ok, report: Findings.parse(found) }
    }
    return endOfTicket(await beginRequested(application, watch, request, before === 'unfinished'))
  } catch (error) {
    const { job } = request ?? {}
    const words = error instanceof WaybillError ? `${error.message}. ${error.remedy}` : codeOf(error)
    application.logger.error(words, { job, code: endingOf(error).code })
    return refusalOf(error)
  }
}

const sealedByAnotherKey = (): WaybillError =>
  new WaybillError('key-differs', 'the ticket was sent with another key than that of this worker', {
    remedy: 'Set the same WAYBILL_KEY on each machine.',
  })

/** Begins by the road of the command. @param continues true if an earlier try has begun the run */
function beginRequested(
  application: Application,
  watch: BeginWatch,
  request: Exclude<RunRequest, { readonly what: 'reconcile' | 'part' }>,
  continues: boolean,
): Promise<JobEnd> {
  switch (request.what) {
    case 'run': {
      const { job, limit = Number.POSITIVE_INFINITY, acceptDrift = false, ...more } = request
      return beginRun(application, watch, job, { ...more, limit, acceptDrift })
    }
    case 'backfill':
      return beginBackfill(application, watch, request.job, request.range)
    case 'rerun':
      // As `waybill run` continues a rerun whose process has ended.
      return continues
        ? resumeRun(application, watch, request.job)
        : beginRerun(application, watch, request.run, request.only)
    case 'resend': {
      const { run, by, note, transactions } = request
      if (continues) return resumeRun(application, watch, request.job)
      return resend(application, watch, run, { by, note }, transactions).then(({ resent }) => resent)
    }
  }
}

/**
 * Finds out how far the earlier tries have come. Waits for the end of a dead worker's lease; a job that somebody else runs is refused afterwards,
 * as ever.
 * @returns the end of the run, if the ticket alone lacks an end
 */
async function begunBefore(
  application: Application,
  { sentAt }: Ticket,
  request: RunRequest,
): Promise<JobEnd | 'unfinished' | 'nothing'> {
  const { settings } = application
  const { definition } = await readJob(settings, request.job)
  const gateway = gatewayNameOf(settings, definition)
  const kind = laneOf(request) === 'backfill' ? 'backfill' : 'ordinary'
  return withKnownLedger(application, async (ledger) => {
    const jobId = await ledger.jobs.id(definition.job, gateway)
    await awaitLease(application, ledger, { jobId, givesWay: kind === 'backfill', sentAt })
    // Repeated as a whole: sends nothing.
    if (request.what === 'reconcile') return 'nothing'
    const origin = request.what === 'rerun' || request.what === 'resend' ? request.run : null
    // Ticket and lease have the server's clock; a run has that of its worker, which may be wrong.
    const last = await ledger.leases.last(jobId)
    const heldSince = last !== undefined && last.acquired_at >= sentAt ? last.run_id : undefined
    const isEndedSince = ({ id, ended_at: at }: RunRecord): boolean => id === heldSince || (at ?? 0) >= sentAt
    const unfinished = await ledger.runs.unfinished(jobId, kind)
    const isOwn = unfinished?.origin_run === origin
    // Nobody has asked for the run since.
    const isStopped = isOwn && unfinished?.reason === 'asked-to-stop' && isEndedSince(unfinished)
    if (unfinished !== undefined && !isStopped) return isOwn ? 'unfinished' : 'nothing'
    const recent = unfinished === undefined ? await ledger.runs.list(LOOKED_AT, { job: definition.job }) : []
    const ended = recent.find(
      (one) =>
        one.gateway === gateway &&
        (isOneRun(request) ? isEndedSince(one) : heldSince !== undefined && one.started_at >= sentAt) &&
        one.origin_run === origin &&
        (one.backfill === null) === (kind === 'ordinary'),
    )
    const run = unfinished ?? ended
    if (run === undefined) return 'nothing'
    const story = await gatherStory({ ledger, home: settings.home }, run.id)
    return { ...story, exit: story.summary.exit ?? EXIT.interrupted }
  })
}

/** False for a request that may begin a run of its own behind the one that it finishes. */
const isOneRun = (request: RunRequest): boolean => request.what !== 'run' || request.unfinishedAlone === true

interface AwaitedLease {
  readonly jobId: number
  readonly givesWay: boolean
  /** Instant of the ticket: a later lease is that of an earlier try, whose worker was silent and goes on. */
  readonly sentAt: number
}

async function awaitLease(
  { now, sleep, interrupt, isDead }: Application,
  ledger: Ledger,
  { jobId, givesWay, sentAt }: AwaitedLease,
): Promise<void> {
  const until = now() + MOST_WAIT_MS
  for (;;) {
    const holder = await ledger.leases.holder(jobId, now(), isDead)
    if (holder === undefined || (holder.gives_way !== 0) !== givesWay) return
    if (now() >= until && holder.acquired_at < sentAt) return
    await sleep(LOOK_EVERY_MS, interrupt)
  }
}

const endOfTicket = ({ summary, exit, error, resumed }: JobEnd): TicketEnd => ({
  run: summary.run,
  exit,
  ...present({ resumed: resumed?.summary.run }),
  ...(error === undefined ? {} : refusalOf(error, exit)),
})
