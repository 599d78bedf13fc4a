import type { DatabaseSync } from 'node:sqlite'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import {
  CareTeamDeletionQuery,
  CareTeamSent,
  PrimaryCareRequest,
} from '../gateway/contract/health-profile.ts'
import { accountInQuery } from './account-query.ts'
import type { Account, AccountStore } from './account-store.ts'
import { createBatchReader, withOwners } from './batch.ts'
import { type CareTeamEntry, createCareTeamStore } from './care-team-store.ts'
import { faultAt, faultsOf, Refusal } from './refusal.ts'
import { serveEndpoint } from './serve-endpoint.ts'
import { inTransaction } from './store.ts'

/** A repeatable query parameter: one is a string, several are an array. */
const Repeatable = z.preprocess(
  (value) => (typeof value === 'string' ? [value] : value),
  z.array(z.string().min(1)).optional(),
)
const Deletion = z.looseObject({ id: Repeatable, npi: Repeatable }).pipe(CareTeamDeletionQuery)

/**
 * Section "care teams". The list is served on the path of create, in an envelope. A batch may hold several users: each
 * record goes to the account it names. `userId` is the account id; `updateDate` moves with the PCP flag.
 */
export function serveCareTeams(
  app: FastifyInstance,
  store: DatabaseSync,
  accounts: AccountStore,
  options: { readonly clock: () => number; readonly makeId: () => string },
): void {
  const careTeams = createCareTeamStore(store)
  const readBatch = createBatchReader(CareTeamSent)

  serveEndpoint(app, 'createCareTeams', async (request) => {
    const batch = readBatch(request.body)
    const data = inTransaction(store, () => {
      const storedMs = options.clock()
      return withOwners(batch, accounts, 'several').map(({ record, owner, body }) => {
        const { npi, source } = record
        const id = options.makeId()
        const persistentRecordId = source.meta?.persistentRecordId
        careTeams.add({ id, account: owner.seq, npi, persistentRecordId, storedMs, body })
        return returned({ id, storedMs, updatedMs: 0, pcp: false }, record, owner)
      })
    })
    return success(data)
  })

  serveEndpoint(app, 'listCareTeams', async (request) => {
    const account = accountInQuery(request.query, accounts)
    const entries = careTeams.entriesOf(account.seq)
    return success(
      entries.map((entry) => returned(entry, CareTeamSent.parse(JSON.parse(entry.body)), account)),
    )
  })

  serveEndpoint(app, 'deleteCareTeams', async (request, reply) => {
    const account = accountInQuery(request.query, accounts)
    const result = Deletion.safeParse(request.query)
    if (!result.success) throw new Refusal(400, faultsOf(result.error, 'query'))
    const { id = [], npi = [] } = result.data
    if (careTeams.remove(account.seq, id, npi) === 0)
      throw new Refusal(404, [faultAt('query', 'no such entry')])
    return reply.code(204).send()
  })

  const markPcp = (body: unknown, pcp: boolean) => {
    const result = PrimaryCareRequest.safeParse(body)
    if (!result.success) throw new Refusal(400, faultsOf(result.error, 'body'))
    const account = accounts.resolve(result.data.account)
    if (account === undefined) throw new Refusal(404, [faultAt('account', 'not registered')])
    const entry = careTeams.markPcp(account.seq, result.data, pcp, options.clock())
    if (entry === undefined) throw new Refusal(404, [faultAt('body', 'no such entry')])
    return success([{ npi: entry.npi ?? '' }])
  }
  serveEndpoint(app, 'setPrimaryCare', async (request) => markPcp(request.body, true))
  serveEndpoint(app, 'unsetPrimaryCare', async (request) => markPcp(request.body, false))
}

const success = <Item>(data: Item[]) => ({ code: '200', message: '200 OK', data, errors: [] })

/** Section "Care team record, as returned": fields that were not sent are left out. */
function returned(
  entry: Pick<CareTeamEntry, 'id' | 'storedMs' | 'updatedMs' | 'pcp'>,
  { account: _, observationDate, ...sent }: CareTeamSent,
  owner: Account,
) {
  return {
    id: entry.id,
    userId: owner.accountId,
    ...sent,
    createDate: String(entry.storedMs),
    updateDate: String(entry.updatedMs),
    pcp: entry.pcp,
    observationDate: Number(observationDate),
    hydrateCareTeams: false,
  }
}
