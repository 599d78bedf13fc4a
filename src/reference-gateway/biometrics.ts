import type { DatabaseSync } from 'node:sqlite'
import type { FastifyInstance } from 'fastify'
import { BiometricSent } from '../gateway/contract/health-profile.ts'
import { accountOrEntityInQuery } from './account-query.ts'
import type { AccountStore } from './account-store.ts'
import { createBatchReader, withOwners } from './batch.ts'
import { codeKeyOf, createObservationStore } from './observation-store.ts'
import { serveEndpoint } from './serve-endpoint.ts'
import { inTransaction } from './store.ts'

/**
 * Section "biometrics". Create answers 201 with the echo, in the order sent; the account as sent. Reads give the account
 * by its account id, times as epoch milliseconds in strings, and `updated` equal to `created`, since nothing updates.
 */
export function serveBiometrics(
  app: FastifyInstance,
  store: DatabaseSync,
  accounts: AccountStore,
  options: { readonly clock: () => number; readonly makeId: () => string },
): void {
  const biometrics = createObservationStore(store, 'biometrics')
  const readBatch = createBatchReader(BiometricSent)

  const create = (body: unknown, users: 'one' | 'several') => {
    const batch = readBatch(body)
    inTransaction(store, () => {
      const storedMs = options.clock()
      for (const { record, owner, body: text } of withOwners(batch, accounts, users)) {
        biometrics.add({
          id: options.makeId(),
          account: owner.seq,
          codeKey: codeKeyOf(record.codes[0]),
          sourceType: record.source.type,
          observedMs: Date.parse(record.observationDate),
          transactionId: record.transactionId,
          persistentRecordId: record.source.meta?.persistentRecordId,
          storedMs,
          body: text,
        })
      }
    })
    return { code: 201, message: '201 CREATED', data: batch.map(({ record }) => echoOf(record)), errors: [] }
  }

  serveEndpoint(app, 'createBiometrics', async (request, reply) => {
    return reply.code(201).send(create(request.body, 'one'))
  })
  serveEndpoint(app, 'createBiometricsBulk', async (request, reply) => {
    return reply.code(201).send(create(request.body, 'several'))
  })

  serveEndpoint(app, 'readBiometrics', async (request) => {
    const account = accountOrEntityInQuery(request.query, accounts)
    const data = biometrics.latestOf(account.seq).map(({ id, observedMs, storedMs, body }) => {
      const { name, source, value, unit, codes } = BiometricSent.parse(JSON.parse(body))
      return {
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
      }
    })
    return { code: '200', message: '200 OK', data, errors: [] }
  })
}

/** The create response's item: no id, no references, and of `source.meta` only `dataQuality`. */
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
  return {
    transactionId,
    account,
    name,
    source: { name: sourceName, notes, type, meta: { dataQuality: meta?.dataQuality } },
    observationDate,
    value,
    unit,
    codes,
  }
}
