import { hash } from 'node:crypto'
import { z } from 'zod'
import { orderedBy } from './fault-targets.ts'

/** The answer to a batch; its other fields are kept as they are. */
export const BatchAnswer = z.looseObject({
  code: z.union([z.int(), z.string()]),
  data: z.array(z.unknown()),
  errors: z.array(z.unknown()).optional(),
})
export type BatchAnswer = z.infer<typeof BatchAnswer>

/** Of a batch: a share of its records, rounded, or a count. */
export interface Amount {
  readonly share?: number | undefined
  readonly count?: number | undefined
}

/** What an echo can have in place of what was sent. */
export const OTHER = ['altered', 'other-account', 'other-id'] as const
type Other = (typeof OTHER)[number]

/** How many of `length` a share or a count means: at least one, at most all. */
export function amountOf({ share, count }: Amount, length: number, otherwise: number): number {
  const wanted = share === undefined ? (count ?? otherwise) : Math.round(share * length)
  return Math.min(Math.max(wanted, 1), length)
}

/**
 * Positions of the records of a batch that are stored, ascending: at least one, and at least one is not. `length` is 2 or more.
 */
export function positionsKept(amount: Amount, length: number, key: readonly number[]): number[] {
  const kept = Math.min(amountOf(amount, length, Math.round(length / 2)), length - 1)
  return orderedBy(length, ...key)
    .slice(0, kept)
    .sort((a, b) => a - b)
}

/** A batch of which only the records at some positions were stored. */
export interface StoredPart {
  readonly sent: readonly unknown[]
  readonly kept: readonly number[]
  /** The account id of a record's account; undefined where it is not registered. */
  readonly accountIdOf: (account: unknown) => string | undefined
  readonly makeId: () => string
}

/** The gateway's answer to the stored part, made to tell which records were not stored: an item of `errors` for each. */
export function tellWhich(answer: BatchAnswer, { sent, kept }: StoredPart): BatchAnswer {
  const stored = new Set(kept)
  return accuse(
    answer,
    sent.flatMap((_, position) => (stored.has(position) ? [] : [position])),
  )
}

/** The answer with an item of `errors` for the records at these positions. */
export function accuse(answer: BatchAnswer, positions: readonly number[]): BatchAnswer {
  const errors = positions.map((position) => ({
    code: answer.code,
    message: `records[${position}]: not stored`,
    position,
  }))
  return { ...answer, errors: [...(answer.errors ?? []), ...errors] }
}

/**
 * The gateway's answer to the stored part, made to claim that all were stored.
 * @param told what stands for a record that was not, made of what it would have got
 */
export function claimAll(
  answer: BatchAnswer,
  part: StoredPart,
  told: (item: unknown, position: number) => unknown = (item) => item,
): BatchAnswer {
  const model: unknown = Object.assign({}, ...answer.data)
  const data = part.sent.map((record, position) => {
    const at = part.kept.indexOf(position)
    return at === -1 ? told(likenessOf(model, record, part), position) : answer.data[at]
  })
  return { ...answer, data }
}

const Fields = z.record(z.string(), z.unknown())
const fieldsOf = (value: unknown) => Fields.safeParse(value).data

/** The item that a record would have got, after the model of the items of others: its fields, its forms. */
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

/** A date that goes in as YYYY-MM-DD and comes out as MM/DD/YYYY (section "Medical-records request"). */
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

/** Half of a text; what was declared is the whole. */
export const firstHalf = (text: string): string => text.slice(0, Math.floor(text.length / 2))

/** Text of the same length that no JSON parser takes: the last character is gone, and stands at the beginning. */
export const brokenJson = (text: string): string => text.slice(-1) + text.slice(0, -1)

/** JSON that is no answer of the interface. */
export const OTHER_SHAPE = JSON.stringify({ result: { state: 'done' } })

/** The answer with another `data`; without one where it is undefined. */
export const withData = (text: string, data: null | undefined): string =>
  JSON.stringify({ ...Fields.parse(JSON.parse(text)), data })

/** The answer with the account that its records name replaced, wherever it stands. */
export function ofAnotherAccount(value: unknown): unknown {
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

/** A JSON document without end, in pieces of about 16 KiB. */
export function* endlessJson(): Generator<string> {
  yield '{"code":200,"message":"200 OK","errors":[],"data":[{}'
  for (;;) yield ',{}'.repeat(5461)
}

/** The answer to a batch of which a part was stored, with what the fault says of the rest. */
export function damagePart(
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

/** The answer to a batch with another echo: in another order, without some items, with some twice, with strange ones. */
export function damageEcho(
  answer: BatchAnswer,
  fault: Amount & { readonly as: Other | 'shuffled' | 'missing' | 'doubled' | 'foreign' | 'accused' },
  key: readonly number[],
): unknown {
  const { data } = answer
  if (data.length === 0) return answer
  const order = orderedBy(data.length, ...key)
  const chosen = new Set(order.slice(0, amountOf(fault, data.length, 1)))
  /** The answer with other items in the place of each chosen one. */
  const edited = (told: (item: unknown, position: number) => unknown[]) => ({
    ...answer,
    data: data.flatMap((item, position) => (chosen.has(position) ? told(item, position) : [item])),
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

/** An order that is never the one that was sent, where there are two or more. */
function moved(order: readonly number[]): readonly number[] {
  const unmoved = order.every((position, at) => position === at)
  return unmoved ? [...order.slice(1), ...order.slice(0, 1)] : order
}

/** Fields that are changed wherever in the item they stand. */
const CHANGED: Readonly<Record<Exclude<Other, 'altered'>, ReadonlySet<string>>> = {
  'other-account': new Set(['reference', 'userId']),
  'other-id': new Set(['id', 'transactionId', 'referenceNumber', 'persistentRecordId', 'npi']),
}

/** An item like the one given, with another value or account, or with ids that nobody sent. */
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

/** The item with another value, or another name where it has none. */
function altered(fields: z.infer<typeof Fields>): unknown {
  const { value } = fields
  return typeof value === 'number' ? { ...fields, value: value + 1 } : { ...fields, name: 'another' }
}
