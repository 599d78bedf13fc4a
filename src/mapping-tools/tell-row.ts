/**
 * What became of a row, as cases tell it. In full, every record has all of its facts; folded, it has those alone that do not
 * stand at the top of the file (`always`, `rules`) or with the row (`observedAt`). Full and folded say the same.
 */
import type { MappedRow, RowOutcome, Warning } from '../model/record.ts'
import type { CaseFile, ToldRow } from './cases.ts'
import { type Facts, factsOf, inOrder } from './record-facts.ts'

/** Facts that are told once for many records. */
export type Shared = Pick<CaseFile, 'always' | 'rules'>

/** A row in full. */
export interface FullRow extends Omit<ToldRow, 'records' | 'observedAt'> {
  readonly records?: Readonly<Record<string, Facts>>
}

/** A shared fact that a record does not have. */
const ABSENT = '(absent)'

export function fullRow(outcome: RowOutcome): FullRow {
  if (outcome.outcome === 'skipped')
    return { outcome: 'skipped', reason: outcome.reason, ...warned(outcome.warnings) }
  if (outcome.outcome === 'rejected') return { outcome: 'rejected', reason: outcome.issue.code }
  const { key, account, records, rejected } = outcome
  const register = registration(outcome)
  return {
    outcome: 'mapped',
    key,
    account: account.reference,
    ...(register === undefined ? {} : { register }),
    ...(records.length === 0
      ? {}
      : { records: Object.fromEntries(records.map((record) => [record.rule, factsOf(record)])) }),
    ...(rejected.length === 0
      ? {}
      : { rejected: Object.fromEntries(rejected.map(({ rule, issue }) => [rule, issue.code])) }),
    ...warned(outcome.warnings),
  }
}

const warned = (warnings: readonly Warning[]): Pick<FullRow, 'warnings'> =>
  warnings.length === 0
    ? {}
    : { warnings: warnings.map(({ rule, issue }) => `${rule ?? 'row'}: ${issue.code}`) }

/** Registration data, or the reason code why it cannot be made; the reference of the person is told with the row. */
export function registration(row: MappedRow): string | Record<string, string> | undefined {
  const draft = row.register()
  if (draft === undefined) return undefined
  if (!draft.ok) return draft.issue.code
  const { partnerAccountId: _reference, ...told } = draft.registration
  return told
}

/** The name of a rule without the ordinal that long and nested rules give their records. */
export const withoutOrdinal = (rule: string): string => rule.replace(/-\d+$/, '')

/** The facts that a record of this rule has from the top of the file. */
function sharedFacts({ always, rules = {} }: Shared, rule: string): Facts {
  return { ...always, ...(rules[rule] ?? rules[withoutOrdinal(rule)]) }
}

export function foldRow(row: FullRow, shared: Shared): ToldRow {
  const { records, rejected, ...told } = row
  const observedAt = mostCommon(Object.values(records ?? {}).flatMap((facts) => facts['observedAt'] ?? []))
  const folded = Object.entries(records ?? {}).map(([rule, facts]) => {
    const elsewhere = {
      ...sharedFacts(shared, rule),
      ...(observedAt === undefined ? {} : { observedAt }),
    }
    return [rule, foldRecord(facts, elsewhere)] as const
  })
  return {
    ...told,
    ...(observedAt === undefined ? {} : { observedAt }),
    ...(records === undefined ? {} : { records: Object.fromEntries(folded) }),
    ...(rejected === undefined ? {} : { rejected }),
  }
}

function foldRecord(facts: Facts, elsewhere: Facts): string | Facts {
  const own = Object.entries(facts).filter(([fact, text]) => elsewhere[fact] !== text)
  const absent = Object.keys(elsewhere).filter((fact) => facts[fact] === undefined)
  const told = inOrder([...own, ...absent.map((fact) => [fact, ABSENT] as const)])
  const [[fact, text] = [], another] = Object.entries(told)
  const alone = another === undefined && (fact === 'value' || fact === 'status')
  return alone && text !== undefined ? text : told
}

/** What a file tells, in full. */
export function unfoldRow(told: ToldRow, shared: Shared): FullRow {
  const { records, observedAt, ...row } = told
  if (records === undefined) return row
  const unfolded = Object.entries(records).map(([rule, record]) => {
    const own = typeof record === 'string' ? { value: record } : record
    const dated = observedAt === undefined ? {} : { observedAt }
    const facts = Object.entries({ ...sharedFacts(shared, rule), ...dated, ...own })
    return [rule, inOrder(facts.filter(([, text]) => text !== ABSENT))] as const
  })
  return { ...row, records: Object.fromEntries(unfolded) }
}

function mostCommon(texts: readonly string[]): string | undefined {
  const counts = new Map<string, number>()
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1)
  return [...counts].reduce<[string, number] | undefined>(
    (best, one) => (best === undefined || one[1] > best[1] ? one : best),
    undefined,
  )?.[0]
}
