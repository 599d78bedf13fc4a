/**
 * The ledger's shape, step by step: a step once released is never changed. Nothing is released yet, so there is one. Instants are
 * milliseconds since the epoch; what is keyed by its own columns and read by key alone has no second tree.
 */
import { type Kysely, sql } from 'kysely'
import type { Migration } from 'kysely/migration'

export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '2026-11-ledger': {
    async up(db: Kysely<unknown>) {
      for (const statement of SHAPE) await sql.raw(statement).execute(db)
    },
  },
}

const SHAPE = [
  `create table job (id integer primary key, name text not null, gateway text not null, unique (name, gateway))`,
  `create table lease (job_id integer primary key, run_id text not null, owner text not null, token integer not null,
    acquired_at integer not null, expires_at integer not null, gives_way integer not null default 0, outage text,
    stop_by text)`,
  `create table waiting (job_id integer not null, owner text not null, since integer not null, expires_at integer not null,
    primary key (job_id, owner))`,

  `create table run (id text primary key, job_id integer not null, state text not null, started_at integer not null,
    ended_at integer, reason text, detail text, worked_ms integer not null default 0, worked_at integer,
    rejects_path text not null, receipts_path text not null, receipts_length integer not null default 0,
    tallies text not null, origin_run text, selection text, pruned_at integer, backfill text, backfill_folder text,
    part text, resumed_at integer, collection text)`,
  `create index run_by_job on run (job_id, started_at)`,
  `create table mapping (digest text primary key, name text not null, content text not null)`,
  `create table export (id integer primary key, run_id text not null, ordinal integer not null, export_id text not null,
    name text not null, path text not null, sha256 text not null, bytes integer not null, mapping_digest text not null,
    state text not null, reason text, drift text, reading text not null default 'whole', origin_export integer,
    totals text, archived text, held_back text, unique (run_id, ordinal))`,
  `create index export_by_content on export (export_id)`,
  `create index export_by_name on export (sha256, name)`,
  `create index export_by_delivery on export (name)`,
  `create table profile (job text not null, mapping text not null, sha256 text not null, export_row integer not null,
    accepted integer not null, content text not null, primary key (job, mapping, sha256))`,
  `create table chunk (export_row integer not null, number integer not null, first_row integer not null,
    first_line integer not null, byte_offset integer not null, rows integer not null, state text not null, counts text,
    rejects_length integer, settled_at integer, worked_ms integer, primary key (export_row, number))`,
  `create table batch (id integer primary key, batch_id text not null, export_row integer not null,
    chunk integer not null, kind text not null, records integer not null, state text not null, attempts integer not null,
    answer text, status integer, place text, begun_at integer not null, settled_at integer)`,
  `create table batch_holds (batch integer primary key, holds blob not null)`,
  `create index batch_of_chunk on batch (export_row, chunk)`,

  `create table exception (id integer primary key, export_row integer not null, chunk integer not null,
    row integer not null, line integer not null, byte_offset integer not null, kind text, rule text, content text,
    outcome text not null, state text not null, stage text not null, code text not null, field text,
    message text not null, batch_id text, known_since integer)`,
  `create index exception_of_chunk on exception (export_row, chunk, row)`,
  `create index exception_by_row on exception (export_row, row)`,
  `create index exception_by_place on exception (export_row, byte_offset)`,
  `create index exception_in_doubt on exception (content) where outcome = 'in-doubt'`,
  `create table decision (id integer primary key, exception integer not null, event text not null, run_id text,
    resolution integer, at integer not null)`,
  `create table resolution (id integer primary key, run_id text not null, decision text not null, person text not null,
    note text, at integer not null, code text, undone_at integer, unique (run_id, at, decision))`,
  `create index decision_of_exception on decision (exception)`,
  `create index decision_of_run on decision (run_id)`,

  `create table delivered (id integer primary key, job_id integer not null, count integer not null, rows blob not null)`,
  `create table delivered_segment (id integer primary key, job_id integer not null, level integer not null, state text not null)`,
  `create index delivered_segment_of_job on delivered_segment (job_id, level)`,
  `create table delivered_block (id integer primary key, segment integer not null, first blob not null, entries blob not null,
    unique (segment, first))`,
  `create table delivered_filter (segment integer not null, first blob not null, bits blob not null,
    primary key (segment, first)) without rowid`,
  `create table delivered_replaced (pack integer primary key, job_id integer not null, count integer not null,
    replaced integer not null)`,
  // With the column first, as SQLite turns it: written otherwise no query would use the index.
  `create index delivered_to_clear on delivered_replaced (job_id) where count <= replaced * 2`,
  `create table held (job_id integer not null, row_key blob not null, content blob not null, rule blob not null,
    series blob, export_row integer not null, arrival integer not null, by_backfill integer not null,
    primary key (job_id, row_key, content)) without rowid`,
  `create table account (gateway text not null, reference blob not null, account_id text, registered_at integer not null,
    registered_by text, sent_before integer, primary key (gateway, reference)) without rowid`,
  `create table care_team (gateway text not null, account blob not null, npi blob not null, observed_at integer not null,
    stored_at integer not null, mark text not null, account_id text, heard_at integer not null, content blob, deletions text,
    primary key (gateway, account, npi)) without rowid`,
  `create index care_team_owed on care_team (gateway, account)
    where (mark in ('to-set', 'to-unset') or deletions is not null)`,
  `create table collected (job_id integer not null, person blob not null, content blob, run_id text not null,
    primary key (job_id, person)) without rowid`,
  `create table copy (taken_at integer not null)`,

  `create table timetable (job_id integer primary key, cron text not null, zone text not null,
    seen_until integer not null)`,
  `create table pause (job_id integer primary key, person text not null, note text, at integer not null)`,
  `create table fire (job_id integer not null, due integer not null, state text not null, made_up_by integer, owner text,
    run_id text, begun_at integer, ended_at integer, exit integer, error text, reason text, detail text,
    primary key (job_id, due))`,
  `create index fire_open on fire (job_id, due) where state in ('due', 'missed', 'running', 'interrupted')`,
  `create table notification (id integer primary key, message_id text not null, job_id integer not null,
    kind text not null, subject text not null, target text not null, address text not null, notice text not null,
    state text not null, attempts integer not null default 0, next_at integer not null, created_at integer not null,
    delivered_at integer, error text, unique (job_id, kind, subject, target))`,
  `create index notification_pending on notification (next_at) where state = 'pending'`,
  `create table delivery (job text not null, mapping text not null, address text not null, modified_at integer not null,
    bytes integer not null, name text not null, taken_at integer not null, seen_at integer not null default 0,
    primary key (job, mapping, address, modified_at, bytes)) without rowid`,
  `create index delivery_by_age on delivery (job, mapping, taken_at, modified_at)`,
  `create table deadline (job text not null, mapping text not null, source text not null, timetable text not null,
    due integer not null, judged_at integer not null, state text not null, expected integer not null,
    arrived integer not null, small integer not null, known text,
    primary key (job, mapping, source, timetable, due)) without rowid`,
]
