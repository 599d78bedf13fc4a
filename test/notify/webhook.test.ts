import type { RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { Webhook } from 'standardwebhooks'
import { expect, it } from 'vitest'
import { NotDelivered } from '../../src/notify/notice.ts'
import { createWebhook } from '../../src/notify/webhook.ts'
import { closedPort } from '../closed-port.ts'
import { describeChannel, limitOf } from '../conformance/notify-channel.ts'
import { listen, serve, serveRaw, serveTcp } from '../gateway/loopback.ts'
import { selfSignedCertificate } from '../gateway/self-signed-certificate.ts'
import { MESSAGE } from './sample-notice.ts'

const SECRET = `whsec_${Buffer.from('a secret of thirty-two bytes, ok').toString('base64')}`
const PATH = '/T0/B1/path-that-is-a-secret?key=query-that-is-a-secret'
const open = (url: string, timeoutMs = limitOf('takes')) =>
  createWebhook({ url: `${url}${PATH}`, secret: SECRET, timeoutMs, now: Date.now })

const failure = (url: string): Promise<unknown> =>
  open(url)
    .deliver(MESSAGE)
    .then(
      () => 'delivered',
      (error: unknown) => error,
    )

describeChannel('a webhook', async (receiver) => {
  const seen: string[] = []
  const server =
    receiver === 'hangs'
      ? await serveRaw(() => {})
      : await serve(({ body, headers }) => {
          seen.push(`${headers['webhook-id']} ${body}`)
          return { status: receiver === 'takes' ? 204 : 404, body: PATH }
        })
  return {
    channel: open(server.url, limitOf(receiver)),
    received: async () => seen,
    secrets: [SECRET, SECRET.slice(6), 'path-that-is-a-secret', 'query-that-is-a-secret'],
  }
})

it('is signed so that a receiver can verify it, with the same id in every try', async () => {
  const server = await serve(() => ({ status: 200 }))
  const channel = open(server.url)
  await channel.deliver(MESSAGE)
  await channel.deliver(MESSAGE)
  for (const { headers, body } of server.seen) {
    const given = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
    const verified = new Webhook(SECRET).verify(body, given)
    expect(verified).toMatchObject({
      type: 'waybill.run-ended',
      data: { id: MESSAGE.id, details: { exit: 1 } },
    })
    expect(() => new Webhook(SECRET).verify(body.replace('22', '0'), given)).toThrow('signature')
    expect(headers['content-type']).toBe('application/json')
  }
  expect(server.seen.map(({ headers }) => headers['webhook-id'])).toEqual([MESSAGE.id, MESSAGE.id])
})

it.each([
  [500, true],
  [502, true],
  [429, true],
  [408, true],
  [400, false],
  [401, false],
  [410, false],
])('an answer of %i: whether it may pass within seconds is %s', async (status, passing) => {
  const { url } = await serve(() => ({ status }))
  expect(await failure(url)).toMatchObject({ message: `the webhook answered ${status}`, passing })
})

it.each([
  [300, '; redirects are not followed'],
  [304, '; redirects are not followed'],
  [399, '; redirects are not followed'],
  [400, ''],
])('an answer of %i is told as a redirect, or not: %j', async (status, words) => {
  const { url } = await serve(() => ({ status }))
  expect(await failure(url)).toMatchObject({ message: `the webhook answered ${status}${words}` })
})

it('a redirect is not followed: where it leads is not where the job says', async () => {
  const elsewhere = await serve(() => ({ status: 200 }))
  const { url } = await serve(() => ({ status: 307, headers: { location: elsewhere.url } }))
  expect(await failure(url)).toMatchObject({
    message: 'the webhook answered 307; redirects are not followed',
    passing: false,
  })
  expect(elsewhere.seen).toEqual([])
})

it.each([
  ['nobody listens', async () => `http://127.0.0.1:${await closedPort()}`, 'ECONNREFUSED'],
  ['it hangs up', async () => (await serveTcp((socket) => socket.destroy())).url, 'ECONNRESET'],
  [
    'its certificate is nobody’s',
    async () => {
      const server = createTlsServer(selfSignedCertificate(), (_, response) => response.end())
      const { url } = await listen(server, () => server.closeAllConnections())
      return url.replace('http:', 'https:')
    },
    'DEPTH_ZERO_SELF_SIGNED_CERT',
  ],
])('where %s it may be tried again', async (_, start, code) => {
  const error = await failure(await start())
  expect(error).toBeInstanceOf(NotDelivered)
  expect(error).toMatchObject({ message: `the webhook cannot be reached (${code})`, passing: true })
})

it.each<[string, RequestListener]>([
  ['that does not end', (_, answer) => void answer.writeHead(200).write('taken')],
  [
    'that is cut off',
    (_, answer) => void answer.writeHead(200, { 'content-length': 9 }).write('taken', () => answer.destroy()),
  ],
  [
    'that is not as it says',
    (_, answer) => void answer.writeHead(200, { 'content-encoding': 'gzip' }).end('taken'),
  ],
])('an answer of 2xx with a body %s is one', async (_what, answer) => {
  const { url } = await serveRaw((request, response) => {
    request.resume().on('end', () => answer(request, response))
  })
  await open(url).deliver(MESSAGE)
})

it('an answer without end fills no memory', async () => {
  let sent = 0
  const { url } = await serveRaw((request, answer) => {
    const more = (): void => {
      while (!answer.destroyed && answer.write(Buffer.alloc(2 ** 20))) sent++
      sent++
      answer.once('drain', more)
    }
    request.resume().on('end', more)
  })
  await open(url).deliver(MESSAGE)
  expect(sent).toBeLessThan(16)
})
