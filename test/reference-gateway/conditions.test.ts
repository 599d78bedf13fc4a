import { expect, it } from 'vitest'
import { condition, NOW, of, startGateway } from './gateway-under-test.ts'

const PATH = '/health-profile/conditions'

const asReturned = (accountId: string) => ({
  account: { type: 'accountId', reference: accountId },
  name: 'Type 2 diabetes',
  codes: condition().codes,
  observationDate: String(Date.UTC(2024, 2, 1)),
  source: condition().source,
  createDate: String(NOW),
  updateDate: String(NOW),
})

it.each([PATH, `${PATH}/bulk`])('POST %s answers 200 with id and without transactionId', async (path) => {
  const { call, register, records } = await startGateway()
  const accountId = await register('p-1')
  const { status, body } = await call('POST', path, [condition()])
  expect(status).toBe(200)
  expect(body).toEqual({
    code: '200',
    message: '200 OK',
    data: [{ ...asReturned(accountId), id: 'id-2' }],
    errors: [],
  })
  expect(await records('condition')).toEqual([{ ...condition(), _account: 'p-1', _storedAt: NOW }])
})

it('reads the latest per code and source type in a nested envelope', async () => {
  const { call, register } = await startGateway()
  const accountId = await register('p-1')
  await call('POST', PATH, [condition(), condition({ observationDate: Date.UTC(2023, 0, 1) })])
  const { status, body } = await call('GET', `${PATH}?${of('p-1')}`)
  const inner = { code: '200', message: '200 OK', data: [asReturned(accountId)], errors: [] }
  expect([status, body]).toEqual([200, { code: '200', message: '200 OK', data: inner, errors: [] }])
})

it.each([
  ['observationDate', String(Date.UTC(2024, 2, 1))],
  ['observationDate', '2024-03-01T00:00:00.000Z'],
  ['observationDate', 1.5],
  ['family.member', { member: 'mother' }],
  ['codes', undefined],
])('refuses the batch for a bad %s, naming the position, and stores none of it', async (field, value) => {
  const { call, register, counts } = await startGateway()
  await register('p-1')
  const bad = condition({ [field.split('.')[0] ?? '']: value })
  const { status, body } = await call('POST', PATH, [condition(), bad])
  expect([status, body.code]).toEqual([400, '400'])
  expect(body.errors).toMatchObject([{ position: 1, field }])
  expect((await counts()).condition).toBe(0)
})
