import { z } from 'zod'
import { orderedBy } from './keyed-chance.ts'

/** The answer to a batch; its other fields are kept as they are. */
export const BatchAnswer = z.looseObject({
  code: z.union([z.int(), z.string()]),
  data: z.array(z.unknown()),
  errors: z.array(z.unknown()).optional(),
})
export type BatchAnswer = z.infer<typeof BatchAnswer>

/** How many of `length` a share or a count means: at least one, at most all. */
export function amountOf(
  { share, count }: { readonly share?: number | undefined; readonly count?: number | undefined },
  length: number,
  otherwise: number,
): number {
  const wanted = share === undefined ? (count ?? otherwise) : Math.round(share * length)
  return Math.min(Math.max(wanted, 1), length)
}

/**
 * Positions of the records of a batch that are stored, ascending: at least one, and at least one is not. `length` is 2 or more.
 */
export function positionsKept(
  amount: { readonly share?: number | undefined; readonly count?: number | undefined },
  length: number,
  key: readonly number[],
): number[] {
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
    ...{ code: answer.code, message: `records[${position}]: not stored`, position },
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
