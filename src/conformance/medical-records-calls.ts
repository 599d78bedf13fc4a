/** Calls of the medical-records requester that several sections make, and made-up requests for them. */
import { NothingToJudge } from './case.ts'
import type { Answer, Client } from './client.ts'
import { assertStatus, at, jsonOf, listAt, textAt } from './values.ts'

export const PATH = '/medical-records/requester'
export const PDF = '%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n'

/** A request's block, whose fields a case may change. */
type Block = Readonly<Record<string, unknown>>

/** A request for medical records, as sent. */
export interface Roi {
  readonly referenceNumber: string
  readonly patient: Block
  readonly provider: Block
  readonly request: Block
  readonly webhook: Block
}

/** The nested array of request types. */
export async function requestTypes(client: Client): Promise<readonly unknown[]> {
  const answer = await client.send('GET', `${PATH}/requestTypes`)
  assertStatus(answer, 200)
  return listAt(jsonOf(answer), 'data').flat()
}

/** A type with one of its subtypes that may be asked for; by id, or by name: which, the document leaves open. */
async function proper(client: Client, by: 'id' | 'name') {
  for (const type of await requestTypes(client))
    for (const subtype of listAt(type, 'requestSubType'))
      if (at(subtype, 'disabled') !== true)
        return { requestType: textAt(type, by), requestSubType: textAt(subtype, by) }
  throw new NothingToJudge('the gateway lists no request type with a subtype')
}

/** A request with every field filled. */
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

export const upsert = (client: Client, requests: unknown): Promise<Answer> =>
  client.send('PATCH', PATH, { json: requests })

/** Creates or updates one request; gives it as returned. */
export async function upserted(client: Client, request: unknown): Promise<unknown> {
  const answer = await upsert(client, [request])
  assertStatus(answer, 200)
  return at(jsonOf(answer), 'data.0')
}

/** A request that the gateway has taken, by id or by name of its types, with what it returned. */
export async function createTaken(client: Client) {
  const byId = await createRoi(client)
  const answer = await upsert(client, [byId])
  if (answer.status === 200) return { sent: byId, returned: at(jsonOf(answer), 'data.0') }
  const byName = await createRoi(client, 'name')
  return { sent: byName, returned: await upserted(client, byName) }
}

export const remove = (client: Client, referenceNumber: string): Promise<Answer> =>
  client.send('DELETE', `${PATH}/{referenceNumber}`, { path: { referenceNumber } })

/** The authorization goes to the address of the request; its status of success is not shown. */
export async function uploadFor(client: Client, returned: unknown): Promise<void> {
  const answer = await client.upload(textAt(returned, 'authorizationUploadUrl'), PDF)
  assertStatus(answer, 200, 201, 202, 204)
}

/** The body of a search for a patient. */
export const searchFor = (patient: Block, request: Block, page = 1) => ({
  page,
  limit: 100,
  filter: [{ patient, request }],
})

export const search = (client: Client, json: unknown): Promise<Answer> => client.send('POST', PATH, { json })

/**
 * A search for a person there is not. Which request type the gateway takes in it is left open: an empty one, an id or a
 * name; the first that it does not refuse is taken.
 */
export async function searchForNobody(client: Client) {
  const lastName = client.unique('nobody')
  const empty = searchFor({ lastName }, { type: '', subType: '' })
  if ((await search(client, empty)).status !== 400) return empty
  const named = async (by: 'id' | 'name') => {
    const { requestType, requestSubType } = await proper(client, by)
    return searchFor({ lastName }, { type: requestType, subType: requestSubType })
  }
  const byId = await named('id')
  return (await search(client, byId)).status === 400 ? named('name') : byId
}

/** What a search finds; whether the first page is 1 or 0, the document leaves open. */
export async function found(client: Client, patient: Block, { requestType, requestSubType }: Block) {
  for (const page of [1, 0]) {
    const request = { type: requestType, subType: requestSubType }
    const answer = await search(client, searchFor(patient, request, page))
    if (page === 0 && answer.status === 400) break
    assertStatus(answer, 200)
    const results = listAt(jsonOf(answer), 'data.0.results')
    if (results.length > 0) return results
  }
  return []
}

/** The request as a search gives it back; undefined where it is not there. */
export async function stored(client: Client, { patient, request, referenceNumber }: Roi): Promise<unknown> {
  const results = await found(client, { lastName: patient['lastName'] }, request)
  return results.find((result) => at(result, 'referenceNumber') === referenceNumber)
}
