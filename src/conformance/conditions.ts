import {
  type Account,
  at,
  byName,
  type ConformanceCase,
  EPOCH_TEXT,
  type Form,
  formed,
  inSection,
  instantOf,
  kept,
  LIST,
  listAt,
  OBJECT,
  type Run,
  TEXT,
} from './case.ts'
import type { Client } from './client.ts'
import {
  condition,
  conditionsOf,
  createConditions,
  DAY,
  HYPERTENSION,
  OBSERVED,
  readConditions,
  register,
  registerTwo,
  seriesOf,
  someConditions,
  source,
} from './profile.ts'

const sent = inSection('Condition record, as sent')
const returned = inSection('Condition record, as returned')
const endpoints = inSection('Endpoints: Conditions')

/** A condition with what create returned and what a read gives of it. */
async function stored(client: Client) {
  const user = await register(client)
  const record = condition(client, user.account)
  const created = at(await createConditions(client, [record]), 'data.0')
  const [found] = await conditionsOf(client, user.account)
  return { ...user, record, created, found }
}

const comesBack =
  (field: 'name' | 'source' | 'codes'): Run =>
  async (client) => {
    const { record, created, found } = await stored(client)
    kept(at(created, field), record[field], `${field} as create returns it`)
    kept(at(found, field), record[field], `${field} as read`)
  }

/** The field is taken, and may be missing; no answer gives it back. */
const taken =
  (field: string): Run =>
  async (client) =>
    formed((await stored(client)).found, OBJECT, `a record sent with ${field}, as read`)

/** Every condition of the account has the fields in their form. */
const each =
  (form: Form, ...fields: readonly string[]): Run<[Account]> =>
  async (client, account) => {
    for (const record of await someConditions(client, account))
      for (const field of fields) formed(at(record, field), form, field)
  }

async function createdWhole(client: Client, records: readonly unknown[], form = ''): Promise<unknown> {
  const body = await createConditions(client, records, form)
  kept(at(body, 'code'), '200', 'code')
  kept(listAt(body, 'data').length, 2, 'the number of records in data')
  return body
}

/** Sections "Condition record, as sent", "Condition record, as returned", "Endpoints: the service: conditions". */
export const CONDITION_CASES: readonly ConformanceCase[] = [
  ...sent.writes({
    ...byName(['transactionId', 'status', 'medication', 'family'], taken),
    ...byName(['name', 'source', 'codes'], comesBack),
    account: async (client) => {
      const [{ account }, other] = await registerTwo(client)
      await createConditions(client, [condition(client, account)])
      kept((await conditionsOf(client, account)).length, 1, "the number of the user's records")
      kept((await conditionsOf(client, other.account)).length, 0, "the number of another user's records")
    },
    observationDate: async (client) => {
      const { created, found } = await stored(client)
      // The form of the returned string is left open.
      const returned = instantOf(at(created, 'observationDate'))
      kept(returned, OBSERVED, 'the instant observationDate as create returns it')
      kept(instantOf(at(found, 'observationDate')), OBSERVED, 'the instant observationDate as read')
    },
    'All dates are normalised to and expressed in UTC.': async (client) => {
      const date = at((await stored(client)).found, 'observationDate')
      const inUtc = typeof date === 'string' && (EPOCH_TEXT.holds(date) || /(Z|\+00:?00)$/.test(date))
      kept(inUtc, true, 'observationDate as read being in UTC')
    },
  }),

  ...returned.account({
    'account (type, reference)': each(TEXT, 'account.type', 'account.reference'),
    name: each(TEXT, 'name'),
    codes: each(LIST, 'codes'),
    'observationDate (string)': each(TEXT, 'observationDate'),
    source: each(OBJECT, 'source'),
    'createDate (string, epoch ms)': each(EPOCH_TEXT, 'createDate'),
    'updateDate (string, epoch ms)': each(EPOCH_TEXT, 'updateDate'),
  }),
  ...returned.writes({
    'id (string, present in create responses)': async (client) =>
      formed(at((await stored(client)).created, 'id'), TEXT, 'id as create returns it'),
  }),

  ...endpoints.writes({
    'POST /health-profile/conditions': async (client) => {
      const { account } = await register(client)
      const records = [condition(client, account), condition(client, account, HYPERTENSION)]
      const body = await createdWhole(client, records)
      kept(at(body, 'errors'), [], 'errors')
      for (const item of listAt(body, 'data')) formed(at(item, 'id'), TEXT, 'data[].id')
      kept((await conditionsOf(client, account)).length, 2, 'the number of records as read')
    },
    'POST /health-profile/conditions/bulk': async (client) => {
      const users = await registerTwo(client)
      const records = users.map(({ account }) => condition(client, account))
      await createdWhole(client, records, '/bulk')
      for (const { account } of users)
        kept((await conditionsOf(client, account)).length, 1, "the number of each user's records as read")
    },
    'Latest records by observationDate per code and sourceType.': async (client) => {
      const { account } = await register(client)
      const make = (days: number, fields: object = {}) => {
        const observationDate = OBSERVED + days * DAY
        return { ...condition(client, account), observationDate, ...fields }
      }
      const others = [make(0, { source: source('assessment') }), make(0, { codes: [HYPERTENSION] })]
      for (const record of [make(1), make(3), make(2), ...others]) await createConditions(client, [record])
      const [day, third] = [OBSERVED, OBSERVED + 3 * DAY]
      const latest = [`E11 assessment ${day}`, `E11 screening ${third}`, `I10 screening ${day}`]
      const found = await conditionsOf(client, account)
      kept(seriesOf(found), latest, 'the latest record per code and source type')
    },
  }),
  ...endpoints.account({
    'GET /health-profile/conditions': async (client, account) => {
      const body = await readConditions(client, account)
      formed(at(body, 'data'), OBJECT, 'data')
      formed(at(body, 'data.data'), LIST, 'data.data')
    },
  }),
]
