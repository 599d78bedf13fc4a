import { STATUS_CODES } from 'node:http'
import type { FastifyReply } from 'fastify'
import { Refusal } from '../refusal.ts'
import type { FaultOf } from './fault-plan.ts'

export const HTML =
  '<!doctype html><html><head><title>Gateway</title></head><body><h1>Gateway</h1></body></html>\n'
export const HTML_TYPE = 'text/html; charset=utf-8'

/**
 * Prepares an answer in place of the gateway's own: status, Retry-After, type. Gives its body, or the refusal that the
 * gateway makes an envelope of.
 */
export function answerInstead(
  { status, retryAfter, message, body }: FaultOf<'refuse' | 'store-then-answer' | 'outage'>,
  reply: FastifyReply,
  nowMs: number,
): Refusal | string {
  if (retryAfter !== undefined) {
    const told =
      typeof retryAfter === 'number'
        ? String(retryAfter)
        : new Date(nowMs + retryAfter.date * 1000).toUTCString()
    reply.header('retry-after', told)
  }
  if (body === 'envelope')
    return new Refusal(status, [{ message: message ?? STATUS_CODES[status] ?? 'refused' }])
  reply.code(status)
  if (body === 'empty') return ''
  reply.type(HTML_TYPE)
  return HTML
}
