/** State of the gateways, shared by all processes that send. Each change locks the row of its gateway. */
import { sql } from 'kysely'
import type { Paces } from '../concerns.ts'
import type { PostgresLedgerDatabase } from './database.ts'

export const pacesOf = ({ transaction, dialect }: PostgresLedgerDatabase): Paces => ({
  change: (gateway, work) =>
    transaction('for-nothing', false, async (writer) => {
      const tables = writer.withTables<{ pace: { gateway: string; state: string } }>()
      await tables
        .insertInto('pace')
        .values({ gateway, state: '' })
        .onConflict((conflict) => conflict.doNothing())
        .execute()
      const { rows } = await sql<{
        state: string
        now: number
      }>`select state, ${sql.raw(dialect.clock ?? '0')} as now
        from pace where gateway = ${gateway} for update`.execute(writer)
      const [{ state, now } = { state: '', now: 0 }] = rows
      const changed = work(state === '' ? undefined : state, now)
      await tables.updateTable('pace').set({ state: changed.state }).where('gateway', '=', gateway).execute()
      return changed.result
    }),
})
