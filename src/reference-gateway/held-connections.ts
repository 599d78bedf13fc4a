import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** Connections that faults keep open or break, and waits; the gateway's end ends all of them at once. */
export type HeldConnections = ReturnType<typeof holdConnections>

export function holdConnections(app: FastifyInstance) {
  const held = new Set<Socket>()
  const ending = new AbortController()
  app.addHook('preClose', (done) => {
    ending.abort()
    for (const socket of held) socket.destroy()
    done()
  })

  // A connection on which no request came yet holds up the end too: it does not count as idle.
  app.server.on('connection', (socket: Socket) => {
    held.add(socket)
    socket.once('close', () => held.delete(socket))
  })
  app.server.on('request', ({ socket }: IncomingMessage) => held.delete(socket))

  /** Lets the gateway's end break the connection, though something is still to be sent on it. */
  const watch = ({ raw: { socket } }: FastifyRequest): void => {
    if (ending.signal.aborted) socket.destroy()
    else if (!socket.destroyed) held.add(socket)
  }
  /** Never answers: the connection stays open until the client or the gateway ends it. */
  const hold = (request: FastifyRequest, reply: FastifyReply): void => {
    reply.hijack()
    watch(request)
  }

  return {
    hold,
    watch,
    /** Breaks the connection with a TCP reset; what was written of an answer may be lost. */
    reset(request: FastifyRequest, reply: FastifyReply): void {
      reply.hijack()
      request.raw.socket.resetAndDestroy()
    },
    /** Sends status, headers and declared length of an answer, and ends the connection behind a part of it. */
    cut(request: FastifyRequest, reply: FastifyReply, declaredBytes: number, part: string): void {
      hold(request, reply)
      for (const [name, value] of Object.entries(reply.getHeaders())) {
        if (value !== undefined) reply.raw.setHeader(name, value)
      }
      reply.raw.setHeader('content-length', declaredBytes)
      reply.raw.writeHead(reply.statusCode)
      reply.raw.write(part, () => request.raw.socket.destroySoon())
    },
    /** Goes on after so many milliseconds, at once where they are 0; never, where the gateway ends before. */
    wait(request: FastifyRequest, reply: FastifyReply, ms: number, then: () => void): void {
      if (ms === 0) return void then()
      // Unreferenced: it is the listening socket, not the wait, that keeps the gateway running.
      pause(ms, undefined, { signal: ending.signal, ref: false })
        .then(then, () => hold(request, reply))
        .catch((error: unknown) => reply.send(error))
    },
  }
}
