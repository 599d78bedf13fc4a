/** Measurements, conditions and physicians in the columns of a wide export, with a visit per row. */
import type { BiometricEntry } from '../../../../src/transform/catalog.ts'
import { isLoinc, isNpi } from '../../../../src/transform/codes.ts'
import type { Units } from '../../../../src/transform/units.ts'
import { isBeside } from '../../../../src/watch/column-names.ts'
import { isCalled, type NameMatch, withoutOrdinal } from '../../../../src/watch/names.ts'
import { findFasting, glucoseRules } from './fasting.ts'
import { columnCalled } from './match-persons.ts'
import { findUnitColumn, matchUnit, type UnitColumn, unitColumns, unitsOf } from './match-units.ts'
import { type ColumnProfile, MOST, type Profile } from './profile-columns.ts'
import type { Vocabulary } from './vocabulary.ts'
import {
  ask,
  type DraftLine,
  decide,
  line,
  list,
  note,
  type Question,
  quoted,
  scalar,
} from './write-draft.ts'

/** Lines for some columns. */
export interface Matches {
  readonly lines: readonly DraftLine[]
  readonly found: readonly string[]
  readonly used: ReadonlySet<string>
}

/** Finds columns of measurements, by name or LOINC number, confirmed by their values. */
export function matchMeasurements(
  vocabulary: Vocabulary,
  { columns, decimalComma }: Profile,
  isTable: boolean,
): Matches {
  const { catalog } = vocabulary
  const lines: DraftLine[] = []
  const found: string[] = []
  const used = new Set<string>()
  const ofUnits = unitColumns(columns, vocabulary)
  const fasting = findFasting(columns, vocabulary)
  const readings = new Map<string, readonly Reading[]>()
  const nextOf = (key: string, reading: Reading): readonly Reading[] => {
    const all = [...(readings.get(key) ?? []), reading]
    readings.set(key, all)
    return all
  }
  const write = (written: DraftLine, key: string | undefined, ...paths: readonly string[]): void => {
    lines.push({ ...written, columns: paths, key: key && `biometrics.${key}` })
    for (const path of paths) used.add(path)
    if (key !== undefined && written.yaml !== undefined) found.push(key)
  }
  const names = new Map(columns.map((column) => [column, nameOf(column, vocabulary)]))
  const pairs = columnPairs(
    columns.flatMap((column) => {
      const name = names.get(column)
      const [key = '', another] = name?.keys ?? []
      return name?.kind === 'is' && another === undefined ? [{ column, key, unit: name.unit }] : []
    }),
    vocabulary.units,
  )
  /** Writes a column of numbers in a known unit. */
  const writeValue = (column: ColumnProfile, value: Value): void => {
    const { path, name } = column
    const { key, unit, how, odd, unitColumn } = value
    const others = columns.filter(
      (one) =>
        one !== unitColumn?.column &&
        one !== fasting?.column &&
        (isBeside(column, one, vocabulary) ||
          (one === columns[columns.indexOf(column) + 1] && isSignOf(one, vocabulary))),
    )
    for (const one of others) used.add(one.path)
    const { from, ignore, asked } = besideParts(column, others, isTable)
    const rest = `${unit === undefined ? '' : `, unit: ${unit}`}${ignore}`
    const measured = from + rest
    const isPlain = decimalComma === 'none' && from.startsWith('from:')
    const all = nextOf(key, { path, rest: isPlain ? rest : undefined })
    if (found.includes(key)) {
      const more = `${key}-${all.length}: { ${measured}, catalog: ${key} }`
      write(decide(`one more of ${key}: ${more}${meanOf(key, all)}`), undefined, path)
    } else if (value.ordinal > 1) {
      const text = `${scalar(name)} is a later reading, and there is no first: ${key}: { ${measured} }`
      write(decide(text), undefined, path)
    } else if (key === 'glucose' && fasting !== undefined && !found.includes('glucose-fasting')) {
      for (const [of, yaml, its] of glucoseRules(measured, fasting))
        write(line(yaml, its, how, asked, odd), of, path)
      used.add(fasting.column.path)
    } else {
      const written = unit === undefined && asked === undefined ? scalar(path) : `{ ${measured} }`
      write(line(`${key}: ${written}`, how, asked, odd), key, path)
    }
  }
  const writePressures = (path: string, pressures: readonly DraftLine[]): void => {
    const { length } = nextOf('systolic-bp', { path, rest: undefined })
    const more = pressures.flatMap(
      ({ yaml }) => yaml?.replace(/^([a-z-]+)(.*) \}$/, `$1-${length}$2, catalog: $1 }`) ?? [],
    )
    if (found.some((key) => PRESSURES.includes(key)))
      write(decide(`one more reading of both pressures: ${more.join('; ')}`), undefined, path)
    else for (const [at, written] of pressures.entries()) write(written, PRESSURES[at], path)
  }
  for (const column of columns) {
    const { path, filled, numbers } = column
    if (ofUnits.includes(column) || used.has(path)) continue
    const pair = pairs.find((one) => one.columns.includes(column))
    if (pair !== undefined) {
      write(pair.line, pair.key, ...pair.columns.map((one) => one.path))
      continue
    }
    const pressures = bloodPressures(column, vocabulary)
    if (pressures.length > 0) {
      writePressures(path, pressures)
      continue
    }
    const name = names.get(column)
    const [key, another] = name?.keys ?? []
    const entry = catalog.biometrics.get(key ?? '')
    if (name === undefined || key === undefined || entry === undefined) continue
    const isNumeric = numbers.length > 0 && numbers.length >= filled.length * MOST
    if (name.kind === 'like') {
      if (isNumeric && column.dates === undefined && column.yesNo === undefined)
        lines.push(isLike(column, name.keys))
      continue
    }
    if (another !== undefined) {
      write(decide(`${scalar(column.name)} is ${name.keys.join(' or ')}.`), undefined, path)
      continue
    }
    const unitColumn = findUnitColumn(column, key, { columns: ofUnits, all: columns }, vocabulary)
    if (unitColumn !== undefined) used.add(unitColumn.column.path)
    const value = measuredIn(column, name, { key, entry, unitColumn, isNumeric }, vocabulary)
    if (value === undefined) continue
    if ('unitColumn' in value) writeValue(column, value)
    else write(value, key, path)
  }
  for (const { path, name } of ofUnits)
    if (!used.has(path)) lines.push(decide(`${scalar(name)} holds units; for which column?`, [path]))
  return { lines, found, used }
}

interface Value {
  readonly key: string
  /** Unit as YAML; undefined for the catalog's. */
  readonly unit: string | undefined
  readonly how: Question | undefined
  readonly odd: string | undefined
  readonly unitColumn: UnitColumn | undefined
  readonly ordinal: number
}

/** Returns the value with its unit; a line if there is no value, or the unit is open; undefined for texts. */
function measuredIn(
  column: ColumnProfile,
  { unit: named, ordinal }: Extract<NameMatch, { kind: 'is' }>,
  {
    key,
    entry,
    unitColumn,
    isNumeric,
  }: Pick<Value, 'key' | 'unitColumn'> & { entry: BiometricEntry; isNumeric: boolean },
  vocabulary: Vocabulary,
): Value | DraftLine | undefined {
  const { units } = vocabulary
  const { path, filled, numbers } = column
  const rule = (unit?: string): string =>
    `${key}: ${unit === undefined ? scalar(path) : `{ from: ${scalar(path)}, unit: ${scalar(unit)} }`}`
  if (filled.length === 0) return note(`empty in the sample: ${rule(named)}`)
  const texts = filled.length - numbers.length
  const odd = texts === 0 ? undefined : `${texts} of ${filled.length} cells are not numbers`
  const match =
    unitColumn === undefined
      ? matchUnit(key, entry, column, named, vocabulary)
      : unitsOf(column, unitColumn, entry, vocabulary)
  if (match.kind === 'feet-and-inches')
    return line(`${key}: { from: ${scalar(path)}, form: feet-and-inches }`)
  // Texts under a short name are something else.
  if (!isNumeric) return numbers.length > 0 ? decide(`${odd}: ${rule(named)}`) : undefined
  if (match.kind === 'implausible')
    return decide(`most values are implausible in ${match.unit}; which unit are they in? ${rule('…')}`)
  if (match.kind === 'unclear')
    return decide(`${match.units.join(' or ')}? Both would be plausible. ${rule('…')}`)
  if (match.kind === 'found' && units.resolve(match.unit ?? '') === '[ft_i]' && filled.every(isFeetAndInches))
    return decide(
      `is 5.11 in ${scalar(path)} feet with decimals, ${rule('ft')}, or feet and inches? ${key}: { ${inchesBehindPoint(path)} }`,
    )
  const unit = match.kind === 'column' ? `{ from: ${scalar(match.path)} }` : match.unit && scalar(match.unit)
  return { key, unit, how: match.how, odd, unitColumn, ordinal }
}

/** `5.11`, `6`: could be feet and inches. */
const isFeetAndInches = (text: string): boolean => /^\d(?:\.(?:\d|1[01]))?$/.test(text)

const inchesBehindPoint = (path: string): string => {
  const part = (take: number): string => `{ from: ${scalar(path)}, split: { by: ".", take: ${take} } }`
  return `concat: [${part(1)}, ${part(2)}], separator: "-", form: feet-and-inches`
}

const isLike = ({ name, path }: ColumnProfile, keys: readonly string[]): DraftLine =>
  decide(`${scalar(name)} names ${keys.join(' or ')} with unknown words.`, [path])

/** Meaning of a column's name: from a LOINC number in it, else from its words. */
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
/** Bound between units: systolic pressures in mm[Hg] are above, in cm[Hg] below. */
const SMALLEST_SYSTOLIC = 40

/** Rules for both pressures in a single column: `120/80`, with a question for `120x80` and `13/8`; otherwise none. */
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
    return [decide(`${scalar(path)} holds both pressures in several forms: ask the vendor to split them.`)]
  const isSmall = small.length > 0
  const asked = ask(
    mark !== '/' && `is it systolic ${mark} diastolic?`,
    isSmall && 'numbers this small are read as cm[Hg], tens of mm[Hg]; is this right?',
  )
  const unit = isSmall ? ', unit: "cm[Hg]"' : ''
  const by = mark === '/' ? '/' : JSON.stringify(mark)
  return PRESSURES.map((key, at) =>
    line(`${key}: { from: ${scalar(path)}, split: { by: ${by}, take: ${at + 1} }${unit} }`, asked),
  )
}

/** Words of the language of `when`, which are not columns. */
export const WORDS_OF_WHEN = ['any', 'all', 'not']

/** Finds columns of diagnoses by name, with cells for yes and no. */
export function matchConditions(
  { catalog, conditions, words: { wide } }: Vocabulary,
  columns: readonly ColumnProfile[],
): Matches {
  const lines: DraftLine[] = []
  const found: string[] = []
  const used = new Set<string>()
  for (const column of columns) {
    const { path, yesNo, distinct, unit, remarks } = column
    const match = conditions.match({ ...column, unit: undefined }, wide.diagnosed)
    const [key, another] = match?.keys ?? []
    if (match === undefined || key === undefined || !catalog.conditions.has(key)) continue
    const isOther = another !== undefined || (unit !== undefined && remarks.length === 0)
    if (match.kind === 'like' || isOther) {
      if (yesNo !== undefined) lines.push(isLike(column, match.keys))
      continue
    }
    if (match.ordinal !== 1 || WORDS_OF_WHEN.includes(path)) continue
    used.add(path)
    const rule = (yes: readonly string[]): string =>
      `${key}: { when: { ${scalar(path)}: ${quoted(yes)} }, status: active }`
    if (found.includes(key)) lines.push(decide(`${scalar(path)} says ${key}, too`, [path]))
    else if (yesNo === undefined) {
      const texts = `${distinct.size} texts besides yes and no`
      lines.push(decide(`${scalar(path)}: ${texts}. Which ones mean it? ${rule(['…'])}`, [path]))
    } else {
      lines.push({ ...line(rule(yesNo.yes)), key: `conditions.${key}` })
      found.push(key)
    }
  }
  return { lines, found, used }
}

export interface CareTeams {
  readonly lines: readonly DraftLine[]
  readonly used: ReadonlySet<string>
  /** Columns of a provider, by part. */
  readonly providers: ReadonlyMap<string, string>
}

const MOST_PROVIDERS = 40

/** Finds columns of National Provider Identifiers with valid check digits, and columns with matching names. */
export function matchCareTeams(
  { words: { wide, reference } }: Vocabulary,
  columns: readonly ColumnProfile[],
): CareTeams {
  const lines: DraftLine[] = []
  const providers = new Map<string, string>()
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
      lines.push(decide(`${scalar(path)} holds NPIs, but no column holds their names.`, [path]))
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
    const key = /^[a-z][a-z0-9-]*$/.test(rule) ? rule : 'provider'
    const written = `${key}: { ${keys.join(', ')} }`
    lines.push(
      primary
        ? { ...line(written, 'primary: marks it as primary care physician'), key: `careTeams.${key}` }
        : decide(`which type of physicians? ${written}`, [path, name.path]),
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

/** Smaller unit of a second column, and its number in the larger unit, by larger unit. */
const PAIRS: Readonly<Record<string, readonly [smaller: string, per: number]>> = {
  '[ft_i]': ['[in_i]', 12],
  '[stone_av]': ['[lb_av]', 14],
  '[lb_av]': ['[oz_av]', 16],
  m: ['cm', 100],
}

interface NamedColumn {
  readonly column: ColumnProfile
  readonly key: string
  readonly unit: string | undefined
}

/** Value in two columns, and the line of a draft that asks about it. */
interface ColumnPair {
  readonly key: string
  readonly columns: readonly [larger: ColumnProfile, smaller: ColumnProfile]
  readonly line: DraftLine
}

/** Finds two columns of a measurement in a larger and a smaller unit: 5 feet and 11 inches. */
function columnPairs(named: readonly NamedColumn[], units: Units): ColumnPair[] {
  return named.flatMap(({ column, key, unit = '' }) => {
    const [smaller, per] = PAIRS[units.resolve(unit) ?? ''] ?? []
    const other = named.find(
      (one) =>
        one.key === key &&
        units.resolve(one.unit ?? '') === smaller &&
        per !== undefined &&
        one.column.numbers.length > 0 &&
        one.column.numbers.every((value) => value >= 0 && value < per),
    )
    if (other === undefined || smaller === undefined) return []
    const paths = [column.path, other.column.path]
    const both = `${paths.map(scalar).join(' and ')} are one value`
    const written =
      smaller === '[in_i]'
        ? line(`${key}: { concat: ${list(paths)}, separator: "-", form: feet-and-inches }`, ask(both))
        : decide(
            `${both}: ${key}: { expression: ${JSON.stringify(`$number(\`${paths[0]}\`) * ${per} + $number(\`${paths[1]}\`)`)}, unit: ${scalar(other.unit ?? smaller)} }`,
          )
    return [{ key, columns: [column, other.column], line: written }]
  })
}

const SIGNS = /^(?:[<>]=?|[≤≥=])$/

export const holdsSigns = ({ distinct }: ColumnProfile): boolean =>
  distinct.size > 0 && [...distinct].every((text) => SIGNS.test(text))

/** True for a column of signs with a name for signs alone. It belongs to the column before. */
const isSignOf = (column: ColumnProfile, { words }: Pick<Vocabulary, 'words'>): boolean =>
  holdsSigns(column) &&
  column.words.every((word) => words.wide.beside.includes(word.replace(/\d$/, '') || 'sign'))

interface Reading {
  readonly path: string
  /** Members of the rule after the column; undefined if no expression reads the column. */
  readonly rest: string | undefined
}

/** Proposes the mean of several readings in the same unit; empty otherwise. */
function meanOf(key: string, readings: readonly Reading[]): string {
  const rest = readings[0]?.rest
  if (rest === undefined || readings.some((one) => one.rest !== rest)) return ''
  const numbers = readings.map(({ path }) => `$number(${path.startsWith('$') ? path : `\`${path}\``})`)
  const mean = JSON.stringify(`$round($average([${numbers.join(', ')}]), 2)`)
  return `; or the mean of all ${readings.length} instead of the first: ${key}: { expression: ${mean}${rest} }`
}

/**
 * Members of a rule for columns beside its value: a sign goes in front, all others are ignored.
 * @param isTable true where a mapping can name columns under `ignore`
 */
function besideParts(
  { path }: ColumnProfile,
  beside: readonly ColumnProfile[],
  isTable: boolean,
): { readonly from: string; readonly ignore: string; readonly asked: Question | undefined } {
  const sign = beside.find(holdsSigns)
  const others = beside.filter((one) => one !== sign).map((one) => scalar(one.path))
  return {
    from:
      sign === undefined
        ? `from: ${scalar(path)}`
        : `concat: [{ from: ${scalar(sign.path)}, emptyWhen: ["="] }, ${scalar(path)}]`,
    ignore: others.length === 0 || !isTable ? '' : `, ignore: [${others.join(', ')}]`,
    asked: ask(
      sign && `is ${scalar(sign.path)} its sign?`,
      others.length > 0 && `${others.join(', ')}: does it change the meaning of the value?`,
    ),
  }
}
