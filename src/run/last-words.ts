/**
 * Whether an export takes a correction back. A value that was replaced and comes again is new where an export that has just arrived says
 * it last; not where the same file is read once more, nor where the export itself says something else further down.
 */
import type { ExportRecord, Ledger } from '../ledger/ledger.ts'
import { createEntries, type Entry } from '../model/entry.ts'
import type { Identity } from '../model/ids.ts'
import type { OpenRows } from './rows.ts'

interface LastWordsContext {
  readonly ledger: Pick<Ledger, 'delivered' | 'lastReading'> & {
    readonly left: Pick<Ledger['left'], 'rejected'>
  }
  readonly identity: Identity
  readonly load: { readonly jobId: number }
  readonly isBackfill: boolean
}

/** Rows whose keys are looked up together. */
const ROWS_AT_ONCE = 1_000

/** @returns the entries, of those given, that are the last word of their export */
export type LastWords = (entries: readonly Entry[]) => Promise<ReadonlySet<Entry>>

/**
 * The export is read once more, when it is first asked. Kept is where it says, under a key that is known, something else than what stands:
 * few places, however long the export.
 */
export function lastWordsOf(
  context: LastWordsContext,
  record: ExportRecord,
  { opened, mapper }: OpenRows,
): LastWords {
  const { ledger, identity, load } = context
  let read: Promise<ReadonlyMap<string, LastWord>> | undefined

  const readAhead = async (): Promise<ReadonlyMap<string, LastWord>> => {
    const last = new Map<string, LastWord>()
    let entries: Entry[] = []
    let rows = 0
    const note = async (): Promise<void> => {
      const delivered = await ledger.delivered(load.jobId, [...new Set(entries.map(({ rowKey }) => rowKey))])
      for (const entry of entries) {
        const stands = delivered.get(entry.rowKey)?.findLast(({ rule }) => rule === entry.ruleHash)
        const place = placeOf(entry)
        const before = last.get(place)?.content ?? stands?.content
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

  /** Of a file that is read again, what its last reading did not get through. */
  const notSaidBefore = async (entries: readonly Entry[]): Promise<readonly Entry[]> => {
    const last = await ledger.lastReading(load.jobId, record)
    if (last === undefined) return entries
    const rows = [...new Set(entries.map(({ row }) => row.row))]
    const request = { jobId: load.jobId, exportId: record.export_id, before: record.id }
    const left = (await ledger.left.rejected(request, rows)).filter(({ exportRow }) => exportRow === last)
    const places = new Set(left.map(({ row, rule, content }) => `${row} ${rule} ${content}`))
    return entries.filter(({ row, record: { rule }, content }) => places.has(`${row.row} ${rule} ${content}`))
  }

  return async (entries) => {
    if (record.reading !== 'whole' || context.isBackfill) return new Set()
    const news = await notSaidBefore(entries)
    if (news.length === 0) return new Set()
    read ??= readAhead()
    const last = await read
    return new Set(
      news.filter((entry) => {
        const word = last.get(placeOf(entry))
        return word?.content === entry.content && word.since <= entry.row.row
      }),
    )
  }
}

/** What an export says last, and the row from which on it says so. */
interface LastWord {
  readonly content: string
  readonly since: number
}

const placeOf = ({ rowKey, ruleHash }: Entry): string => `${rowKey}${ruleHash}`
