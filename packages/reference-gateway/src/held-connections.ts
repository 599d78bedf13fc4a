import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'

/** Connections that faults keep open or break, and waits. Closing the gateway ends all of them. */
export type HeldConnections = ReturnType<typeof holdConnections>

export function holdConnections(app: FastifyInstance) {
  const held = new Set<Socket>()
  const ending = new AbortController()
  app.addHook('preClose', (done) => {
    ending.abort()
    for (const socket of held) socket.destroy()
    done()
  })

  // A connection without a request does not count as idle, and would delay the gateway's end.
  app.server.on('connection', (socket: Socket) => {
    held.add(socket)
    socket.once('close', () => held.delete(socket))
  })
  app.server.on('request', ({ socket }: IncomingMessage) => held.delete(socket))

  /** Registers a connection for the gateway's end, even if an answer is still in progress. */
  const watch = ({ raw: { socket } }: FastifyRequest): void => {
    if (ending.signal.aborted) socket.destroy()
    else if (!socket.destroyed) held.add(socket)
  }
  /** Never answers: the connection stays open until client or gateway ends it. */
  const hold = (request: FastifyRequest, reply: FastifyReply): void => {
    reply.hijack()
    watch(request)
  }

  return {
    hold,
    watch,
    /** Breaks the connection with a TCP reset; part of an answer already written may be lost. */
    reset(request: FastifyRequest, reply: FastifyReply): void {
      reply.hijack()
      request.raw.socket.resetAndDestroy()
    },
    /** Sends status, headers and declared length of an answer, then part of its body, and ends the connection. */
    cut(request: FastifyRequest, reply: FastifyReply, declaredBytes: number, part: string): void {
      hold(request, reply)
      for (const [name, value] of Object.entries(reply.getHeaders())) {
        if (value !== undefined) reply.raw.setHeader(name, value)
      }
      reply.raw.setHeader('content-length', declaredBytes)
      reply.raw.writeHead(reply.statusCode)
      reply.raw.write(part, () => request.raw.socket.destroySoon())
    },
    /** Continues after `ms` milliseconds, immediately if 0, and never if the gateway ends first. */
    wait(request: FastifyRequest, reply: FastifyReply, ms: number, then: () => void): void {
      if (ms === 0) return void then()
      // Unreferenced: the listening socket, not this timer, keeps the gateway running.
      pause(ms, undefined, { signal: ending.signal, ref: false })
        .then(then, () => hold(request, reply))
        .catch((error: unknown) => reply.send(error))
    },
  }
}
