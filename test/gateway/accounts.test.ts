import { describe, expect, it } from 'vitest'
import { client, failureOf, json, serve } from './loopback.ts'

const REGISTRATION = {
  dateOfBirth: '1970-01-31',
  firstName: 'Test',
  gender: 'FEMALE',
  lastName: 'Person',
  partnerAccountId: 'p-1',
  postalCode: '00000',
}

describe('registering an account', () => {
  it.each([
    ['new', json(201, { accountId: 'a-1', partnerAccountId: 'p-1' }), { accountId: 'a-1', known: false }],
    ['new, without an echo', json(200, { accountId: 'a-1' }), { accountId: 'a-1', known: false }],
    ['known', json(409, { accountId: 'a-1', partnerAccountId: 'p-1' }), { accountId: 'a-1', known: true }],
    [
      'known, id not told',
      json(409, { code: 409, message: 'Exists.' }),
      { accountId: undefined, known: true },
    ],
    ['known, in no words', { status: 409, body: '<p>Exists</p>' }, { accountId: undefined, known: true }],
  ])('that is %s', async (_, reply, expected) => {
    const server = await serve(() => reply)
    const gateway = client(server.url)
    expect(await gateway.accounts.register(REGISTRATION)).toEqual(expected)
    expect(gateway.events).toMatchObject([{ class: 'accepted', status: reply.status }])
  })

  it.each([
    ['names no account', json(200, {})],
    ['names another partner account', json(200, { accountId: 'a-1', partnerAccountId: 'p-2' })],
    [
      'is a conflict that names another partner account',
      json(409, { accountId: 'a-1', partnerAccountId: 'p-2' }),
    ],
  ])('is ambiguous where the answer %s', async (_, reply) => {
    const server = await serve(() => reply)
    expect((await failureOf(client(server.url).accounts.register(REGISTRATION))).class).toBe('ambiguous')
  })

  it('is refused like any other call', async () => {
    const server = await serve(() => json(422, { message: 'postalCode' }))
    expect(await failureOf(client(server.url).accounts.register(REGISTRATION))).toMatchObject({
      class: 'refused',
      gatewayMessage: 'postalCode',
    })
  })
})
