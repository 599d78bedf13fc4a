/** Work of this process that ends by itself, whoever waits for it: requests over HTTP, statements of PostgreSQL, requests to the system, compression, child processes. */
import { createHook } from 'node:async_hooks'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { ClientRequest } from 'node:http'
import { setTimeout as rest, setImmediate as turn } from 'node:timers/promises'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import { z } from 'zod'

/** Kinds of resources that stay open while nothing happens. Node lists them beside all requests to the system: of files, names, connections. */
const STAYING: ReadonlySet<string> = new Set([
  'FSEventWrap',
  'MessagePort',
  'PipeServerWrap',
  'PipeWrap',
  'SignalWrap',
  'StatWatcher',
  'TCPServerWrap',
  'TCPSocketWrap',
  'TTYWrap',
  'Timeout',
  'UDPWrap',
])

/** So many turns of the event loop in which nothing begins or ends are idle. */
const IDLE_TURNS = 4

const Started = z.object({ request: z.instanceof(ClientRequest) })

/** Number of requests over HTTP that this process has sent, and whose answer has not ended. */
function watchRequests(): () => number {
  const open = new Set<ClientRequest>()
  const begin = (message: unknown): void => {
    const { request } = Started.parse(message)
    open.add(request)
    request.once('close', () => open.delete(request))
  }
  subscribe('http.client.request.start', begin)
  onTestFinished(() => void unsubscribe('http.client.request.start', begin))
  return () => open.size
}

interface ZlibHandle {
  write(...args: unknown[]): unknown
}

/** Number of pieces in the hands of zlib, which works in a thread, and which Node does not list. */
function watchCompression(): () => number {
  const handles = new Set<number>()
  let open = 0
  const hook = createHook({
    init(id, type, _, resource) {
      if (type !== 'ZLIB') return
      // The cast is sound: a resource of this type is what streams of zlib write to.
      const handle = resource as ZlibHandle
      const { write } = handle
      handles.add(id)
      handle.write = (...args) => {
        open++
        return write.apply(handle, args)
      }
    },
    after(id) {
      if (handles.has(id)) open--
    },
    trackPromises: false,
  }).enable()
  onTestFinished(() => void hook.disable())
  return () => open
}

/** Number of statements of PostgreSQL, of connections that begin, and of those that end. */
function watchStatements(): () => number {
  let open = 0
  const end = (): void => void open--
  for (const name of ['connect', 'query', 'end']) {
    const method: unknown = Reflect.get(pg.Client.prototype, name)
    if (typeof method !== 'function') throw new Error(`a client of PostgreSQL has no ${name}`)
    const counting = function (this: pg.Client, ...args: unknown[]): unknown {
      open++
      const last = args.at(-1)
      if (typeof last !== 'function') {
        const answer: unknown = Reflect.apply(method, this, args)
        Promise.resolve(answer).then(end, end)
        return answer
      }
      const answered = (...answer: unknown[]): unknown => {
        end()
        return Reflect.apply(last, this, answer)
      }
      return Reflect.apply(method, this, [...args.slice(0, -1), answered])
    }
    Reflect.set(pg.Client.prototype, name, counting)
    onTestFinished(() => void Reflect.set(pg.Client.prototype, name, method))
  }
  return () => open
}

/** Watches until the end of the test. @returns whether work is under way */
export function watchWork(): () => boolean {
  const counts = [watchRequests(), watchCompression(), watchStatements()]
  return () =>
    counts.some((count) => count() > 0) || process.getActiveResourcesInfo().some((kind) => !STAYING.has(kind))
}

/** Waits until nothing is under way, and nothing follows from what was. */
export async function untilIdle(isIdle: () => boolean): Promise<void> {
  for (let turns = 0; turns < IDLE_TURNS; ) {
    await turn()
    turns = isIdle() ? turns + 1 : 0
    if (turns === 0) await rest(1)
  }
}
