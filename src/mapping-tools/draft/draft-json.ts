/** A mapping drafted from JSON whose shape is known: levels and paths come from the shape, the rest from the sample. */
import type { JsonValue } from '../../model/row.ts'
import { jsonNames, rootScope, type Scope } from '../../transform/scope.ts'
import { conventionLines, dateLines, datesOf, NO_DATE, title } from './draft-table.ts'
import { genderCodes } from './gender-codes.ts'
import { diagnoses, observations, type Reader, type Rules, type Take } from './json-rules.ts'
import type { JsonShape } from './json-shape.ts'
import type { Vocabulary } from './match-measurements.ts'
import { registerLines } from './match-persons.ts'
import { type ColumnProfile, profileColumns } from './profile-columns.ts'
import { list, scalar } from './sample.ts'
import type { Draft } from './write-draft.ts'

/** Rows of a sample, and how a mapping reads them. */
export interface JsonSample {
  readonly read: readonly string[]
  readonly notes: readonly string[]
  readonly rows: readonly JsonValue[]
  /** A file that has this row alone. */
  readonly wrap: (row: JsonValue) => JsonValue
}

const REGISTER_KEYS = ['firstName', 'lastName', 'dateOfBirth', 'gender', 'postalCode'] as const

export function draftShape(
  name: string,
  sampleName: string,
  sample: JsonSample,
  shape: JsonShape,
  vocabulary: Vocabulary,
): Draft {
  const read = readerOf(sample.rows, shape)
  const used: string[] = []
  const take = (paths: readonly string[], fits?: (text: string) => boolean): string | undefined => {
    const path = read.best(paths, fits)
    if (path !== undefined) used.push(path)
    return path
  }
  const reference = take(shape.reference)
  const key = take(shape.key)
  const registered = REGISTER_KEYS.flatMap((part) => {
    const path = take(shape.register[part])
    return path === undefined ? [] : [[part, path] as const]
  })
  const observed = take(shape.observedAt, (text) => /^\d{4}-?\d{2}-?\d{2}/.test(text))
  const biometrics =
    shape.biometrics === undefined ? undefined : observations(shape.biometrics, take, read, vocabulary)
  const components = componentsOf(sample.rows, shape, vocabulary)
  const conditions =
    shape.conditions === undefined ? undefined : diagnoses(shape.conditions, take, read, vocabulary)
  const profile = profileColumns({
    read: [],
    notes: [],
    columns: [...new Set(used)].map((path) => ({ path, name: path === observed ? 'date' : path })),
    rows: read.texts([...new Set(used)]),
  })
  const column = (path: string | undefined): ColumnProfile | undefined =>
    profile.columns.find((one) => one.path === path)
  const levels = Object.entries(components?.each ?? shape.each).map(
    ([level, path]) => `${level}: ${JSON.stringify(path)}`,
  )
  const register = new Map<string, string>(registered)
  const own = new Set([reference, key, observed, ...register.values()])
  const identity = [reference, key].flatMap((path) => path ?? [])
  return {
    name,
    sample: sampleName,
    kind: `${shape.kind}; ${sample.rows.length} ${sample.rows.length === 1 ? 'row was' : 'rows were'} looked at`,
    notes: sample.notes,
    read: [...sample.read, ...(levels.length === 0 ? [] : [`each: { ${levels.join(', ')} }`])],
    row: [
      ...(reference === undefined
        ? [{ note: 'DECIDE: nothing was found where the person is named in this shape.' }]
        : []),
      { yaml: `key: ${list(identity.length === 0 ? ['$'] : identity)}` },
      { yaml: 'account:' },
      { yaml: `  reference: ${scalar(reference ?? key ?? '$')}` },
      ...registerLines(
        new Map(
          registered.flatMap(([part, path]) => {
            const found = column(path)
            return found === undefined ? [] : [[part, found] as const]
          }),
        ),
      ).map(({ yaml, note }) => ({
        ...(yaml === undefined ? {} : { yaml: `  ${yaml}` }),
        ...(note === undefined ? {} : { note }),
      })),
      ...(observed === undefined ? NO_DATE : dateLines(column(observed))),
      {
        yaml: `source: { name: ${scalar(title(name))}, type: laboratory, sendingSystem: ${scalar(name)} }`,
        note: 'DECIDE: name and type go out with every record',
      },
      ...conventionLines(profile),
    ],
    biometrics: [...(biometrics?.lines ?? []), ...(components?.rules.lines ?? [])],
    conditions: conditions?.lines ?? [],
    careTeams: [],
    unused: [],
    found: [
      ...new Set([...(biometrics?.found ?? []), ...(components?.rules.found ?? [])]),
      ...(conditions?.found ?? []),
    ],
    finding: false,
    coded: new Set([...used, ...(components?.rules.used ?? [])].filter((path) => !own.has(path))),
    persons: new Map([
      ...(reference === undefined ? [] : [[reference, 'reference'] as const]),
      ...registered.map(([part, path]) => [path, part] as const),
    ]),
    genders: genderCodes(column(register.get('gender'))),
    dates: datesOf([observed, register.get('dateOfBirth')].map(column)),
  }
}

/** Rules for results within results, where the sample has some. */
function componentsOf(
  rows: readonly JsonValue[],
  shape: JsonShape,
  vocabulary: Vocabulary,
): { each: JsonShape['each']; rules: Rules & { readonly used: readonly string[] } } | undefined {
  if (shape.components === undefined) return undefined
  const { each, rules } = shape.components
  const read = readerOf(rows, { ...shape, each })
  if (read.best(rules.value) === undefined) return undefined
  const used: string[] = []
  const take: Take = (paths, fits) => {
    const path = read.best(paths, fits)
    if (path !== undefined) used.push(path)
    return path
  }
  return { each, rules: { ...observations(rules, take, read, vocabulary), used } }
}

function readerOf(rows: readonly JsonValue[], shape: JsonShape): Reader {
  const names = jsonNames({ each: shape.each }, () => {})
  const scopes: Scope[] = rows.flatMap((value, at) =>
    names.scopes(
      rootScope({ kind: 'json', value, text: '', row: at + 1, line: 1, byteOffset: 0 }),
      Object.keys(shape.each).length,
    ),
  )
  const textsOf = (path: string): string[] => {
    const { read } = names.locate(path)
    return scopes.map((scope) => read(scope) ?? '')
  }
  return {
    best(paths, fits = () => true) {
      const counted = paths.map((path) => {
        const filled = textsOf(path).filter((text) => text !== '' && text !== '""' && fits(text))
        return { path, count: filled.length }
      })
      const most = Math.max(0, ...counted.map(({ count }) => count))
      return most === 0 ? undefined : counted.find(({ count }) => count === most)?.path
    },
    texts(paths) {
      const columns = paths.map(textsOf)
      return scopes.map((_, at) => columns.map((column) => column[at] ?? ''))
    },
  }
}
