/** Work of an earlier process on a chunk that it left open, by the ledger. */
import type { BatchRecord, ChunkKey, ExceptionRecord, HeldDoubt, Ledger } from '../ledger/ledger.ts'
import { unpackHolds } from '../ledger/packed-records.ts'
import type { Entry } from '../model/entry.ts'
import { type EntryOutcome, ownReason } from '../model/outcome.ts'
import { RECORD_KINDS, type Stage } from '../model/record.ts'

interface Earlier {
  readonly outcomes: readonly EntryOutcome[]
  readonly unanswered: readonly {
    batch: BatchRecord
    kind: Entry['kind']
    entries: readonly Entry[]
  }[]
  readonly unsent: readonly Entry[]
  /** Records of unanswered and of refused batches: the gateway may have some. */
  readonly perhapsSent: ReadonlySet<Entry>
  /** Records that were cut into batches, sent or not. */
  readonly batched: ReadonlySet<Entry>
}

const positionOf = (row: number, rule: string, content: string): string => `${row}\n${rule}\n${content}`

/**
 * Reads from the ledger the work of an earlier process on the records of a chunk.
 * @param chunk resumed: true where an earlier process may have sent records
 * @param held doubts of the rows
 */
export async function recallChunk(
  memory: Pick<Ledger, 'chunks'>,
  { resumed, ...key }: ChunkKey & { readonly resumed: boolean },
  entries: readonly Entry[],
  held: ReadonlyMap<string, readonly HeldDoubt[]>,
): Promise<Earlier> {
  if (!resumed)
    return { outcomes: [], unanswered: [], unsent: entries, perhapsSent: new Set(), batched: new Set() }
  const all = new Map(entries.map((entry) => [positionOf(entry.row.row, entry.rule, entry.content), entry]))
  const byPosition = new Map(all)
  const perhapsSent = new Set<Entry>()
  const batched = new Set<Entry>()
  const outcomes: EntryOutcome[] = []
  const isAsked = ({ rowKey, content }: Entry): boolean =>
    held.get(rowKey)?.some((one) => one.content === content && one.isOpen) === true
  const unanswered: { batch: BatchRecord; kind: Entry['kind']; entries: Entry[] }[] = []
  const take = (row: number, rule: string, content: string): Entry | undefined => {
    const position = positionOf(row, rule, content)
    const entry = byPosition.get(position)
    byPosition.delete(position)
    return entry
  }
  for (const exception of await memory.chunks.exceptions(key)) {
    if (exception.outcome === 'warning') continue
    const entry = take(exception.row, exception.rule ?? '', exception.content ?? '')
    if (entry === undefined) continue
    if (exception.batch_id !== null) batched.add(entry)
    outcomes.push(recalled(entry, exception, exception.outcome, isAsked(entry)))
  }
  for (const batch of await memory.chunks.batches(key)) {
    const holds = unpackHolds(batch.holds)
    for (const { row, rule, content } of holds) {
      const entry = all.get(positionOf(row, rule, content))
      if (entry === undefined) continue
      batched.add(entry)
      if (batch.state === 'sending' || batch.state === 'split') perhapsSent.add(entry)
    }
    if (batch.state === 'planned' || batch.state === 'split') continue
    const sent = holds.flatMap(({ row, rule, content }) => take(row, rule, content) ?? [])
    const kind = RECORD_KINDS.find((one) => one === batch.kind)
    if (kind === undefined || sent.length === 0) continue
    if (batch.state === 'sending') unanswered.push({ batch, kind, entries: sent })
    else
      for (const entry of sent) {
        const readBack = batch.answer === 'ambiguous' ? { readBack: true as const } : {}
        outcomes.push({
          entry,
          outcome: 'accepted',
          batchId: batch.batch_id,
          status: batch.status,
          ...readBack,
        })
      }
  }
  return { outcomes, unanswered, unsent: [...byPosition.values()], perhapsSent, batched }
}

function recalled(
  entry: Entry,
  exception: ExceptionRecord,
  outcome: 'rejected' | 'in-doubt',
  isAsked: boolean,
): EntryOutcome {
  const { code, field, message, batch_id: batchId } = exception
  const own = ownReason(exception.stage as Stage, code, message)
  const reason = field === null ? own : { ...own, field }
  if (outcome === 'rejected') return { entry, outcome, batchId, reason }
  return { entry, outcome, batchId, reason, ...(isAsked ? { isAsked } : {}) }
}
