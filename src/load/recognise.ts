/**
 * Tells, of a chunk's records, which are to be sent: not those delivered before, not those in doubt, not the second of two that are
 * the same. Pure.
 */
import type { Entry } from './entry.ts'

/** What the ledger knows under the row keys of a chunk: content hashes. */
export interface Memory {
  readonly delivered: ReadonlyMap<string, ReadonlySet<string>>
  readonly held: ReadonlyMap<string, ReadonlySet<string>>
}

export interface Recognised {
  readonly fresh: readonly Entry[]
  readonly unchanged: readonly Entry[]
  readonly held: readonly Entry[]
  /** The same record again within the chunk: it shares the fate of the first. */
  readonly twins: readonly { readonly entry: Entry; readonly first: Entry }[]
  /** Rows whose key stood before in this chunk with other content. */
  readonly rowsCorrected: number
}

export function recognise(entries: readonly Entry[], memory: Memory): Recognised {
  const fresh: Entry[] = []
  const unchanged: Entry[] = []
  const held: Entry[] = []
  const twins: { entry: Entry; first: Entry }[] = []
  const firstOf = new Map<string, Entry>()
  const firstRowOf = new Map<string, number>()
  const corrected = new Set<number>()
  for (const entry of entries) {
    const { rowKey, content, row } = entry
    if (memory.delivered.get(rowKey)?.has(content)) {
      unchanged.push(entry)
      continue
    }
    if (memory.held.get(rowKey)?.has(content)) {
      held.push(entry)
      continue
    }
    const identity = `${rowKey}${content}`
    const first = firstOf.get(identity)
    if (first !== undefined) {
      twins.push({ entry, first })
      continue
    }
    firstOf.set(identity, entry)
    const firstRow = firstRowOf.get(rowKey) ?? row.row
    firstRowOf.set(rowKey, firstRow)
    if (firstRow !== row.row || memory.delivered.has(rowKey)) corrected.add(row.row)
    fresh.push(entry)
  }
  return { fresh, unchanged, held, twins, rowsCorrected: corrected.size }
}
