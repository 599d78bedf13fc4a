/** Which columns of a wide export, where a row is a visit, are measurements, conditions and physicians. */

import { isLoinc, isNpi } from '../../transform/codes.ts'
import { besideParts, columnPairs, isBeside, isSignOf, meanOf, type Reading } from './columns-beside.ts'
import { findFasting, glucoseRules } from './fasting.ts'
import { columnCalled } from './match-persons.ts'
import { findUnitColumn, matchUnit, unitColumns, unitsOf } from './match-units.ts'
import { isCalled, type NameMatch, type Vocabulary, withoutOrdinal } from './names.ts'
import { type ColumnProfile, MOST, type Profile } from './profile-columns.ts'
import { type DraftLine, decide, line, note, quoted, scalar } from './write-draft.ts'

/** What was made of some columns. */
export interface Matches {
  readonly lines: readonly DraftLine[]
  /** Catalog keys of rules that were written. */
  readonly found: readonly string[]
  /** Columns that the lines speak of. */
  readonly used: ReadonlySet<string>
}

/** By name or LOINC number, confirmed by their values. */
export function matchMeasurements(vocabulary: Vocabulary, { columns, decimalComma }: Profile): Matches {
  const { catalog } = vocabulary
  const lines: DraftLine[] = []
  const found: string[] = []
  const used = new Set<string>()
  const ofUnits = unitColumns(columns, vocabulary)
  const fasting = findFasting(columns, vocabulary)
  /** Columns by the measurement of which each is a reading. */
  const readings = new Map<string, readonly Reading[]>()
  const nextOf = (key: string, reading: Reading): readonly Reading[] => {
    const all = [...(readings.get(key) ?? []), reading]
    readings.set(key, all)
    return all
  }
  const write = (column: ColumnProfile, written: DraftLine, ...keys: readonly string[]): void => {
    lines.push(written)
    used.add(column.path)
    found.push(...keys)
  }
  const pairs = columnPairs(
    columns.flatMap((column) => {
      const name = nameOf(column, vocabulary)
      const [key, another] = name?.kind === 'is' ? name.keys : []
      return name?.kind !== 'is' || key === undefined || another !== undefined
        ? []
        : [{ column, key, unit: name.unit }]
    }),
    vocabulary.units,
  )
  for (const column of columns) {
    const { path, filled, numbers } = column
    if (ofUnits.includes(column) || used.has(path)) continue
    const pair = pairs.find((one) => one.columns.includes(column))
    if (pair !== undefined) {
      for (const one of pair.columns) used.add(one.path)
      write(column, pair.line, ...(pair.line.yaml === undefined ? [] : [pair.key]))
      continue
    }
    const pressures = bloodPressures(column, vocabulary)
    if (pressures.length > 0) {
      const { length } = nextOf('systolic-bp', { path, rest: undefined })
      const more = pressures.flatMap(
        ({ yaml }) => yaml?.replace(/^([a-z-]+)(.*) \}$/, `$1-${length}$2, catalog: $1 }`) ?? [],
      )
      if (found.some((key) => PRESSURES.includes(key)))
        write(column, decide(`one more reading of both pressures: ${more.join('; ')}`))
      else for (const [at, written] of pressures.entries()) write(column, written, PRESSURES[at] ?? '')
      continue
    }
    const name = nameOf(column, vocabulary)
    const [key, another] = name?.keys ?? []
    const entry = catalog.biometrics.get(key ?? '')
    if (name === undefined || key === undefined || entry === undefined) continue
    const numeric = numbers.length > 0 && numbers.length >= filled.length * MOST
    if (name.kind === 'like') {
      if (numeric && column.dates === undefined && column.yesNo === undefined)
        lines.push(
          decide(
            `${scalar(column.name)} names ${name.keys.join(' or ')} beside words that are not understood.`,
          ),
        )
      continue
    }
    if (another !== undefined) {
      write(column, decide(`${scalar(column.name)} is ${name.keys.join(' or ')}.`))
      continue
    }
    const told = findUnitColumn(column, key, { columns: ofUnits, all: columns }, vocabulary)
    if (told !== undefined) used.add(told.column.path)
    const rule = (unit?: string): string =>
      `${key}: ${unit === undefined ? scalar(path) : `{ from: ${scalar(path)}, unit: ${scalar(unit)} }`}`
    if (filled.length === 0) {
      write(column, note(`empty in the sample: ${rule(name.unit)}`))
      continue
    }
    const odd = filled.length - numbers.length
    const oddNote = odd === 0 ? undefined : `${odd} of ${filled.length} cells are no numbers`
    const match =
      told === undefined
        ? matchUnit(key, entry, column, name.unit, vocabulary)
        : unitsOf(column, told, entry, vocabulary)
    if (match.kind === 'feet-and-inches')
      write(column, line(`${key}: { from: ${scalar(path)}, form: feet-and-inches }`), key)
    else if (!numeric) {
      // Texts under a short name are something else altogether.
      if (numbers.length > 0) write(column, decide(`${oddNote}: ${rule(name.unit)}`))
    } else if (match.kind === 'implausible')
      write(
        column,
        decide(`most values are implausible in ${match.unit}; which unit are they in? ${rule('…')}`),
      )
    else if (match.kind === 'unclear')
      write(column, decide(`${match.units.join(' or ')}? Both would be plausible. ${rule('…')}`))
    else {
      const unit =
        match.kind === 'column' ? `{ from: ${scalar(match.path)} }` : match.unit && scalar(match.unit)
      const others = columns.filter(
        (one) =>
          one !== told?.column &&
          one !== fasting?.column &&
          (isBeside(column, one, vocabulary) ||
            (one === columns[columns.indexOf(column) + 1] && isSignOf(one, vocabulary))),
      )
      for (const one of others) used.add(one.path)
      const { from, ignore, asked } = besideParts(column, others)
      const rest = `${unit === undefined ? '' : `, unit: ${unit}`}${ignore}`
      const measured = from + rest
      const isPlain = decimalComma === 'none' && from.startsWith('from:')
      const all = nextOf(key, { path, rest: isPlain ? rest : undefined })
      if (found.includes(key)) {
        const more = `${key}-${all.length}: { ${measured}, catalog: ${key} }`
        write(column, decide(`one more of ${key}: ${more}${meanOf(key, all)}`))
      } else if (name.ordinal > 1)
        write(
          column,
          decide(`${scalar(column.name)} is a later reading, and there is no first: ${key}: { ${measured} }`),
        )
      else if (key === 'glucose' && fasting !== undefined && !found.includes('glucose-fasting')) {
        for (const [of, { yaml = '', note: its }] of glucoseRules(measured, fasting))
          write(column, line(yaml, its, match.how, asked, oddNote), of)
        used.add(fasting.column.path)
      } else {
        const written = unit === undefined && asked === undefined ? scalar(path) : `{ ${measured} }`
        write(column, line(`${key}: ${written}`, match.how, asked, oddNote), key)
      }
    }
  }
  for (const { path, name } of ofUnits)
    if (!used.has(path)) lines.push(decide(`${scalar(name)} holds units, but of which column?`))
  return { lines, found, used }
}

/** What a column is called: by a LOINC number in its name, else by its words. */
function nameOf(column: ColumnProfile, { catalog, measurements }: Vocabulary): NameMatch | undefined {
  const loinc = [...column.name.matchAll(/\b\d{1,7}-\d\b/g)].map(([code]) => code).find(isLoinc)
  const coded = loinc === undefined ? undefined : catalog.keyOf('LOINC', loinc)
  if (coded !== undefined) {
    const own = catalog.biometrics.get(coded)?.alsoLoinc?.[loinc ?? '']
    return { kind: 'is', keys: [coded], unit: column.unit ?? own, ordinal: 1 }
  }
  return measurements.match(column)
}

const PRESSURES = ['systolic-bp', 'diastolic-bp']
const BOTH = /^(\d{1,3}(?:[.,]\d)?)\s*([/x×X-])\s*(\d{1,3}(?:[.,]\d)?)$/
/** No systolic pressure in mm[Hg] is below it, and none in cm[Hg] above. */
const SMALLEST_SYSTOLIC = 40

/** Rules of both pressures in one column: `120/80`, and asked about `120x80` and `13/8`; none where it is no such column. */
function bloodPressures(
  { path, filled, words }: ColumnProfile,
  { words: { wide }, naming }: Vocabulary,
): DraftLine[] {
  const both = filled.flatMap((cell) => [BOTH.exec(cell) ?? []])
  const read = both.filter(({ length }) => length > 0)
  const { called } = withoutOrdinal(words, naming)
  if (read.length === 0 || read.length < filled.length * MOST || !isCalled(called, wide.bloodPressure))
    return []
  const [mark = '', another] = new Set(read.map(([, , by = '']) => by))
  const small = read.filter(([, systolic = '']) => Number(systolic.replace(',', '.')) < SMALLEST_SYSTOLIC)
  if (another !== undefined || (small.length > 0 && small.length < read.length * MOST))
    return [decide(`${scalar(path)} holds both pressures in several forms: split them where it is made.`)]
  const isSmall = small.length > 0
  const asked = [
    ...(mark === '/' ? [] : [`is it systolic ${mark} diastolic?`]),
    ...(isSmall ? [`such small numbers are cm[Hg], tens of mm[Hg]; are they?`] : []),
  ]
  const unit = isSmall ? ', unit: "cm[Hg]"' : ''
  const by = mark === '/' ? '/' : JSON.stringify(mark)
  return PRESSURES.map((key, at) =>
    line(
      `${key}: { from: ${scalar(path)}, split: { by: ${by}, take: ${at + 1} }${unit} }`,
      asked.length === 0 ? undefined : `DECIDE: ${asked.join(' ')}`,
    ),
  )
}

/** Words that `when` takes for its own. */
const WORDS_OF_WHEN = ['any', 'all', 'not']

/** Columns that say that somebody has a condition of the catalog. */
export function matchConditions(
  { catalog, conditions, words: { wide } }: Vocabulary,
  columns: readonly ColumnProfile[],
): Matches {
  const lines: DraftLine[] = []
  const found: string[] = []
  const used = new Set<string>()
  for (const column of columns) {
    const { name, path, yesNo, distinct } = column
    const match = conditions.match({ ...column, unit: undefined }, wide.diagnosed)
    const [key, another] = match?.keys ?? []
    if (key === undefined || !catalog.conditions.has(key)) continue
    if (
      match?.kind === 'like' ||
      another !== undefined ||
      (column.unit !== undefined && column.remarks.length === 0)
    ) {
      if (yesNo !== undefined)
        lines.push(
          decide(`${scalar(name)} names ${match?.keys.join(' or ')} beside words that are not understood.`),
        )
      continue
    }
    if (match?.ordinal !== 1 || WORDS_OF_WHEN.includes(path)) continue
    used.add(path)
    const rule = (yes: readonly string[]): string =>
      `${key}: { when: { ${scalar(path)}: ${quoted(yes)} }, status: active }`
    if (found.includes(key)) lines.push(decide(`${scalar(path)} says ${key}, too`))
    else if (yesNo === undefined)
      lines.push(
        decide(
          `${scalar(path)}: ${distinct.size} texts that are not just yes and no. Which mean it? ${rule(['…'])}`,
        ),
      )
    else {
      lines.push(line(rule(yesNo.yes)))
      found.push(key)
    }
  }
  return { lines, found, used }
}

export interface CareTeams {
  readonly lines: readonly DraftLine[]
  readonly used: ReadonlySet<string>
  /** Columns by what they tell of a provider. */
  readonly providers: ReadonlyMap<string, 'npi' | 'providerName' | 'providerPhone'>
}

/** Providers in a draft: for each, all columns are searched. */
const MOST_PROVIDERS = 40

/** Columns of National Provider Identifiers, whose check digit holds, with what stands beside them under the same name. */
export function matchCareTeams(
  { words: { wide, reference } }: Vocabulary,
  columns: readonly ColumnProfile[],
): CareTeams {
  const lines: DraftLine[] = []
  const providers = new Map<string, 'npi' | 'providerName' | 'providerPhone'>()
  for (const { path, words, filled } of columns) {
    const invalid = filled.filter((cell) => !isNpi(cell)).length
    const most = words.includes('npi') ? 0.5 : MOST
    if (invalid === filled.length || filled.length - invalid < filled.length * most) continue
    if (lines.length === MOST_PROVIDERS) break
    const prefix = words
      .map((word) => word.replace(/npi$/, ''))
      .filter((word) => word !== '' && !reference.after.includes(word))
    const others = columns.filter((column) => column.path !== path)
    const beside = (names: readonly string[]): ColumnProfile | undefined =>
      columnCalled(
        others,
        names.flatMap((name) => [[...prefix, name].join(' '), [name, ...prefix].join(' ')]),
      )
    const name = beside(wide.providerName) ?? (prefix.length === 0 ? undefined : beside(['']))
    if (name === undefined) {
      lines.push(decide(`${scalar(path)} holds NPIs, but no column has the name that belongs to them.`))
      continue
    }
    const phone = beside(wide.providerPhone)
    const primary =
      prefix.some((word) => wide.primary.includes(word)) &&
      prefix.every((word) => [...wide.primary, ...wide.physician].includes(word))
    const keys = [
      `when: { ${scalar(path)}: present }`,
      `npi: ${scalar(path)}`,
      `name: ${scalar(name.path)}`,
      ...(phone === undefined ? [] : [`phoneNumber: ${scalar(phone.path)}`]),
      primary ? 'primary: true' : 'type: …',
    ]
    if (invalid > 0)
      lines.push(note(`${invalid} of ${filled.length} fail the check digit and will be rejected.`))
    const rule = prefix.join('-')
    const written = `${/^[a-z][a-z0-9-]*$/.test(rule) ? rule : 'provider'}: { ${keys.join(', ')} }`
    lines.push(
      primary
        ? line(written, 'primary: marks it as primary care physician')
        : decide(`which type of physicians? ${written}`),
    )
    providers.set(path, 'npi').set(name.path, 'providerName')
    if (phone !== undefined) providers.set(phone.path, 'providerPhone')
  }
  const physicians = columns.filter(
    ({ words, path, filled }) =>
      filled.length > 0 &&
      !providers.has(path) &&
      isCalled([words.join('').replace(/name$/, '')], wide.physicians),
  )
  for (const { path } of physicians)
    lines.push(note(`${scalar(path)} names physicians; a care team needs their NPIs too.`))
  return { lines, providers, used: new Set([...providers.keys(), ...physicians.map(({ path }) => path)]) }
}
