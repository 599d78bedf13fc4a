import { describe, expect, it } from 'vitest'
import { filter, innerOf, PATH, roi, startRequester } from './requester-under-test.ts'

const patient = (fields: Record<string, unknown>) => ({ patient: { ...roi().patient, ...fields } })

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

it('answers the original query plus results, as an upsert returned them', async () => {
  const { upsert, call } = await startRequester()
  const { body } = await upsert(roi())
  const query = {
    page: 1,
    limit: 100,
    sort: { any: [1] },
    filter: [{ patient: { zip: '00000' }, request: { type: '', subTyp: 'Personal' } }],
    unlisted: true,
  }
  expect((await call('POST', PATH, query)).body).toEqual({
    code: 200,
    message: '200 OK',
    data: [{ ...query, results: body.data }],
  })
})

describe('finds, in the order in which reference numbers were created,', () => {
  it.each<[string, unknown[], string[]]>([
    ['by last name, whatever its case', [filter({ lastName: 'pERSON' })], ['c', 'a', 'd', 'b']],
    ['by first name, whatever its case', [filter({ firstName: 'éMILE' })], ['a']],
    ['no part of a name', [filter({ lastName: 'Pers' })], []],
    ['by date of birth as sent', [filter({ dob: '1980-01-01' })], ['a']],
    ['by reference, in its case', [filter({ reference: 'm-2' })], ['d']],
    ['not by a reference in another case', [filter({ reference: 'M-2' })], []],
    ['by type', [filter({ type: 'guest' })], ['d']],
    ['by zip, where there is one', [filter({ zip: '00000' })], ['c', 'd', 'b']],
    ['by all fields of a filter', [filter({ zip: '00000', reference: 'm-2' })], ['d']],
    ['past fields that are empty', [filter({ reference: 'm-2', zip: '' })], ['d']],
    [
      'by any of the filters, each once',
      [filter({ firstName: 'Émile' }), filter({ dob: '1970-02-28' }), filter({ type: 'guest' })],
      ['c', 'a', 'd', 'b'],
    ],
    [
      'by request type, id or name',
      [filter({ lastName: 'Person' }, { type: 'Attending Physician Statement' })],
      ['b'],
    ],
    [
      'by request type and subtype',
      [filter({ lastName: 'Person' }, { type: '2', subType: '201' })],
      ['c', 'a', 'd'],
    ],
    ['by subtype alone', [filter({ lastName: 'Person' }, { subType: '101' })], ['b']],
    [
      'in the other spelling of subType',
      [{ patient: { lastName: 'Person' }, request: { type: '', subTyp: '101' } }],
      ['b'],
    ],
    ['nothing by a type of no list', [filter({ lastName: 'Person' }, { type: 'Other' })], []],
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
    ['no page', { ...good, page: undefined }, 'the page of the search is null or empty'],
    ['a page that is text', { ...good, page: '1' }, 'the page of the search cannot be used'],
    ['half a page', { ...good, page: 1.5 }, 'the page of the search cannot be used'],
    ['limit 0', { ...good, limit: 0 }, 'the limit of the search cannot be used'],
    ['no limit', { ...good, limit: null }, 'the limit of the search is null or empty'],
    ['a sort that is no object', { ...good, sort: 'asc' }, 'the sort of the search cannot be used'],
    ['no filter', { ...good, filter: undefined }, 'the filter of the search is null or empty'],
    ['an empty filter', { ...good, filter: [] }, 'the filter of the search cannot be used'],
    [
      'a filter that is no array',
      { ...good, filter: filter({ zip: '1' }) },
      'the filter of the search cannot be used',
    ],
    ['an array', [good], 'the search cannot be used'],
    [
      'no subtype',
      { ...good, filter: [{ patient: { zip: '1' }, request: { type: '' } }] },
      'the request subType is null or empty in the request block of filter 1 of 1',
    ],
  ])('%s', async (_, query, problem) => {
    const { call } = await startRequester()
    const answer = await call('POST', PATH, query)
    const { phrase, inner } = innerOf(answer)
    expect([answer.status, phrase]).toEqual([400, 'Failed to search the requests: '])
    expect(inner.errors[0]?.message).toContain(problem)
  })

  it.each([
    ['an empty patient block', {}],
    ['patient fields that are all empty', { zip: '', lastName: '' }],
    ['a patient field that is not documented', { city: 'Testville' }],
    ['no patient block', undefined],
    ['a patient field that is null', { zip: null }],
    ['a date of birth in another form', { dob: '02/28/1970' }],
  ])('%s, asking for a valid search parameter', async (_, block) => {
    const { search } = await startRequester()
    const answer = await search(filter({ zip: '1' }), { ...filter({}), patient: block })
    expect(answer.status).toBe(400)
    expect(innerOf(answer).inner.errors[0]).toMatchObject({
      code: 0,
      message: expect.stringContaining(
        'make sure that the patient block has a valid search parameter in filter 2 of 2',
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
