/** Code, value and other parts of a table with a finding per row. */

import { isCalled, type Words } from '../../../../src/watch/names.ts'
import {
  areOf,
  conditionLines,
  holdsStates,
  isKnown,
  type ReadCode,
  type ResultParts,
  resultLines,
  systemCode,
  tableCode,
} from './coded-rules.ts'
import { namesPerson } from './match-persons.ts'
import { holdsSigns, type Matches } from './match-wide.ts'
import type { ColumnProfile } from './profile-columns.ts'
import { unitQuestions } from './unit-questions.ts'
import type { Vocabulary } from './vocabulary.ts'
import { ask, decide, scalar } from './write-draft.ts'

/** Without ICD-9-CM: most three-digit numbers have its form. */
const SYSTEMS = ['LOINC', 'SNOMED', 'ICD-10-CM'] as const

/** Match of a table with a finding per row. */
export interface LongMatch extends Matches {
  readonly section: 'biometrics' | 'conditions'
  readonly code: ColumnProfile
}

/**
 * Finds the column of codes and the other parts. Undefined if there is no column of codes.
 *
 * @param measured other columns are measurements: a row is a visit with a code
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

/** Maximum number of a vendor's own test codes. */
const MOST_CODES = 400
/** Maximum number of columns in a table of findings where texts under any heading may be test names. */
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

/** Columns of numbers without another meaning, used if no column is named as value. */
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

/** First column with a matching name: by the whole name, else by its last word. */
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
  const sign = others.find((one) => ![value, unit, range, status].includes(one) && holdsSigns(one))
  const texts = value.filled.length - value.numbers.length
  const odd = `${texts} of ${value.filled.length} are not numbers: comparators, or answers to leave out with when`
  const values = code.cells.map((one, at) => [one, value.cells[at] ?? ''] as const)
  const parts: ResultParts = {
    value: [value.path],
    sign: sign?.path,
    odd: [
      ask(sign && `is ${scalar(sign.path)} its sign?`),
      ask(named === undefined && `is ${scalar(value.path)} the value? No heading says so`),
      texts === 0 ? undefined : odd,
    ],
    unit: unit?.path,
    units: unit === undefined ? unitQuestions(code.path, read.known, values, value.numberOf, vocabulary) : [],
    range: range?.path,
    status: status && { path: status.path, states: status.filled },
  }
  const question = `${scalar(status?.name ?? '')} is read as the status because of its texts.`
  return {
    section: 'biometrics',
    code,
    found: read.found,
    lines: [...(status === state ? [] : [decide(question)]), ...resultLines(read, parts, words)],
    used: paths(code, value, sign, unit, range, status),
  }
}

/** True if most texts are units. Single letters such as `F` or `P1` are also codes for sex, status and ids, and do not count alone. */
const holdsUnits = ({ distinct, numbers }: ColumnProfile, units: Vocabulary['units']): boolean => {
  const known = [...distinct].filter((text) => units.resolve(text) !== undefined)
  const areWords = known.some((text) => !/^[A-Z]\d*$/i.test(text))
  return numbers.length === 0 && areWords && known.length >= distinct.size * 0.8
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
    status: status?.path,
    ended: ended?.path,
    present: measured ? code.path : undefined,
  })
  return { section: 'conditions', code, lines, found: read.found, used: paths(code, ended, status) }
}
