import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { inspect } from 'node:util'
import { Worker } from 'node:worker_threads'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, it, onTestFinished } from 'vitest'
import { WholeBody } from '../../src/gateway/exchange.ts'
import { closedPort } from '../closed-port.ts'
import { handInTimers } from '../handed-timers.ts'
import { CLIENTS, client, echoing, failureOf, json, serve, serveRaw, serveTcp } from './loopback.ts'

const SECRET = 'Wilhelmina Participant'
const BODY = JSON.stringify([{ name: SECRET }])
const ACCOUNT = { reference: 'participant-4711', type: 'partnerAccountId' } as const
const LARGE_BODY = JSON.stringify([{ name: 'x'.repeat(4 * 1024 * 1024) }])

it('the hook is told of each request, without the query that names a person', async () => {
  const server = await serve((_, index) => (index === 0 ? json(200, { data: [] }) : json(429, {})))
  const gateway = client(server.url)
  await gateway.biometrics.read(ACCOUNT)
  await failureOf(gateway.biometrics.read(ACCOUNT))
  const told = {
    ...{ operation: 'read biometrics', method: 'GET', path: '/health-profile/biometrics' },
    date: expect.stringMatching(/ GMT$/),
  }
  expect(gateway.events).toEqual([
    { ...told, status: 200, class: 'accepted', requestId: 'request-1', durationMs: expect.any(Number) },
    { ...told, status: 429, class: 'not-taken', requestId: 'request-2', durationMs: expect.any(Number) },
  ])
})

describe.each(CLIENTS)('over %s', (_client, create) => {
  describe('a request that did not leave', () => {
    it('is refused a connection', async () => {
      const gateway = client(`http://127.0.0.1:${await closedPort()}`)
      const failure = await failureOf(create(gateway, BODY))
      expect(failure).toMatchObject({ class: 'not-sent', cause: { code: 'ECONNREFUSED' } })
      expect(failure.message).toMatch(/ failed: ECONNREFUSED, at http:\/\/127\.0\.0\.1:\d+$/)
      expect(failure.status).toBeUndefined()
      expect(gateway.events).toMatchObject([{ class: 'not-sent' }])
    })

    it('finds no host of that name', async () => {
      const gateway = client('https://gateway.invalid')
      const failure = await failureOf(create(gateway, BODY))
      expect(failure.class).toBe('not-sent')
    })
  })

  describe('a request that may have been taken', () => {
    it('loses its connection before the body is read', async () => {
      const server = await serveTcp((socket) => socket.once('data', () => socket.resetAndDestroy()))
      const failure = await failureOf(create(client(server.url), LARGE_BODY))
      expect(failure.class).toBe('ambiguous')
    })

    it('loses its connection after the body was read', async () => {
      const server = await serveRaw((request) => {
        request.resume().on('end', () => request.socket.resetAndDestroy())
      })
      const failure = await failureOf(create(client(server.url), BODY))
      expect(failure).toMatchObject({ class: 'ambiguous', cause: { code: 'ECONNRESET' } })
    })

    it('loses the connection that the one before it left open', async () => {
      let requests = 0
      const server = await serveRaw((request, response) => {
        requests += 1
        if (requests === 1) request.resume().on('end', () => response.end('{"data":[]}'))
        else request.socket.resetAndDestroy()
      })
      const gateway = client(server.url)
      await create(gateway, '[]')
      const failure = await failureOf(create(gateway, LARGE_BODY))
      expect(failure.class).toBe('ambiguous')
      expect(server.connections()).toBe(1)
    })

    it.each([
      ['shorter than its length says', 'HTTP/1.1 201 Created\r\ncontent-length: 500\r\n\r\n{"data":['],
      ['cut between chunks', 'HTTP/1.1 201 Created\r\ntransfer-encoding: chunked\r\n\r\n9\r\n{"data":[\r\n'],
      ['cut, with no length', 'HTTP/1.1 201 Created\r\n\r\n{"data":['],
      ['no HTTP', 'SSH-2.0-OpenSSH_9.6\r\n'],
      ['nothing', ''],
    ])('gets an answer that is %s', async (_, text) => {
      const server = await serveTcp((socket) => socket.once('data', () => socket.end(text)))
      const failure = await failureOf(create(client(server.url), BODY))
      expect(failure.class).toBe('ambiguous')
    })

    it.each([
      ['HTML', { status: 200, headers: { 'content-type': 'text/html' }, body: `<p>${SECRET}</p>` }],
      ['JSON cut short', { status: 201, body: `{"data":[{"name":"${SECRET}` }],
      ['empty', { status: 201 }],
      // A read that is answered so is refused; a write may have been taken.
      ['no content', { status: 204 }],
      ['no envelope', json(201, [{ transactionId: 'a' }])],
      ['an envelope without data', json(201, { code: 201, message: SECRET })],
      ['an envelope of something else', json(201, { code: 201, data: [SECRET] })],
      ['an envelope that tells of failure', json(200, { code: '500', message: SECRET, data: [] })],
      ['an envelope that tells of a redirect', json(200, { code: 300, message: SECRET, data: [] })],
      ['broken compression', { status: 201, headers: { 'content-encoding': 'gzip' }, body: '{"data":[]}' }],
    ])('gets a 2xx whose body is %s', async (_, reply) => {
      const server = await serve(() => reply)
      const failure = await failureOf(create(client(server.url), BODY))
      expect(failure).toMatchObject({ class: 'ambiguous', status: reply.status })
      expect(inspect(failure, { depth: 9 })).not.toContain(SECRET)
    })

    it('is ended by the caller before it has left, and on its way', async () => {
      const arrived = Promise.withResolvers<void>()
      const server = await serveRaw((request) => {
        request.resume()
        arrived.resolve()
      })
      const gateway = client(server.url)
      const early = await failureOf(create(gateway.during(AbortSignal.abort()), BODY))
      expect(early.class).toBe('not-sent')
      const ending = new AbortController()
      const call = failureOf(create(gateway.during(ending.signal), BODY))
      await arrived.promise
      ending.abort()
      const late = await call
      expect(late.class).toBe('ambiguous')
      for (const { message } of [early, late]) expect(message).toContain('failed: ended by the caller')
      // What the signal has no part in goes on.
      const other = failureOf(create(client(server.url, { timeouts: { response: 40 } }), BODY))
      expect((await other).message).toContain('time-out of the phase response')
    })

    it('waits for an answer no longer than it may', async () => {
      const server = await serveRaw((request) => void request.resume())
      const gateway = client(server.url, { timeouts: { response: 40 } })
      const failure = await failureOf(create(gateway, BODY))
      expect(failure.class).toBe('ambiguous')
      expect(failure.message).toContain('time-out of the phase response')
    })

    it('waits for the end of an answer no longer than it may', async () => {
      const server = await serveRaw((request, response) => {
        request.resume().on('end', () => response.writeHead(201).write('{"data":'))
      })
      const pass = handInTimers()
      const begun = Promise.withResolvers<unknown>()
      subscribe('http.client.response.finish', begun.resolve)
      onTestFinished(() => void unsubscribe('http.client.response.finish', begun.resolve))
      const gateway = client(server.url, { timeouts: { request: 60_000 } })
      const failing = failureOf(create(gateway, BODY))
      await begun.promise
      pass(60_000)
      const failure = await failing
      expect(failure).toMatchObject({ class: 'ambiguous', status: 201 })
      expect(failure.message).toContain('time-out of the phase request')
    })

    it.each([
      ['with the protocol', 'Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n'],
      ['with none', '\r\n'],
    ])('is answered by a switch of protocols, %s: the connection is ended', async (_, head) => {
      const ended: Promise<unknown>[] = []
      const server = await serveTcp((socket) => {
        ended.push(once(socket, 'close'))
        socket.once('data', () => socket.write(`HTTP/1.1 101 Switching Protocols\r\n${head}`))
      })
      const failure = await failureOf(create(client(server.url, { timeouts: { request: 60_000 } }), BODY))
      expect(failure).toMatchObject({ class: 'ambiguous' })
      await Promise.all(ended)
    })

    it('is under way when the client is closed', async () => {
      const gateway = client(
        (await serveRaw((request) => request.resume().on('end', () => gateway.close()))).url,
      )
      expect((await failureOf(create(gateway, BODY))).class).toBe('ambiguous')
    })
  })

  describe('an answer without end', () => {
    const endless = (status: number, headers = {}) =>
      serveRaw((request, response) => {
        request.resume()
        response.writeHead(status, headers)
        const more = (): void => {
          while (!response.destroyed && response.write(' '.repeat(65_536)));
          if (!response.destroyed) response.once('drain', more)
        }
        more()
      })

    it('is read no further than the limit', async () => {
      const gateway = client((await endless(201)).url, { maxAnswerBytes: 1_000_000 })
      const failure = await failureOf(create(gateway, BODY))
      expect(failure).toMatchObject({ class: 'ambiguous', status: 201 })
      expect(failure.message).toContain('longer than 1000000 bytes')
    })

    it('keeps the class of a status that refuses', async () => {
      const gateway = client((await endless(422)).url, { maxAnswerBytes: 1_000_000 })
      expect(await failureOf(create(gateway, BODY))).toMatchObject({
        class: 'refused',
        status: 422,
      })
    })

    it.each([429, 503])('keeps the wait that a busy gateway asks for: %s', async (status) => {
      const { url } = await endless(status, { 'retry-after': '7' })
      const failure = await failureOf(create(client(url, { maxAnswerBytes: 1_000_000 }), BODY))
      expect(failure).toMatchObject({ class: 'not-taken', status, retryAfterMs: 7_000 })
    })

    it('is measured after decompression', async () => {
      const body = gzipSync(' '.repeat(2_000_000))
      const server = await serve(() => ({ status: 201, headers: { 'content-encoding': 'gzip' }, body }))
      const gateway = client(server.url, { maxAnswerBytes: 1_000_000 })
      expect((await failureOf(create(gateway, BODY))).message).toContain('longer than')
    })

    it('is not read at all where its length is over the limit', async () => {
      const gateway = client((await endless(201, { 'content-length': '1000001' })).url, {
        maxAnswerBytes: 1_000_000,
      })
      expect((await failureOf(create(gateway, BODY))).message).toContain('longer than')
    })
  })

  describe('a large body', () => {
    it('is answered also by a gateway that answers the moment it has the last byte', async () => {
      // Where the client were still busy ending the request then, it could drop the answer to a stored batch.
      const worker = new Worker(new URL('./prompt-server.ts', import.meta.url))
      onTestFinished(() => void worker.terminate())
      const [port] = await once(worker, 'message')
      const gateway = client(`http://127.0.0.1:${port}`)
      const records = Array.from({ length: 500 }, (_, index) => ({
        transactionId: `${index}-${'x'.repeat(650)}`,
      }))
      const body = JSON.stringify(records)
      let left = 200
      const sender = async (): Promise<void> => {
        while (left > 0) {
          left -= 1
          await create(gateway, body).catch(() => undefined)
        }
      }
      await Promise.all(Array.from({ length: 8 }, sender))
      expect(gateway.events.map((event) => event.class)).toEqual(Array(200).fill('accepted'))
    })

    it('arrives byte for byte, in one connection for many requests', async () => {
      const body = `[{"name":"Zoë ${'é'.repeat(200_000)}","value":5.25}]`
      const server = await serve(() => echoing('a'))
      const gateway = client(server.url)
      for (let index = 0; index < 5; index += 1) await create(gateway, body)
      expect(server.seen.map((seen) => seen.body === body)).toEqual([true, true, true, true, true])
      expect(server.seen[0]?.headers['content-length']).toBe(String(Buffer.byteLength(body)))
      expect(server.connections()).toBe(1)
    })

    it('may be answered by sixteen times as much', async () => {
      const records = (characters: number): string =>
        JSON.stringify([{ transactionId: 'a', name: 'x'.repeat(characters) }])
      const body = records(300_000)
      const answer = (times: number) => ({
        status: 201,
        body: `{"data":${records(times * body.length - 100)}}`,
      })
      const server = await serve((_, index) => answer(index === 0 ? 16 : 17))
      const gateway = client(server.url)
      expect((await create(gateway, body)).echoes).toHaveLength(1)
      expect((await failureOf(create(gateway, body))).message).toContain(
        `longer than ${16 * body.length} bytes`,
      )
    })

    it('gets a refusal that comes before it was read', async () => {
      const server = await serveRaw((request, response) => {
        response.writeHead(413, { connection: 'close' }).end('{"message":"Too long."}')
        request.resume()
      })
      const failure = await failureOf(create(client(server.url), LARGE_BODY))
      expect(failure).toMatchObject({ class: 'too-large', status: 413 })
    })
  })

  it.each([
    ['gzip', gzipSync],
    // RFC 9110 section 8.4.1.3: a recipient takes it for gzip.
    ['x-gzip', gzipSync],
    ['deflate', deflateSync],
    ['br', brotliCompressSync],
  ])('an answer compressed by %s is read', async (encoding, compress) => {
    const body = compress(JSON.stringify({ code: 201, data: [{ transactionId: 'a' }] }))
    const server = await serve(() => ({ status: 201, headers: { 'content-encoding': encoding }, body }))
    const answer = await create(client(server.url), BODY)
    expect(answer.echoes).toEqual([{ transactionId: 'a' }])
    expect(server.seen[0]?.headers['accept-encoding']).toContain(encoding.replace('x-', ''))
  })
})

it('a body goes out in one piece, and holds nothing that a structured clone would copy', () => {
  const bytes = Buffer.alloc(200_000, 'a')
  const body = new WholeBody(bytes)
  expect([...body]).toEqual([bytes])
  expect([...body]).toEqual([bytes])
  expect(Reflect.ownKeys(structuredClone<object>(body))).toEqual([])
})
