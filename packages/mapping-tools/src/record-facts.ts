/**
 * Record as named facts, each a text: its whole body except ids. Numbers are in the form sent. Facts without a name are named by their
 * path.
 */
import { readJson } from '../../../src/extract/open-json.ts'
import type { Entry, MappedRow } from '../../../src/model/entry.ts'
import type { JsonValue } from '../../../src/model/row.ts'
import { CODE_SYSTEM_OID } from '../../../src/transform/codes.ts'
import { elements, isList, membersOf } from '../../../src/transform/json-values.ts'

export type Facts = Readonly<Record<string, string>>

/** End of a record: `Entry.text` ends with the opening quote of the batch id, inside `source.meta`. */
const REST = '"}}}'

/** Ids, and facts of the row. */
const LEFT_OUT = new Set(['account.reference', 'source.meta.resourceKey', 'source.meta.batchId'])

const NAMES: Readonly<Record<string, string>> = {
  'account.type': 'accountType',
  'source.name': 'source',
  'source.type': 'sourceType',
  'source.notes': 'notes',
  'source.meta.dataQuality': 'dataQuality',
  'source.meta.sendingSystem': 'sendingSystem',
  observationDate: 'observedAt',
}

/** Order of facts; others follow. */
const ORDER = ['value', 'status', 'npi', 'name', 'code', 'codes', 'type', 'observedAt']

const OIDS: Readonly<Record<string, string>> = {
  LOINC: CODE_SYSTEM_OID.LOINC,
  'SNOMED CT': CODE_SYSTEM_OID.SNOMED,
  'ICD-10-CM': CODE_SYSTEM_OID['ICD-10-CM'],
}

export function factsOf(record: Pick<Entry, 'text' | 'primary'>): Facts {
  const read = readJson(`{${record.text.replace(/^,/, '')}${REST}`)
  if (!('value' in read)) throw new TypeError(`a record's content is ${read.problem}`)
  const { name, code, codeSystem, codeSystemName, codes, value, unit, ...rest } = membersOf(read.value)
  const facts = new Map<string, string>()
  const add = (fact: string, part: JsonValue | undefined): void => {
    if (part !== undefined) facts.set(fact, textOf(part))
  }
  add('value', value === undefined || unit === undefined ? value : `${textOf(value)} ${textOf(unit)}`)
  if (value === undefined) add('unit', unit)
  add('name', name)
  const main = { code, codeSystem, codeSystemName, name }
  if (code !== undefined) add('code', codeText(main, name))
  const all = elements(codes ?? null)
    .map((one) => codeText(membersOf(one), name))
    .join(', ')
  if (all !== (facts.get('code') ?? '')) add('codes', all)
  for (const [path, part] of leaves(rest)) {
    if (!LEFT_OUT.has(path)) facts.set(NAMES[path] ?? path, part)
  }
  const date = facts.get('observedAt')
  if (date !== undefined && /^-?\d+$/.test(date))
    facts.set('observedAt', new Date(Number(date)).toISOString())
  if (record.primary) facts.set('primary', 'true')
  return inOrder(facts)
}

export function inOrder(facts: Iterable<readonly [string, string]>): Facts {
  const rank = (fact: string): number => (ORDER.includes(fact) ? ORDER.indexOf(fact) : ORDER.length)
  return Object.fromEntries([...facts].sort(([a], [b]) => rank(a) - rank(b)))
}

/** `LOINC 8480-6`, with the OID of an unknown system, and a name that differs from the record's. */
function codeText(
  { code, codeSystem, codeSystemName, name }: Readonly<Record<string, JsonValue | undefined>>,
  recordName: JsonValue | undefined,
): string {
  const system = textOf(codeSystemName ?? '')
  const oid = textOf(codeSystem ?? '')
  const parts = [system, OIDS[system] === oid ? '' : oid, textOf(code ?? '')]
  const named = name === recordName ? '' : `(${textOf(name ?? '')})`
  return [...parts, named].filter((part) => part !== '').join(' ')
}

const textOf = (value: JsonValue): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** Lists all values except objects, with their paths. */
function leaves(value: Readonly<Record<string, JsonValue>>, path = ''): [string, string][] {
  return Object.entries(value).flatMap(([key, part]): [string, string][] => {
    const at = path === '' ? key : `${path}.${key}`
    if (typeof part === 'object' && part !== null && !isList(part)) return leaves(membersOf(part), at)
    return [[at, textOf(part)]]
  })
}

/** Registration data without the reference, or the reason code of its failure. */
export function registration(row: MappedRow): string | Record<string, string> | undefined {
  const draft = row.register()
  if (draft === undefined) return undefined
  if (!draft.ok) return draft.issue.code
  const { partnerAccountId: _reference, ...fields } = draft.registration
  return fields
}
