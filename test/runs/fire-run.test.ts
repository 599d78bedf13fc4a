/** Fires whose runs a worker has: the ticket that a schedule sends, finds again and follows; and the run of the worker. */
import { existsSync } from 'node:fs'
import { mkdir, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { createApplication } from '../../src/application.ts'
import type { FireRecord } from '../../src/ledger/ledger.ts'
import type { RunRequest, TicketEnd, Tickets } from '../../src/ledger/tickets.ts'
import { WaybillError } from '../../src/model/errors.ts'
import type { Application } from '../../src/runs/application.ts'
import { askForFire, beginFireOfTicket, isFireAwaited } from '../../src/runs/fire-run.ts'
import { readSettings } from '../../src/system/settings.ts'
import { ANN, CLINIC, HEADER } from '../cli/clinic.ts'
import { closedPort } from '../closed-port.ts'
import { SECRET, startHookServer } from '../notify/hook-server.ts'
import { temporaryFolder } from '../temporary-folder.ts'

type State = Awaited<ReturnType<Tickets['stateOf']>>

const DUE = Date.parse('2026-03-02T02:00Z')
const END: TicketEnd = { run: 'run-1', exit: 0 }

/** @param former state of the ticket of an earlier process; undefined: there is none @param taken false: another ticket of the job is open */
function queue(former: State | undefined, end: TicketEnd = END, taken = true) {
  const sent: (readonly [key: string, request: RunRequest])[] = []
  const tickets = {
    find: async (key: string, request: RunRequest) =>
      former === undefined || key !== 'nightly gateway' || !('fire' in request) || request.fire !== DUE
        ? undefined
        : { id: 'former', lane: 'run' },
    async send(key: string, request: RunRequest) {
      sent.push([key, request])
      return taken ? { id: 'new', lane: 'run' } : undefined
    },
    // The former ticket ends at the second look.
    stateOf: async ({ id }: { readonly id: string }) =>
      id === 'new' || looks++ > 0 ? end : (former ?? expect.fail('no such ticket')),
  } as unknown as Tickets
  let looks = 0
  return { tickets, sent }
}

async function follow(queued: ReturnType<typeof queue>, isContinued = false) {
  const tried: (readonly [code: string | undefined, at: number | undefined])[] = []
  const application = { interrupt: new AbortController().signal, sleep: async () => {} }
  const job = { definition: { job: 'nightly' } }
  const retryAt = (code: string | undefined, at?: number) => void tried.push([code, at])
  const ended = await askForFire(application as unknown as Application, queued.tickets, 'gateway', [
    ...([job, () => {}, { due: DUE }, retryAt, isContinued] as unknown as Parameters<typeof askForFire>[3]),
  ]).catch((error: unknown) => ({
    code: error instanceof WaybillError ? error.code : undefined,
    message: error instanceof Error ? error.message : '',
  }))
  return { ended, tried, sent: queued.sent }
}

test.each<[State | undefined, boolean]>([
  ['queued', true],
  ['taken', true],
  ['gone', false],
  [END, false],
  [undefined, false],
])('a fire whose ticket is %j: a worker is to run it is %s', async (state, isAwaited) => {
  expect(await isFireAwaited(queue(state).tickets, 'gateway', { job: 'nightly', due: DUE })).toBe(isAwaited)
})

const REQUEST = ['nightly gateway', { what: 'run', job: 'nightly', files: [], fire: DUE }] as const

test.each<[string, boolean, State | undefined, boolean]>([
  ['a fire begins', false, undefined, true],
  ['a fire begins, whatever was asked before', false, 'taken', true],
  ['a fire goes on, and its ticket is open', true, 'taken', false],
  ['a fire goes on, and its ticket is over', true, END, false],
  ['a fire goes on, and its ticket was removed', true, 'gone', true],
  ['a fire goes on that has none', true, undefined, true],
])('%s: a new ticket for its worker, or the one that it has', async (_, isContinued, former, isSent) => {
  const { ended, sent } = await follow(queue(former), isContinued)
  expect(ended).toEqual({ run: 'run-1', exit: 0 })
  expect(sent).toEqual(isSent ? [REQUEST] : [])
})

const REFUSED = 'the worker refused the run of nightly; its log has the cause'

test.each<[string, TicketEnd, unknown]>([
  ['a run', { run: 'run-1', exit: 1 }, { run: 'run-1', exit: 1 }],
  [
    'a run that ended early',
    { run: 'run-1', exit: 3, code: 'gateway-failing', decidedAt: 7 },
    { run: 'run-1', exit: 3, error: 'gateway-failing' },
  ],
  ['nothing to run', { exit: 0 }, 'nothing'],
  ['a refusal', { exit: 2, code: 'job-invalid' }, { code: 'job-invalid', message: REFUSED }],
  [
    'an unforeseen error',
    { exit: 70 },
    { code: undefined, message: 'the run of nightly ended with exit code 70' },
  ],
])('the end of a ticket: %s; worker and schedule decide on another try once', async (_, end, expected) => {
  const { ended, tried } = await follow(queue(undefined, end))
  expect(ended).toEqual(expected)
  expect(tried).toEqual([[end.code, end.decidedAt]])
})

test('a job with another ticket is held', async () => {
  expect((await follow(queue(undefined, END, false))).ended).toMatchObject({ code: 'job-held' })
})

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
const FORMER = DUE - DAY_MS

const Notified = z.object({
  type: z.string(),
  data: z.object({ title: z.string(), text: z.array(z.string()) }),
})

interface Given {
  readonly retry?: string
  /** Rows of an export in the inbox; undefined for an empty inbox. */
  readonly rows?: string
  /** A run that a person has typed since the fire before. */
  readonly byHand?: boolean
  /** The fire has left the schedule. */
  readonly isGone?: boolean
  /** The worker ends while the run waits for the gateway. */
  readonly stops?: boolean
  readonly secret?: string
}

async function worker(hookUrl: string, { retry = '', stops = false, secret = SECRET }: Given) {
  const home = await temporaryFolder()
  const folders = ['jobs', 'mappings', 'inbox'].map((name) => join(home, name))
  for (const folder of folders) await mkdir(folder)
  const [jobs = '', mappings = '', inbox = ''] = folders
  const gateway = `http://127.0.0.1:${await closedPort()}`
  await writeFile(join(mappings, 'clinic.yaml'), CLINIC)
  const job = `job: nightly
schedule: { cron: "0 2 * * *", zone: Etc/UTC, missed: once${retry} }
exports: { from: ../inbox, match: "*.csv", mapping: clinic }
accounts: { register: never }
submit: { patience: 1m }
notify: { webhook: "${hookUrl}/" }
heartbeat: { url: "${hookUrl}/beat", service: healthchecks }
`
  await writeFile(join(jobs, 'nightly.yaml'), job)
  const variables = {
    ...{ WAYBILL_HOME: home, WAYBILL_JOBS: jobs, WAYBILL_MAPPINGS: mappings, WAYBILL_LOG_LEVEL: 'error' },
    ...{ WAYBILL_GATEWAY_URL: gateway, WAYBILL_API_KEY: 'k', WAYBILL_ACCESS_TOKEN: 't' },
    ...{ WAYBILL_WEBHOOK_SECRET: secret, WAYBILL_METRICS_FILE: join(home, '{job}.prom') },
  }
  const interrupt = new AbortController()
  const log: string[] = []
  const settings = readSettings(variables, home)
  const made = createApplication('0', settings, (line) => log.push(line), interrupt.signal)
  let open = 0
  let now = DUE + MINUTE_MS
  const application: Application = {
    ...made,
    now: () => now,
    async sleep(ms) {
      if (stops) interrupt.abort()
      else now += ms
    },
    async openLedger(...given) {
      const ledger = await made.openLedger(...given)
      open++
      const close = async (): Promise<void> => {
        await ledger.close()
        open--
      }
      return { ...ledger, close }
    },
  }
  const metrics = join(home, 'nightly.prom')
  return { application, gateway, inbox, log, metrics, now: () => now, open: () => open }
}

async function beginFire(given: Given) {
  const { rows, byHand = false, isGone = false } = given
  const hook = await startHookServer()
  const { application, gateway, inbox, log, metrics, now, open } = await worker(hook.url, given)
  if (rows !== undefined) {
    await writeFile(join(inbox, 'a.csv'), HEADER + rows)
    await utimes(join(inbox, 'a.csv'), new Date(FORMER), new Date(FORMER))
  }
  const before = await application.openLedger()
  const jobId = await before.jobs.id('nightly', gateway)
  const timetable = { cron: '0 2 * * *', zone: 'Etc/UTC', seenUntil: DUE }
  await before.fires.comeDue(jobId, undefined, timetable, isGone ? [FORMER] : [FORMER, DUE])
  for (const fire of await before.fires.open(jobId))
    await before.fires.move(fire, 'begin', { owner: 'there:7#boot.1', begun_at: fire.due })
  if (byHand) {
    const asked = { jobId, runId: 'by-hand', owner: 'gone:1#boot.1', now: FORMER + 1, ttlMs: 1 }
    const answer = await before.leases.acquire(asked, () => true)
    if (!answer.ok) return expect.fail('held')
    const start = { id: 'by-hand', jobId, startedAt: FORMER + 1, rejectsPath: 'r', receiptsPath: 'r' }
    await (await before.runs.start(answer.lease, start)).endRun({
      state: 'finished',
      endedAt: FORMER + 2,
      reason: null,
    })
    await before.leases.release(answer.lease)
  }
  await before.close()
  const end = await beginFireOfTicket(application, { listener: {} }, { job: 'nightly', due: DUE })
  // The worker has delivered the notices, and closed the ledger.
  expect(open()).toBe(0)
  const beats = hook.seen.flatMap(({ url }) => (url.startsWith('/beat') ? [url] : []))
  const notices = hook.seen
    .filter(({ url }) => url === '/')
    .map(({ body }) => Notified.parse(JSON.parse(body)))
  const titles = notices.map(({ type, data }) => `${type} ${data.title}`)
  const text = notices.flatMap(({ data }) => data.text).join('\n')
  const after = await application.openLedger()
  const fires = await after.fires.latest(jobId, 9)
  const runs = (await after.runs.list(9)).map(({ id }) => id)
  await after.close()
  const runOf = (due: number): FireRecord['run_id'] | undefined =>
    fires.find((one) => one.due === due)?.run_id
  const isCounted = existsSync(metrics)
  return {
    end,
    titles,
    text,
    beats,
    log,
    runs,
    isCounted,
    now: now(),
    noted: runOf(DUE),
    ofFormer: runOf(FORMER),
  }
}

test('a fire whose export holds no measurement ends well, and the ledger names its run', async () => {
  const found = await beginFire({ rows: 'ann,2026-03-02,,,,,\n' })
  const [run = expect.fail('no run')] = found.runs
  expect(found).toMatchObject({ titles: [], noted: run, ofFormer: null, isCounted: true, log: [] })
  expect(found.end).toEqual({ run, exit: 0, decidedAt: DUE + MINUTE_MS })
  expect(found.beats).toEqual(['/beat/start', '/beat/0'])
})

test('a fire that has left the schedule begins no run', async () => {
  const found = await beginFire({ rows: ANN, isGone: true })
  expect(found).toMatchObject({ end: { exit: 0 }, runs: [], titles: [], beats: [], isCounted: false })
})

const STOPPED = 'waybill.run-stopped Waybill: nightly was stopped'
const RESUMES = 'It resumes when the schedule starts'

test.each([
  ['with tries left: the schedule gets the instant of the decision, and nobody is notified', '15m', false],
  ['without: the end is notified', undefined, true],
  ['with a try behind the next fire: the end is notified', '24h', true],
])('a gateway that is away, %s', async (_, every, isLast) => {
  const retry = every === undefined ? '' : `, retry: { every: ${every} }`
  const { end, titles, text, beats, log, runs, noted, now } = await beginFire({ retry, rows: ANN })
  expect(end).toMatchObject({ run: noted, exit: 3, code: 'gateway-unreachable' })
  // The patience of the job has passed.
  expect(end.decidedAt).toBeGreaterThan(DUE + MINUTE_MS)
  expect(end.decidedAt).toBeLessThanOrEqual(now)
  expect(runs).toEqual([noted])
  expect(titles).toEqual(isLast ? [`${STOPPED} (gateway-unreachable)`] : [])
  expect(text).not.toContain(RESUMES)
  expect(beats).toEqual(isLast ? ['/beat/start', '/beat/3'] : ['/beat/start'])
  expect(log).toEqual([expect.stringContaining('gateway-unreachable')])
})

test('a fire whose worker ends meanwhile: the notice names no command, as the schedule resumes the run', async () => {
  const { end, titles, text, runs } = await beginFire({ rows: ANN, stops: true })
  expect(end).toMatchObject({ run: runs[0], exit: 130, code: 'interrupted' })
  expect(titles).toEqual([`${STOPPED} (interrupted)`])
  expect(text).toContain(`${RESUMES}`)
})

test('a fire without exports is refused, and notified; after a run by hand it has nothing to do', async () => {
  const { end, titles, beats } = await beginFire({})
  expect(end).toMatchObject({ exit: 2, code: 'exports-none', decidedAt: DUE + MINUTE_MS })
  expect(titles).toEqual(['waybill.run-refused Waybill: nightly was not run (exports-none)'])
  expect(beats).toEqual(['/beat/start', '/beat/2'])
  const explained = await beginFire({ byHand: true })
  expect(explained).toMatchObject({ end: { exit: 0 }, titles: [], runs: ['by-hand'] })
  expect(explained.beats).toEqual(['/beat/start', '/beat/0'])
})

test('a fire whose worker lacks the secret of the webhook is refused before it begins', async () => {
  await expect(beginFire({ rows: ANN, secret: '' })).rejects.toMatchObject({ code: 'settings-invalid' })
})
