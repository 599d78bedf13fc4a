import { describe, expect, it } from 'vitest'
import {
  Disclosure,
  innerRefusalOf,
  MedicalRecordsRequestReturned,
} from '../../src/gateway/contract/medical-records.ts'
import { Envelope } from '../../src/gateway/contract/shared-objects.ts'
import { filter, HEADERS, innerOf, PATH, roi, startRequester } from './requester-under-test.ts'

const edited = (block: 'patient' | 'request' | 'provider' | 'webhook', fields: Record<string, unknown>) =>
  roi({ [block]: { ...roi()[block], ...fields } })
const without = (block: 'patient' | 'provider' | 'request' | 'webhook', ...names: string[]) =>
  edited(block, Object.fromEntries(names.map((name) => [name, undefined])))

describe('PATCH /medical-records/requester, a reference number that is new', () => {
  it('creates the request, and answers it with dates turned, an upload address and a status', async () => {
    const { upsert, url } = await startRequester()
    const answer = await upsert(roi())
    const { request, patient } = roi()
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        code: 200,
        message: '200 OK',
        data: [
          {
            ...roi(),
            patient: { ...patient, dob: '02/28/1970' },
            request: {
              ...request,
              datesOfService: { type: 'startEnd', start: '01/31/2020', end: '12/01/2021' },
            },
            authorizationUploadUrl: `${url}/uploads/id-1`,
            status: {
              documentAvailable: false,
              status: 'Received',
              updated: '07/01/2024 00:00:00',
              processed: null,
              processedPlatform: null,
              authorizationName: '',
            },
          },
        ],
      },
    ])
    expect(Envelope(MedicalRecordsRequestReturned).parse(answer.body)).toEqual(answer.body)
  })

  it('takes an array of requests, and answers in its order, each with an address of its own', async () => {
    const { upsert } = await startRequester()
    const { body } = await upsert(roi({ referenceNumber: 'b' }), roi({ referenceNumber: 'a' }))
    expect(body.data.map(({ referenceNumber }) => referenceNumber)).toEqual(['b', 'a'])
    expect(new Set(body.data.map((one) => one.authorizationUploadUrl)).size).toBe(2)
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
    expect(body.data[0]?.request['datesOfService']).toEqual({
      type: 'startEnd',
      start: '01/31/2020',
      end: '12/01/2021',
    })
  })

  it('takes every disclosure of the list, and gives back unlisted fields of the request and its blocks', async () => {
    const { upsert } = await startRequester()
    const sent = edited('request', { disclosures: Disclosure.options, extra: 1 })
    const { body } = await upsert({ ...sent, extra: 1, patient: { ...sent.patient, extra: 1 } })
    expect(body.data[0]?.request['disclosures']).toEqual(Disclosure.options)
    expect(body.data[0]).toMatchObject({
      extra: 1,
      patient: { extra: 1 },
      request: { extra: 1 },
      provider: { unlisted: 'kept' },
    })
  })

  const CONTINUITY = { requestType: '2', requestSubType: '201' }
  it.each([
    ['by id', CONTINUITY],
    ['the type by id, the subtype by name', { ...CONTINUITY, requestSubType: 'Personal' }],
  ])('takes a request type %s, and answers it as sent', async (_, kind) => {
    const { upsert } = await startRequester()
    const { body } = await upsert(edited('request', kind))
    expect(body.data[0]?.request).toMatchObject(kind)
  })

  it.each<[string, unknown, 0 | 1, string]>([
    ...(['firstName', 'lastName', 'dob'] as const).flatMap((name): [string, unknown, 0 | 1, string][] => [
      [`without patient.${name}`, without('patient', name), 0, `the patient ${name} is null or empty`],
      [
        `with patient.${name} null`,
        edited('patient', { [name]: null }),
        0,
        `the patient ${name} is null or empty`,
      ],
    ]),
    [
      'with an empty first name',
      edited('patient', { firstName: '' }),
      0,
      'the patient firstName is null or empty',
    ],
    ['with a date turned', edited('patient', { dob: '02/28/1970' }), 1, 'the patient dob cannot be used'],
    ['with a day that is not', edited('patient', { dob: '1970-02-30' }), 1, 'the patient dob cannot be used'],
    ['with a zip that is a number', edited('patient', { zip: 12345 }), 1, 'the patient zip cannot be used'],
    ...(['type', 'requestType', 'requestSubType'] as const).map((name): [string, unknown, 0 | 1, string] => [
      `without request.${name}`,
      without('request', name),
      0,
      `the request ${name} is null or empty`,
    ]),
    [
      'with a type not in the list',
      edited('request', { requestType: 'Other' }),
      1,
      'the request requestType cannot be used (not in the request types)',
    ],
    [
      'with a subtype of another type',
      edited('request', { requestSubType: 'Life Insurance' }),
      1,
      'the request requestSubType cannot be used (not a subtype of the request type)',
    ],
    [
      'with a disabled subtype',
      edited('request', { requestType: '1', requestSubType: '103' }),
      1,
      'the request requestSubType cannot be used (disabled)',
    ],
    [
      'without a start',
      edited('request', { datesOfService: { end: '2021-12-01' } }),
      0,
      'the request datesOfService.start is null or empty',
    ],
    [
      'with a disclosure of no list',
      edited('request', { disclosures: ['abstract', 'Abstract'] }),
      1,
      'the request disclosures.1 cannot be used',
    ],
    ['without webhook.url', without('webhook', 'url'), 0, 'the webhook url is null or empty'],
    [
      'with a webhook address',
      edited('webhook', { url: 'https://hook.example' }),
      1,
      'the webhook url cannot be used',
    ],
    [
      'with a sendStatusChange that is text',
      edited('webhook', { sendStatusChange: 'yes' }),
      1,
      'the webhook sendStatusChange cannot be used',
    ],
  ])('refuses one %s, naming field, block and position', async (_, bad, code, problem) => {
    const { upsert, held } = await startRequester()
    const answer = await upsert(roi({ referenceNumber: 'good' }), bad)
    const { phrase, inner } = innerOf(answer)
    expect([answer.status, answer.body.code, phrase]).toEqual([
      400,
      400,
      'Failed to create or update the requests: ',
    ])
    expect(answer.body.errors).toEqual([{ code: 400, message: answer.body.message, exception: null }])
    expect(innerRefusalOf(answer.body)).toEqual(inner)
    expect(inner.errors).toHaveLength(1)
    expect(inner.errors[0]).toMatchObject({ code, message: expect.stringContaining(problem) })
    expect(inner.errors[0]?.message).toMatch(/ block of request 2 of 2$/)
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

  it.each([
    [{ referenceNumber: '' }, 'is null or empty'],
    [{ referenceNumber: undefined }, 'is null or empty'],
    [{ referenceNumber: 7 }, 'cannot be used'],
  ])('refuses %j', async (fields, problem) => {
    const { upsert } = await startRequester()
    const [fault] = innerOf(await upsert(roi(fields))).inner.errors
    expect(fault?.message).toContain(`the referenceNumber of request 1 of 1 ${problem}`)
  })

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
  it('replaces what is sent, clears what is null, keeps what is omitted; a cleared field is absent', async () => {
    const { upsert, search } = await startRequester()
    await upsert(roi())
    const { body } = await upsert({
      referenceNumber: 'ref-1',
      patient: { firstName: 'New', zip: null },
      provider: { city: null, unlisted: 'new', phone: '555-0100' },
      request: { datesOfService: { end: '2022-01-31' }, disclosures: null },
    })
    const [changed] = body.data
    expect(changed?.patient).toEqual({
      type: 'member',
      reference: 'm-1',
      firstName: 'New',
      lastName: 'Person',
      dob: '02/28/1970',
    })
    expect(changed?.provider).toEqual({
      groupName: 'Test Practice',
      npi: '1234567893',
      unlisted: 'new',
      phone: '555-0100',
    })
    expect(changed?.request).toEqual({
      type: '',
      requestType: 'Continuity of Care',
      requestSubType: 'Personal',
      datesOfService: { type: 'startEnd', start: '01/31/2020', end: '01/31/2022' },
    })
    expect(changed?.webhook).toEqual({ sendStatusChange: false, url: '' })
    expect((await search(filter({ firstName: 'New' }))).body.data[0]?.results).toEqual(body.data)
  })

  it('gives a new upload address, moves `updated`, leaves the status', async () => {
    const { upsert, passMinutes } = await startRequester()
    const before = (await upsert(roi())).body.data[0]
    passMinutes(90)
    const after = (await upsert({ referenceNumber: 'ref-1' })).body.data[0]
    expect(after?.authorizationUploadUrl).not.toBe(before?.authorizationUploadUrl)
    expect(after?.status).toEqual({ ...before?.status, updated: '07/01/2024 01:30:00' })
    expect({ ...after, status: 0, authorizationUploadUrl: 0 }).toEqual({
      ...before,
      status: 0,
      authorizationUploadUrl: 0,
    })
  })

  it.each([
    [{ patient: { firstName: null } }, 'the patient firstName is null or empty'],
    [{ patient: { dob: '' } }, 'the patient dob is null or empty'],
    [{ request: { type: null } }, 'the request type is null or empty'],
    [{ request: { datesOfService: { type: null } } }, 'the request datesOfService.type is null or empty'],
    [{ request: { datesOfService: null } }, 'the request datesOfService is null or empty'],
    [{ webhook: { url: null } }, 'the webhook url is null or empty'],
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
  it.each(['ref-1', 'a/b?c#d %é', 'requestTypes'])(
    'removes %j and answers its details',
    async (referenceNumber) => {
      const { upsert, remove, held } = await startRequester()
      const { authorizationUploadUrl: _, ...details } =
        (await upsert(roi({ referenceNumber }))).body.data[0] ?? {}
      const { status, body } = await remove(referenceNumber)
      expect([status, body]).toEqual([200, { code: 200, message: '200 OK', data: [details] }])
      expect(await held()).toEqual([])
    },
  )

  it('lets the reference number be created anew', async () => {
    const { upsert, remove } = await startRequester()
    await upsert(roi())
    await remove('ref-1')
    expect((await upsert({ referenceNumber: 'ref-1' })).status).toBe(400)
    expect((await upsert(roi())).status).toBe(200)
  })

  it.each(['unknown', 'removed'])('refuses one that is %s', async (referenceNumber) => {
    const { upsert, remove } = await startRequester()
    await upsert(roi({ referenceNumber: 'removed' }))
    await remove('removed')
    const answer = await remove(referenceNumber)
    const { phrase, inner } = innerOf(answer)
    expect([answer.status, phrase, inner.errors]).toEqual([
      400,
      'Failed to delete the request: ',
      [{ code: 1, message: 'Reference Number not found Or Request already processed' }],
    ])
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

it('GET /medical-records/requester/requestTypes answers a nested array of request types', async () => {
  const { call } = await startRequester()
  const { status, body } = await call('GET', `${PATH}/requestTypes`)
  expect([status, body.code, body.data.length]).toEqual([200, 200, 1])
  const [types] = body.data
  expect(types).toContainEqual({
    id: '2',
    name: 'Continuity of Care',
    requestSubType: [
      { id: '201', name: 'Personal', disabled: null },
      { id: '202', name: 'Transfer of Care', disabled: null },
    ],
  })
})

it.each([
  ['PATCH', PATH, [roi()]],
  ['POST', PATH, { page: 1, limit: 1, filter: [filter({ zip: '1' })] }],
  ['DELETE', `${PATH}/ref-1`, undefined],
  ['GET', `${PATH}/requestTypes`, undefined],
])(
  '%s %s asks for the key (401) and the version 1.0.0 (400), and for no token',
  async (method, path, body) => {
    const { call } = await startRequester()
    expect((await call(method, path, body, { 'x-api-version': '1.0.0' })).status).toBe(401)
    for (const headers of [{ 'x-api-key': 'key' }, { ...HEADERS, 'x-api-version': '1.0' }]) {
      const answer = await call(method, path, body, headers)
      const message = 'X-API-Version: expected 1.0.0'
      expect([answer.status, answer.body]).toEqual([
        400,
        { code: 400, message, errors: [{ code: 1, message }] },
      ])
    }
  },
)
