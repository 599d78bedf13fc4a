import { type ConformanceCase, inSection } from './case.ts'
import { createTaken, found, search, searchFor, searchForNobody, stored } from './medical-records-calls.ts'
import { assertForm, assertKept, assertStatus, at, jsonOf, LIST, listAt, OBJECT } from './values.ts'

const endpoints = inSection('Endpoints: Medical-records requester')
const limits = inSection('Limits')

const KIND = { type: '', subType: '' }

/** A search is refused without the field, and with another kind of value in it. */
const required = (row: string, wrong: unknown): ConformanceCase =>
  endpoints.nothing(row, async (client) => {
    const nobody = await searchForNobody(client)
    const body = Object.entries(nobody).filter(([name]) => name !== row)
    assertStatus(await search(client, Object.fromEntries(body)), 400)
    assertStatus(await search(client, { ...nobody, [row]: wrong }), 400)
  })

const requiredInFilter = (field: 'type' | 'subType'): ConformanceCase =>
  endpoints.nothing(`filter[].request.${field}`, async (client) => {
    const kind = Object.fromEntries(Object.entries(KIND).filter(([name]) => name !== field))
    assertStatus(await search(client, searchFor({ lastName: client.unique('nobody') }, kind)), 400)
  })

/** Section "Endpoints: Medical-records requester", the search. */
export const MEDICAL_RECORDS_SEARCH_CASES: readonly ConformanceCase[] = [
  endpoints.writes('POST /medical-records/requester', async (client) => {
    const { sent, returned } = await createTaken(client)
    const result = await stored(client, sent)
    assertForm(result, OBJECT, 'the request in results')
    for (const block of ['patient', 'provider', 'request', 'webhook'])
      assertKept(at(result, block), at(returned, block), `results[].${block}`)
  }),
  endpoints.nothing(
    'data = array with one object holding the original query plus results (array of requests in the response shape).',
    async (client) => {
      const answer = await search(client, await searchForNobody(client))
      assertStatus(answer, 200)
      assertKept(listAt(jsonOf(answer), 'data').length, 1, 'the number of objects in data')
      assertForm(at(jsonOf(answer), 'data.0.results'), LIST, 'data[].results')
      assertKept(
        Object.keys(Object(at(jsonOf(answer), 'data.0'))).length > 1,
        true,
        'the query beside results',
      )
    },
  ),
  endpoints.nothing('400 on a malformed query.', async (client) => {
    assertStatus(await search(client, []), 400)
    assertStatus(await search(client, { ...(await searchForNobody(client)), filter: 'nobody' }), 400)
  }),
  required('page', 'one'),
  required('limit', 'all'),
  endpoints.writes('limit', async (client) => {
    const { sent } = await createTaken(client)
    const { requestType: type, requestSubType: subType } = sent.request
    const { zip, firstName } = sent.patient
    const body = { ...searchFor({ zip, firstName }, { type, subType }), limit: 1 }
    await createTaken(client)
    const answer = await search(client, body)
    assertStatus(answer, 200)
    assertKept(listAt(jsonOf(answer), 'data.0.results').length, 1, 'the number of records on a page of 1')
  }),
  endpoints.nothing('sort', async (client) => {
    const nobody = await searchForNobody(client)
    assertStatus(await search(client, nobody), 200)
    assertStatus(await search(client, { ...nobody, sort: {} }), 200)
  }),
  required('filter', {}),
  endpoints.writes('filter[].patient.type, reference, zip, firstName, lastName, dob', async (client) => {
    const { sent } = await createTaken(client)
    const { lastName } = sent.patient
    for (const [field, value] of Object.entries(sent.patient)) {
      const results = await found(client, { lastName, [field]: value }, sent.request)
      assertKept(results.length, 1, `the number of requests found by ${field}`)
    }
    const others = await found(client, { lastName: client.unique('nobody') }, sent.request)
    assertKept(others.length, 0, 'the number of requests of a patient that there is not')
  }),
  requiredInFilter('type'),
  requiredInFilter('subType'),
  limits.nothing(
    'The search body requires limit and page; the sample uses 100 for limit.',
    async (client) => {
      assertStatus(await search(client, { ...(await searchForNobody(client)), limit: 100 }), 200)
      const { filter } = await searchForNobody(client)
      assertStatus(await search(client, { filter }), 400)
    },
  ),
]
