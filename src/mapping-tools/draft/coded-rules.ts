/** Rules for rows, or elements of JSON, that are one finding each, by code: of a system of the catalog, or a vendor's own, matched by name. */

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
import { type CodedAs, unitQuestions } from './unit-questions.ts'
import { ask, type DraftLine, decide, line, list, type Question, scalar } from './write-draft.ts'

const FORMS: Readonly<Record<CodeSystem, (code: string) => boolean>> = {
  LOINC: isLoinc,
  SNOMED: isSnomed,
  'ICD-10-CM': (code) => isIcd10Cm(icd10WithPoint(code)),
  'ICD-9-CM': (code) => isIcd9Cm(icd9WithPoint(code)),
}
/** Not ICD-9-CM: most numbers of three digits have its form. */
const SYSTEMS = ['LOINC', 'SNOMED', 'ICD-10-CM'] as const

/** Tells whether most codes have the form of a system. */
export const areOf = (system: CodeSystem, codes: readonly string[]): boolean =>
  codes.filter(FORMS[system]).length >= codes.length * MOST

/** Field of a code, with the known codes of the sample. */
export interface ReadCode {
  readonly code: string
  readonly notes: readonly DraftLine[]
  readonly found: readonly string[]
  /** Known codes that occur. */
  readonly known: ReadonlyMap<string, CodedAs>
}

/** Codes of a system of the catalog. */
export function systemCode(
  path: string,
  system: CodeSystem,
  codes: readonly string[],
  { catalog }: Vocabulary,
): ReadCode {
  const known = new Map(
    [...new Set(codes)].flatMap((code) => {
      const key = catalog.keyOf(system, code)
      const unit = catalog.biometrics.get(key ?? '')?.alsoLoinc?.[code]
      return key === undefined ? [] : [[code, { key, unit }] as const]
    }),
  )
  return {
    code: `{ from: ${scalar(path)}, system: ${system}, unknown: skip }`,
    notes: leftOut(
      codes.filter((code) => !known.has(code)),
      FORMS[system],
    ),
    found: [...new Set([...known.values()].map(({ key }) => key))],
    known,
  }
}

const MOST_NAMED = 20

/**
 * Codes left out, with counts, the most frequent first.
 * @param mayBeTold allows a text; others are counted alone
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

/** Codes with unknown words in their names: `HDL Cholesterol (CAD)`. */
function perhaps(likely: readonly (readonly [code: string, key: string])[]): DraftLine[] {
  if (likely.length === 0) return []
  const named = likely.slice(0, MOST_NAMED).map(([code, key]) => `${JSON.stringify(code)}: ${key}`)
  const rest = likely.length - named.length
  const all = `${named.join(', ')}${rest === 0 ? '' : `, and ${rest} more`}`
  return [decide(`which of these belong in the table? Their names hold words that are unknown here: ${all}.`)]
}

/** A vendor's own codes or names of tests, in a table to catalog keys. */
export interface TableCode extends ReadCode {
  readonly unknown: number
}

/** Tells whether more codes are known than chance explains. */
export const isKnown = ({ known: { size }, unknown }: TableCode): boolean => size >= 2 && size >= unknown / 2

/** @param codes each with its name, which goes first */
export function tableCode(
  path: string,
  codes: Iterable<readonly [code: string, name: string]>,
  { measurements, naming, decided, catalog }: Vocabulary,
): TableCode {
  const known = new Map<string, CodedAs>()
  const all = [...codes]
  const seen = new Map<string, string>()
  for (const [code, name] of all) if (!seen.has(code)) seen.set(code, name)
  const likely: [code: string, key: string][] = []
  const said: [code: string, file: string][] = []
  for (const [code, name] of seen) {
    const matches = [name, code].flatMap((text) => measurements.match(nameWords(text, naming)) ?? [])
    const [match] = matches
    const [key, another] = match?.kind === 'is' && match.ordinal === 1 ? match.keys : []
    const [like, other] = matches.find(({ kind }) => kind === 'like')?.keys ?? []
    if (match?.kind === 'is' && another === undefined && key !== undefined)
      known.set(code, { key, unit: match.unit })
    else {
      const before = decided?.codeOf(path, code)
      if (before !== undefined && catalog.biometrics.has(before.text)) {
        known.set(code, { key: before.text, unit: undefined })
        said.push([code, before.file])
      } else if (other === undefined && like !== undefined) likely.push([code, like])
    }
  }
  const told = new Set([...known.keys(), ...likely.map(([code]) => code)])
  const others = all.flatMap(([code]) => (told.has(code) ? [] : [code]))
  const table = [...known].map(([code, { key }]) => `${JSON.stringify(code)}: ${key}`).join(', ')
  return {
    code: `{ from: ${scalar(path)}, unknown: skip, table: { ${table} } }`,
    // A text that occurs once could be anything.
    notes: [
      ...[...Map.groupBy(said, ([, file]) => file)].map(([file, codes]) =>
        decide(`${codes.map(([code]) => JSON.stringify(code)).join(', ')}: as ${file} says. Is it so here?`),
      ),
      ...perhaps(likely),
      ...leftOut(others, (code, count) => count > 1 && code.length <= 40),
    ],
    found: [...new Set([...known.values()].map(({ key }) => key))],
    known,
    unknown: seen.size - known.size,
  }
}

/** Columns or paths of the parts of a result. */
export interface ResultParts {
  /** Parts, one behind the other. */
  readonly value: readonly string[]
  /** A value of another form, which has no unit. */
  readonly score?: string | undefined
  readonly hasSubIds?: boolean
  /** Question and remark on the value. */
  readonly odd?: readonly (Question | string | undefined)[]
  readonly unit: string | undefined
  /** Questions about units, where no column of units is found. */
  readonly units: readonly DraftLine[]
  readonly range: string | undefined
  readonly status: { readonly path: string; readonly states: readonly string[] } | undefined
}

/** The rule for results, below the notes on its code. */
export function resultLines(
  { code, notes }: ReadCode,
  { value, odd = [], score, unit, units, range, status, hasSubIds = false }: ResultParts,
  words: Words,
): DraftLine[] {
  const [only, another] = value
  const whole = another === undefined ? only && scalar(only) : `{ concat: ${list(value)} }`
  const constant = '{ constant: "{score}" }'
  return [
    ...notes,
    line(`- code: ${code}`),
    line(`  value: ${firstOf(whole, score && scalar(score))}`, ...odd),
    ...(unit === undefined && score === undefined
      ? units
      : [line(`  unit: ${firstOf(unit && scalar(unit), score && constant)}`)]),
    ...(range === undefined ? [] : [line(`  refRange: ${scalar(range)}`)]),
    ...(status === undefined ? [] : [statusLine(status, words)]),
    ...(hasSubIds ? [line('  ignore: [OBX-4]', ask('do sub-ids change what a value means?'))] : []),
  ]
}

const firstOf = (...fields: readonly (string | undefined)[]): string => {
  const there = fields.filter((field) => field !== undefined)
  return there.length > 1 ? `{ firstOf: [${there.join(', ')}] }` : there.join()
}

function statusLine({ path, states }: NonNullable<ResultParts['status']>, { cells }: Words): DraftLine {
  // All states in the style of the vendor, where a final one is seen: few samples have a corrected or withdrawn result.
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

/** Letters of HL7, and words in small letters, with a capital and in capitals. */
const stylesOf = (letters: readonly string[], words: readonly string[]): (readonly string[])[] => [
  letters,
  words,
  words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)),
  words.map((word) => word.toUpperCase()),
]

/** Tells whether all texts of a column are states of results, and more than ambiguous letters. */
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
  /** Column of which empty cells are no condition; without one, a row without a code is wrong. */
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
      ? line('  status: active', ask('nothing says whether it is over'))
      : line(`  status: { from: ${scalar(status)} }`),
  ]
}

/** Match of a table in which a row is one finding. */
export interface LongMatch extends Matches {
  readonly section: 'biometrics' | 'conditions'
  readonly code: ColumnProfile
}

/**
 * Undefined without a column of codes.
 * @param measured other columns are measurements: a row is a visit, with one more code
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
  return ownCodes(vocabulary, columns, measured)
}

/** Codes that a vendor gives tests of its own. */
const MOST_CODES = 400
/** Columns of a table of findings, at most, in which texts under any heading may be names of tests. */
const NARROW = 20

function ownCodes(
  vocabulary: Vocabulary,
  columns: readonly ColumnProfile[],
  measured: boolean,
): LongMatch | undefined {
  const { test } = vocabulary.words.long
  const isNamed = ({ words }: ColumnProfile): boolean => words.some((word) => test.includes(word))
  const isText = ({ numbers, dates }: ColumnProfile): boolean => numbers.length === 0 && dates === undefined
  const texts = columns.filter(({ distinct: { size } }) => size > 0 && size <= MOST_CODES)
  const other = measured || columns.length > NARROW ? [] : texts.filter((one) => !isNamed(one) && isText(one))
  const [best] = [...texts.filter(isNamed), ...other]
    .map((column) => {
      const named = column.filled.map((text) => [text, text] as const)
      return { column, read: tableCode(column.path, named, vocabulary) }
    })
    .filter(({ read }) => isKnown(read))
    .sort((a, b) => b.read.known.size - a.read.known.size)
  return best && resultsOf(best.column, best.read, columns, vocabulary)
}

/** Columns of numbers without another meaning, where none is called a value. */
function likeValues(columns: readonly ColumnProfile[], { words }: Vocabulary): ColumnProfile[] {
  const { postalCode, dateOfBirth } = words.register
  return columns.filter(
    (column) =>
      column.numbers.length > column.filled.length / 2 &&
      column.dates === undefined &&
      !namesPerson(column, words.reference) &&
      !isCalled(column.words, [...postalCode, ...dateOfBirth]),
  )
}

/** The first column called so: by the whole name, else by its last word. */
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
  vocabulary: Vocabulary,
): LongMatch | undefined {
  const { units, words } = vocabulary
  const { long } = words
  const others = columns.filter((column) => column !== code)
  const named = called(others, long.value)
  const [only, ...more] = named === undefined ? likeValues(others, vocabulary) : []
  if (only !== undefined && more.length > 0) {
    const names = [only, ...more].map(({ path }) => scalar(path)).join(' or ')
    const asked = `${scalar(code.path)} names measurements; which column is their value: ${names}? No rule is written.`
    return { section: 'biometrics', code, lines: [decide(asked)], found: [], used: paths(code) }
  }
  const value = named ?? only
  if (value === undefined) return undefined
  const unit =
    called(others, long.unit) ??
    others.find((one) => !namesPerson(one, words.reference) && holdsUnits(one, units))
  const range = called(others, long.range)
  const state = called(others, long.status)
  const status =
    state ??
    others.find((column) => holdsStates(column, words) && !isCalled(column.words, [...words.register.gender]))
  const texts = value.filled.length - value.numbers.length
  const odd = `${texts} of ${value.filled.length} are no numbers: comparators, or answers to leave out with when`
  const values = code.cells.map((one, at) => [one, value.cells[at] ?? ''] as const)
  const parts: ResultParts = {
    value: [value.path],
    odd: [
      ask(named === undefined && `is ${scalar(value.path)} the value? No heading says so`),
      texts === 0 ? undefined : odd,
    ],
    unit: unit?.path,
    units: unit === undefined ? unitQuestions(code.path, read.known, values, value.numberOf, vocabulary) : [],
    range: range?.path,
    status: status && { path: status.path, states: status.filled },
  }
  const told = `${scalar(status?.name ?? '')} is read as the state, by its texts alone.`
  return {
    ...{ section: 'biometrics', code, found: read.found },
    lines: [...(status === state ? [] : [decide(told)]), ...resultLines(read, parts, words)],
    used: paths(code, value, unit, range, status),
  }
}

/** Letters of units are also those of sexes, states and ids: `F`, `P1`. */
const holdsUnits = ({ distinct, numbers }: ColumnProfile, units: Vocabulary['units']): boolean => {
  const known = [...distinct].filter((text) => units.resolve(text) !== undefined)
  const isTold = known.some((text) => !/^[A-Z]\d*$/i.test(text))
  return numbers.length === 0 && isTold && known.length >= distinct.size * 0.8
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
