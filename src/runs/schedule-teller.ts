/**
 * Tells the targets of jobs what a schedule meets: job files that are wrong, or gone all together, fires that were missed, jobs that are
 * held, runs that nobody runs any more. What it meets in one waking is put together and told when it goes to sleep.
 */
import { hash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Job } from '../definitions/definition-files.ts'
import { readTargets, targetsOf } from '../definitions/jobs.ts'
import { keyOf, type Target } from '../definitions/notify-definition.ts'
import type { FireRecord } from '../ledger/ledger.ts'
import { WaybillError } from '../model/errors.ts'
import type { About } from '../notify/run-notices.ts'
import { brokenNotice, goneNotice, missedNotice } from '../notify/schedule-notices.ts'
import type { RunDependencies } from '../run/dependencies.ts'
import type { ListedJob, ScheduleEvents, ScheduleParts } from '../schedule/schedule-parts.ts'
import type { Settings } from '../settings.ts'
import { tellDeadRun, tellHolder } from './run-and-tell.ts'
import { versionOfFolder } from './scheduled-jobs.ts'
import { createTeller, type TellerContext } from './teller.ts'

/** Reasons of missed fires that are known, or told otherwise: who has paused the job knows; the wrong job file is told once, and the earlier fire when it was missed or interrupted. */
const TOLD_OTHERWISE: ReadonlySet<string> = new Set(['job-invalid', 'earlier-first', 'paused'])

export function createScheduleTeller(
  context: TellerContext,
  deps: Pick<RunDependencies, 'ledger' | 'now' | 'isDead'> & Pick<ScheduleParts<Job>, 'gatewayOf'>,
) {
  const { ledger, gatewayOf, now } = deps
  const known = new Map<string, readonly Target[]>()
  const teller = createTeller(context, ledger, known)
  const underWay = new Set<string>()
  /** With whether they are on the schedule. */
  let jobs: readonly (readonly [name: string, scheduled: boolean])[] = []
  /** Those that the folder held when it held any. */
  let names: readonly string[] = []
  let isEmpty = false
  /** That there are none any more, and why. */
  let gone: { readonly problem?: WaybillError } | undefined
  let broken = new Map<string, WaybillError>()
  let missed = new Map<string, FireRecord[]>()
  let delivery: Promise<void> | undefined

  const about = (job: string): About => ({ job, gateway: gatewayOf(job), at: now() })
  const targetsFor = async (job: string): Promise<readonly Target[]> =>
    (await readTargets(context.settings, job)) ?? known.get(job) ?? []
  const note = (job: string, fire: FireRecord, isNews: boolean): void => {
    if (isNews && !TOLD_OTHERWISE.has(fire.reason ?? '')) missed.set(job, [...(missed.get(job) ?? []), fire])
  }

  const tellMissed = async (job: string, fires: readonly FireRecord[]): Promise<void> => {
    const targets = await targetsFor(job)
    if (targets.length === 0) return
    const ofReason = Map.groupBy(fires, ({ reason }) => reason ?? 'not-scheduled')
    for (const [reason, [first, ...others]] of ofReason) {
      if (first === undefined) continue
      // A run that takes its time may hold many fires up: that it holds the job is told once.
      if (reason === 'job-held') await tellHolder(teller, ledger, about(job), targets, now)
      else await teller.tell(missedNotice(about(job), reason, [first, ...others]), targets)
    }
  }
  /** Each target once, however many jobs name it. */
  const tellGone = async (problem: WaybillError | undefined): Promise<void> => {
    const told = new Set<string>()
    for (const job of names) {
      const untold = (known.get(job) ?? []).filter((target) => !told.has(keyOf(target)))
      for (const target of untold) told.add(keyOf(target))
      await teller.tell(goneNotice(about(job), problem, names), untold)
    }
  }
  const tellAll = async (): Promise<void> => {
    const [problems, fires, lost] = [broken, missed, gone]
    broken = new Map()
    missed = new Map()
    gone = undefined
    if (lost !== undefined) await tellGone(lost.problem)
    for (const [job, problem] of problems) {
      const version = await versionOf(context.settings, job, problem)
      await teller.tell(brokenNotice(about(job), problem, version), await targetsFor(job))
    }
    for (const [job, ofJob] of fires) await tellMissed(job, ofJob)
    for (const [job, scheduled] of jobs) {
      const targets = known.get(job) ?? []
      const atGateway = { ...deps, gatewayName: gatewayOf(job) }
      if (targets.length > 0 && !underWay.has(job))
        await tellDeadRun(teller, atGateway, job, targets, scheduled)
    }
  }
  const tellQuietly = (): Promise<void> =>
    tellAll().catch(() =>
      context.logger.warn('what the schedule has met cannot be told: the ledger cannot be used'),
    )

  return {
    teller,
    events: {
      broken: (job, problem) => broken.set(job, problem),
      begun: note,
      missed: (job, fire) => note(job, fire, true),
      skipped: note,
      trouble(job, error) {
        if (job === undefined && error instanceof WaybillError && error.code === 'job-not-found')
          gone = { problem: error }
      },
    } satisfies Partial<ScheduleEvents>,
    /** The jobs as they were read: each is told to the targets that its file named last. */
    listed(all: readonly ListedJob<Job>[]): void {
      const good = all.flatMap((one) => ('problem' in one ? [] : [one]))
      jobs = good.map(({ name, schedule }) => [name, schedule !== undefined])
      for (const { name, job } of good) known.set(name, targetsOf(job))
      if (all.length > 0) names = all.map(({ name }) => name)
      else if (!isEmpty && names.length > 0) gone = {}
      isEmpty = all.length === 0
    },
    /** Keeps a run of this process from being taken for one that nobody runs. */
    async running<Result>(job: string, run: () => Promise<Result>): Promise<Result> {
      underWay.add(job)
      try {
        return await run()
      } finally {
        underWay.delete(job)
      }
    },
    /** Tells what has come up, and begins to deliver what is due. Never rejects. */
    async beforeSleep() {
      await tellQuietly()
      delivery ??= teller.deliver().finally(() => {
        delivery = undefined
      })
    },
    /** Tells the rest, and delivers what is due. */
    async end() {
      await tellQuietly()
      await delivery
      await teller.deliver()
    },
  }
}

/** When the file was changed last: a problem that comes back later is told again, one that two processes find is told once. */
async function versionOf(
  { jobs: folder, mappings }: Pick<Settings, 'jobs' | 'mappings'>,
  job: string,
  { code }: WaybillError,
): Promise<string> {
  if (!code.startsWith('job-')) return hash('sha256', await versionOfFolder(mappings), 'hex').slice(0, 16)
  for (const ending of ['yaml', 'yml']) {
    const found = await stat(join(folder, `${job}.${ending}`)).catch(() => undefined)
    if (found !== undefined) return found.mtime.toISOString()
  }
  return 'gone'
}
