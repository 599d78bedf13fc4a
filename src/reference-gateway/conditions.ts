import type { DatabaseSync } from 'node:sqlite'
import type { FastifyInstance } from 'fastify'
import { ConditionSent } from '../gateway/contract/health-profile.ts'
import { accountInQuery } from './account-query.ts'
import type { AccountStore } from './account-store.ts'
import { createBatchReader, withOwners } from './batch.ts'
import { codeKeyOf, createObservationStore } from './observation-store.ts'
import { serveEndpoint } from './serve-endpoint.ts'
import { inTransaction } from './store.ts'

/**
 * Section "conditions". Create answers 200 with `id` and without transactionId, in the order sent; read nests an
 * envelope and gives no `id`. Both give the account by its account id and dates as epoch milliseconds in strings, with
 * `updateDate` equal to `createDate`, since nothing updates.
 */
export function serveConditions(
  app: FastifyInstance,
  store: DatabaseSync,
  accounts: AccountStore,
  options: { readonly clock: () => number; readonly makeId: () => string },
): void {
  const conditions = createObservationStore(store, 'conditions')
  const readBatch = createBatchReader(ConditionSent)

  const create = (body: unknown, users: 'one' | 'several') => {
    const batch = readBatch(body)
    const data = inTransaction(store, () => {
      const storedMs = options.clock()
      return withOwners(batch, accounts, users).map(({ record, owner, body: text }) => {
        const id = options.makeId()
        conditions.add({
          id,
          account: owner.seq,
          codeKey: codeKeyOf(record.codes[0]),
          sourceType: record.source.type,
          observedMs: record.observationDate,
          transactionId: record.transactionId,
          persistentRecordId: record.source.meta?.persistentRecordId,
          storedMs,
          body: text,
        })
        return { ...returned(record, owner.accountId, storedMs), id }
      })
    })
    return success(data)
  }

  serveEndpoint(app, 'createConditions', async (request) => create(request.body, 'one'))
  serveEndpoint(app, 'createConditionsBulk', async (request) => create(request.body, 'several'))

  serveEndpoint(app, 'readConditions', async (request) => {
    const account = accountInQuery(request.query, accounts)
    const data = conditions
      .latestOf(account.seq)
      .map(({ body, storedMs }) =>
        returned(ConditionSent.parse(JSON.parse(body)), account.accountId, storedMs),
      )
    return { ...success([]), data: success(data) }
  })
}

const success = <Item>(data: Item[]) => ({ code: '200', message: '200 OK', data, errors: [] })

/** Section "Condition record, as returned", without id. */
function returned(
  { name, codes, observationDate, source }: ConditionSent,
  accountId: string,
  storedMs: number,
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
