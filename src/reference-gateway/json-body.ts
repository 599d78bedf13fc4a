import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Refusal } from './refusal.ts'

/**
 * Reads bodies of type application/json, and no other (415). A body over the limit is read to its end and dropped, so
 * that the client sees the 413 and not a broken connection; it is never held whole.
 */
export function readJsonBodies(app: FastifyInstance, bodyLimit: number): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', async (request: FastifyRequest, payload: IncomingMessage) => {
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
    return parse(Buffer.concat(chunks, length))
  })
}

/** JSON of valid UTF-8, or a refusal that quotes nothing of it. */
function parse(body: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    throw new Refusal(400, [{ message: 'body: not JSON in UTF-8' }])
  }
}

/** JSON text of what was sent; a record nested so deeply that it cannot be written again is refused. */
export function textOf(record: unknown): string {
  try {
    return JSON.stringify(record)
  } catch {
    throw new Refusal(400, [{ message: 'body: nested too deeply' }])
  }
}
