/**
 * Cuts a chunk's records into batches. Pure, and the same for the same records: kinds apart, in the order of the rows, by count and
 * bytes. Of one account, code and source type there is never more than one record in a batch, and the older goes first: the gateway
 * returns only the latest, so an unanswered batch could not be judged otherwise.
 */
import type { Entry } from '../model/entry.ts'
import { RECORD_KINDS, type RecordKind } from '../model/record.ts'
import { batchBytes, recordBytes } from './batch-text.ts'

export interface BatchLimits {
  readonly records: number
  readonly bytes: number
}

export interface PlannedBatch {
  readonly kind: RecordKind
  readonly entries: readonly Entry[]
  /** As `batchBytes` counts them. */
  readonly bytes: number
  /** Positions, in the plan, of the batches that must be settled before this one is sent. */
  readonly after: readonly number[]
}

/** @param acrossAccounts whether a request may hold care teams of several users: no interface says that it may */
export function planBatches(
  entries: readonly Entry[],
  limits: BatchLimits,
  acrossAccounts = false,
): PlannedBatch[] {
  const plan: PlannedBatch[] = []
  const byKind = Map.groupBy(entries, (entry) => entry.kind)
  for (const kind of RECORD_KINDS) {
    const lastOfSeries = new Map<string, number>()
    const waves = cutWaves(byKind.get(kind) ?? [])
    for (const wave of waves) {
      const groups =
        kind === 'careTeam' && !acrossAccounts
          ? Map.groupBy(wave, (entry) => entry.account.reference).values()
          : [wave]
      for (const group of groups) {
        for (const { entries: batch, bytes } of cutBatches(group, limits)) {
          const after = new Set<number>()
          // In one wave no two records share a series: no batch waits for another.
          if (waves.length > 1) {
            for (const entry of batch) {
              const before = lastOfSeries.get(entry.series)
              if (before !== undefined) after.add(before)
              lastOfSeries.set(entry.series, plan.length)
            }
          }
          plan.push({ kind, entries: batch, bytes, after: [...after] })
        }
      }
    }
  }
  return plan
}

/** The n-th wave holds the n-th oldest record of each series, in the order of the rows. */
function cutWaves(entries: readonly Entry[]): (readonly Entry[])[] {
  if (!repeatsSeries(entries)) return [entries]
  const waveOf = new Map<Entry, number>()
  for (const members of Map.groupBy(entries, (entry) => entry.series).values()) {
    const oldestFirst = members.toSorted((a, b) => a.observedAt - b.observedAt)
    for (const [wave, entry] of oldestFirst.entries()) waveOf.set(entry, wave)
  }
  const waves: Entry[][] = []
  for (const entry of entries) {
    const wave = waveOf.get(entry) ?? 0
    waves[wave] ??= []
    waves[wave].push(entry)
  }
  return waves
}

/**
 * Whether two records may be of one series. Most exports have a person's records beside each other, so this is asked of every chunk, and no text is
 * made for it; of a person who stands in two places it is not looked at more closely.
 */
function repeatsSeries(entries: readonly Entry[]): boolean {
  const people = new Set<string>()
  /** By code the number of the person who had it last. */
  const hadLast = new Map<string, number>()
  let person: string | undefined
  for (const entry of entries) {
    const { reference } = entry.account
    if (reference !== person) {
      if (people.has(reference)) return true
      people.add(reference)
      person = reference
    }
    const code = entry.seriesCode
    if (hadLast.get(code) === people.size) return true
    hadLast.set(code, people.size)
  }
  return false
}

/** By count and bytes alone; bytes are counted as `batchBytes` does. For records of which no two are of one series. */
export function cutBatches(
  entries: readonly Entry[],
  limits: BatchLimits,
): Pick<PlannedBatch, 'entries' | 'bytes'>[] {
  const batches: Pick<PlannedBatch, 'entries' | 'bytes'>[] = []
  let batch: Entry[] = []
  let bytes = EMPTY_BYTES
  for (const entry of entries) {
    const length = recordBytes(entry) + 1
    if (batch.length > 0 && (batch.length >= limits.records || bytes + length > limits.bytes)) {
      batches.push({ entries: batch, bytes })
      batch = []
      bytes = EMPTY_BYTES
    }
    batch.push(entry)
    bytes += length
  }
  if (batch.length > 0) batches.push({ entries: batch, bytes })
  return batches
}

const EMPTY_BYTES = batchBytes([])

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

/** Buffers are made in multiples of this, so that one serves many batches. */
const STEP_BYTES = 256 * 1024

export interface BodyBuffers {
  /** A buffer of at least so many bytes. */
  take(bytes: number): Buffer
  /** Gives a buffer back; only once nothing can be reading it any more. */
  giveBack(buffer: Buffer): void
}

export function createBodyBuffers(): BodyBuffers {
  const free: Buffer[] = []
  return {
    take(bytes) {
      const at = free.findIndex((buffer) => buffer.length >= bytes)
      const [found] = at < 0 ? [] : free.splice(at, 1)
      return found ?? Buffer.allocUnsafeSlow(Math.ceil(bytes / STEP_BYTES) * STEP_BYTES)
    },
    giveBack: (buffer) => {
      free.push(buffer)
    },
  }
}
