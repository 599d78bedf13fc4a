import { expect, it } from 'vitest'
import { biometric } from './gateway-under-test.ts'
import { expectAnswered, startTarget } from './hostile-calls.ts'

const credentials = 'Host: localhost\r\nX-API-Key: key\r\nAuthorization: Bearer token\r\n'
const head = (length: string) =>
  `POST /health-profile/biometrics HTTP/1.1\r\n${credentials}Content-Type: application/json\r\n${length}\r\n`
const body = JSON.stringify([biometric()])
const one = `${head(`Content-Length: ${body.length}\r\n`)}${body}`

it.each<[string, number, string]>([
  ['bytes that are not HTTP', 400, '\u0000\u0001garbage\r\n\r\n'],
  ['HTTP/2', 400, 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['a method that there is not', 400, `STORE / HTTP/1.1\r\n${credentials}\r\n`],
  ['a length below zero', 400, head('Content-Length: -1\r\n') + body],
  ['a length that is no number', 400, head('Content-Length: many\r\n') + body],
  ['a length beyond all numbers', 400, head('Content-Length: 99999999999999999999\r\n') + body],
  ['two lengths', 400, head('Content-Length: 2\r\nContent-Length: 3\r\n') + body],
  ['a length and chunks', 400, `${head('Content-Length: 5\r\nTransfer-Encoding: chunked\r\n')}0\r\n\r\n`],
  ['a chunk of no length', 400, `${head('Transfer-Encoding: chunked\r\n')}zz\r\n${body}\r\n`],
  ['a length that is too small', 400, head('Connection: close\r\nContent-Length: 10\r\n') + body],
  ['a header without a name', 400, head(': value\r\n')],
  ['a header with a NUL', 400, head('X-Odd: a\u0000b\r\n')],
  ['a header of 100 kB', 431, head(`X-Long: ${'a'.repeat(100_000)}\r\n`)],
  ['3000 headers', 431, head(Array.from({ length: 3000 }, (_, index) => `X-${index}: 1\r\n`).join(''))],
  ['a path of 100 kB', 431, `GET /${'a'.repeat(100_000)} HTTP/1.1\r\n${credentials}\r\n`],
  [
    'a parameter of 8 kB',
    400,
    `GET /bioage/result/${'a'.repeat(8000)} HTTP/1.1\r\n${credentials}Connection: close\r\n\r\n`,
  ],
  ['a path of slashes', 404, `GET // HTTP/1.1\r\n${credentials}Connection: close\r\n\r\n`],
  ['no path', 404, `OPTIONS * HTTP/1.1\r\n${credentials}Connection: close\r\n\r\n`],
  ['another address', 400, `GET http://localhost:99999/ HTTP/1.1\r\n${credentials}Connection: close\r\n\r\n`],
  ['a method that is not served', 404, `TRACE /account HTTP/1.1\r\n${credentials}Connection: close\r\n\r\n`],
])('%s gets %i with an envelope', async (_, status, bytes) => {
  const { raw, call, counts } = await startTarget()
  const answer = await raw(bytes)
  expect(answer.status).toBe(status)
  expectAnswered(answer)
  expect((await counts()).biometric).toBe(0)
  expect((await call('POST', '/health-profile/biometrics', [biometric()])).status).toBe(201)
})

it('a request that breaks off stores nothing', async () => {
  const { abandon, call, counts } = await startTarget()
  for (const bytes of [
    head('').slice(0, 40),
    head(`Content-Length: ${body.length}\r\n`),
    one.slice(0, -1),
    head('Content-Length: 900000\r\n') + body,
    `${head('Transfer-Encoding: chunked\r\n')}ffff\r\n${body}`,
  ])
    await abandon(bytes)
  expect((await counts()).biometric).toBe(0)
  expect((await call('POST', '/health-profile/biometrics', [biometric()])).status).toBe(201)
})

it('what follows a whole request is a request of its own', async () => {
  const { raw, counts } = await startTarget()
  const { status } = await raw(`${one}${one}${body}`)
  expect([status, (await counts()).biometric]).toEqual([201, 2])
})

it('a request that never becomes whole does not keep the gateway from ending', async () => {
  const { raw, counts, close } = await startTarget()
  const unfinished = raw(`${one}${head('Content-Length: 100\r\n')}[`)
  while ((await counts()).biometric === 0);
  await close()
  expect((await unfinished).status).toBe(201)
})
