import { describe, expect, it } from 'vitest'
import { biometric, startGateway } from './gateway-under-test.ts'

const PATH = '/health-profile/biometrics'

describe('a hostile request is refused with an envelope, and the gateway goes on', () => {
  const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`
  it.each<[string, number, string, Record<string, string>]>([
    ['broken JSON', 400, '[{"value": 118.5', {}],
    ['an empty body', 400, '', {}],
    ['a deep array', 400, deep, {}],
    ['a deep field', 400, `[${JSON.stringify(biometric()).slice(0, -1)},"extra":${deep}}]`, {}],
    ['a polluting key', 400, '[{"__proto__":{"value":1},"constructor":{"prototype":{"unit":"x"}}}]', {}],
    ['an infinite number', 400, JSON.stringify([biometric()]).replace('118.5', '1e999'), {}],
    ['a body over the limit', 413, JSON.stringify([biometric({ name: 'n'.repeat(2_000_000) })]), {}],
    ['another content type', 415, JSON.stringify([biometric()]), { 'content-type': 'text/plain' }],
    ['a compressed body', 415, JSON.stringify([biometric()]), { 'content-encoding': 'gzip' }],
  ])('%s', async (_, status, body, headers) => {
    const { call, register, counts } = await startGateway({ bodyLimit: 1_000_000 })
    await register('p-1')
    const credentials = { 'x-api-key': 'key', authorization: 'Bearer token' }
    const answer = await call('POST', PATH, body, { ...credentials, ...headers })
    expect([answer.status, answer.body?.code]).toEqual([status, status])
    expect(answer.body.errors).not.toEqual([])
    expect((await counts()).biometric).toBe(0)
    expect((await call('POST', PATH, [biometric()])).status).toBe(201)
  })

  it('bytes that are not UTF-8', async () => {
    const { url } = await startGateway({ open: true })
    const text = Buffer.from(JSON.stringify([biometric({ name: 'XX' })]))
    text[text.indexOf('XX')] = 0xff
    const headers = { 'x-api-key': 'k', authorization: 'Bearer t', 'content-type': 'application/json' }
    expect((await fetch(url + PATH, { method: 'POST', headers, body: text })).status).toBe(400)
  })

  it('a path that is not served', async () => {
    const { call } = await startGateway()
    expect(await call('GET', '/health-profile/nothing')).toMatchObject({ status: 404, body: { code: '404' } })
    expect(await call('PUT', '/account')).toMatchObject({ status: 404, body: { code: 404 } })
  })
})

it('takes a body just under the limit', async () => {
  const body = JSON.stringify([biometric()])
  const { call } = await startGateway({ open: true, bodyLimit: Buffer.byteLength(body) })
  expect((await call('POST', PATH, body)).status).toBe(201)
  expect((await call('POST', PATH, `${body} `)).status).toBe(413)
})

it('keeps reference values that look like SQL or hold any Unicode as they are', async () => {
  const { call, register, records } = await startGateway()
  const odd = "p'; DROP TABLE accounts; -- \u0000 é 𝄞"
  await register(odd)
  const sent = biometric({ account: { reference: odd, type: 'partnerAccountId' } })
  expect((await call('POST', PATH, [sent])).status).toBe(201)
  expect((await records('biometric'))[0]).toMatchObject({ account: { reference: odd }, _account: odd })
})
