import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { Refusal } from '../refusal.ts'
import { answerInstead, HTML, HTML_TYPE } from './answer-instead.ts'
import type { Strike } from './choose-fault.ts'
import {
  brokenJson,
  damageEcho,
  damagePart,
  endlessJson,
  firstHalf,
  OTHER_SHAPE,
  ofAnotherAccount,
  withData,
} from './damage-answer.ts'
import type { FaultOf } from './fault-plan.ts'
import type { HeldConnections } from './held-connections.ts'
import { BatchAnswer, type StoredPart } from './part-of-batch.ts'

/**
 * Strikes the answer to a request that was stored. Gives what goes out in its place, or `taken` where the connection is
 * cut, reset or left open.
 * @param part what was stored of the batch, where not all was
 */
export function strikeAfter(
  { fault, key }: Strike,
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
  gateway: {
    readonly connections: HeldConnections
    readonly part: StoredPart | undefined
    readonly nowMs: number
  },
): 'taken' | Refusal | { readonly payload: unknown } {
  const { connections, part, nowMs } = gateway
  switch (fault.do) {
    case 'store-then-answer': {
      const told = answerInstead(fault, reply, nowMs)
      return typeof told === 'string' ? { payload: told } : told
    }
    case 'store-then-reset':
      connections.reset(request, reply)
      return 'taken'
    case 'store-then-hang':
      connections.hold(request, reply)
      return 'taken'
    case 'store-part': {
      if (part === undefined) return { payload }
      return { payload: edited(payload, (answer) => damagePart(answer, fault, part, key)) }
    }
    case 'echo':
      return { payload: edited(payload, (answer) => damageEcho(answer, fault, key)) }
    case 'garble':
      return garble(fault, request, reply, typeof payload === 'string' ? payload : '', connections)
    case 'profile':
      return otherwise(fault, typeof payload === 'string' ? payload : '')
    default:
      return { payload }
  }
}

const Records = z.array(z.unknown())
/** That of conditions holds another envelope. */
const ReadAnswer = z.object({ data: z.union([Records, z.object({ data: Records })]) })

/** The answer to the read of a profile, said otherwise. */
function otherwise({ as }: FaultOf<'profile'>, text: string): Refusal | { readonly payload: string } {
  switch (as) {
    case 'not-found': {
      const { data } = ReadAnswer.parse(JSON.parse(text))
      const records = 'data' in data ? data.data : data
      return records.length > 0 ? { payload: text } : new Refusal(404, [{ message: 'no records' }])
    }
    case 'no-data':
      return { payload: withData(text, undefined) }
    case 'null-data':
      return { payload: withData(text, null) }
    case 'other-account':
      return { payload: JSON.stringify(ofAnotherAccount(JSON.parse(text))) }
  }
}

function garble(
  { as }: FaultOf<'garble'>,
  request: FastifyRequest,
  reply: FastifyReply,
  text: string,
  connections: HeldConnections,
): 'taken' | { readonly payload: unknown } {
  switch (as) {
    case 'truncated':
      connections.cut(request, reply, Buffer.byteLength(text), firstHalf(text))
      return 'taken'
    case 'broken-json':
      return { payload: brokenJson(text) }
    case 'html':
      reply.type(HTML_TYPE)
      return { payload: HTML }
    case 'empty':
      return { payload: '' }
    case 'wrong-type':
      reply.type('text/plain; charset=utf-8')
      return { payload: text }
    case 'wrong-shape':
      return { payload: OTHER_SHAPE }
    case 'empty-object':
      return { payload: '{}' }
    case 'bare-array':
      return { payload: '[]' }
    case 'endless':
      connections.watch(request)
      return { payload: Readable.from(endlessJson(), { objectMode: false }) }
  }
}

/** The answer's text changed, where it is an envelope with an echo; else as it is. */
function edited(payload: unknown, edit: (answer: BatchAnswer) => unknown): unknown {
  if (typeof payload !== 'string') return payload
  const { data } = BatchAnswer.safeParse(JSON.parse(payload))
  return data === undefined ? payload : JSON.stringify(edit(data))
}
