/** Server-sent events to open pages. */
import type { ServerResponse } from 'node:http'

interface EventStream {
  /** Sends events into this response until it closes. */
  join(response: ServerResponse): void
  send(data: string): void
  readonly open: number
  close(): void
}

export function createEventStream(): EventStream {
  const open = new Set<ServerResponse>()
  return {
    join(response) {
      response.writeHead(200, {
        'content-type': 'text/event-stream',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
      })
      response.write(': open\n\n')
      open.add(response)
      response.on('close', () => open.delete(response))
    },
    send(data) {
      for (const response of open) response.write(`data: ${data}\n\n`)
    },
    get open() {
      return open.size
    },
    close() {
      for (const response of open) response.end()
    },
  }
}
