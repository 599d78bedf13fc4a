import { type ConformanceCase, inSection } from './case.ts'
import type { Answer, Client } from './client.ts'
import { careTeamsOf, createCareTeams, queryOf, register, type User } from './profile.ts'
import { careTeam } from './sample-records.ts'
import {
  assertForm,
  assertKept,
  assertRefused,
  assertStatus,
  at,
  jsonOf,
  listAt,
  TEXT,
  textAt,
} from './values.ts'

const endpoints = inSection('Endpoints: Care teams')
const states = inSection('States: Care team PCP flag')
const service = inSection('What the service does')
const errors = inSection('Errors')

const NPIS = ['1234567893', '1245319599', '1003000126'] as const
const [FIRST, SECOND] = NPIS
const UNKNOWN_NPI = '1992799999'

/** A user with an entry for each NPI; the ids in the order of these. */
async function withEntries(client: Client): Promise<User & { ids: readonly string[] }> {
  const user = await register(client)
  const body = await createCareTeams(
    client,
    NPIS.map((npi) => careTeam(user.account, npi)),
  )
  const data = listAt(body, 'data')
  const ids = NPIS.map((npi) =>
    textAt(
      data.find((item) => at(item, 'npi') === npi),
      'id',
    ),
  )
  return { ...user, ids }
}

const remove = (
  client: Client,
  { account }: User,
  chosen: { id?: readonly string[]; npi?: readonly string[] },
) => client.send('DELETE', '/health-profile/care-teams', { query: { ...chosen, ...queryOf(account) } })

const mark = (
  client: Client,
  method: 'POST' | 'DELETE',
  { account }: User,
  chosen: { id?: string; npi?: string },
) => client.send(method, '/health-profile/care-teams/pcp', { json: { account, ...chosen } })

/** NPIs of the user's entries, and of those that are marked. */
async function listed(client: Client, { account }: User) {
  const entries = await careTeamsOf(client, account)
  const npisOf = (chosen: readonly unknown[]) => chosen.map((entry) => at(entry, 'npi')).sort()
  return { all: npisOf(entries), marked: npisOf(entries.filter((entry) => at(entry, 'pcp') === true)) }
}

function assertMarkAnswer(answer: Answer, npi: string): void {
  assertStatus(answer, 200)
  const body = jsonOf(answer)
  assertKept(at(body, 'code'), '200', 'code')
  assertKept(at(body, 'data.0.npi'), npi, 'data[].npi')
  assertKept(at(body, 'errors'), [], 'errors')
}

/** Sections "Endpoints: the service: care teams", "States: Care team PCP flag", and of "Errors" the deletion. */
export const CARE_TEAM_CASES: readonly ConformanceCase[] = [
  endpoints.writes('POST /health-profile/care-teams', async (client) => {
    const { account } = await register(client)
    const body = await createCareTeams(
      client,
      NPIS.map((npi) => careTeam(account, npi)),
    )
    assertKept(at(body, 'code'), '200', 'code')
    assertKept(at(body, 'errors'), [], 'errors')
    assertKept(listAt(body, 'data').length, NPIS.length, 'the number of records in data')
    for (const item of listAt(body, 'data')) assertForm(at(item, 'id'), TEXT, 'data[].id')
  }),
  endpoints.writes('GET not shown', async (client) => {
    const user = await withEntries(client)
    assertKept((await listed(client, user)).all, [...NPIS].sort(), "the user's entries")
  }),
  endpoints.writes('DELETE /health-profile/care-teams', async (client) => {
    const user = await withEntries(client)
    assertStatus(await remove(client, user, { npi: [FIRST] }), 204)
    assertStatus(await remove(client, user, { id: user.ids.slice(1, 2) }), 204)
    assertKept((await listed(client, user)).all, NPIS.slice(2), 'the entries left')
  }),
  endpoints.writes('id or npi (each repeatable, at least one required)', async (client) => {
    const [byNpi, byId] = [await withEntries(client), await withEntries(client)]
    assertStatus(await remove(client, byNpi, { npi: [FIRST, SECOND] }), 204)
    assertKept((await listed(client, byNpi)).all, NPIS.slice(2), 'the entries left by npi')
    assertStatus(await remove(client, byId, { id: byId.ids.slice(0, 2) }), 204)
    assertKept((await listed(client, byId)).all, NPIS.slice(2), 'the entries left by id')
  }),
  endpoints.writes('204 when at least one record is deleted; 404 when none is deleted.', async (client) => {
    const user = await withEntries(client)
    assertStatus(await remove(client, user, { npi: [UNKNOWN_NPI] }), 404)
    assertStatus(await remove(client, user, { npi: [UNKNOWN_NPI, FIRST] }), 204)
    assertStatus(await remove(client, user, { npi: [FIRST] }), 404)
    const other = await withEntries(client)
    assertStatus(await remove(client, user, { id: other.ids }), 404)
    assertKept((await listed(client, other)).all.length, NPIS.length, "the number of another user's entries")
  }),
  endpoints.writes('POST /health-profile/care-teams/pcp', async (client) => {
    const user = await withEntries(client)
    assertMarkAnswer(await mark(client, 'POST', user, { npi: FIRST }), FIRST)
    assertMarkAnswer(await mark(client, 'POST', user, { id: user.ids[1] ?? '' }), SECOND)
  }),
  endpoints.writes('DELETE /health-profile/care-teams/pcp', async (client) => {
    const user = await withEntries(client)
    await mark(client, 'POST', user, { npi: FIRST })
    assertMarkAnswer(await mark(client, 'DELETE', user, { npi: FIRST }), FIRST)
  }),

  states.writes('pcp false', async (client) => {
    const [user, other] = [await withEntries(client), await withEntries(client)]
    assertKept((await listed(client, user)).marked, [], 'the entries marked after create')
    assertStatus(await mark(client, 'POST', other, { npi: FIRST }), 200)
    assertStatus(await mark(client, 'POST', user, { npi: FIRST }), 200)
    assertKept((await listed(client, user)).marked, [FIRST], 'the entry marked by npi')
    assertStatus(await mark(client, 'POST', user, { id: user.ids[1] ?? '' }), 200)
    assertKept((await listed(client, user)).marked, [SECOND], 'the entry marked by id')
    assertKept((await listed(client, other)).marked, [FIRST], "another user's entry that is marked")
  }),
  states.writes('entry belongs to the account', async (client) => {
    const [user, other] = [await withEntries(client), await withEntries(client)]
    const answer = await mark(client, 'POST', user, { id: other.ids[0] ?? '' })
    assertRefused(answer, 'the entry belongs to another account')
    assertKept((await listed(client, other)).marked, [], "another user's entries that are marked")
  }),
  states.writes('pcp is set to false on all other care team entries of the same user.', async (client) => {
    const user = await withEntries(client)
    for (const npi of NPIS) {
      assertStatus(await mark(client, 'POST', user, { npi }), 200)
      assertKept((await listed(client, user)).marked, [npi], 'the entry marked, alone,')
    }
  }),
  states.writes('pcp true', async (client) => {
    const user = await withEntries(client)
    assertStatus(await mark(client, 'POST', user, { npi: FIRST }), 200)
    assertStatus(await mark(client, 'DELETE', user, { npi: FIRST }), 200)
    assertKept((await listed(client, user)).marked, [], 'the entries marked, by npi,')
    assertStatus(await mark(client, 'POST', user, { npi: FIRST }), 200)
    assertStatus(await mark(client, 'DELETE', user, { id: user.ids[0] ?? '' }), 200)
    assertKept((await listed(client, user)).marked, [], 'the entries marked, by id,')
  }),
  service.writes('It creates, lists and deletes care team records', async (client) => {
    const user = await withEntries(client)
    assertStatus(await remove(client, user, { npi: NPIS }), 204)
    assertKept((await listed(client, user)).all, [], 'the entries left')
  }),
  errors.writes(
    'Care team delete: 204 when something is deleted, 404 when nothing matches',
    async (client) => {
      const user = await withEntries(client)
      assertStatus(await remove(client, user, { npi: [UNKNOWN_NPI] }), 404)
      assertStatus(await remove(client, user, { npi: [FIRST] }), 204)
    },
  ),
  errors.writes('at least one id or npi is required', async (client) => {
    const user = await withEntries(client)
    assertRefused(await remove(client, user, {}), 'neither id nor npi is given')
    assertKept((await listed(client, user)).all.length, NPIS.length, 'the number of entries left')
  }),
]
