import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { answerError, MOST_FAULTS, Refusal } from './refusal.ts'

/**
 * An item of the inner envelope's `errors[]` (section "Errors": the integers 0 and 1 occur). Which of them means what is
 * our choice: 0 what is required is missing, null or empty; 1 what is there cannot be used.
 */
export interface RequesterFault {
  readonly code: 0 | 1
  /** Names the field, the block and its position from 1. Never holds a value that was sent. */
  readonly message: string
}

/**
 * The body that section "Errors" has a table for: `message`, and the same text in `errors[]`, are a failure phrase
 * followed by the inner envelope serialised as text.
 */
export function wrappedBody(phrase: string, faults: readonly RequesterFault[]) {
  const message = `${phrase}: ${JSON.stringify({ code: 400, message: '400 BAD REQUEST', errors: faults })}`
  return { code: 400, message, errors: [{ code: 400, message, exception: null }] }
}

/** Section "Errors", "a bare 400 body": `message` is the text of the first fault. */
export function bareBody(faults: readonly RequesterFault[]) {
  return { code: 400, message: faults[0]?.message ?? '400 BAD REQUEST', errors: faults }
}

/**
 * Refuses a call of the requester with 400. The wrapped form tells of what is wrong inside a request; the bare one,
 * without a failure phrase, of a body that cannot be read as requests and of missing blocks.
 */
export class RequesterRefusal extends Refusal {
  readonly phrase: string | undefined
  readonly reasons: readonly RequesterFault[]

  constructor(phrase: string | undefined, reasons: readonly RequesterFault[]) {
    super(400, reasons)
    this.phrase = phrase
    this.reasons = reasons
  }
}

/** As `answerError`, with the requester's bodies for every 400: also for JSON, headers and paths that cannot be read. */
export function answerRequesterError(
  error: FastifyError | Refusal,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  if (error instanceof RequesterRefusal && error.phrase !== undefined) {
    reply.code(400).send(wrappedBody(error.phrase, error.reasons))
  } else if (error instanceof RequesterRefusal) {
    reply.code(400).send(bareBody(error.reasons))
  } else if (error instanceof Refusal && error.status === 400) {
    reply.code(400).send(bareBody(error.faults.map(({ message }) => ({ code: 1, message }))))
  } else if (!(error instanceof Refusal) && error.statusCode === 400) {
    reply.code(400).send(bareBody([{ code: 1, message: error.message }]))
  } else {
    answerError(error, request, reply)
  }
}

/** What is wrong with an item of an array that was sent. */
export interface ItemFault extends RequesterFault {
  /** A whole block is not there: this is told in the bare form. */
  readonly missingBlock?: true
}

/** Where an item stands, counted from 1: `request 2 of 3`. */
export const placeOf = (item: 'request' | 'filter', index: number, count: number) =>
  `${item} ${index + 1} of ${count}`

/** A field of a block that cannot be used, and why. */
export const fieldFault = (block: string, field: string, place: string, why: string): ItemFault => ({
  code: 1,
  message: `the ${block} ${field} cannot be used (${why}) in the ${block} block of ${place}`,
})

/** An issue of zod, gathered with `reportInput`, which tells what is missing from what is wrong; it is never shown. */
type Issue = z.core.$ZodIssue

const isEmpty = ({ input }: Issue) => input === undefined || input === null || input === ''

/** Code and words for an issue; zod's texts name types and forms, never what was sent. */
function problemOf(issue: Issue): { readonly code: 0 | 1; readonly problem: string } {
  return isEmpty(issue)
    ? { code: 0, problem: 'is null or empty' }
    : { code: 1, problem: `cannot be used (${issue.message})` }
}

/** An issue of an item with its field, its block and its place: "with the position of the block in the array". */
export function itemFault(issue: Issue, place: string): ItemFault {
  const { code, problem } = problemOf(issue)
  const [block, ...rest] = issue.path.map(String)
  const field = rest.join('.')
  if (block === undefined) return { code, message: `${place} ${problem}` }
  if (block === 'referenceNumber') return { code, message: `the ${block} of ${place} ${problem}` }
  if (field !== '')
    return { code, message: `the ${block} ${field} ${problem} in the ${block} block of ${place}` }
  return code === 0
    ? { code, message: `the ${block} block of ${place} is missing`, missingBlock: true }
    : { code, message: `the ${block} block of ${place} ${problem}` }
}

/** An issue of a filter: what is wrong with its patient block "asks that the patient block has a valid search parameter". */
export function filterFault(issue: Issue, place: string): ItemFault {
  const [block, ...rest] = issue.path.map(String)
  if (block !== 'patient') return itemFault(issue, place)
  const why = rest.length === 0 ? '' : ` (${rest.join('.')} ${problemOf(issue).problem})`
  return {
    code: 0,
    message: `make sure that the patient block has a valid search parameter in ${place}${why}`,
  }
}

/** An issue of a search outside its filters. */
export function searchFault(issue: Issue): ItemFault {
  const { code, problem } = problemOf(issue)
  const field = issue.path.map(String).join('.')
  return { code, message: `${field === '' ? 'the search' : `the ${field} of the search`} ${problem}` }
}

/** Reads items one by one, and no further than an answer lists faults. Refuses where there is any. */
export function readItems<Item>(
  items: readonly unknown[],
  schema: z.ZodType<Item>,
  phrase: string,
  faultOf: (issue: Issue, index: number) => ItemFault,
): Item[] {
  const faults: ItemFault[] = []
  const read: Item[] = []
  for (const [index, item] of items.entries()) {
    const result = schema.safeParse(item, { reportInput: true })
    if (result.success) read.push(result.data)
    else for (const issue of result.error.issues.slice(0, MOST_FAULTS)) faults.push(faultOf(issue, index))
    if (faults.length >= MOST_FAULTS) break
  }
  refuseAny(phrase, faults)
  return read
}

/** Refuses where there is a fault, in the bare form where a block is missing. */
export function refuseAny(phrase: string, faults: readonly ItemFault[]): void {
  if (faults.length === 0) return
  const bare = faults.some(({ missingBlock }) => missingBlock === true)
  throw new RequesterRefusal(
    bare ? undefined : phrase,
    faults.slice(0, MOST_FAULTS).map(({ code, message }) => ({ code, message })),
  )
}
