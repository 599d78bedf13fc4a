/**
 * Whether what has arrived since one deadline is what was expected by the next. Pure. See docs/decisions/0019-expectations.md.
 *
 * A file counts for one deadline alone: that of the first judgement that found it. What was there at the judgement before, or was part of
 * a run by then, is old, however often it is read; what has another size or time is another file. Where there was no judgement, the time
 * that the source gives it decides.
 */

import { fileKey, oldestFirst, type SizedFile, type SmallExport, smallOnes } from '../run/find-exports.ts'
import { firesAfter, firesBetween, type Timetable } from '../schedule/fires.ts'

/** A clock of a source may be ahead by as much: what is judged so soon after the deadline was there by then. */
const ON_TIME_MS = 60_000

/** An export as its source lists it, or listed it when a run began with it. */
export interface ArrivedFile extends SizedFile {
  /** When the first run that began with it was begun. */
  readonly takenAt?: number | undefined
}

/** What an earlier judgement has left. */
export interface EarlierJudgement {
  readonly due: number
  /** When it was looked last: what is new since was not there then, whatever its time. */
  readonly judgedAt: number
  /** Keys of the files that had arrived by then; undefined where nobody could look. */
  readonly known: ReadonlySet<string> | undefined
  /** How many exports were not there. */
  readonly missing: number
  /** Whether not all of them were there in time. */
  readonly wasShort: boolean
}

export interface ExpectedExports {
  readonly count: number
  /** A share of the usual size, from 0 to 1. */
  readonly size: number | undefined
}

export interface Question {
  readonly expected: ExpectedExports
  readonly deadline: Deadline
  /** When it was looked. */
  readonly now: number
  /** What is complete at the source. */
  readonly found: readonly ArrivedFile[]
  /** What runs have begun with. */
  readonly taken: readonly ArrivedFile[]
  readonly earlier: readonly EarlierJudgement[]
}

export interface Judgement {
  /** `late`: enough of them by now, and not in time. */
  readonly state: 'arrived' | 'late' | 'missing'
  /** What counts for this deadline, in time or late; oldest first. */
  readonly arrived: readonly ArrivedFile[]
  readonly small: readonly SmallExport[]
  /** Keys of the files that no later deadline counts. */
  readonly known: readonly string[]
}

export function judge({ expected, deadline, now, found, taken, earlier }: Question): Judgement {
  const { previous, due } = deadline
  const before = earlier.find((one) => one.due === previous)
  const wasShort = earlier.some((one) => one.due === due && one.wasShort)
  const remembered = new Set(earlier.flatMap((one) => (one.due < due ? [...(one.known ?? [])] : [])))
  const wasThere = (file: ArrivedFile): boolean =>
    remembered.has(fileKey(file)) ||
    (file.takenAt ?? Number.POSITIVE_INFINITY) <= previous ||
    (before?.known === undefined && file.modifiedAt <= previous)

  const all = oldestFirst([...new Map([...found, ...taken].map((file) => [fileKey(file), file])).values()])
  const fresh = all.filter((file) => !wasThere(file))
  const isAfter = (file: ArrivedFile): boolean => file.modifiedAt > due && now - due >= ON_TIME_MS
  const inTime = fresh.filter((file) => !isAfter(file))
  // What the deadline before has missed, and came soon after it, makes up for that one.
  const lateBefore = inTime
    .filter(({ modifiedAt }) => {
      const atTheEarliest = Math.max(modifiedAt, before?.judgedAt ?? 0)
      return atTheEarliest < lateUntil({ due: previous, next: due })
    })
    .slice(0, before?.missing ?? 0)
  const counted = inTime.filter((file) => !lateBefore.includes(file))
  const short = Math.max(0, expected.count - counted.length)
  const late = fresh.filter((file) => isAfter(file) && file.modifiedAt < lateUntil(deadline)).slice(0, short)
  const arrived = [...counted, ...late]
  const later = new Set(fresh.filter((file) => isAfter(file) && !late.includes(file)))
  const here = new Set(found.map(fileKey))
  // What a run had taken by then is known by that, unless it stays where it is.
  const isToBeKnown = (file: ArrivedFile): boolean => here.has(fileKey(file)) || (file.takenAt ?? 0) > due
  return {
    state: arrived.length < expected.count ? 'missing' : short > 0 || wasShort ? 'late' : 'arrived',
    arrived,
    small: smallAmong(expected.size, arrived, taken),
    known: all.filter((file) => !later.has(file) && isToBeKnown(file)).map(fileKey),
  }
}

function smallAmong(
  share: number | undefined,
  arrived: readonly ArrivedFile[],
  taken: readonly ArrivedFile[],
): SmallExport[] {
  if (share === undefined) return []
  const judged = new Set(arrived.map(fileKey))
  const earlier = taken.filter((file) => !judged.has(fileKey(file)))
  return smallOnes(share, arrived, earlier)
}

/** Instants: milliseconds since the epoch. */
export interface Deadline {
  /** The one before: what was there by then counts for that. */
  readonly previous: number
  readonly due: number
  readonly next: number
}

const DAY = 24 * 60 * 60_000
/** How far back is looked for two of them: days, so that each minute is not a million, and decades for a 29th of February. */
const REACHES = [2, 10, 70, 800, 6_000]

/**
 * The latest one that has passed.
 * @param until it may be this instant
 * @returns undefined where there were not two in many years
 */
export function latestDeadline(timetable: Timetable, until: number): Deadline | undefined {
  for (const days of REACHES) {
    const [previous, due] = firesBetween(timetable, until - days * DAY, until, 2)
    if (previous !== undefined && due !== undefined)
      return { previous, due, next: firesAfter(timetable, due).next().value }
  }
  return undefined
}

/** Halfway to the next one: what comes until then after one that was missed is taken to be late for it. */
export const lateUntil = ({ due, next }: Pick<Deadline, 'due' | 'next'>): number => (due + next) / 2
