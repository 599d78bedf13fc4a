import { expect, onTestFinished, test } from 'vitest'
import { connectGateway } from '../../src/runs/connect-gateway.ts'
import { readSettings } from '../../src/system/settings.ts'
import { json, serve } from '../gateway/loopback.ts'
import { RECORDS_REQUEST } from '../gateway/sample-records.ts'

const CREDENTIALS = { WAYBILL_API_KEY: 'key', WAYBILL_ACCESS_TOKEN: 'token' }
const { request } = RECORDS_REQUEST
const SEARCH = {
  page: 1,
  limit: 1,
  filter: [{ patient: { lastName: 'Person' }, request: { type: '', subType: 's' } }],
}

/** What a gateway sees of a list of articles, an upsert and a search. */
async function seenWith(environment: Record<string, string>) {
  const server = await serve(({ method }) =>
    json(200, { code: 200, message: 'OK', data: method === 'PATCH' ? [RECORDS_REQUEST] : [] }),
  )
  const settings = readSettings(
    { ...CREDENTIALS, WAYBILL_GATEWAY_URL: server.url, ...environment },
    '/',
    'ignored',
  )
  const parts = { now: Date.now, nextRequestId: () => 'request', randomHex: () => '' }
  const { gateway, close } = await connectGateway(server.url, settings, parts)
  onTestFinished(close)
  await gateway.content.listArticles()
  await gateway.medicalRecords.upsert([RECORDS_REQUEST])
  await gateway.medicalRecords.search(SEARCH)
  const [, upsert = '', search = ''] = server.seen.map(({ body }) => body)
  return {
    keys: server.seen.map(({ headers }) => headers['x-api-key']),
    asked: Object.keys(JSON.parse(upsert)[0].request).sort(),
    sought: Object.keys(JSON.parse(search).filter[0].request).sort(),
  }
}

const OTHERS = Object.keys(request).filter((name) => !['datesOfService', 'requestSubType'].includes(name))

test('without settings of its own the requester has the key of all calls, and the names of the samples', async () => {
  expect(await seenWith({})).toEqual({
    keys: ['key', 'key', 'key'],
    asked: [...OTHERS, 'datesOfService', 'requestSubType'].sort(),
    sought: ['subTyp', 'type'],
  })
})

test('its own key goes out with its own calls alone, and fields by the names that the settings give', async () => {
  const environment = {
    WAYBILL_REQUESTER_API_KEY: 'requester',
    WAYBILL_DATES_OF_SERVICE: 'dateOfService',
    WAYBILL_REQUEST_SUB_TYPE: 'requestSubtype',
    WAYBILL_SEARCH_SUB_TYPE: 'subType',
  }
  expect(await seenWith(environment)).toEqual({
    keys: ['key', 'requester', 'requester'],
    asked: [...OTHERS, 'dateOfService', 'requestSubtype'].sort(),
    sought: ['subType', 'type'],
  })
})

test.each([
  ['WAYBILL_DATES_OF_SERVICE', 'datesofservice'],
  ['WAYBILL_REQUEST_SUB_TYPE', 'subType'],
  ['WAYBILL_SEARCH_SUB_TYPE', 'requestSubType'],
])('%s takes no name that the interface does not have: %s', (name, value) => {
  expect(() => readSettings({ [name]: value }, '/', 'ignored')).toThrow(
    expect.objectContaining({
      code: 'settings-invalid',
      findings: [expect.objectContaining({ place: { key: name } })],
    }),
  )
})
