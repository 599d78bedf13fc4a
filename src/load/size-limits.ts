/**
 * What the gateway's 413 answers teach: how large a batch of a kind may be. Kept for the process, and never raised. It may be records
 * or bytes that are too many, which the answer does not say; so both are bounded, but never below what was taken.
 */
import type { RecordKind } from '../model/record.ts'
import type { BatchLimits } from './batches.ts'

/** Records and bytes of a batch. */
export type BatchSize = BatchLimits

export interface SizeLessons {
  readonly limits: BatchLimits
  /** The most records, and the most bytes, that were taken. */
  readonly taken: BatchSize
}

export const UNTAUGHT: SizeLessons = {
  limits: { records: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY },
  taken: { records: 1, bytes: 0 },
}

export function taken({ limits, taken: before }: SizeLessons, size: BatchSize): SizeLessons {
  return { limits, taken: upTo(Math.max, before, size) }
}

/** A single record teaches nothing: it cannot be cut. */
export function tooLarge(lessons: SizeLessons, size: BatchSize): SizeLessons {
  if (size.records < 2) return lessons
  const half = { records: Math.ceil(size.records / 2), bytes: Math.ceil(size.bytes / 2) }
  return { ...lessons, limits: upTo(Math.min, lessons.limits, upTo(Math.max, half, lessons.taken)) }
}

export const fits = ({ limits }: SizeLessons, { records, bytes }: BatchSize): boolean =>
  records === 1 || (records <= limits.records && bytes <= limits.bytes)

const upTo = (choose: (a: number, b: number) => number, a: BatchSize, b: BatchSize): BatchSize => ({
  records: choose(a.records, b.records),
  bytes: choose(a.bytes, b.bytes),
})

/** The lessons of one gateway, by kind. */
export interface SizeLimits {
  of(kind: RecordKind): SizeLessons
  learn(kind: RecordKind, lesson: typeof taken | typeof tooLarge, size: BatchSize): void
}

export function createSizeLimits(): SizeLimits {
  const byKind = new Map<RecordKind, SizeLessons>()
  const of = (kind: RecordKind): SizeLessons => byKind.get(kind) ?? UNTAUGHT
  return { of, learn: (kind, lesson, size) => void byKind.set(kind, lesson(of(kind), size)) }
}
