import { hash } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { AccountReference } from '../../../src/gateway/contract/account.ts'
import type { Endpoint, EndpointName } from '../../../src/gateway/contract/endpoints.ts'
import type { AccountStore } from './accounts.ts'
import { bearerOf, type TokenBook } from './credentials.ts'
import {
  drawnBy,
  FieldValues,
  orderedBy,
  poisonedPositions,
  readsProfile,
  sendsArray,
  Target,
  When,
} from './fault-targets.ts'
import type { HeldConnections } from './held-connections.ts'
import { faultAt, MOST_FAULTS, Refusal } from './refusal.ts'

/** Answer to a batch; other fields stay unchanged. */
export const BatchAnswer = z.looseObject({
  code: z.union([z.int(), z.string()]),
  data: z.array(z.unknown()),
  errors: z.array(z.unknown()).optional(),
})
type BatchAnswer = z.infer<typeof BatchAnswer>

/** Share of a batch's records, rounded, or a count. */
interface Amount {
  readonly share?: number | undefined
  readonly count?: number | undefined
}

/** Ways in which an echo can differ from the record sent. */
const OTHER = ['altered', 'other-account', 'other-id'] as const
type Other = (typeof OTHER)[number]

/** Resolves a share or count of `length` items: at least 1, at most all. */
function amountOf({ share, count }: Amount, length: number, otherwise: number): number {
  const wanted = share === undefined ? (count ?? otherwise) : Math.round(share * length)
  return Math.min(Math.max(wanted, 1), length)
}

/** Returns the positions of records to store, ascending: at least 1, but not all. `length` is 2 or more. */
function positionsKept(amount: Amount, length: number, key: readonly number[]): number[] {
  const kept = Math.min(amountOf(amount, length, Math.round(length / 2)), length - 1)
  return orderedBy(length, ...key)
    .slice(0, kept)
    .sort((a, b) => a - b)
}

/** Batch stored only at some positions. */
interface StoredPart {
  readonly sent: readonly unknown[]
  readonly kept: readonly number[]
  /** Returns the account id of a record's account; undefined if not registered. */
  readonly accountIdOf: (account: unknown) => string | undefined
  readonly makeId: () => string
}

/** Adds an item to `errors` for each record that was not stored. */
function tellWhich(answer: BatchAnswer, { sent, kept }: StoredPart): BatchAnswer {
  const stored = new Set(kept)
  return accuse(
    answer,
    sent.flatMap((_, position) => (stored.has(position) ? [] : [position])),
  )
}

/** Adds an item to `errors` for the records at these positions. */
function accuse(answer: BatchAnswer, positions: readonly number[]): BatchAnswer {
  const errors = positions.map((position) => ({
    code: answer.code,
    message: `records[${position}]: not stored`,
    position,
  }))
  return { ...answer, errors: [...(answer.errors ?? []), ...errors] }
}

/**
 * Makes the answer claim that all records were stored.
 *
 * @param invent builds the item for a record not stored, from the item it would have got
 */
function claimAll(
  answer: BatchAnswer,
  part: StoredPart,
  invent: (item: unknown, position: number) => unknown = (item) => item,
): BatchAnswer {
  const model: unknown = Object.assign({}, ...answer.data)
  const data = part.sent.map((record, position) => {
    const at = part.kept.indexOf(position)
    return at === -1 ? invent(likenessOf(model, record, part), position) : answer.data[at]
  })
  return { ...answer, data }
}

const Fields = z.record(z.string(), z.unknown())
const fieldsOf = (value: unknown) => Fields.safeParse(value).data

/** Builds the item that a record would have got, in the fields and forms of the other items. */
function likenessOf(model: unknown, record: unknown, { accountIdOf, makeId }: StoredPart): unknown {
  const { account } = fieldsOf(record) ?? {}
  const accountId = accountIdOf(account)
  const byAccountId = fieldsOf(fieldsOf(model)?.['account'])?.['type'] === 'accountId'
  const given: Record<string, unknown> = {
    ...(byAccountId ? { account: { type: 'accountId', reference: accountId } } : {}),
    userId: accountId,
    id: makeId(),
  }
  const likeness = fieldsOf(formedAs(model, record)) ?? {}
  return Object.fromEntries(
    Object.entries(likeness).map(([name, value]) => [name, name in given ? given[name] : value]),
  )
}

/** Date sent as YYYY-MM-DD and returned as MM/DD/YYYY (section "Medical-records request"). */
const RETURNED_DATE = /^\d{2}\/\d{2}\/\d{4}$/
const SENT_DATE = /^(\d{4})-(\d{2})-(\d{2})$/

function formedAs(model: unknown, sent: unknown): unknown {
  const inModel = fieldsOf(model)
  const inSent = fieldsOf(sent)
  if (inModel !== undefined && inSent !== undefined) {
    return Object.fromEntries(
      Object.entries(inModel).map(([key, value]) => [
        key,
        key in inSent ? formedAs(value, inSent[key]) : value,
      ]),
    )
  }
  if (typeof model === 'string' && typeof sent === 'string' && RETURNED_DATE.test(model)) {
    return sent.replace(SENT_DATE, '$2/$3/$1')
  }
  if (typeof model === 'number' && typeof sent === 'string') return Number(sent)
  if (typeof model === 'string' && typeof sent === 'number') return String(sent)
  return sent
}

/** Returns the first half of a text; the declared length is that of the whole. */
const firstHalf = (text: string): string => text.slice(0, Math.floor(text.length / 2))

/** Returns text of the same length that is not valid JSON: the last character moves to the front. */
const brokenJson = (text: string): string => text.slice(-1) + text.slice(0, -1)

/** JSON that is no answer of the interface. */
const OTHER_SHAPE = JSON.stringify({ result: { state: 'done' } })

/** Replaces `data` in an answer, or removes it if undefined. */
const withData = (text: string, data: null | undefined): string =>
  JSON.stringify({ ...Fields.parse(JSON.parse(text)), data })

/** Replaces the account of the records everywhere in an answer. */
function ofAnotherAccount(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ofAnotherAccount)
  const fields = Fields.safeParse(value).data
  if (fields === undefined) return value
  return Object.fromEntries(
    Object.entries(fields).map(([name, held]) => [
      name,
      name === 'reference' || name === 'userId' ? 'another-account' : ofAnotherAccount(held),
    ]),
  )
}

/** Yields a JSON document without end, in pieces of about 16 KiB. */
function* endlessJson(): Generator<string> {
  yield '{"code":200,"message":"200 OK","errors":[],"data":[{}'
  for (;;) yield ',{}'.repeat(5461)
}

/** Answers a partly stored batch, with the fault's treatment of the records not stored. */
function damagePart(
  answer: BatchAnswer,
  say: Other | 'which' | 'nothing' | 'all' | 'both',
  part: StoredPart,
  key: readonly number[],
): unknown {
  switch (say) {
    case 'nothing':
      return answer
    case 'which':
      return tellWhich(answer, part)
    case 'all':
      return claimAll(answer, part)
    case 'both':
      return tellWhich(claimAll(answer, part), part)
    default:
      return claimAll(answer, part, (item, position) => othered(item, say, [...key, position]))
  }
}

/** Damages the echo of a batch: changes the order, drops items, doubles items, or adds unknown ones. */
function damageEcho(
  answer: BatchAnswer,
  fault: Amount & { readonly as: Other | 'shuffled' | 'missing' | 'doubled' | 'foreign' | 'accused' },
  key: readonly number[],
): unknown {
  const { data } = answer
  if (data.length === 0) return answer
  const order = orderedBy(data.length, ...key)
  const chosen = new Set(order.slice(0, amountOf(fault, data.length, 1)))
  /** Replaces each chosen item of the answer with other items. */
  const edited = (replace: (item: unknown, position: number) => unknown[]) => ({
    ...answer,
    data: data.flatMap((item, position) => (chosen.has(position) ? replace(item, position) : [item])),
  })
  switch (fault.as) {
    case 'shuffled':
      return { ...answer, data: moved(order).map((position) => data[position]) }
    case 'missing':
      return edited(() => [])
    case 'doubled':
      return edited((item) => [item, item])
    case 'foreign':
      return edited((item, position) => [item, othered(item, 'other-id', [...key, position])])
    case 'accused':
      return accuse(answer, [...chosen])
    default: {
      const { as } = fault
      return edited((item, position) => [othered(item, as, [...key, position])])
    }
  }
}

/** Returns an order that differs from the order sent, if there are two or more items. */
function moved(order: readonly number[]): readonly number[] {
  const unmoved = order.every((position, at) => position === at)
  return unmoved ? [...order.slice(1), ...order.slice(0, 1)] : order
}

/** Fields to change anywhere in the item. */
const CHANGED: Readonly<Record<Exclude<Other, 'altered'>, ReadonlySet<string>>> = {
  'other-account': new Set(['reference', 'userId']),
  'other-id': new Set(['id', 'transactionId', 'referenceNumber', 'persistentRecordId', 'npi']),
}

/** Copies an item with another value or account, or with ids that nobody sent. */
function othered(item: unknown, as: Other, key: readonly number[]): unknown {
  const fields = Fields.safeParse(item).data
  if (fields === undefined) return item
  if (as === 'altered') return altered(fields)
  const name = `foreign-${hash('sha256', JSON.stringify(key)).slice(0, 16)}`
  return Object.fromEntries(
    Object.entries(fields).map(([field, value]) => [
      field,
      CHANGED[as].has(field) ? name : othered(value, as, key),
    ]),
  )
}

/** Changes the value of an item, or its name if it has no value. */
function altered(fields: z.infer<typeof Fields>): unknown {
  const { value } = fields
  return typeof value === 'number' ? { ...fields, value: value + 1 } : { ...fields, name: 'another' }
}

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
