/** Serves one page to browsers of this machine, and tells them when what it shows has changed. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { WaybillError } from '../model/errors.ts'

export interface EditServer {
  /** Address of the page; who does not know it sees nothing. */
  readonly url: string
  /** Sends the part that changed to all open pages. */
  show(part: string): void
  close(): Promise<void>
}

/**
 * @param token stands in the address: other users of the machine reach loopback, too
 * @param page the whole page as it is now
 * @throws WaybillError `usage-wrong` where the port is taken
 */
export async function startEditServer(port: number, token: string, page: () => string): Promise<EditServer> {
  const open = new Set<ServerResponse>()
  const server = createServer((request, response) => {
    response.setHeader('cache-control', 'no-store')
    response.setHeader('referrer-policy', 'no-referrer')
    response.setHeader('x-content-type-options', 'nosniff')
    response.setHeader('x-frame-options', 'DENY')
    const asked = isOurs(request) && request.method === 'GET' ? request.url : undefined
    if (asked === `/${token}/`) {
      response.setHeader('content-type', 'text/html; charset=utf-8')
      response.end(page())
    } else if (asked === `/${token}/events`) {
      response.setHeader('content-type', 'text/event-stream')
      response.flushHeaders()
      open.add(response)
      response.on('close', () => open.delete(response))
    } else {
      response.statusCode = 404
      response.end()
    }
  })
  /** A name that somebody has turned to loopback (DNS rebinding) is not this address. */
  const isOurs = ({ headers }: IncomingMessage): boolean => headers.host === host()
  const host = (): string => {
    const address = server.address()
    return `127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
  }
  server.listen(port, '127.0.0.1')
  await once(server, 'listening').catch((cause: unknown) => {
    throw new WaybillError('usage-wrong', `port ${port} cannot be listened on`, { cause })
  })
  return {
    url: `http://${host()}/${token}/`,
    show(part) {
      for (const response of open) response.write(`data: ${JSON.stringify(part)}\n\n`)
    },
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}
