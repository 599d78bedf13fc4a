import { STATUS_CODES } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { AccountReference } from '../gateway/contract/account.ts'
import type { Endpoint, EndpointName } from '../gateway/contract/endpoints.ts'
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

/** What faults need of the gateway. */
export interface Struckable {
  readonly clock: () => number
  readonly makeId: () => string
  readonly tokens: TokenBook
  readonly accounts: Pick<AccountStore, 'find'>
}

/** A request that is struck. */
export interface Struck extends Struckable {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly connections: HeldConnections
  /** Epoch milliseconds at which the plan was loaded. */
  readonly loadedMs: number
  /** Key of what the strike leaves to chance. */
  readonly key: StrikeKey
}
export type StrikeKey = readonly [seed: number, index: number, ordinal: number]

/** A request about which a fault is asked. */
interface Asked {
  /** The records sent; none where the body is no array. */
  readonly batch: readonly unknown[]
  readonly seed: number
  /** Place of the fault in the plan, from 0. */
  readonly index: number
  /** Milliseconds since the plan was loaded. */
  readonly sinceMs: number
  /** Of a rate limit: number of the window, and requests let pass in it. */
  readonly window: { number: number; passed: number }
}

/** `taken`: the connection is reset, cut or left open, and nothing may be answered; else the answer, or what is made one. */
export type Told = 'taken' | Refusal | { readonly payload: unknown }
/** What is made of the gateway's own answer once it is there. */
export interface Later {
  later(payload: unknown): unknown
}

/** What a kind of fault does: with what was given of it in the plan. */
interface Behaviour<Given> {
  /** The calls that it has a meaning for; every one where not said. */
  suits?(endpoint: Endpoint, name: EndpointName): boolean
  /** What the schema of its keys does not see: a key, and what is wrong with it. */
  problem?(given: Given): readonly [key: string, message: string] | undefined
  /** Whether the request is numbered at all; each is where not said. */
  concerns?(given: Given, asked: Asked): boolean
  /** It lets the request go on to the faults behind it. */
  readonly goesOn?: true
  /** Milliseconds that it waits there. */
  waitMs?(given: Given, moment: 'storing' | 'answering', key: StrikeKey): number
  /** Milliseconds by which the request's reads lag. */
  lagMs?(given: Given): number
  /** Strikes before anything is stored; the request goes on to its handler where nothing is told. */
  before?(given: Given, struck: Struck): Told | Later | undefined
  /** Strikes the answer to a request that was not refused. */
  after?(given: Given, struck: Struck, payload: unknown): Told
}

const count = z.int().min(1)
const milliseconds = z.int().min(0)
const share = z.number().gt(0).max(1)
const status = z.int().min(200).max(599)
const AMOUNT = { share: share.optional(), count: count.optional() }

/** An answer in place of the gateway's own. Retry-After (RFC 9110 section 10.2.3): seconds, or the HTTP date so many seconds from the gateway's clock. */
const ANSWER = {
  retryAfter: z.union([z.int().min(0), z.strictObject({ date: z.int() })]).optional(),
  message: z.string().min(1).optional(),
  body: z.enum(['envelope', 'html', 'empty']).default('envelope'),
}
const Answer = z.object({ status, ...ANSWER })

const HTML = '<!doctype html><html><head><title>Gateway</title></head><body><h1>Gateway</h1></body></html>\n'
const HTML_TYPE = 'text/html; charset=utf-8'

/** An answer in place of the gateway's own: status, Retry-After, type; a body, or a refusal that becomes an envelope. */
function answerInstead(
  { status, retryAfter, message, body }: z.infer<typeof Answer>,
  { reply, clock }: Struck,
): Told {
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

/** The connection is reset, or never answered on. */
const endless = (how: 'reset' | 'hold', { connections, request, reply }: Struck): Told => {
  connections[how](request, reply)
  return 'taken'
}

/** The answer's text changed, where it is an envelope with an echo; else as it is. */
function edited(payload: unknown, edit: (answer: BatchAnswer) => unknown): unknown {
  if (typeof payload !== 'string') return payload
  const { data } = BatchAnswer.safeParse(JSON.parse(payload))
  return data === undefined ? payload : JSON.stringify(edit(data))
}

const textIn = (payload: unknown): string => (typeof payload === 'string' ? payload : '')

const Records = z.array(z.unknown())
/** That of conditions holds another envelope. */
const ReadAnswer = z.object({ data: z.union([Records, z.object({ data: Records })]) })

/** What the answer to the read of a profile says otherwise. */
const OTHERWISE = {
  'not-found': (text: string): Told => {
    const { data } = ReadAnswer.parse(JSON.parse(text))
    const records = 'data' in data ? data.data : data
    return records.length > 0 ? { payload: text } : new Refusal(404, [{ message: 'no records' }])
  },
  'no-data': (text: string): Told => ({ payload: withData(text, undefined) }),
  'null-data': (text: string): Told => ({ payload: withData(text, null) }),
  'other-account': (text: string): Told => ({
    payload: JSON.stringify(ofAnotherAccount(JSON.parse(text))),
  }),
}

const typed = (reply: FastifyReply, type: string, payload: string): Told => {
  reply.type(type)
  return { payload }
}

/** What becomes of an answer that cannot be read. */
const GARBLED = {
  truncated: (text: string, { connections, request, reply }: Struck): Told => {
    connections.cut(request, reply, Buffer.byteLength(text), firstHalf(text))
    return 'taken'
  },
  'broken-json': (text: string): Told => ({ payload: brokenJson(text) }),
  html: (_: string, { reply }: Struck) => typed(reply, HTML_TYPE, HTML),
  empty: (): Told => ({ payload: '' }),
  'wrong-type': (text: string, { reply }: Struck) => typed(reply, 'text/plain; charset=utf-8', text),
  'wrong-shape': (): Told => ({ payload: OTHER_SHAPE }),
  'empty-object': (): Told => ({ payload: '{}' }),
  'bare-array': (): Told => ({ payload: '[]' }),
  endless: (_: string, { connections, request }: Struck): Told => {
    connections.watch(request)
    return { payload: Readable.from(endlessJson(), { objectMode: false }) }
  },
}

const keysOf = <Key extends string>(table: Readonly<Record<Key, unknown>>) => Object.keys(table) as Key[]

/** A kind of fault: its keys in a plan, and what it does. */
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

/** Every kind of fault. */
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
      /** Leaves the handler a part of the batch: it stores what it is given. */
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
        Array.isArray(ms) && ms[0] > ms[1] ? ['ms', 'the least stands before the most'] : undefined,
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
          ? ['as', 'what is shuffled is shuffled as a whole: no `share`, no `count`']
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
          ? ['as', `an outage that ends in \`${as}\` answers nothing`]
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
