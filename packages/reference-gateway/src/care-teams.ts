import type { DatabaseSync } from 'node:sqlite'
import { z } from 'zod'
import {
  CareTeamDeletionQuery,
  CareTeamSent,
  PrimaryCareRequest,
} from '../../../src/gateway/contract/health-profile.ts'
import {
  type Account,
  accountInQuery,
  createBatchReader,
  type Parts,
  registered,
  withOwners,
} from './accounts.ts'
import { checked, faultAt, profileSuccess, Refusal, serveEndpoint } from './refusal.ts'
import { inTransaction, visibleUntilMs } from './store.ts'

/** Stored care team entry. */
export interface CareTeamEntry {
  readonly seq: number
  readonly id: string
  readonly npi: string | undefined
  readonly pcp: boolean
  /** Epoch milliseconds. */
  readonly storedMs: number
  /** Epoch milliseconds; 0 if the PCP flag never changed. */
  readonly updatedMs: number
  /** JSON text of the record as sent. */
  readonly body: string
}

/** Opens the table of care team entries. An NPI sent twice is stored twice; at most one entry of an account is the PCP. */
function createCareTeamStore(store: DatabaseSync) {
  const insert = store.prepare(
    'INSERT INTO care_teams (id, account, npi, persistent_id, stored_ms, body) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const select = store.prepare(
    'SELECT seq, id, npi, pcp, stored_ms, updated_ms, body FROM care_teams WHERE account = ? AND stored_ms <= ? ORDER BY seq',
  )
  const setPcp = store.prepare('UPDATE care_teams SET pcp = ?, updated_ms = ? WHERE seq = ?')
  const remove = store.prepare('DELETE FROM care_teams WHERE seq = ?')

  const entriesOf = (account: number): CareTeamEntry[] =>
    select.all(account, visibleUntilMs()).map((row) => ({
      seq: Number(row['seq']),
      id: String(row['id']),
      npi: row['npi'] === null ? undefined : String(row['npi']),
      pcp: row['pcp'] === 1,
      storedMs: Number(row['stored_ms']),
      updatedMs: Number(row['updated_ms']),
      body: String(row['body']),
    }))

  return {
    entriesOf,

    /** Stores a record, inside the batch's transaction of the caller. */
    add(id: string, account: number, { npi, source }: CareTeamSent, storedMs: number, body: string): void {
      insert.run(id, account, npi ?? null, source.meta?.persistentRecordId ?? null, storedMs, body)
    },

    /** Deletes the account's entries with one of the ids or NPIs. Returns their number. */
    remove(account: number, ids: readonly string[], npis: readonly string[]): number {
      const doomed = entriesOf(account).filter(
        ({ id, npi }) => ids.includes(id) || (npi !== undefined && npis.includes(npi)),
      )
      inTransaction(store, () => {
        for (const { seq } of doomed) remove.run(seq)
      })
      return doomed.length
    },

    /**
     * Marks the entry as PCP and unmarks the account's other entries, or unmarks it. If several entries have the NPI, the last one stored
     * is marked, and the marked one is unmarked. Id and NPI must belong to the same entry. Returns the entry, or undefined if there is
     * none.
     */
    markPcp(
      account: number,
      name: Pick<z.infer<typeof PrimaryCareRequest>, 'id' | 'npi'>,
      pcp: boolean,
      nowMs: number,
    ): CareTeamEntry | undefined {
      const entries = entriesOf(account)
      const named = entries.filter(
        ({ id, npi }) => (name.id ?? id) === id && (name.npi === undefined || name.npi === npi),
      )
      const entry = (pcp ? undefined : named.find((candidate) => candidate.pcp)) ?? named.at(-1)
      if (entry === undefined) return undefined
      inTransaction(store, () => {
        const unmarked = entries.filter((other) => other.pcp && (pcp ? other !== entry : other === entry))
        for (const { seq } of unmarked) setPcp.run(0, nowMs, seq)
        if (pcp && !entry.pcp) setPcp.run(1, nowMs, entry.seq)
      })
      return entry
    },
  }
}

/** Repeatable query parameter: a string, or an array of strings. */
const Repeatable = z.preprocess(
  (value) => (typeof value === 'string' ? [value] : value),
  z.array(z.string().min(1)).optional(),
)
const Deletion = z.looseObject({ id: Repeatable, npi: Repeatable }).pipe(CareTeamDeletionQuery)

/**
 * Serves section "care teams". The list is on the path of create, in an envelope. A batch may hold several users: each record is stored
 * under its own account. `userId` is the account id; `updateDate` changes with the PCP flag.
 */
export function serveCareTeams({ app, store, accounts, clock, makeId }: Parts): void {
  const careTeams = createCareTeamStore(store)
  const readBatch = createBatchReader(CareTeamSent)

  serveEndpoint(app, 'createCareTeams', async (request) => {
    const batch = readBatch(request.body)
    const data = inTransaction(store, () => {
      const storedMs = clock()
      return withOwners(batch, accounts, 'several').map(({ record, owner, body }) => {
        const id = makeId()
        careTeams.add(id, owner.seq, record, storedMs, body)
        return returned({ id, storedMs, updatedMs: 0, pcp: false }, record, owner)
      })
    })
    return profileSuccess(data)
  })

  serveEndpoint(app, 'listCareTeams', async (request) => {
    const account = accountInQuery(request.query, accounts)
    const entries = careTeams.entriesOf(account.seq)
    return profileSuccess(
      entries.map((entry) => returned(entry, CareTeamSent.parse(JSON.parse(entry.body)), account)),
    )
  })

  serveEndpoint(app, 'deleteCareTeams', async (request, reply) => {
    const account = accountInQuery(request.query, accounts)
    const { id = [], npi = [] } = checked(Deletion, request.query, 'query')
    if (careTeams.remove(account.seq, id, npi) === 0)
      throw new Refusal(404, [faultAt('query', 'no such entry')])
    return reply.code(204).send()
  })

  const markPcp = (body: unknown, pcp: boolean) => {
    const request = checked(PrimaryCareRequest, body, 'body')
    const account = registered(accounts.resolve(request.account))
    const entry = careTeams.markPcp(account.seq, request, pcp, clock())
    if (entry === undefined) throw new Refusal(404, [faultAt('body', 'no such entry')])
    return profileSuccess([{ npi: entry.npi ?? '' }])
  }
  serveEndpoint(app, 'setPrimaryCare', async (request) => markPcp(request.body, true))
  serveEndpoint(app, 'unsetPrimaryCare', async (request) => markPcp(request.body, false))
}

/** Section "Care team record, as returned": omits fields that were not sent. */
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
