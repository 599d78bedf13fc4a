import { type ConformanceCase, inSection } from './case.ts'
import type { Client } from './client.ts'
import { careTeamsOf, createCareTeams, register } from './profile.ts'
import { careTeam, OBSERVED } from './sample-records.ts'
import {
  assertForm,
  assertKept,
  at,
  EPOCH_NUMBER,
  EPOCH_TEXT,
  type Form,
  OBJECT,
  oneOf,
  TEXT,
  TRUTH,
} from './values.ts'

const sent = inSection('Care team record, as sent')
const returned = inSection('Care team record, as returned')

/** A care team record with what create returned of it. */
async function stored(client: Client) {
  const user = await register(client)
  const record = careTeam(user.account)
  const body = await createCareTeams(client, [record])
  return { ...user, record, created: at(body, 'data.0') }
}

const KEPT = ['name', 'profile', 'phoneNumber', 'type', 'location', 'address', 'city', 'zip', 'npi'] as const

/** Sections "Care team record, as sent" and "Care team record, as returned". */
export const CARE_TEAM_FIELD_CASES: readonly ConformanceCase[] = [
  sent.writes('account', async (client) => {
    const [{ account }, other] = [await stored(client), await register(client)]
    assertKept((await careTeamsOf(client, account)).length, 1, "the number of the user's records")
    assertKept((await careTeamsOf(client, other.account)).length, 0, "the number of another user's records")
  }),
  ...KEPT.map((field) =>
    sent.writes(field, async (client) => {
      const { record, created } = await stored(client)
      assertKept(at(created, field), record[field], `${field} as create returns it`)
    }),
  ),
  sent.writes('observationDate', async (client) => {
    assertKept(at((await stored(client)).created, 'observationDate'), OBSERVED, 'observationDate, a number,')
  }),
  sent.writes('source', async (client) => {
    const { record, created } = await stored(client)
    assertKept(at(created, 'source'), record.source, 'source as create returns it')
  }),

  ...Object.entries({
    'id (string)': ['id', TEXT],
    'userId (string)': ['userId', TEXT],
    profile: ['profile', TEXT],
    'createDate (string, epoch ms)': ['createDate', EPOCH_TEXT],
    'updateDate (string;': ['updateDate', TEXT],
    '0 for a record never updated': ['updateDate', oneOf('0')],
    name: ['name', TEXT],
    npi: ['npi', TEXT],
    zip: ['zip', TEXT],
    city: ['city', TEXT],
    address: ['address', TEXT],
    location: ['location', TEXT],
    phoneNumber: ['phoneNumber', TEXT],
    type: ['type', TEXT],
    'pcp (boolean)': ['pcp', TRUTH],
    'observationDate (number, epoch ms)': ['observationDate', EPOCH_NUMBER],
    source: ['source', OBJECT],
    'hydrateCareTeams (boolean)': ['hydrateCareTeams', TRUTH],
  } as const satisfies Record<string, readonly [string, Form]>).map(([row, [field, form]]) =>
    returned.writes(row, async (client) => {
      const { account, created } = await stored(client)
      assertForm(at(created, field), form, `${field} as create returns it`)
      assertForm(at((await careTeamsOf(client, account))[0], field), form, `${field} as listed`)
    }),
  ),
]
