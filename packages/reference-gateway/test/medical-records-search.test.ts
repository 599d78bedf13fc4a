import { describe, expect, it } from 'vitest'
import { filter, innerOf, PATH, roi, startRequester } from './requester-under-test.ts'

const patient = (fields: Record<string, unknown>) => ({ patient: { ...roi().patient, ...fields } })

const person = (request: Record<string, unknown>) => filter({ lastName: 'Person' }, request)

/** A gateway with four requests, created in the order c, a, d, b. */
async function withRequests() {
  const gateway = await startRequester()
  await gateway.upsert(
    roi({ referenceNumber: 'c' }),
    roi({ referenceNumber: 'a', ...patient({ firstName: 'Émile', dob: '1980-01-01', zip: undefined }) }),
  )
  await gateway.upsert(roi({ referenceNumber: 'd', ...patient({ reference: 'm-2', type: 'guest' }) }))
  const request = { ...roi().request, requestType: '1', requestSubType: 'Life Insurance' }
  await gateway.upsert(roi({ referenceNumber: 'b', request }))
  const found = async (...filters: unknown[]): Promise<string[] | undefined> =>
    (await gateway.search(...filters)).body.data[0]?.results.map(({ referenceNumber }) => referenceNumber)
  return { ...gateway, found }
}

describe('finds, in the order in which reference numbers were created,', () => {
  it.each<[string, unknown[], string[]]>([
    ['by last name, whatever its case', [filter({ lastName: 'pERSON' })], ['c', 'a', 'd', 'b']],
    ['by first name, whatever its case', [filter({ firstName: 'éMILE' })], ['a']],
    ['no part of a name', [filter({ lastName: 'Pers' })], []],
    ['not by a reference in another case', [filter({ reference: 'M-2' })], []],
    ['past fields that are empty', [filter({ reference: 'm-2', zip: '' })], ['d']],
    [
      'by any of the filters, each once',
      [filter({ firstName: 'Émile' }), filter({ dob: '1970-02-28' }), filter({ type: 'guest' })],
      ['c', 'a', 'd', 'b'],
    ],
    ['by request type, id or name', [person({ type: 'Attending Physician Statement' })], ['b']],
    ['by request type and subtype', [person({ type: '2', subType: '201' })], ['c', 'a', 'd']],
    ['by subtype alone', [person({ subType: '101' })], ['b']],
    [
      'in the other spelling of subType',
      [{ patient: { lastName: 'Person' }, request: { type: '', subTyp: '101' } }],
      ['b'],
    ],
    ['nothing by a type of no list', [person({ type: 'Other' })], []],
  ])('%s', async (_, filters, expected) => {
    const { found } = await withRequests()
    expect(await found(...filters)).toEqual(expected)
  })

  it('keeps the place of a request that is updated', async () => {
    const { upsert, found } = await withRequests()
    await upsert({ referenceNumber: 'c', patient: { zip: '11111' } })
    expect(await found(filter({ lastName: 'Person' }))).toEqual(['c', 'a', 'd', 'b'])
  })
})

it.each<[number, number, string[]]>([
  [1, 3, ['c', 'a', 'd']],
  [2, 3, ['b']],
  [3, 3, []],
  [1, 4, ['c', 'a', 'd', 'b']],
  [4, 1, ['b']],
  [9007199254740991, 9007199254740991, []],
])('page %i of %i a page, from 1', async (page, limit, expected) => {
  const { call } = await withRequests()
  const { body } = await call('POST', PATH, { page, limit, filter: [filter({ lastName: 'Person' })] })
  expect(body.data[0]?.results.map(({ referenceNumber }) => referenceNumber)).toEqual(expected)
})

const good = { page: 1, limit: 100, filter: [filter({ zip: '1' })] }

describe('refuses', () => {
  it.each<[string, unknown, string]>([
    ['page 0', { ...good, page: 0 }, 'the page of the search cannot be used'],
    ['limit 0', { ...good, limit: 0 }, 'the limit of the search cannot be used'],
    ['a sort that is no object', { ...good, sort: 'asc' }, 'the sort of the search cannot be used'],
    ['an empty filter', { ...good, filter: [] }, 'the filter of the search cannot be used'],
  ])('%s', async (_, query, problem) => {
    const { call } = await startRequester()
    const answer = await call('POST', PATH, query)
    const { phrase, inner } = innerOf(answer)
    expect([answer.status, phrase]).toEqual([400, 'Failed to search the requests: '])
    expect(inner.errors[0]?.message).toContain(problem)
  })

  it.each([
    ['patient fields that are all empty', { zip: '', lastName: '' }],
    ['a patient field that is not documented', { city: 'Testville' }],
    ['no patient block', undefined],
    ['a date of birth in another form', { dob: '02/28/1970' }, ' (dob cannot be used'],
  ])('%s, asking for a valid search parameter', async (_, block, why = '') => {
    const { search } = await startRequester()
    const answer = await search(filter({ zip: '1' }), { ...filter({}), patient: block })
    expect(answer.status).toBe(400)
    expect(innerOf(answer).inner.errors[0]).toMatchObject({
      code: 0,
      message: expect.stringContaining(
        `make sure that the patient block has a valid search parameter in filter 2 of 2${why}`,
      ),
    })
  })

  it('a filter without the request block, in the bare form', async () => {
    const { search } = await startRequester()
    const message = 'the request block of filter 1 of 1 is missing'
    expect((await search({ patient: { zip: '1' } })).body).toEqual({
      code: 400,
      message,
      errors: [{ code: 0, message }],
    })
  })
})
