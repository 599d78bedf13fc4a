import { STATUS_CODES } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { AccountReference } from '../../../src/gateway/contract/account.ts'
import type { Endpoint, EndpointName } from '../../../src/gateway/contract/endpoints.ts'
import type { AccountStore } from './accounts.ts'
import { bearerOf, type TokenBook } from './credentials.ts'
import {
  BatchAnswer,
  brokenJson,
  damageEcho,
  damagePart,
  endlessJson,
  firstHalf,
  OTHER,
  OTHER_SHAPE,
  ofAnotherAccount,
  positionsKept,
  withData,
} from './damage-answer.ts'
import {
  drawnBy,
  FieldValues,
  poisonedPositions,
  readsProfile,
  sendsArray,
  Target,
  When,
} from './fault-targets.ts'
import type { HeldConnections } from './held-connections.ts'
import { faultAt, MOST_FAULTS, Refusal } from './refusal.ts'

/** Parts of the gateway that faults use. */
export interface Struckable {
  readonly clock: () => number
  readonly makeId: () => string
  readonly tokens: TokenBook
  readonly accounts: Pick<AccountStore, 'find'>
}

/** Request under a strike. */
export interface Struck extends Struckable {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly connections: HeldConnections
  /** Epoch milliseconds when the plan was loaded. */
  readonly loadedMs: number
  /** Key for random choices of the strike. */
  readonly key: StrikeKey
}
export type StrikeKey = readonly [seed: number, index: number, ordinal: number]

/** Request that a fault is matched against. */
interface Asked {
  /** Records sent; empty if the body is not an array. */
  readonly batch: readonly unknown[]
  readonly seed: number
  /** Place of the fault in the plan, from 0. */
  readonly index: number
  /** Milliseconds since the plan was loaded. */
  readonly sinceMs: number
  /** State of a rate limit: number of the window, and requests passed in it. */
  readonly window: { number: number; passed: number }
}

/**
 * Outcome of a strike. `taken`: the connection is reset, cut or left open, and no answer may follow; otherwise the answer, or a refusal.
 */
export type Outcome = 'taken' | Refusal | { readonly payload: unknown }
/** Change to the gateway's own answer once it exists. */
export interface Later {
  later(payload: unknown): unknown
}

/** Behaviour of a kind of fault, for its keys in the plan. */
interface Behaviour<Given> {
  /** True if the kind makes sense for a call. Default: every call. */
  suits?(endpoint: Endpoint, name: EndpointName): boolean
  /** Checks keys beyond their schema. Returns a key and its problem. */
  problem?(given: Given): readonly [key: string, message: string] | undefined
  /** True if the request matches and gets a number. Default: every request. */
  concerns?(given: Given, asked: Asked): boolean
  /** Lets the request go on to later faults. */
  readonly goesOn?: true
  /** Milliseconds to wait at this moment. */
  waitMs?(given: Given, moment: 'storing' | 'answering', key: StrikeKey): number
  /** Milliseconds by which the request's reads lag. */
  lagMs?(given: Given): number
  /** Strikes before anything is stored. If undefined, the request goes on to its handler. */
  before?(given: Given, struck: Struck): Outcome | Later | undefined
  /** Strikes the answer to a request that was not refused. */
  after?(given: Given, struck: Struck, payload: unknown): Outcome
}

const count = z.int().min(1)
const milliseconds = z.int().min(0)
const share = z.number().gt(0).max(1)
const status = z.int().min(200).max(599)
const AMOUNT = { share: share.optional(), count: count.optional() }

/**
 * Answer that replaces the gateway's own. Retry-After (RFC 9110 section 10.2.3): seconds, or an HTTP date that many seconds from the
 * gateway's clock.
 */
const ANSWER = {
  retryAfter: z.union([z.int().min(0), z.strictObject({ date: z.int() })]).optional(),
  message: z.string().min(1).optional(),
  body: z.enum(['envelope', 'html', 'empty']).default('envelope'),
}
const Answer = z.object({ status, ...ANSWER })

const HTML = '<!doctype html><html><head><title>Gateway</title></head><body><h1>Gateway</h1></body></html>\n'
const HTML_TYPE = 'text/html; charset=utf-8'

/** Builds a replacement answer: status, Retry-After, type; a body, or a refusal that becomes an envelope. */
function answerInstead(
  { status, retryAfter, message, body }: z.infer<typeof Answer>,
  { reply, clock }: Struck,
): Outcome {
  if (typeof retryAfter === 'number') reply.header('retry-after', String(retryAfter))
  else if (retryAfter !== undefined)
    reply.header('retry-after', new Date(clock() + retryAfter.date * 1000).toUTCString())
  if (body === 'envelope')
    return new Refusal(status, [{ message: message ?? STATUS_CODES[status] ?? 'refused' }])
  reply.code(status)
  if (body === 'empty') return { payload: '' }
  reply.type(HTML_TYPE)
  return { payload: HTML }
}

/** Resets the connection, or never answers on it. */
const endless = (how: 'reset' | 'hold', { connections, request, reply }: Struck): Outcome => {
  connections[how](request, reply)
  return 'taken'
}

/** Edits an answer that is an envelope with an echo; returns other answers unchanged. */
function edited(payload: unknown, edit: (answer: BatchAnswer) => unknown): unknown {
  if (typeof payload !== 'string') return payload
  const { data } = BatchAnswer.safeParse(JSON.parse(payload))
  return data === undefined ? payload : JSON.stringify(edit(data))
}

const textIn = (payload: unknown): string => (typeof payload === 'string' ? payload : '')

const Records = z.array(z.unknown())
/** Answer to a read; conditions hold a second envelope. */
const ReadAnswer = z.object({ data: z.union([Records, z.object({ data: Records })]) })

/** Damages for the answer to a read of a profile. */
const OTHERWISE = {
  'not-found': (text: string): Outcome => {
    const { data } = ReadAnswer.parse(JSON.parse(text))
    const records = 'data' in data ? data.data : data
    return records.length > 0 ? { payload: text } : new Refusal(404, [{ message: 'no records' }])
  },
  'no-data': (text: string): Outcome => ({ payload: withData(text, undefined) }),
  'null-data': (text: string): Outcome => ({ payload: withData(text, null) }),
  'other-account': (text: string): Outcome => ({
    payload: JSON.stringify(ofAnotherAccount(JSON.parse(text))),
  }),
}

const typed = (reply: FastifyReply, type: string, payload: string): Outcome => {
  reply.type(type)
  return { payload }
}

/** Damages that make an answer unreadable. */
const GARBLED = {
  truncated: (text: string, { connections, request, reply }: Struck): Outcome => {
    connections.cut(request, reply, Buffer.byteLength(text), firstHalf(text))
    return 'taken'
  },
  'broken-json': (text: string): Outcome => ({ payload: brokenJson(text) }),
  html: (_: string, { reply }: Struck) => typed(reply, HTML_TYPE, HTML),
  empty: (): Outcome => ({ payload: '' }),
  'wrong-type': (text: string, { reply }: Struck) => typed(reply, 'text/plain; charset=utf-8', text),
  'wrong-shape': (): Outcome => ({ payload: OTHER_SHAPE }),
  'empty-object': (): Outcome => ({ payload: '{}' }),
  'bare-array': (): Outcome => ({ payload: '[]' }),
  endless: (_: string, { connections, request }: Struck): Outcome => {
    connections.watch(request)
    return { payload: Readable.from(endlessJson(), { objectMode: false }) }
  },
}

const keysOf = <Key extends string>(table: Readonly<Record<Key, unknown>>) => Object.keys(table) as Key[]

/** Defines a kind of fault: its keys in a plan, and its behaviour. */
function kind<const Name extends string, Shape extends z.ZodRawShape>(
  name: Name,
  keys: Shape,
  given: Behaviour<z.output<z.ZodObject<Shape>>>,
) {
  const on = z.preprocess((sent) => (Array.isArray(sent) ? sent : [sent]), z.array(Target).min(1))
  const schema = z.strictObject({ do: z.literal(name), on, when: When.prefault({}), ...keys })
  const behaviour: Behaviour<object> = given
  return { schema, behaviour }
}

const windowAt = ({ perMs }: { readonly perMs: number }, sinceMs: number) => Math.floor(sinceMs / perMs)

/** Whole seconds until the window of the rate limit ends, at least 1. */
export function secondsToNextWindow(
  limit: { readonly perMs: number },
  loadedMs: number,
  nowMs: number,
): number {
  const endMs = loadedMs + (windowAt(limit, nowMs - loadedMs) + 1) * limit.perMs
  return Math.max(1, Math.ceil((endMs - nowMs) / 1000))
}

/** All kinds of faults. */
export const KINDS = {
  refuse: kind('refuse', { status: status.default(503), ...ANSWER }, { before: answerInstead }),
  'store-then-answer': kind(
    'store-then-answer',
    { status: status.default(500), ...ANSWER },
    { after: answerInstead },
  ),
  'store-then-reset': kind('store-then-reset', {}, { after: (_, struck) => endless('reset', struck) }),
  'store-then-hang': kind('store-then-hang', {}, { after: (_, struck) => endless('hold', struck) }),
  reset: kind('reset', {}, { before: (_, struck) => endless('reset', struck) }),
  hang: kind('hang', {}, { before: (_, struck) => endless('hold', struck) }),
  'store-part': kind(
    'store-part',
    { ...AMOUNT, say: z.enum(['which', 'nothing', 'all', 'both', ...OTHER]).default('which') },
    {
      suits: sendsArray,
      concerns: (_, { batch }) => batch.length > 1,
      /** Leaves part of the batch to the handler, which stores only this part. */
      before: (fault, { request, accounts, makeId, key }) => {
        const sent: readonly unknown[] = Array.isArray(request.body) ? request.body : []
        const kept = positionsKept(fault, sent.length, key)
        request.body = kept.map((position) => sent[position])
        const accountIdOf = (account: unknown) => {
          const { data } = AccountReference.safeParse(account)
          return data === undefined ? undefined : accounts.find(data)?.accountId
        }
        const part = { sent, kept, accountIdOf, makeId }
        return { later: (payload) => edited(payload, (answer) => damagePart(answer, fault.say, part, key)) }
      },
    },
  ),
  poison: kind(
    'poison',
    {
      record: FieldValues.optional(),
      share: share.optional(),
      status: z.int().min(400).max(599).default(400),
      say: z.enum(['position', 'nothing']).default('position'),
    },
    {
      suits: sendsArray,
      problem: ({ record, share }) =>
        (record === undefined) === (share === undefined)
          ? ['record', 'give either `record` or `share`']
          : undefined,
      concerns: (fault, { batch, seed, index }) => poisonedPositions(fault, seed, index, batch).length > 0,
      before: (fault, { request: { body }, key: [seed, index] }) => {
        if (fault.say === 'nothing')
          return new Refusal(fault.status, [{ message: 'a record cannot be stored' }])
        const positions = poisonedPositions(fault, seed, index, Array.isArray(body) ? body : [])
        const faults = positions.map((position) => faultAt('records', 'cannot be stored', position))
        return new Refusal(fault.status, faults.slice(0, MOST_FAULTS))
      },
    },
  ),
  slow: kind(
    'slow',
    {
      ms: z.union([milliseconds, z.tuple([milliseconds, milliseconds])]),
      before: z.enum(['storing', 'answering']).default('answering'),
    },
    {
      goesOn: true,
      problem: ({ ms }) =>
        Array.isArray(ms) && ms[0] > ms[1] ? ['ms', 'write the minimum first, then the maximum'] : undefined,
      waitMs: ({ ms, before }, moment, key) => {
        if (before !== moment) return 0
        const [least, most] = typeof ms === 'number' ? [ms, ms] : ms
        return least + Math.floor(drawnBy(...key) * (most - least + 1))
      },
    },
  ),
  garble: kind(
    'garble',
    { as: z.enum(keysOf(GARBLED)) },
    {
      suits: ({ success }) => success.body !== undefined,
      after: ({ as }, struck, payload) => GARBLED[as](textIn(payload), struck),
    },
  ),
  profile: kind(
    'profile',
    { as: z.enum(keysOf(OTHERWISE)) },
    { suits: readsProfile, after: ({ as }, _, payload) => OTHERWISE[as](textIn(payload)) },
  ),
  echo: kind(
    'echo',
    { as: z.enum(['shuffled', 'missing', 'doubled', 'foreign', 'accused', ...OTHER]), ...AMOUNT },
    {
      suits: sendsArray,
      problem: ({ as, share, count }) =>
        as === 'shuffled' && (share ?? count) !== undefined
          ? ['as', '`shuffled` takes no `share` and no `count`']
          : undefined,
      after: (fault, { key }, payload) => ({
        payload: edited(payload, (answer) => damageEcho(answer, fault, key)),
      }),
    },
  ),
  'expire-token': kind(
    'expire-token',
    {},
    {
      suits: ({ bearer }) => bearer === 'required',
      before: (_, { tokens, request }) => {
        tokens.expire(bearerOf(request))
        return new Refusal(401, [{ message: 'Authorization: the token has expired' }])
      },
    },
  ),
  'rate-limit': kind(
    'rate-limit',
    { requests: count, perMs: count },
    {
      concerns: (fault, { window, sinceMs }) => {
        const number = windowAt(fault, sinceMs)
        if (window.number !== number) Object.assign(window, { number, passed: 0 })
        if (window.passed >= fault.requests) return true
        window.passed++
        return false
      },
      before: (fault, { reply, loadedMs, clock }) => {
        reply.header('retry-after', String(secondsToNextWindow(fault, loadedMs, clock())))
        return new Refusal(429, [{ message: 'too many requests' }])
      },
    },
  ),
  outage: kind(
    'outage',
    {
      fromMs: milliseconds.default(0),
      forMs: count,
      as: z.enum(['refuse', 'reset', 'hang']).default('refuse'),
      status: status.default(503),
      ...ANSWER,
    },
    {
      problem: ({ as, retryAfter, message }) =>
        as !== 'refuse' && (retryAfter ?? message) !== undefined
          ? ['as', `an outage with \`${as}\` sends no answer`]
          : undefined,
      concerns: ({ fromMs, forMs }, { sinceMs }) => sinceMs >= fromMs && sinceMs < fromMs + forMs,
      before: (fault, struck) =>
        fault.as === 'refuse'
          ? answerInstead(fault, struck)
          : endless(fault.as === 'reset' ? 'reset' : 'hold', struck),
    },
  ),
  lag: kind('lag', { ms: count }, { goesOn: true, suits: readsProfile, lagMs: ({ ms }) => ms }),
}
