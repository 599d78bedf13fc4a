import type { FastifyInstance, FastifyRequest } from 'fastify'
import { AccountReference } from '../../gateway/contract/account.ts'
import type { AccountStore } from '../account-store.ts'
import { readHorizon } from '../read-horizon.ts'
import type { TokenBook } from '../token-book.ts'
import { goesOn, type Strike } from './choose-fault.ts'
import type { FaultBook } from './fault-book.ts'
import type { FaultOf } from './fault-plan.ts'
import { holdConnections } from './held-connections.ts'
import { drawnBy } from './keyed-chance.ts'
import { positionsKept, type StoredPart } from './part-of-batch.ts'
import { strikeAfter } from './strike-after.ts'
import { strikeBefore } from './strike-before.ts'

/** What faults need of the gateway. */
export interface Struckable {
  readonly clock: () => number
  readonly makeId: () => string
  readonly tokens: TokenBook
  readonly accounts: Pick<AccountStore, 'find'>
}

/** What is still to be done to a request's answer. */
interface Pending {
  readonly waitMs: number
  readonly strike: Strike | undefined
  readonly part: StoredPart | undefined
}

/**
 * Strikes calls of the interface as the plan says: before storing once credentials passed and the body was read, after
 * storing on the answer's way out. A request whose credentials or JSON are refused is not asked about; what the gateway
 * refuses of its own accord goes out as it is, since there is nothing stored to lie about.
 */
export function inflictFaults(app: FastifyInstance, book: FaultBook, gateway: Struckable): void {
  const { clock, tokens } = gateway
  const connections = holdConnections(app)
  const pending = new WeakMap<FastifyRequest, Pending>()

  app.addHook('preHandler', (request, reply, done) => {
    const { endpoint } = request.routeOptions.config
    if (endpoint === undefined || !book.isLoaded()) return void done()
    const { method, url, body } = request
    const facts = { endpoint, method, url, body: body ?? undefined, nowMs: clock() }
    const { strikes, loadedMs } = book.choose(facts)
    if (strikes.length === 0) return void done()
    const strike = strikes.find(({ fault }) => !goesOn(fault.do))
    const lagMs = lagOf(strikes)

    connections.wait(request, reply, waitBefore('storing', strikes), () => {
      const waitMs = waitBefore('answering', strikes)
      const part = strike === undefined ? undefined : leavePart(strike, request, gateway)
      pending.set(request, { waitMs, strike, part })
      const nowMs = clock()
      const outcome =
        strike === undefined
          ? 'goes on'
          : strikeBefore(strike, request, reply, { connections, tokens, nowMs, loadedMs })
      if (outcome === 'taken') return
      if (outcome instanceof Error) done(outcome)
      else if (outcome !== 'goes on') reply.send(outcome.body)
      else if (lagMs === 0) done()
      else readHorizon.run(nowMs - lagMs, done)
    })
  })

  app.addHook('onSend', (request, reply, payload, done) => {
    const struck = pending.get(request)
    if (struck === undefined) return void done(null, payload)
    pending.delete(request)
    const { waitMs, strike, part } = struck

    connections.wait(request, reply, waitMs, () => {
      const refused = reply.statusCode >= 400
      const outcome =
        strike === undefined || refused
          ? { payload }
          : strikeAfter(strike, request, reply, payload, { connections, part, nowMs: clock() })
      if (outcome === 'taken') return
      if (outcome instanceof Error) done(outcome)
      else done(null, outcome.payload)
    })
  })
}

/** Milliseconds that the `slow` faults among the strikes wait there, together. */
function waitBefore(moment: FaultOf<'slow'>['before'], strikes: readonly Strike[]): number {
  return strikes.reduce((sum, { fault, key }) => {
    if (fault.do !== 'slow' || fault.before !== moment) return sum
    if (typeof fault.ms === 'number') return sum + fault.ms
    const [least, most] = fault.ms
    return sum + least + Math.floor(drawnBy(...key) * (most - least + 1))
  }, 0)
}

/** By how many milliseconds the reads of the request lag: the greatest of its `lag` faults, or 0. */
function lagOf(strikes: readonly Strike[]): number {
  return Math.max(0, ...strikes.map(({ fault }) => (fault.do === 'lag' ? fault.ms : 0)))
}

/** Leaves the handler a part of the batch, where the strike says so: it stores what it is given. */
function leavePart(
  { fault, key }: Strike,
  request: FastifyRequest,
  { accounts, makeId }: Struckable,
): StoredPart | undefined {
  if (fault.do !== 'store-part' || !Array.isArray(request.body)) return undefined
  const sent: readonly unknown[] = request.body
  const kept = positionsKept(fault, sent.length, key)
  request.body = kept.map((position) => sent[position])
  const accountIdOf = (account: unknown) => {
    const { data } = AccountReference.safeParse(account)
    return data === undefined ? undefined : accounts.find(data)?.accountId
  }
  return { sent, kept, accountIdOf, makeId }
}
