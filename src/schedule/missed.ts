/** What has come due, and what becomes of fires that were missed. Pure: the clock is handed in. */
import { firesBetween, type Timetable } from './fires.ts'

/** What a job wants made up for: one run for all that were missed, one for each, or nothing. */
export type MissedPolicy = 'once' | 'all' | 'skip'

/** A fire that is begun within this time is no missed one. */
export const ON_TIME_MS = 60_000

/** Fires of one absence that are written down, and made up for, at most: the newest. */
export const MISSED_AT_MOST = 1_000

/** A timetable with the instant up to which its fires are written down. */
export interface SeenTimetable extends Timetable {
  readonly seenUntil: number
}

/**
 * What a wake-up has to write down.
 * @param known what the ledger has of the job; undefined: it is seen for the first time, and nothing was missed
 * @param current what the job file says; undefined: it cannot be read, and what is known holds until it can
 * @returns undefined where nothing has changed
 */
export function comeDue(
  known: SeenTimetable | undefined,
  current: Timetable | undefined,
  now: number,
): { readonly timetable: SeenTimetable; readonly fires: readonly number[] } | undefined {
  if (known === undefined)
    return current && { timetable: { ...timetableOf(current), seenUntil: now }, fires: [] }
  // Up to now what was known held, also where the file has changed since.
  const fires = firesBetween(known, known.seenUntil, now, MISSED_AT_MOST)
  const last = fires.at(-1)
  if (current !== undefined && (current.cron !== known.cron || current.zone !== known.zone))
    return { timetable: { ...timetableOf(current), seenUntil: now }, fires }
  if (last !== undefined) return { timetable: { ...known, seenUntil: last }, fires }
  // The clock was set back: fires are known by their instant, so none comes twice.
  return known.seenUntil > now ? { timetable: { ...known, seenUntil: now }, fires } : undefined
}

const timetableOf = ({ cron, zone }: Timetable): Timetable => ({ cron, zone })

/** Why a fire did not run at its time. */
export interface Hindrance {
  readonly reason: 'not-scheduled' | 'job-held' | 'job-invalid' | 'earlier-first' | 'paused'
  /** Who holds the job, or has paused it, or where its file is wrong. */
  readonly detail: string | null
}

/** A fire that is not over. `interrupted`: its run was, and is to go on. */
export interface OpenFire {
  readonly due: number
  readonly state: 'due' | 'missed' | 'interrupted'
}

export interface Decision<Fire extends OpenFire> {
  /** The fire whose run is to begin now; `late`: to make up for it, `why` where it was not known as missed yet. */
  readonly begin?: { readonly fire: Fire; readonly late: boolean; readonly why?: Hindrance }
  readonly missed: readonly { readonly fire: Fire; readonly why: Hindrance }[]
  /** Fires that get no run; `why` where they were not known as missed yet, `by` the fire whose run makes up for them. */
  readonly skipped: readonly { readonly fire: Fire; readonly why?: Hindrance; readonly by?: number }[]
}

/**
 * What to do about the fires of a job that are not over.
 * @param open oldest first
 * @param policy undefined where the job file cannot be read: that is decided once it can
 * @param hindered why the job cannot run now
 */
export function decide<Fire extends OpenFire>(
  open: readonly Fire[],
  policy: MissedPolicy | undefined,
  now: number,
  hindered: Hindrance | undefined,
): Decision<Fire> {
  const judged = open
    .filter(({ state }) => state !== 'interrupted')
    .map((fire) => {
      const why = whyNotNow(fire, now, hindered)
      return {
        fire,
        late: why !== undefined || fire.state === 'missed',
        ...(why === undefined ? {} : { why }),
      }
    })
  const interrupted = open.find(({ state }) => state === 'interrupted')
  const candidates = policy === 'skip' ? judged.filter(({ late }) => !late) : judged
  const next = candidates.at(policy === 'once' ? -1 : 0)
  const begin = interrupted === undefined ? next : { fire: interrupted, late: false }
  const begins = hindered === undefined && begin !== undefined ? { begin } : {}
  const rest = judged
    .filter(({ fire }) => fire !== begins.begin?.fire)
    .map((one) => (one.late ? one : { ...one, why: OTHER_RUN }))
  if (policy === 'skip') return { ...begins, missed: [], skipped: rest }
  if (policy === 'once' && begins.begin !== undefined && begin === next) {
    const { due } = begins.begin.fire
    return { ...begins, missed: [], skipped: rest.map((one) => ({ ...one, by: due })) }
  }
  const missed = rest.flatMap(({ fire, why }) => (why === undefined ? [] : [{ fire, why }]))
  return { ...begins, missed, skipped: [] }
}

/** Of a fire that is due while an older one is begun. */
const OTHER_RUN: Hindrance = { reason: 'earlier-first', detail: null }

/** Undefined for a fire that can be run in time, and for one that is known as missed. */
function whyNotNow(
  { due, state }: OpenFire,
  now: number,
  hindered: Hindrance | undefined,
): Hindrance | undefined {
  if (state !== 'due') return undefined
  return now - due < ON_TIME_MS ? hindered : { reason: 'not-scheduled', detail: null }
}
