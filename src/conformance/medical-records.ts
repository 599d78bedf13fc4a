import { type ConformanceCase, inSection } from './case.ts'
import {
  createRoi,
  createTaken,
  PATH,
  PDF,
  remove,
  requestTypes,
  stored,
  uploadFor,
  upsert,
  upserted,
} from './medical-records-calls.ts'
import {
  assertForm,
  assertKept,
  assertRefused,
  assertStatus,
  at,
  jsonOf,
  LIST,
  listAt,
  TEXT,
  textAt,
} from './values.ts'

const states = inSection('States: Medical-records request')
const endpoints = inSection('Endpoints: Medical-records requester')
const limits = inSection('Limits')
const events = inSection('Events')

const LIFETIME_MS = 30 * 60_000
const SECOND = 1000

/** Sections "States: Medical-records request", "Endpoints: Medical-records requester" but for the search, "Limits". */
export const MEDICAL_RECORDS_CASES: readonly ConformanceCase[] = [
  states.writes('none', async (client) => {
    const { returned } = await createTaken(client)
    assertKept(at(returned, 'status.status'), 'Received', 'status.status')
    assertKept(at(returned, 'status.documentAvailable'), false, 'status.documentAvailable')
    assertForm(at(returned, 'authorizationUploadUrl'), TEXT, 'authorizationUploadUrl')
  }),
  states.writes('existing', async (client) => {
    const { sent, returned } = await createTaken(client)
    const { referenceNumber } = sent
    const changed = await upserted(client, {
      referenceNumber,
      patient: { ...sent.patient, zip: '11111', reference: null },
      provider: { groupName: 'Another Group' },
    })
    assertKept(at(changed, 'patient.zip'), '11111', 'a field sent, replaced,')
    assertKept(at(changed, 'patient.reference') ?? null, null, 'a field sent as null, cleared,')
    assertKept(at(changed, 'provider.groupName'), 'Another Group', 'a field sent, replaced,')
    assertKept(at(changed, 'provider.city'), at(returned, 'provider.city'), 'a field omitted')
    assertKept(at(changed, 'request'), at(returned, 'request'), 'a block omitted')
    assertKept(at(changed, 'status.status'), at(returned, 'status.status'), 'status.status')
    const same = at(changed, 'authorizationUploadUrl') === at(returned, 'authorizationUploadUrl')
    assertKept(same, false, 'the new authorizationUploadUrl being the old one')
  }),
  states.writes('awaiting authorization file', async (client) => {
    await uploadFor(client, (await createTaken(client)).returned)
  }),
  states.writes('before the authorization document is submitted', async (client) => {
    const { sent } = await createTaken(client)
    const answer = await remove(client, sent.referenceNumber)
    assertStatus(answer, 200)
    assertForm(at(jsonOf(answer), 'data'), LIST, "data, the removed request's details,")
    assertKept(await stored(client, sent), undefined, 'the removed request in a search')
  }),
  states.writes('after the authorization document is submitted', async (client) => {
    const { sent, returned } = await createTaken(client)
    await uploadFor(client, returned)
    assertStatus(await remove(client, sent.referenceNumber), 400)
    assertKept(
      at(await stored(client, sent), 'referenceNumber'),
      sent.referenceNumber,
      'the request in a search',
    )
  }),

  endpoints.nothing('All bodies are application/json.', async (client) => {
    const answer = await client.send('GET', `${PATH}/requestTypes`)
    const type = answer.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()
    assertKept(type, 'application/json', `${answer.call}: the content type application/json`)
  }),
  endpoints.writes('PATCH /medical-records/requester', async (client) => {
    const first = (await createTaken(client)).sent
    const second = { ...(await createRoi(client)), request: first.request }
    const answer = await upsert(client, [first, second])
    assertStatus(answer, 200)
    const data = listAt(jsonOf(answer), 'data')
    const numbers = new Set(data.map((item) => at(item, 'referenceNumber')))
    assertKept(numbers, new Set([first.referenceNumber, second.referenceNumber]), 'the requests in data')
    for (const item of data) {
      assertForm(at(item, 'authorizationUploadUrl'), TEXT, 'data[].authorizationUploadUrl')
      assertForm(at(item, 'status.status'), TEXT, 'data[].status.status')
    }
    assertStatus(await upsert(client, [{ referenceNumber: client.unique('reference') }]), 400)
  }),
  endpoints.writes(
    'The PATCH call is an upsert: a referenceNumber that does not exist creates a request, and one that exists updates it.',
    async (client) => {
      const { sent } = await createTaken(client)
      await upserted(client, { ...sent, patient: { ...sent.patient, zip: '22222' } })
      assertKept(at(await stored(client, sent), 'patient.zip'), '22222', 'patient.zip of the one request')
    },
  ),
  endpoints.writes('The PATCH body is always an array, even for one request.', async (client) => {
    const { sent } = await createTaken(client)
    const referenceNumber = client.unique('reference')
    assertStatus(await upsert(client, { ...sent, referenceNumber }), 400)
  }),
  endpoints.writes('DELETE /medical-records/requester/{referenceNumber}', async (client) => {
    const { sent } = await createTaken(client)
    const answer = await remove(client, sent.referenceNumber)
    assertStatus(answer, 200)
    assertKept(at(jsonOf(answer), 'data.0.referenceNumber'), sent.referenceNumber, 'data[].referenceNumber')
    assertStatus(await remove(client, sent.referenceNumber), 400)
  }),
  endpoints.nothing('GET /medical-records/requester/requestTypes', async (client) => {
    const answer = await client.send('GET', `${PATH}/requestTypes`)
    assertStatus(answer, 200)
    for (const inner of listAt(jsonOf(answer), 'data')) assertForm(inner, LIST, 'data[], a nested array,')
    for (const type of await requestTypes(client)) assertForm(at(type, 'name'), TEXT, 'name')
  }),
  endpoints.writes(
    'PUT authorizationUploadUrl (value returned by the create/update call)',
    async (client) => {
      const { sent, returned } = await createTaken(client)
      await uploadFor(client, returned)
      await uploadFor(client, await upserted(client, sent))
    },
  ),

  limits.control('Lifetime of authorizationUploadUrl', async (client, control) => {
    const { sent, returned } = await createTaken(client)
    const address = textAt(returned, 'authorizationUploadUrl')
    await control.passTime(LIFETIME_MS - SECOND)
    assertStatus(await client.upload(address, PDF), 200, 201, 202, 204)
    const expiring = textAt(await upserted(client, sent), 'authorizationUploadUrl')
    await control.passTime(LIFETIME_MS + SECOND)
    assertRefused(await client.upload(expiring, PDF), 'the address has expired')
    await uploadFor(client, await upserted(client, sent))
  }),
  limits.writes('Processing gate', async (client) => {
    const { sent, returned } = await createTaken(client)
    assertKept(at(returned, 'status.processed') ?? null, null, 'status.processed before the upload')
    assertStatus(await remove(client, sent.referenceNumber), 200)
  }),
  events.writes('send url as an empty string', async (client) => {
    const { sent } = await createTaken(client)
    await upserted(client, { ...sent, webhook: { sendStatusChange: false, url: '' } })
  }),
]
