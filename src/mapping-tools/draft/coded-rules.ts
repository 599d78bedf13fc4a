/**
 * Rules for rows, or elements of JSON, that are one finding each, told by a code: measurements and conditions. A code is of a
 * system of the catalog, or a vendor's own, matched by what it is called.
 */

import {
  type CodeSystem,
  icd9WithPoint,
  icd10WithPoint,
  isIcd9Cm,
  isIcd10Cm,
  isLoinc,
  isSnomed,
} from '../../transform/codes.ts'
import { namesPerson } from './match-persons.ts'
import type { Matches } from './match-wide.ts'
import { isCalled, nameWords, type Vocabulary, type Words } from './names.ts'
import { type ColumnProfile, MOST } from './profile-columns.ts'
import { type DraftLine, decide, line, list, scalar } from './write-draft.ts'

const FORMS: Readonly<Record<CodeSystem, (code: string) => boolean>> = {
  LOINC: isLoinc,
  SNOMED: isSnomed,
  'ICD-10-CM': (code) => isIcd10Cm(icd10WithPoint(code)),
  'ICD-9-CM': (code) => isIcd9Cm(icd9WithPoint(code)),
}
/** Not ICD-9-CM: most numbers of three digits have its form. */
const SYSTEMS = ['LOINC', 'SNOMED', 'ICD-10-CM'] as const

/** Whether most of the codes, where there are any, have the form of a system. */
export const areOf = (system: CodeSystem, codes: readonly string[]): boolean =>
  codes.filter(FORMS[system]).length >= codes.length * MOST

/** How a code is read, with what is known of those in the sample. */
export interface ReadCode {
  readonly code: string
  readonly notes: readonly DraftLine[]
  /** Catalog keys of codes that occur. */
  readonly found: readonly string[]
}

/** Codes of a system of the catalog. */
export function systemCode(
  path: string,
  system: CodeSystem,
  codes: readonly string[],
  { catalog }: Vocabulary,
): ReadCode {
  const found = new Set(codes.flatMap((code) => catalog.keyOf(system, code) ?? []))
  const others = codes.filter((code) => catalog.keyOf(system, code) === undefined)
  return {
    code: `{ from: ${scalar(path)}, system: ${system}, unknown: skip }`,
    notes: leftOut(others, FORMS[system]),
    found: [...found],
  }
}

const MOST_NAMED = 20

/**
 * What is left out, with counts, the most frequent first.
 * @param mayBeTold of a text; others could be anything, and are counted alone
 */
function leftOut(codes: readonly string[], mayBeTold: (code: string, count: number) => boolean): DraftLine[] {
  if (codes.length === 0) return []
  const counts = [...Map.groupBy(codes, (code) => code)]
    .map(([code, { length }]) => ({ code, count: length }))
    .sort((a, b) => b.count - a.count)
  const named = counts.filter(({ code, count }) => mayBeTold(code, count)).slice(0, MOST_NAMED)
  const rest = counts.length - named.length
  const told = [
    ...named.map(({ code, count }) => `${code} (${count})`),
    ...(rest === 0 ? [] : [`${rest} other codes were not matched`]),
  ]
  return [decide(`these are left out (unknown: skip), with how often they stand there: ${told.join(', ')}.`)]
}

/** Codes whose names say more than what they are like: `HDL Cholesterol (CAD)`. */
function perhaps(likely: readonly (readonly [code: string, key: string])[]): DraftLine[] {
  if (likely.length === 0) return []
  const named = likely.slice(0, MOST_NAMED).map(([code, key]) => `${JSON.stringify(code)}: ${key}`)
  const rest = likely.length - named.length
  const more = rest === 0 ? '' : `, and ${rest} more`
  return [
    decide(
      `which of these belong in the table? Their names hold words that are unknown here: ${named.join(', ')}${more}.`,
    ),
  ]
}

/** A vendor's own codes or names of tests, through a table that turns those which are recognised into catalog keys. */
export interface TableCode extends ReadCode {
  readonly known: number
  readonly unknown: number
}

/** @param codes each with what it is called, which goes first */
export function tableCode(
  path: string,
  codes: Iterable<readonly [code: string, name: string]>,
  { measurements, naming }: Vocabulary,
): TableCode {
  const known: [string, string][] = []
  const all = [...codes]
  const seen = new Map<string, string>()
  for (const [code, name] of all) if (!seen.has(code)) seen.set(code, name)
  const likely: [string, string][] = []
  for (const [code, name] of seen) {
    const matches = [name, code].flatMap((text) => measurements.match(nameWords(text, naming)) ?? [])
    const [match] = matches
    const [key, another] = match?.kind === 'is' && match.ordinal === 1 ? match.keys : []
    const [like, other] = matches.find(({ kind }) => kind === 'like')?.keys ?? []
    if (another === undefined && key !== undefined) known.push([code, key])
    else if (other === undefined && like !== undefined) likely.push([code, like])
  }
  const told = new Set([...known, ...likely].map(([code]) => code))
  const others = all.flatMap(([code]) => (told.has(code) ? [] : [code]))
  const table = known.map(([code, key]) => `${JSON.stringify(code)}: ${key}`).join(', ')
  return {
    code: `{ from: ${scalar(path)}, unknown: skip, table: { ${table} } }`,
    // What stands there once could be anything.
    notes: [...perhaps(likely), ...leftOut(others, (code, count) => count > 1 && code.length <= 40)],
    found: [...new Set(known.map(([, key]) => key))],
    known: known.length,
    unknown: seen.size - known.length,
  }
}

/** Where the parts of a result stand: columns or paths. */
export interface ResultParts {
  /** Parts, one behind the other. */
  readonly value: readonly string[]
  /** A value of another form, which has no unit. */
  readonly score?: string | undefined
  readonly hasSubIds?: boolean
  /** What is odd about the values. */
  readonly odd?: string | undefined
  readonly unit: string | undefined
  readonly range: string | undefined
  readonly status: { readonly path: string; readonly states: readonly string[] } | undefined
}

/** The rule for results, below the notes on its code. */
export function resultLines(
  { code, notes }: ReadCode,
  { value, odd, score, unit, range, status, hasSubIds = false }: ResultParts,
  words: Words,
): DraftLine[] {
  const [only, another] = value
  const whole = another === undefined ? only && scalar(only) : `{ concat: ${list(value)} }`
  const constant = '{ constant: "{score}" }'
  return [
    ...notes,
    line(`- code: ${code}`),
    line(`  value: ${firstOf(whole, score && scalar(score))}`, odd),
    unit === undefined && score === undefined
      ? line('  unit: { constant: mg/dL }', 'DECIDE: no units were found')
      : line(`  unit: ${firstOf(unit && scalar(unit), score && constant)}`),
    ...(range === undefined ? [] : [line(`  refRange: ${scalar(range)}`)]),
    ...(status === undefined ? [] : [statusLine(status, words)]),
    ...(hasSubIds ? [line('  ignore: [OBX-4]', 'DECIDE: do sub-ids change what a value means?')] : []),
  ]
}

const firstOf = (...fields: readonly (string | undefined)[]): string => {
  const there = fields.filter((field) => field !== undefined)
  return there.length > 1 ? `{ firstOf: [${there.join(', ')}] }` : there.join()
}

function statusLine({ path, states }: NonNullable<ResultParts['status']>, { cells }: Words): DraftLine {
  // As the vendor writes them: all where one that is final is seen, since few samples have one that is corrected or withdrawn.
  const final = stylesOf(cells.finalLetters, cells.final)
  const seen = final.flatMap((words, style) => (words.some((word) => states.includes(word)) ? [style] : []))
  const keep = seen.flatMap((style) => final[style] ?? [])
  const takenBack = stylesOf(cells.withdrawnLetters, cells.withdrawn)
  const withdrawn = (keep.length === 0 ? [0] : seen).flatMap((style) => takenBack[style] ?? [])
  const kept = list(keep.length === 0 ? ['F'] : keep)
  const written = `status: { from: ${scalar(path)}, keep: ${kept}, withdrawn: ${list(withdrawn)} }`
  if (keep.length === 0) return decide(`which states are final? ${written}`)
  const known = [...cells.final, ...cells.finalLetters, ...cells.notFinal, ...cells.notFinalLetters]
  const [others] = leftOut(
    states.filter((state) => !keep.includes(state)),
    (state) => known.includes(state.toLowerCase()) || known.includes(state),
  )
  return line(`  ${written}`, others?.note)
}

/** In the letters of HL7, and as words in small letters, with a capital and in capitals. */
const stylesOf = (letters: readonly string[], words: readonly string[]): (readonly string[])[] => [
  letters,
  words,
  words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)),
  words.map((word) => word.toUpperCase()),
]

/** Whether all texts of a column are states of results, and more than letters that stand for anything. */
export function holdsStates({ distinct }: ColumnProfile, { cells }: Words): boolean {
  const words = [...cells.final, ...cells.notFinal]
  const letters = [...cells.finalLetters, ...cells.notFinalLetters]
  const texts = [...distinct]
  return (
    texts.length > 0 &&
    (texts.every((text) => words.includes(text.toLowerCase())) ||
      (texts.length > 1 &&
        texts.every((text) => letters.includes(text)) &&
        texts.some((text) => cells.finalLetters.includes(text))))
  )
}

interface ConditionParts {
  readonly status: string | undefined
  /** The day on which one was over. */
  readonly ended?: string | undefined
  /** Rows without it have none; where it is not given, a row without a code is wrong. */
  readonly present?: string | undefined
}

/** The rules for conditions, below the notes on their code. */
export function conditionLines(
  { code, notes }: ReadCode,
  { status, ended, present }: ConditionParts,
): DraftLine[] {
  const rule = line(`- code: ${code}`)
  const there = present === undefined ? [] : [`${scalar(present)}: present`]
  const when = (...conditions: string[]): DraftLine => line(`  when: { ${conditions.join(', ')} }`)
  if (ended !== undefined)
    return [
      ...notes,
      ...[rule, when(...there, `${scalar(ended)}: absent`), line('  status: active')],
      ...[rule, when(...there, `${scalar(ended)}: present`), line('  status: resolved')],
    ]
  return [
    ...notes,
    rule,
    ...(there.length === 0 ? [] : [when(...there)]),
    status === undefined
      ? line('  status: active', 'DECIDE: nothing says whether it is over')
      : line(`  status: { from: ${scalar(status)} }`),
  ]
}

/** What was made of a table in which a row is one finding. */
export interface LongMatch extends Matches {
  readonly section: 'biometrics' | 'conditions'
  /** The column of the code. */
  readonly code: ColumnProfile
}

/**
 * Undefined where no column says what a row is of.
 * @param measured whether other columns are measurements: then a row is a visit, and a code is one more thing of it
 */
export function matchLong(
  vocabulary: Vocabulary,
  columns: readonly ColumnProfile[],
  measured = false,
): LongMatch | undefined {
  for (const system of SYSTEMS) {
    const coded = columns
      .filter(
        (column) =>
          column.filled.length > 0 &&
          areOf(system, column.filled) &&
          !namesPerson(column, vocabulary.words.reference),
      )
      .map((column) => ({ column, read: systemCode(column.path, system, column.filled, vocabulary) }))
      .find(({ read }) => read.found.length > 0)
    if (coded === undefined) continue
    const { column, read } = coded
    const match =
      system === 'LOINC'
        ? resultsOf(column, read, columns, vocabulary)
        : conditionsOf(column, read, columns, vocabulary, measured)
    if (match !== undefined) return match
  }
  return ownCodes(vocabulary, columns)
}

/** Codes that a vendor gives tests of its own. */
const MOST_CODES = 400

function ownCodes(vocabulary: Vocabulary, columns: readonly ColumnProfile[]): LongMatch | undefined {
  const { test } = vocabulary.words.long
  const [best] = columns
    .filter(
      ({ words, distinct }) =>
        distinct.size > 0 && distinct.size <= MOST_CODES && words.some((word) => test.includes(word)),
    )
    .map((column) => {
      const named = column.filled.map((text) => [text, text] as const)
      return { column, read: tableCode(column.path, named, vocabulary) }
    })
    .filter(({ read: { known, unknown } }) => known >= 2 && known >= unknown / 2)
    .sort((a, b) => b.read.known - a.read.known)
  return best && resultsOf(best.column, best.read, columns, vocabulary)
}

/** The first column that is called so: by a whole name, else by the word at its end. */
function called(
  columns: readonly ColumnProfile[],
  { names, ending }: Words['long']['value'],
): ColumnProfile | undefined {
  const there = columns.filter(({ filled }) => filled.length > 0)
  return (
    there.find(({ words }) => isCalled(words, names)) ??
    there.find(({ words }) => ending.includes(words.at(-1) ?? ''))
  )
}

const paths = (...columns: readonly (ColumnProfile | undefined)[]): ReadonlySet<string> =>
  new Set(columns.flatMap((column) => column?.path ?? []))

function resultsOf(
  code: ColumnProfile,
  read: ReadCode,
  columns: readonly ColumnProfile[],
  { units, words }: Vocabulary,
): LongMatch | undefined {
  const { long } = words
  const others = columns.filter((column) => column !== code)
  const value = called(others, long.value)
  if (value === undefined) return undefined
  const unit =
    called(others, long.unit) ??
    others.find(({ distinct, numbers }) => {
      const known = [...distinct].filter((text) => units.resolve(text) !== undefined).length
      return numbers.length === 0 && known > 0 && known >= distinct.size * 0.8
    })
  const range = called(others, long.range)
  const named = called(others, long.status)
  const status =
    named ??
    others.find((column) => holdsStates(column, words) && !isCalled(column.words, [...words.register.gender]))
  const texts = value.filled.length - value.numbers.length
  const odd =
    texts === 0
      ? undefined
      : `${texts} of ${value.filled.length} are no numbers: comparators, or answers to leave out with when`
  const parts: ResultParts = {
    value: [value.path],
    odd,
    unit: unit?.path,
    range: range?.path,
    status: status && { path: status.path, states: status.filled },
  }
  const told =
    status === named
      ? []
      : [decide(`${scalar(status?.name ?? '')} is read as the state, by its texts alone.`)]
  const lines = [...told, ...resultLines(read, parts, words)]
  return {
    section: 'biometrics',
    code,
    lines,
    found: read.found,
    used: paths(code, value, unit, range, status),
  }
}

function conditionsOf(
  code: ColumnProfile,
  read: ReadCode,
  columns: readonly ColumnProfile[],
  { words: { long } }: Vocabulary,
  measured: boolean,
): LongMatch {
  const ended = columns.find(({ words }) => isCalled(words, long.ended.names))
  const status = called(columns, long.clinicalStatus)
  const lines = conditionLines(read, {
    ...{ status: status?.path, ended: ended?.path },
    present: measured ? code.path : undefined,
  })
  return { section: 'conditions', code, lines, found: read.found, used: paths(code, ended, status) }
}
