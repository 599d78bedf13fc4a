/**
 * Metrics of a schedule for Prometheus (docs/metrics.md). Base units; labels are names of jobs, words and codes. Served beside `/health`; the state
 * of the gateway is read at each request.
 */

import fastify from 'fastify'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { reasonOf, WaybillError } from '../model/errors.ts'
import { registerLastRun } from './last-run-metrics.ts'

/** Buckets from a hundred rows to a night. */
const RUN_SECONDS = [1, 5, 15, 60, 300, 900, 1_800, 3_600, 7_200, 14_400, 28_800]
const REQUEST_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120]

/** Metrics of Node named like counters that are gauges: `promtool check metrics` refuses them. */
const MISNAMED = [
  'nodejs_active_resources_total',
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
]

/** Names without `waybill_` and `_total`. */
const COUNTERS = {
  runs: { help: 'Runs that ended, by state.', labels: ['job', 'state'] },
  job_exits: { help: 'Executions of the job, by exit code.', labels: ['job', 'exit'] },
  exports: { help: 'Exports that ended, by state.', labels: ['job', 'state'] },
  rows: { help: 'Rows read and settled, by outcome.', labels: ['job', 'outcome'] },
  records: { help: 'Records settled, by kind and outcome.', labels: ['job', 'kind', 'outcome'] },
  rejects: { help: 'Rows and records rejected, by stage and code.', labels: ['job', 'stage', 'code'] },
  drift: {
    help: 'Differences of exports from earlier deliveries, by measure.',
    labels: ['job', 'measure'],
  },
  accounts: { help: 'Accounts of runs, by outcome.', labels: ['job', 'outcome'] },
  requests: { help: 'Requests of runs, by purpose.', labels: ['job', 'request'] },
  gateway_answers: {
    help: 'Ended requests to the gateway, by class of answer.',
    labels: ['operation', 'class'],
  },
  gateway_waits: { help: 'Waits before a retry, by class of answer.', labels: ['class'] },
  fires: { help: 'Ended fires of schedules, by state.', labels: ['job', 'state'] },
} as const

type Label = (typeof COUNTERS)[keyof typeof COUNTERS]['labels'][number]

/** A counter, its labels, and the increment (default 1). */
export type Counted = readonly [
  name: keyof typeof COUNTERS,
  labels: Readonly<Partial<Record<Label, string>>>,
  more?: number,
]

export type Metrics = ReturnType<typeof createMetrics>

export interface InstallationFacts {
  readonly freeBytes: number
  /** Undefined for a ledger on a server: the server knows size and backups. */
  readonly file: { readonly bytes: number; readonly lastBackupAt: number | undefined } | undefined
  readonly notifications: readonly { readonly job: string; readonly state: string; readonly count: number }[]
  readonly overdue: readonly { readonly job: string; readonly count: number }[]
  readonly backfills: readonly string[]
  /** Causes of needs, one for each need. */
  readonly needs: readonly string[]
}

/** @param version of the program */
export function createMetrics(version: string) {
  let needsNow: Readonly<Record<string, number>> | undefined
  const registry = new Registry()
  const instruments = createInstruments(registry, version)
  const { count, running, runSeconds, requestSeconds, valid, lastRun } = instruments
  const { free, ledger, backedUp, untold, overdue, needs, backfills } = instruments
  /** @param read called at each request for metrics */
  const asked = (name: string, help: string, labelNames: readonly string[], read: (gauge: Gauge) => void) => {
    const made: Gauge = new Gauge({
      name: `waybill_${name}`,
      help,
      labelNames,
      registers: [registry],
      collect: () => read(made),
    })
  }
  return {
    /** The text format of Prometheus, and its media type. */
    text: () => registry.metrics(),
    mediaType: registry.contentType,
    count,
    runEnded({ job, state, durationMs }: { job: string; state: string; durationMs: number }) {
      count('runs', { job, state })
      runSeconds.observe({ job }, durationMs / 1000)
    },
    underWay: (job: string, is: boolean) => running.set({ job }, is ? 1 : 0),
    requestAnswered({ operation, class: answer, durationMs }: RequestFacts) {
      const label = operation.replaceAll(' ', '-')
      count('gateway_answers', { operation: label, class: answer })
      requestSeconds.observe({ operation: label }, durationMs / 1000)
    },
    /** Call once. @param read called at each request for metrics */
    watchTraffic(read: () => GatewayTraffic) {
      const breaker = 'Circuit breaker, which stops sending during an outage: 1 for its current state.'
      asked('gateway_breaker_state', breaker, ['state'], (of) => {
        for (const state of BREAKER_STATES) of.set({ state }, state === read().breaker ? 1 : 0)
      })
      const permitted = 'Most requests in flight to the gateway while the breaker is closed.'
      asked('gateway_requests_permitted', permitted, [], (of) => of.set(read().permitted))
      const inFlight = 'Requests in flight to the gateway.'
      asked('gateway_requests_in_flight', inFlight, [], (of) => of.set(read().underWay))
    },
    /**
     * Call once.
     * @param read called at each request for metrics: the next fire of each scheduled job
     */
    watchFires: (read: () => Iterable<readonly [job: string, at: number]>) =>
      asked('next_fire_timestamp_seconds', 'Next fire of the job by its schedule.', ['job'], (of) => {
        of.reset()
        for (const [job, at] of read()) of.set({ job }, at / 1000)
      }),
    /** Numbers of needs by cause, as last read; undefined before the first reading. */
    needs: (): Readonly<Record<string, number>> | undefined => needsNow,
    installation(facts: InstallationFacts) {
      free.set(facts.freeBytes)
      if (facts.file !== undefined) {
        ledger.set(facts.file.bytes)
        backedUp.set((facts.file.lastBackupAt ?? 0) / 1000)
      }
      for (const one of [untold, overdue, backfills, needs]) one.reset()
      for (const { job, state, count } of facts.notifications) untold.set({ job, state }, count)
      for (const { job, count } of facts.overdue) overdue.set({ job }, count)
      for (const job of facts.backfills) backfills.set({ job }, 1)
      for (const cause of facts.needs) needs.inc({ cause })
      needsNow = Object.fromEntries(
        [...Map.groupBy(facts.needs, (cause) => cause)].map(([cause, { length }]) => [cause, length]),
      )
    },
    /** @param isValid undefined for a job without schedule */
    jobSeen(job: string, isValid: boolean | undefined) {
      if (isValid === undefined) valid.remove({ job })
      else valid.set({ job }, isValid ? 1 : 0)
    },
    lastRun: lastRun.tell,
    /** For a job on the schedule. */
    neverRan: lastRun.never,
    /** Removes the metrics of the last run of a removed job. */
    forgetLastRun: lastRun.forget,
  }
}

function createInstruments(registry: Registry, version: string) {
  const registers = [registry]
  collectDefaultMetrics({ register: registry })
  for (const name of MISNAMED) registry.removeSingleMetric(name)
  const gauge = (name: string, help: string, labelNames: readonly string[] = []) =>
    new Gauge({ name: `waybill_${name}`, help, labelNames, registers })
  const histogram = (name: string, help: string, label: string, buckets: number[]) =>
    new Histogram({ name: `waybill_${name}_seconds`, help, labelNames: [label], buckets, registers })

  gauge('build_info', '1, with the version of the program.', ['version']).set({ version }, 1)
  const counters = new Map(
    Object.entries(COUNTERS).map(([name, { help, labels: labelNames }]) => [
      name,
      new Counter<string>({ name: `waybill_${name}_total`, help, labelNames, registers }),
    ]),
  )
  const count = (...[name, labels, more = 1]: Counted): void => counters.get(name)?.inc(labels, more)
  const running = gauge('run_under_way', '1 while a run of the job is under way in this process.', ['job'])
  const runSeconds = histogram('run_duration', 'Working time of runs.', 'job', RUN_SECONDS)
  const requestSeconds = histogram(
    'gateway_request_duration',
    'Duration of requests to the gateway.',
    'operation',
    REQUEST_SECONDS,
  )
  const valid = gauge('job_valid', '1 if the file of a scheduled job and its mappings are valid.', ['job'])
  const lastRun = registerLastRun(registry)
  const free = gauge('home_free_bytes', 'Free bytes on the disk of the home.')
  const ledger = gauge('ledger_size_bytes', 'Size of the file of the ledger.')
  const backedUp = gauge(
    'last_backup_timestamp_seconds',
    'Time of the last waybill backup of the ledger. 0: none known in this home.',
  )
  // A gauge without labels is 0 from the start: an alert would take 0 for a full disk.
  for (const bare of [free, ledger, backedUp]) bare.remove()
  const untold = gauge('notifications_undelivered', 'Undelivered notifications: pending, or given up.', [
    'job',
    'state',
  ])
  const overdue = gauge(
    'exports_overdue',
    'Expectations of the job whose latest deadline has passed without their exports.',
    ['job'],
  )
  const needs = gauge('needs', 'Needs: what waits for a person, as `waybill needs` lists it.', ['cause'])
  const backfills = gauge('backfill_unfinished', '1 for a job with an unfinished backfill.', ['job'])

  return {
    count,
    running,
    runSeconds,
    requestSeconds,
    valid,
    lastRun,
    free,
    ledger,
    backedUp,
    untold,
    overdue,
    needs,
    backfills,
  }
}

export interface RequestFacts {
  readonly operation: string
  readonly class: string
  readonly durationMs: number
}

const BREAKER_STATES = ['closed', 'open', 'trying'] as const

export interface GatewayTraffic {
  readonly breaker: (typeof BREAKER_STATES)[number]
  /** Most requests in flight while the breaker is closed. */
  readonly permitted: number
  readonly underWay: number
}

interface MetricsServing {
  readonly host: string
  /** 0 for a free port. */
  readonly port: number
  readonly metrics: Pick<Metrics, 'text' | 'mediaType' | 'needs'>
  readonly version: string
  /** True if the process is about to end, and is unhealthy. */
  readonly isEnding: () => boolean
  /** Reason why the schedule cannot work: ledger or jobs are unreadable. Undefined for none. */
  readonly hindrance: () => Promise<string | undefined>
}

/** @returns its address, `http://127.0.0.1:9464` @throws `settings-invalid` for an unusable address */
export async function serveMetrics(serving: MetricsServing) {
  const { host, port, metrics, version } = serving
  // Closes the connections of scrapers at the end of the process.
  const server = fastify({ forceCloseConnections: true })
  server.get('/metrics', async (_, reply) => reply.type(metrics.mediaType).send(await metrics.text()))
  server.get('/health', async (_, reply) => {
    const ending = serving.isEnding()
    // Needs are for people: a process that lives is not restarted for them.
    const needs = metrics.needs()
    return reply.code(ending ? 503 : 200).send({ status: ending ? 'ending' : 'ok', version, needs })
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
    const reason = reasonOf(cause)
    throw new WaybillError('settings-invalid', `metrics cannot be served: ${reason}`, {
      place: { key: 'WAYBILL_METRICS' },
      remedy: 'Give another port with --metrics or WAYBILL_METRICS, or stop the program that listens there.',
      cause,
    })
  }
}
