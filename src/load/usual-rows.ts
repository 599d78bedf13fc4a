/** Rows of a chunk that are new, or known as a whole: nearly all are, and none of their records needs a look at its slot. */
import type { HeldDoubt, KeptSlot, Suspicion } from '../ledger/ledger.ts'
import { type Entry, FINAL, type MappedRow } from '../model/entry.ts'
import { hasSameContent } from '../model/ids.ts'
import { DATE_ONLY_MS } from './accounts.ts'

/** Slots and doubts that the ledger has under row keys. */
export interface Memory {
  readonly delivered: ReadonlyMap<string, readonly KeptSlot[]>
  readonly held: ReadonlyMap<string, readonly HeldDoubt[]>
}

export interface Uncertain {
  /** What the ledger may have lost: it may be at the gateway without a trace in the slots. */
  readonly suspicion: Suspicion
}

/** Rows with more records are looked at record by record. */
const MOST_OF_A_ROW = 40

/**
 * Finds the usual rows. A row key on two rows, two records of one content, a doubt: each makes a row unusual.
 * @returns by the place of an entry; undefined where it has to be found out record by record
 */
export function usualRows(
  entries: readonly Entry[],
  { delivered, held }: Memory,
  { suspicion }: Uncertain,
  arrival: number,
): readonly ('new' | 'known' | undefined)[] {
  const verdicts: ('new' | 'known' | undefined)[] = []
  const rows = new Map<string, MappedRow | undefined>()
  let last: MappedRow | undefined
  for (const { rowKey, row } of entries) {
    if (row === last) continue
    last = row
    if (!rows.has(rowKey)) rows.set(rowKey, row)
    else if (rows.get(rowKey) !== row) rows.set(rowKey, undefined)
  }
  for (let from = 0, to = 0; from < entries.length; from = to) {
    const { row, rowKey = '' } = entries[from] ?? {}
    while (to < entries.length && entries[to]?.row === row) to++
    if (rows.get(rowKey) !== row || held.has(rowKey) || !areDistinct(entries, from, to)) continue
    const known = delivered.get(rowKey)
    const isUsual =
      known === undefined
        ? suspicion.until === undefined ||
          !entries.slice(from, to).some((entry) => isSuspect(suspicion, entry))
        : known.length === to - from &&
          known.every((one, at) => isOf(one, entries[from + at], suspicion, arrival))
    if (!isUsual) continue
    for (let at = from; at < to; at++)
      verdicts[entries[at]?.place ?? 0] = known === undefined ? 'new' : 'known'
  }
  return verdicts
}

/** Tells a record whose sending a ledger that is a copy may have lost. */
export const isSuspect = ({ until }: Suspicion, { observedAt }: Entry): boolean =>
  until !== undefined && observedAt <= until + DATE_ONLY_MS

/** Tells a record that stands and was said last, where no place needs to be set right (`isWorthWriting`). */
const isOf = (
  { rule, first, last, word, latest }: KeptSlot,
  entry: Entry | undefined,
  { until, copy }: Suspicion,
  arrival: number,
): boolean =>
  entry !== undefined &&
  rule === entry.ruleHash &&
  hasSameContent({ first, last }, entry) &&
  latest === undefined &&
  word.isStored &&
  !word.isLate &&
  !word.isLapsed &&
  word.rank === entry.rank &&
  (word.arrival === arrival ? word.issued >= entry.issued : entry.issued === 0 && entry.rank <= FINAL) &&
  (until === undefined || (word.seen !== 'nothing' && word.copy === copy))

const isAlike = (one: Entry | undefined, other: Entry | undefined): boolean =>
  one === undefined || other === undefined || hasSameContent(one, other) || one.ruleHash === other.ruleHash

/** No two of one content, and no two of one rule. */
function areDistinct(entries: readonly Entry[], from: number, to: number): boolean {
  if (to - from > MOST_OF_A_ROW) return false
  for (let one = from; one < to; one++)
    for (let other = one + 1; other < to; other++) if (isAlike(entries[one], entries[other])) return false
  return true
}
