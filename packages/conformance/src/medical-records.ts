import {
  answered,
  at,
  type ConformanceCase,
  formed,
  inSection,
  jsonOf,
  kept,
  listAt,
  NothingToJudge,
  type Run,
  read,
  refused,
  textAt,
} from './case.ts'
import type { Answer, Client } from './client.ts'

export const PATH = '/medical-records/requester'
export const PDF = '%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n'
/** Statuses of an upload; the document does not show the status. */
export const UPLOADED = [200, 201, 202, 204] as const

/** Block of a request. A case may change its fields. */
type Block = Readonly<Record<string, unknown>>

/** Request for medical records, as sent. */
export type Roi = { readonly referenceNumber: string } & Readonly<Record<BlockName, Block>>
export type BlockName = 'patient' | 'provider' | 'request' | 'webhook'

/** Returns the request types out of their nested array. */
export const requestTypes = async (client: Client): Promise<readonly unknown[]> =>
  listAt(await read(client, `${PATH}/requestTypes`), 'data').flat()

/** Returns a type with an enabled subtype, by id or by name: the document does not say by which. */
async function proper(client: Client, by: 'id' | 'name') {
  for (const type of await requestTypes(client))
    for (const subtype of listAt(type, 'requestSubType'))
      if (at(subtype, 'disabled') !== true)
        return { requestType: textAt(type, by), requestSubType: textAt(subtype, by) }
  throw new NothingToJudge('the gateway lists no request type with a subtype')
}

/** Returns a request with every field filled. */
export async function createRoi(client: Client, by: 'id' | 'name' = 'id') {
  return {
    referenceNumber: client.unique('reference'),
    patient: {
      type: 'member',
      reference: client.unique('patient'),
      zip: '00000',
      firstName: 'Conformance',
      lastName: client.unique('Suite'),
      dob: '1970-02-28',
    },
    provider: {
      type: 'facility',
      groupName: 'Example Group',
      npi: '1234567893',
      firstName: 'Example',
      lastName: 'Provider',
      address1: '1 Example Street',
      address2: 'Suite 1',
      city: 'Exampleville',
      state: 'NY',
      zip: '00000',
      phone: '555-0100',
      fax: '555-0101',
      contact: 'Front desk',
    },
    request: {
      type: '',
      ...(await proper(client, by)),
      datesOfService: { type: 'startEnd', start: '2023-01-31', end: '2023-12-01' },
      disclosures: ['lab_reports', 'immunizations'],
    },
    webhook: { sendStatusChange: false, url: '' },
  } satisfies Roi
}

export const upsert = (client: Client, json: unknown): Promise<Answer> => client.send('PATCH', PATH, { json })

/** Creates or updates a request. Returns the request from the answer. */
export const upserted = async (client: Client, request: unknown): Promise<unknown> =>
  at(jsonOf(answered(await upsert(client, [request]), 200)), 'data.0')

/** Copies a request under a new reference number. */
export const renewed = <Request extends object>(client: Client, request: Request) => ({
  ...request,
  referenceNumber: client.unique('reference'),
})

/** Creates a request, naming its types by id or else by name. Returns the request as sent and as returned. */
export async function createTaken(client: Client) {
  const byId = await createRoi(client)
  const answer = await upsert(client, [byId])
  if (answer.status === 200) return { sent: byId, returned: at(jsonOf(answer), 'data.0') }
  const byName = await createRoi(client, 'name')
  return { sent: byName, returned: await upserted(client, byName) }
}

export const remove = (client: Client, referenceNumber: string): Promise<Answer> =>
  client.send('DELETE', `${PATH}/{referenceNumber}`, { path: { referenceNumber } })

/** Uploads the authorization to the address of the request. */
export const uploadFor = async (client: Client, returned: unknown): Promise<Answer> =>
  answered(await client.upload(textAt(returned, 'authorizationUploadUrl'), PDF), ...UPLOADED)

/** Body of a search for a patient. */
export const searchFor = (patient: Block, request: Block, page = 1) => ({
  page,
  limit: 100,
  filter: [{ patient, request }],
})
export const ANY_KIND = { type: '', subType: '' }

export const search = (client: Client, json: unknown): Promise<Answer> => client.send('POST', PATH, { json })

/**
 * Builds a search for an unknown person. The document does not say how the search names a request type: empty, by id or by name. Takes the
 * first form that the gateway does not refuse.
 */
export async function searchForNobody(client: Client) {
  const lastName = client.unique('nobody')
  const empty = searchFor({ lastName }, ANY_KIND)
  if ((await search(client, empty)).status !== 400) return empty
  const named = async (by: 'id' | 'name') => {
    const { requestType, requestSubType } = await proper(client, by)
    return searchFor({ lastName }, { type: requestType, subType: requestSubType })
  }
  const byId = await named('id')
  return (await search(client, byId)).status === 400 ? named('name') : byId
}

/** Returns the results of a search. The document does not say whether the first page is 1 or 0. */
async function found(client: Client, patient: Block, { requestType, requestSubType }: Block) {
  const request = { type: requestType, subType: requestSubType }
  for (const page of [1, 0]) {
    const answer = await search(client, searchFor(patient, request, page))
    if (page === 0 && answer.status === 400) break
    const results = listAt(jsonOf(answered(answer, 200)), 'data.0.results')
    if (results.length > 0) return results
  }
  return []
}

/** Returns the request as found by a search; undefined if missing. */
async function stored(client: Client, { patient, request, referenceNumber }: Roi): Promise<unknown> {
  const results = await found(client, { lastName: patient['lastName'] }, request)
  return results.find((result) => at(result, 'referenceNumber') === referenceNumber)
}

const without = (fields: Block, name: string) =>
  Object.fromEntries(Object.entries(fields).filter(([field]) => field !== name))

/** A search is refused without the field, and with a value of another kind. */
const required =
  (field: string, wrong: unknown): Run =>
  async (client) => {
    const nobody = await searchForNobody(client)
    answered(await search(client, without(nobody, field)), 400)
    answered(await search(client, { ...nobody, [field]: wrong }), 400)
  }
const requiredInFilter =
  (field: 'type' | 'subType'): Run =>
  async (client) =>
    answered(
      await search(client, searchFor({ lastName: client.unique('nobody') }, without(ANY_KIND, field))),
      400,
    )

/** Fields that may be cleared, besides the provider's. */
const OPTIONAL = {
  patient: ['type', 'reference', 'zip'],
  request: ['disclosures'],
  webhook: ['sendStatusChange'],
}
const nulls = (fields: readonly string[]) => Object.fromEntries(fields.map((field) => [field, null]))

const LIFETIME_MS = 30 * 60_000
const SECOND = 1000

const endpoints = inSection('Endpoints: Medical-records requester')
const limits = inSection('Limits')

/** Sections "States: Medical-records request", "Endpoints: Medical-records requester", "Limits", "Events". */
export const MEDICAL_RECORDS_CASES: readonly ConformanceCase[] = [
  ...inSection('States: Medical-records request').writes({
    none: async (client) => {
      const { returned } = await createTaken(client)
      kept(at(returned, 'status.status'), 'Received', 'status.status')
      kept(at(returned, 'status.documentAvailable'), false, 'status.documentAvailable')
      formed(at(returned, 'authorizationUploadUrl'), 'text', 'authorizationUploadUrl')
    },
    existing: async (client) => {
      const { sent, returned } = await createTaken(client)
      const changed = await upserted(client, {
        referenceNumber: sent.referenceNumber,
        patient: { ...sent.patient, zip: '11111', reference: null },
        provider: { groupName: 'Another Group' },
      })
      kept(at(changed, 'patient.zip'), '11111', 'a field sent, replaced,')
      kept(at(changed, 'patient.reference') ?? null, null, 'a field sent as null, cleared,')
      kept(at(changed, 'provider.groupName'), 'Another Group', 'a field sent, replaced,')
      kept(at(changed, 'provider.city'), at(returned, 'provider.city'), 'a field omitted')
      kept(at(changed, 'request'), at(returned, 'request'), 'a block omitted')
      kept(at(changed, 'status.status'), at(returned, 'status.status'), 'status.status')
      const same = at(changed, 'authorizationUploadUrl') === at(returned, 'authorizationUploadUrl')
      kept(same, false, 'the new authorizationUploadUrl being the old one')
      const optional = { provider: Object.keys(sent.provider), ...OPTIONAL }
      const blocks = Object.entries(optional).map(([block, fields]) => [block, nulls(fields)])
      const { referenceNumber } = sent
      const cleared = await upserted(client, { referenceNumber, ...Object.fromEntries(blocks) })
      for (const [block, fields] of Object.entries(optional))
        for (const field of fields)
          kept(at(cleared, `${block}.${field}`) ?? null, null, `${block}.${field}, sent as null,`)
    },
    'awaiting authorization file': async (client) => uploadFor(client, (await createTaken(client)).returned),
    'before the authorization document is submitted': async (client) => {
      const { sent } = await createTaken(client)
      const answer = answered(await remove(client, sent.referenceNumber), 200)
      formed(at(jsonOf(answer), 'data'), 'list', "data, the removed request's details,")
      kept(await stored(client, sent), undefined, 'the removed request in a search')
    },
    'after the authorization document is submitted': async (client) => {
      const { sent, returned } = await createTaken(client)
      await uploadFor(client, returned)
      answered(await remove(client, sent.referenceNumber), 400)
      const held = at(await stored(client, sent), 'referenceNumber')
      kept(held, sent.referenceNumber, 'the request in a search')
    },
  }),

  ...endpoints.nothing({
    'All bodies are application/json.': async (client) => {
      const answer = await client.send('GET', `${PATH}/requestTypes`)
      const type = answer.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()
      kept(type, 'application/json', `${answer.call}: the content type application/json`)
    },
    'GET /medical-records/requester/requestTypes': async (client) => {
      const body = await read(client, `${PATH}/requestTypes`)
      for (const inner of listAt(body, 'data')) formed(inner, 'list', 'data[], a nested array,')
      for (const type of await requestTypes(client)) formed(at(type, 'name'), 'text', 'name')
    },
  }),
  ...endpoints.writes({
    'PATCH /medical-records/requester': async (client) => {
      const first = (await createTaken(client)).sent
      const second = { ...(await createRoi(client)), request: first.request }
      const data = listAt(jsonOf(answered(await upsert(client, [first, second]), 200)), 'data')
      const numbers = new Set(data.map((item) => at(item, 'referenceNumber')))
      kept(numbers, new Set([first.referenceNumber, second.referenceNumber]), 'the requests in data')
      for (const item of data)
        for (const field of ['authorizationUploadUrl', 'status.status'])
          formed(at(item, field), 'text', `data[].${field}`)
      answered(await upsert(client, [renewed(client, {})]), 400)
    },
    'The PATCH call is an upsert: a referenceNumber that does not exist creates a request, and one that exists updates it.':
      async (client) => {
        const { sent } = await createTaken(client)
        await upserted(client, { ...sent, patient: { ...sent.patient, zip: '22222' } })
        kept(at(await stored(client, sent), 'patient.zip'), '22222', 'patient.zip of the one request')
      },
    'The PATCH body is always an array, even for one request.': async (client) =>
      answered(await upsert(client, renewed(client, (await createTaken(client)).sent)), 400),
    'DELETE /medical-records/requester/{referenceNumber}': async (client) => {
      const { referenceNumber } = (await createTaken(client)).sent
      const body = jsonOf(answered(await remove(client, referenceNumber), 200))
      kept(at(body, 'data.0.referenceNumber'), referenceNumber, 'data[].referenceNumber')
      answered(await remove(client, referenceNumber), 400)
    },
    'PUT authorizationUploadUrl (value returned by the create/update call)': async (client) => {
      const { sent, returned } = await createTaken(client)
      await uploadFor(client, returned)
      await uploadFor(client, await upserted(client, sent))
    },
    'POST /medical-records/requester': async (client) => {
      const { sent, returned } = await createTaken(client)
      const result = await stored(client, sent)
      formed(result, 'object', 'the request in results')
      for (const block of ['patient', 'provider', 'request', 'webhook'])
        kept(at(result, block), at(returned, block), `results[].${block}`)
    },
    limit: async (client) => {
      const { request, patient } = (await createTaken(client)).sent
      const kind = { type: request.requestType, subType: request.requestSubType }
      const { zip, firstName } = patient
      await createTaken(client)
      const answer = await search(client, { ...searchFor({ zip, firstName }, kind), limit: 1 })
      const results = listAt(jsonOf(answered(answer, 200)), 'data.0.results')
      kept(results.length, 1, 'the number of records on a page of 1')
    },
    'filter[].patient.type, reference, zip, firstName, lastName, dob': async (client) => {
      const { patient, request } = (await createTaken(client)).sent
      for (const [field, value] of Object.entries(patient)) {
        const results = await found(client, { lastName: patient.lastName, [field]: value }, request)
        kept(results.length, 1, `the number of requests found by ${field}`)
      }
      const others = await found(client, { lastName: client.unique('nobody') }, request)
      kept(others.length, 0, 'the number of requests of an unknown patient')
    },
  }),
  ...endpoints.nothing({
    'data = array with one object holding the original query plus results (array of requests in the response shape).':
      async (client) => {
        const body = jsonOf(answered(await search(client, await searchForNobody(client)), 200))
        kept(listAt(body, 'data').length, 1, 'the number of objects in data')
        formed(at(body, 'data.0.results'), 'list', 'data[].results')
        kept(Object.keys(Object(at(body, 'data.0'))).length > 1, true, 'the query beside results')
      },
    '400 on a malformed query.': async (client) => {
      answered(await search(client, []), 400)
      answered(await search(client, { ...(await searchForNobody(client)), filter: 'nobody' }), 400)
    },
    page: required('page', 'one'),
    limit: required('limit', 'all'),
    sort: async (client) => {
      const nobody = await searchForNobody(client)
      answered(await search(client, nobody), 200)
      answered(await search(client, { ...nobody, sort: {} }), 200)
    },
    filter: required('filter', {}),
    'filter[].request.type': requiredInFilter('type'),
    'filter[].request.subType': requiredInFilter('subType'),
  }),

  ...limits.nothing({
    'The search body requires limit and page; the sample uses 100 for limit.': async (client) => {
      const nobody = await searchForNobody(client)
      answered(await search(client, { ...nobody, limit: 100 }), 200)
      answered(await search(client, { filter: nobody.filter }), 400)
    },
  }),
  ...limits.control({
    'Lifetime of authorizationUploadUrl': async (client, control) => {
      const { sent, returned } = await createTaken(client)
      await control.passTime(LIFETIME_MS - SECOND)
      await uploadFor(client, returned)
      const expiring = textAt(await upserted(client, sent), 'authorizationUploadUrl')
      await control.passTime(LIFETIME_MS + SECOND)
      refused(await client.upload(expiring, PDF), 'the address has expired')
      await uploadFor(client, await upserted(client, sent))
    },
  }),
  ...limits.writes({
    'Processing gate': async (client) => {
      const { sent, returned } = await createTaken(client)
      kept(at(returned, 'status.processed') ?? null, null, 'status.processed before the upload')
      answered(await remove(client, sent.referenceNumber), 200)
    },
  }),
  ...inSection('Events').writes({
    'send url as an empty string': async (client) => {
      const { sent } = await createTaken(client)
      await upserted(client, { ...sent, webhook: { sendStatusChange: false, url: '' } })
    },
  }),
]
