/** A gateway that is wiped, and gives the account ids that it gave before to others. */
import { DatabaseSync } from 'node:sqlite'

/** What becomes of the accounts: nobody is registered; strangers have their ids; or people are registered under the id of another one. */
export const WIPES = ['nobody', 'strangers', 'exchanged'] as const
export type Wipe = (typeof WIPES)[number]

/** Data file of the reference gateway, in the folder of the round. */
export const GATEWAY_FILE = 'gateway.sqlite'

/** @param file the data file of the reference gateway, which may be open */
export function wipeGateway(file: string, how: Wipe): void {
  const database = new DatabaseSync(file)
  try {
    const accounts = database
      .prepare(
        'select account_id as id, partner_account_id as person, registration from accounts order by seq',
      )
      .all()
    database.exec('begin immediate')
    for (const table of ['biometrics', 'conditions', 'care_teams', 'accounts'])
      database.exec(`delete from ${table}`)
    const insert = database.prepare(
      'insert into accounts (account_id, partner_account_id, registration, stored_ms) values (?, ?, ?, 0)',
    )
    for (const [at, { person, registration }] of accounts.entries()) {
      const id = accounts[(at + 1) % accounts.length]?.['id'] ?? null
      if (how === 'exchanged') insert.run(id, person ?? null, registration ?? null)
      if (how === 'strangers') insert.run(id, `stranger-${at}`, registration ?? null)
    }
    database.exec('commit')
  } finally {
    database.close()
  }
}
