import type { DatabaseSync } from 'node:sqlite'
import { type AccountReference, RegistrationRequest } from '../gateway/contract/account.ts'
import { buildIndex, inTransaction } from './store.ts'

/** A registered account. */
export interface Account {
  /** Its key in the store, by which records refer to it. */
  readonly seq: number
  readonly accountId: string
}

/** The accounts table. With `open`, an account that is not registered comes into being when a call names it. */
export function createAccountStore(
  store: DatabaseSync,
  options: { readonly open: boolean; readonly clock: () => number; readonly makeId: () => string },
) {
  const columns = 'SELECT seq, account_id FROM accounts WHERE'
  const byAccountId = store.prepare(`${columns} account_id = ?`)
  const byPartnerAccountId = store.prepare(`${columns} partner_account_id = ?`)
  const registrationOf = store.prepare('SELECT registration FROM accounts WHERE seq = ?')
  const insert = store.prepare(
    'INSERT INTO accounts (account_id, partner_account_id, registration, stored_ms) VALUES (?, ?, ?, ?)',
  )

  const find = ({ reference, type }: AccountReference): Account | undefined => {
    const row = (type === 'accountId' ? byAccountId : byPartnerAccountId).get(reference)
    return row === undefined ? undefined : { seq: Number(row['seq']), accountId: String(row['account_id']) }
  }

  const add = (accountId: string, partnerAccountId: string | null, registration: string | null): Account => {
    const { lastInsertRowid } = insert.run(accountId, partnerAccountId, registration, options.clock())
    return { seq: Number(lastInsertRowid), accountId }
  }

  return {
    find,

    /** The account that a user-centric call names; undefined where it is not registered and has to be. */
    resolve(account: AccountReference): Account | undefined {
      const found = find(account)
      if (found !== undefined || !options.open) return found
      return account.type === 'accountId'
        ? add(account.reference, null, null)
        : add(options.makeId(), account.reference, null)
    },

    /** Adds an account with the registration's JSON text. */
    register: (partnerAccountId: string, registration: string) =>
      add(options.makeId(), partnerAccountId, registration),

    /** YYYY-MM-DD; undefined of an account that was not registered but came into being. */
    dateOfBirthOf(account: Account): string | undefined {
      const registration = registrationOf.get(account.seq)?.['registration']
      if (typeof registration !== 'string') return undefined
      return RegistrationRequest.parse(JSON.parse(registration)).dateOfBirth
    },

    /** Removes the account and every record of it; its partner account id can be registered anew. */
    remove(account: Account): void {
      for (const table of ['biometrics', 'conditions'] as const) buildIndex(store, table, 'account')
      inTransaction(store, (db) => {
        for (const table of ['biometrics', 'conditions', 'care_teams', 'assessments']) {
          db.prepare(`DELETE FROM ${table} WHERE account = ?`).run(account.seq)
        }
        db.prepare('DELETE FROM accounts WHERE seq = ?').run(account.seq)
      })
    },
  }
}

export type AccountStore = ReturnType<typeof createAccountStore>
