/** Mark of the home that all machines share. */
import type { SharedHome } from '../concerns.ts'
import type { PostgresLedgerDatabase } from './database.ts'

export function sharedHomeOf({ db, transaction }: PostgresLedgerDatabase): SharedHome {
  const markOf = async (database: typeof db): Promise<string | undefined> => {
    const tables = database.withTables<{ shared_home: { mark: string } }>()
    return (await tables.selectFrom('shared_home').select('mark').executeTakeFirst())?.mark
  }
  return {
    mark: () => markOf(db),
    claim: (mark) =>
      transaction('for-disk', true, async (writer, statements) => {
        const known = await markOf(writer)
        if (known === undefined) await statements.run('insert into shared_home (mark) values (?)', mark)
        return known ?? mark
      }),
  }
}
