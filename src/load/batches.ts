/**
 * Cuts a chunk's records into batches. Pure, and the same for the same records: kinds apart, in the order of the rows, by count and
 * bytes. Of one account, code and source type there is never more than one record in a batch, and the older goes first:
 * the gateway returns only the latest, so an unanswered batch could not be judged otherwise.
 */
import type { Entry } from '../model/entry.ts'
import { RECORD_KINDS, type RecordKind } from '../model/record.ts'
import { batchBytes } from './record-text.ts'

export interface BatchLimits {
  readonly records: number
  readonly bytes: number
}

export interface PlannedBatch {
  readonly kind: RecordKind
  readonly entries: readonly Entry[]
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
  const byKind = Map.groupBy(entries, (entry) => entry.record.kind)
  for (const kind of RECORD_KINDS) {
    const lastOfSeries = new Map<string, number>()
    for (const wave of cutWaves(byKind.get(kind) ?? [])) {
      const groups =
        kind === 'careTeam' && !acrossAccounts
          ? Map.groupBy(wave, (entry) => entry.record.account.reference).values()
          : [wave]
      for (const group of groups) {
        for (const batch of cutBatches(group, limits)) {
          const after = new Set<number>()
          for (const { record } of batch) {
            const before = lastOfSeries.get(record.series)
            if (before !== undefined) after.add(before)
          }
          for (const { record } of batch) lastOfSeries.set(record.series, plan.length)
          plan.push({ kind, entries: batch, after: [...after] })
        }
      }
    }
  }
  return plan
}

/** The n-th wave holds the n-th oldest record of each series, in the order of the rows. */
function cutWaves(entries: readonly Entry[]): Entry[][] {
  const series = Map.groupBy(entries, (entry) => entry.record.series)
  if (series.size === entries.length) return [[...entries]]
  const waveOf = new Map<Entry, number>()
  for (const members of series.values()) {
    const oldestFirst = members.toSorted((a, b) => a.record.observedAt - b.record.observedAt)
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

/** By count and bytes alone; bytes are counted as `batchBytes` does. For records of which no two are of one series. */
export function* cutBatches(entries: readonly Entry[], limits: BatchLimits): Generator<Entry[]> {
  let batch: Entry[] = []
  let bytes = EMPTY_BYTES
  for (const entry of entries) {
    const length = batchBytes([entry]) - EMPTY_BYTES
    if (batch.length > 0 && (batch.length >= limits.records || bytes + length > limits.bytes)) {
      yield batch
      batch = []
      bytes = EMPTY_BYTES
    }
    batch.push(entry)
    bytes += length
  }
  if (batch.length > 0) yield batch
}

const EMPTY_BYTES = batchBytes([])

/** The two halves of a batch that was refused as a whole. */
export function halve(entries: readonly Entry[]): [Entry[], Entry[]] {
  const middle = Math.ceil(entries.length / 2)
  return [entries.slice(0, middle), entries.slice(middle)]
}
