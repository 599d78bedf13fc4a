/** Why rows and records of a run were left behind: its exceptions, grouped for reading. */
import { type Kysely, sql } from 'kysely'
import type { LedgerTables } from './tables.ts'

export interface Reason {
  readonly outcome: string
  readonly stage: string
  readonly code: string
  readonly rule: string | null
  readonly exportName: string
  /** Column or path that the words are about. */
  readonly field: string | null
  readonly message: string
  readonly count: number
  /** How many of them later runs have settled. */
  readonly settled: number
  /** How many of them an earlier run had left behind as they are. */
  readonly known: number
  /** When the earliest of these was met first: ISO 8601, UTC. */
  readonly knownSince?: string
  /** One of those that are not settled, where it came so far as to be a record: one that the mapping rejected has no content. */
  readonly example?: LeftExample
}

/** Of what a transaction id is made. */
export interface LeftExample {
  readonly exportId: string
  readonly row: number
  readonly rule: string
  readonly content: string
}

/** The words, behind the column that they are about: as a rejects file has them. */
export const wordsOf = ({ field, message }: Pick<Reason, 'field' | 'message'>): string =>
  field === null ? message : `${field}: ${message}`

/** Most frequent first. */
export async function readReasons(database: Kysely<LedgerTables>, runId: string): Promise<Reason[]> {
  const groups = await database
    .selectFrom('exception')
    .innerJoin('export', 'export.id', 'exception.export_row')
    .where('export.run_id', '=', runId)
    .where('exception.state', '!=', 'accepted')
    .select([REMAINING.as('outcome'), 'stage', 'code', 'rule', 'field', 'message'])
    .select('export.name as exportName')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .select([SETTLED.as('settled'), FIRST_OPEN.as('first')])
    .select((eb) => [eb.fn.count<number>('known_since').as('known'), eb.fn.min('known_since').as('since')])
    .groupBy([REMAINING, 'stage', 'code', 'rule', 'field', 'message', 'export.name'])
    .orderBy('count', 'desc')
    .orderBy('code')
    .orderBy('rule')
    .orderBy('field')
    .orderBy('export.name')
    .execute()
  const examples = await readExamples(
    database,
    groups.flatMap(({ first }) => first ?? []),
  )
  return groups.map(({ first, since, ...group }) => {
    const example = first === null ? undefined : examples.get(first)
    return {
      ...group,
      ...(since === null ? {} : { knownSince: new Date(since).toISOString() }),
      ...(example === undefined ? {} : { example }),
    }
  })
}

/** Why most of what is left of a run was left behind; undefined where nothing is. */
export const readMostFrequent = (
  database: Kysely<LedgerTables>,
  runId: string,
): Promise<Pick<Reason, 'code' | 'count'> | undefined> =>
  database
    .selectFrom('exception')
    .innerJoin('export', 'export.id', 'exception.export_row')
    .where('export.run_id', '=', runId)
    .where('exception.state', 'not in', ['accepted', 'settled'])
    .select('code')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .groupBy('code')
    .orderBy('count', 'desc')
    .orderBy('code')
    .limit(1)
    .executeTakeFirst()

/** What is left of an exception: a reject that a later run has settled is one of its own run all the same. */
const REMAINING = sql<string>`case exception.state when 'settled' then 'rejected' else exception.state end`
const SETTLED = sql<number>`sum(case exception.state when 'settled' then 1 else 0 end)`
const FIRST_OPEN = sql<
  number | null
>`min(case when exception.state != 'settled' and exception.content is not null then exception.id end)`

/** Groups looked up at once; SQLite takes at most 32,766 parameters. */
const EXAMPLES_AT_ONCE = 500

async function readExamples(
  database: Kysely<LedgerTables>,
  ids: readonly number[],
): Promise<Map<number, LeftExample>> {
  const found = new Map<number, LeftExample>()
  for (let start = 0; start < ids.length; start += EXAMPLES_AT_ONCE) {
    const rows = await database
      .selectFrom('exception')
      .innerJoin('export', 'export.id', 'exception.export_row')
      .select(['exception.id', 'export.export_id as exportId', 'exception.row', 'rule', 'content'])
      .where('exception.id', 'in', ids.slice(start, start + EXAMPLES_AT_ONCE))
      .execute()
    for (const { id, exportId, row, rule, content } of rows)
      if (rule !== null && content !== null) found.set(id, { exportId, row, rule, content })
  }
  return found
}
