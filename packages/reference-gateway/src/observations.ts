import type { z } from 'zod'
import { BiometricSent, ConditionSent } from '../../../src/gateway/contract/health-profile.ts'
import type { Code } from '../../../src/gateway/contract/shared-objects.ts'
import {
  type Account,
  accountInQuery,
  accountOrEntityInQuery,
  createBatchReader,
  type Parts,
  withOwners,
} from './accounts.ts'
import { profileSuccess, serveEndpoint } from './refusal.ts'
import { buildIndex, inTransaction, visibleUntilMs } from './store.ts'

/** Stored record, for reads and answers. */
interface Stored {
  readonly id: string
  /** Epoch milliseconds. */
  readonly observedMs: number
  /** Epoch milliseconds. */
  readonly storedMs: number
}

/** Section "Biometrics": code and code system of a record's first code, the meaning of "per code" in reads. */
const codeKeyOf = (code: z.infer<typeof Code> | undefined) => `${code?.codeSystem ?? ''}|${code?.code ?? ''}`

/** Opens the table of biometrics or conditions. Records are never updated or merged: a record sent twice is stored twice. */
function createObservationStore<Sent extends BiometricSent | ConditionSent>(
  { store, accounts, clock, makeId }: Parts,
  table: 'biometrics' | 'conditions',
  schema: z.ZodType<Sent>,
) {
  const readBatch = createBatchReader(schema)
  const insert = store.prepare(
    `INSERT INTO ${table} (id, account, code_key, source_type, observed_ms, transaction_id, persistent_id, stored_ms, body)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const latest = store.prepare(
    `SELECT id, observed_ms, stored_ms, body FROM (
       SELECT *, row_number() OVER (PARTITION BY code_key, source_type ORDER BY observed_ms DESC, seq DESC) AS place
       FROM ${table} WHERE account = ? AND stored_ms <= ?)
     WHERE place = 1 ORDER BY seq`,
  )

  return {
    /** Stores a batch, whole or not at all, and returns each record as presented, in the order sent. */
    create: <Presented>(
      body: unknown,
      users: 'one' | 'several',
      present: (record: Sent, stored: Stored, owner: Account) => Presented,
    ) => {
      const batch = readBatch(body)
      return inTransaction(store, () => {
        const storedMs = clock()
        return withOwners(batch, accounts, users).map(({ record, owner, body: text }) => {
          const { transactionId, codes, source, observationDate } = record
          const observedMs =
            typeof observationDate === 'number' ? observationDate : Date.parse(observationDate)
          const stored = { id: makeId(), observedMs, storedMs }
          const persistentId = source.meta?.persistentRecordId ?? transactionId
          insert.run(
            stored.id,
            owner.seq,
            codeKeyOf(codes[0]),
            source.type ?? null,
            stored.observedMs,
            transactionId,
            persistentId === transactionId ? null : persistentId,
            storedMs,
            text,
          )
          return present(record, stored, owner)
        })
      })
    },

    /** Returns the latest record by observation date per code and source type; for equal dates, the last one stored. */
    latestOf: <Presented>(
      { seq }: Account,
      present: (record: Sent, stored: Stored) => Presented,
    ): Presented[] => {
      buildIndex(store, table, 'account')
      return latest.all(seq, visibleUntilMs()).map((row) =>
        present(schema.parse(JSON.parse(String(row['body']))), {
          id: String(row['id']),
          observedMs: Number(row['observed_ms']),
          storedMs: Number(row['stored_ms']),
        }),
      )
    },
  }
}

/**
 * Serves section "biometrics". Create answers 201 with the echo in the order sent, and the account as sent. Reads return the account by its
 * account id, times as epoch milliseconds in strings, and `updated` equal to `created`, since nothing updates.
 */
export function serveBiometrics(parts: Parts): void {
  const { app, accounts } = parts
  const biometrics = createObservationStore(parts, 'biometrics', BiometricSent)
  const create = (body: unknown, users: 'one' | 'several') => {
    return { code: 201, message: '201 CREATED', data: biometrics.create(body, users, echoOf), errors: [] }
  }
  serveEndpoint(app, 'createBiometrics', async (request, reply) => {
    return reply.code(201).send(create(request.body, 'one'))
  })
  serveEndpoint(app, 'createBiometricsBulk', async (request, reply) => {
    return reply.code(201).send(create(request.body, 'several'))
  })

  serveEndpoint(app, 'readBiometrics', async (request) => {
    const account = accountOrEntityInQuery(request.query, accounts)
    return profileSuccess(
      biometrics.latestOf(account, ({ name, source, value, unit, codes }, { id, observedMs, storedMs }) => ({
        id,
        accountReference: { type: 'accountId', reference: account.accountId },
        created: String(storedMs),
        updated: String(storedMs),
        name,
        source,
        observationDate: String(observedMs),
        value,
        unit,
        codes,
      })),
    )
  })
}

/** Builds the item of the create response: no id, no references, and only `dataQuality` from `source.meta`. */
function echoOf({
  transactionId,
  account,
  name,
  source,
  observationDate,
  value,
  unit,
  codes,
}: BiometricSent) {
  const { name: sourceName, notes, type, meta } = source
  const echoed = { name: sourceName, notes, type, meta: { dataQuality: meta?.dataQuality } }
  return { transactionId, account, name, source: echoed, observationDate, value, unit, codes }
}

/**
 * Serves section "conditions". Create answers 200 with `id` and without transactionId, in the order sent; read nests an envelope and
 * returns no `id`. Both return the account by its account id and dates as epoch milliseconds in strings, with `updateDate` equal to
 * `createDate`, since nothing updates.
 */
export function serveConditions(parts: Parts): void {
  const { app, accounts } = parts
  const conditions = createObservationStore(parts, 'conditions', ConditionSent)
  const create = (body: unknown, users: 'one' | 'several') =>
    profileSuccess(
      conditions.create(body, users, (record, stored, owner) => ({
        ...conditionReturned(record, stored, owner),
        id: stored.id,
      })),
    )
  serveEndpoint(app, 'createConditions', async (request) => create(request.body, 'one'))
  serveEndpoint(app, 'createConditionsBulk', async (request) => create(request.body, 'several'))

  serveEndpoint(app, 'readConditions', async (request) => {
    const account = accountInQuery(request.query, accounts)
    const data = conditions.latestOf(account, (record, stored) => conditionReturned(record, stored, account))
    return { ...profileSuccess([]), data: profileSuccess(data) }
  })
}

/** Section "Condition record, as returned", without id. */
function conditionReturned(
  { name, codes, observationDate, source }: ConditionSent,
  { storedMs }: Stored,
  { accountId }: Account,
) {
  return {
    account: { type: 'accountId', reference: accountId },
    name,
    codes,
    observationDate: String(observationDate),
    source,
    createDate: String(storedMs),
    updateDate: String(storedMs),
  }
}
