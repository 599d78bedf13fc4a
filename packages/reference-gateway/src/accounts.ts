import type { DatabaseSync } from 'node:sqlite'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import {
  AccountQuery,
  type AccountReference,
  accountIdOfEntity,
  EntityQuery,
  RegistrationRequest,
} from '../../../src/gateway/contract/account.ts'
import { checked, type Fault, faultAt, MOST_FAULTS, Refusal, serveEndpoint, textOf } from './refusal.ts'
import { buildIndex, inTransaction } from './store.ts'

/** Registered account. */
export interface Account {
  /** Key in the store, used by records. */
  readonly seq: number
  readonly accountId: string
}

/** Opens the accounts table. With `open`, a call creates the unregistered account that it names. */
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

    /** Returns the account of a user-centric call; undefined if it is not registered and `open` is off. */
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

    /** Date of birth, YYYY-MM-DD; undefined for an account created without registration. */
    dateOfBirthOf(account: Account): string | undefined {
      const registration = registrationOf.get(account.seq)?.['registration']
      if (typeof registration !== 'string') return undefined
      return RegistrationRequest.parse(JSON.parse(registration)).dateOfBirth
    },

    /** Removes the account and all its records; its partner account id can be registered again. */
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

/** Parts that every resource needs. */
export interface Parts {
  readonly app: FastifyInstance
  readonly store: DatabaseSync
  readonly accounts: AccountStore
  /** Epoch milliseconds. */
  readonly clock: () => number
  /** Returns a new id at every call. */
  readonly makeId: () => string
}

/** Returns the account of `accountReference` and `accountReferenceType`. 400 if they are invalid, 404 if the account is not registered. */
export function accountInQuery(query: unknown, accounts: AccountStore): Account {
  const { accountReference: reference, accountReferenceType: type } = checked(AccountQuery, query, 'query')
  return registered(accounts.resolve({ reference, type }))
}

/** Returns the account of the query. `entity`, the URL form that ends in the account id, replaces a missing reference. */
export function accountOrEntityInQuery(query: unknown, accounts: AccountStore): Account {
  const entity = EntityQuery.extend({ accountReference: z.undefined().optional() }).safeParse(query)
  if (!entity.success) return accountInQuery(query, accounts)
  return registered(accounts.resolve({ reference: accountIdOfEntity(entity.data.entity), type: 'accountId' }))
}

/** Refuses an unregistered account with 404. */
export function registered(account: Account | undefined, place = 'account'): Account {
  if (account === undefined) throw new Refusal(404, [faultAt(place, 'not registered')])
  return account
}

/** Record of a batch. */
export interface Incoming<Item> {
  /** Documented fields, checked. */
  readonly record: Item
  /** JSON text of the record as sent, including undocumented fields. */
  readonly body: string
}

/** Creates the reader of an array of records: 400 with position and field of every problem. */
export function createBatchReader<Item>(item: z.ZodType<Item>) {
  const schema = z.array(item).min(1)
  return (body: unknown): Incoming<Item>[] => {
    const records = checked(schema, body, 'records')
    const sent: unknown[] = Array.isArray(body) ? body : []
    return records.map((record, index) => ({ record, body: textOf(sent[index]) }))
  }
}

/** Record of a batch with its account. */
export interface Owned<Item> extends Incoming<Item> {
  readonly owner: Account
}

/**
 * Resolves the account of each record. 404 with the positions of records with an unregistered account; 400 if a call for a single user
 * holds records of another.
 */
export function withOwners<Item extends { readonly account: AccountReference }>(
  batch: readonly Incoming<Item>[],
  accounts: AccountStore,
  users: 'one' | 'several',
): Owned<Item>[] {
  const known = new Map<string, Account | undefined>()
  const unknown: Fault[] = []
  const owned: Owned<Item>[] = []
  for (const [position, { record, body }] of batch.entries()) {
    const { type, reference } = record.account
    const key = `${type} ${reference}`
    if (!known.has(key)) known.set(key, accounts.resolve({ type, reference }))
    const owner = known.get(key)
    if (owner === undefined)
      unknown.push(faultAt('records', 'the account is not registered', position, 'account'))
    else owned.push({ record, body, owner })
  }
  if (unknown.length > 0) throw new Refusal(404, unknown.slice(0, MOST_FAULTS))
  const stranger = users === 'one' ? owned.findIndex(({ owner }) => owner.seq !== owned[0]?.owner.seq) : -1
  if (stranger !== -1) {
    throw new Refusal(400, [faultAt('records', 'not the user of the first record', stranger, 'account')])
  }
  return owned
}

/** Values of `gender` accepted here; the interface shows `FEMALE` and leaves others open. */
const GENDERS = ['FEMALE', 'MALE', 'OTHER', 'UNKNOWN'] as const

/** Answer to registering a known partnerAccountId: 200 with its account id, or 409. The interface leaves this open. */
export type RegisteredAgain = 'same' | 'conflict'

/** Serves section "Accounts". Registration answers without an envelope; deletion answers 204, and 404 for an unknown account. */
export function serveAccounts({ app, accounts, clock }: Parts, registeredAgain: RegisteredAgain): void {
  const Registration = RegistrationRequest.extend({
    gender: z.enum(GENDERS),
    dateOfBirth: z.iso
      .date()
      .refine((date) => Date.parse(date) <= clock(), 'Invalid date: it lies in the future'),
  })

  serveEndpoint(app, 'registerAccount', async (request) => {
    const { partnerAccountId } = checked(Registration, request.body, 'registration')
    const known = accounts.find({ reference: partnerAccountId, type: 'partnerAccountId' })
    if (known !== undefined && registeredAgain === 'conflict') {
      throw new Refusal(409, [faultAt('registration', 'registered already', undefined, 'partnerAccountId')])
    }
    const { accountId } = known ?? accounts.register(partnerAccountId, textOf(request.body))
    return { accountId, partnerAccountId }
  })

  serveEndpoint(app, 'deleteAccount', async (request, reply) => {
    accounts.remove(accountInQuery(request.query, accounts))
    return reply.code(204).send()
  })
}
