/** Outcomes of two mappings for the same rows, counted by rule, with a few examples. */
import { isDeepStrictEqual } from 'node:util'
import type { OpenExport } from '../../../src/extract/open-export.ts'
import type { ReadDefinition } from '../../../src/extract/read-definition.ts'
import type { RowOutcome } from '../../../src/model/entry.ts'
import { isTable, type Row } from '../../../src/model/row.ts'
import { type Facts, factsOf, registration } from './record-facts.ts'

/** Changes of a rule. A record rejected before and made now counts as added; the reverse as removed. */
export interface RuleDifference {
  added: number
  removed: number
  changed: number
  /** No record before and after, but a different or missing rejection. */
  reason: number
}

export type Change = readonly [before: string | null, after: string | null]

export interface DifferenceExample {
  readonly row: number
  readonly line: number
  /** `register` for registration data; null for the outcome of the row. */
  readonly rule: string | null
  readonly change: keyof RuleDifference | 'outcome'
  readonly facts: Readonly<Record<string, Change>>
}

export interface Difference {
  readonly rows: { readonly read: number; readonly different: number }
  readonly outcomes: readonly { readonly before: string; readonly after: string; readonly rows: number }[]
  readonly rules: Readonly<Record<string, RuleDifference>>
  readonly examples: readonly DifferenceExample[]
}

/** Row that a mapping does not read as a row. */
const NO_ROW = 'no row'

export interface OutcomeComparison {
  add(before: RowOutcome | undefined, after: RowOutcome | undefined): void
  result(): Difference
}

/** Creates a comparison. @param exampleLimit maximum number of examples to keep */
export function createComparison(exampleLimit: number): OutcomeComparison {
  const rows = { read: 0, different: 0 }
  const outcomes = new Map<string, { before: string; after: string; rows: number }>()
  const rules = new Map<string, RuleDifference>()
  const examples: DifferenceExample[] = []

  const compareRules = (row: RowOutcome, old: Products, now: Products, show: boolean): boolean => {
    let different = false
    for (const rule of new Set([...old.keys(), ...now.keys()])) {
      const [before, after] = [old.get(rule), now.get(rule)]
      if (before?.text === after?.text) continue
      different = true
      const change = changeOf(before, after)
      const counts = rules.get(rule) ?? { added: 0, removed: 0, changed: 0, reason: 0 }
      counts[change] += 1
      rules.set(rule, counts)
      if (!show || examples.length >= exampleLimit) continue
      const facts = changedFacts(before?.facts() ?? {}, after?.facts() ?? {})
      examples.push({ row: row.row, line: row.line, rule, change, facts })
    }
    return different
  }

  return {
    add(before, after) {
      const row = before ?? after
      if (row === undefined) return
      rows.read += 1
      const [old, now] = [outcomeText(before), outcomeText(after)]
      if (old !== now) {
        const counted = outcomes.get(`${old}\n${now}`) ?? { before: old, after: now, rows: 0 }
        counted.rows += 1
        outcomes.set(`${old}\n${now}`, counted)
        if (examples.length < exampleLimit)
          examples.push({
            row: row.row,
            line: row.line,
            rule: null,
            change: 'outcome',
            facts: { outcome: [old, now] },
          })
      }
      const different = compareRules(row, products(before), products(after), old === now)
      if (old !== now || different) rows.different += 1
    },
    result: () => ({ rows, outcomes: [...outcomes.values()], rules: Object.fromEntries(rules), examples }),
  }
}

/** Result of a rule for a row; equal texts mean equal results. */
interface Product {
  readonly text: string
  readonly made: boolean
  readonly facts: () => Facts
}
type Products = ReadonlyMap<string, Product>

function products(outcome: RowOutcome | undefined): Products {
  const found = new Map<string, Product>()
  if (outcome?.outcome !== 'mapped') return found
  const { account, key, records, rejected } = outcome
  for (const record of records) {
    const facts = () => ({ ...factsOf(record), account: account.reference, key })
    found.set(record.rule, { text: `${record.primary} ${record.text}`, made: true, facts })
  }
  for (const { rule, issue } of rejected) found.set(rule, refused(issue.code))
  const register = registration(outcome)
  if (typeof register === 'string') found.set('register', refused(register))
  else if (register !== undefined)
    found.set('register', { text: JSON.stringify(register), made: true, facts: () => register })
  return found
}

const refused = (code: string): Product => ({ text: code, made: false, facts: () => ({ rejected: code }) })

function changeOf(before: Product | undefined, after: Product | undefined): keyof RuleDifference {
  if (before?.made && after?.made) return 'changed'
  if (after?.made) return 'added'
  return before?.made ? 'removed' : 'reason'
}

function changedFacts(before: Facts, after: Facts): Record<string, Change> {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
  return Object.fromEntries(
    names
      .filter((name) => before[name] !== after[name])
      .map((name) => [name, [before[name] ?? null, after[name] ?? null] as const]),
  )
}

function outcomeText(outcome: RowOutcome | undefined): string {
  if (outcome === undefined) return NO_ROW
  if (outcome.outcome === 'mapped') return 'mapped'
  return outcome.outcome === 'skipped' ? `skipped ${outcome.reason}` : `rejected ${outcome.issue.code}`
}

/** Rows of both readings; undefined if a reading has fewer rows. */
export type RowPair = readonly [before: Row | undefined, after: Row | undefined]

export interface Reading {
  readonly read: ReadDefinition
  readonly opened: OpenExport
}

/** Yields rows of both readings. Equal readings read the export once; other readings are paired by place. */
export async function* rowPairs(before: Reading, after: Reading): AsyncGenerator<readonly RowPair[]> {
  if (isDeepStrictEqual(before.read, after.read)) {
    for await (const block of before.opened.rows()) yield block.map((row) => [row, row] as const)
    return
  }
  const old = singly(before.opened.rows())
  const now = singly(after.opened.rows())
  // Offsets count decoded content. A CSV in two encodings can only be compared by line.
  const byLine = isTable(before.read.format) && isTable(after.read.format)
  const placeOf = (row: Row | undefined): number =>
    row === undefined ? Number.POSITIVE_INFINITY : byLine ? row.line : row.byteOffset
  try {
    let [one, other] = [await next(old), await next(now)]
    while (one !== undefined || other !== undefined) {
      const lead = placeOf(one) - placeOf(other)
      yield [[lead > 0 ? undefined : one, lead < 0 ? undefined : other]]
      if (!(lead > 0)) one = await next(old)
      if (!(lead < 0)) other = await next(now)
    }
  } finally {
    await Promise.all([old.return(undefined), now.return(undefined)])
  }
}

const next = async (rows: AsyncGenerator<Row, undefined>): Promise<Row | undefined> =>
  (await rows.next()).value

async function* singly(blocks: AsyncIterable<readonly Row[]>): AsyncGenerator<Row, undefined> {
  for await (const block of blocks) yield* block
  return undefined
}
