import { type Kysely, sql, type Transaction } from 'kysely'
import type {
  ChunkSettlement,
  DeliveredRow,
  Exception,
  ExportStart,
  KnownAccount,
  Lease,
  Receipted,
  RunLedger,
} from '../ledger.ts'
import { packDelivered, packHolds } from '../packed-records.ts'
import { addTallies, noTallies, type Tallies } from '../run-writes.ts'
import { advanceBatch, advanceChunk, type BatchEvent } from '../states.ts'
import type { ExportRecord, LedgerTables } from '../tables.ts'
import { saveCareTeams } from './care-teams.ts'
import { createExclusive } from './exclusive.ts'
import { noteTaken } from './expectations.ts'
import { assertLease, beginWork, countWork, renewLease } from './leases.ts'
import { noteResolution, rule } from './left-behind.ts'
import { noteKnown } from './reasons.ts'

type Writer = Transaction<LedgerTables>

/** Rows of one multi-row insert: SQLite takes at most 32,766 parameters. */
const ROWS_AT_ONCE = 500

/** @param tallies what the run has counted so far; undefined: nothing is counted for it */
export function createRunLedger(database: Kysely<LedgerTables>, lease: Lease, tallies?: Tallies): RunLedger {
  const counted = tallies ?? noTallies()
  let written: string | undefined = JSON.stringify(counted)
  // The fence is asked by each transaction, and each takes the counts along.
  const keepCounts = async (transaction: Transaction<LedgerTables>): Promise<void> => {
    const text = JSON.stringify(counted)
    if (tallies === undefined || text === written) return
    await transaction.updateTable('run').set({ tallies: text }).where('id', '=', lease.runId).execute()
    written = text
  }
  const exclusive = createExclusive(database, async (transaction) => {
    await assertLease(transaction, lease)
    await keepCounts(transaction)
  })
  const writeShared: typeof exclusive.writeShared = (operation, waits) =>
    exclusive.writeShared(operation, waits).catch((error: unknown) => {
      written = undefined
      throw error
    })
  const registered: KnownAccount[] = []
  return {
    lease,
    tallies: counted,
    renew: (now, ttlMs) => writeShared((writer) => renewLease(writer, lease, now, ttlMs)),
    assertHeld: () => writeShared(async () => undefined, 'for-nothing'),
    noteOutage: (outage) =>
      writeShared(async (writer) => {
        await writer.updateTable('lease').set({ outage }).where('job_id', '=', lease.jobId).execute()
      }),
    pauseWork: (at) => writeShared((writer) => countWork(writer, lease.runId, at, 'pauses')),
    goOnWorking: (at) => writeShared((writer) => beginWork(writer, lease.runId, at)),
    addExport: (start) => writeShared((writer) => addExport(writer, lease.runId, start)),
    endExport: (exportRow, state, reason) =>
      writeShared(async (writer) => {
        await writer.updateTable('export').set({ state, reason }).where('id', '=', exportRow).execute()
      }),
    noteArchived: ({ path, sha256 }, archived) =>
      writeShared(async (writer) => {
        const same = writer.updateTable('export').where('path', '=', path).where('sha256', '=', sha256)
        await same.set({ archived }).execute()
      }),
    noteDrift: (exportRow, drift) =>
      writeShared(async (writer) => {
        await writer.updateTable('export').set({ drift }).where('id', '=', exportRow).execute()
      }),
    saveProfile: (exportRow, { accepted, ...profile }) =>
      writeShared(async (writer) => {
        const kept = { export_row: exportRow, accepted: Number(accepted), content: profile.content }
        await writer
          .insertInto('profile')
          .values({ ...profile, ...kept })
          .onConflict((conflict) => conflict.columns(['job', 'mapping', 'sha256']).doUpdateSet(kept))
          .execute()
      }),
    openChunk: (exportRow, { number, firstRow, firstLine, byteOffset, rows }) =>
      writeShared(async (writer) => {
        await writer
          .insertInto('chunk')
          .values({
            export_row: exportRow,
            number,
            first_row: firstRow,
            first_line: firstLine,
            byte_offset: byteOffset,
            rows,
            state: 'open',
          })
          .onConflict((conflict) =>
            conflict
              .columns(['export_row', 'number'])
              .doUpdateSet({ rows })
              .where('chunk.state', '=', 'open'),
          )
          .execute()
      }),
    beginBatch: (intent) =>
      writeShared(async (writer) => {
        const inserted = await writer
          .insertInto('batch')
          .values({
            batch_id: intent.batchId,
            export_row: intent.exportRow,
            chunk: intent.chunk,
            kind: intent.kind,
            records: intent.holds.length,
            state: advanceBatch('planned', 'send'),
            attempts: 1,
            holds: packHolds(intent.holds),
            begun_at: intent.at,
          })
          .executeTakeFirstOrThrow()
        return Number(inserted.insertId)
      }),
    settleBatch: (settlement) =>
      writeShared(async (writer) => {
        await moveBatch(writer, settlement.id, 'settle', {
          answer: settlement.answer,
          status: settlement.status,
          attempts: settlement.attempts,
          holds: packHolds(settlement.accepted),
          settled_at: settlement.at,
        })
        await insertExceptions(writer, settlement.exportRow, settlement.chunk, settlement.exceptions)
        await noteReceipts(writer, lease, settlement)
      }),
    splitBatch: (id, answer, status, at) =>
      writeShared((writer) =>
        moveBatch(writer, id, 'split', { answer, status, holds: packHolds([]), settled_at: at }),
      ),
    rule: (ruling, at) =>
      writeShared(async (writer) => {
        await upsertDelivered(writer, lease.jobId, ruling.delivered ?? [])
        await rule(writer, lease, ruling, at)
        await noteReceipts(writer, lease, ruling)
      }),
    async settleChunk(settlement) {
      addTallies(counted, settlement.tallies)
      try {
        await writeShared((writer) => settleChunk(writer, lease, settlement))
      } catch (error) {
        addTallies(counted, settlement.tallies, -1)
        throw error
      }
    },
    saveAccounts(gateway, accounts, at) {
      registered.push(...accounts)
      // Those that came in together are one insertion.
      return writeShared(async (writer) => {
        const values = registered.splice(0).map(({ reference, accountId, isNew, sentBefore }) => ({
          gateway,
          reference: Buffer.from(reference, 'hex'),
          account_id: accountId,
          registered_at: at,
          registered_by: isNew === true ? lease.runId : null,
          sent_before: sentBefore,
        }))
        if (values.length === 0) return
        // Of this very moment: more may have come in, and been counted, since the transaction began.
        await keepCounts(writer)
        await writer
          .insertInto('account')
          .values(values)
          .onConflict((conflict) => conflict.doNothing())
          .execute()
      }, 'for-nothing')
    },
    saveCareTeams: (gateway, entries) => writeShared((writer) => saveCareTeams(writer, gateway, entries)),
    endRun: (end) =>
      writeShared(async (writer) => {
        await countWork(writer, lease.runId, end.endedAt, 'pauses')
        await writer
          .updateTable('run')
          .set({
            state: end.state,
            ended_at: end.endedAt,
            reason: end.reason,
            detail: end.detail ?? null,
          })
          .where('id', '=', lease.runId)
          .execute()
        await noteResolution(writer, end.resolution)
        await noteReceipts(writer, lease, end)
      }),
  }
}

async function noteReceipts(writer: Writer, { runId }: Lease, { receiptsLength }: Receipted): Promise<void> {
  if (receiptsLength === undefined) return
  await writer.updateTable('run').set({ receipts_length: receiptsLength }).where('id', '=', runId).execute()
}

async function addExport(writer: Writer, runId: string, start: ExportStart): Promise<ExportRecord> {
  const { digest, name, content } = start.mapping
  await writer
    .insertInto('mapping')
    .values({ digest, name, content })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  if (start.delivered !== undefined) await noteTaken(writer, runId, name, start.delivered)
  return writer
    .insertInto('export')
    .values({
      run_id: runId,
      ordinal: start.ordinal,
      export_id: start.exportId,
      name: start.name,
      path: start.path,
      sha256: start.sha256,
      bytes: start.bytes,
      mapping_digest: digest,
      reading: start.reading,
      origin_export: start.originExport,
      archived: start.archived,
      ...(start.failed === undefined ? { state: 'open' } : { state: 'failed', reason: start.failed }),
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

async function moveBatch(
  writer: Writer,
  id: number,
  event: BatchEvent,
  change: { answer: string; status: number | null; attempts?: number; holds: Uint8Array; settled_at: number },
): Promise<void> {
  const { state } = await writer
    .selectFrom('batch')
    .select('state')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  await writer
    .updateTable('batch')
    .set({ state: advanceBatch(state, event), ...change })
    .where('id', '=', id)
    .execute()
}

async function insertExceptions(
  writer: Writer,
  exportRow: number,
  chunk: number,
  exceptions: readonly Exception[],
): Promise<void> {
  for (let start = 0; start < exceptions.length; start += ROWS_AT_ONCE) {
    const values = exceptions.slice(start, start + ROWS_AT_ONCE).map(({ byteOffset, batchId, ...rest }) => ({
      ...rest,
      state: rest.outcome,
      byte_offset: byteOffset,
      batch_id: batchId,
      export_row: exportRow,
      chunk,
    }))
    await writer.insertInto('exception').values(values).execute()
  }
}

async function settleChunk(writer: Writer, lease: Lease, settlement: ChunkSettlement): Promise<void> {
  const { exportRow, chunk } = settlement
  const { state } = await writer
    .selectFrom('chunk')
    .select('state')
    .where('export_row', '=', exportRow)
    .where('number', '=', chunk)
    .executeTakeFirstOrThrow()
  await countWork(writer, lease.runId, settlement.at, 'goes-on')
  await writer
    .updateTable('chunk')
    .set((eb) => ({
      state: advanceChunk(state, 'settle'),
      counts: settlement.counts,
      rejects_length: settlement.rejectsLength,
      settled_at: settlement.at,
      worked_ms: eb.selectFrom('run').select('run.worked_ms').where('run.id', '=', lease.runId),
    }))
    .where('export_row', '=', exportRow)
    .where('number', '=', chunk)
    .execute()
  await insertExceptions(writer, exportRow, chunk, settlement.exceptions)
  await noteKnown(writer, lease.jobId, exportRow, chunk)
  await upsertDelivered(writer, lease.jobId, settlement.delivered)
  if (settlement.careTeams !== undefined)
    await saveCareTeams(writer, settlement.careTeams.gateway, settlement.careTeams.entries)
  if (settlement.ruling !== undefined) await rule(writer, lease, settlement.ruling, settlement.at)
  for (const { rowKey, rule, content, series } of settlement.held) {
    await writer
      .insertInto('held')
      .values({
        job_id: lease.jobId,
        row_key: Buffer.from(rowKey, 'hex'),
        content: Buffer.from(content, 'hex'),
        rule: Buffer.from(rule, 'hex'),
        series: series === null ? null : Buffer.from(series, 'hex'),
        export_row: exportRow,
        arrival: settlement.said.arrival,
        by_backfill: Number(settlement.said.byBackfill),
      })
      .onConflict((conflict) =>
        settlement.said.byBackfill
          ? conflict.doNothing()
          : conflict
              .columns(['job_id', 'row_key', 'content'])
              .doUpdateSet({ arrival: sql`excluded.arrival`, by_backfill: 0 })
              .where((eb) =>
                eb.or([eb('held.by_backfill', '=', 1), eb('held.arrival', '<', settlement.said.arrival)]),
              ),
      )
      .execute()
  }
  await noteReceipts(writer, lease, settlement)
}

/** In key order, so that neighbouring keys of the tree are written together. */
async function upsertDelivered(writer: Writer, jobId: number, rows: readonly DeliveredRow[]): Promise<void> {
  const sorted = rows.toSorted((a, b) => (a.rowKey < b.rowKey ? -1 : 1))
  for (let start = 0; start < sorted.length; start += ROWS_AT_ONCE) {
    const values = sorted.slice(start, start + ROWS_AT_ONCE).map(({ rowKey, records }) => ({
      job_id: jobId,
      row_key: Buffer.from(rowKey, 'hex'),
      records: packDelivered(records),
    }))
    await writer
      .insertInto('delivered')
      .values(values)
      .onConflict((conflict) =>
        conflict.columns(['job_id', 'row_key']).doUpdateSet({ records: sql`excluded.records` }),
      )
      .execute()
  }
}
