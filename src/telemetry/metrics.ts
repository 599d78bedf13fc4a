/**
 * What a schedule counts while it runs, for Prometheus (docs/metrics.md). Base units; labels hold names of jobs, words and codes. Served
 * beside `/health`; the state of the gateway is read when somebody asks.
 */

import fastify from 'fastify'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { WaybillError } from '../model/errors.ts'
import { type LastRun, registerLastRun } from './last-run-metrics.ts'

/** From a hundred rows to a night. */
const RUN_SECONDS = [1, 5, 15, 60, 300, 900, 1_800, 3_600, 7_200, 14_400, 28_800]
const REQUEST_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120]

/** Of Node's own metrics those that go by the name of a counter and are none: they would be refused by `promtool check metrics`. */
const MISNAMED = [
  'nodejs_active_resources_total',
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
]

export interface Metrics {
  /** The text format of Prometheus, and its media type. */
  text(): Promise<string>
  readonly mediaType: string
  runEnded(run: { readonly job: string; readonly state: string; readonly durationMs: number }): void
  /** @param exit as `waybill run` would have ended */
  jobEnded(job: string, exit: number): void
  underWay(job: string, is: boolean): void
  exported(job: string, state: 'finished' | 'failed'): void
  rows(job: string, outcome: string, count: number): void
  records(job: string, kind: string, outcome: string, count: number): void
  rejected(job: string, stage: string, code: string): void
  /** An export differs from earlier deliveries by this. */
  drifted(job: string, measure: string): void
  accounts(job: string, outcome: string, count: number): void
  /** Requests of a run: sent, and of these retried, and reads of profiles. */
  requests(job: string, request: 'sent' | 'retried' | 'read-back', count: number): void
  requestAnswered(request: {
    readonly operation: string
    readonly class: string
    readonly durationMs: number
  }): void
  waited(reason: string): void
  /** To be called once. @param read asked whenever the metrics are */
  watchTraffic(read: () => GatewayTraffic): void
  fired(job: string, state: string): void
  /** To be called once. @param read asked whenever the metrics are: of each scheduled job when it fires next, milliseconds since the epoch */
  watchFires(read: () => Iterable<readonly [job: string, at: number]>): void
  /** What stands open and what room there is: takes the place of what was told before. */
  installation(facts: InstallationFacts): void
  /** @param valid undefined: it is on no schedule */
  jobSeen(job: string, valid: boolean | undefined): void
  lastRun(run: LastRun): void
  /** Of a job on the schedule. */
  neverRan(job: string): void
  /** The job is no more: nothing is told of its last run. */
  forgetLastRun(job: string): void
}

export interface InstallationFacts {
  /** What the disk of the home has left, bytes. */
  readonly freeBytes: number
  /** Of the ledger's file. */
  readonly ledgerBytes: number
  /** Milliseconds since the epoch; undefined: none is known. */
  readonly lastBackupAt: number | undefined
  readonly notifications: readonly { readonly job: string; readonly state: string; readonly count: number }[]
  readonly overdue: readonly { readonly job: string; readonly count: number }[]
  readonly backfills: readonly string[]
}

/** @param version of the program */
export function createMetrics(version: string): Metrics {
  const registry = new Registry()
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  for (const name of MISNAMED) registry.removeSingleMetric(name)
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Counter({ name: `waybill_${name}_total`, help, labelNames, registers })
  const gauge = <Label extends string>(name: string, help: string, labelNames: readonly Label[]) =>
    new Gauge({ name: `waybill_${name}`, help, labelNames, registers })
  const histogram = <Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[],
    buckets: number[],
  ) => new Histogram({ name: `waybill_${name}_seconds`, help, labelNames, buckets, registers })

  gauge('build_info', '1, with the version of the program.', ['version']).set({ version }, 1)
  const runs = counter('runs', 'Runs that ended, by state.', ['job', 'state'])
  const exits = counter('job_exits', 'Times that the job was run, by exit code.', ['job', 'exit'])
  const running = gauge('run_under_way', 'Whether a run of the job is under way in this process.', ['job'])
  const runSeconds = histogram('run_duration', 'How long runs were at work.', ['job'], RUN_SECONDS)
  const exports = counter('exports', 'Exports that ended, by state.', ['job', 'state'])
  const rows = counter('rows', 'Rows read and settled, by outcome.', ['job', 'outcome'])
  const records = counter('records', 'Records settled, by kind and outcome.', ['job', 'kind', 'outcome'])
  const rejects = counter('rejects', 'Rows and records rejected, by stage and code.', [
    'job',
    'stage',
    'code',
  ])
  const drift = counter('drift', 'Respects in which exports differ from earlier deliveries, by measure.', [
    'job',
    'measure',
  ])
  const accounts = counter('accounts', 'Accounts met, by outcome.', ['job', 'outcome'])
  const requests = counter('requests', 'Requests of runs, by what they were.', ['job', 'request'])
  const answers = counter('gateway_answers', 'Requests to the gateway that ended, by class of answer.', [
    'operation',
    'class',
  ])
  const requestSeconds = histogram(
    'gateway_request_duration',
    'How long requests to the gateway took.',
    ['operation'],
    REQUEST_SECONDS,
  )
  const waits = counter('gateway_waits', 'Waits before a request is sent again, by class of answer.', [
    'class',
  ])
  const fires = counter('fires', 'Fires of schedules that are over, by state.', ['job', 'state'])
  const valid = gauge('job_valid', 'Whether the file of a scheduled job and its mappings can be used.', [
    'job',
  ])
  const lastRun = registerLastRun(registry)
  const free = gauge('home_free_bytes', 'What the disk of the home has left.', [])
  const ledger = gauge('ledger_size_bytes', 'Size of the file of the ledger.', [])
  const backedUp = gauge(
    'last_backup_timestamp_seconds',
    'When the ledger was last copied by waybill backup. 0: never, as far as this home tells.',
    [],
  )
  // Without labels they stand at 0 from the beginning: an alert would take that for a full disk.
  for (const bare of [free, ledger, backedUp]) bare.remove()
  const untold = gauge(
    'notifications_undelivered',
    'Notifications that are not delivered: pending, or given up.',
    ['job', 'state'],
  )
  const overdue = gauge(
    'exports_overdue',
    'Expectations of the job whose latest deadline has passed without their exports.',
    ['job'],
  )
  const backfills = gauge('backfill_unfinished', 'Whether a backfill of the job is not finished.', ['job'])

  return {
    text: () => registry.metrics(),
    mediaType: registry.contentType,
    runEnded({ job, state, durationMs }) {
      runs.inc({ job, state })
      runSeconds.observe({ job }, durationMs / 1000)
    },
    jobEnded: (job, exit) => exits.inc({ job, exit: String(exit) }),
    underWay: (job, is) => running.set({ job }, is ? 1 : 0),
    exported: (job, state) => exports.inc({ job, state }),
    rows: (job, outcome, count) => rows.inc({ job, outcome }, count),
    records: (job, kind, outcome, count) => records.inc({ job, kind, outcome }, count),
    rejected: (job, stage, code) => rejects.inc({ job, stage, code }),
    drifted: (job, measure) => drift.inc({ job, measure }),
    accounts: (job, outcome, count) => accounts.inc({ job, outcome }, count),
    requests: (job, request, count) => requests.inc({ job, request }, count),
    requestAnswered({ operation, class: answer, durationMs }) {
      const label = operation.replaceAll(' ', '-')
      answers.inc({ operation: label, class: answer })
      requestSeconds.observe({ operation: label }, durationMs / 1000)
    },
    waited: (reason) => waits.inc({ class: reason }),
    watchTraffic: (read) => registerTraffic(registry, read),
    watchFires: (read) => registerFires(registry, read),
    installation(facts) {
      free.set(facts.freeBytes)
      ledger.set(facts.ledgerBytes)
      backedUp.set((facts.lastBackupAt ?? 0) / 1000)
      for (const one of [untold, overdue, backfills]) one.reset()
      for (const { job, state, count } of facts.notifications) untold.set({ job, state }, count)
      for (const { job, count } of facts.overdue) overdue.set({ job }, count)
      for (const job of facts.backfills) backfills.set({ job }, 1)
    },
    fired: (job, state) => fires.inc({ job, state }),
    jobSeen(job, isValid) {
      if (isValid === undefined) valid.remove({ job })
      else valid.set({ job }, isValid ? 1 : 0)
    },
    lastRun: lastRun.tell,
    neverRan: lastRun.never,
    forgetLastRun: lastRun.forget,
  }
}

export interface GatewayTraffic {
  readonly breaker: BreakerState
  /** Requests that may be under way at once, while the breaker is closed. */
  readonly permitted: number
  /** Requests that are. */
  readonly underWay: number
}

const BREAKER_STATES = ['closed', 'open', 'trying'] as const
type BreakerState = (typeof BREAKER_STATES)[number]

export function registerTraffic(registry: Registry, read: () => GatewayTraffic): void {
  const registers = [registry]
  new Gauge({
    name: 'waybill_gateway_breaker_state',
    help: 'State of the breaker, which stops sending while nothing gets through: 1 for the one that it is in.',
    labelNames: ['state'],
    registers,
    collect() {
      const { breaker } = read()
      for (const state of BREAKER_STATES) this.set({ state }, state === breaker ? 1 : 0)
    },
  })
  new Gauge({
    name: 'waybill_gateway_requests_permitted',
    help: 'Requests to the gateway that may be in flight at once while the breaker is closed.',
    registers,
    collect() {
      this.set(read().permitted)
    },
  })
  new Gauge({
    name: 'waybill_gateway_requests_in_flight',
    help: 'Requests to the gateway that are in flight.',
    registers,
    collect() {
      this.set(read().underWay)
    },
  })
}

function registerFires(registry: Registry, read: () => Iterable<readonly [string, number]>): void {
  new Gauge({
    name: 'waybill_next_fire_timestamp_seconds',
    help: 'When the job is due next by its schedule.',
    labelNames: ['job'],
    registers: [registry],
    collect() {
      this.reset()
      for (const [job, at] of read()) this.set({ job }, at / 1000)
    },
  })
}

export interface MetricsServer {
  /** `http://127.0.0.1:9464` */
  readonly url: string
  close(): Promise<void>
}

export interface MetricsServing {
  readonly host: string
  /** 0: a free one. */
  readonly port: number
  readonly metrics: Pick<Metrics, 'text' | 'mediaType'>
  readonly version: string
  /** Whether the process is about to end: then it is not well any more. */
  readonly isEnding: () => boolean
  /** Why it cannot do its work now: the ledger or the jobs cannot be read. Undefined where it can. */
  readonly hindrance: () => Promise<string | undefined>
}

/** @throws WaybillError `settings-invalid` where the address cannot be had */
export async function serveMetrics(serving: MetricsServing): Promise<MetricsServer> {
  const { host, port, metrics, version } = serving
  // A scraper keeps its connection; the end of the process does not wait for it.
  const server = fastify({ forceCloseConnections: true })
  server.get('/metrics', async (_, reply) => reply.type(metrics.mediaType).send(await metrics.text()))
  server.get('/health', async (_, reply) => {
    const ending = serving.isEnding()
    return reply.code(ending ? 503 : 200).send({ status: ending ? 'ending' : 'ok', version })
  })
  server.get('/ready', async (_, reply) => {
    const hindrance = serving.isEnding() ? 'the schedule is ending' : await serving.hindrance()
    if (hindrance === undefined) return reply.send({ status: 'ready', version })
    return reply.code(503).send({ status: 'not-ready', reason: hindrance, version })
  })
  try {
    return { url: await server.listen({ host, port }), close: () => server.close() }
  } catch (cause) {
    await server.close()
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new WaybillError('settings-invalid', `metrics cannot be served: ${reason}`, {
      place: { key: 'WAYBILL_METRICS' },
      remedy: 'Give another port with --metrics or WAYBILL_METRICS, or end what listens there.',
      cause,
    })
  }
}
