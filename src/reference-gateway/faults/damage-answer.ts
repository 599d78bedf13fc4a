import { hash } from 'node:crypto'
import { z } from 'zod'
import type { FaultOf } from './fault-plan.ts'
import { orderedBy } from './keyed-chance.ts'
import { amountOf, type BatchAnswer } from './part-of-batch.ts'

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
    case 'altered':
      return {
        ...answer,
        data: data.map((item, position) => (chosen.has(position) ? altered(item) : item)),
      }
    case 'foreign':
      return {
        ...answer,
        data: data.flatMap((item, position) =>
          chosen.has(position) ? [item, stranger(item, [...key, position])] : [item],
        ),
      }
  }
}

/** An order that is never the one that was sent, where there are two or more. */
function moved(order: readonly number[]): readonly number[] {
  const unmoved = order.every((position, at) => position === at)
  return unmoved ? [...order.slice(1), ...order.slice(0, 1)] : order
}

/** Names of the fields that an echo is matched by, wherever in the item they stand. */
const IDS = new Set(['id', 'transactionId', 'referenceNumber', 'persistentRecordId', 'npi'])

/** An item like the one given, with ids that nobody sent. */
function stranger(item: unknown, key: readonly number[]): unknown {
  const fields = Fields.safeParse(item).data
  if (fields === undefined) return item
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      IDS.has(name) ? `foreign-${hash('sha256', JSON.stringify(key)).slice(0, 16)}` : stranger(value, key),
    ]),
  )
}

/** The item with another value, or another name where it has none. */
function altered(item: unknown): unknown {
  const fields = Fields.safeParse(item).data
  if (fields === undefined) return item
  const { value } = fields
  return typeof value === 'number' ? { ...fields, value: value + 1 } : { ...fields, name: 'another' }
}
