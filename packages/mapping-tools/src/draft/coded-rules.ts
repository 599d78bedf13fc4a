/** Rules for rows or JSON elements that are single findings, by code: of a catalog system, or a vendor's own, matched by name. */

import {
  type CodeSystem,
  icd9WithPoint,
  icd10WithPoint,
  isIcd9Cm,
  isIcd10Cm,
  isLoinc,
  isSnomed,
} from '../../../../src/transform/codes.ts'
import { nameWords, type Words } from '../../../../src/watch/names.ts'
import { type ColumnProfile, MOST } from './profile-columns.ts'
import type { CodedAs } from './unit-questions.ts'
import type { Vocabulary } from './vocabulary.ts'
import { ask, type DraftLine, decide, line, list, type Question, scalar } from './write-draft.ts'

const FORMS: Readonly<Record<CodeSystem, (code: string) => boolean>> = {
  LOINC: isLoinc,
  SNOMED: isSnomed,
  'ICD-10-CM': (code) => isIcd10Cm(icd10WithPoint(code)),
  'ICD-9-CM': (code) => isIcd9Cm(icd9WithPoint(code)),
}
/** True if most codes have the form of a system. */
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
 * Lists codes left out, with counts, the most frequent first.
 *
 * @param mayBeShown true for a text that may be shown; others are only counted
 */
function leftOut(
  codes: readonly string[],
  mayBeShown: (code: string, count: number) => boolean,
): DraftLine[] {
  if (codes.length === 0) return []
  const counts = [...Map.groupBy(codes, (code) => code)]
    .map(([code, { length }]) => ({ code, count: length }))
    .sort((a, b) => b.count - a.count)
  const named = counts.filter(({ code, count }) => mayBeShown(code, count)).slice(0, MOST_NAMED)
  const rest = counts.length - named.length
  const listed = [
    ...named.map(({ code, count }) => `${code} (${count})`),
    ...(rest === 0 ? [] : [`${rest} other codes without a match`]),
  ]
  return [decide(`left out (unknown: skip), with counts: ${listed.join(', ')}.`)]
}

/** Lists codes with unknown words in their names: `HDL Cholesterol (CAD)`. */
function perhaps(likely: readonly (readonly [code: string, key: string])[]): DraftLine[] {
  if (likely.length === 0) return []
  const named = likely.slice(0, MOST_NAMED).map(([code, key]) => `${JSON.stringify(code)}: ${key}`)
  const rest = likely.length - named.length
  const all = `${named.join(', ')}${rest === 0 ? '' : `, and ${rest} more`}`
  return [decide(`which of these belong in the table? Their names have unknown words: ${all}.`)]
}

/** Vendor's own codes or test names, in a table to catalog keys. */
export interface TableCode extends ReadCode {
  readonly unknown: number
}

/** True if more codes are known than chance explains. */
export const isKnown = ({ known: { size }, unknown }: TableCode): boolean => size >= 2 && size >= unknown / 2

/** Matches codes by name. @param codes each with its name, which has priority */
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
  const fromEarlier: [code: string, file: string][] = []
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
        fromEarlier.push([code, before.file])
      } else if (other === undefined && like !== undefined) likely.push([code, like])
    }
  }
  const mentioned = new Set([...known.keys(), ...likely.map(([code]) => code)])
  const others = all.flatMap(([code]) => (mentioned.has(code) ? [] : [code]))
  const table = [...known].map(([code, { key }]) => `${JSON.stringify(code)}: ${key}`).join(', ')
  return {
    code: `{ from: ${scalar(path)}, unknown: skip, table: { ${table} } }`,
    // A text that occurs once could be anything.
    notes: [
      ...[...Map.groupBy(fromEarlier, ([, file]) => file)].map(([file, codes]) =>
        decide(
          `${codes.map(([code]) => JSON.stringify(code)).join(', ')}: as ${file} does. Is it right here?`,
        ),
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
  /** Parts, to be concatenated. */
  readonly value: readonly string[]
  /** Column of comparators, in front of the value. */
  readonly sign?: string | undefined
  /** Value of another form, without a unit. */
  readonly score?: string | undefined
  readonly hasSubIds?: boolean
  /** Question and remark on the value. */
  readonly odd?: readonly (Question | string | undefined)[]
  readonly unit: string | undefined
  /** Questions about units, if there is no column of units. */
  readonly units: readonly DraftLine[]
  readonly range: string | undefined
  readonly status: { readonly path: string; readonly states: readonly string[] } | undefined
}

/** Writes the rule for results, below the notes on its code. */
export function resultLines(
  { code, notes }: ReadCode,
  { value, sign, odd = [], score, unit, units, range, status, hasSubIds = false }: ResultParts,
  words: Words,
): DraftLine[] {
  const signs = sign === undefined ? [] : [`{ from: ${scalar(sign)}, emptyWhen: ["="] }`]
  const parts = [...signs, ...value.map(scalar)]
  const whole = parts.length > 1 ? `{ concat: [${parts.join(', ')}] }` : parts[0]
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
    ...(hasSubIds ? [line('  ignore: [OBX-4]', ask('do sub-ids change the meaning of a value?'))] : []),
  ]
}

const firstOf = (...fields: readonly (string | undefined)[]): string => {
  const there = fields.filter((field) => field !== undefined)
  return there.length > 1 ? `{ firstOf: [${there.join(', ')}] }` : there.join()
}

function statusLine({ path, states }: NonNullable<ResultParts['status']>, { cells }: Words): DraftLine {
  // Lists all states in the vendor's style if a final one occurs: few samples contain a corrected or withdrawn result.
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

/** Letters of HL7, and words in lower case, capitalised and in capitals. */
const stylesOf = (letters: readonly string[], words: readonly string[]): (readonly string[])[] => [
  letters,
  words,
  words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)),
  words.map((word) => word.toUpperCase()),
]

/** True if all texts of a column are states of results, and not just ambiguous letters. */
export function holdsStates({ distinct }: Pick<ColumnProfile, 'distinct'>, { cells }: Words): boolean {
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
  /** Day on which the condition ended. */
  readonly ended?: string | undefined
  /** Column with empty cells for no condition; if undefined, a row without a code is wrong. */
  readonly present?: string | undefined
}

/** Writes the rules for conditions, below the notes on their code. */
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
      ? line('  status: active', ask('no column shows whether it has ended'))
      : line(`  status: { from: ${scalar(status)} }`),
  ]
}
