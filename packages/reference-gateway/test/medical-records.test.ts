import { describe, expect, it } from 'vitest'
import { innerRefusalOf } from '../../../src/gateway/contract/medical-records.ts'
import { filter, innerOf, PATH, roi, startRequester } from './requester-under-test.ts'

type BlockName = 'patient' | 'request' | 'provider' | 'webhook'
const edited = (block: BlockName, fields: Record<string, unknown>) =>
  roi({ [block]: { ...roi()[block], ...fields } })

describe('PATCH /medical-records/requester, a reference number that is new', () => {
  it('is answered in the order sent, each with an address of its own and the first status', async () => {
    const { upsert, url } = await startRequester()
    const { body } = await upsert(roi({ referenceNumber: 'b' }), roi({ referenceNumber: 'a' }))
    expect(body.data.map(({ referenceNumber }) => referenceNumber)).toEqual(['b', 'a'])
    expect(body.data.map((one) => one.authorizationUploadUrl)).toEqual([
      `${url}/uploads/id-1`,
      `${url}/uploads/id-2`,
    ])
    expect(body.data[0]?.status).toEqual({
      documentAvailable: false,
      status: 'Received',
      updated: '07/01/2024 00:00:00',
      processed: null,
      processedPlatform: null,
      authorizationName: '',
    })
  })

  it('reads both spellings of dates of service and subtype, and answers in that of the samples', async () => {
    const { upsert } = await startRequester()
    const { datesOfService, requestSubType, ...rest } = roi().request
    const request = { ...rest, dateOfService: datesOfService, requestSubtype: requestSubType }
    const { status, body } = await upsert(roi({ request }))
    expect(status).toBe(200)
    expect(Object.keys(body.data[0]?.request ?? {}).sort()).toEqual(Object.keys(roi().request).sort())
  })

  it('lets datesOfService.type default to startEnd', async () => {
    const { upsert } = await startRequester()
    const { start, end } = roi().request.datesOfService
    const { body } = await upsert(edited('request', { datesOfService: { start, end } }))
    expect(body.data[0]?.request['datesOfService']).toMatchObject({ type: 'startEnd' })
  })

  it('gives back unlisted fields of the request and its blocks', async () => {
    const { upsert } = await startRequester()
    const sent = edited('request', { extra: 1 })
    const { body } = await upsert({ ...sent, extra: 1, patient: { ...sent.patient, extra: 1 } })
    expect(body.data[0]).toMatchObject({
      extra: 1,
      patient: { extra: 1 },
      request: { extra: 1 },
      provider: { unlisted: 'kept' },
    })
  })

  it.each([
    ['by id', { requestType: '2', requestSubType: '201' }],
    ['the type by id, the subtype by name', { requestType: '2', requestSubType: 'Personal' }],
  ])('takes a request type %s, and answers it as sent', async (_, kind) => {
    const { upsert } = await startRequester()
    const { body } = await upsert(edited('request', kind))
    expect(body.data[0]?.request).toMatchObject(kind)
  })

  it.each<[unknown, 0 | 1, string]>([
    [edited('patient', { lastName: undefined }), 0, 'the patient lastName is null or empty'],
    [edited('patient', { dob: '02/28/1970' }), 1, 'the patient dob cannot be used'],
    [edited('request', { requestType: 'x' }), 1, 'requestType cannot be used (not in the request types)'],
    [edited('request', { requestSubType: 'Life Insurance' }), 1, '(not a subtype of the request type)'],
    [edited('request', { requestType: '1', requestSubType: '103' }), 1, 'cannot be used (disabled)'],
    [edited('request', { disclosures: ['abstract', 'Abstract'] }), 1, 'disclosures.1 cannot be used'],
    [roi({ patient: 'x' }), 1, 'the patient block of request 2 of 2 cannot be used (Invalid input: expected'],
    [roi({ referenceNumber: null }), 0, 'the referenceNumber of request 2 of 2 is null or empty'],
    [null, 0, 'request 2 of 2 is null or empty'],
    [['x'], 1, 'request 2 of 2 cannot be used'],
  ])('refuses one, naming field, block and position: case %#', async (bad, code, problem) => {
    const { upsert, held } = await startRequester()
    const answer = await upsert(roi({ referenceNumber: 'good' }), bad)
    const { phrase, inner } = innerOf(answer)
    expect([answer.status, phrase]).toEqual([400, 'Failed to create or update the requests: '])
    expect(innerRefusalOf(answer.body)).toEqual(inner)
    expect(inner.errors).toEqual([{ code, message: expect.stringContaining(problem) }])
    expect(inner.errors[0]?.message).toContain('request 2 of 2')
    expect(await held()).toEqual([])
  })

  it.each(['patient', 'provider', 'request', 'webhook'])(
    'refuses one without the %s block in the bare form',
    async (block) => {
      const { upsert, held } = await startRequester()
      for (const value of [undefined, null]) {
        const answer = await upsert(
          roi({ referenceNumber: 'a' }),
          roi({ [block]: value }),
          roi({ referenceNumber: 'c' }),
        )
        const message = `the ${block} block of request 2 of 3 is missing`
        expect([answer.status, answer.body]).toEqual([
          400,
          { code: 400, message, errors: [{ code: 0, message }] },
        ])
      }
      expect(await held()).toEqual([])
    },
  )

  it('refuses a reference number twice in an array', async () => {
    const { upsert, held } = await startRequester()
    const answer = await upsert(roi(), roi({ referenceNumber: 'other' }), roi())
    expect(innerOf(answer).inner.errors).toEqual([
      { code: 1, message: 'the referenceNumber of request 3 of 3 is that of request 1 of 3' },
    ])
    expect(await held()).toEqual([])
  })
})

describe('PATCH /medical-records/requester, a reference number that exists', () => {
  it('moves `updated`, and leaves all else but the upload address', async () => {
    const { upsert, passMinutes } = await startRequester()
    const before = (await upsert(roi())).body.data[0]
    passMinutes(90)
    const after = (await upsert({ referenceNumber: 'ref-1' })).body.data[0]
    expect({ ...after, authorizationUploadUrl: 0 }).toEqual({
      ...before,
      status: { ...before?.status, updated: '07/01/2024 01:30:00' },
      authorizationUploadUrl: 0,
    })
  })

  it.each([
    [{ patient: { firstName: null } }, 'the patient firstName is null or empty'],
    [{ request: { datesOfService: { type: null } } }, 'the request datesOfService.type is null or empty'],
    [{ request: { datesOfService: null } }, 'the request datesOfService is null or empty'],
    [{ request: { requestType: '1' } }, 'the request requestSubType cannot be used'],
  ])('refuses %j: the request would lack what is required', async (change, problem) => {
    const { upsert, search } = await startRequester()
    const { body } = await upsert(roi())
    const answer = await upsert({ referenceNumber: 'ref-1', ...change })
    expect(answer.status).toBe(400)
    expect(innerOf(answer).inner.errors[0]?.message).toContain(problem)
    expect((await search(filter({ zip: '00000' }))).body.data[0]?.results).toEqual(body.data)
  })

  it('stores nothing of an array that is partly wrong', async () => {
    const { upsert, held, search } = await startRequester()
    await upsert(roi())
    const change = { referenceNumber: 'ref-1', patient: { firstName: 'New' } }
    expect((await upsert(change, { referenceNumber: 'ref-2' })).status).toBe(400)
    expect(await held()).toEqual(['ref-1'])
    expect((await search(filter({ firstName: 'New' }))).body.data[0]?.results).toEqual([])
  })
})

describe('DELETE /medical-records/requester/{referenceNumber}', () => {
  it.each(['a/b?c#d %é', 'requestTypes'])('removes %j and answers its details', async (referenceNumber) => {
    const { upsert, remove, held } = await startRequester()
    const { authorizationUploadUrl: _, ...details } =
      (await upsert(roi({ referenceNumber }))).body.data[0] ?? {}
    const { status, body } = await remove(referenceNumber)
    expect([status, body]).toEqual([200, { code: 200, message: '200 OK', data: [details] }])
    expect(await held()).toEqual([])
    // A request created again has nothing of the removed one.
    expect((await upsert({ referenceNumber })).status).toBe(400)
  })

  it('refuses an empty reference number, and one that cannot be decoded or is too long', async () => {
    const { call } = await startRequester()
    expect(innerOf(await call('DELETE', `${PATH}/`)).inner.errors).toEqual([
      { code: 0, message: 'the reference number is null or empty' },
    ])
    for (const bad of ['%zz', '%ff', 'n'.repeat(5000)]) {
      const { status, body } = await call('DELETE', `${PATH}/${bad}`)
      const message = 'path: cannot be read'
      expect([status, body]).toEqual([400, { code: 400, message, errors: [{ code: 1, message }] }])
    }
  })
})
