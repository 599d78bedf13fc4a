/** Rejects and doubts of runs, and their outcomes since: queries, and the only way to change them. */
import { type Kysely, sql } from 'kysely'
import type { HeldRecord, Lease, Ledger, LeftRecord, Resolution, Ruling, Selection } from '../ledger.ts'
import type { PlacedRecord } from '../left-records.ts'
import { unpackHolds } from '../packed-records.ts'
import { advance } from '../states.ts'
import type { BatchRecord, LedgerTables } from '../tables.ts'
import { arrivalOf } from './arrival.ts'
import { hex, inSlices } from './dialect.ts'
import type { Exclusive, Statements, Writer } from './exclusive.ts'

type Database = Kysely<LedgerTables>

/** @param place boot and PID namespace of this process (`ProcessTable.place`) */
export const leftBehind = ({ db }: Exclusive, place: string | undefined): Ledger['left'] => ({
  ...doubtfulRecords(db),
  ...heldRecords(db, place),
  ...readings(db),
  ...decided(db),
})

const doubtfulRecords = (
  db: Database,
): Pick<Ledger['left'], 'inDoubt' | 'inDoubtWith' | 'moves' | 'settledBy'> => ({
  inDoubt: (runId, after, limit) =>
    doubts(db)
      .where('export.run_id', '=', runId)
      .where('exception.id', '>', after)
      .orderBy('exception.id')
      .limit(limit)
      .execute(),
  async inDoubtWith(jobId, contents) {
    const left = await inSlices(contents, (slice) =>
      doubts(db)
        .select(['export.name', 'export.sha256', 'export.reading'])
        .where('run.job_id', '=', jobId)
        .where('exception.content', 'in', slice)
        .execute(),
    )
    const arrivals = new Map<number, number>()
    for (const { exportRow: id, ...record } of left)
      if (!arrivals.has(id)) arrivals.set(id, await arrivalOf(db, jobId, { ...record, id }))
    return left.map(({ name, sha256, reading, ...one }) => ({
      ...one,
      arrival: arrivals.get(one.exportRow) ?? one.exportRow,
    }))
  },
  moves: (runId) =>
    inBalance(db)
      .where('export.run_id', '=', runId)
      .where('exception.outcome', '=', 'in-doubt')
      .where('exception.state', '!=', 'in-doubt')
      .select(['export.id as exportRow', 'exception.kind', BECAME.as('to')])
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .groupBy(['export.id', 'exception.kind', BECAME])
      .execute()
      .then((rows) => rows.flatMap(({ kind, ...move }) => (kind === null ? [] : [{ ...move, kind }]))),
  settledBy: (runId) =>
    inBalance(db)
      .innerJoin('decision', 'decision.exception', 'exception.id')
      .where('export.run_id', '=', runId)
      .where('exception.state', '=', 'settled')
      .where('decision.event', '=', 'deliver')
      .select('decision.run_id as run')
      .select((eb) => eb.fn.countAll<number>().as('count'))
      .groupBy('decision.run_id')
      .orderBy((eb) => eb.fn.min('decision.id'))
      .execute()
      .then((rows) => rows.flatMap(({ run, count }) => (run === null ? [] : [{ run, count }]))),
})

const heldRecords = (
  db: Database,
  place: string | undefined,
): Pick<Ledger['left'], 'heldWith' | 'sentByGivenUp' | 'unasked' | 'heldRecords'> => ({
  heldWith: (jobId, contents) =>
    inSlices(contents, async (slice) => {
      const rows = await db
        .selectFrom('held')
        .select(['row_key', 'rule', 'content', 'series', 'sent_until as sentUntil'])
        .where('job_id', '=', jobId)
        .where(
          'content',
          'in',
          slice.map((content) => Buffer.from(content, 'hex')),
        )
        .orderBy('row_key')
        .orderBy('content')
        .execute()
      return rows.map(({ row_key, rule, content, series, sentUntil }) => ({
        rowKey: hex(row_key),
        rule: hex(rule),
        content: hex(content),
        series: series && hex(series),
        sentUntil,
      }))
    }),
  sentByGivenUp: (jobId, contents) => sentByGivenUp(db, jobId, contents, place),
  async unasked(runId) {
    const sent = db.selectFrom('held').innerJoin('export', 'export.id', 'held.export_row')
    const counted = sent.where('run_id', '=', runId).where('sent_until', '>', 0)
    return (await counted.select((eb) => eb.fn.countAll<number>().as('records')).executeTakeFirstOrThrow())
      .records
  },
  async heldRecords(jobId) {
    const held = db.selectFrom('held').where('job_id', '=', jobId).where('sent_until', 'is', null)
    const counted = held.select((eb) => eb.fn.countAll<number>().as('records'))
    return (await counted.executeTakeFirstOrThrow()).records
  },
})

const readings = (db: Database): Pick<Ledger['left'], 'ofEarlierReadings' | 'rows'> => ({
  ofEarlierReadings: ({ jobId, exportId, before, selection }, rows) =>
    inSlices(rows, (slice) =>
      leftRecords(db)
        .where('run.job_id', '=', jobId)
        .where('export.export_id', '=', exportId)
        .where('export.id', '<', before)
        .where('exception.state', 'in', STATES[selection])
        .where('exception.row', 'in', slice)
        .orderBy('exception.id')
        .execute(),
    ),
  rows: ({ exportRow, selection, runId }, after, limit) =>
    db
      .selectFrom('exception')
      .select(['row', 'line', 'byte_offset as byteOffset'])
      .where('export_row', '=', exportRow)
      .where('byte_offset', '>', after)
      .$if(selection !== 'any', (query) =>
        query.where((eb) =>
          eb.or([
            eb('state', 'in', STATES[selection]),
            eb(
              'id',
              'in',
              eb.selectFrom('decision').select('decision.exception').where('decision.run_id', '=', runId),
            ),
          ]),
        ),
      )
      .groupBy(['row', 'line', 'byte_offset'])
      .orderBy('byte_offset')
      .limit(limit)
      .execute(),
})

const decided = (db: Database): Pick<Ledger['left'], 'resolutions' | 'decidedContents' | 'decisions'> => ({
  resolutions: (runId) =>
    db
      .selectFrom('resolution')
      .select(['run_id as run', 'decision', 'person as by', 'note', 'at', 'code'])
      .where('run_id', '=', runId)
      .orderBy('id')
      .execute(),
  decidedContents: async (exportRow, runId) => {
    const rows = await db
      .selectFrom('decision')
      .innerJoin('exception', 'exception.id', 'decision.exception')
      .select('exception.content')
      .where('decision.run_id', '=', runId)
      .where('decision.event', '=', 'resend')
      .where('exception.export_row', '=', exportRow)
      .execute()
    return new Set(rows.flatMap(({ content }) => content ?? []))
  },
  decisions: (exceptions) =>
    inSlices(exceptions, (slice) =>
      db
        .selectFrom('decision')
        .leftJoin('resolution', 'resolution.id', 'decision.resolution')
        .select(['exception', 'event', 'decision.run_id as run', 'person as by', 'note', 'decision.at'])
        .where('exception', 'in', slice)
        .orderBy('decision.id')
        .execute(),
    ),
})

const withChunk = (database: Database) =>
  database
    .selectFrom('exception')
    .innerJoin('export', 'export.id', 'exception.export_row')
    .innerJoin('chunk', (join) =>
      join
        .onRef('chunk.export_row', '=', 'exception.export_row')
        .onRef('chunk.number', '=', 'exception.chunk'),
    )

/** Exceptions of settled chunks alone: the outcome of an open chunk is not final. */
const inBalance = (database: Database) => withChunk(database).where('chunk.state', '=', 'settled')

/**
 * Outcome of a resolved doubt, counted by exactly one run. A record that proves stored counts as accepted in the run that sent it, and as unchanged
 * where it was held back or occurred a second time. A record sent again counts as accepted in the later run alone, where the receipt is.
 */
const BECAME = sql<'accepted' | 'unchanged' | 'rejected'>`case
  when exception.state in ('rejected', 'settled') then 'rejected'
  when exception.batch_id is null then 'unchanged'
  else 'accepted' end`

/** `decided` names no state: the decision finds the records. */
const STATES: Readonly<Record<Selection | 'any', readonly ('rejected' | 'in-doubt' | 'warning')[]>> = {
  rejected: ['rejected'],
  'in-doubt': ['in-doubt'],
  'left-behind': ['rejected', 'in-doubt'],
  decided: [],
  any: [],
}

const doubts = (database: Database) =>
  leftRecords(database).where('exception.outcome', '=', 'in-doubt').where('exception.state', '=', 'in-doubt')

/** Exceptions of settled chunks, and of open chunks of given-up runs. An open chunk of any other run is still in the hands of the run. */
const leftRecords = (database: Database) =>
  withChunk(database)
    .innerJoin('run', 'run.id', 'export.run_id')
    .where((eb) => eb.or([eb('chunk.state', '=', 'settled'), eb('run.reason', '=', 'given-up')]))
    .select([
      'exception.id',
      'run.id as run',
      'export.id as exportRow',
      'export.export_id as exportId',
      'exception.row',
      'exception.rule',
      'exception.content',
      'exception.kind',
      'exception.code',
      'exception.batch_id as batchId',
    ])
    .$castTo<LeftRecord>()

/** Stores the resolution together with the first decision that follows from it. @returns the id, or null where no person has decided */
export async function noteResolution(
  writer: Writer,
  resolution: Resolution | undefined,
): Promise<number | null> {
  if (resolution === undefined) return null
  const { run, decision, by, note, at } = resolution
  await writer
    .insertInto('resolution')
    .values({ run_id: run, decision, person: by, note, at })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
  const known = writer.selectFrom('resolution').select('id').where('run_id', '=', run).where('at', '=', at)
  return (await known.where('decision', '=', decision).executeTakeFirstOrThrow()).id
}

/**
 * Holds records in doubt.
 * @param sentUntil as in `HeldDoubt`. If null replaces a time, the new series replaces the old series; otherwise the old series stays
 */
export async function hold(
  statements: Statements,
  { jobId }: Lease,
  exportRow: number,
  held: readonly HeldRecord[],
  sentUntil: number | null = null,
): Promise<void> {
  for (const { rowKey, rule, content, series } of held)
    await statements.run(
      `insert into held (job_id, row_key, content, rule, series, export_row, sent_until) values (?, ?, ?, ?, ?, ?, ?)
      on conflict (job_id, row_key, content) do update set sent_until = excluded.sent_until,
        series = case when held.sent_until is not null and excluded.sent_until is null then excluded.series else held.series end`,
      ...[jobId, Buffer.from(rowKey, 'hex'), Buffer.from(content, 'hex'), Buffer.from(rule, 'hex')],
      ...[series === null ? null : Buffer.from(series, 'hex'), exportRow, sentUntil],
    )
}

/** Releases records held under former row keys: their people were forgotten meanwhile. */
export async function releaseFormer(
  statements: Statements,
  { jobId }: Lease,
  held: readonly HeldRecord[],
): Promise<void> {
  if (held.length === 0) return
  await statements.run(
    `delete from held where job_id = ? and content in (${statements.dialect.hashes})
      and row_key not in (${statements.dialect.hashes})`,
    ...[jobId, JSON.stringify(held.map(({ content }) => content))],
    JSON.stringify(held.map(({ rowKey }) => rowKey)),
  )
}

/** Stores the decisions, moves the exceptions, and releases records that are held no longer. */
export async function rule(writer: Writer, lease: Lease, ruling: Ruling, at: number): Promise<void> {
  const resolution = await noteResolution(writer, ruling.resolution)
  for (const { exception, event, run = ruling.run } of ruling.decisions) {
    const { state } = await writer
      .selectFrom('exception')
      .select('state')
      .where('id', '=', exception)
      .executeTakeFirstOrThrow()
    // Warnings are never left behind: no move leads from a warning.
    const next = advance('record', state === 'warning' ? 'settled' : state, event)
    await writer.updateTable('exception').set({ state: next }).where('id', '=', exception).execute()
    await writer.insertInto('decision').values({ exception, event, run_id: run, resolution, at }).execute()
  }
  for (const { rowKey, content } of ruling.released) {
    await writer
      .deleteFrom('held')
      .where('job_id', '=', lease.jobId)
      .where('row_key', '=', Buffer.from(rowKey, 'hex'))
      .where('content', '=', Buffer.from(content, 'hex'))
      .execute()
  }
}

/**
 * Sending a planned batch is noted without waiting for the disk: the note outlives the process, but not the machine. A batch that was planned
 * before the latest start of the machine may therefore have been sent.
 * @param place boot and PID namespace of this process (`ProcessTable.place`)
 */
export const isPerhapsSent = (
  batch: Pick<BatchRecord, 'state' | 'place'>,
  place: string | undefined,
): boolean => batch.state === 'planned' && (place === undefined || batch.place !== place)

/** Finds sent records in unsettled batches of open chunks of given-up runs. Exceptions show the doubts of settled batches. */
async function sentByGivenUp(
  database: Database,
  jobId: number,
  contents: readonly string[],
  place: string | undefined,
): Promise<ReadonlyMap<string, PlacedRecord>> {
  const sent = new Map<string, PlacedRecord>()
  if (contents.length === 0) return sent
  const wanted = new Set(contents)
  const batches = await database
    .selectFrom('run')
    .innerJoin('export', 'export.run_id', 'run.id')
    .innerJoin('chunk', 'chunk.export_row', 'export.id')
    .innerJoin('batch', (join) =>
      join.onRef('batch.export_row', '=', 'chunk.export_row').onRef('batch.chunk', '=', 'chunk.number'),
    )
    .innerJoin('batch_holds', 'batch_holds.batch', 'batch.id')
    .where('run.job_id', '=', jobId)
    .where('run.state', '=', 'failed')
    .where('run.reason', '=', 'given-up')
    .where('chunk.state', '=', 'open')
    .where('batch.state', 'in', ['planned', 'sending'])
    .select(['batch.state', 'batch.place', 'holds', 'batch.batch_id as batchId', 'export_id as exportId'])
    .execute()
  for (const { state, place: plannedAt, holds, batchId, exportId } of batches) {
    if (state === 'planned' && !isPerhapsSent({ state, place: plannedAt }, place)) continue
    for (const { row, rule, content } of unpackHolds(holds))
      if (wanted.has(content)) sent.set(content, { row, rule, content, exportId, batchId })
  }
  return sent
}
