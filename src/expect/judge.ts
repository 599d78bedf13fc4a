/**
 * Decides whether the files since one deadline are those expected by the next. Pure. See docs/decisions/0019-expectations.md.
 *
 * A file counts for one deadline: that of the first judgement that found it. A file found before, or read by a run before, is old, even if
 * read again. Another size or time makes a new file.
 */

import { fileKey, oldestFirst, type SizedFile, type SmallExport, smallOnes } from '../run/find-exports.ts'
import { firesAfter, firesBetween, type Timetable } from '../schedule/fires.ts'

/** The clock of a source may be ahead: a file found this soon after the deadline was there in time. */
const ON_TIME_MS = 60_000

/** An export as its source lists it, or listed it at the start of a run. */
export interface ArrivedFile extends SizedFile {
  /** Start of the first run with the file. */
  readonly takenAt?: number | undefined
}

/** Result of an earlier judgement. */
export interface EarlierJudgement {
  readonly due: number
  /** Time of the last check. Files found later are new, whatever their own time. */
  readonly judgedAt: number
  /** Keys of the files arrived by then; undefined if the source could not be checked. */
  readonly known: ReadonlySet<string> | undefined
  readonly missing: number
  /** True if some exports were not there in time. */
  readonly wasShort: boolean
}

interface ExpectedExports {
  readonly count: number
  /** Share of the usual size, from 0 to 1. */
  readonly size: number | undefined
}

interface Question {
  readonly expected: ExpectedExports
  readonly deadline: Deadline
  readonly now: number
  readonly found: readonly ArrivedFile[]
  readonly taken: readonly ArrivedFile[]
  readonly earlier: readonly EarlierJudgement[]
}

interface Judgement {
  /** `late`: enough files by now, but not in time. */
  readonly state: 'arrived' | 'late' | 'missing'
  /** Files that count for this deadline, in time or late; oldest first. */
  readonly arrived: readonly ArrivedFile[]
  readonly small: readonly SmallExport[]
  /** Keys of the files that count for no later deadline. */
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
  // A file soon after the deadline before counts for that deadline, if it lacks a file.
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
  // Files read by a run in time are known from the run, unless they stay at the source.
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
export interface Deadline {
  /** The deadline before. Files that were there by then count for it. */
  readonly previous: number
  readonly due: number
  readonly next: number
}

const DAY = 24 * 60 * 60_000
/** Days to look back for two deadlines: few at first, to avoid a million fires of a minutely timetable; decades for a 29th of February. */
const REACHES = [2, 10, 70, 800, 6_000]

/**
 * Finds the latest deadline that has passed.
 * @param until last instant of the search, included
 * @returns undefined for a timetable without two deadlines in many years
 */
export function latestDeadline(timetable: Timetable, until: number): Deadline | undefined {
  for (const days of REACHES) {
    const [previous, due] = firesBetween(timetable, until - days * DAY, until, 2)
    if (previous !== undefined && due !== undefined)
      return { previous, due, next: firesAfter(timetable, due).next().value }
  }
  return undefined
}

/** End of lateness, halfway to the next deadline: a file until then may be late for a missed deadline. */
export const lateUntil = ({ due, next }: Pick<Deadline, 'due' | 'next'>): number => (due + next) / 2
