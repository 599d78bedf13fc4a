import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ENDPOINTS, type EndpointName } from '../gateway/contract/endpoints.ts'
import { Refusal } from './refusal.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Which call of the interface the route serves; undefined for what the interface does not have. */
    readonly endpoint?: EndpointName
  }
}

/** Serves one call of the interface on its documented method and path. What the handler returns is the answer's body. */
export function serveEndpoint(
  app: FastifyInstance,
  endpoint: EndpointName,
  handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>,
): void {
  const { method, path } = ENDPOINTS[endpoint]
  app.route({ method, url: path.replace(/\{(\w+)\}/g, ':$1'), config: { endpoint }, handler })
}

/** Section "Envelope": `code` is an integer, and there are no `errors`, outside the health profile. */
export const success = <Item>(data: Item[]) => ({ code: 200, message: '200 OK', data })
export const profileSuccess = <Item>(data: Item[]) => ({ ...success(data), code: '200', errors: [] })

/**
 * Reads bodies of type application/json, and no other (415). A body over the limit is read to its end and dropped, so
 * that the client sees the 413 and not a broken connection; it is never held whole.
 */
export function readJsonBodies(app: FastifyInstance, bodyLimit: number): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', async (request: FastifyRequest, payload: IncomingMessage) =>
    parse(await readBody(request, payload, bodyLimit)),
  )
}

/** The bytes of a body: 413 where there are more than `bodyLimit`, 415 where they are compressed. */
export async function readBody(
  request: FastifyRequest,
  payload: IncomingMessage,
  bodyLimit: number,
): Promise<Buffer> {
  const encoding = request.headers['content-encoding'] ?? 'identity'
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of payload) {
    length += chunk.length
    if (length > bodyLimit) chunks.length = 0
    else chunks.push(chunk)
  }
  if (length > bodyLimit) throw new Refusal(413, [{ message: `body: larger than ${bodyLimit} bytes` }])
  if (encoding !== 'identity') throw new Refusal(415, [{ message: 'body: compressed bodies are not read' }])
  return Buffer.concat(chunks, length)
}

/** An escape that may be half of a surrogate pair. */
const SURROGATE = /\\u[dD][89a-fA-F]/

/** JSON of valid UTF-8, or a refusal that quotes nothing of it. */
function parse(body: Buffer): unknown {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(body)
    return SURROGATE.test(text) ? JSON.parse(text, wellFormed) : JSON.parse(text)
  } catch {
    throw new Refusal(400, [{ message: 'body: not JSON in UTF-8' }])
  }
}

/**
 * Throws where a text holds half of a surrogate pair, which JSON can escape and UTF-8 cannot encode (RFC 8259 section
 * 8.2): the store would keep a replacement for it, and two accounts would become one.
 */
function wellFormed(key: string, value: unknown): unknown {
  if (!key.isWellFormed() || (typeof value === 'string' && !value.isWellFormed()))
    throw new TypeError('not Unicode')
  return value
}

/** JSON text of what was sent; a record nested so deeply that it cannot be written again is refused. */
export function textOf(record: unknown): string {
  try {
    return JSON.stringify(record)
  } catch {
    throw new Refusal(400, [{ message: 'body: nested too deeply' }])
  }
}
