import { z } from 'zod'
import { textOf } from '../json-body.ts'
import type { FaultOf } from './fault-plan.ts'
import { drawnBy } from './keyed-chance.ts'

const Named = z.looseObject({
  transactionId: z.string().optional().catch(undefined),
  referenceNumber: z.string().optional().catch(undefined),
  source: z
    .looseObject({ meta: z.looseObject({ persistentRecordId: z.string() }) })
    .optional()
    .catch(undefined),
})

/** What stays of a record when it is sent again in another batch: its own id, else all of it. */
function identityOf(record: unknown): string {
  const { data } = Named.safeParse(record)
  const { transactionId, referenceNumber, source } = data ?? {}
  return transactionId ?? referenceNumber ?? source?.meta.persistentRecordId ?? textOf(record)
}

/** The value at a dotted path: `source.meta.batchId`, `codes.0.code`. */
function valueAt(record: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((value, key) => {
    return typeof value === 'object' && value !== null
      ? Object.entries(value).find(([name]) => name === key)?.[1]
      : undefined
  }, record)
}

type Fields = Readonly<Record<string, unknown>>

const holds = (record: unknown, fields: Fields): boolean =>
  Object.entries(fields).every(([path, value]) => valueAt(record, path) === value)

/** Whether a request is about it: its body, a record of its body, or its query holds the values. */
export function isAbout(fields: Fields, body: unknown, url: string): boolean {
  const query = Object.fromEntries(new URLSearchParams(url.split('?')[1]))
  return [body, query].flat().some((record) => holds(record, fields))
}

/** Positions of the records of a batch that the fault holds for poisoned. `index` is the fault's place in the plan. */
export function poisonedPositions(
  { record: fields, share = 0 }: FaultOf<'poison'>,
  seed: number,
  index: number,
  batch: readonly unknown[],
): number[] {
  const isPoisoned = (record: unknown): boolean =>
    fields === undefined ? drawnBy(seed, index, identityOf(record)) < share : holds(record, fields)
  return batch.flatMap((record, position) => (isPoisoned(record) ? [position] : []))
}
