/** Rows of a chunk that are new, or known as a whole: nearly all rows, without a look at the slots of their records. */
import type { HeldDoubt, KeptSlot, Suspicion } from '../ledger/ledger.ts'
import { type Entry, FINAL, type MappedRow } from '../model/entry.ts'
import { hasSameContent, type RowPrint } from '../model/ids.ts'
import { DATE_ONLY_MS } from './accounts.ts'

/** Slots and doubts in the ledger, by row key. */
export interface Memory {
  readonly delivered: ReadonlyMap<string, readonly KeptSlot[]>
  readonly held: ReadonlyMap<string, readonly HeldDoubt[]>
  /** Prints, where rows are recognised by prints. */
  readonly prints?: ReadonlyMap<string, RowPrint> | undefined
}

export interface Uncertain {
  /** Possible losses of the ledger: records at the gateway without a trace in the slots. */
  readonly suspicion: Suspicion
}

/** Most records of a usual row; larger rows are decided record by record. */
const MOST_OF_A_ROW = 40

/**
 * Finds the usual rows. A row key on two rows, two records of equal content, or a doubt make a row unusual.
 * @returns verdicts by the place of an entry; undefined where each record is decided by itself
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

/** True for a record whose sending may be missing from a copied ledger. */
export const isSuspect = ({ until }: Suspicion, { observedAt }: Entry): boolean =>
  until !== undefined && observedAt <= until + DATE_ONLY_MS

/** True for a stored record with the last word, whose place needs no update (`isWorthWriting`). */
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

/** True where no two records share content or rule. */
function areDistinct(entries: readonly Entry[], from: number, to: number): boolean {
  if (to - from > MOST_OF_A_ROW) return false
  for (let one = from; one < to; one++)
    for (let other = one + 1; other < to; other++) if (isAlike(entries[one], entries[other])) return false
  return true
}
