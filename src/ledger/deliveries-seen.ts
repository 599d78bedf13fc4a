/** The step that brought `delivery.seen_at`. */
import { type Kysely, sql } from 'kysely'

/** Which of the files the newest run has found is not known: any of them may lie there still. */
export async function addDeliveriesSeen(db: Kysely<unknown>): Promise<void> {
  await sql`alter table delivery add column seen_at integer not null default 0`.execute(db)
  await sql`update delivery set seen_at = (select max(taken_at) from delivery)`.execute(db)
}
