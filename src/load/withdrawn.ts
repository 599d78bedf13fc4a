/** Results withdrawn by the source. The gateway deletes no biometrics and no conditions, so a person must be notified of a delivered result. */
import type { Ledger } from '../ledger/ledger.ts'
import { unpackHolds } from '../ledger/packed-records.ts'
import type { WithdrawnEntry } from '../model/entry.ts'
import { transactionId } from '../model/ids.ts'
import type { Withdrawal } from './chunk-decisions.ts'

/** Withdrawn result that the gateway has, or may have. */
export interface TakenBack {
  readonly entry: WithdrawnEntry
  /** Transaction id of the sent record; undefined where the ledger has lost it. */
  readonly sentAs: string | undefined
}

type TakenBackLedger = Pick<Ledger, 'exports' | 'chunks' | 'left'>

/** Finds the transaction ids of withdrawn results. */
export async function takenBackOf(
  ledger: TakenBackLedger,
  jobId: number,
  withdrawals: readonly Withdrawal[],
): Promise<TakenBack[]> {
  if (withdrawals.length === 0) return []
  const ids = new Map<string, string>()
  const all = withdrawals.flatMap(({ contents }) => contents)
  for (const { content, exportId, row, rule } of await ledger.left.inDoubtWith(jobId, all))
    if (content !== null) ids.set(content, transactionId(exportId, row, rule ?? '', content))
  for (const [arrival, some] of Map.groupBy(withdrawals, (one) => one.arrival))
    if (arrival !== undefined)
      await findSent(
        ledger,
        arrival,
        some.flatMap(({ contents }) => contents),
        ids,
      )
  return withdrawals.map(({ entry, contents }) => ({
    entry,
    sentAs: contents.map((content) => ids.get(content)).find((id) => id !== undefined),
  }))
}

/** Searches the sent batches of an export. @param ids by content: found ids are added */
async function findSent(
  ledger: TakenBackLedger,
  arrival: number,
  contents: readonly string[],
  ids: Map<string, string>,
): Promise<void> {
  const record = await ledger.exports.find(arrival)
  if (record === undefined) return
  const open = new Set(contents)
  for (const { id } of await ledger.exports.withContent(record.export_id))
    for (const { number: chunk } of await ledger.chunks.ofExport(id))
      for (const { holds } of await ledger.chunks.batches({ exportRow: id, chunk })) {
        if (open.size === 0) return
        const packed = Buffer.from(holds.buffer, holds.byteOffset, holds.byteLength)
        if (![...open].some((content) => packed.includes(Buffer.from(content, 'hex')))) continue
        for (const { row, rule, content } of unpackHolds(holds)) {
          if (!open.delete(content)) continue
          ids.set(content, transactionId(record.export_id, row, rule, content))
        }
      }
}
