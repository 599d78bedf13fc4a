import type { FastifyInstance, FastifyRequest } from 'fastify'
import { KINDS, type Later, type Struck, type Struckable } from './fault-kinds.ts'
import type { FaultBook, Strike } from './fault-plan.ts'
import { holdConnections } from './held-connections.ts'
import { readHorizon } from './store.ts'

/** Pending work on a request's answer. */
interface Pending extends Partial<Later> {
  readonly waitMs: number
  readonly struck: (Struck & Strike) | undefined
}

const behaviourOf = ({ fault }: Pick<Strike, 'fault'>) => KINDS[fault.do].behaviour

/**
 * Strikes calls of the interface according to the plan: before storing, once credentials passed and the body was read; after storing, on
 * the answer. Requests with refused credentials or JSON do not match. The gateway's own refusals go out unchanged, as nothing is stored.
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
      const outcome = struck && behaviourOf(struck).before?.(struck.fault, struck)
      const later = typeof outcome === 'object' && 'later' in outcome ? outcome : {}
      pending.set(request, { waitMs: waitBefore('answering', strikes), struck, ...later })
      if (outcome === 'taken') return
      if (outcome instanceof Error) return done(outcome)
      if (outcome !== undefined && 'payload' in outcome) return void reply.send(outcome.payload)
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
      const outcome = behaviourOf(struck).after?.(struck.fault, struck, payload) ?? {
        payload: later === undefined ? payload : later(payload),
      }
      if (outcome === 'taken') return
      if (outcome instanceof Error) done(outcome)
      else done(null, outcome.payload)
    })
  })
}

/** Total milliseconds that the strikes wait at this moment. */
const waitBefore = (moment: 'storing' | 'answering', strikes: readonly Strike[]): number =>
  strikes.reduce((sum, one) => sum + (behaviourOf(one).waitMs?.(one.fault, moment, one.key) ?? 0), 0)

/** Milliseconds by which the request's reads lag: the greatest of its faults, or 0. */
const lagOf = (strikes: readonly Strike[]): number =>
  Math.max(0, ...strikes.map((one) => behaviourOf(one).lagMs?.(one.fault) ?? 0))
