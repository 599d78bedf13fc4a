/** Whether a row is one observation or one condition, and which of its columns says what. */
import type { CodeSystem } from '../../transform/codes.ts'
import { isIcd10Cm, isLoinc, isSnomed } from '../../transform/codes.ts'
import type { Vocabulary } from './match-measurements.ts'
import { nameWords } from './name-words.ts'
import { type ColumnProfile, MOST } from './profile-columns.ts'
import { type DraftLine, list, scalar } from './sample.ts'

export interface LongMatch {
  readonly code: ColumnProfile
  readonly biometrics: readonly DraftLine[]
  readonly conditions: readonly DraftLine[]
  /** Catalog keys of codes that occur. */
  readonly found: readonly string[]
  readonly used: ReadonlySet<string>
}

const FORMS: Readonly<Record<CodeSystem, (code: string) => boolean>> = {
  LOINC: isLoinc,
  SNOMED: isSnomed,
  'ICD-10-CM': isIcd10Cm,
}
/** Codes that a vendor gives tests of its own. */
const MOST_CODES = 400

const called = (columns: readonly ColumnProfile[], pattern: RegExp): ColumnProfile | undefined =>
  columns.find(({ words, filled }) => filled.length > 0 && pattern.test(words.join(' ')))

export function matchLong(vocabulary: Vocabulary, columns: readonly ColumnProfile[]): LongMatch | undefined {
  for (const system of ['LOINC', 'SNOMED', 'ICD-10-CM'] as const) {
    const keys = (column: ColumnProfile): string[] =>
      [...column.distinct].flatMap((code) => vocabulary.catalog.keyOf(system, code) ?? [])
    const code = columns.find(
      (column) =>
        column.filled.length > 0 &&
        column.filled.filter(FORMS[system]).length >= column.filled.length * MOST &&
        keys(column).length > 0,
    )
    if (code === undefined) continue
    const found = [...new Set(keys(code))]
    const known = `${found.length} of ${code.distinct.size} codes in the sample are in the catalog; the others are left out.`
    const from = `{ from: ${scalar(code.path)}, system: ${system}, unknown: skip }`
    const match =
      system === 'LOINC' ? observations(code, from, columns, vocabulary) : diagnoses(code, from, columns)
    if (match !== undefined)
      return {
        ...match,
        code,
        found,
        [system === 'LOINC' ? 'biometrics' : 'conditions']: [
          { note: known },
          ...(system === 'LOINC' ? match.biometrics : match.conditions),
        ],
      }
  }
  return ownCodes(vocabulary, columns)
}

type Rules = Pick<LongMatch, 'biometrics' | 'conditions' | 'used'>

function observations(
  code: ColumnProfile,
  from: string,
  columns: readonly ColumnProfile[],
  { units }: Vocabulary,
): Rules | undefined {
  const others = columns.filter((column) => column !== code)
  const value =
    called(
      others,
      /^(value|result|val|results|measurement|numeric value|observation|reading|value quantity value|obs)$/,
    ) ?? called(others, /\b(value|result)$/)
  if (value === undefined) return undefined
  const unit =
    called(others, /^(units?|uom|unit of measure|units of measure)$|\bunits?$/) ??
    others.find(({ distinct, numbers }) => {
      const known = [...distinct].filter((text) => units.resolve(text) !== undefined).length
      return numbers.length === 0 && known > 0 && known >= distinct.size * 0.8
    })
  const range = called(others, /^(ref(erence)? range|range|normal( range)?|ref)$/)
  const status = called(others, /^(status|state)$/)
  const texts = value.filled.length - value.numbers.length
  const lines: DraftLine[] = [
    { yaml: `- code: ${from}` },
    {
      yaml: `  value: ${scalar(value.path)}`,
      ...(texts === 0
        ? {}
        : {
            note: `${texts} of ${value.filled.length} are no numbers: comparators, or answers to leave out with when`,
          }),
    },
    unit === undefined
      ? { yaml: '  unit: { constant: mg/dL }', note: 'DECIDE: no column of units was found' }
      : { yaml: `  unit: ${scalar(unit.path)}` },
    ...(range === undefined ? [] : [{ yaml: `  refRange: ${scalar(range.path)}` }]),
    ...(status === undefined ? [] : [statusLine(status)]),
  ]
  const used = [code, value, unit, range, status].flatMap((column) => column?.path ?? [])
  return { biometrics: lines, conditions: [], used: new Set(used) }
}

const FINAL = [
  'final',
  'Final',
  'FINAL',
  'F',
  'corrected',
  'Corrected',
  'C',
  'amended',
  'Amended',
  'complete',
  'Complete',
]

function statusLine(status: ColumnProfile): DraftLine {
  const keep = FINAL.filter((word) => status.distinct.has(word))
  const others = status.distinct.size - keep.length
  const line = `  status: { from: ${scalar(status.path)}, keep: ${list(keep.length === 0 ? ['F'] : keep)} }`
  if (keep.length === 0) return { note: `which states are final? ${line.trim()}` }
  return {
    yaml: line,
    ...(others === 0 ? {} : { note: `${others} other states are left out: is that right?` }),
  }
}

function diagnoses(code: ColumnProfile, from: string, columns: readonly ColumnProfile[]): Rules {
  const ended = columns.find(({ words }) =>
    /^(stop|end|abatement|resolved|stop date|end date|resolved date|end dt)$/.test(words.join(' ')),
  )
  const status = called(columns, /^(clinical )?(status|state)$|\bstatus$/)
  const lines: DraftLine[] = []
  if (ended !== undefined) {
    for (const [word, state] of [
      ['absent', 'active'],
      ['present', 'resolved'],
    ])
      lines.push(
        { yaml: `- code: ${from}` },
        { yaml: `  when: { ${scalar(ended.path)}: ${word} }` },
        { yaml: `  status: ${state}` },
      )
  } else if (status !== undefined)
    lines.push({ yaml: `- code: ${from}` }, { yaml: `  status: { from: ${scalar(status.path)} }` })
  else
    lines.push(
      { yaml: `- code: ${from}` },
      { yaml: '  status: active', note: 'DECIDE: no column says whether it is over' },
    )
  const used = [code, ended, status].flatMap((column) => column?.path ?? [])
  return { biometrics: [], conditions: lines, used: new Set(used) }
}

/** Vendor's codes or names of tests, matched with the catalog: the table that turns them into its keys. */
export function ownCodeTable(
  { measurements }: Vocabulary,
  codes: Iterable<readonly [code: string, name: string]>,
): { known: readonly (readonly [code: string, key: string])[]; unknown: readonly string[] } {
  const known: [string, string][] = []
  const unknown: string[] = []
  const seen = new Set<string>()
  for (const [code, name] of codes) {
    if (seen.has(code)) continue
    seen.add(code)
    const keys = [name, code]
      .map((text) => measurements.keysOf(nameWords(text).words))
      .find(({ length }) => length === 1)
    if (keys?.[0] === undefined) unknown.push(code)
    else known.push([code, keys[0]])
  }
  return { known, unknown }
}

/** Counts alone: what stands in such a column could be anything. */
export function tableNote(unknown: readonly string[]): DraftLine[] {
  if (unknown.length === 0) return []
  return [
    { note: `${unknown.length} other codes were not matched; they are left out until the table has them.` },
  ]
}

export const tableText = (known: readonly (readonly [string, string])[]): string =>
  `{ ${known.map(([code, key]) => `${JSON.stringify(code)}: ${key}`).join(', ')} }`

function ownCodes(vocabulary: Vocabulary, columns: readonly ColumnProfile[]): LongMatch | undefined {
  const tests = columns.filter(
    ({ words, distinct }) =>
      distinct.size > 0 &&
      distinct.size <= MOST_CODES &&
      /\b(code|test|analyte|observation|measure|measurement|component|item|name|description|type)\b/.test(
        words.join(' '),
      ),
  )
  const ranked = tests
    .map((code) => ({
      code,
      ...ownCodeTable(
        vocabulary,
        [...code.distinct].map((text) => [text, text] as const),
      ),
    }))
    .filter(({ known, unknown }) => known.length >= 2 && known.length >= unknown.length / 2)
    .sort((a, b) => b.known.length - a.known.length)
  const [best] = ranked
  if (best === undefined) return undefined
  const from = `{ from: ${scalar(best.code.path)}, unknown: skip, table: ${tableText(best.known)} }`
  const match = observations(best.code, from, columns, vocabulary)
  if (match === undefined) return undefined
  const biometrics = [...tableNote(best.unknown), ...match.biometrics]
  return { ...match, biometrics, code: best.code, found: [...new Set(best.known.map(([, key]) => key))] }
}
