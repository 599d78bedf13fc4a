import { sql } from 'kysely'
import { z } from 'zod'
import { readCounts } from '../../model/balance.ts'
import type {
  BatchIntent,
  BatchRecord,
  ChunkKey,
  ChunkSettlement,
  DeliveredFile,
  Exception,
  ExportStart,
  Lease,
  Receipted,
  RunLedger,
} from '../ledger.ts'
import { packHolds } from '../packed-records.ts'
import { addTallies, noTallies, readTallies, type Tallies } from '../run-ledger.ts'
import type { AccountIdCipher } from '../sealed-ids.ts'
import { advance, type EventOf, type StateOf, statesBefore } from '../states.ts'
import type { ExportRecord } from '../tables.ts'
import { peopleWrites, savePeopleOfChunk } from './account-writes.ts'
import { exportsOfJob } from './arrival.ts'
import type { DeliveredStore, Upkeep } from './delivered-store.ts'
import { createExclusive, type LedgerDatabase, type Statements, type Writer } from './exclusive.ts'
import { assertHeld, countWork, endHolds, leaseWrites } from './leases.ts'
import { hold, isPerhapsSent, noteResolution, releaseFormer, rule } from './left-behind.ts'
import { noteKnown } from './reasons.ts'

/**
 * Creates the `RunLedger` of a lease.
 * @param place boot and PID namespace of this process (`ProcessTable.place`): differs after each start of the machine
 * @param tallies counts of the run so far; undefined: nothing is counted for the run
 */
export function createRunLedger(
  database: RunDatabase,
  lease: Lease,
  place: string | undefined,
  tallies?: Tallies,
): RunLedger {
  const writing = openWriting(database, lease, tallies)
  return {
    lease,
    tallies: writing.counted,
    ...leaseWrites(writing),
    ...endOf(writing),
    ...exportsOf(writing),
    ...batchesOf(writing, place),
    ...settlementsOf(writing),
    ...peopleWrites(writing),
  }
}

type RunDatabase = LedgerDatabase & { readonly delivered: DeliveredStore; readonly ids: AccountIdCipher }

type Writing = ReturnType<typeof openWriting>

/** Transactions of a run: each asserts the lease and stores the counts. */
function openWriting(database: RunDatabase, lease: Lease, tallies?: Tallies) {
  const counted = tallies ?? noTallies()
  let written: string | undefined = JSON.stringify(counted)
  const keepCounts = async (statements: Statements): Promise<void> => {
    const text = JSON.stringify(counted)
    if (tallies === undefined || text === written) return
    if (lease.part === undefined)
      await statements.run('update run set tallies = ? where id = ?', text, lease.runId)
    else
      await statements.run(
        'update part set tallies = ? where export_row = ? and number = ?',
        ...[text, lease.part.exportRow, lease.part.number],
      )
    written = text
  }
  const exclusive = createExclusive(database, async (statements) => {
    await assertHeld(statements, lease)
    await keepCounts(statements)
  })
  const forget = (error: unknown): never => {
    written = undefined
    throw error
  }
  const writeShared: typeof exclusive.writeShared = (operation, waits) =>
    exclusive.writeShared(operation, waits).catch(forget)
  const writeHot: typeof exclusive.writeHot = (operation, waits) =>
    exclusive.writeHot(operation, waits).catch(forget)
  const { delivered, ids } = database
  /** Does the pieces in transactions of their own. */
  const keepUp = async (pieces: readonly Upkeep[], settled: number): Promise<void> => {
    for (const piece of pieces)
      await writeHot(() => delivered.keepUp(lease.jobId, piece, settled), 'for-nothing')
  }
  return {
    lease,
    counted,
    delivered,
    ids,
    dialect: exclusive.dialect,
    keepUp,
    writeHot,
    writeShared,
  }
}

const endOf = ({ lease, delivered, writeShared }: Writing): Pick<RunLedger, 'endRun'> => ({
  endRun: (end) =>
    writeShared(async (writer, statements) => {
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
      await endHolds(statements, lease, end.state)
      if (end.state !== 'interrupted') await absorbParts(writer, lease.runId)
      await noteResolution(writer, end.resolution)
      if (end.left !== undefined) {
        const { ruling } = end.left
        await delivered.save(lease.jobId, ruling.delivered ?? [], statements)
        await rule(writer, lease, ruling, end.endedAt)
        for (const one of end.left.sent)
          await hold(statements, lease, one.exportRow, [one], one.isTaken ? 0 : end.endedAt)
      }
      await noteReceipts(statements, lease, end)
    }),
})

function exportsOf({
  lease,
  counted,
  writeShared,
}: Writing): Pick<
  RunLedger,
  | 'addExport'
  | 'endExport'
  | 'openParts'
  | 'endPart'
  | 'joinParts'
  | 'noteArchived'
  | 'noteUnarchived'
  | 'noteDrift'
  | 'noteCollection'
  | 'noteHeldBack'
  | 'saveProfile'
> {
  const noteOfExport = (
    id: number,
    change: Partial<Pick<ExportRecord, 'state' | 'reason' | 'detail' | 'remedy' | 'drift'>> & {
      readonly held_back?: string
    },
  ): Promise<void> =>
    writeShared(async (writer) => {
      await writer.updateTable('export').set(change).where('id', '=', id).execute()
    })
  return {
    addExport: (start) => writeShared((writer) => addExport(writer, lease, start)),
    endExport: (exportRow, state, fault) => noteOfExport(exportRow, { state, ...fault }),
    openParts: (exportRow, count) => writeShared((writer) => openParts(writer, exportRow, count)),
    endPart: (state, fault) =>
      writeShared(async (writer) => {
        const { exportRow = 0, number = 0 } = lease.part ?? {}
        const own = writer.updateTable('part').where('export_row', '=', exportRow)
        await own.where('number', '=', number).set({ state, fault }).execute()
      }),
    async joinParts(exportRow, receiptsLength, state, fault) {
      const absorbed = await writeShared(async (writer, statements) => {
        await noteReceipts(statements, lease, { receiptsLength })
        await writer
          .updateTable('export')
          .set({ state, ...fault })
          .where('id', '=', exportRow)
          .execute()
        return absorbParts(writer, lease.runId)
      })
      addTallies(counted, absorbed)
    },
    noteArchived: ({ path, sha256 }, archived) =>
      writeShared(async (writer) => {
        const same = writer.updateTable('export').where('path', '=', path).where('sha256', '=', sha256)
        await same.set({ archived }).execute()
      }),
    noteUnarchived: (exportRow, fault) => noteOfExport(exportRow, fault),
    noteDrift: (exportRow, drift) => noteOfExport(exportRow, { drift }),
    noteCollection: (collection) =>
      writeShared(async (_writer, statements) => noteCollection(statements, lease, collection)),
    noteHeldBack: (exportRow, heldBack) => noteOfExport(exportRow, { held_back: heldBack }),
    saveProfile: (exportRow, { accepted, ...profile }) =>
      writeShared(async (writer) => {
        const kept = { export_row: exportRow, accepted: Number(accepted), content: profile.content }
        await writer
          .insertInto('profile')
          .values({ ...profile, ...kept })
          .onConflict((conflict) => conflict.columns(['job', 'mapping', 'sha256']).doUpdateSet(kept))
          .execute()
      }),
  }
}

const batchesOf = (
  { lease, writeHot }: Writing,
  place: string | undefined,
): Pick<
  RunLedger,
  'openChunk' | 'planBatches' | 'sendBatch' | 'beginBatch' | 'settleBatch' | 'splitBatch'
> => ({
  openChunk: (exportRow, { number, firstRow, firstLine, byteOffset, rows }) =>
    writeHot(
      (statements) =>
        statements.run(
          `insert into chunk (export_row, number, first_row, first_line, byte_offset, rows, state)
            values (?, ?, ?, ?, ?, ?, 'open')
            on conflict (export_row, number) do update set rows = excluded.rows where chunk.state = 'open'`,
          ...[exportRow, number, firstRow, firstLine, byteOffset, rows],
        ),
      'for-nothing',
    ),
  planBatches: (intents, shown = []) =>
    writeHot(async (statements) => {
      const [first] = intents
      if (first !== undefined) {
        // Batches that were planned but not sent are planned anew.
        await forgetPlanned(statements, first)
        await hold(statements, lease, first.exportRow, shown, 0)
      }
      return insertBatches(statements, intents, 'planned', place ?? null)
    }),
  sendBatch: (id, at, hidesOlder) =>
    writeHot(
      (statements) => moveBatch(statements, place, id, 'send', { begun_at: at }),
      hidesOlder ? 'for-disk' : 'for-nothing',
    ),
  beginBatch: (intent) =>
    writeHot(async (statements) => {
      const [row] = await insertBatches(statements, [intent], advance('batch', 'planned', 'send'), null)
      return row ?? 0
    }),
  settleBatch: (settlement) =>
    writeHot(async (statements) => {
      await moveBatch(statements, place, settlement.id, 'settle', {
        answer: settlement.answer,
        status: settlement.status,
        attempts: settlement.attempts,
        settled_at: settlement.at,
      })
      if (settlement.accepted !== 'all') await replaceHolds(statements, settlement.id, settlement.accepted)
      await insertExceptions(statements, settlement.exportRow, settlement.chunk, settlement.exceptions)
      await hold(statements, lease, settlement.exportRow, settlement.held)
      await noteReceipts(statements, lease, settlement)
    }, 'for-nothing'),
  splitBatch: (id, answer, status, at) =>
    writeHot(async (statements) => {
      await moveBatch(statements, place, id, 'split', { answer, status, settled_at: at })
      await replaceHolds(statements, id, packHolds([]))
    }, 'for-nothing'),
})

const settlementsOf = ({
  lease,
  counted,
  delivered,
  keepUp,
  writeShared,
}: Writing): Pick<RunLedger, 'rule' | 'settleChunk'> => ({
  async rule(ruling, at) {
    const rows = ruling.delivered ?? []
    const pieces = await writeShared(async (writer, statements) => {
      await delivered.save(lease.jobId, rows, statements)
      await rule(writer, lease, ruling, at)
      await noteReceipts(statements, lease, ruling)
      return delivered.upkeep(lease.jobId)
    })
    await keepUp(pieces, rows.length)
  },
  async settleChunk(settlement) {
    addTallies(counted, settlement.tallies)
    const settled = writeShared(async (writer, statements) => {
      await settleChunk(writer, statements, lease, settlement)
      await delivered.save(lease.jobId, settlement.delivered, statements)
      return delivered.upkeep(lease.jobId)
    }, 'for-nothing')
    const pieces = await settled.catch((error: unknown) => {
      addTallies(counted, settlement.tallies, -1)
      throw error
    })
    await keepUp(pieces, settlement.delivered.length)
  },
})

async function noteReceipts(
  statements: Statements,
  { runId, part }: Lease,
  { receiptsLength }: Receipted,
): Promise<void> {
  if (receiptsLength === undefined) return
  if (part !== undefined)
    return statements.run(
      'update part set receipts_length = ? where export_row = ? and number = ?',
      ...[receiptsLength, part.exportRow, part.number],
    )
  await statements.run('update run set receipts_length = ? where id = ?', receiptsLength, runId)
}

async function addExport(writer: Writer, { runId, jobId }: Lease, start: ExportStart): Promise<ExportRecord> {
  const { digest, name, content } = start.mapping
  await writer
    .insertInto('mapping')
    .values({ digest, name, content })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  if (start.delivered !== undefined) await noteTaken(writer, runId, name, start.delivered)
  const { backfill } = await writer
    .selectFrom('run')
    .select('backfill')
    .where('id', '=', runId)
    .executeTakeFirstOrThrow()
  const anchor = backfill === null ? null : await anchorOf(writer, jobId, start.day)
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
      is_ended: start.isEnded === undefined ? null : Number(start.isEnded),
      day: start.day ?? null,
      anchor,
      ...(start.failed === undefined ? { state: 'open' } : { state: 'failed', ...start.failed }),
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Notes that a run has begun with the file. First and latest begin are kept. */
async function noteTaken(
  writer: Writer,
  runId: string,
  mapping: string,
  { address, name, bytes, modifiedAt }: DeliveredFile,
): Promise<void> {
  const run = await writer
    .selectFrom('run')
    .innerJoin('job', 'job.id', 'run.job_id')
    .select(['job.name', 'run.started_at'])
    .where('run.id', '=', runId)
    .executeTakeFirstOrThrow()
  const taken = {
    job: run.name,
    mapping,
    address,
    name,
    bytes,
    modified_at: modifiedAt,
    taken_at: run.started_at,
    seen_at: run.started_at,
  }
  await writer
    .insertInto('delivery')
    .values(taken)
    .onConflict((conflict) =>
      conflict
        .columns(['job', 'mapping', 'address', 'modified_at', 'bytes'])
        .doUpdateSet({ seen_at: run.started_at }),
    )
    .execute()
}

/** Arrival of the job's newest nightly export up to the day; 0 without such an export, or without a day. */
async function anchorOf(database: Writer, jobId: number, day: number | undefined): Promise<number> {
  if (day === undefined) return 0
  const found = await exportsOfJob(database, jobId)
    .where('run.backfill', 'is', null)
    .where('reading', '=', 'whole')
    .where('export.state', '=', 'finished')
    .where('day', '<=', day)
    // A repeated reading does not make a file newer.
    .where(
      sql<boolean>`not exists (select 1 from export as before where before.name = export.name
        and before.sha256 = export.sha256 and before.state = 'finished' and before.id < export.id)`,
    )
    .select((eb) => eb.fn.max('export.id').as('newest'))
    .executeTakeFirst()
  return found?.newest ?? 0
}

/** Adds the parts that the export lacks, and opens those that were stopped. */
async function openParts(writer: Writer, exportRow: number, count: number): Promise<void> {
  const tallies = JSON.stringify(noTallies())
  for (let number = 0; number < count; number++)
    await writer
      .insertInto('part')
      .values({ export_row: exportRow, number, state: 'open', fault: null, tallies })
      .onConflict((conflict) => conflict.columns(['export_row', 'number']).doNothing())
      .execute()
  await writer
    .updateTable('part')
    .set({ state: 'open', fault: null })
    .where('export_row', '=', exportRow)
    .where('state', '=', 'stopped')
    .execute()
}

/** Adds the counts of all parts of the run to those of the run, and forgets the parts. @returns the counts of the parts */
async function absorbParts(writer: Writer, runId: string): Promise<Tallies> {
  const absorbed = noTallies()
  const left = await writer
    .selectFrom('part')
    .innerJoin('export', 'export.id', 'part.export_row')
    .where('export.run_id', '=', runId)
    .select(['part.export_row', 'part.tallies'])
    .execute()
  if (left.length === 0) return absorbed
  for (const { tallies } of left) addTallies(absorbed, readTallies(tallies))
  // The run itself counts who is owed a mark or a deletion.
  absorbed.primaryCare.owed = 0
  absorbed.careTeams.owed = 0
  const own = writer.selectFrom('run').select('tallies').where('id', '=', runId)
  const sum = readTallies((await own.executeTakeFirstOrThrow()).tallies)
  addTallies(sum, absorbed)
  await writer
    .updateTable('run')
    .set({ tallies: JSON.stringify(sum) })
    .where('id', '=', runId)
    .execute()
  const rows = [...new Set(left.map(({ export_row }) => export_row))]
  await writer.deleteFrom('part').where('export_row', 'in', rows).execute()
  return absorbed
}

/** Adds the rows of a settled chunk to the count of the part. */
async function countRows(
  statements: Statements,
  { part }: Lease,
  { counts }: ChunkSettlement,
): Promise<void> {
  if (part === undefined) return
  const { read, rejected, skipped } = readCounts(counts).rows
  await statements.run(
    `update part set rows_read = rows_read + ?, rows_rejected = rows_rejected + ?, rows_skipped = rows_skipped + ?
      where export_row = ? and number = ?`,
    ...[read, rejected, skipped, part.exportRow, part.number],
  )
}
async function insertBatches(
  statements: Statements,
  intents: readonly BatchIntent[],
  state: StateOf<'batch'>,
  place: string | null,
): Promise<number[]> {
  const rows = await statements.insertEach(
    `insert into batch (batch_id, export_row, chunk, kind, records, state, attempts, place, begun_at)
    values (?, ?, ?, ?, ?, ?, 1, ?, ?)`,
    intents.map(({ batchId, exportRow, chunk, kind, records, at }) => [
      ...[batchId, exportRow, chunk, kind, records, state, place, at],
    ]),
  )
  for (const [at, { holds }] of intents.entries())
    await statements.run('insert into batch_holds (batch, holds) values (?, ?)', rows[at] ?? null, holds)
  return [...rows]
}

async function replaceHolds(statements: Statements, batch: number, holds: Uint8Array): Promise<void> {
  await statements.run('update batch_holds set holds = ? where batch = ?', holds, batch)
}

async function forgetPlanned(statements: Statements, { exportRow, chunk }: ChunkKey): Promise<void> {
  const planned = `from batch where export_row = ? and chunk = ? and state = 'planned'`
  await statements.run(`delete from batch_holds where batch in (select id ${planned})`, exportRow, chunk)
  await statements.run(`delete ${planned}`, exportRow, chunk)
}

type BatchChange = Partial<Pick<BatchRecord, 'answer' | 'status' | 'attempts' | 'begun_at' | 'settled_at'>>

const BatchRow = z.object({
  state: z.enum(['planned', 'sending', 'settled', 'split']),
  place: z.string().nullable(),
})

/** @param place boot and PID namespace of this process (`ProcessTable.place`). @throws `state-illegal` */
async function moveBatch(
  statements: Statements,
  place: string | undefined,
  id: number,
  event: EventOf<'batch'>,
  change: BatchChange,
): Promise<void> {
  const [first = 'planned', ...more] = statesBefore('batch', event)
  const columns = Object.keys(change).map((column) => `, ${column} = ?`)
  await statements.assert(
    // As `isPerhapsSent`.
    `update batch set state = ?${columns.join('')} where id = ? and
      case when state = 'planned' and coalesce(place, '') != ? then 'sending' else state end in (?${', ?'.repeat(more.length)})
      returning '1'`,
    [advance('batch', first, event), ...Object.values(change), id, place ?? NOWHERE, first, ...more],
    async (looking) => {
      const [found] = await looking.all('select state, place from batch where id = ?', id)
      const batch = BatchRow.parse(found)
      advance('batch', isPerhapsSent(batch, place) ? 'sending' : batch.state, event)
      throw new Error(`a batch that was ${batch.state} had changed meanwhile`)
    },
  )
}

/** Place of no batch. */
const NOWHERE = 'nowhere'

async function insertExceptions(
  statements: Statements,
  exportRow: number,
  chunk: number,
  exceptions: readonly Exception[],
): Promise<void> {
  for (const one of exceptions) {
    const { row, line, byteOffset, kind, rule, content, outcome, stage, code, field, message, batchId } = one
    const sentAs = one.sentAs ?? null
    const person = one.person === undefined ? null : Buffer.from(one.person, 'hex')
    await statements.run(
      `insert into exception (export_row, chunk, row, line, byte_offset, kind, rule, content, outcome, state, stage, code,
        field, message, batch_id, sent_as, person) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      ...[exportRow, chunk, row, line, byteOffset, kind, rule, content, outcome, outcome],
      ...[stage, code, field, message, batchId, sentAs, person],
    )
  }
}

async function settleChunk(
  writer: Writer,
  statements: Statements,
  lease: Lease,
  settlement: ChunkSettlement,
): Promise<void> {
  const { exportRow, chunk } = settlement
  const { state } = await writer
    .selectFrom('chunk')
    .select('state')
    .where('export_row', '=', exportRow)
    .where('number', '=', chunk)
    .executeTakeFirstOrThrow()
  if (lease.part === undefined) await countWork(writer, lease.runId, settlement.at, 'goes-on')
  await writer
    .updateTable('chunk')
    .set((eb) => ({
      state: advance('chunk', state, 'settle'),
      counts: settlement.counts,
      accepted: settlement.accepted ?? null,
      rejects_length: settlement.rejectsLength,
      settled_at: settlement.at,
      worked_ms: eb.selectFrom('run').select('run.worked_ms').where('run.id', '=', lease.runId),
    }))
    .where('export_row', '=', exportRow)
    .where('number', '=', chunk)
    .execute()
  await countRows(statements, lease, settlement)
  await insertExceptions(statements, exportRow, chunk, settlement.exceptions)
  await noteKnown(writer, lease.jobId, exportRow, chunk)
  await forgetPlanned(statements, settlement)
  await savePeopleOfChunk(statements, lease, settlement)
  if (settlement.ruling !== undefined) await rule(writer, lease, settlement.ruling, settlement.at)
  await releaseFormer(statements, lease, settlement.held)
  await hold(statements, lease, exportRow, settlement.held)
  for (const { rowKey, from, to } of settlement.renamed ?? [])
    await statements.run(
      'update held set rule = ? where job_id = ? and row_key = ? and rule = ?',
      ...[Buffer.from(to, 'hex'), lease.jobId, Buffer.from(rowKey, 'hex'), Buffer.from(from, 'hex')],
    )
  await noteReceipts(statements, lease, settlement)
  const { collected } = settlement
  if (collected === undefined) return
  await noteCollection(statements, lease, collected.collection)
  for (const { person, content } of collected.people)
    await statements.run(
      `insert into collected (job_id, person, content, run_id) values (?, ?, ?, ?)
        on conflict (job_id, person) do update set content = excluded.content, run_id = excluded.run_id`,
      lease.jobId,
      Buffer.from(person, 'hex'),
      content === null ? null : Buffer.from(content, 'hex'),
      lease.runId,
    )
}

async function noteCollection(statements: Statements, { runId }: Lease, collection: string): Promise<void> {
  await statements.run('update run set collection = ? where id = ?', collection, runId)
}
