/** Drafts a mapping from JSON of a known shape, with its levels and paths. */

import type { JsonValue } from '../../../../src/model/row.ts'
import { isSnomed } from '../../../../src/transform/codes.ts'
import { REGISTER } from '../../../../src/watch/column-names.ts'
import { areOf, conditionLines, type ReadCode, resultLines, systemCode, tableCode } from './coded-rules.ts'
import { assembleDraft, identityLines, lookedAt } from './draft-table.ts'
import { type Reader, readerOf, textsAt } from './json-places.ts'
import type { JsonShape, ResultPaths } from './json-shapes.ts'
import { type ColumnProfile, profileColumns } from './profile-columns.ts'
import { unitQuestions } from './unit-questions.ts'
import type { Vocabulary } from './vocabulary.ts'
import { type Draft, type DraftLine, decide, line, type ReadBlock, scalar } from './write-draft.ts'

/** Rows of a sample, with the way to read them in a mapping. */
export interface JsonSample {
  readonly read: ReadBlock
  readonly notes: readonly string[]
  /** Name of the element that is a row. */
  readonly element?: string | undefined
  readonly rows: readonly JsonValue[]
  readonly wrap: (row: JsonValue) => JsonValue
}

export function draftShape(
  name: string,
  sampleName: string,
  sample: JsonSample,
  shape: JsonShape,
  vocabulary: Vocabulary,
): Draft {
  const read = readerOf(sample.rows, shape.each)
  const reference = read.take(byType(shape, read))
  const key = read.take(shape.key)
  const test = read.best(shape.test)
  const registered = new Map(
    REGISTER.flatMap((part) => {
      const path = read.take(shape.register[part] ?? [])
      return path === undefined ? [] : [[part, path] as const]
    }),
  )
  const isDay = (text: string): boolean => /^\d{4}-?\d{2}-?\d{2}/.test(text)
  const sure = read.take(shape.observedAt, isDay)
  const observed = sure ?? read.take(shape.written, isDay)
  const dated = sure === undefined ? [] : shape.observedAt.filter((path) => read.best([path], isDay))
  const results = shape.biometrics && resultRules(shape.biometrics, read, vocabulary)
  const diagnoses = shape.conditions && conditionRules(shape.conditions, read, vocabulary)
  const within = shape.components && readerOf(sample.rows, shape.components.each)
  const components =
    shape.components &&
    within?.best([...shape.components.rules.value, ...shape.components.rules.score]) !== undefined
      ? { each: shape.components.each, rules: resultRules(shape.components.rules, within, vocabulary) }
      : undefined
  const paths = [...read.used]
  const columns = paths.map((path) => ({ path, name: path === observed ? 'date' : path }))
  const profile = profileColumns(
    { read: {}, notes: [], columns, rows: textsAt(sample.rows, shape.each, paths) },
    vocabulary,
  )
  const column = (path: string | undefined): ColumnProfile | undefined =>
    profile.columns.find((one) => one.path === path)
  const each = components?.each ?? shape.each
  const more = shape.ofOneResult === true ? [observed, results?.code] : []
  const identity = [...new Set([reference, key, ...more].flatMap((path) => path ?? []))]
  const personal = new Set([reference, key, observed, ...registered.values()])
  const found = [results, components?.rules, diagnoses].flatMap((rules) => rules?.found ?? [])
  const registration = [...registered].flatMap(([part, path]) => {
    const its = column(path)
    return its === undefined ? [] : [[part, its] as const]
  })
  const parts = {
    name,
    sample: sampleName,
    notes: sample.notes,
    profile,
    reference,
    sourceType: 'laboratory',
    kind: `${shape.kind}; ${lookedAt(sample.rows.length)}`,
    read: Object.keys(each).length === 0 ? sample.read : { ...sample.read, each },
    identity: [
      ...(reference === undefined ? [decide('no person id was found in this shape.')] : []),
      ...identityLines(identity.length === 0 ? ['$'] : identity, reference ?? key ?? '$'),
    ],
    skip: test === undefined ? [] : [line(`skipWhen: { ${scalar(test)}: ${TESTS} }`)],
    registered: new Map(registration),
    observed: { column: column(observed), candidates: [], doubtful: sure === undefined, paths: dated },
    biometrics: [...(results?.lines ?? []), ...(components?.rules.lines ?? [])],
    conditions: diagnoses?.lines ?? [],
    careTeams: [],
    found: [...new Set(found)],
    coded: new Set([...read.used, ...(within?.used ?? [])].filter((path) => !personal.has(path))),
    unused: [],
    finding: false,
  }
  return assembleDraft(parts, vocabulary)
}

/** Training and debugging messages (HL7 table 0103), and tests (Redox, Meta.Test). */
const TESTS = '[T, D, "true"]'

/** Types of numbers that identify a patient, the likeliest first (HL7 table 0203). Never SS, a citizen's number. */
const TYPES_OF_PATIENTS = ['MR', 'MRN', 'PI', 'PT'] as const

/** Paths by type, for repetitions with types; the last is for a number without a type. Without types, the paths stay. */
function byType({ reference, referenceType }: JsonShape, read: Reader): readonly string[] {
  const path = read.best(reference)
  const [, repetitions, number] = /^(.*)\[0\](\[.+?\](?:\[0\])?)$/.exec(path ?? '') ?? []
  if (repetitions === undefined || number === undefined) return reference
  const first = `${repetitions}[0]`
  const type = referenceType.find((one) => one.startsWith(first))?.slice(first.length)
  if (type === undefined) return reference
  const ofType = TYPES_OF_PATIENTS.map((name) => `${repetitions}[?@${type} == '${name}']${number}`)
  return [...ofType, `${repetitions}[?!@${type}]${number}`]
}

interface Rules {
  readonly code?: string
  readonly lines: readonly DraftLine[]
  readonly found: readonly string[]
}

function resultRules(paths: ResultPaths, read: Reader, vocabulary: Vocabulary): Rules {
  const code = read.take(paths.code)
  const there = (path: string): boolean => read.best([path]) !== undefined
  const own = read.take(paths.value)
  const value = [
    ...paths.comparator.filter(there),
    ...(own === undefined ? [] : [own]),
    ...paths.rest.filter(there),
  ]
  const score = read.take(paths.score)
  if (code === undefined || (value.length === 0 && score === undefined))
    return {
      lines: [decide('no codes or no values were found in this shape.')],
      found: [],
    }
  const unit = read.take(paths.unit, (text) => vocabulary.units.resolve(text) !== undefined)
  const status = read.take(paths.status)
  const range = read.take(paths.refRange, (text) => /\d/.test(text)) ?? read.take(paths.refRange)
  const named = read.textsAt(read.best(paths.name) ?? code)
  const coded = codeOf(code, read.textsAt(code), named, vocabulary)
  const states = read.textsAt(status).filter((text) => text !== '')
  const texts = read.textsAt(own)
  const values = read.textsAt(code).map((one, at) => [one, texts[at] ?? ''] as const)
  const numberOf = (text: string): number | undefined => {
    const number = text.trim() === '' ? Number.NaN : Number(text)
    return Number.isFinite(number) ? number : undefined
  }
  const units = unit === undefined ? unitQuestions(code, coded.known, values, numberOf, vocabulary) : []
  const parts = {
    value,
    score,
    unit,
    units,
    range,
    hasSubIds: read.best(paths.subId) !== undefined,
    status: status === undefined ? status : { path: status, states },
  }
  return { code, lines: resultLines(coded, parts, vocabulary.words), found: coded.found }
}

function codeOf(
  path: string,
  codes: readonly string[],
  named: readonly string[],
  vocabulary: Vocabulary,
): ReadCode {
  const filled = codes.filter((code) => code !== '')
  if (areOf('LOINC', filled)) return systemCode(path, 'LOINC', filled, vocabulary)
  const pairs = codes.map((code, at) => [code, named[at] ?? ''] as const).filter(([code]) => code !== '')
  const read = tableCode(path, pairs, vocabulary)
  if (read.known.size === 0) return read
  return {
    ...read,
    notes: [decide('matched by test name; check each.'), ...read.notes],
  }
}

function conditionRules(
  paths: NonNullable<JsonShape['conditions']>,
  read: Reader,
  vocabulary: Vocabulary,
): Rules {
  const code = read.take(paths.code)
  const status = read.take(paths.status)
  if (code === undefined) return { lines: [decide('no codes were found in this shape.')], found: [] }
  const codes = read.textsAt(code).filter((text) => text !== '')
  const system = codes.some(isSnomed) ? 'SNOMED' : 'ICD-10-CM'
  const coded = systemCode(code, system, codes, vocabulary)
  return { lines: conditionLines(coded, { status }), found: coded.found }
}
