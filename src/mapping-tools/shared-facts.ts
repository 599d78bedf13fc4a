/** Finds what many records of a case file have in common, so that it can be told once at its top. */
import type { Facts } from './record-facts.ts'
import { type FullRow, type Shared, withoutOrdinal } from './tell-row.ts'

/** What a mapping says once for all of its records. */
const OF_ALL = ['accountType', 'source', 'sourceType', 'sendingSystem', 'dataQuality', 'notes']

/** What a code of the catalog is sent as. */
const OF_CODE = ['name', 'code', 'codes', 'type']

export function sharedBy(rows: readonly FullRow[]): Shared {
  const records = rows.flatMap((row) =>
    Object.entries(row.records ?? {}).map(([rule, facts]) => ({ rule, facts, row })),
  )
  if (records.length === 0) return {}
  const [first] = records
  const always = Object.entries(pick(first?.facts ?? {}, OF_ALL)).filter(([fact, text]) =>
    records.every(({ facts }) => facts[fact] === text),
  )
  const rules = new Map<string, Facts>()
  for (const { rule, facts, row } of records) {
    if (facts['codes'] === undefined && facts['code'] === undefined) continue
    const label = isOrdinal(rule, row) ? withoutOrdinal(rule) : rule
    if (!rules.has(label)) rules.set(label, pick(facts, OF_CODE))
  }
  return {
    ...(always.length === 0 ? {} : { always: Object.fromEntries(always) }),
    ...(rules.size === 0 ? {} : { rules: Object.fromEntries(rules) }),
  }
}

const pick = (facts: Facts, names: readonly string[]): Facts =>
  Object.fromEntries(Object.entries(facts).filter(([fact]) => names.includes(fact)))

/** Ordinals count from 1, so `hba1c-2` is one where there is a `hba1c-1`; `vitamin-b-12` is not. */
function isOrdinal(rule: string, row: FullRow): boolean {
  const ordinal = Number(/-(\d+)$/.exec(rule)?.[1] ?? '0')
  const before = `${withoutOrdinal(rule)}-${ordinal - 1}`
  return ordinal === 1 || (ordinal > 1 && before in { ...row.records, ...row.rejected })
}
