import { type ConformanceCase, inSection } from './case.ts'
import type { Client } from './client.ts'
import { conditionsOf, createConditions, readConditions, register, some } from './profile.ts'
import { condition, DAY, HYPERTENSION, OBSERVED, source } from './sample-records.ts'
import {
  assertForm,
  assertKept,
  at,
  EPOCH_TEXT,
  type Form,
  instantOf,
  LIST,
  listAt,
  OBJECT,
  TEXT,
} from './values.ts'

const sent = inSection('Condition record, as sent')
const returned = inSection('Condition record, as returned')
const endpoints = inSection('Endpoints: Conditions')

/** A condition with what create returned and what a read gives of it. */
async function stored(client: Client) {
  const user = await register(client)
  const record = condition(user.account, client.unique('record'))
  const body = await createConditions(client, [record])
  return {
    ...user,
    record,
    created: at(body, 'data.0'),
    found: (await conditionsOf(client, user.account))[0],
  }
}

const kept = (field: 'name' | 'source' | 'codes'): ConformanceCase =>
  sent.writes(field, async (client) => {
    const { record, created, found } = await stored(client)
    assertKept(at(created, field), record[field], `${field} as create returns it`)
    assertKept(at(found, field), record[field], `${field} as read`)
  })

/** The field is taken, and may be missing; no answer gives it back. */
const taken = (field: 'transactionId' | 'status' | 'medication' | 'family'): ConformanceCase =>
  sent.writes(field, async (client) => {
    const { found } = await stored(client)
    assertForm(found, OBJECT, `a record sent with ${field}, as read`)
  })

/** Every condition of the account has the field in its form. */
const each = (row: string, field: string, form: Form): ConformanceCase =>
  returned.account(row, async (client, account) => {
    for (const record of some(await conditionsOf(client, account), 'conditions'))
      assertForm(at(record, field), form, field)
  })

/** Sections "Condition record, as sent", "Condition record, as returned", "Endpoints: the service: conditions". */
export const CONDITION_CASES: readonly ConformanceCase[] = [
  taken('transactionId'),
  sent.writes('account', async (client) => {
    const [{ account }, other] = [await register(client), await register(client)]
    await createConditions(client, [condition(account, client.unique('record'))])
    assertKept((await conditionsOf(client, account)).length, 1, "the number of the user's records")
    assertKept((await conditionsOf(client, other.account)).length, 0, "the number of another user's records")
  }),
  kept('name'),
  taken('status'),
  kept('source'),
  sent.writes('observationDate', async (client) => {
    const { created, found } = await stored(client)
    // The form of the returned string is left open.
    assertKept(
      instantOf(at(created, 'observationDate')),
      OBSERVED,
      'the instant observationDate as create returns it',
    )
    assertKept(instantOf(at(found, 'observationDate')), OBSERVED, 'the instant observationDate as read')
  }),
  taken('medication'),
  taken('family'),
  kept('codes'),
  sent.writes('All dates are normalised to and expressed in UTC.', async (client) => {
    const { found } = await stored(client)
    const date = at(found, 'observationDate')
    const inUtc = typeof date === 'string' && (EPOCH_TEXT.holds(date) || /(Z|\+00:?00)$/.test(date))
    assertKept(inUtc, true, 'observationDate as read being in UTC')
  }),

  each('account (type, reference)', 'account.type', TEXT),
  each('account (type, reference)', 'account.reference', TEXT),
  each('name', 'name', TEXT),
  each('codes', 'codes', LIST),
  each('observationDate (string)', 'observationDate', TEXT),
  each('source', 'source', OBJECT),
  each('createDate (string, epoch ms)', 'createDate', EPOCH_TEXT),
  each('updateDate (string, epoch ms)', 'updateDate', EPOCH_TEXT),
  returned.writes('id (string, present in create responses)', async (client) => {
    assertForm(at((await stored(client)).created, 'id'), TEXT, 'id as create returns it')
  }),

  endpoints.writes('POST /health-profile/conditions', async (client) => {
    const { account } = await register(client)
    const records = [
      condition(account, client.unique('record')),
      condition(account, client.unique('record'), HYPERTENSION),
    ]
    const body = await createConditions(client, records)
    assertKept(at(body, 'code'), '200', 'code')
    assertKept(at(body, 'errors'), [], 'errors')
    const data = listAt(body, 'data')
    assertKept(data.length, 2, 'the number of records in data')
    for (const item of data) assertForm(at(item, 'id'), TEXT, 'data[].id')
    assertKept((await conditionsOf(client, account)).length, 2, 'the number of records as read')
  }),
  endpoints.writes('POST /health-profile/conditions/bulk', async (client) => {
    const users = [await register(client), await register(client)]
    const records = users.map(({ account }) => condition(account, client.unique('record')))
    const body = await createConditions(client, records, '/bulk')
    assertKept(at(body, 'code'), '200', 'code')
    assertKept(listAt(body, 'data').length, 2, 'the number of records in data')
    for (const { account } of users)
      assertKept((await conditionsOf(client, account)).length, 1, "the number of each user's records as read")
  }),
  endpoints.account('GET /health-profile/conditions', async (client, account) => {
    const body = await readConditions(client, account)
    assertForm(at(body, 'data'), OBJECT, 'data')
    assertForm(at(body, 'data.data'), LIST, 'data.data')
  }),
  endpoints.writes('Latest records by observationDate per code and sourceType.', async (client) => {
    const { account } = await register(client)
    const make = (days: number, fields: object = {}) => ({
      ...condition(account, client.unique('record')),
      observationDate: OBSERVED + days * DAY,
      ...fields,
    })
    await createConditions(client, [make(1)])
    await createConditions(client, [make(3)])
    await createConditions(client, [make(2)])
    await createConditions(client, [make(0, { source: source('assessment') })])
    await createConditions(client, [make(0, { codes: [HYPERTENSION] })])
    const found = (await conditionsOf(client, account)).map(
      (record) =>
        `${at(record, 'codes.0.code')} ${at(record, 'source.type')} ${instantOf(at(record, 'observationDate'))}`,
    )
    assertKept(
      found.sort(),
      [`E11 assessment ${OBSERVED}`, `E11 screening ${OBSERVED + 3 * DAY}`, `I10 screening ${OBSERVED}`],
      'the latest record per code and source type',
    )
  }),
]
