/**
 * Cuts a chunk's records into batches. Pure and deterministic: by kind, in the order of the rows, by count and bytes. A batch holds at most one
 * record of an account, code and source type, and the older record goes first: the gateway returns only the latest, so an unanswered batch with two
 * could not be judged.
 */
import type { Entry } from '../model/entry.ts'
import { type AccountKey, RECORD_KINDS, type RecordKind } from '../model/record.ts'
import { batchBytes, recordBytes } from './batch-text.ts'

export interface BatchLimits {
  readonly records: number
  readonly bytes: number
}

interface PlannedBatch {
  readonly kind: RecordKind
  readonly entries: readonly Entry[]
  /** Bytes as counted by `batchBytes`. */
  readonly bytes: number
  /** Positions, in the plan, of the batches to settle before this batch is sent. */
  readonly after: readonly number[]
}

interface Cutting {
  /** True where a request may hold care teams of several users: no interface permits it. */
  readonly acrossAccounts: boolean
  /** References of people whose records have batches of their own. */
  readonly behind: ReadonlySet<string>
  /** Records sent by an earlier process: each fills a batch, and is left out. */
  readonly sent: ReadonlySet<Entry>
}

export function planBatches(
  entries: readonly Entry[],
  limits: BatchLimits,
  { acrossAccounts, behind, sent }: Cutting,
): PlannedBatch[] {
  const plan: PlannedBatch[] = []
  const byKind = Map.groupBy(entries, (entry) => entry.kind)
  for (const kind of RECORD_KINDS) {
    const lastOfSeries = new Map<string, number>()
    const waves = cutWaves(byKind.get(kind) ?? [])
    const groups = waves.flatMap((wave) => {
      if (kind === 'careTeam' && !acrossAccounts) return groupsOf(wave, ({ reference }) => reference)
      return behind.size === 0 ? [wave] : groupsOf(wave, ({ reference }) => behind.has(reference))
    })
    for (const batch of groups.flatMap((group) => cutBatches(group, limits))) {
      const { entries: own, bytes } = withoutSent(batch, sent)
      if (own.length === 0) continue
      const after = new Set<number>()
      // Records of one wave never share a series: no batch waits for another.
      if (waves.length > 1) {
        for (const { series } of own) {
          const before = lastOfSeries.get(series)
          if (before !== undefined) after.add(before)
          lastOfSeries.set(series, plan.length)
        }
      }
      plan.push({ kind, entries: own, bytes, after: [...after] })
    }
  }
  return plan
}

type Cut = Pick<PlannedBatch, 'entries' | 'bytes'>

const groupsOf = (
  entries: readonly Entry[],
  group: (account: AccountKey) => unknown,
): (readonly Entry[])[] => [...Map.groupBy(entries, ({ account }) => group(account)).values()]

function withoutSent(batch: Cut, sent: ReadonlySet<Entry>): Cut {
  if (sent.size === 0) return batch
  const entries = batch.entries.filter((entry) => !sent.has(entry))
  return entries.length === batch.entries.length ? batch : { entries, bytes: batchBytes(entries) }
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
 * Checks for two records that may share a series. Runs for every chunk and builds no text, since most exports list a person's records together. A
 * person found in two places counts as a repeat without a closer look.
 */
function repeatsSeries(entries: readonly Entry[]): boolean {
  const people = new Set<string>()
  /** Number of the last person with the code, by code. */
  const hadLast = new Map<string, number>()
  let person: string | undefined
  for (let at = 0; at < entries.length; at++) {
    const entry = entries[at]
    if (entry === undefined) continue
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

/** Cuts by count and bytes alone; counts bytes as `batchBytes` does. For records without a repeated series. */
export function cutBatches(entries: readonly Entry[], limits: BatchLimits): Cut[] {
  const batches: Cut[] = []
  let from = 0
  let bytes = EMPTY_BYTES
  for (let at = 0; at < entries.length; at++) {
    const entry = entries[at]
    if (entry === undefined) continue
    const length = recordBytes(entry) + 1
    if (at > from && (at - from >= limits.records || bytes + length > limits.bytes)) {
      batches.push({ entries: entries.slice(from, at), bytes })
      from = at
      bytes = EMPTY_BYTES
    }
    bytes += length
  }
  if (from < entries.length) batches.push({ entries: entries.slice(from), bytes })
  return batches
}

const EMPTY_BYTES = batchBytes([])

type BatchSize = BatchLimits

interface SizeLessons {
  readonly limits: BatchLimits
  /** Most records, and most bytes, accepted so far. */
  readonly taken: BatchSize
}

const UNTAUGHT: SizeLessons = {
  limits: { records: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY },
  taken: { records: 1, bytes: 0 },
}

export function taken({ limits, taken: before }: SizeLessons, size: BatchSize): SizeLessons {
  return { limits, taken: upTo(Math.max, before, size) }
}

/** Learns nothing from a single record: no cut is possible. */
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

/** Lessons of one gateway, by kind. */
export interface SizeLimits {
  of(kind: RecordKind): SizeLessons
  learn(kind: RecordKind, lesson: typeof taken | typeof tooLarge, size: BatchSize): void
}

export function createSizeLimits(): SizeLimits {
  const byKind = new Map<RecordKind, SizeLessons>()
  const of = (kind: RecordKind): SizeLessons => byKind.get(kind) ?? UNTAUGHT
  return { of, learn: (kind, lesson, size) => void byKind.set(kind, lesson(of(kind), size)) }
}

/** Unit of buffer sizes: rounding lets a buffer serve many batches. */
const STEP_BYTES = 256 * 1024

interface BodyBuffers {
  /** Returns a buffer with at least this many bytes. */
  take(bytes: number): Buffer
  /** Gives a buffer back, once nothing can read from the buffer any more. */
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
