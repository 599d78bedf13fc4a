/** Which columns of a wide export are measurements of the catalog: by name or LOINC number, confirmed by their values. */
import type { Catalog } from '../../transform/catalog.ts'
import { isLoinc } from '../../transform/codes.ts'
import type { Units } from '../../transform/units.ts'
import { matchUnit, withoutUnit } from './match-units.ts'
import { createDictionary, type Dictionary, joined } from './name-words.ts'
import { type ColumnProfile, MOST, type Profile } from './profile-columns.ts'
import { type DraftLine, scalar } from './sample.ts'

/** What names are matched with. */
export interface Vocabulary {
  readonly catalog: Catalog
  readonly units: Units
  readonly measurements: Dictionary
  readonly conditions: Dictionary
}

/** @param synonyms pairs of catalog key and name (`mappings/catalog/synonyms.csv`) */
export function createVocabulary(
  catalog: Catalog,
  units: Units,
  synonyms: readonly (readonly [key: string, name: string])[],
): Vocabulary {
  const own = (entries: ReadonlyMap<string, { readonly name: string }>) =>
    createDictionary([
      ...[...entries].flatMap(([key, { name }]) => [[key, key] as const, [key, name] as const]),
      ...synonyms.filter(([key]) => entries.has(key)),
    ])
  return { catalog, units, measurements: own(catalog.biometrics), conditions: own(catalog.conditions) }
}

export interface WideMatches {
  readonly lines: readonly DraftLine[]
  /** Keys of rules that were written. */
  readonly found: readonly string[]
  /** Columns that the lines speak of. */
  readonly used: ReadonlySet<string>
}

interface Named {
  readonly key: string
  readonly unit: string | undefined
}

export function matchMeasurements(
  { catalog, units, measurements }: Vocabulary,
  { columns }: Profile,
): WideMatches {
  const lines: DraftLine[] = []
  const found: string[] = []
  const used = new Set<string>()
  const fasting = columns.find(
    ({ words, yesNo }) =>
      /^(?:is)?(?:fast(?:ing|ed)|nuchtern|nuechtern|ajeun|(?:en)?ayunas)$/.test(words.join('')) &&
      yesNo?.no.length,
  )
  const write = (line: DraftLine, column: ColumnProfile, key?: string): void => {
    lines.push(line)
    used.add(column.path)
    if (key !== undefined) found.push(key)
  }
  for (const column of columns) {
    const pressures = bloodPressure(column)
    if (pressures !== undefined && !found.includes('systolic-bp') && !found.includes('diastolic-bp')) {
      write({ yaml: pressures[0] }, column, 'systolic-bp')
      write({ yaml: pressures[1] }, column, 'diastolic-bp')
      continue
    }
    const named = nameOf(column, catalog, units, measurements)
    const [first] = named
    if (first === undefined) continue
    if (named.length > 1) {
      const keys = named.map(({ key }) => key).join(' or ')
      write({ note: `${scalar(column.name)} is ${keys}. Decide.` }, column)
      continue
    }
    const entry = catalog.biometrics.get(first.key)
    if (entry === undefined) continue
    const { key } = first
    const odd = column.filled.length - column.numbers.length
    const oddNote = odd === 0 ? [] : [`${odd} of ${column.filled.length} cells are no numbers`]
    const rule = (unit?: string, name = key): string => `${name}: ${body(column.path, unit)}`
    if (column.filled.length === 0) {
      write({ note: `empty in the sample: ${rule(first.unit)}` }, column)
      continue
    }
    const match = matchUnit(key, entry, column, first.unit, units)
    if (match.kind === 'feet-and-inches') {
      write({ yaml: `${key}: { from: ${scalar(column.path)}, form: feet-and-inches }` }, column, key)
      continue
    }
    if (column.numbers.length < column.filled.length * MOST) {
      // Texts under a short name are something else altogether.
      if (column.numbers.length > 0) write({ note: `${oddNote.join('')}: ${rule(first.unit)}` }, column)
      continue
    }
    if (match.kind === 'implausible')
      write(
        { note: `most values are implausible in ${match.unit}; which unit are they in? ${rule('…')}` },
        column,
      )
    else if (match.kind === 'unclear')
      write({ note: `${match.units.join(' or ')}? Both would be plausible. ${rule('…')}` }, column)
    else if (found.includes(key)) {
      const again = `{ from: ${scalar(column.path)}, catalog: ${key}${match.unit === undefined ? '' : `, unit: ${scalar(match.unit)}`} }`
      write({ note: `one more of ${key}: ${key}-2: ${again}` }, column)
    } else if (key === 'glucose' && fasting?.yesNo !== undefined) {
      for (const [name, words] of [
        ['glucose-fasting', fasting.yesNo.yes],
        ['glucose', fasting.yesNo.no],
      ] as const) {
        const when = `when: { ${scalar(fasting.path)}: [${words.map((word) => JSON.stringify(word)).join(', ')}] }`
        const unit = match.unit === undefined ? '' : `unit: ${scalar(match.unit)}, `
        write(noted(`${name}: { from: ${scalar(column.path)}, ${unit}${when} }`, oddNote), column, name)
      }
      used.add(fasting.path)
    } else
      write(
        noted(rule(match.unit), [...(match.how === undefined ? [] : [match.how]), ...oddNote]),
        column,
        key,
      )
  }
  return { lines, found, used }
}

const noted = (yaml: string, notes: readonly string[]): DraftLine =>
  notes.length === 0 ? { yaml } : { yaml, note: notes.join('; ') }

const body = (path: string, unit: string | undefined): string =>
  unit === undefined ? scalar(path) : `{ from: ${scalar(path)}, unit: ${scalar(unit)} }`

/** The keys that a column's name stands for, with the unit that it tells. */
function nameOf(
  column: ColumnProfile,
  catalog: Catalog,
  units: Units,
  measurements: Dictionary,
): readonly Named[] {
  const told =
    column.bracketed !== undefined && units.resolve(column.bracketed) !== undefined
      ? column.bracketed
      : undefined
  const loinc = [...column.name.matchAll(/\b\d{1,7}-\d\b/g)].map(([code]) => code).find(isLoinc)
  const coded = loinc === undefined ? undefined : catalog.keyOf('LOINC', loinc)
  if (coded !== undefined) return [{ key: coded, unit: told }]
  for (const { words, unit } of withoutUnit(column.words)) {
    for (const name of [words, ordinalLeftOut(words)]) {
      const keys = measurements.keysOf(name)
      if (keys.length > 0) return keys.map((key) => ({ key, unit: told ?? unit }))
    }
  }
  return []
}

/** `sbp 1`, `bpxsy1`: the first of several readings. */
const ordinalLeftOut = (words: readonly string[]): readonly string[] =>
  words.flatMap((word, at) => {
    if (at < words.length - 1) return [word]
    const bare = word.replace(/\d$/, '')
    return bare === '' ? [] : [bare]
  })

const BLOOD_PRESSURE =
  /^(?:bp|bloodpressure|bpreading|blutdruck|rr|tension(?:arterielle)?|pressionarterielle|ta|presionarterial|tensionarterial)$/

/** `120/80`: both pressures in one column. */
function bloodPressure({ filled, path, words }: ColumnProfile): readonly [string, string] | undefined {
  const both = filled.filter((cell) => /^\d{2,3}\s*\/\s*\d{2,3}$/.test(cell))
  if (both.length === 0 || both.length < filled.length * MOST) return undefined
  if (!BLOOD_PRESSURE.test(joined(words))) return undefined
  const part = (take: number) => `{ from: ${scalar(path)}, split: { by: /, take: ${take} } }`
  return [`systolic-bp: ${part(1)}`, `diastolic-bp: ${part(2)}`]
}
