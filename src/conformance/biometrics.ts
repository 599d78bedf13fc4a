import {
  type Account,
  allFormed,
  at,
  byName,
  type ConformanceCase,
  EPOCH_TEXT,
  type Form,
  formed,
  INTEGER,
  ISO_INSTANT,
  inSection,
  instantOf,
  jsonOf,
  kept,
  LIST,
  listAt,
  NUMBER,
  OBJECT,
  oneOf,
  type Run,
  TEXT,
} from './case.ts'
import type { Client } from './client.ts'
import {
  BIOMETRICS,
  biometric,
  biometricsOf,
  createBiometrics,
  DAY,
  DIASTOLIC,
  OBSERVED,
  queryOf,
  readBiometrics,
  register,
  registerTwo,
  seriesOf,
  some,
  someBiometrics,
  source,
} from './profile.ts'

const sent = inSection('Biometric record, as sent')
const asRead = inSection('Biometric record, as read')
const endpoints = inSection('Endpoints: Biometrics')

/** A biometric with what create echoed and a read gives of it. */
async function stored(client: Client) {
  const user = await register(client)
  const record = biometric(client, user.account)
  const body = await createBiometrics(client, [record])
  kept(at(body, 'data.1'), undefined, 'a second item of data[]')
  const [found] = await biometricsOf(client, user.account)
  return { ...user, record, body, echo: at(body, 'data.0'), found }
}

/** The field comes back as it was sent, in the echo and in a read. */
const comesBack =
  (field: 'name' | 'codes' | 'value' | 'unit'): Run =>
  async (client) => {
    const { record, echo, found } = await stored(client)
    kept(at(echo, field), record[field], `${field} in the echo`)
    kept(at(found, field), record[field], `${field} as read`)
  }

/** The fields are taken; no answer gives them back, so the record with and without them is stored all the same. */
const taken =
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

/** Those with the field: beyond the account none is marked as required, so a record may have been stored without it. */
const having = (records: readonly unknown[], field: string) =>
  records.filter((record) => at(record, field) !== undefined && at(record, field) !== null)

/** Every record read has the field in its form. */
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

/** Transaction ids; the order of the echo is not promised. */
const idsOf = (records: readonly unknown[]) => new Set(records.map((one) => at(one, 'transactionId')))

async function createdWhole(client: Client, records: readonly unknown[], form = ''): Promise<void> {
  const body = await createBiometrics(client, records, form)
  kept(at(body, 'code'), 201, 'code')
  kept(idsOf(listAt(body, 'data')), idsOf(records), 'the records in data')
}

/** Sections "Biometric record, as sent", "Biometric record, as read" and "Endpoints: the service: biometrics". */
export const BIOMETRIC_CASES: readonly ConformanceCase[] = [
  ...sent.writes({
    transactionId: async (client) => {
      const { record, echo } = await stored(client)
      kept(at(echo, 'transactionId'), record.transactionId, 'transactionId in the echo')
    },
    account: async (client) => {
      const { account, accountId, echo, found } = await stored(client)
      // As sent or as resolved: the document leaves it open.
      const named = at(echo, 'account.reference')
      const known = named === account.reference || (typeof named === 'string' && named.endsWith(accountId))
      kept(known, true, 'account.reference in the echo naming the user')
      formed(found, OBJECT, "the user's record as read")
    },
    observationDate: async (client) => {
      const { record, echo, found } = await stored(client)
      formed(record.observationDate, ISO_INSTANT, 'observationDate as sent')
      kept(instantOf(at(echo, 'observationDate')), OBSERVED, 'the instant observationDate in the echo')
      const read = at(found, 'observationDate')
      kept(read, String(OBSERVED), 'observationDate as read, in epoch milliseconds,')
    },
    ...byName(['name', 'codes', 'value', 'unit'], comesBack),
    ...byName(['codeSystem, codeSystemName, code', 'refHigh, refLow', 'refRange', 'type'], taken),
    source: async (client) => {
      const { record, echo, found } = await stored(client)
      for (const field of ['name', 'type', 'notes'] as const)
        kept(at(echo, `source.${field}`), record.source[field], `source.${field} in the echo`)
      kept(at(found, 'source'), record.source, 'source as read')
    },
    'Biometric create response data[] items: transactionId, account (reference, type, sponsor), name, source (name, notes, type, meta.dataQuality), observationDate (ISO 8601 string), value, unit, codes.':
      async (client) => {
        const account = { 'account.reference': TEXT, 'account.type': TEXT, 'account.sponsor': TEXT }
        const texts = { 'source.name': TEXT, 'source.notes': TEXT, 'source.type': TEXT }
        const fields = {
          transactionId: TEXT,
          ...account,
          name: TEXT,
          ...texts,
          'source.meta.dataQuality': TEXT,
        }
        const measured = { observationDate: ISO_INSTANT, value: NUMBER, unit: TEXT, codes: LIST }
        allFormed((await stored(client)).echo, { ...fields, ...measured }, 'data[].')
      },
    'The envelope has code 201 (integer) and message of the form 201 CREATED.': async (client) => {
      const { body } = await stored(client)
      formed(at(body, 'code'), INTEGER, 'code')
      kept(at(body, 'code'), 201, 'code 201')
      kept(/^201\b/.test(String(at(body, 'message'))), true, 'message beginning with 201')
    },
  }),

  ...asRead.account({
    id: always('id', TEXT),
    accountReference: always('accountReference', OBJECT),
    'created, updated': async (client, account) => {
      const records = await someBiometrics(client, account)
      for (const record of records) formed(at(record, 'created'), EPOCH_TEXT, 'created')
      // Of a record that was never updated, the document does not show what it is.
      for (const record of having(records, 'updated')) formed(at(record, 'updated'), EPOCH_TEXT, 'updated')
    },
    name: whereSent('name', TEXT),
    source: whereSent('source', OBJECT),
    observationDate: whereSent('observationDate', EPOCH_TEXT),
    value: whereSent('value', NUMBER),
    unit: whereSent('unit', TEXT),
    codes: async (client, account) => {
      const records = having(await someBiometrics(client, account), 'codes')
      for (const record of some(records, 'biometrics with codes')) {
        formed(at(record, 'codes'), LIST, 'codes')
        formed(at(record, 'codes.0'), OBJECT, 'codes[]')
      }
    },
  }),

  ...endpoints.writes({
    'POST /health-profile/biometrics': async (client) => {
      const { account } = await register(client)
      await createdWhole(client, [biometric(client, account), biometric(client, account, DIASTOLIC)])
      kept((await biometricsOf(client, account)).length, 2, 'the number of records as read')
    },
    'POST /health-profile/biometrics/bulk': async (client) => {
      const users = await registerTwo(client)
      const records = users.map(({ account }) => biometric(client, account))
      await createdWhole(client, records, '/bulk')
      for (const { account } of users)
        kept((await biometricsOf(client, account)).length, 1, "the number of each user's records as read")
    },
    'entity (URL-form account identifier)': async (client) => {
      const { account, accountId } = await register(client)
      await createBiometrics(client, [biometric(client, account)])
      const entity = `https://accounts.example/accounts/${accountId}`
      const beside = await client.send('GET', BIOMETRICS, { query: { ...queryOf(account), entity } })
      // Whether entity is an alternative to the other two, or another URL form is wanted, the document leaves open.
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
      // Out of order, and each on its own: the latest by date is not the last that was stored.
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
  ...endpoints.account({
    'GET /health-profile/biometrics': async (client, account) => {
      const body = await readBiometrics(client, account)
      kept(at(body, 'code'), '200', 'code')
      formed(at(body, 'data'), LIST, 'data')
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
