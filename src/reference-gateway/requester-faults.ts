import type { z } from 'zod'
import { MOST_FAULTS } from './refusal.ts'
import { type RequesterFault, RequesterRefusal } from './requester-refusal.ts'

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
