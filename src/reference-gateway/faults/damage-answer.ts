import { hash } from 'node:crypto'
import { z } from 'zod'
import type { FaultOf, Other } from './fault-plan.ts'
import { orderedBy } from './keyed-chance.ts'
import { accuse, amountOf, type BatchAnswer, claimAll, type StoredPart, tellWhich } from './part-of-batch.ts'

const Fields = z.record(z.string(), z.unknown())

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
  { say }: FaultOf<'store-part'>,
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
export function damageEcho(answer: BatchAnswer, fault: FaultOf<'echo'>, key: readonly number[]): unknown {
  const { data } = answer
  if (data.length === 0) return answer
  const order = orderedBy(data.length, ...key)
  const chosen = new Set(order.slice(0, amountOf(fault, data.length, 1)))
  switch (fault.as) {
    case 'shuffled':
      return { ...answer, data: moved(order).map((position) => data[position]) }
    case 'missing':
      return { ...answer, data: data.filter((_, position) => !chosen.has(position)) }
    case 'doubled':
      return {
        ...answer,
        data: data.flatMap((item, position) => (chosen.has(position) ? [item, item] : [item])),
      }
    case 'foreign':
      return {
        ...answer,
        data: data.flatMap((item, position) =>
          chosen.has(position) ? [item, othered(item, 'other-id', [...key, position])] : [item],
        ),
      }
    case 'accused':
      return accuse(answer, [...chosen])
    default: {
      const { as } = fault
      return {
        ...answer,
        data: data.map((item, position) =>
          chosen.has(position) ? othered(item, as, [...key, position]) : item,
        ),
      }
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
