import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { account, biometric, registration } from './gateway-under-test.ts'
import { type FaultGiven, startStruck } from './struck-gateway.ts'

const sent = { method: 'POST', path: '/health-profile/biometrics', body: [biometric()] }
const on = 'createBiometrics'

/** All bytes of an answer, up to a bound, and how the connection ended. */
function rawAnswer(url: string, bound = 1_000_000): Promise<{ bytes: string; end: string }> {
  const { hostname, port } = new URL(url)
  const body = JSON.stringify(sent.body)
  const head = [
    `POST ${sent.path} HTTP/1.1`,
    'host: gateway',
    'x-api-key: key',
    'authorization: Bearer t-1',
    'content-type: application/json',
    `content-length: ${body.length}`,
  ]
  return new Promise((resolve) => {
    let bytes = ''
    const socket = connect(Number(port), hostname, () => socket.write(`${head.join('\r\n')}\r\n\r\n${body}`))
    socket.on('data', (piece) => {
      bytes += piece.toString('latin1')
      if (bytes.length < bound) return
      resolve({ bytes, end: 'bound' })
      socket.destroy()
    })
    socket.on('error', (error: NodeJS.ErrnoException) => resolve({ bytes, end: error.code ?? '' }))
    socket.on('end', () => resolve({ bytes, end: 'FIN' }))
  })
}

describe('on the wire', () => {
  it.each(['reset', 'store-then-reset'] as const)(
    '%s is a TCP reset without a byte before it',
    async (kind) => {
      const { url } = await startStruck([{ do: kind, on }])
      expect(await rawAnswer(url)).toEqual({ bytes: '', end: 'ECONNRESET' })
    },
  )

  it('garble truncated declares more than it sends, and ends', async () => {
    const gateway = await startStruck([{ do: 'garble', on, as: 'truncated' }])
    const { bytes, end } = await rawAnswer(gateway.url)
    const [head = '', body = ''] = bytes.split('\r\n\r\n')
    expect([head.split('\r\n')[0], end]).toEqual(['HTTP/1.1 201 Created', 'FIN'])
    const declared = Number(/^content-length: (\d+)$/im.exec(head)?.[1])
    expect(body.length).toBe(Math.floor(declared / 2))
    expect((await gateway.send(sent)).end).toBe('broken')
    expect(await gateway.occurrences('biometric')).toEqual({ 't-1': 2 })
  })

  it('garble endless never ends', async () => {
    const { url, counts } = await startStruck([{ do: 'garble', on, as: 'endless' }])
    const { bytes, end } = await rawAnswer(url, 3_000_000)
    expect([end, bytes.slice(0, 12)]).toEqual(['bound', 'HTTP/1.1 201'])
    expect((await counts()).biometric).toBe(1)
  })
})

describe('garble', () => {
  it.each([
    ['broken-json', 'application/json; charset=utf-8', false],
    ['html', 'text/html; charset=utf-8', false],
    ['empty', 'application/json; charset=utf-8', false],
    ['wrong-type', 'text/plain; charset=utf-8', true],
    ['wrong-shape', 'application/json; charset=utf-8', true],
  ] as const)('%s: 201, stored once, %s', async (as, type, isJson) => {
    const gateway = await startStruck([{ do: 'garble', on, as }])
    const { status, headers, text = '' } = await gateway.send(sent)
    expect([status, headers?.get('content-type')]).toEqual([201, type])
    const parse = (): unknown => JSON.parse(text)
    if (isJson) expect('data' in Object(parse())).toBe(as === 'wrong-type')
    else expect(parse).toThrow(SyntaxError)
    expect(text === '').toBe(as === 'empty')
    expect(await gateway.occurrences('biometric')).toEqual({ 't-1': 1 })
  })
})

it('expire-token expires that token alone, from the request on that the plan names', async () => {
  const gateway = await startStruck([{ do: 'expire-token', on, when: { nth: 3 } }])
  const statuses = []
  for (let at = 0; at < 5; at++) statuses.push((await gateway.send(sent)).status)
  expect(statuses).toEqual([201, 201, 401, 401, 401])
  expect(await gateway.occurrences('biometric')).toEqual({ 't-1': 2 })
  await gateway.call('POST', '/_reference/tokens', { token: 't-9', account: account('p-1') })
  expect((await gateway.send({ ...sent, headers: { authorization: 'Bearer t-9' } })).status).toBe(201)
})

it('a fault on one endpoint leaves the others alone', async () => {
  const gateway = await startStruck([{ do: 'refuse', on: ['createBiometrics', 'createConditions'] }])
  expect((await gateway.send(sent)).status).toBe(503)
  expect((await gateway.send({ ...sent, path: `${sent.path}/bulk` })).status).toBe(201)
  const body = registration({ partnerAccountId: 'p-3' })
  expect((await gateway.send({ method: 'POST', path: '/account/register', body })).status).toBe(200)
  expect((await gateway.report()).faults).toEqual([{ do: 'refuse', matched: 1, struck: 1, ordinals: [1] }])
})

it('a request without credentials is refused before a fault is asked about', async () => {
  const gateway = await startStruck([{ do: 'reset', on: 'all' }])
  expect((await gateway.send({ ...sent, headers: { 'x-api-key': '' } })).status).toBe(401)
  expect((await gateway.report()).faults[0]?.matched).toBe(0)
})

describe('the end of the gateway', () => {
  it.each<FaultGiven>([
    { do: 'hang', on },
    { do: 'store-then-hang', on },
    { do: 'slow', on, ms: 600_000 },
    { do: 'slow', on, ms: 600_000, before: 'storing' },
    { do: 'garble', on, as: 'endless' },
  ])('ends at once what %j holds', async (fault) => {
    const gateway = await startStruck([fault])
    const held = gateway.send(sent)
    while ((await gateway.report()).faults[0]?.struck === 0);
    // Its content would outlast a test.
    await gateway.close()
    expect((await held).end).toBe('broken')
  })
})
