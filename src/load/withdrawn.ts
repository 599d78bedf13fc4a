/** Last words of a chunk in each place, and withdrawn results: the gateway deletes no biometrics and conditions, so a person must know of a delivered one. */
import type { DeliveredRecord, Ledger } from '../ledger/ledger.ts'
import { unpackHolds } from '../ledger/packed-records.ts'
import type { Entry, MappedRow, WithdrawnEntry } from '../model/entry.ts'
import { contentDigits, hasSameContent, transactionId } from '../model/ids.ts'
import { type Memory, type Speaks, standingOf } from './recognise.ts'

/** A withdrawn result that the gateway has, or may have. */
export interface TakenBack {
  readonly entry: WithdrawnEntry
  /** Transaction id under which it was sent; undefined where the ledger does not know it any more. */
  readonly sentAs: string | undefined
}

export interface ChunkWords {
  /** Records that the chunk itself replaces further down. */
  readonly replaced: readonly Entry[]
  /** Withdrawals that nothing follows. */
  readonly withdrawn: readonly WithdrawnEntry[]
}

/** Place of a record. Two people to whom a mapping gives one key say nothing of each other. */
const placeOf = ({ rowKey, ruleHash, account }: Entry): string => `${rowKey}${ruleHash}${account.reference}`

/** Row keys of several rows: nearly always none. */
function sharedKeys(...lists: readonly (readonly Entry[])[]): ReadonlySet<string> {
  const rows = new Map<string, MappedRow>()
  const shared = new Set<string>()
  for (const entries of lists) {
    let last: MappedRow | undefined
    for (const { row, rowKey } of entries) {
      if (row === last) continue
      last = row
      const known = rows.get(rowKey)
      if (known === undefined) rows.set(rowKey, row)
      else if (known !== row) shared.add(rowKey)
    }
  }
  return shared
}

/** Care teams have a state of their own. */
const hasWords = ({ kind }: Entry): boolean => kind === 'biometric' || kind === 'condition'

export function lastWordsIn(entries: readonly Entry[], withdrawn: readonly WithdrawnEntry[]): ChunkWords {
  const shared = sharedKeys(entries, withdrawn)
  if (shared.size === 0) return { replaced: [], withdrawn }
  const several = (entry: Entry): boolean => hasWords(entry) && shared.has(entry.rowKey)
  const taken = new Set<Entry>(withdrawn)
  const words = [...entries, ...withdrawn].filter(several).sort((a, b) => a.row.row - b.row.row)
  const last = new Map<string, Entry>()
  for (const word of words) {
    const before = last.get(placeOf(word))
    const isOlder = before !== undefined && !taken.has(before) && !taken.has(word) && word.rank < before.rank
    if (!isOlder) last.set(placeOf(word), word)
  }
  return {
    replaced: words.filter((entry) => {
      const word = last.get(placeOf(entry))
      return !taken.has(entry) && word !== undefined && (taken.has(word) || !hasSameContent(entry, word))
    }),
    withdrawn: withdrawn.filter((entry) => !several(entry) || last.get(placeOf(entry)) === entry),
  }
}

export interface Withdrawing extends Speaks {
  /** Rows are taken up that were rejected before: their withdrawals are told again. */
  readonly isTakenUp: boolean
}

type TakenBackLedger = Pick<Ledger, 'exportRecord' | 'exportsWithContent' | 'chunksOf' | 'batchesOf' | 'left'>

/** Withdrawn results of which a person must know. */
export async function takenBackOf(
  ledger: TakenBackLedger,
  jobId: number,
  withdrawn: readonly WithdrawnEntry[],
  { delivered, held }: Memory,
  speaks: Withdrawing,
): Promise<TakenBack[]> {
  const told = withdrawn.flatMap((entry) => {
    const stands = standingOf(delivered.get(entry.rowKey) ?? [], entry.ruleHash)
    const doubts = [...(held.get(entry.rowKey) ?? [])].filter(([, { rule }]) => rule === entry.ruleHash)
    const news = stands !== undefined && isToTell(stands, speaks) ? [stands] : []
    const contents = [...news.map(contentDigits), ...doubts.map(([content]) => content)]
    return contents.length === 0 ? [] : [{ entry, news, contents }]
  })
  if (told.length === 0) return []
  const wanted = Map.groupBy(
    told.flatMap(({ news }) => news),
    ({ arrival }) => arrival,
  )
  const ids = new Map<string, string>()
  const doubtful = told.flatMap(({ contents }) => contents)
  for (const { content, exportId, row, rule } of await ledger.left.inDoubtWith(jobId, doubtful))
    if (content !== null) ids.set(content, transactionId(exportId, row, rule ?? '', content))
  for (const [arrival, sent] of wanted) await findSent(ledger, arrival, sent.map(contentDigits), ids)
  return told.map(({ entry, contents }) => ({
    entry,
    sentAs: contents.map((content) => ids.get(content)).find((id) => id !== undefined),
  }))
}

/** Tells a withdrawal once, and not where a later export has spoken since. */
function isToTell(
  { arrival, byBackfill, isWithdrawn = false }: DeliveredRecord,
  speaks: Withdrawing,
): boolean {
  const isOutdated = !speaks.isBackfill && !byBackfill && arrival > speaks.arrival
  if (isOutdated) return false
  if (speaks.isTakenUp) return true
  // The export was read before, and its own word stands: it comes further down.
  return !isWithdrawn && !(speaks.isAgain && arrival === speaks.arrival)
}

/** Looks through the batches of an export. @param ids by content: found ones are added */
async function findSent(
  ledger: TakenBackLedger,
  arrival: number,
  contents: readonly string[],
  ids: Map<string, string>,
): Promise<void> {
  const record = await ledger.exportRecord(arrival)
  if (record === undefined) return
  const open = new Set(contents)
  for (const { id } of await ledger.exportsWithContent(record.export_id))
    for (const { number: chunk } of await ledger.chunksOf(id))
      for (const { holds } of await ledger.batchesOf({ exportRow: id, chunk })) {
        if (open.size === 0) return
        const packed = Buffer.from(holds.buffer, holds.byteOffset, holds.byteLength)
        if (![...open].some((content) => packed.includes(Buffer.from(content, 'hex')))) continue
        for (const { row, rule, content } of unpackHolds(holds)) {
          if (!open.delete(content)) continue
          ids.set(content, transactionId(record.export_id, row, rule, content))
        }
      }
}
