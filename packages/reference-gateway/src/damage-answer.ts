import { hash } from 'node:crypto'
import { z } from 'zod'
import { orderedBy } from './fault-targets.ts'

/** Answer to a batch; other fields stay unchanged. */
export const BatchAnswer = z.looseObject({
  code: z.union([z.int(), z.string()]),
  data: z.array(z.unknown()),
  errors: z.array(z.unknown()).optional(),
})
export type BatchAnswer = z.infer<typeof BatchAnswer>

/** Share of a batch's records, rounded, or a count. */
export interface Amount {
  readonly share?: number | undefined
  readonly count?: number | undefined
}

/** Ways in which an echo can differ from the record sent. */
export const OTHER = ['altered', 'other-account', 'other-id'] as const
type Other = (typeof OTHER)[number]

/** Resolves a share or count of `length` items: at least 1, at most all. */
export function amountOf({ share, count }: Amount, length: number, otherwise: number): number {
  const wanted = share === undefined ? (count ?? otherwise) : Math.round(share * length)
  return Math.min(Math.max(wanted, 1), length)
}

/** Returns the positions of records to store, ascending: at least 1, but not all. `length` is 2 or more. */
export function positionsKept(amount: Amount, length: number, key: readonly number[]): number[] {
  const kept = Math.min(amountOf(amount, length, Math.round(length / 2)), length - 1)
  return orderedBy(length, ...key)
    .slice(0, kept)
    .sort((a, b) => a - b)
}

/** Batch stored only at some positions. */
export interface StoredPart {
  readonly sent: readonly unknown[]
  readonly kept: readonly number[]
  /** Returns the account id of a record's account; undefined if not registered. */
  readonly accountIdOf: (account: unknown) => string | undefined
  readonly makeId: () => string
}

/** Adds an item to `errors` for each record that was not stored. */
export function tellWhich(answer: BatchAnswer, { sent, kept }: StoredPart): BatchAnswer {
  const stored = new Set(kept)
  return accuse(
    answer,
    sent.flatMap((_, position) => (stored.has(position) ? [] : [position])),
  )
}

/** Adds an item to `errors` for the records at these positions. */
export function accuse(answer: BatchAnswer, positions: readonly number[]): BatchAnswer {
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
export function claimAll(
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
export const firstHalf = (text: string): string => text.slice(0, Math.floor(text.length / 2))

/** Returns text of the same length that is not valid JSON: the last character moves to the front. */
export const brokenJson = (text: string): string => text.slice(-1) + text.slice(0, -1)

/** JSON that is no answer of the interface. */
export const OTHER_SHAPE = JSON.stringify({ result: { state: 'done' } })

/** Replaces `data` in an answer, or removes it if undefined. */
export const withData = (text: string, data: null | undefined): string =>
  JSON.stringify({ ...Fields.parse(JSON.parse(text)), data })

/** Replaces the account of the records everywhere in an answer. */
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

/** Yields a JSON document without end, in pieces of about 16 KiB. */
export function* endlessJson(): Generator<string> {
  yield '{"code":200,"message":"200 OK","errors":[],"data":[{}'
  for (;;) yield ',{}'.repeat(5461)
}

/** Answers a partly stored batch, with the fault's treatment of the records not stored. */
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

/** Damages the echo of a batch: changes the order, drops items, doubles items, or adds unknown ones. */
export function damageEcho(
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
