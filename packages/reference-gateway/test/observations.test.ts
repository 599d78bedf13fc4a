import { describe, expect, it } from 'vitest'
import { account, biometric, condition, NOW, of, startGateway } from './gateway-under-test.ts'

const PATH = '/health-profile/biometrics'
const CONDITIONS = '/health-profile/conditions'

describe('a biometric', () => {
  it('is answered with 201, in the order sent, under the account as sent', async () => {
    const { call, register } = await startGateway()
    await register('p-1')
    const sponsored = { ...account('p-1'), sponsor: 's' }
    const sent = [biometric({ account: sponsored }), biometric({ transactionId: 't-2' })]
    const { status, body } = await call('POST', PATH, sent)
    expect([status, body.code, body.message]).toEqual([201, 201, '201 CREATED'])
    expect(body.data).toMatchObject([
      { transactionId: 't-1', account: sponsored, observationDate: '2024-03-01T14:05:00.000Z' },
      { transactionId: 't-2', account: account('p-1') },
    ])
  })

  it('is stored as it is sent, twice where sent twice, with fields that are not known', async () => {
    const { call, register, records } = await startGateway()
    await register('p-1')
    const sent = biometric({ device: { serial: 'x' } })
    await call('POST', PATH, [sent])
    await call('POST', PATH, [sent])
    const stored = { ...sent, _account: 'p-1', _storedAt: NOW }
    expect(await records('biometric')).toEqual([stored, stored])
  })

  it('is read with an id, the account id, and the time it was stored as its update', async () => {
    const { call, register } = await startGateway()
    const reference = await register('p-1')
    await call('POST', PATH, [biometric()])
    expect((await call('GET', `${PATH}?${of('p-1')}`)).body).toEqual({
      code: '200',
      message: '200 OK',
      errors: [],
      data: [
        {
          id: 'id-2',
          accountReference: { type: 'accountId', reference },
          created: String(NOW),
          updated: String(NOW),
          name: 'Systolic blood pressure',
          source: biometric().source,
          observationDate: String(Date.UTC(2024, 2, 1, 14, 5)),
          value: 118.5,
          unit: 'mm[Hg]',
          codes: biometric().codes,
        },
      ],
    })
  })

  it('is the latest by the first of its codes; of equals it is the one stored later', async () => {
    const { call, register } = await startGateway()
    await register('p-1')
    const on = (day: string, value: number, fields: Record<string, unknown> = {}) =>
      biometric({ observationDate: `2024-03-${day}T00:00:00.000Z`, value, ...fields })
    const codes = [{ code: '8867-4', codeSystem: '2.16.840.1.113883.6.1' }]
    await call('POST', PATH, [on('05', 1), on('03', 4, { codes: [...codes, ...biometric().codes] })])
    await call('POST', PATH, [on('05', 5), on('04', 6), on('02', 7, { codes })])
    const { body } = await call('GET', `${PATH}?${of('p-1')}`)
    expect(body.data.map((record) => record.value).toSorted()).toEqual([4, 5])
  })
})

it.each([
  ['value', '118.5'],
  ['observationDate', '2024-03-01T14:05:00Z'],
  ['codes.0.code', [{ code: 8480 }]],
  ['account.type', { reference: 'p-1', type: 'memberId' }],
  ['account', undefined],
])('refuses the batch for a bad %s, naming the position, and stores none of it', async (field, value) => {
  const { call, register, counts } = await startGateway()
  await register('p-1')
  const bad = biometric({ [field.split('.')[0] ?? '']: value })
  const { status, body } = await call('POST', `${PATH}/bulk`, [biometric(), biometric(), bad])
  expect([status, body.code, body.data]).toEqual([400, 400, []])
  expect(body.errors).toMatchObject([{ position: 2, field }])
  expect((await counts()).biometric).toBe(0)
})

it('refuses the batch for an account that is not registered, naming the position', async () => {
  const { call, register, counts } = await startGateway()
  await register('p-1')
  const stranger = biometric({ account: account('p-unknown') })
  const { status, body, text } = await call('POST', `${PATH}/bulk`, [biometric(), stranger])
  expect([status, body.code]).toEqual([404, 404])
  expect(body.errors).toMatchObject([{ position: 1, field: 'account' }])
  expect(text).not.toContain('p-unknown')
  expect((await counts()).biometric).toBe(0)
})

it('takes one user on the plain path and several on /bulk, by either reference', async () => {
  const { call, register, records } = await startGateway()
  const id = await register('p-1')
  await register('p-2')
  const byId = biometric({ account: { reference: id, type: 'accountId' } })
  const two = [biometric(), byId, biometric({ account: account('p-2') })]
  const plain = await call('POST', PATH, two)
  expect([plain.status, plain.body.errors[0]?.position]).toEqual([400, 2])
  expect((await call('POST', PATH, two.slice(0, 2))).status).toBe(201)
  expect((await call('POST', `${PATH}/bulk`, two)).status).toBe(201)
  const owners = (await records('biometric')).map((record) => record._account)
  expect(owners).toEqual(['p-1', 'p-1', 'p-1', 'p-1', 'p-2'])
})

it('opens an account for records of one that is not registered where it is open, but not for a batch it refuses', async () => {
  const { call, counts, register } = await startGateway({ open: true })
  const { status } = await call('POST', PATH, [biometric(), biometric({ account: account('p-2') })])
  expect([status, (await counts()).account]).toEqual([400, 0])
  expect((await call('POST', PATH, [biometric()])).status).toBe(201)
  expect(await counts()).toMatchObject({ account: 1, biometric: 1 })
  const id = await register('p-1')
  expect((await call('GET', `${PATH}?${of(id, 'accountId')}`)).body.data).toHaveLength(1)
})

it('takes the URL form of the account that ends in its id', async () => {
  const { call, register } = await startGateway()
  const id = await register('p-1')
  await call('POST', PATH, [biometric()])
  const entity = encodeURIComponent(`https://gateway.example/accounts/${id}`)
  expect((await call('GET', `${PATH}?entity=${entity}`)).body.data).toHaveLength(1)
})

it.each([
  ['', 400],
  ['accountReference=p-1', 400],
  ['accountReference=p-1&accountReference=p-1&accountReferenceType=partnerAccountId', 400],
  [of('p-1', 'memberId'), 400],
  [of('p-2'), 404],
  [of('p-1', 'accountId'), 404],
  ['entity=https%3A%2F%2Fgateway.example%2Faccounts%2Fp-1', 404],
])('answers the query %j with %i', async (query, expected) => {
  const { call, register } = await startGateway()
  await register('p-1')
  const { status, body } = await call('GET', `${PATH}?${query}`)
  expect([status, body.code]).toEqual([expected, String(expected)])
})

it('answers a condition with its id and in a nested envelope, without transactionId and, as read, without id', async () => {
  const { call, register, records } = await startGateway()
  const reference = await register('p-1')
  const { name, codes, source } = condition()
  const dates = {
    observationDate: String(Date.UTC(2024, 2, 1)),
    createDate: String(NOW),
    updateDate: String(NOW),
  }
  const returned = { account: { type: 'accountId', reference }, name, codes, source, ...dates }
  const ok = { code: '200', message: '200 OK', errors: [] }
  const { status, body } = await call('POST', CONDITIONS, [condition()])
  expect([status, body]).toEqual([200, { ...ok, data: [{ ...returned, id: 'id-2' }] }])
  expect(await records('condition')).toEqual([{ ...condition(), _account: 'p-1', _storedAt: NOW }])
  const read = await call('GET', `${CONDITIONS}?${of('p-1')}`)
  expect(read.body).toEqual({ ...ok, data: { ...ok, data: [returned] } })
})

it('refuses a batch of conditions, its code a string', async () => {
  const { call, register, counts } = await startGateway()
  await register('p-1')
  const bad = condition({ observationDate: '2024-03-01T00:00:00.000Z' })
  const { status, body } = await call('POST', CONDITIONS, [condition(), bad])
  expect([status, body.code]).toEqual([400, '400'])
  expect(body.errors).toMatchObject([{ position: 1, field: 'observationDate' }])
  expect((await counts()).condition).toBe(0)
})
