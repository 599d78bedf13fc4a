/** Brings the tables of a ledger to the shape of this program. */
import { type Migration, Migrator } from 'kysely/migration'
import { WaybillError } from '../../model/errors.ts'
import type { Writer } from './exclusive.ts'

/**
 * Asks about earlier deliveries when a new ledger is made. @returns the time up to which more was sent than the new ledger knows, in milliseconds
 * since the epoch; undefined: nothing was sent
 */
export type OnNewLedger = () => number | undefined

interface Migrating {
  readonly migrations: Readonly<Record<string, Migration>>
  readonly applied: readonly string[]
  /** File or address of the ledger, without a password. */
  readonly where: string
  /** Schema of the tables, where a database has several. */
  readonly schema?: string | undefined
  readonly onNew: OnNewLedger | undefined
}

/** Beginnings of names among the migrations: a file that was moved to PostgreSQL, and a database that a file is being copied to. */
export const MOVED = 'moved '
export const BEING_COPIED = 'being copied '

/** @throws `ledger-moved`, `copy-unfinished`, `ledger-newer`, `ledger-older` (from before the first release: hashes were made in another way) */
export function assertKnown(
  migrations: Migrating['migrations'],
  applied: readonly string[],
  where: string,
): void {
  const unknown = applied.filter((name) => migrations[name] === undefined)
  if (unknown.length === 0) return
  const moved = unknown.find((name) => name.startsWith(MOVED))
  if (moved !== undefined)
    throw new WaybillError('ledger-moved', `the ledger ${where} was moved to ${movedTo(moved)}`, {
      place: { file: where },
    })
  if (unknown.some((name) => name.startsWith(BEING_COPIED)))
    throw new WaybillError('copy-unfinished', `the ledger ${where} is an unfinished copy of a file`)
  const [oldest = ''] = Object.keys(migrations)
  const isOlder = unknown.every((name) => name < oldest)
  const words = isOlder
    ? 'has a form from before the first release'
    : 'was written by a newer version of Waybill'
  throw new WaybillError(
    isOlder ? 'ledger-older' : 'ledger-newer',
    `the ledger ${where} ${words} (it has ${unknown.join(', ')})`,
    { place: { file: where } },
  )
}

/** Address, as the file has it. */
export const movedTo = (name: string): string => name.slice(MOVED.length).split(' ')[1] ?? 'a database'

/** @throws as `assertKnown` */
export async function migrate(
  writer: Writer,
  { migrations, applied, where, schema, onNew }: Migrating,
): Promise<void> {
  assertKnown(migrations, applied, where)
  if (applied.length === Object.keys(migrations).length) return
  const behindSince = applied.length === 0 ? onNew?.() : undefined
  const migrator = new Migrator({
    db: writer,
    provider: { getMigrations: async () => ({ ...migrations }) },
    ...(schema === undefined ? {} : { migrationTableSchema: schema }),
  })
  const { error } = await migrator.migrateToLatest()
  if (error !== undefined) throw error
  if (behindSince !== undefined) await writer.insertInto('copy').values({ taken_at: behindSince }).execute()
}
