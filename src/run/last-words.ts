/**
 * What an export says last. A value that was replaced and comes again is new where an export that has just arrived says it last, or where it
 * did not get through before; not where the same file is read once more, nor where the export itself says something else further down.
 */
import type { ExportRecord, Ledger } from '../ledger/ledger.ts'
import { isKnown } from '../load/recognise.ts'
import { renewRowKeys } from '../load/stale-accounts.ts'
import { createEntries, type Entry, rowKeysOf } from '../model/entry.ts'
import { contentDigits, type Identity } from '../model/ids.ts'
import type { OpenRows } from './rows.ts'

interface LastWordsContext {
  readonly ledger: Pick<Ledger, 'delivered' | 'forgotten' | 'lastReading' | 'exportRecord'> & {
    readonly left: Pick<Ledger['left'], 'ofEarlierReadings'>
  }
  readonly identity: Identity
  readonly load: { readonly jobId: number; readonly accounts: { readonly gatewayName: string } }
  readonly isBackfill: boolean
}

/** Rows whose keys are looked up together. */
const ROWS_AT_ONCE = 1_000

/** @returns the entries, of those given, that are the last word of their export */
export type LastWords = (entries: readonly Entry[]) => Promise<ReadonlySet<Entry>>

/**
 * The export is read once more, as a whole, when it is first asked. Kept is where it says, under a key that is known, something else than what stands:
 * few places, however long the export.
 */
export function lastWordsOf(
  context: LastWordsContext,
  record: ExportRecord,
  arrival: number,
  { opened, mapper }: OpenRows,
): LastWords {
  const { ledger, identity, load } = context
  let read: Promise<ReadonlyMap<string, LastWord>> | undefined

  const readAhead = async (): Promise<ReadonlyMap<string, LastWord>> => {
    const last = new Map<string, LastWord>()
    let entries: Entry[] = []
    let rows = 0
    const note = async (): Promise<void> => {
      await renewRowKeys(ledger, load.accounts.gatewayName, identity, entries)
      const delivered = await ledger.delivered(load.jobId, rowKeysOf(entries))
      for (const entry of entries) {
        const stands = delivered.get(entry.rowKey)?.findLast(({ rule }) => rule === entry.ruleHash)
        const place = placeOf(entry)
        const before = last.get(place)?.content ?? (stands && contentDigits(stands))
        if (before !== undefined && before !== entry.content)
          last.set(place, { content: entry.content, since: entry.row.row })
      }
      entries = []
      rows = 0
    }
    for await (const block of opened.rows()) {
      for (const source of block) {
        const outcome = mapper(source)
        if (outcome.outcome === 'mapped') entries.push(...createEntries(identity, record.export_id, outcome))
        if (++rows === ROWS_AT_ONCE) await note()
      }
    }
    await note()
    return last
  }

  /**
   * That of which rows were selected, unless the whole file was read since; otherwise the last one of the file. Undefined where that was not
   * read before, or its name has shown other bytes since.
   */
  const lastReading = async (): Promise<ExportRecord | undefined> => {
    const { origin_export: origin } = record
    const last = await ledger.lastReading(load.jobId, record, origin === null ? undefined : 'whole')
    const id = Math.max(origin ?? 0, last ?? 0)
    return id < arrival ? undefined : ledger.exportRecord(id)
  }

  /** Which of them its last reading did not get through. */
  const leftBy = async (
    last: ExportRecord,
    entries: readonly Entry[],
  ): Promise<(entry: Entry) => boolean> => {
    const rows = [...new Set(entries.map(({ row }) => row.row))]
    const request = { jobId: load.jobId, exportId: record.export_id, before: record.id }
    const left = (await ledger.left.ofEarlierReadings({ ...request, selection: 'left-behind' }, rows)).filter(
      ({ exportRow }) => exportRow === last.id,
    )
    const places = new Set(left.map(({ row, rule, content }) => `${row} ${rule} ${content}`))
    return ({ row, rule, content }) => places.has(`${row.row} ${rule} ${content}`)
  }

  return async (entries) => {
    const delivered = await ledger.delivered(load.jobId, rowKeysOf(entries))
    const wasDelivered = (entry: Entry): boolean => isKnown(delivered.get(entry.rowKey) ?? [], entry)
    const [replaced, others] = [entries.filter(wasDelivered), entries.filter((entry) => !wasDelivered(entry))]
    // What stands is of an export that came before: whatever its last reading sent, this one's word is not there, as after its person was forgotten.
    const standsBehind = ({ rowKey, ruleHash }: Entry): boolean => {
      const stands = delivered.get(rowKey)?.findLast(({ rule }) => rule === ruleHash)
      return stands !== undefined && !stands.byBackfill && stands.arrival < arrival
    }
    const last = await lastReading()
    // All that a mapping says that has changed since.
    const isChanged =
      record.reading === 'whole' && last !== undefined && last.mapping_digest !== record.mapping_digest
    const wasLeft = last === undefined ? () => true : await leftBy(last, replaced)
    const takingBack = context.isBackfill
      ? []
      : replaced.filter((entry) => wasLeft(entry) || standsBehind(entry))
    const toLookFor = isChanged ? takingBack : [...takingBack, ...others]
    if (toLookFor.length === 0) return new Set(isChanged ? others : [])
    read ??= readAhead()
    const words = await read
    const found = toLookFor.filter((entry) => {
      const word = words.get(placeOf(entry))
      return word?.content === entry.content && word.since <= entry.row.row
    })
    return new Set([...found, ...(isChanged ? others : [])])
  }
}

/** What an export says last, and the row from which on it says so. */
interface LastWord {
  readonly content: string
  readonly since: number
}

const placeOf = ({ rowKey, ruleHash }: Entry): string => `${rowKey}${ruleHash}`
