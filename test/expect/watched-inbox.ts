/** A job over a real inbox and a real ledger, kept by schedules with a clock that the test moves. Runs take what is complete, and send nothing. */
import { hash } from 'node:crypto'
import { mkdir, stat, unlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { DateTime } from 'luxon'
import { onTestFinished } from 'vitest'
import { type Job, readJob } from '../../src/definitions/definition-files.ts'
import { type ExpectationParts, judgeJob, planLooks } from '../../src/expect/expectation-watch.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { type Message, sentFrom } from '../../src/notify/notice.ts'
import { createOutbox } from '../../src/notify/outbox.ts'
import { createArrival } from '../../src/run/arrival.ts'
import { findExports } from '../../src/run/find-exports.ts'
import { runSchedule } from '../../src/schedule/run-schedule.ts'
import { createMovedClock } from '../schedule/moved-clock.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const MINUTE = 60_000
export const STEP = 15 * MINUTE
const DAY = 24 * 60 * MINUTE

export interface WatchedInbox {
  readonly folder: string
  readonly ledger: Ledger
  now(): number
  /** Moves the clock, by quarters of an hour; what is begun by then has ended. @param text `2026-03-02T06:30Z` */
  moveTo(text: string): Promise<void>
  /** Puts a file into the inbox, with the time of the clock or another. */
  deliver(name: string, bytes?: number, modifiedAt?: string): Promise<void>
  remove(name: string): Promise<void>
  writeJob(yaml: string): Promise<void>
  /** Starts a schedule. @param rereadMs how often it reads the job at least @returns what ends it */
  start(owner?: string, rereadMs?: number): () => Promise<void>
  /** As `waybill expect` does. @returns states */
  ask(): Promise<string[]>
  /** Titles of all that was to be told, also again. */
  readonly said: string[]
  /** What was delivered: `2026-03-02T06:30Z export-late title`, with the time of the clock. */
  readonly told: string[]
  /** The messages themselves. */
  readonly messages: Message[]
  /** What schedules had trouble with. */
  readonly troubles: string[]
}

export const short = (at: number): string => new Date(at).toISOString().replace(/:00\.000Z$/, 'Z')

export const ZONE = 'America/New_York'
/** @param time `01:30`, on that day, by the clock of the zone */
export const local = (date: string, time: string): string =>
  short(DateTime.fromISO(`${date}T${time}`, { zone: ZONE }).toMillis())

/** A run each night at a quarter past two; exports by half past one. */
export const jobOf = (match: string, more = ''): string => `schedule: { cron: "15 2 * * *", zone: ${ZONE} }
exports:
  - from: ../inbox
    match: "${match}"
    expect: { by: "30 1 * * *", size: 50% }
${more}`

export async function watchInbox(startAt: string, yaml: string): Promise<WatchedInbox> {
  const folder = await temporaryFolder()
  const inbox = join(folder, 'inbox')
  const jobs = join(folder, 'jobs')
  await mkdir(inbox)
  await mkdir(jobs)
  const ledger = await openLedger(':memory:')
  onTestFinished(() => ledger.close())
  const clock = createMovedClock(Date.parse(startAt))
  const { now } = clock
  const told: string[] = []
  const messages: Message[] = []
  const troubles: string[] = []
  const underWay = new Set<Promise<unknown>>()
  const track = <Result>(work: Promise<Result>): Promise<Result> => {
    underWay.add(work)
    const done = (): void => void underWay.delete(work)
    work.then(done, done)
    return work
  }
  let ids = 0
  const said: string[] = []
  const outbox = createOutbox({
    ledger,
    now,
    sleep: clock.sleep,
    newId: () => `msg_${++ids}`,
    targetsOf: async () => [TARGET],
    open: async () => ({
      async deliver(message) {
        messages.push(message)
        told.push(`${short(now())} ${message.notice.kind} ${message.notice.title}`)
      },
    }),
    report: () => {},
  })
  const parts: ExpectationParts = {
    ledger,
    gatewayOf: () => 'gateway',
    sources: { keyFile: undefined, passphraseFile: undefined, verifyKeyFile: undefined },
    patience: () => new AbortController().signal,
    now,
    async tell(_, notice) {
      await outbox.tell(sentFrom(notice, { host: 'night-host', home: '/home', console: undefined }), [TARGET])
      said.push(notice.title)
    },
  }
  // Its text changes by `writeJob` alone, and it is read for each quarter of an hour of weeks.
  let asWritten: Promise<Job> | undefined
  const read = (): Promise<Job> => (asWritten ??= readJob({ jobs, mappings: jobs }, 'nightly'))

  const run = async (job: Job, owner: string): Promise<string> => {
    const runId = `run-${++ids}`
    const jobId = await ledger.jobs.id('nightly', 'gateway')
    const asked = { jobId, runId, owner, now: now(), ttlMs: MINUTE }
    const answer = await ledger.leases.acquire(asked, () => false)
    if (!answer.ok) throw new Error('the job is held')
    const start = { id: runId, jobId, startedAt: now(), rejectsPath: 'r', receiptsPath: 'r' }
    const runLedger = await ledger.runs.start(answer.lease, start)
    const arrival = createArrival(join(folder, 'spool'), parts.sources)
    const { found: all } = await findExports(arrival, job, [], now)
    for (const [at, found] of all.entries()) {
      const { name, bytes, modifiedAt } = found.delivery
      const path = found.source.address(name)
      const { id } = await runLedger.addExport({
        ...{
          ordinal: at + 1,
          name,
          path,
          bytes,
          exportId: 'e',
          sha256: hash('sha256', `${path} ${modifiedAt}`),
        },
        mapping: { name: found.mapping, digest: 'd', content: '{}' },
        delivered: { address: path, name, bytes, modifiedAt },
      })
      await runLedger.endExport(id, 'finished')
      if (found.archived) await arrival.archive(found)
    }
    await ledger.leases.release(answer.lease)
    return runId
  }

  const writeJob = async (text: string): Promise<void> => {
    await writeFile(join(jobs, 'nightly.yaml'), `job: nightly\nmapping: m\n${text}`)
    asWritten = undefined
  }
  await writeJob(yaml)
  return {
    folder,
    ledger,
    now,
    said,
    told,
    messages,
    troubles,
    writeJob,
    async moveTo(text) {
      const end = Date.parse(text)
      while (now() < end) {
        await clock.moveTo(Math.min(end, Math.floor(now() / STEP) * STEP + STEP))
        for (let turn = 0; underWay.size > 0 || turn < 2; turn++) {
          await Promise.allSettled(underWay)
          await setImmediate()
        }
        if (said.length > messages.length) await outbox.deliver()
      }
    },
    async deliver(name, bytes = 1000, modifiedAt) {
      const file = join(inbox, name)
      await writeFile(file, Buffer.alloc(bytes, 'x'))
      const at = (modifiedAt === undefined ? now() : Date.parse(modifiedAt)) / 1000
      await utimes(file, at, at)
      await stat(file)
    },
    remove: (name) => unlink(join(inbox, name)),
    async ask() {
      const found = await judgeJob(parts, await read())
      await outbox.deliver()
      return found.map(({ state }) => state)
    },
    start(owner = 'here:1', rereadMs = 7 * DAY) {
      const interrupt = new AbortController()
      const over = runSchedule<Job>({
        ...{
          ledger,
          gatewayOf: () => 'gateway',
          now,
          sleep: clock.sleep,
          interrupt: interrupt.signal,
          owner,
        },
        isDead: () => false,
        rereadMs,
        readJobs: () =>
          track(read().then((job) => [{ name: 'nightly', job, schedule: job.definition.schedule }])),
        run: (job) => track(run(job, owner).then((id) => ({ run: id, exit: 0 }))),
        planLook: (job) =>
          track(
            planLooks(parts, job).then(({ next, look }) => ({ next, look: look && (() => track(look())) })),
          ),
        events: {
          ...{
            scheduled: () => {},
            unscheduled: () => {},
            begun: () => {},
            abandoned: () => {},
            recovered: () => {},
            ended: () => {},
            gaveUp: () => {},
            missed: () => {},
          },
          broken: (_, { message }) => troubles.push(message),
          skipped: () => {},
          trouble: (_, error) => troubles.push(String(error)),
        },
      })
      return async () => {
        interrupt.abort()
        await over
      }
    },
  }
}

const TARGET = { command: './tell', on: 'always', folder: '/' } as const
