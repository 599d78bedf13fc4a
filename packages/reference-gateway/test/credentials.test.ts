import { describe, expect, it } from 'vitest'
import { COMMANDS } from '../../../src/cli/commands.ts'
import { ENDPOINTS, type Endpoint } from '../../../src/gateway/contract/endpoints.ts'
import { createTokenBook } from '../src/credentials.ts'
import { biometric, condition, registration, startGateway } from './gateway-under-test.ts'

const KEY = { 'x-api-key': 'key' }
const TOKEN = { authorization: 'Bearer token' }
const BY_THE_GATEWAY = Object.entries<Endpoint>(ENDPOINTS).filter(([name]) => name !== 'uploadAuthorization')

it.each(BY_THE_GATEWAY)('%s asks for the headers of the contract, and for no other', async (_, endpoint) => {
  const { method, path, bearer, version } = endpoint
  const { call } = await startGateway()
  const own: Record<string, string> = version === undefined ? {} : { 'x-api-version': version }
  const statusWith = async (headers: Record<string, string>) =>
    (await call(method, path.replaceAll(/[{}]/g, ''), method === 'GET' ? undefined : [], headers)).status
  expect(await statusWith({ ...own, ...TOKEN })).toBe(401)
  expect(await statusWith({ ...KEY, ...TOKEN, ...own })).not.toBe(401)
  expect((await statusWith({ ...KEY, ...own })) === 401).toBe(bearer === 'required')
  if (version === undefined) return
  const others: Record<string, string>[] = [{}, { 'x-api-version': '2.0' }]
  for (const other of others) expect(await statusWith({ ...KEY, ...TOKEN, ...other })).toBe(400)
})

it('lets through only the keys and tokens it is given', async () => {
  const { call } = await startGateway({ apiKeys: ['k1', 'k2'], tokens: ['t1'] })
  const status = async (key: string, token: string) =>
    (await call('POST', '/health-profile/biometrics', [], { 'x-api-key': key, authorization: token })).status
  expect(await status('k2', 'Bearer t1')).toBe(400)
  expect(await status('k3', 'Bearer t1')).toBe(401)
  expect(await status('k1', 'Bearer t2')).toBe(401)
  expect(await status('k1', 'Basic t1')).toBe(401)
})

it('answers 401 in the envelope of the call', async () => {
  const { call } = await startGateway()
  const biometrics = await call('POST', '/health-profile/biometrics', [biometric()], KEY)
  expect([biometrics.status, biometrics.body.code]).toEqual([401, 401])
  expect(biometrics.headers.get('www-authenticate')).toBe('Bearer')
  expect((await call('POST', '/health-profile/conditions', [condition()], KEY)).body.code).toBe('401')
  expect((await call('POST', '/account/register', registration(), TOKEN)).body.code).toBe(401)
})

const OWNER = { reference: 'p-1', type: 'partnerAccountId' } as const

describe('a token book', () => {
  it('passes any token where none was given, and only those given or bound otherwise', () => {
    expect(createTokenBook(undefined).passes('any')).toBe(true)
    const book = createTokenBook(['given'], { bound: OWNER })
    expect(['given', 'bound', 'other', '__proto__'].map(book.passes)).toEqual([true, true, false, false])
    book.bind('other', OWNER)
    expect(book.passes('other')).toBe(true)
  })

  it('knows the user of a bound token alone', () => {
    const book = createTokenBook(undefined, { bound: OWNER })
    expect(['bound', 'any', 'constructor'].map(book.ownerOf)).toEqual([OWNER, undefined, undefined])
    const other = { reference: 'id-7', type: 'accountId' } as const
    book.bind('bound', other)
    expect(book.ownerOf('bound')).toEqual(other)
  })

  it('passes an expired token no more until it is bound anew', () => {
    const book = createTokenBook(undefined)
    book.expire('t')
    expect([book.passes('t'), book.passes('u')]).toEqual([false, true])
    book.bind('t', OWNER)
    expect(book.passes('t')).toBe(true)
  })
})

it.each([
  ['t=p-1', 't', OWNER],
  ['a.b-c_d~e+f/==', undefined, undefined],
  ['dG9rZW4===p=1', 'dG9rZW4==', { reference: 'p=1', type: 'partnerAccountId' }],
  ['t=accountId:4711', 't', { reference: '4711', type: 'accountId' }],
  ['t=participant 17', 't', { reference: 'participant 17', type: 'partnerAccountId' }],
  ['t=accountId:', undefined, undefined],
  ['t=', undefined, undefined],
  ['=p-1', undefined, undefined],
  ['t', undefined, undefined],
  ['a b=p-1', undefined, undefined],
])('reads the binding %s', (text, token, owner) => {
  const { read } = COMMANDS.gateway.options['--bind <token=reference...>']
  if (token === undefined) expect(() => read(text)).toThrow('It must be TOKEN=REFERENCE.')
  else expect(read(text)).toEqual({ [token]: owner })
})
