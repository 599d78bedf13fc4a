import type { DatabaseSync } from 'node:sqlite'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import {
  AccountQuery,
  type AccountReference,
  accountIdOfEntity,
  EntityQuery,
  RegistrationRequest,
} from '../gateway/contract/account.ts'
import { checked, type Fault, faultAt, MOST_FAULTS, Refusal, serveEndpoint, textOf } from './refusal.ts'
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

/** What every resource is served with. */
export interface Parts {
  readonly app: FastifyInstance
  readonly store: DatabaseSync
  readonly accounts: AccountStore
  /** Epoch milliseconds. */
  readonly clock: () => number
  /** A new id at every call. */
  readonly makeId: () => string
}

/** The account that `accountReference` and `accountReferenceType` name. 400 where they are wrong, 404 where it is not registered. */
export function accountInQuery(query: unknown, accounts: AccountStore): Account {
  const { accountReference: reference, accountReferenceType: type } = checked(AccountQuery, query, 'query')
  return registered(accounts.resolve({ reference, type }))
}

/** As `accountInQuery`; `entity`, the URL form that ends in the account id, stands in where no reference is given. */
export function accountOrEntityInQuery(query: unknown, accounts: AccountStore): Account {
  const entity = EntityQuery.extend({ accountReference: z.undefined().optional() }).safeParse(query)
  if (!entity.success) return accountInQuery(query, accounts)
  return registered(accounts.resolve({ reference: accountIdOfEntity(entity.data.entity), type: 'accountId' }))
}

/** 404 for an account that is not registered. */
export function registered(account: Account | undefined, place = 'account'): Account {
  if (account === undefined) throw new Refusal(404, [faultAt(place, 'not registered')])
  return account
}

/** One record of a batch. */
export interface Incoming<Item> {
  /** The documented fields, checked. */
  readonly record: Item
  /** JSON text of the record as it was sent, with the fields that are not documented. */
  readonly body: string
}

/** The reader of an array of records: 400 naming position and field of what is wrong, where anything is. */
export function createBatchReader<Item>(item: z.ZodType<Item>) {
  const schema = z.array(item).min(1)
  return (body: unknown): Incoming<Item>[] => {
    const records = checked(schema, body, 'records')
    const sent: unknown[] = Array.isArray(body) ? body : []
    return records.map((record, index) => ({ record, body: textOf(sent[index]) }))
  }
}

/** One record of a batch with the account it is stored under. */
export interface Owned<Item> extends Incoming<Item> {
  readonly owner: Account
}

/**
 * A batch with the account of each record. 404 naming the positions of records whose account is not registered; 400
 * where the call takes one user's records and the batch holds another's.
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
    throw new Refusal(400, [
      faultAt('records', 'another user than that of the first record', stranger, 'account'),
    ])
  }
  return owned
}

/** Values of `gender` taken here; the interface shows `FEMALE` and says of others: not shown. */
const GENDERS = ['FEMALE', 'MALE', 'OTHER', 'UNKNOWN'] as const

/** What a partnerAccountId that is registered already gets: 200 with its account id, or 409. The interface does not say. */
export type RegisteredAgain = 'same' | 'conflict'

/** Section "Accounts". Registration answers without an envelope; deletion answers 204, and 404 for an unknown account. */
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
