import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http'
import {
  type AddressInfo,
  createServer as createNetServer,
  type Server as NetServer,
  type Socket,
} from 'node:net'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import type { CreateAnswer } from '../../src/gateway/answer.ts'
import { createGateway, type Gateway, type GatewayOptions } from '../../src/gateway/gateway.ts'
import { GatewayError } from '../../src/gateway/gateway-error.ts'
import type { RequestEvent } from '../../src/gateway/transport.ts'

/** What a server saw of one request. */
export interface Seen {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Loopback {
  readonly url: string
  readonly seen: Seen[]
  /** Connections that were made. */
  readonly connections: () => number
}

/** What to answer to a request that was read to its end. */
export interface Reply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

/** A server that reads every request and answers what `reply` says. It ends with the test. */
export async function serve(reply: (seen: Seen, index: number) => Reply | Promise<Reply>): Promise<Loopback> {
  const seen: Seen[] = []
  const server = await serveRaw(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const one = {
      method: request.method ?? '',
      url: request.url ?? '',
      headers: request.headers,
      body: Buffer.concat(chunks).toString(),
    }
    seen.push(one)
    const { status, headers, body } = await reply(one, seen.length - 1)
    response.writeHead(status, headers).end(body)
  })
  return { ...server, seen }
}

export async function serveRaw(listener: RequestListener): Promise<Omit<Loopback, 'seen'>> {
  const server = createServer(listener)
  return listen(server, () => server.closeAllConnections())
}

/** A server on bare TCP, for what no HTTP server would do. */
export async function serveTcp(listener: (socket: Socket) => void): Promise<Omit<Loopback, 'seen'>> {
  const sockets = new Set<Socket>()
  const server = createNetServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    listener(socket)
  })
  return listen(server, () => {
    for (const socket of sockets) socket.destroy()
  })
}

export async function listen(server: Server | NetServer, drop: () => void): Promise<Omit<Loopback, 'seen'>> {
  let connections = 0
  server.on('connection', () => {
    connections += 1
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        drop()
      }),
  )
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, connections: () => connections }
}

/** A client with known credentials. It is closed with the test. */
export function client(
  baseUrl: string,
  options: Partial<GatewayOptions> = {},
): Gateway & { events: RequestEvent[] } {
  const events: RequestEvent[] = []
  let requests = 0
  const gateway = createGateway({
    baseUrl,
    apiKey: 'the-key',
    accessToken: async () => 'the-token',
    now: Date.now,
    nextRequestId: () => {
      requests += 1
      return `request-${requests}`
    },
    onRequest: (event) => events.push(event),
    ...options,
  })
  onTestFinished(() => gateway.close())
  return { ...gateway, events }
}

/** The GatewayError that a call fails with. */
export async function failureOf(call: Promise<unknown>): Promise<GatewayError> {
  const outcome = await call.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (outcome instanceof GatewayError) return outcome
  throw new Error('Expected a GatewayError', { cause: outcome })
}

/** An answer to a create call that echoes nothing but transaction ids. */
export function echoing(...transactionIds: string[]): Reply {
  const data = transactionIds.map((transactionId) => ({ transactionId }))
  return json(201, { code: 201, message: '201 CREATED', data, errors: [] })
}

export function json(status: number, value: unknown, headers: Readonly<Record<string, string>> = {}): Reply {
  return { status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(value) }
}

/** A call that creates records by one of the two clients of the transport, whose rules are the same. @param body a JSON array */
export type Create = (gateway: Gateway, body: string) => Promise<CreateAnswer>

/** What each rule of the wire is tried with: a call that a load makes by the thousand, and one that it does not. */
export const CLIENTS: readonly (readonly [string, Create])[] = [
  ['node:http', ({ biometrics }, body) => biometrics.sendBulk(body, countOf(body))],
  ['got', ({ biometrics }, body) => biometrics.create(JSON.parse(body))],
]

const countOf = (body: string): number => z.array(z.unknown()).parse(JSON.parse(body)).length
