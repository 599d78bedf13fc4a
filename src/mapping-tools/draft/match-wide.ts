/** Which columns of a wide export, where a row is a visit, are measurements, conditions and physicians. */
import { isLoinc, isNpi } from '../../transform/codes.ts'
import { columnCalled } from './match-persons.ts'
import { matchUnit, withoutUnit } from './match-units.ts'
import { type ColumnProfile, MOST, type Profile } from './profile-columns.ts'
import { hasWord, isCalled, type Vocabulary, type Words } from './vocabulary.ts'
import { type DraftLine, line, note, quoted, scalar } from './write-draft.ts'

/** What was made of some columns. */
export interface Matches {
  readonly lines: readonly DraftLine[]
  /** Catalog keys of rules that were written. */
  readonly found: readonly string[]
  /** Columns that the lines speak of. */
  readonly used: ReadonlySet<string>
}

/** By name or LOINC number, confirmed by their values. */
export function matchMeasurements(vocabulary: Vocabulary, { columns }: Profile): Matches {
  const { catalog, words } = vocabulary
  const lines: DraftLine[] = []
  const found: string[] = []
  const used = new Set<string>()
  const fasting = columns.find(
    (column) => isCalled(column.words, words.wide.fasting) && column.yesNo?.no.length,
  )
  const write = (column: ColumnProfile, written: DraftLine, ...keys: readonly string[]): void => {
    lines.push(written)
    used.add(column.path)
    found.push(...keys)
  }
  for (const column of columns) {
    const { path, filled, numbers } = column
    if (isBloodPressure(column, words) && !found.includes('systolic-bp') && !found.includes('diastolic-bp')) {
      for (const [at, key] of ['systolic-bp', 'diastolic-bp'].entries())
        write(column, line(`${key}: { from: ${scalar(path)}, split: { by: /, take: ${at + 1} } }`), key)
      continue
    }
    const names = namesOf(column, vocabulary)
    const [named] = names
    if (named === undefined) continue
    if (names.length > 1) {
      const keys = names.map((one) => one.key).join(' or ')
      write(column, note(`${scalar(column.name)} is ${keys}. Decide.`))
      continue
    }
    const { key, unit: told } = named
    const entry = catalog.biometrics.get(key)
    if (entry === undefined) continue
    const rule = (unit?: string): string =>
      `${key}: ${unit === undefined ? scalar(path) : `{ from: ${scalar(path)}, unit: ${scalar(unit)} }`}`
    if (filled.length === 0) {
      write(column, note(`empty in the sample: ${rule(told)}`))
      continue
    }
    const odd = filled.length - numbers.length
    const oddNote = odd === 0 ? undefined : `${odd} of ${filled.length} cells are no numbers`
    const match = matchUnit(key, entry, column, told, vocabulary)
    if (match.kind === 'feet-and-inches')
      write(column, line(`${key}: { from: ${scalar(path)}, form: feet-and-inches }`), key)
    else if (numbers.length < filled.length * MOST) {
      // Texts under a short name are something else altogether.
      if (numbers.length > 0) write(column, note(`${oddNote}: ${rule(told)}`))
    } else if (match.kind === 'implausible')
      write(
        column,
        note(`most values are implausible in ${match.unit}; which unit are they in? ${rule('…')}`),
      )
    else if (match.kind === 'unclear')
      write(column, note(`${match.units.join(' or ')}? Both would be plausible. ${rule('…')}`))
    else if (found.includes(key)) {
      const unit = match.unit === undefined ? '' : `, unit: ${scalar(match.unit)}`
      write(column, note(`one more of ${key}: ${key}-2: { from: ${scalar(path)}, catalog: ${key}${unit} }`))
    } else if (key === 'glucose' && fasting?.yesNo !== undefined) {
      const unit = match.unit === undefined ? '' : `unit: ${scalar(match.unit)}, `
      const { yes, no } = fasting.yesNo
      for (const [name, cells] of [
        ['glucose-fasting', yes],
        ['glucose', no],
      ] as const) {
        const when = `when: { ${scalar(fasting.path)}: ${quoted(cells)} }`
        write(column, line(`${name}: { from: ${scalar(path)}, ${unit}${when} }`, oddNote), name)
      }
      used.add(fasting.path)
    } else write(column, line(rule(match.unit), match.how, oddNote), key)
  }
  return { lines, found, used }
}

/** The keys that a column's name stands for, with the unit that it tells. */
function namesOf(
  { name, words, bracketed = '' }: ColumnProfile,
  vocabulary: Vocabulary,
): readonly { readonly key: string; readonly unit: string | undefined }[] {
  const { catalog, units, measurements } = vocabulary
  const told = units.resolve(bracketed) === undefined ? undefined : bracketed
  const loinc = [...name.matchAll(/\b\d{1,7}-\d\b/g)].map(([code]) => code).find(isLoinc)
  const coded = loinc === undefined ? undefined : catalog.keyOf('LOINC', loinc)
  if (coded !== undefined) return [{ key: coded, unit: told }]
  for (const cut of withoutUnit(words, vocabulary.words)) {
    for (const called of [cut.words, ordinalLeftOut(cut.words)]) {
      const keys = measurements.keysOf(called)
      if (keys.length > 0) return keys.map((key) => ({ key, unit: told ?? cut.unit }))
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

/** `120/80`: both pressures in one column. */
function isBloodPressure({ filled, words }: ColumnProfile, { wide }: Words): boolean {
  const both = filled.filter((cell) => /^\d{2,3}\s*\/\s*\d{2,3}$/.test(cell))
  return both.length > 0 && both.length >= filled.length * MOST && isCalled(words, wide.bloodPressure)
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
  for (const { words, path, yesNo, distinct } of columns) {
    const [key, another] = conditions.keysOf(words.filter((word) => !wide.diagnosed.includes(word)))
    if (key === undefined || another !== undefined || WORDS_OF_WHEN.includes(path)) continue
    if (!catalog.conditions.has(key)) continue
    used.add(path)
    const rule = (yes: readonly string[]): string =>
      `${key}: { when: { ${scalar(path)}: ${quoted(yes)} }, status: active }`
    if (found.includes(key)) lines.push(note(`${scalar(path)} says ${key}, too`))
    else if (yesNo === undefined)
      lines.push(
        note(
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

/** Columns of National Provider Identifiers, whose check digit holds, with what stands beside them under the same name. */
export function matchCareTeams(
  { words: { wide } }: Vocabulary,
  columns: readonly ColumnProfile[],
): CareTeams {
  const lines: DraftLine[] = []
  const providers = new Map<string, 'npi' | 'providerName' | 'providerPhone'>()
  for (const { path, words, filled } of columns) {
    const invalid = filled.filter((cell) => !isNpi(cell)).length
    const most = words.includes('npi') ? 0.5 : MOST
    if (invalid === filled.length || filled.length - invalid < filled.length * most) continue
    const prefix = words.filter((word) => word !== 'npi' && word !== 'id')
    const beside = (names: readonly string[]): ColumnProfile | undefined =>
      columnCalled(
        columns,
        names.map((name) => [...prefix, name].join(' ')),
      )
    const name = beside(wide.providerName)
    if (name === undefined) {
      lines.push(note(`${scalar(path)} holds NPIs, but no column has the name that belongs to them.`))
      continue
    }
    const phone = beside(wide.providerPhone)
    const primary = hasWord(prefix, wide.primary)
    const keys = [
      `when: { ${scalar(path)}: present }`,
      `npi: ${scalar(path)}`,
      `name: ${scalar(name.path)}`,
      ...(phone === undefined ? [] : [`phoneNumber: ${scalar(phone.path)}`]),
      ...(primary ? ['primary: true'] : []),
    ]
    if (invalid > 0)
      lines.push(note(`${invalid} of ${filled.length} fail the check digit and will be rejected.`))
    const rule = prefix.join('-')
    lines.push(
      line(
        `${/^[a-z][a-z0-9-]*$/.test(rule) ? rule : 'provider'}: { ${keys.join(', ')} }`,
        primary ? 'primary: marks it as primary care physician' : 'type is PCP unless it is told',
      ),
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
