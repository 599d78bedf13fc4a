/** What runs that were given up have sent, or may have sent, without its being known as delivered. */

import type { Kysely } from 'kysely'
import type { PerhapsSent } from '../concerns.ts'
import type { PlacedRecord } from '../left-records.ts'
import { unpackHolds } from '../packed-records.ts'
import type { BatchRecord, LedgerTables } from '../tables.ts'

/**
 * That a planned batch went out is written without waiting for the disk: it outlives the process, but not the machine. So of one that was
 * planned before the machine was started again nobody knows.
 * @param place where this process runs
 */
export const isPerhapsSent = (
  batch: Pick<BatchRecord, 'state' | 'place'>,
  place: string | undefined,
): boolean => batch.state === 'planned' && (place === undefined || batch.place !== place)

/**
 * An intent is on disk before its bytes leave, so what such a run had under way is what the batches of its open chunks hold. What a batch
 * was settled with as in doubt stands among the exceptions, and so does what has become of it since; of an open chunk it is not held.
 * What a later run has settled is known as delivered by that run.
 */
export async function readPerhapsSent(
  database: Kysely<LedgerTables>,
  jobId: number,
  place: string | undefined,
): Promise<PerhapsSent> {
  const taken = new Set<string>()
  const unanswered = new Map<string, PlacedRecord>()
  let until: number | undefined
  const open = () =>
    database
      .selectFrom('run')
      .innerJoin('export', 'export.run_id', 'run.id')
      .innerJoin('chunk', 'chunk.export_row', 'export.id')
      .where('run.job_id', '=', jobId)
      .where('run.state', '=', 'failed')
      .where('run.reason', '=', 'given-up')
      .where('chunk.state', '=', 'open')
  const batches = await open()
    .innerJoin('batch', (join) =>
      join.onRef('batch.export_row', '=', 'chunk.export_row').onRef('batch.chunk', '=', 'chunk.number'),
    )
    .innerJoin('batch_holds', 'batch_holds.batch', 'batch.id')
    .where('batch.state', '!=', 'split')
    .select(['batch.state', 'batch.place', 'holds', 'run.ended_at as endedAt'])
    .select(['batch.batch_id as batchId', 'export.export_id as exportId'])
    .execute()
  for (const { state, place: plannedAt, holds, endedAt, batchId, exportId } of batches) {
    if (state === 'planned' && !isPerhapsSent({ state, place: plannedAt }, place)) continue
    for (const held of unpackHolds(holds)) {
      if (state === 'settled') taken.add(held.content)
      else unanswered.set(held.content, { ...held, exportId, batchId })
    }
    until = Math.max(until ?? 0, endedAt ?? 0)
  }
  const doubts = await open()
    .innerJoin('exception', (join) =>
      join
        .onRef('exception.export_row', '=', 'chunk.export_row')
        .onRef('exception.chunk', '=', 'chunk.number'),
    )
    .where('exception.state', 'in', ['in-doubt', 'accepted'])
    .select(['exception.content', 'exception.state', 'run.ended_at as endedAt'])
    .select([
      'exception.row',
      'exception.rule',
      'exception.batch_id as batchId',
      'export.export_id as exportId',
    ])
    .execute()
  for (const { state, endedAt, content, ...placed } of doubts) {
    if (content === null) continue
    if (state === 'accepted') taken.add(content)
    else unanswered.set(content, { ...placed, content })
    until = Math.max(until ?? 0, endedAt ?? 0)
  }
  return { taken, unanswered, until }
}
