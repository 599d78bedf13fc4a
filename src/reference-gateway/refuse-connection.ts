import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { ConnectionError, FastifyInstance } from 'fastify'
import { envelopeOf } from './refusal.ts'

/** Statuses of Node's errors of a connection; 400 of all others. */
const STATUSES: Readonly<Record<string, number>> = { ERR_HTTP_REQUEST_TIMEOUT: 408, HPE_HEADER_OVERFLOW: 431 }

/** Answers with an envelope what is not HTTP, or has more of a head than is read, and ends the connection. */
export function refuseConnection(error: ConnectionError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const status = STATUSES[error.code] ?? 400
  const reason = STATUS_CODES[status]
  const body = JSON.stringify(envelopeOf(status, status, [{ message: `request: ${reason}` }]))
  socket.end(
    `HTTP/1.1 ${status} ${reason}\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
    () => socket.destroy(),
  )
}

/** Milliseconds that requests under way have to become whole and be answered, once the gateway ends. */
const GRACE_MS = 1000

/** Lets no request that never becomes whole keep the gateway from ending. */
export function endUnfinishedRequests(app: FastifyInstance): void {
  let grace: NodeJS.Timeout | undefined
  app.addHook('preClose', async () => {
    grace = setTimeout(() => app.server.closeAllConnections(), GRACE_MS)
  })
  app.addHook('onClose', async () => clearTimeout(grace))
}
