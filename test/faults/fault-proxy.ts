import { once } from 'node:events'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
  request as send,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

/** A request on its way to the gateway, read to its end. */
export interface Passing {
  readonly method: string
  readonly path: string
  /** With its question mark; empty where there is none. */
  readonly query: string
  readonly body: string
  /** Requests with the same method and path that came before. */
  readonly earlier: number
}

interface Reply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** Behind the status, in its line. */
  readonly statusText?: string
}

/** An envelope as the gateway answers it. */
export interface AnswerEnvelope {
  readonly data: readonly Record<string, unknown>[]
  readonly [key: string]: unknown
}

/** What happens to a request. The names say in which order: `pass` is what reaches the gateway. */
export type Fault =
  | { readonly do: 'pass' }
  | ({ readonly do: 'answer' } & Reply)
  | ({ readonly do: 'pass-then-answer' } & Reply)
  /** Writes these bytes instead of an answer. */
  | { readonly do: 'raw'; readonly bytes: string }
  | { readonly do: 'reset' }
  | { readonly do: 'pass-then-reset' }
  | { readonly do: 'hang' }
  /** `passed` is called once the gateway has answered. */
  | { readonly do: 'pass-then-hang'; readonly passed?: () => void }
  /** Passes, and changes the text of the answer. */
  | { readonly do: 'pass-then-garble'; readonly garble: (text: string) => string }
  /** Passes, and changes what the answer says. */
  | { readonly do: 'pass-then-edit'; readonly edit: (envelope: AnswerEnvelope) => unknown }
  /** Passes only some of the records of the array that was sent, and gives back the answer to those. */
  | {
      readonly do: 'pass-part'
      readonly keep: (record: Record<string, unknown>, position: number) => boolean
    }

export const PASS: Fault = { do: 'pass' }

/** Answers without passing, in the gateway's form. */
export const answer = (
  status: number,
  headers: Readonly<Record<string, string>> = {},
  message = 'no',
): Fault => ({
  do: 'answer',
  status,
  headers,
  body: { code: status, message, data: [], errors: [] },
})

export interface FaultProxy {
  readonly url: string
  /** Requests that came, in order. */
  readonly seen: readonly Passing[]
}

/** A server in front of the gateway that does to each request what `faultOf` says. It ends with the test. */
export async function startFaultProxy(
  gatewayUrl: string,
  faultOf: (request: Passing) => Fault | Promise<Fault>,
): Promise<FaultProxy> {
  const seen: Passing[] = []
  const counts = new Map<string, number>()
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece)
    const { method = '', url = '' } = request
    const path = url.replace(/\?.*$/s, '')
    const earlier = counts.get(`${method} ${path}`) ?? 0
    counts.set(`${method} ${path}`, earlier + 1)
    const passing = {
      method,
      path,
      query: url.slice(path.length),
      body: Buffer.concat(pieces).toString(),
      earlier,
    }
    seen.push(passing)
    const pass = (body = passing.body) => forward(gatewayUrl + url, method, request.headers, body)
    await inflict(await faultOf(passing), passing, pass, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  )
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, seen }
}

interface Passed {
  readonly status: number
  readonly text: string
}

async function inflict(
  fault: Fault,
  request: Passing,
  pass: (body?: string) => Promise<Passed>,
  response: ServerResponse,
): Promise<void> {
  const give = (
    status: number,
    text: string,
    headers: Readonly<Record<string, string>> = {},
    statusText?: string,
  ): void => {
    const all = { 'content-type': 'application/json', ...headers }
    response.writeHead(status, statusText, all).end(text)
  }
  switch (fault.do) {
    case 'pass': {
      const { status, text } = await pass()
      return give(status, text)
    }
    case 'answer':
      return give(fault.status, textOf(fault.body), fault.headers, fault.statusText)
    case 'pass-then-answer':
      await pass()
      return give(fault.status, textOf(fault.body ?? {}), fault.headers, fault.statusText)
    case 'raw':
      return void response.socket?.end(fault.bytes)
    case 'reset':
      return void response.destroy()
    case 'pass-then-reset':
      await pass()
      return void response.destroy()
    case 'hang':
      return
    case 'pass-then-hang':
      await pass()
      return fault.passed?.()
    case 'pass-then-garble': {
      const { status, text } = await pass()
      return give(status, fault.garble(text))
    }
    case 'pass-then-edit': {
      const { status, text } = await pass()
      return give(status, JSON.stringify(fault.edit(JSON.parse(text) as AnswerEnvelope)))
    }
    case 'pass-part': {
      const records = JSON.parse(request.body) as Record<string, unknown>[]
      const { status, text } = await pass(JSON.stringify(records.filter(fault.keep)))
      return give(status, text)
    }
  }
}

/** A text is no JSON: a page of HTML. */
const textOf = (body: unknown): string => (typeof body === 'string' ? body : JSON.stringify(body))

/** Over node:http: `fetch` takes three times as much of the processor. */
async function forward(
  url: string,
  method: string,
  from: IncomingHttpHeaders,
  body: string,
): Promise<Passed> {
  const headers: Record<string, string | number> = {}
  for (const name of ['x-api-key', 'x-api-version', 'authorization', 'content-type', 'accept-language']) {
    const value = from[name]
    if (typeof value === 'string') headers[name] = value
  }
  if (body !== '') headers['content-length'] = Buffer.byteLength(body)
  const request = send(url, { method, headers }).end(body)
  const [answered] = (await once(request, 'response')) as [IncomingMessage]
  return { status: answered.statusCode ?? 0, text: await text(answered) }
}
