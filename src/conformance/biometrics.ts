import { type ConformanceCase, inSection } from './case.ts'
import { biometricsOf, createBiometrics, queryOf, readBiometrics, register, some } from './profile.ts'
import { biometric, DAY, DIASTOLIC, OBSERVED, source } from './sample-records.ts'
import { assertForm, assertKept, assertStatus, at, instantOf, jsonOf, LIST, listAt, oneOf } from './values.ts'

const endpoints = inSection('Endpoints: Biometrics')

/** Section "Endpoints: the service: biometrics". */
export const BIOMETRIC_CASES: readonly ConformanceCase[] = [
  endpoints.writes('POST /health-profile/biometrics', async (client) => {
    const { account } = await register(client)
    const records = [
      biometric(account, client.unique('record')),
      biometric(account, client.unique('record'), DIASTOLIC),
    ]
    const body = await createBiometrics(client, records)
    assertKept(at(body, 'code'), 201, 'code')
    // The order of the echo is not promised.
    const echoed = new Set(listAt(body, 'data').map((item) => at(item, 'transactionId')))
    assertKept(echoed, new Set(records.map(({ transactionId }) => transactionId)), 'the records in data')
    assertKept((await biometricsOf(client, account)).length, 2, 'the number of records as read')
  }),
  endpoints.writes('POST /health-profile/biometrics/bulk', async (client) => {
    const users = [await register(client), await register(client)]
    const records = users.map(({ account }) => biometric(account, client.unique('record')))
    const body = await createBiometrics(client, records, '/bulk')
    assertKept(at(body, 'code'), 201, 'code')
    const echoed = new Set(listAt(body, 'data').map((item) => at(item, 'transactionId')))
    assertKept(echoed, new Set(records.map(({ transactionId }) => transactionId)), 'the records in data')
    for (const { account } of users)
      assertKept((await biometricsOf(client, account)).length, 1, "the number of each user's records as read")
  }),
  endpoints.account('GET /health-profile/biometrics', async (client, account) => {
    const body = await readBiometrics(client, account)
    assertKept(at(body, 'code'), '200', 'code')
    assertForm(at(body, 'data'), LIST, 'data')
    assertKept(at(body, 'errors'), [], 'errors')
  }),
  endpoints.writes('entity (URL-form account identifier)', async (client) => {
    const { account, accountId } = await register(client)
    await createBiometrics(client, [biometric(account, client.unique('record'))])
    const entity = `https://accounts.example/accounts/${accountId}`
    const path = '/health-profile/biometrics'
    const beside = await client.send('GET', path, { query: { ...queryOf(account), entity } })
    // Whether entity is an alternative to the other two, or another URL form is wanted, the document leaves open.
    const alone = await client.send('GET', path, { query: { entity } })
    for (const answer of [beside, alone]) {
      assertForm(answer.status, oneOf(200, 400, 404, 422), `${answer.call}: status`)
      if (answer.status === 200) assertKept(listAt(jsonOf(answer), 'data').length, 1, 'the number of records')
    }
  }),
  endpoints.writes(
    'Returns the latest records by observationDate per code and sourceType.',
    async (client) => {
      const { account } = await register(client)
      const make = (days: number, fields: object = {}) => ({
        ...biometric(account, client.unique('record')),
        observationDate: new Date(OBSERVED + days * DAY).toISOString(),
        value: 100 + days,
        ...fields,
      })
      // Out of order, and each on its own: the latest by date is not the last that was stored.
      await createBiometrics(client, [make(1)])
      await createBiometrics(client, [make(3)])
      await createBiometrics(client, [make(2)])
      await createBiometrics(client, [make(0, { source: source('assessment') })])
      await createBiometrics(client, [
        { ...make(0), ...biometric(account, client.unique('record'), DIASTOLIC) },
      ])
      const found = (await biometricsOf(client, account)).map(
        (record) =>
          `${at(record, 'codes.0.code')} ${at(record, 'source.type')} ${instantOf(at(record, 'observationDate'))}`,
      )
      assertKept(
        found.sort(),
        [
          `${DIASTOLIC.code} screening ${OBSERVED}`,
          `8480-6 assessment ${OBSERVED}`,
          `8480-6 screening ${OBSERVED + 3 * DAY}`,
        ].sort(),
        'the latest record per code and source type',
      )
    },
  ),
  endpoints.account('latest records by observationDate per code and sourceType', async (client, account) => {
    const records = some(await biometricsOf(client, account), 'biometrics')
    const keys = records.map((record) => JSON.stringify([at(record, 'codes'), at(record, 'source.type')]))
    assertKept(new Set(keys).size, keys.length, 'one record per code and source type: their number')
  }),
  endpoints.account('errors = []', async (client, account) => {
    const answer = await client.send('GET', '/health-profile/biometrics', { query: queryOf(account) })
    assertStatus(answer, 200)
    assertKept(at(jsonOf(answer), 'errors'), [], 'errors')
  }),
]
