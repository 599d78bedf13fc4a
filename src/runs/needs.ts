/** Gathers the needs of an installation. Changes nothing, sends nothing. */
import { readGatewayName, readTargets } from '../definitions/jobs.ts'
import { keyOf } from '../definitions/notify-definition.ts'
import type { AsideExport, Ledger, OpenWork } from '../ledger/ledger.ts'
import { WaybillError } from '../model/errors.ts'
import { type Need, type NeedsFacts, needJson, type OpenRun, type RunInNeed } from '../needs/need.ts'
import { needsOf, newestOfEach } from '../needs/needs-of.ts'
import { readRefusedStarts } from '../needs/refused-starts.ts'
import { readWaitingExports } from '../needs/waiting-exports.ts'
import { firesAfter } from '../schedule/fires.ts'
import { activityOf, gatherStory, summarise } from '../story/facts.ts'
import type { RunActivity } from '../story/run-story.ts'
import { freeBytes, lookAt } from '../system/own-files.ts'
import { iso, present } from '../system/shown-text.ts'
import { type Application, lastBackupAt, withLedgerIfAny } from './application.ts'
import { lateJobs } from './late-jobs.ts'
import { listJobs } from './scheduled-jobs.ts'

/** Time after which an active schedule has looked at a fire: a schedule wakes at each fire, and each minute. */
const LOOKED_AT_MS = 10 * 60_000

export type NeedsContext = Pick<Application, 'settings' | 'now' | 'isDead' | 'openLedger'>

/**
 * @param job undefined: of all jobs; needs of the installation belong to every job
 * @param opened open ledger of this process
 * @returns needs, oldest first
 */
export async function readNeeds(
  application: NeedsContext,
  job?: string,
  opened?: Ledger,
): Promise<readonly Need[]> {
  const needs = needsOf(await factsOf(application, opened))
  return job === undefined ? needs : needs.filter(({ jobs }) => jobs.length === 0 || jobs.includes(job))
}

/** JSON of the list: needs, and exports put aside. */
export const needsJson = (needs: readonly Need[], aside: readonly AsideExport[]) => ({
  needs: needs.map(needJson),
  putAside: aside.map(asideJson),
})

async function factsOf(application: NeedsContext, opened: Ledger | undefined): Promise<NeedsFacts> {
  const { settings } = application
  const now = application.now()
  const { home } = settings
  const isHome = lookAt(home) !== undefined
  const facts = {
    now,
    refused: readRefusedStarts(home),
    waitingExports: readWaitingExports(home),
    room: isHome ? { free: freeBytes(home), least: settings.minFree, home } : undefined,
  }
  // A server has backups of its own: `waybill backup` refuses.
  const latestAt = settings.ledger === undefined ? await lastBackupAt(home) : undefined
  const unread = { ...facts, ...NOTHING_KNOWN, backup: { latestAt, firstRunAt: undefined } }
  try {
    const read = async (ledger: Ledger | undefined): Promise<NeedsFacts> =>
      ledger === undefined
        ? unread
        : { ...facts, ...(await inLedger(application, ledger, now, latestAt)), ledger: undefined }
    return await (opened === undefined ? withLedgerIfAny(application, read) : read(opened))
  } catch (error) {
    if (!(error instanceof WaybillError)) throw error
    const { code, message, remedy } = error
    return { ...unread, ledger: { code, message, remedy } }
  }
}

const NOTHING_KNOWN = {
  runs: [],
  people: [],
  owing: [],
  overdue: [],
  undelivered: [],
  missed: [],
  pauses: [],
  unscheduled: [],
  late: [],
  copy: undefined,
  ledger: undefined,
} as const

async function inLedger(
  application: NeedsContext,
  ledger: Ledger,
  now: number,
  latestAt: number | undefined,
): Promise<Omit<NeedsFacts, 'now' | 'refused' | 'waitingExports' | 'room' | 'ledger'>> {
  const { home, ledger: server } = application.settings
  const work = await ledger.overview.openWork(now)
  const owing = await Promise.all(
    work.owing.map(async ({ run, people }) => ({ summary: await summarise(ledger, home, run), people })),
  )
  return {
    runs: await runsInNeed(application, ledger, now),
    people: await ledger.runs.openPeople(),
    owing,
    overdue: work.overdue.map(({ state, ...deadline }) => ({
      ...deadline,
      isUnreachable: state === 'unreachable',
    })),
    undelivered: await stillListed(application, work.undelivered),
    missed: work.missed,
    pauses: work.pauses,
    unscheduled: await silentTimetables(application, work, now),
    late: await lateOf(application, ledger, work, now),
    copy: work.copy,
    backup: { latestAt, firstRunAt: server === undefined ? work.firstRunAt : undefined },
  }
}

/** Runs that need somebody, newest first, without runs in progress. */
async function runsInNeed(
  { settings, isDead }: Pick<Application, 'settings' | 'isDead'>,
  ledger: Ledger,
  now: number,
): Promise<RunInNeed[]> {
  const open = await ledger.runs.openMatters()
  const activities = new Map<string, RunActivity>()
  const runs: OpenRun[] = []
  for (const run of await ledger.runs.list(Number.MAX_SAFE_INTEGER, { failed: true })) {
    const activity = run.state === 'running' ? await activityOf(ledger, run, now, isDead) : undefined
    if (activity?.kind === 'under-way') continue
    if (activity !== undefined) activities.set(run.id, activity)
    runs.push({ ...run, open: open.get(run.id) ?? NOTHING_OPEN })
  }
  const newest = newestOfEach(runs)
  const gateways = new Map<string, string>()
  const found: RunInNeed[] = []
  for (const run of runs) {
    if (!newest.has(run.id)) {
      found.push(run)
      continue
    }
    const gateway = gateways.get(run.job) ?? (await readGatewayName(settings, run.job))
    gateways.set(run.job, gateway)
    const { summary, reasons } = await gatherStory({ ledger, home: settings.home }, run.id)
    const settingsName = gateway === run.gateway ? undefined : gateway
    const more = present({ activity: activities.get(run.id), settingsName })
    found.push({ ...run, story: { summary: { ...summary, ...more }, reasons } })
  }
  return found
}

const NOTHING_OPEN = { isFailed: false, exports: [], unarchived: [], left: [] } as const

/** Leaves out notices that were given up, if the job no longer lists the target. */
async function stillListed(
  { settings }: Pick<Application, 'settings'>,
  undelivered: OpenWork['undelivered'],
): Promise<OpenWork['undelivered']> {
  const listed = await Promise.all(
    undelivered.map(async ({ job, key, state }) => {
      if (state === 'pending') return true
      const targets = await readTargets(settings, job)
      return targets === undefined || targets.some((target) => keyOf(target) === key)
    }),
  )
  return undelivered.filter((_, at) => listed[at])
}

/** Jobs past the deadline of their schedule. A ledger without timetables has no fires. */
async function lateOf(
  { settings }: Pick<Application, 'settings'>,
  ledger: Ledger,
  { timetables }: OpenWork,
  now: number,
): Promise<NeedsFacts['late']> {
  if (timetables.length === 0) return []
  return lateJobs(settings, ledger, await listJobs(settings).catch(() => []), now)
}

/** Scheduled jobs whose next fire, as the schedule last knew it, is long due. */
async function silentTimetables(
  { settings }: Pick<Application, 'settings'>,
  { timetables }: OpenWork,
  now: number,
): Promise<NeedsFacts['unscheduled']> {
  if (timetables.length === 0) return []
  const jobs = await listJobs(settings).catch(() => [])
  const scheduled = new Set(
    jobs.flatMap((job) => ('schedule' in job && job.schedule !== undefined ? [job.name] : [])),
  )
  return timetables.flatMap(({ job, seenUntil, ...timetable }) => {
    const { value: due } = firesAfter(timetable, seenUntil).next()
    return scheduled.has(job) && due < now - LOOKED_AT_MS ? [{ job, due }] : []
  })
}

const asideJson = ({ exportRow: _, at, ...one }: AsideExport) => ({ ...one, at: iso(at) })
