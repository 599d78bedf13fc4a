import {
  type Account,
  allFormed,
  at,
  byName,
  type ConformanceCase,
  type Form,
  formed,
  inSection,
  instantOf,
  isOfForm,
  jsonOf,
  kept,
  listAt,
  oneOf,
  type Run,
} from './case.ts'
import type { Client } from './client.ts'
import {
  BIOMETRICS,
  biometric,
  biometricsOf,
  condition,
  conditionsOf,
  createBiometrics,
  createConditions,
  DAY,
  DIASTOLIC,
  HYPERTENSION,
  OBSERVED,
  queryOf,
  readBiometrics,
  readConditions,
  register,
  registerTwo,
  seriesOf,
  some,
  someBiometrics,
  someConditions,
  source,
} from './made-up.ts'

const biometricSent = inSection('Biometric record, as sent')
const biometricRead = inSection('Biometric record, as read')
const biometricCalls = inSection('Endpoints: Biometrics')

/** Stores a biometric. Returns the record, its echo, and the record as read. */
async function storedBiometric(client: Client) {
  const user = await register(client)
  const record = biometric(client, user.account)
  const body = await createBiometrics(client, [record])
  kept(at(body, 'data.1'), undefined, 'a second item of data[]')
  const [found] = await biometricsOf(client, user.account)
  return { ...user, record, body, echo: at(body, 'data.0'), found }
}

/** Checks that echo and read return the field as sent. */
const biometricComesBack =
  (field: 'name' | 'codes' | 'value' | 'unit'): Run =>
  async (client) => {
    const { record, echo, found } = await storedBiometric(client)
    kept(at(echo, field), record[field], `${field} in the echo`)
    kept(at(found, field), record[field], `${field} as read`)
  }

/** Checks that the gateway takes a record with the fields, and without. No answer returns these fields. */
const biometricTaken =
  (row: string): Run =>
  async (client) => {
    const { account } = await register(client)
    const record = biometric(client, account)
    const rest = Object.entries(record).filter(([field]) => !row.split(', ').includes(field))
    await createBiometrics(client, [record])
    await createBiometrics(client, [{ ...Object.fromEntries(rest), transactionId: client.unique('record') }])
    const [found] = await biometricsOf(client, account)
    kept(at(found, 'value'), record.value, 'value as read')
  }

/** Filters records with the field. Only the account is required, so a record may lack any other field. */
const having = (records: readonly unknown[], field: string) =>
  records.filter((record) => at(record, field) !== undefined && at(record, field) !== null)

/** Checks the form of a field in every record read. */
const always =
  (field: string, form: Form): Run<[Account]> =>
  async (client, account) => {
    for (const record of await someBiometrics(client, account)) formed(at(record, field), form, field)
  }
const whereSent =
  (field: string, form: Form): Run<[Account]> =>
  async (client, account) => {
    const records = having(await someBiometrics(client, account), field)
    for (const record of some(records, `biometrics with ${field}`)) formed(at(record, field), form, field)
  }

/** Transaction ids as a set; the document promises no order of the echo. */
const idsOf = (records: readonly unknown[]) => new Set(records.map((one) => at(one, 'transactionId')))

async function biometricsCreated(client: Client, records: readonly unknown[], form = ''): Promise<void> {
  const body = await createBiometrics(client, records, form)
  kept(at(body, 'code'), 201, 'code')
  kept(idsOf(listAt(body, 'data')), idsOf(records), 'the records in data')
}

/** Sections "Biometric record, as sent", "Biometric record, as read" and "Endpoints: the service: biometrics". */
export const BIOMETRIC_CASES: readonly ConformanceCase[] = [
  ...biometricSent.writes({
    transactionId: async (client) => {
      const { record, echo } = await storedBiometric(client)
      kept(at(echo, 'transactionId'), record.transactionId, 'transactionId in the echo')
    },
    account: async (client) => {
      const { account, accountId, echo, found } = await storedBiometric(client)
      // The document does not say whether the account comes back as sent or as resolved.
      const named = at(echo, 'account.reference')
      const known = named === account.reference || (typeof named === 'string' && named.endsWith(accountId))
      kept(known, true, 'account.reference in the echo naming the user')
      formed(found, 'object', "the user's record as read")
    },
    observationDate: async (client) => {
      const { record, echo, found } = await storedBiometric(client)
      formed(record.observationDate, 'iso-instant', 'observationDate as sent')
      kept(instantOf(at(echo, 'observationDate')), OBSERVED, 'the instant observationDate in the echo')
      const read = at(found, 'observationDate')
      kept(read, String(OBSERVED), 'observationDate as read, in epoch milliseconds,')
    },
    ...byName(['name', 'codes', 'value', 'unit'], biometricComesBack),
    ...byName(['codeSystem, codeSystemName, code', 'refHigh, refLow', 'refRange', 'type'], biometricTaken),
    source: async (client) => {
      const { record, echo, found } = await storedBiometric(client)
      for (const field of ['name', 'type', 'notes'] as const)
        kept(at(echo, `source.${field}`), record.source[field], `source.${field} in the echo`)
      kept(at(found, 'source'), record.source, 'source as read')
    },
    'Biometric create response data[] items: transactionId, account (reference, type, sponsor), name, source (name, notes, type, meta.dataQuality), observationDate (ISO 8601 string), value, unit, codes.':
      async (client) => {
        const echoed: Readonly<Record<string, Form>> = {
          transactionId: 'text',
          'account.reference': 'text',
          'account.type': 'text',
          'account.sponsor': 'text',
          name: 'text',
          'source.name': 'text',
          'source.notes': 'text',
          'source.type': 'text',
          'source.meta.dataQuality': 'text',
          observationDate: 'iso-instant',
          value: 'number',
          unit: 'text',
          codes: 'list',
        }
        allFormed((await storedBiometric(client)).echo, echoed, 'data[].')
      },
    'The envelope has code 201 (integer) and message of the form 201 CREATED.': async (client) => {
      const { body } = await storedBiometric(client)
      formed(at(body, 'code'), 'integer', 'code')
      kept(at(body, 'code'), 201, 'code 201')
      kept(/^201\b/.test(String(at(body, 'message'))), true, 'message beginning with 201')
    },
  }),

  ...biometricRead.account({
    id: always('id', 'text'),
    accountReference: always('accountReference', 'object'),
    'created, updated': async (client, account) => {
      const records = await someBiometrics(client, account)
      for (const record of records) formed(at(record, 'created'), 'epoch-text', 'created')
      // The document does not show this field of a record without an update.
      for (const record of having(records, 'updated')) formed(at(record, 'updated'), 'epoch-text', 'updated')
    },
    name: whereSent('name', 'text'),
    source: whereSent('source', 'object'),
    observationDate: whereSent('observationDate', 'epoch-text'),
    value: whereSent('value', 'number'),
    unit: whereSent('unit', 'text'),
    codes: async (client, account) => {
      const records = having(await someBiometrics(client, account), 'codes')
      for (const record of some(records, 'biometrics with codes')) {
        formed(at(record, 'codes'), 'list', 'codes')
        formed(at(record, 'codes.0'), 'object', 'codes[]')
      }
    },
  }),

  ...biometricCalls.writes({
    'POST /health-profile/biometrics': async (client) => {
      const { account } = await register(client)
      await biometricsCreated(client, [biometric(client, account), biometric(client, account, DIASTOLIC)])
      kept((await biometricsOf(client, account)).length, 2, 'the number of records as read')
    },
    'POST /health-profile/biometrics/bulk': async (client) => {
      const users = await registerTwo(client)
      const records = users.map(({ account }) => biometric(client, account))
      await biometricsCreated(client, records, '/bulk')
      for (const { account } of users)
        kept((await biometricsOf(client, account)).length, 1, "the number of each user's records as read")
    },
    'entity (URL-form account identifier)': async (client) => {
      const { account, accountId } = await register(client)
      await createBiometrics(client, [biometric(client, account)])
      const entity = `https://accounts.example/accounts/${accountId}`
      const beside = await client.send('GET', BIOMETRICS, { query: { ...queryOf(account), entity } })
      // The document does not say whether `entity` replaces the other two parameters, nor which URL form it takes.
      const alone = await client.send('GET', BIOMETRICS, { query: { entity } })
      for (const answer of [beside, alone]) {
        formed(answer.status, oneOf(200, 400, 404, 422), `${answer.call}: status`)
        if (answer.status === 200) kept(listAt(jsonOf(answer), 'data').length, 1, 'the number of records')
      }
    },
    'Returns the latest records by observationDate per code and sourceType.': async (client) => {
      const { account } = await register(client)
      const make = (days: number, fields: object = {}) => ({
        ...biometric(client, account),
        observationDate: new Date(OBSERVED + days * DAY).toISOString(),
        value: 100 + days,
        ...fields,
      })
      const others = [make(0, { source: source('assessment') }), biometric(client, account, DIASTOLIC)]
      // Stored one by one and out of order, so that the latest by date is not the last stored.
      for (const record of [make(1), make(3), make(2), ...others]) await createBiometrics(client, [record])
      const latest = [
        `${DIASTOLIC.code} screening ${OBSERVED}`,
        `8480-6 assessment ${OBSERVED}`,
        `8480-6 screening ${OBSERVED + 3 * DAY}`,
      ].sort()
      const found = await biometricsOf(client, account)
      kept(seriesOf(found), latest, 'the latest record per code and source type')
    },
  }),
  ...biometricCalls.account({
    'GET /health-profile/biometrics': async (client, account) => {
      const body = await readBiometrics(client, account)
      kept(at(body, 'code'), '200', 'code')
      formed(at(body, 'data'), 'list', 'data')
      kept(at(body, 'errors'), [], 'errors')
    },
    'latest records by observationDate per code and sourceType': async (client, account) => {
      const records = await someBiometrics(client, account)
      const keys = records.map((record) => JSON.stringify([at(record, 'codes'), at(record, 'source.type')]))
      kept(new Set(keys).size, keys.length, 'one record per code and source type: their number')
    },
    'errors = []': async (client, account) =>
      kept(at(await readBiometrics(client, account), 'errors'), [], 'errors'),
  }),
]

const conditionSent = inSection('Condition record, as sent')
const conditionReturned = inSection('Condition record, as returned')
const conditionCalls = inSection('Endpoints: Conditions')

/** Stores a condition. Returns the record, create's answer, and the record as read. */
async function storedCondition(client: Client) {
  const user = await register(client)
  const record = condition(client, user.account)
  const created = at(await createConditions(client, [record]), 'data.0')
  const [found] = await conditionsOf(client, user.account)
  return { ...user, record, created, found }
}

const conditionComesBack =
  (field: 'name' | 'source' | 'codes'): Run =>
  async (client) => {
    const { record, created, found } = await storedCondition(client)
    kept(at(created, field), record[field], `${field} as create returns it`)
    kept(at(found, field), record[field], `${field} as read`)
  }

/** Checks that the gateway takes a record with the field. No answer returns the field. */
const conditionTaken =
  (field: string): Run =>
  async (client) =>
    formed((await storedCondition(client)).found, 'object', `a record sent with ${field}, as read`)

/** Checks fields in every condition of the account. */
const each =
  (form: Form, ...fields: readonly string[]): Run<[Account]> =>
  async (client, account) => {
    for (const record of await someConditions(client, account))
      for (const field of fields) formed(at(record, field), form, field)
  }

async function conditionsCreated(client: Client, records: readonly unknown[], form = ''): Promise<unknown> {
  const body = await createConditions(client, records, form)
  kept(at(body, 'code'), '200', 'code')
  kept(listAt(body, 'data').length, 2, 'the number of records in data')
  return body
}

/** Sections "Condition record, as sent", "Condition record, as returned", "Endpoints: the service: conditions". */
export const CONDITION_CASES: readonly ConformanceCase[] = [
  ...conditionSent.writes({
    ...byName(['transactionId', 'status', 'medication', 'family'], conditionTaken),
    ...byName(['name', 'source', 'codes'], conditionComesBack),
    account: async (client) => {
      const [{ account }, other] = await registerTwo(client)
      await createConditions(client, [condition(client, account)])
      kept((await conditionsOf(client, account)).length, 1, "the number of the user's records")
      kept((await conditionsOf(client, other.account)).length, 0, "the number of another user's records")
    },
    observationDate: async (client) => {
      const { created, found } = await storedCondition(client)
      // The document does not show the form of the returned string.
      const returned = instantOf(at(created, 'observationDate'))
      kept(returned, OBSERVED, 'the instant observationDate as create returns it')
      kept(instantOf(at(found, 'observationDate')), OBSERVED, 'the instant observationDate as read')
    },
    'All dates are normalised to and expressed in UTC.': async (client) => {
      const date = at((await storedCondition(client)).found, 'observationDate')
      const inUtc = typeof date === 'string' && (isOfForm(date, 'epoch-text') || /(Z|\+00:?00)$/.test(date))
      kept(inUtc, true, 'observationDate as read being in UTC')
    },
  }),

  ...conditionReturned.account({
    'account (type, reference)': each('text', 'account.type', 'account.reference'),
    name: each('text', 'name'),
    codes: each('list', 'codes'),
    'observationDate (string)': each('text', 'observationDate'),
    source: each('object', 'source'),
    'createDate (string, epoch ms)': each('epoch-text', 'createDate'),
    'updateDate (string, epoch ms)': each('epoch-text', 'updateDate'),
  }),
  ...conditionReturned.writes({
    'id (string, present in create responses)': async (client) =>
      formed(at((await storedCondition(client)).created, 'id'), 'text', 'id as create returns it'),
  }),

  ...conditionCalls.writes({
    'POST /health-profile/conditions': async (client) => {
      const { account } = await register(client)
      const records = [condition(client, account), condition(client, account, HYPERTENSION)]
      const body = await conditionsCreated(client, records)
      kept(at(body, 'errors'), [], 'errors')
      for (const item of listAt(body, 'data')) formed(at(item, 'id'), 'text', 'data[].id')
      kept((await conditionsOf(client, account)).length, 2, 'the number of records as read')
    },
    'POST /health-profile/conditions/bulk': async (client) => {
      const users = await registerTwo(client)
      const records = users.map(({ account }) => condition(client, account))
      await conditionsCreated(client, records, '/bulk')
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
  ...conditionCalls.account({
    'GET /health-profile/conditions': async (client, account) => {
      const body = await readConditions(client, account)
      formed(at(body, 'data'), 'object', 'data')
      formed(at(body, 'data.data'), 'list', 'data.data')
    },
  }),
]
