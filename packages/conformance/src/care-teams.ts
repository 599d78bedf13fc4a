import {
  answered,
  at,
  byField,
  byName,
  type ConformanceCase,
  type Form,
  formed,
  inSection,
  jsonOf,
  kept,
  listAt,
  oneOf,
  type Run,
  refused,
  textAt,
} from './case.ts'
import type { Answer, Client } from './client.ts'
import {
  CARE_TEAMS,
  careTeam,
  careTeamsOf,
  createCareTeams,
  OBSERVED,
  PRIMARY_CARE,
  queryOf,
  register,
  type User,
} from './made-up.ts'

const sent = inSection('Care team record, as sent')
const returned = inSection('Care team record, as returned')
const endpoints = inSection('Endpoints: Care teams')
const states = inSection('States: Care team PCP flag')
const service = inSection('What the service does')
const errors = inSection('Errors')

const NPIS = ['1234567893', '1245319599', '1003000126'] as const
const [FIRST, SECOND] = NPIS
const UNKNOWN_NPI = '1992799999'

/** Stores a care team record. Returns the record and create's answer. */
async function stored(client: Client) {
  const user = await register(client)
  const record = careTeam(user.account)
  return { ...user, record, created: at(await createCareTeams(client, [record]), 'data.0') }
}

/** Fields of an entry, as returned. */
export const RETURNED: Readonly<Record<string, Form>> = {
  ...byName(
    ['profile', 'name', 'npi', 'zip', 'city', 'address', 'location', 'phoneNumber', 'type'],
    () => 'text' as const,
  ),
  'id (string)': 'text',
  'userId (string)': 'text',
  'createDate (string, epoch ms)': 'epoch-text',
  'updateDate (string;': 'epoch-text',
  'pcp (boolean)': 'truth',
  'observationDate (number, epoch ms)': 'epoch-number',
  source: 'object',
  'hydrateCareTeams (boolean)': 'truth',
}

/** Checks the form of the field in create's answer and in the list. */
const asReturned =
  (field: string, form: Form): Run =>
  async (client) => {
    const { account, created } = await stored(client)
    formed(at(created, field), form, `${field} as create returns it`)
    formed(at((await careTeamsOf(client, account))[0], field), form, `${field} as listed`)
  }

const entriesFor = ({ account }: User) => NPIS.map((npi) => careTeam(account, npi))

/** Registers a user with an entry for each NPI; the ids follow the order of the NPIs. */
async function withEntries(client: Client): Promise<User & { ids: readonly string[] }> {
  const user = await register(client)
  const data = listAt(await createCareTeams(client, entriesFor(user)), 'data')
  const entryOf = (npi: string) => data.find((item) => at(item, 'npi') === npi)
  return { ...user, ids: NPIS.map((npi) => textAt(entryOf(npi), 'id')) }
}
const twoWithEntries = async (client: Client) =>
  [await withEntries(client), await withEntries(client)] as const

type Chosen = Readonly<Partial<Record<'id' | 'npi', readonly string[]>>>

const remove = (client: Client, { account }: User, chosen: Chosen) =>
  client.send('DELETE', CARE_TEAMS, { query: { ...chosen, ...queryOf(account) } })

const mark = (client: Client, { account }: User, chosen: { id?: string | undefined; npi?: string }) =>
  client.send('POST', PRIMARY_CARE, { json: { account, ...chosen } })
const unmark = (client: Client, { account }: User, chosen: { id?: string | undefined; npi?: string }) =>
  client.send('DELETE', PRIMARY_CARE, { json: { account, ...chosen } })

/** NPIs of all entries of the user, and of the marked entries. */
async function listed(client: Client, { account }: User) {
  const entries = await careTeamsOf(client, account)
  const npisOf = (chosen: readonly unknown[]) => chosen.map((entry) => at(entry, 'npi')).sort()
  return { all: npisOf(entries), marked: npisOf(entries.filter((entry) => at(entry, 'pcp') === true)) }
}
const allKept = async (client: Client, user: User, npis: readonly string[], words: string) =>
  kept((await listed(client, user)).all, npis, words)
const markedKept = async (client: Client, user: User, npis: readonly string[], words: string) =>
  kept((await listed(client, user)).marked, npis, words)

function markAnswered(answer: Answer, npi: string): void {
  const body = jsonOf(answered(answer, 200))
  kept(at(body, 'code'), '200', 'code')
  kept(at(body, 'data.0.npi'), npi, 'data[].npi')
  kept(at(body, 'errors'), [], 'errors')
}

/** Sections on care teams: the record, the endpoints, the PCP flag, and deletion in "Errors". */
export const CARE_TEAM_CASES: readonly ConformanceCase[] = [
  ...sent.writes({
    account: async (client) => {
      const [{ account }, other] = [await stored(client), await register(client)]
      kept((await careTeamsOf(client, account)).length, 1, "the number of the user's records")
      kept((await careTeamsOf(client, other.account)).length, 0, "the number of another user's records")
    },
    ...byName(
      ['name', 'profile', 'phoneNumber', 'type', 'location', 'address', 'city', 'zip', 'npi', 'source'],
      (field) => async (client) => {
        const { record, created } = await stored(client)
        kept(at(created, field), record[field], `${field} as create returns it`)
      },
    ),
    observationDate: async (client) =>
      kept(at((await stored(client)).created, 'observationDate'), OBSERVED, 'observationDate, a number,'),
  }),
  ...returned.writes({
    ...byField({ ...RETURNED, 'updateDate (string;': 'text' }, asReturned),
    '0 for a record never updated': asReturned('updateDate', oneOf('0')),
  }),

  ...endpoints.writes({
    'POST /health-profile/care-teams': async (client) => {
      const body = await createCareTeams(client, entriesFor(await register(client)))
      kept(at(body, 'code'), '200', 'code')
      kept(at(body, 'errors'), [], 'errors')
      kept(listAt(body, 'data').length, NPIS.length, 'the number of records in data')
      for (const item of listAt(body, 'data')) formed(at(item, 'id'), 'text', 'data[].id')
    },
    'GET not shown': async (client) =>
      allKept(client, await withEntries(client), [...NPIS].sort(), "the user's entries"),
    'DELETE /health-profile/care-teams': async (client) => {
      const user = await withEntries(client)
      answered(await remove(client, user, { npi: [FIRST] }), 204)
      answered(await remove(client, user, { id: user.ids.slice(1, 2) }), 204)
      await allKept(client, user, NPIS.slice(2), 'the entries left')
    },
    'id or npi (each repeatable, at least one required)': async (client) => {
      const [byNpi, byId] = await twoWithEntries(client)
      answered(await remove(client, byNpi, { npi: [FIRST, SECOND] }), 204)
      await allKept(client, byNpi, NPIS.slice(2), 'the entries left by npi')
      answered(await remove(client, byId, { id: byId.ids.slice(0, 2) }), 204)
      await allKept(client, byId, NPIS.slice(2), 'the entries left by id')
    },
    '204 when at least one record is deleted; 404 when none is deleted.': async (client) => {
      const [user, other] = await twoWithEntries(client)
      answered(await remove(client, user, { npi: [UNKNOWN_NPI] }), 404)
      answered(await remove(client, user, { npi: [UNKNOWN_NPI, FIRST] }), 204)
      answered(await remove(client, user, { npi: [FIRST] }), 404)
      answered(await remove(client, user, { id: other.ids }), 404)
      kept((await listed(client, other)).all.length, NPIS.length, "the number of another user's entries")
    },
    'POST /health-profile/care-teams/pcp': async (client) => {
      const user = await withEntries(client)
      markAnswered(await mark(client, user, { npi: FIRST }), FIRST)
      markAnswered(await mark(client, user, { id: user.ids[1] }), SECOND)
    },
    'DELETE /health-profile/care-teams/pcp': async (client) => {
      const user = await withEntries(client)
      await mark(client, user, { npi: FIRST })
      markAnswered(await unmark(client, user, { npi: FIRST }), FIRST)
    },
  }),

  ...states.writes({
    'pcp false': async (client) => {
      const [user, other] = await twoWithEntries(client)
      await markedKept(client, user, [], 'the entries marked after create')
      answered(await mark(client, other, { npi: FIRST }), 200)
      answered(await mark(client, user, { npi: FIRST }), 200)
      await markedKept(client, user, [FIRST], 'the entry marked by npi')
      answered(await mark(client, user, { id: user.ids[1] }), 200)
      await markedKept(client, user, [SECOND], 'the entry marked by id')
      await markedKept(client, other, [FIRST], "another user's entry that is marked")
    },
    'entry belongs to the account': async (client) => {
      const [user, other] = await twoWithEntries(client)
      refused(await mark(client, user, { id: other.ids[0] }), 'the entry belongs to another account')
      await markedKept(client, other, [], "another user's entries that are marked")
    },
    'pcp is set to false on all other care team entries of the same user.': async (client) => {
      const user = await withEntries(client)
      for (const npi of NPIS) {
        answered(await mark(client, user, { npi }), 200)
        await markedKept(client, user, [npi], 'the entry marked, alone,')
      }
    },
    'pcp true': async (client) => {
      const user = await withEntries(client)
      answered(await mark(client, user, { npi: FIRST }), 200)
      answered(await unmark(client, user, { npi: FIRST }), 200)
      await markedKept(client, user, [], 'the entries marked, by npi,')
      answered(await mark(client, user, { npi: FIRST }), 200)
      answered(await unmark(client, user, { id: user.ids[0] }), 200)
      await markedKept(client, user, [], 'the entries marked, by id,')
    },
  }),
  ...service.writes({
    'It creates, lists and deletes care team records': async (client) => {
      const user = await withEntries(client)
      answered(await remove(client, user, { npi: NPIS }), 204)
      await allKept(client, user, [], 'the entries left')
    },
  }),
  ...errors.writes({
    'Care team delete: 204 when something is deleted, 404 when nothing matches': async (client) => {
      const user = await withEntries(client)
      answered(await remove(client, user, { npi: [UNKNOWN_NPI] }), 404)
      answered(await remove(client, user, { npi: [FIRST] }), 204)
    },
    'at least one id or npi is required': async (client) => {
      const user = await withEntries(client)
      refused(await remove(client, user, {}), 'neither id nor npi is given')
      kept((await listed(client, user)).all.length, NPIS.length, 'the number of entries left')
    },
  }),
]
