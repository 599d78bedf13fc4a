/** A schedule with all that is beside it: metrics, readiness, notices, heartbeats, workers; by a clock that goes on when nothing is under way. */
import { mkdir, rename, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createApplication } from '../../src/application.ts'
import type { RunRequest, Tickets } from '../../src/ledger/tickets.ts'
import { WaybillError } from '../../src/model/errors.ts'
import type { Application } from '../../src/runs/application.ts'
import { keepSchedule } from '../../src/runs/keep-schedule.ts'
import { createScheduleEvents } from '../../src/schedule/schedule-parts.ts'
import { readSettings } from '../../src/system/settings.ts'
import { CLINIC, HEADER } from '../cli/clinic.ts'
import { createIdleClock } from '../load/idle-clock.ts'
import { SECRET, startHookServer } from '../notify/hook-server.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const DUE = Date.parse('2026-03-02T02:00Z')
const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const GATEWAY = 'http://127.0.0.1:9'

interface Scene {
  readonly home: string
  /** Answer of the metrics server. */
  get(path: string): Promise<string>
  /** Kinds of the notices sent so far. */
  told(): readonly string[]
}

interface Given {
  /** Called with the time, in minutes from the fire, whenever the schedule wakes. */
  readonly during?: (minutes: number, scene: Scene) => Promise<void>
  readonly until?: number
  readonly served?: boolean
  readonly tickets?: Tickets
  readonly before?: (application: Application) => Promise<void>
  /** Time that each look for what is to be told takes. */
  readonly tellingMs?: number
}

async function install(hookUrl: string, tickets: Tickets | undefined) {
  const home = await temporaryFolder()
  const folders = ['jobs', 'mappings', 'inbox'].map((name) => join(home, name))
  for (const folder of folders) await mkdir(folder)
  const [jobs = '', mappings = '', inbox = ''] = folders
  await writeFile(join(mappings, 'clinic.yaml'), CLINIC)
  const text = `job: nightly
schedule: { cron: "0 2 * * *", zone: Etc/UTC, missed: once }
exports: { from: ../inbox, match: "*.csv", mapping: clinic }
accounts: { register: never }
notify: { webhook: "${hookUrl}/" }
heartbeat: { url: "${hookUrl}/beat", service: healthchecks }
`
  await writeFile(join(jobs, 'nightly.yaml'), text)
  // Without a measurement: nothing of it is sent.
  await writeFile(join(inbox, 'a.csv'), `${HEADER}ann,2026-03-02,,,,,\n`)
  await utimes(join(inbox, 'a.csv'), new Date(DUE - 60 * MINUTE_MS), new Date(DUE - 60 * MINUTE_MS))
  const variables = {
    ...{ WAYBILL_HOME: home, WAYBILL_JOBS: jobs, WAYBILL_MAPPINGS: mappings },
    ...{ WAYBILL_GATEWAY_URL: GATEWAY, WAYBILL_API_KEY: 'k', WAYBILL_ACCESS_TOKEN: 't' },
    ...{ WAYBILL_WEBHOOK_SECRET: SECRET, WAYBILL_LOG_LEVEL: 'info' },
    WAYBILL_KEY: 'k'.repeat(64),
    ...(tickets && { WAYBILL_RUN_BY: 'workers', WAYBILL_LEDGER: 'postgres://db/waybill' }),
  }
  return { home, settings: readSettings(variables, home) }
}

/** Keeps a schedule from a minute and a half before a fire. */
async function keep({
  during = async () => {},
  until = 3,
  served = true,
  tickets,
  before,
  tellingMs = 0,
}: Given = {}) {
  const hook = await startHookServer()
  const { home, settings } = await install(hook.url, tickets)
  const log: string[] = []
  const interrupt = new AbortController()
  const own = { ...settings, ledger: undefined }
  const made = createApplication('1.2.3', own, (line) => log.push(line), interrupt.signal)
  const end = DUE + until * MINUTE_MS
  let looking = 0
  const clock = createIdleClock(DUE - 1.5 * MINUTE_MS, () => looking === 0)
  let url = ''
  const scene: Scene = {
    home,
    told: () => hook.seen.flatMap(({ url, body }) => (url === '/' ? [String(JSON.parse(body).type)] : [])),
    get: async (path) => (await fetch(url + path)).text(),
  }
  let open = 0
  const application: Application = {
    ...made,
    ...(tickets && { settings, openTickets: async () => tickets }),
    now: () => clock.now,
    logger: {
      ...made.logger,
      info(words: string) {
        log.push(words)
        url = /metrics are served at (\S+)\/metrics/.exec(words)?.[1] ?? url
      },
    },
    async sleep(ms, signal) {
      await clock.sleep(Math.min(ms, Math.max(0, end - clock.now)), signal)
      looking++
      await during((clock.now - DUE) / MINUTE_MS, scene)
      looking--
      if (clock.now >= end) interrupt.abort(new WaybillError('interrupted', 'the command was interrupted'))
    },
    async openLedger(...given) {
      const ledger = await made.openLedger(...given)
      open++
      const close = async (): Promise<void> => {
        await turnOfTheLoop()
        await ledger.close()
        open--
      }
      const last: typeof ledger.leases.last = (jobId) => {
        clock.now += tellingMs
        return ledger.leases.last(jobId)
      }
      return { ...ledger, leases: { ...ledger.leases, last }, close }
    },
  }
  await before?.(application)
  const address = served ? { host: '127.0.0.1', port: 0 } : undefined
  const told: string[] = []
  const watch = {
    events: createScheduleEvents({ ended: (job, { state }) => told.push(`${job} ${state}`) }),
    reporter: () => ({ runStarted: ({ job }: { readonly job: string }) => void told.push(`${job} started`) }),
    onConnected: (words: string) => void told.push(words),
  }
  await keepSchedule(application, watch, address)
  expect(open).toBe(0)
  const ledger = await made.openLedger()
  const fires = await ledger.fires.latest(await ledger.jobs.id('nightly', GATEWAY), 9)
  const runs = (await ledger.runs.list(9)).map(({ id }) => id)
  await ledger.close()
  const seen = hook.seen.map(({ url, body }) =>
    url === '/' ? `${JSON.parse(body).type} ${JSON.parse(body).data.title}` : url,
  )
  const isServed = await scene.get('/health').then(
    () => true,
    () => false,
  )
  return { fires, runs, seen, isServed, log, told }
}

test('a night of a schedule: the fire begins in time, its run is counted, and nothing is left open', async () => {
  const pages: Record<string, string> = {}
  const { fires, runs, seen, isServed, log, told } = await keep({
    async during(minutes, { get }) {
      pages[minutes < 0 ? 'before' : 'after'] = await get('/metrics')
      pages['ready'] = await get('/ready')
    },
  })
  expect(fires).toMatchObject([{ state: 'ended', exit: 0, begun_at: DUE, run_id: runs[0] }])
  expect(runs).toHaveLength(1)
  expect(seen.filter((one) => one !== '/beat')).toEqual(['/beat/start', '/beat/0'])
  // And each minute, as the schedule itself is well.
  expect(seen.at(-1)).toBe('/beat')
  expect(pages['before']).not.toContain('waybill_last_run_exit_code{')
  expect(pages['after']).toContain('waybill_last_run_exit_code{job="nightly"} 0')
  expect(pages['after']).toContain('waybill_fires_total{job="nightly",state="ended"} 1')
  // Of the gateway that the night has met.
  expect(pages['after']).toMatch(/^waybill_gateway_requests_permitted [1-9]/m)
  for (const name of ['home_free_bytes', 'gateway_requests_in_flight', 'run_under_way{job="nightly"}'])
    expect(pages['after']).toContain(`waybill_${name} `)
  expect(pages['after']).toContain(
    `waybill_next_fire_timestamp_seconds{job="nightly"} ${(DUE + DAY_MS) / 1_000}`,
  )
  expect(pages['ready']).toContain('"ready"')
  expect(told).toEqual([`Records go to ${GATEWAY}.`, 'nightly started', 'nightly ended'])
  expect(isServed).toBe(false)
  expect(log).toContain('the schedule has started')
  expect(log.at(-1)).toBe('the schedule has ended')
})

test('a fire begins in time though there is much to tell before', async () => {
  const { fires } = await keep({ tellingMs: 5_000, served: false })
  expect(fires).toMatchObject([{ state: 'ended', begun_at: DUE }])
})

test('without an address nothing is served, and the night is the same', async () => {
  const { fires, runs, log, isServed } = await keep({ served: false })
  expect(fires).toMatchObject([{ state: 'ended', exit: 0, run_id: runs[0] }])
  expect([isServed, log.filter((line) => line.includes('metrics'))]).toEqual([false, []])
})

test('a schedule whose jobs are gone is not ready, says so to whom they named, and is ready once they are back', async () => {
  const ready: Record<string, string> = {}
  const { seen, fires } = await keep({
    async during(minutes, { home, get }) {
      ready[minutes] = /"(ready|job-not-found)"/.exec(await get('/ready'))?.[1] ?? ''
      if (minutes === 1) await rename(join(home, 'jobs'), join(home, 'away'))
      if (minutes === 3) await rename(join(home, 'away'), join(home, 'jobs'))
    },
    until: 5,
  })
  expect(fires).toMatchObject([{ state: 'ended' }])
  expect(ready).toMatchObject({ 1: 'ready', 2: 'job-not-found', 3: 'job-not-found', 4: 'ready' })
  expect(seen.filter((one) => one.startsWith('waybill'))).toEqual([
    'waybill.jobs-gone Waybill: the jobs folder of the schedule cannot be read (job-not-found)',
  ])
})

test('a job file that is wrong is a need, told and counted, until it is right', async () => {
  const needs: Record<string, string> = {}
  let toldAt3: readonly string[] = []
  const { seen } = await keep({
    async during(minutes, { home, get, told }) {
      if (minutes === 3) toldAt3 = told()
      needs[minutes] = /"needs":.*/.exec(await get('/health'))?.[0] ?? ''
      if (minutes === 1) await writeFile(join(home, 'jobs/nightly.yaml'), 'job: "a')
    },
  })
  expect(needs[1]).toBe('"needs":{}}')
  expect(needs[3]).toBe('"needs":{"start-refused":1}}')
  // Not only once the schedule ends.
  expect(toldAt3).toEqual(['waybill.job-broken'])
  expect(seen.filter((one) => one.startsWith('waybill'))).toEqual([
    'waybill.job-broken Waybill: nightly is not run until its file is corrected (job-invalid)',
  ])
})

test('where workers run the jobs, a fire is a ticket, and what its worker has done is its end', async () => {
  const sent: unknown[] = []
  let isClosed = false
  const tickets = {
    find: async () => undefined,
    async send(...one: [key: string, request: RunRequest]) {
      sent.push(one)
      return { id: 'new', lane: 'run' }
    },
    stateOf: async () => ({ run: 'run-of-worker', exit: 1 }),
    async close() {
      for (const _ of [1, 2, 3]) await turnOfTheLoop()
      isClosed = true
    },
  } as unknown as Tickets
  const { fires, runs, seen } = await keep({ tickets })
  expect(sent).toEqual([[`nightly ${GATEWAY}`, { what: 'run', job: 'nightly', files: [], fire: DUE }]])
  expect(fires).toMatchObject([{ state: 'ended', exit: 1, run_id: 'run-of-worker' }])
  // The worker has told of it.
  expect([runs, seen.filter((one) => one !== '/beat'), isClosed]).toEqual([[], [], true])
})

test('a schedule whose jobs folder cannot be read at its start is refused, and begins nothing', async () => {
  const before = ({ settings }: Application): Promise<void> => rm(settings.jobs, { recursive: true })
  await expect(keep({ before })).rejects.toMatchObject({ code: 'job-not-found' })
})
