import type { FastifyReply, FastifyRequest } from 'fastify'
import { bearerOf } from '../credentials.ts'
import { faultAt, MOST_FAULTS, Refusal } from '../refusal.ts'
import type { TokenBook } from '../token-book.ts'
import { answerInstead } from './answer-instead.ts'
import { type Strike, secondsToNextWindow } from './choose-fault.ts'
import type { FaultOf } from './fault-plan.ts'
import type { HeldConnections } from './held-connections.ts'
import { poisonedPositions } from './poisoned-records.ts'

/**
 * Strikes a request before anything of it is stored. `goes on`: to the gateway's own handler; `taken`: the connection is
 * reset or left open, and nothing may be answered; a refusal or a body: the answer.
 */
export function strikeBefore(
  strike: Strike,
  request: FastifyRequest,
  reply: FastifyReply,
  gateway: {
    readonly connections: HeldConnections
    readonly tokens: TokenBook
    readonly nowMs: number
    readonly loadedMs: number
  },
): 'goes on' | 'taken' | Refusal | { readonly body: string } {
  const { fault } = strike
  const { connections, tokens, nowMs, loadedMs } = gateway
  const answered = (told: Refusal | string) => (typeof told === 'string' ? { body: told } : told)
  switch (fault.do) {
    case 'refuse':
      return answered(answerInstead(fault, reply, nowMs))
    case 'outage':
      if (fault.as === 'refuse') return answered(answerInstead(fault, reply, nowMs))
      connections[fault.as === 'reset' ? 'reset' : 'hold'](request, reply)
      return 'taken'
    case 'reset':
      connections.reset(request, reply)
      return 'taken'
    case 'hang':
      connections.hold(request, reply)
      return 'taken'
    case 'rate-limit':
      reply.header('retry-after', String(secondsToNextWindow(fault, loadedMs, nowMs)))
      return new Refusal(429, [{ message: 'too many requests' }])
    case 'poison':
      return poisoned(fault, strike, request.body)
    case 'expire-token':
      tokens.expire(bearerOf(request))
      return new Refusal(401, [{ message: 'Authorization: the token has expired' }])
    default:
      return 'goes on'
  }
}

function poisoned(fault: FaultOf<'poison'>, { key: [seed, index] }: Strike, body: unknown): Refusal {
  if (fault.say === 'nothing') return new Refusal(fault.status, [{ message: 'a record cannot be stored' }])
  const batch: readonly unknown[] = Array.isArray(body) ? body : []
  const positions = poisonedPositions(fault, seed, index, batch).slice(0, MOST_FAULTS)
  return new Refusal(
    fault.status,
    positions.map((position) => faultAt('records', 'cannot be stored', position)),
  )
}
