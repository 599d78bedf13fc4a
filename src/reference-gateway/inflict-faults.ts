import type { FastifyInstance, FastifyRequest } from 'fastify'
import { KINDS, type Later, type Struck, type Struckable } from './fault-kinds.ts'
import type { FaultBook, Strike } from './fault-plan.ts'
import { holdConnections } from './held-connections.ts'
import { readHorizon } from './store.ts'

/** What is still to be done to a request's answer. */
interface Pending extends Partial<Later> {
  readonly waitMs: number
  readonly struck: (Struck & Strike) | undefined
}

const behaviourOf = ({ fault }: Pick<Strike, 'fault'>) => KINDS[fault.do].behaviour

/**
 * Strikes calls of the interface as the plan says: before storing once credentials passed and the body was read, after
 * storing on the answer's way out. A request whose credentials or JSON are refused is not asked about; what the gateway
 * refuses of its own accord goes out as it is, since there is nothing stored to lie about.
 */
export function inflictFaults(app: FastifyInstance, book: FaultBook, gateway: Struckable): void {
  const { clock } = gateway
  const connections = holdConnections(app)
  const pending = new WeakMap<FastifyRequest, Pending>()

  app.addHook('preHandler', (request, reply, done) => {
    const { endpoint } = request.routeOptions.config
    if (endpoint === undefined || !book.isLoaded()) return void done()
    const { method, url, body } = request
    const { strikes, loadedMs } = book.choose({
      endpoint,
      method,
      url,
      body: body ?? undefined,
      nowMs: clock(),
    })
    if (strikes.length === 0) return void done()
    const strike = strikes.find((one) => behaviourOf(one).goesOn !== true)
    const struck = strike && { ...gateway, ...strike, request, reply, connections, loadedMs }

    connections.wait(request, reply, waitBefore('storing', strikes), () => {
      const told = struck && behaviourOf(struck).before?.(struck.fault, struck)
      const later = typeof told === 'object' && 'later' in told ? told : {}
      pending.set(request, { waitMs: waitBefore('answering', strikes), struck, ...later })
      if (told === 'taken') return
      if (told instanceof Error) return done(told)
      if (told !== undefined && 'payload' in told) return void reply.send(told.payload)
      const lagMs = lagOf(strikes)
      if (lagMs === 0) done()
      else readHorizon.run(clock() - lagMs, done)
    })
  })

  app.addHook('onSend', (request, reply, payload, done) => {
    const waiting = pending.get(request)
    if (waiting === undefined) return void done(null, payload)
    pending.delete(request)
    const { waitMs, struck, later } = waiting

    connections.wait(request, reply, waitMs, () => {
      if (struck === undefined || reply.statusCode >= 400) return done(null, payload)
      const told = behaviourOf(struck).after?.(struck.fault, struck, payload) ?? {
        payload: later === undefined ? payload : later(payload),
      }
      if (told === 'taken') return
      if (told instanceof Error) done(told)
      else done(null, told.payload)
    })
  })
}

/** Milliseconds that the strikes wait there, together. */
const waitBefore = (moment: 'storing' | 'answering', strikes: readonly Strike[]): number =>
  strikes.reduce((sum, one) => sum + (behaviourOf(one).waitMs?.(one.fault, moment, one.key) ?? 0), 0)

/** By how many milliseconds the reads of the request lag: the greatest of its faults, or 0. */
const lagOf = (strikes: readonly Strike[]): number =>
  Math.max(0, ...strikes.map((one) => behaviourOf(one).lagMs?.(one.fault) ?? 0))
