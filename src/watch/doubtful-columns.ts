/** Rules that read a column with another name, and unread columns of a value. Values alone cannot reveal these. */

import { isTable } from '../model/row.ts'
import type { ConditionEntry } from '../transform/catalog.ts'
import type { MappingDefinition } from '../transform/mapping-definition.ts'
import { columnsBeside, partOfRow, REGISTER, registeredAs } from './column-names.ts'
import { isNear, type Suspicion } from './judge-fit.ts'
import { type Dictionary, hasWord, type KnownNames, nameWords } from './names.ts'

/** Finds rules with doubtful columns. Only for wide CSV: paths of JSON are named by their shape. */
export function doubtfulColumns(
  { read, row, biometrics = {}, conditions = {} }: MappingDefinition,
  names: KnownNames,
): Suspicion[] {
  if (!isTable(read.format)) return []
  const { naming, measurements, conditions: diagnoses, words, catalog } = names
  const judge = (
    rule: string,
    key: string,
    column: string | undefined,
    dictionary: Dictionary,
    around: readonly string[],
    isSame: (other: string) => boolean,
  ): Suspicion[] => {
    if (column === undefined) return []
    const name = nameWords(column, naming)
    const match = dictionary.match(name, around)
    const tell = (message: string): Suspicion[] => [{ finding: 'column-doubtful', rule, message }]
    if (match?.kind === 'is' && !match.keys.some((one) => one === key || isSame(one)))
      return tell(`it reads the column "${column}", which names ${match.keys.join(' or ')}`)
    const hints = [...name.outside, ...name.within].filter((word) => hasWord([word], words.otherwise))
    return match?.kind === 'like' && hints.length > 0
      ? tell(`it reads the column "${column}", but "${hints.join(' ')}" suggests something else`)
      : []
  }
  const measured = Array.isArray(biometrics) ? {} : biometrics
  const diagnosed = Array.isArray(conditions) ? {} : conditions
  const { register } = row.account
  return [
    ...REGISTER.flatMap((key) => {
      const written = register?.[key]
      const column = typeof written === 'object' ? wholeColumn(written) : written
      const named = column === undefined ? [] : registeredAs(nameWords(column, naming).words, words)
      if (named.length === 0 || named.includes(key)) return []
      const message = `register.${key} reads the column "${column}", which names ${named.join(' or ')}`
      return [{ finding: 'column-doubtful' as const, rule: null, message }]
    }),
    ...Object.entries(measured).flatMap(([rule, written]) => {
      const [key, column] =
        typeof written === 'string' ? [rule, written] : [written.catalog ?? rule, written.from]
      return judge(rule, key, column, measurements, [], (other) => isNear(key, other))
    }),
    ...Object.entries(diagnosed).flatMap(([rule, { catalog: named, when }]) => {
      const key = named ?? rule
      const [column, ...others] = Object.keys(when)
      const known = catalog.conditions.get(key)
      return judge(
        rule,
        key,
        others.length > 0 ? undefined : column,
        diagnoses,
        words.wide.diagnosed,
        (other) => isKin(known, catalog.conditions.get(other)),
      )
    }),
  ]
}

/** Column of a field, unless the field takes a part of it, such as a word of a full name. */
const wholeColumn = (field: { readonly from?: string | undefined }): string | undefined =>
  ['split', 'extract', 'expression'].some((part) => part in field) ? undefined : field.from

/** Columns whose name belongs to the value of a rule, neither read nor ignored. */
export function unreadBeside(
  { read, row, biometrics = {} }: MappingDefinition,
  unread: readonly string[],
  names: KnownNames,
): Suspicion[] {
  if (!isTable(read.format)) return []
  const rules = Object.entries(biometrics)
  const isIgnored = (column: string): boolean =>
    row.ignore?.includes(column) === true ||
    rules.some(([, rule]) => typeof rule !== 'string' && rule.ignore?.includes(column) === true)
  const ofRow = unread.flatMap((column) => {
    const part = partOfRow(nameWords(column, names.naming), names.words)
    // A remark on a visit rarely voids a value; a remark on a result does.
    const matters = part === 'remark' ? Array.isArray(biometrics) : part !== 'value' || rules.length > 0
    return part === undefined || !matters || isIgnored(column) ? [] : [beside(null, column, OF_ROW[part])]
  })
  if (Array.isArray(biometrics)) return ofRow
  const ofRules = rules.flatMap(([rule, written]) => {
    const {
      catalog = rule,
      ignore = [],
      ...field
    } = typeof written === 'string' ? { from: written } : written
    const of = [field.from ?? field.firstOf ?? field.concat ?? []]
      .flat()
      .filter((one) => typeof one === 'string')
    const left = unread.filter((column) => ![...ignore, ...(row.ignore ?? [])].includes(column))
    const around = new Set(of.flatMap((column) => columnsBeside(column, catalog, left, names)))
    return [...around].map((column) => beside(rule, column, 'belongs to this value'))
  })
  return [...ofRow, ...ofRules]
}

const OF_ROW = {
  remark: 'is a remark on the value',
  value: 'is a flag on values of the row',
  date: 'is a part of the time',
  person: 'separates people of one reference',
  unit: 'is the system of units',
} as const

const beside = (rule: string | null, column: string, why: string): Suspicion => ({
  finding: 'column-beside',
  rule,
  message: `the column "${column}" is not read, though by its name it ${why}: read it, or write ignore: ["${column}"]${rule === null ? ' under row' : ''}`,
})

/** True for conditions of the same ICD-10 category: diabetes, and type 2 diabetes. */
const isKin = (one: ConditionEntry | undefined, other: ConditionEntry | undefined): boolean =>
  one?.icd10 !== undefined && one.icd10.slice(0, 2) === other?.icd10?.slice(0, 2)
