/** The rules for results and diagnoses in JSON of a known shape: which paths are filled, what the codes are. */
import { isLoinc, isSnomed } from '../../transform/codes.ts'
import type { JsonShape } from './json-shape.ts'
import { ownCodeTable, tableNote, tableText } from './match-long.ts'
import type { Vocabulary } from './match-measurements.ts'
import { MOST } from './profile-columns.ts'
import { type DraftLine, list, scalar } from './sample.ts'

/** A sample, by paths. */
export interface Reader {
  /** The path at which most elements hold something that fits; the first of equals. */
  best(paths: readonly string[], fits?: (text: string) => boolean): string | undefined
  /** What stands at paths, one list for each element of the deepest level. */
  texts(paths: readonly string[]): string[][]
}

/** The best path, noted as used. */
export type Take = (paths: readonly string[], fits?: (text: string) => boolean) => string | undefined

export interface Rules {
  readonly lines: readonly DraftLine[]
  readonly found: readonly string[]
}

export function observations(
  shape: NonNullable<JsonShape['biometrics']>,
  take: Take,
  read: Reader,
  vocabulary: Vocabulary,
): Rules {
  const code = take(shape.code)
  const value = take(shape.value)
  if (code === undefined || value === undefined)
    return {
      lines: [{ note: 'DECIDE: no codes or no values were found where they are in this shape.' }],
      found: [],
    }
  const unit = take(shape.unit, (text) => vocabulary.units.resolve(text) !== undefined)
  const status = take(shape.status)
  const range = take(shape.refRange, (text) => /\d/.test(text))
  const said = read.best(shape.name)
  const [codes = [], states = []] = [code, status].map((path) =>
    path === undefined ? [] : read.texts([path]).map(([text = '']) => text),
  )
  const named = said === undefined ? codes : read.texts([said]).map(([text = '']) => text)
  const coded = codeLine(code, codes, named, vocabulary)
  const keep = ['F', 'C', 'final', 'corrected', 'amended', 'Final', 'Corrected'].filter((word) =>
    states.includes(word),
  )
  return {
    found: coded.found,
    lines: [
      ...coded.notes,
      { yaml: `- code: ${coded.code}` },
      { yaml: `  value: ${scalar(value)}` },
      unit === undefined
        ? { yaml: '  unit: { constant: mg/dL }', note: 'DECIDE: no units were found' }
        : { yaml: `  unit: ${scalar(unit)}` },
      ...(keep.length === 0 || status === undefined
        ? []
        : [
            {
              yaml: `  status: { from: ${scalar(status)}, keep: ${list(keep)} }`,
              note: 'other states are left out',
            },
          ]),
      ...(range === undefined ? [] : [{ yaml: `  refRange: ${scalar(range)}` }]),
    ],
  }
}

function codeLine(
  path: string,
  codes: readonly string[],
  named: readonly string[],
  vocabulary: Vocabulary,
): { code: string; notes: readonly DraftLine[]; found: readonly string[] } {
  const filled = codes.filter((code) => code !== '')
  if (filled.filter(isLoinc).length >= filled.length * MOST) {
    const distinct = new Set(filled)
    const found = [...distinct].flatMap((code) => vocabulary.catalog.keyOf('LOINC', code) ?? [])
    const note = `${found.length} of ${distinct.size} codes in the sample are in the catalog; the others are left out.`
    return { code: `{ from: ${scalar(path)}, system: LOINC, unknown: skip }`, notes: [{ note }], found }
  }
  const { known, unknown } = ownCodeTable(
    vocabulary,
    codes.map((code, at) => [code, named[at] ?? ''] as const).filter(([code]) => code !== ''),
  )
  return {
    code: `{ from: ${scalar(path)}, unknown: skip, table: ${tableText(known)} }`,
    notes: [
      ...(known.length === 0 ? [] : [{ note: 'DECIDE: matched by what the tests are called; check each.' }]),
      ...tableNote(unknown),
    ],
    found: [...new Set(known.map(([, key]) => key))],
  }
}

export function diagnoses(
  shape: NonNullable<JsonShape['conditions']>,
  take: Take,
  read: Reader,
  { catalog }: Vocabulary,
): Rules {
  const code = take(shape.code)
  const status = take(shape.status)
  if (code === undefined)
    return { lines: [{ note: 'DECIDE: no codes were found where they are in this shape.' }], found: [] }
  const codes = new Set(read.texts([code]).map(([text = '']) => text))
  const system = [...codes].some(isSnomed) ? 'SNOMED' : 'ICD-10-CM'
  const found = [...codes].flatMap((one) => catalog.keyOf(system, one) ?? [])
  return {
    found: [...new Set(found)],
    lines: [
      {
        note: `${found.length} of ${codes.size} codes in the sample are in the catalog; the others are left out.`,
      },
      { yaml: `- code: { from: ${scalar(code)}, system: ${system}, unknown: skip }` },
      status === undefined
        ? { yaml: '  status: active', note: 'DECIDE: nothing says whether it is over' }
        : { yaml: `  status: { from: ${scalar(status)} }` },
    ],
  }
}
