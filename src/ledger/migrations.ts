/** The ledger's shape, step by step. A step once released is never changed. */
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'
import { addDeliveriesSeen } from './deliveries-seen.ts'
import { addKnownSince } from './known-since.ts'
import { addOutages } from './lease-tables.ts'
import { addWorkedTime } from './worked-time.ts'

export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001-ledger': {
    async up(db: Kysely<unknown>) {
      await db.schema
        .createTable('job')
        .addColumn('id', 'integer', (column) => column.primaryKey())
        .addColumn('name', 'text', (column) => column.notNull())
        .addColumn('gateway', 'text', (column) => column.notNull())
        .addUniqueConstraint('job_name_gateway', ['name', 'gateway'])
        .execute()
      await db.schema
        .createTable('lease')
        .addColumn('job_id', 'integer', (column) => column.primaryKey())
        .addColumn('run_id', 'text', (column) => column.notNull())
        .addColumn('owner', 'text', (column) => column.notNull())
        .addColumn('token', 'integer', (column) => column.notNull())
        .addColumn('acquired_at', 'integer', (column) => column.notNull())
        .addColumn('expires_at', 'integer', (column) => column.notNull())
        .execute()
      await db.schema
        .createTable('run')
        .addColumn('id', 'text', (column) => column.primaryKey())
        .addColumn('job_id', 'integer', (column) => column.notNull())
        .addColumn('state', 'text', (column) => column.notNull())
        .addColumn('started_at', 'integer', (column) => column.notNull())
        .addColumn('ended_at', 'integer')
        .addColumn('reason', 'text')
        .addColumn('worked_ms', 'integer', (column) => column.notNull().defaultTo(0))
        .addColumn('rejects_path', 'text', (column) => column.notNull())
        .addColumn('receipts_path', 'text', (column) => column.notNull())
        .addColumn('tallies', 'text', (column) => column.notNull())
        .addColumn('receipts_length', 'integer', (column) => column.notNull().defaultTo(0))
        .execute()
      await db.schema.createIndex('run_by_job').on('run').columns(['job_id', 'started_at']).execute()
      await db.schema
        .createTable('mapping')
        .addColumn('digest', 'text', (column) => column.primaryKey())
        .addColumn('name', 'text', (column) => column.notNull())
        .addColumn('content', 'text', (column) => column.notNull())
        .execute()
      await db.schema
        .createTable('export')
        .addColumn('id', 'integer', (column) => column.primaryKey())
        .addColumn('run_id', 'text', (column) => column.notNull())
        .addColumn('ordinal', 'integer', (column) => column.notNull())
        .addColumn('export_id', 'text', (column) => column.notNull())
        .addColumn('name', 'text', (column) => column.notNull())
        .addColumn('path', 'text', (column) => column.notNull())
        .addColumn('sha256', 'text', (column) => column.notNull())
        .addColumn('bytes', 'integer', (column) => column.notNull())
        .addColumn('mapping_digest', 'text', (column) => column.notNull())
        .addColumn('state', 'text', (column) => column.notNull())
        .addColumn('reason', 'text')
        .addUniqueConstraint('export_of_run', ['run_id', 'ordinal'])
        .execute()
      await db.schema.createIndex('export_by_content').on('export').column('export_id').execute()
      await db.schema
        .createTable('chunk')
        .addColumn('export_row', 'integer', (column) => column.notNull())
        .addColumn('number', 'integer', (column) => column.notNull())
        .addColumn('first_row', 'integer', (column) => column.notNull())
        .addColumn('first_line', 'integer', (column) => column.notNull())
        .addColumn('byte_offset', 'integer', (column) => column.notNull())
        .addColumn('rows', 'integer', (column) => column.notNull())
        .addColumn('state', 'text', (column) => column.notNull())
        .addColumn('counts', 'text')
        .addColumn('rejects_length', 'integer')
        .addColumn('settled_at', 'integer')
        .addPrimaryKeyConstraint('chunk_of_export', ['export_row', 'number'])
        .execute()
      await db.schema
        .createTable('batch')
        .addColumn('id', 'integer', (column) => column.primaryKey())
        .addColumn('batch_id', 'text', (column) => column.notNull())
        .addColumn('export_row', 'integer', (column) => column.notNull())
        .addColumn('chunk', 'integer', (column) => column.notNull())
        .addColumn('kind', 'text', (column) => column.notNull())
        .addColumn('records', 'integer', (column) => column.notNull())
        .addColumn('state', 'text', (column) => column.notNull())
        .addColumn('attempts', 'integer', (column) => column.notNull())
        .addColumn('answer', 'text')
        .addColumn('status', 'integer')
        .addColumn('holds', 'blob', (column) => column.notNull())
        .addColumn('begun_at', 'integer', (column) => column.notNull())
        .addColumn('settled_at', 'integer')
        .execute()
      await db.schema.createIndex('batch_of_chunk').on('batch').columns(['export_row', 'chunk']).execute()
      await db.schema
        .createTable('exception')
        .addColumn('id', 'integer', (column) => column.primaryKey())
        .addColumn('export_row', 'integer', (column) => column.notNull())
        .addColumn('chunk', 'integer', (column) => column.notNull())
        .addColumn('row', 'integer', (column) => column.notNull())
        .addColumn('line', 'integer', (column) => column.notNull())
        .addColumn('byte_offset', 'integer', (column) => column.notNull())
        .addColumn('kind', 'text')
        .addColumn('rule', 'text')
        .addColumn('content', 'text')
        .addColumn('outcome', 'text', (column) => column.notNull())
        .addColumn('stage', 'text', (column) => column.notNull())
        .addColumn('code', 'text', (column) => column.notNull())
        .addColumn('field', 'text')
        .addColumn('message', 'text', (column) => column.notNull())
        .addColumn('batch_id', 'text')
        .execute()
      await db.schema
        .createIndex('exception_of_chunk')
        .on('exception')
        .columns(['export_row', 'chunk', 'row'])
        .execute()
      // Keyed by their own columns and read by key alone: no second tree for them.
      await sql`create table delivered (job_id integer not null, row_key blob not null, records blob not null,
        primary key (job_id, row_key)) without rowid`.execute(db)
      await sql`create table held (job_id integer not null, row_key blob not null, content blob not null,
        rule blob not null, series blob, export_row integer not null, primary key (job_id, row_key, content)) without rowid`.execute(
        db,
      )
      await sql`create table account (gateway text not null, reference blob not null, account_id text,
        registered_at integer not null, sent_before integer, primary key (gateway, reference)) without rowid`.execute(
        db,
      )
    },
  },
  '0002-drift': {
    async up(db: Kysely<unknown>) {
      await db.schema.alterTable('export').addColumn('drift', 'text').execute()
      await db.schema
        .createTable('profile')
        .addColumn('job', 'text', (column) => column.notNull())
        .addColumn('mapping', 'text', (column) => column.notNull())
        .addColumn('sha256', 'text', (column) => column.notNull())
        .addColumn('export_row', 'integer', (column) => column.notNull())
        .addColumn('accepted', 'integer', (column) => column.notNull())
        .addColumn('content', 'text', (column) => column.notNull())
        .addPrimaryKeyConstraint('profile_of_content', ['job', 'mapping', 'sha256'])
        .execute()
    },
  },
  '0003-left-behind': {
    async up(db: Kysely<unknown>) {
      await db.schema.alterTable('run').addColumn('origin_run', 'text').execute()
      await db.schema.alterTable('run').addColumn('selection', 'text').execute()
      await db.schema
        .alterTable('export')
        .addColumn('reading', 'text', (column) => column.notNull().defaultTo('whole'))
        .execute()
      await db.schema.alterTable('export').addColumn('origin_export', 'integer').execute()
      await db.schema
        .alterTable('exception')
        .addColumn('state', 'text', (column) => column.notNull().defaultTo(''))
        .execute()
      await sql`update exception set state = outcome`.execute(db)
      await db.schema.createIndex('exception_by_row').on('exception').columns(['export_row', 'row']).execute()
      await db.schema
        .createIndex('exception_by_place')
        .on('exception')
        .columns(['export_row', 'byte_offset'])
        .execute()
      await sql`create index exception_in_doubt on exception (content) where outcome = 'in-doubt'`.execute(db)
      await db.schema
        .createTable('decision')
        .addColumn('id', 'integer', (column) => column.primaryKey())
        .addColumn('exception', 'integer', (column) => column.notNull())
        .addColumn('event', 'text', (column) => column.notNull())
        .addColumn('run_id', 'text')
        .addColumn('at', 'integer', (column) => column.notNull())
        .execute()
      await db.schema.createIndex('decision_of_exception').on('decision').column('exception').execute()
      await db.schema.createIndex('decision_of_run').on('decision').column('run_id').execute()
    },
  },
  '0004-care-teams': {
    async up(db: Kysely<unknown>) {
      await db.schema.alterTable('account').addColumn('registered_by', 'text').execute()
      await sql`create table care_team (gateway text not null, account blob not null, npi blob not null,
        observed_at integer not null, mark text not null, account_id text, content blob,
        primary key (gateway, account, npi)) without rowid`.execute(db)
      await sql`create index care_team_owed on care_team (gateway, account) where mark in ('to-set', 'to-unset')`.execute(
        db,
      )
    },
  },
  '0005-schedule': {
    async up(db: Kysely<unknown>) {
      await db.schema
        .createTable('timetable')
        .addColumn('job_id', 'integer', (column) => column.primaryKey())
        .addColumn('cron', 'text', (column) => column.notNull())
        .addColumn('zone', 'text', (column) => column.notNull())
        .addColumn('seen_until', 'integer', (column) => column.notNull())
        .execute()
      await db.schema
        .createTable('fire')
        .addColumn('job_id', 'integer', (column) => column.notNull())
        .addColumn('due', 'integer', (column) => column.notNull())
        .addColumn('state', 'text', (column) => column.notNull())
        .addColumn('made_up_by', 'integer')
        .addColumn('owner', 'text')
        .addColumn('run_id', 'text')
        .addColumn('begun_at', 'integer')
        .addColumn('ended_at', 'integer')
        .addColumn('exit', 'integer')
        .addColumn('error', 'text')
        .addColumn('reason', 'text')
        .addColumn('detail', 'text')
        .addPrimaryKeyConstraint('fire_of_job', ['job_id', 'due'])
        .execute()
      await sql`create index fire_open on fire (job_id, due) where state in ('due', 'missed', 'running', 'interrupted')`.execute(
        db,
      )
    },
  },
  '0006-housekeeping': {
    async up(db: Kysely<unknown>) {
      await db.schema.alterTable('run').addColumn('pruned_at', 'integer').execute()
      await db.schema.alterTable('export').addColumn('totals', 'text').execute()
      await db.schema
        .createTable('copy')
        .addColumn('taken_at', 'integer', (column) => column.notNull())
        .execute()
    },
  },
  '0007-notifications': {
    async up(db: Kysely<unknown>) {
      await db.schema
        .createTable('notification')
        .addColumn('id', 'integer', (column) => column.primaryKey())
        .addColumn('message_id', 'text', (column) => column.notNull())
        .addColumn('job_id', 'integer', (column) => column.notNull())
        .addColumn('kind', 'text', (column) => column.notNull())
        .addColumn('subject', 'text', (column) => column.notNull())
        .addColumn('target', 'text', (column) => column.notNull())
        .addColumn('address', 'text', (column) => column.notNull())
        .addColumn('notice', 'text', (column) => column.notNull())
        .addColumn('state', 'text', (column) => column.notNull())
        .addColumn('attempts', 'integer', (column) => column.notNull().defaultTo(0))
        .addColumn('next_at', 'integer', (column) => column.notNull())
        .addColumn('created_at', 'integer', (column) => column.notNull())
        .addColumn('delivered_at', 'integer')
        .addColumn('error', 'text')
        .addUniqueConstraint('notification_told_once', ['job_id', 'kind', 'subject', 'target'])
        .execute()
      await sql`create index notification_pending on notification (next_at) where state = 'pending'`.execute(
        db,
      )
    },
  },
  '0008-backfill': {
    async up(db: Kysely<unknown>) {
      await db.schema.alterTable('run').addColumn('backfill', 'text').execute()
      await db.schema.alterTable('run').addColumn('backfill_folder', 'text').execute()
      await db.schema
        .alterTable('lease')
        .addColumn('gives_way', 'integer', (column) => column.notNull().defaultTo(0))
        .execute()
      await db.schema
        .createTable('waiting')
        .addColumn('job_id', 'integer', (column) => column.notNull())
        .addColumn('owner', 'text', (column) => column.notNull())
        .addColumn('since', 'integer', (column) => column.notNull())
        .addColumn('expires_at', 'integer', (column) => column.notNull())
        .addPrimaryKeyConstraint('waiting_of_job', ['job_id', 'owner'])
        .execute()
    },
  },
  '0009-expectations': {
    async up(db: Kysely<unknown>) {
      await sql`create table delivery (job text not null, mapping text not null, address text not null,
        modified_at integer not null, bytes integer not null, name text not null, taken_at integer not null,
        primary key (job, mapping, address, modified_at, bytes)) without rowid`.execute(db)
      await sql`create index delivery_by_age on delivery (job, mapping, taken_at, modified_at)`.execute(db)
      await sql`create table deadline (job text not null, mapping text not null, source text not null,
        timetable text not null, due integer not null, judged_at integer not null, state text not null,
        expected integer not null, arrived integer not null, small integer not null, known text,
        primary key (job, mapping, source, timetable, due)) without rowid`.execute(db)
    },
  },
  '0010-part-of-a-run': {
    async up(db: Kysely<unknown>) {
      await db.schema.alterTable('run').addColumn('part', 'text').execute()
    },
  },
  '0011-worked-time': { up: addWorkedTime },
  '0012-archived': {
    async up(db: Kysely<unknown>) {
      await db.schema.alterTable('export').addColumn('archived', 'text').execute()
    },
  },
  '0013-known-since': { up: addKnownSince },
  '0015-outages': { up: addOutages },
  '0016-deliveries-seen': { up: addDeliveriesSeen },
}
