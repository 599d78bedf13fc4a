/** Notices on a real ledger, posted to real servers, with a clock that the test moves. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished, vi } from 'vitest'
import { z } from 'zod'
import type { Target } from '../../src/definitions/notify-definition.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import type { Notice } from '../../src/notify/notice.ts'
import { openChannel } from '../../src/notify/open-channel.ts'
import { createOutbox, type DeliveryEvent, nextTry, wants } from '../../src/notify/outbox.ts'
import { type Loopback, type Reply, serve } from '../gateway/loopback.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { NOTICE } from './sample-notice.ts'

type Outbox = ReturnType<typeof createOutbox>

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const SETTINGS = {
  webhookSecret: Buffer.alloc(32, 7).toString('base64'),
  smtpUrl: undefined,
  smtpFrom: undefined,
  commandEnvironment: {},
}

interface Installation {
  /** The ledger. */
  readonly file: string
  /** Milliseconds since the epoch; may be moved. */
  time: number
  readonly slept: number[]
  readonly told: DeliveryEvent[]
  /** Of each try: when it was begun, and how long it might take. */
  readonly tries: { readonly at: number; readonly withinMs: number }[]
  /** Of each job; undefined: its file cannot be read. */
  targets: readonly Target[] | undefined
  /** As a process of its own opens it. */
  open(): Promise<{ readonly ledger: Ledger; readonly outbox: Outbox }>
}

async function install(targets: readonly Target[]): Promise<Installation> {
  const folder = await temporaryFolder()
  let ids = 0
  const installation: Installation = {
    file: join(folder, 'ledger.sqlite'),
    time: Date.UTC(2026, 2, 2, 8),
    slept: [],
    told: [],
    tries: [],
    targets,
    async open() {
      const ledger = await openLedger(installation.file)
      onTestFinished(() => ledger.close())
      const now = (): number => installation.time
      const outbox = createOutbox({
        ledger,
        now,
        async sleep(ms) {
          installation.slept.push(ms)
          installation.time += ms
        },
        newId: () => `msg_${++ids}`,
        targetsOf: async () => installation.targets,
        open(target, withinMs) {
          installation.tries.push({ at: now(), withinMs })
          return openChannel(target, SETTINGS, now, { withinMs })
        },
        report: (event) => installation.told.push(event),
      })
      return { ledger, outbox }
    },
  }
  return installation
}

const hook = ({ url }: Loopback, on: Target['on'] = 'failure', path = ''): Target => ({
  webhook: `${url}/${path}`,
  on,
  folder: '/',
})
const serving = (...statuses: number[]): Promise<Loopback> =>
  serve((_, index): Reply => ({ status: statuses[index] ?? statuses.at(-1) ?? 200 }))
const idsOf = ({ seen }: Loopback): unknown[] => seen.map(({ headers }) => headers['webhook-id'])
const dataOf = (body: string): { readonly job: string; readonly subject: string } =>
  z.object({ data: z.object({ job: z.string(), subject: z.string() }) }).parse(JSON.parse(body)).data
const well: Notice = { ...NOTICE, subject: 'another', failure: false }

it('is told to those who want it, each subject once, also where it is told again and by another process', async () => {
  const server = await serving(200)
  const all = [hook(server, 'always', 'always'), hook(server, 'failure', 'failure')]
  const installation = await install(all)
  const [one, two] = [await installation.open(), await installation.open()]
  await one.outbox.tell(NOTICE, all)
  await two.outbox.tell(NOTICE, all)
  await one.outbox.tell(well, all)
  await two.outbox.tell({ ...NOTICE, job: 'other' }, all)
  await one.outbox.deliver()
  await two.outbox.deliver()
  const told = server.seen.map(({ url, body }) => `${url} ${dataOf(body).job} ${dataOf(body).subject}`)
  const [first, second] = [NOTICE.subject, 'another']
  expect(told.sort()).toEqual(
    [
      `/always nightly-screenings ${first}`,
      `/failure nightly-screenings ${first}`,
      `/always nightly-screenings ${second}`,
      `/always other ${first}`,
      `/failure other ${first}`,
    ].sort(),
  )
  expect(new Set(idsOf(server)).size).toBe(5)
  expect(installation.told).toHaveLength(5)
  for (const { reason } of installation.told) expect(reason).toBeUndefined()
})

it.each([
  ['failure', { failure: true }, true],
  ['failure', { failure: true, known: true }, true],
  ['failure', { failure: false }, false],
  ['always', { failure: false }, true],
  ['always', { failure: true, known: true }, true],
  ['news', { failure: true }, true],
  ['news', { failure: true, known: true }, false],
  ['news', { failure: false }, false],
  ['failure', { kind: 'job-recovered', failure: false }, true],
  ['news', { kind: 'job-recovered', failure: false }, true],
] as const)('on: %s of %o wants to be told: %s', (on, notice, wanted) => {
  expect(wants({ on }, { kind: 'run-ended', ...notice })).toBe(wanted)
})

it('who wants news alone is told of what is known until one telling of it has not failed', async () => {
  const server = await serving(404)
  const target = hook(server, 'news')
  const installation = await install([target])
  const { outbox } = await installation.open()
  const night = async (subject: string, known: boolean): Promise<string[]> => {
    const before = server.seen.length
    await outbox.tell({ ...NOTICE, subject, ...(known ? { known: true } : {}) }, [target])
    await outbox.deliver()
    return server.seen.slice(before).map(({ body }) => dataOf(body).subject)
  }
  expect(new Set(await night('run-1', false))).toEqual(new Set(['run-1']))
  // It is on its way still.
  expect(await night('run-2', true)).toEqual([])
  installation.time += 37 * HOUR
  await outbox.deliver()
  expect(installation.told.at(-1)?.nextAt).toBeUndefined()
  expect(new Set(await night('run-3', true))).toEqual(new Set(['run-3']))
  const other = await serving(200)
  const moved = hook(other, 'news')
  installation.targets = [moved]
  for (const subject of ['run-4', 'run-5']) {
    await outbox.tell({ ...NOTICE, subject, known: true }, [moved])
    await outbox.deliver()
  }
  expect(other.seen.map(({ body }) => dataOf(body).subject)).toEqual(['run-4'])
})

it('two processes with forty notices between them deliver each once', async () => {
  // Each process has four under way. None is answered before both have theirs.
  const both = Promise.withResolvers<void>()
  const server = await serve(async (_, index) => {
    if (index === 7) both.resolve()
    await both.promise
    return { status: 200 }
  })
  const target = hook(server)
  const installation = await install([target])
  const { outbox } = await installation.open()
  const notices = Array.from({ length: 40 }, (_, at) => ({ ...NOTICE, subject: `run-${at}` }))
  for (const notice of notices) await outbox.tell(notice, [target])
  const script = join(import.meta.dirname, 'outbox-process.ts')
  const settings = [`${server.url}/`, SETTINGS.webhookSecret, String(installation.time)]
  const other = promisify(execFile)(process.execPath, [script, installation.file, ...settings])
  // This one begins when the other one has, which takes the longest to start.
  await vi.waitUntil(() => server.seen.length > 0, { interval: 1, timeout: 60_000 })
  await Promise.all([outbox.deliver(), other])
  expect(installation.told.length).toBeGreaterThanOrEqual(4)
  expect(installation.told.length).toBeLessThanOrEqual(36)
  expect(server.seen.map(({ body }) => dataOf(body).subject).sort()).toEqual(
    notices.map(({ subject }) => subject).sort(),
  )
})

it('a receiver that fails and comes back within seconds gets it at once, under the same id', async () => {
  const server = await serving(503, 500, 200)
  const target = hook(server)
  const installation = await install([target])
  const { outbox } = await installation.open()
  await outbox.tell(NOTICE, [target])
  await outbox.deliver()
  expect(idsOf(server)).toEqual(['msg_1', 'msg_1', 'msg_1'])
  expect(installation.slept).toEqual([1_000, 3_000])
  expect(installation.told).toEqual([
    { job: NOTICE.job, kind: 'run-ended', target: `webhook ${new URL(server.url).host}` },
  ])
})

it('is tried three times at once, and once each later time', async () => {
  const server = await serving(500)
  const target = hook(server)
  const installation = await install([target])
  const { outbox } = await installation.open()
  await outbox.tell(NOTICE, [target])
  await outbox.deliver()
  expect(server.seen).toHaveLength(3)
  installation.time += HOUR
  await outbox.deliver()
  expect(server.seen).toHaveLength(4)
})

it('one that refuses is not pressed; it is tried again at growing intervals, and given up after a day and a half', async () => {
  const server = await serving(404)
  const target = hook(server)
  const installation = await install([target])
  const { outbox } = await installation.open()
  await outbox.tell(NOTICE, [target])
  const begun = installation.time
  const tries: number[] = []
  for (;;) {
    const before = server.seen.length
    await outbox.deliver()
    if (server.seen.length > before) tries.push((installation.time - begun) / MINUTE)
    if (installation.time - begun > 60 * HOUR) break
    installation.time += MINUTE
  }
  expect(installation.slept).toEqual([])
  expect(tries).toEqual([0, 1, 6, 21, 81, 261, 621, 981, 1341, 1701, 2061, 2421])
  expect(tries.at(-2)).toBeLessThan(36 * 60)
  expect(new Set(idsOf(server)).size).toBe(1)
  expect(installation.told.map(({ nextAt }) => nextAt !== undefined)).toEqual([
    ...Array.from({ length: 11 }, () => true),
    false,
  ])
  expect(installation.told.at(0)).toMatchObject({
    reason: 'the webhook answered 404',
    nextAt: begun + MINUTE,
  })
})

it.each([
  ['delivers it', [404, 404, 200], undefined],
  ['gives it up', [404], 'the webhook answered 404'],
])(
  'of a job that cron runs once a night, the next night tries again, and the one after that %s',
  async (_, statuses, reason) => {
    const server = await serving(...statuses)
    const target = hook(server)
    const installation = await install([target])
    const { outbox } = await installation.open()
    await outbox.tell(NOTICE, [target])
    for (let night = 0; night < 5; night++) {
      await outbox.deliver()
      installation.time += 24 * HOUR
    }
    expect(server.seen).toHaveLength(3)
    expect(installation.told.map((event) => [event.reason, event.nextAt !== undefined])).toEqual([
      ['the webhook answered 404', true],
      ['the webhook answered 404', true],
      [reason, false],
    ])
  },
)

it('what a killed process had claimed is delivered by another one, once that one is taken for dead', async () => {
  const server = await serving(200)
  const target = hook(server)
  const installation = await install([target])
  const { ledger, outbox } = await installation.open()
  await outbox.tell(NOTICE, [target])
  await ledger.notifications.claim(installation.time, installation.time + 2 * MINUTE)
  await outbox.deliver()
  expect(server.seen).toEqual([])
  installation.time += 2 * MINUTE
  await outbox.deliver()
  expect(idsOf(server)).toEqual(['msg_1'])
})

it('what is said of a claim that another process has taken since is not written', async () => {
  const installation = await install([])
  const { ledger, outbox } = await installation.open()
  await outbox.tell(NOTICE, [hook(await serving(200))])
  const { time } = installation
  const late = (await ledger.notifications.claim(time, time + MINUTE)) ?? expect.fail('nothing is due')
  const taken =
    (await ledger.notifications.claim(time + MINUTE, time + HOUR)) ?? expect.fail('nothing is due')
  expect(await ledger.notifications.move(late, 'give-up', { at: time, error: 'late' })).toBe(false)
  expect(await ledger.notifications.move(taken, 'deliver', { at: time })).toBe(true)
  expect(await ledger.notifications.claim(time + 2 * HOUR, time + 3 * HOUR)).toBeUndefined()
})

it('a target that the job names no more is given up; one whose job file cannot be read just now is not', async () => {
  const server = await serving(200)
  const target = hook(server)
  const installation = await install([target])
  const { outbox } = await installation.open()
  await outbox.tell(NOTICE, [target])
  installation.targets = undefined
  await outbox.deliver()
  installation.time += HOUR
  installation.targets = []
  await outbox.deliver()
  installation.time += HOUR
  installation.targets = [target]
  await outbox.deliver()
  expect(server.seen).toEqual([])
  expect(installation.told.map(({ reason, nextAt }) => [reason, nextAt !== undefined])).toEqual([
    ['the job file cannot be read', true],
    ['the job no longer lists this target', false],
  ])
})

it('a pass comes to its end, whatever receivers do: no try may go on for longer than ten seconds after its beginning', async () => {
  const slow = await serve(async () => {
    installation.time += 1_500
    return { status: 503 }
  })
  const target = hook(slow)
  const installation = await install([target])
  const { outbox } = await installation.open()
  for (let at = 0; at < 20; at++) await outbox.tell({ ...NOTICE, subject: `run-${at}` }, [target])
  const begun = installation.time
  await outbox.deliver()
  expect(installation.tries.length).toBeGreaterThanOrEqual(4)
  for (const { at, withinMs } of installation.tries) {
    // One that was claimed as the clock moved has two seconds all the same.
    expect(withinMs).toBe(Math.max(2_000, begun + 10_000 - at))
  }
})

it('a command that hangs is killed when its time is up, and tried again later', async () => {
  const target: Target = { command: 'sleep 60', on: 'failure', folder: '/' }
  const channel = await openChannel(target, SETTINGS, Date.now, { withinMs: 300 })
  await expect(channel.deliver({ id: 'msg_1', notice: NOTICE })).rejects.toMatchObject({
    message: 'the command took longer than 0.3 s, and was killed',
  })
})

it('what a pass has not come to, the next one goes on with', async () => {
  const slow = await serve(async () => {
    installation.time += 4_000
    return { status: 200 }
  })
  const target = hook(slow)
  const installation = await install([target])
  const { outbox } = await installation.open()
  for (let at = 0; at < 20; at++) await outbox.tell({ ...NOTICE, subject: `run-${at}` }, [target])
  await outbox.deliver()
  // Two of four seconds each begin within eight; beside them, those that were begun at the same time.
  expect(slow.seen.length).toBeGreaterThanOrEqual(2)
  expect(slow.seen.length).toBeLessThan(10)
  for (let pass = 0; pass < 20; pass++) await outbox.deliver()
  expect(slow.seen).toHaveLength(20)
  expect(new Set(idsOf(slow)).size).toBe(20)
})

it.each([
  [1, 0, MINUTE],
  [2, HOUR, HOUR + 5 * MINUTE],
  [5, HOUR, 4 * HOUR],
  [6, HOUR, 7 * HOUR],
  [60, 36 * HOUR - 1, 42 * HOUR - 1],
  [7, 36 * HOUR, undefined],
])('after %i tries, %i ms after it was written, it is tried again at %s', (attempts, now, next) => {
  expect(nextTry(attempts, 0, now)).toBe(next)
})

it.each([
  [7_000, 2],
  [7_001, 1],
])(
  'after a try of %i ms two seconds of the pass are left behind the next wait or not: %i tries',
  async (ms, tries) => {
    const server = await serve(() => {
      installation.time += ms
      return { status: 503 }
    })
    const target = hook(server)
    const installation = await install([target])
    const { outbox } = await installation.open()
    await outbox.tell(NOTICE, [target])
    await outbox.deliver()
    expect(server.seen).toHaveLength(tries)
  },
)

it.each([
  [2 * MINUTE - 1, 1],
  [2 * MINUTE, 2],
])('a claim that is %i ms old holds another process off or not: %i tries', async (ms, tries) => {
  const server = await serve(async (_, index) => {
    if (index > 0) return { status: 200 }
    installation.time += ms
    await other.outbox.deliver()
    return { status: 200 }
  })
  const target = hook(server)
  const installation = await install([target])
  const [{ outbox }, other] = [await installation.open(), await installation.open()]
  await outbox.tell(NOTICE, [target])
  await outbox.deliver()
  expect(server.seen).toHaveLength(tries)
})
