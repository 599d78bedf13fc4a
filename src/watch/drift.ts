/**
 * Compares the profile of an export with earlier deliveries of the same job and mapping (docs/jobs.md, "Drift"): finds differences, and judges which
 * are far enough from the usual. Pure.
 */
import { z } from 'zod'
import type { DriftDefinition } from '../definitions/job-definition.ts'
import { n } from '../system/shown-text.ts'
import { type ColumnProfile, type ExportProfile, median, OTHER } from './export-profile.ts'

/** Findings in an export that continued, for a person to look at. */
export const toLookAt = <Finding extends Pick<DriftFinding, 'level'>>(found: readonly Finding[]): Finding[] =>
  found.filter(({ level }) => level === 'warn')

/** Fewest values for comparing shares: smaller samples are left to chance. */
export const FEWEST_VALUES = 20

/** @param earlier latest first */
export function columnDrift(
  current: ExportProfile,
  earlier: readonly EarlierDelivery[],
  { columns: level }: Pick<DriftDefinition, 'columns'>,
): DriftFinding[] {
  if (level === 'off') return []
  const drift = compareColumns(
    current.columns,
    earlier.map(({ profile }) => profile.columns),
  )
  return drift === undefined
    ? []
    : columnMessages(drift).map((message) => ({ measure: 'columns', level, message }))
}

function columnMessages({ missing, added, renamed, reordered }: ColumnDrift): string[] {
  const messages: string[] = []
  if (missing.length > 0) messages.push(`missing: ${listed(missing)}`)
  if (added.length > 0) messages.push(`new: ${listed(added)}`)
  for (const { from, to, by } of renamed) {
    const why = by === 'place' ? 'it stands in its place' : 'its values look alike'
    messages.push(`${quoted(from)} may be named ${quoted(to)} now: ${why}`)
  }
  if (reordered !== undefined) messages.push(`in another order, from ${quoted(reordered)} on`)
  return messages
}

const NAMES_LISTED = 20
const LONGEST_NAME = 80

const quoted = (name: string): string =>
  `"${name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}…` : name}"`

function listed(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_LISTED).map(quoted)
  const rest = names.length - shown.length
  return rest === 0 ? shown.join(', ') : `${shown.join(', ')} and ${rest} more`
}

/** @param earlier latest first */
export const rowDrift = (
  rows: number,
  earlier: readonly EarlierDelivery[],
  { after, rows: limits }: DriftDefinition,
): DriftFinding[] =>
  judge(
    'rows',
    rows,
    knownOf(earlier, (profile) => profile.rows),
    {
      after,
      limits,
      row: after,
      distance: (now, usual) => (usual === 0 ? (now === 0 ? 0 : 1) : Math.abs(now - usual) / usual),
    },
    (now, usual) => `${number(now)}, usually ${number(usual)}`,
  )

/**
 * Paths of JSON read by a mapping: paths that now lead to nothing and always led to a value, and the reverse.
 * @param earlier latest first
 */
export function pathDrift(
  current: ExportProfile,
  earlier: readonly EarlierDelivery[],
  { columns: level, after }: Pick<DriftDefinition, 'columns' | 'after'>,
): DriftFinding[] {
  if (level === 'off') return []
  const isMissing = (name: string, { columns }: ExportProfile): boolean | undefined => {
    const empty = shareOfEmpty(name)({ columns })
    return empty === undefined ? undefined : empty === 1
  }
  const changed = current.columns.flatMap(({ name }) => {
    const now = isMissing(name, current)
    const before = earlier.flatMap(({ profile }) => isMissing(name, profile) ?? [])
    return now === undefined || before.length < after || before.includes(now) ? [] : [{ name, now }]
  })
  const namesOf = (missing: boolean): string[] =>
    changed.filter(({ now }) => now === missing).map(({ name }) => name)
  const drift = { missing: namesOf(true), added: namesOf(false), renamed: [], reordered: undefined }
  return columnMessages(drift).map((message) => ({ measure: 'columns', level, message }))
}

/**
 * Rows, skipped rows, empty values and mix.
 * @param earlier latest first
 */
export function valueDrift(
  current: ExportProfile,
  earlier: readonly EarlierDelivery[],
  rules: DriftDefinition,
): DriftFinding[] {
  const { after } = rules
  const compare = (measure: 'empty' | 'mix' | 'skipped', what: string, shareOf: ShareOf): DriftFinding[] =>
    judge(
      measure,
      shareOf(current),
      knownOf(earlier, shareOf),
      {
        after,
        limits: rules[measure],
        row: measure === 'skipped' ? after : 1,
        distance: (one, other) => Math.abs(one - other),
      },
      (now, usual) => `${what} ${percent(now)}, usually ${percent(usual)}`,
    )
  return [
    ...rowDrift(current.rows, earlier, rules),
    ...compare('skipped', 'rows skipped', ({ skipped, rows }) => share(skipped, rows)),
    ...current.columns.flatMap(({ name }) => compare('empty', `empty ${quoted(name)}`, shareOfEmpty(name))),
    ...Object.keys(current.rules).flatMap((rule) => compare('mix', `rows with ${rule}`, shareOfRule(rule))),
    ...keysOf(current, earlier, ({ codes }) => codes).flatMap((code) =>
      compare('mix', `rows with ${code === OTHER ? 'another value' : code}`, shareOfCode(code)),
    ),
    ...keysOf(current, earlier, ({ units }) => units).flatMap((rule) =>
      keysOf(current, earlier, ({ units }) => units[rule] ?? {}).flatMap((unit) =>
        compare('mix', `${rule} ${unitName(unit)}`, shareOfUnit(rule, unit)),
      ),
    ),
  ]
}

function unitName(unit: string): string {
  if (unit === '') return 'without unit'
  return `in ${unit === OTHER ? 'another value' : unit}`
}

/** Share in a profile; undefined if there are too few values, or none of this kind. */
type ShareOf = (profile: ExportProfile) => number | undefined

export const share = (part: number, whole: number): number | undefined =>
  whole < FEWEST_VALUES ? undefined : part / whole

const shareOfEmpty =
  (name: string) =>
  ({ columns }: Pick<ExportProfile, 'columns'>): number | undefined => {
    const column = columns.find((one) => one.name === name)
    return column && share(column.empty, column.values)
  }

/** Share of rows with a rule; undefined if the mapping had no rule of this name. */
const shareOfRule =
  (rule: string): ShareOf =>
  ({ rules, taken }) => {
    const rows = rules[rule]
    return rows === undefined ? undefined : share(rows, taken)
  }

const shareOfCode =
  (code: string): ShareOf =>
  ({ codes, taken }) =>
    share(codes[code] ?? 0, taken)

const shareOfUnit =
  (rule: string, unit: string): ShareOf =>
  ({ units }) => {
    const counts = units[rule]
    if (counts === undefined) return undefined
    const all = Object.values(counts).reduce((sum, count) => sum + count, 0)
    return share(counts[unit] ?? 0, all)
  }

function keysOf(
  current: ExportProfile,
  earlier: readonly EarlierDelivery[],
  part: (profile: ExportProfile) => Readonly<Record<string, unknown>>,
): string[] {
  const all = [current, ...earlier.map(({ profile }) => profile)].flatMap((profile) =>
    Object.keys(part(profile)),
  )
  return [...new Set(all)].sort()
}

const number = (count: number): string => n(Math.round(count))
export const percent = (part: number): string => `${(part * 100).toFixed(1)} %`

interface ColumnDrift {
  readonly missing: readonly string[]
  readonly added: readonly string[]
  readonly renamed: readonly Renamed[]
  /** First column in another place. */
  readonly reordered: string | undefined
}

interface Renamed {
  readonly from: string
  readonly to: string
  /** Evidence of the renaming: place between the same columns, or form of the values. */
  readonly by: 'place' | 'values'
}

/**
 * Compares columns with the latest earlier delivery, unless any earlier delivery had these very columns.
 * @param earlier columns of earlier deliveries, latest first
 */
function compareColumns(
  current: readonly ColumnProfile[],
  earlier: readonly (readonly ColumnProfile[])[],
): ColumnDrift | undefined {
  const namesOf = (columns: readonly ColumnProfile[]): string[] => columns.map(({ name }) => name)
  const [latest] = earlier
  const now = namesOf(current)
  if (latest === undefined || earlier.some((columns) => isSame(namesOf(columns), now))) return undefined
  const before = namesOf(latest)
  const gone = latest.filter(({ name }) => !now.includes(name))
  const come = current.filter(({ name }) => !before.includes(name))
  const left = (columns: readonly ColumnProfile[], end: 'from' | 'to', renamed: readonly Renamed[]) =>
    columns.filter(({ name }) => !renamed.some((pair) => pair[end] === name))
  const inPlace = samePlace(before, now, namesOf(gone), namesOf(come))
  const renamed = [...inPlace, ...likeValues(left(gone, 'from', inPlace), left(come, 'to', inPlace))]
  return {
    missing: namesOf(left(gone, 'from', renamed)),
    added: namesOf(left(come, 'to', renamed)),
    renamed,
    reordered: firstElsewhere(before, now),
  }
}

const isSame = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((name, at) => name === other[at])

/** Pairs missing with new columns behind the same column, if equally many. */
function samePlace(
  before: readonly string[],
  now: readonly string[],
  missing: readonly string[],
  added: readonly string[],
): Renamed[] {
  const gone = behindKept(before, missing)
  const come = behindKept(now, added)
  return [...gone].flatMap(([place, names]) => {
    const others = come.get(place) ?? []
    return names.length === others.length
      ? names.map((from, at): Renamed => ({ from, to: others[at] ?? from, by: 'place' }))
      : []
  })
}

/** Column in front of a stretch of `apart` → stretch. */
function behindKept(names: readonly string[], apart: readonly string[]): Map<string, string[]> {
  const stretches = new Map<string, string[]>()
  let behind = ''
  for (const name of names) {
    if (apart.includes(name)) stretches.set(behind, [...(stretches.get(behind) ?? []), name])
    else behind = name
  }
  return stretches
}

/** Pairs columns by their values: each looks like its partner and like no third. */
function likeValues(missing: readonly ColumnProfile[], added: readonly ColumnProfile[]): Renamed[] {
  return missing.flatMap((gone): Renamed[] => {
    const [come, ...others] = added.filter((one) => isLike(gone, one))
    if (come === undefined || others.length > 0) return []
    if (missing.filter((one) => isLike(one, come)).length > 1) return []
    return [{ from: gone.name, to: come.name, by: 'values' }]
  })
}

/** Fewest values for telling columns apart. */
const FEWEST_ALIKE = 20

function isLike(one: ColumnProfile, other: ColumnProfile): boolean {
  const [a, b] = [one.sample, other.sample]
  if (a.values < FEWEST_ALIKE || b.values < FEWEST_ALIKE) return false
  const [long, short] = [a, b].map(({ characters, values }) => characters / values).sort((x, y) => y - x)
  return (
    Math.abs(one.empty / one.values - other.empty / other.values) < 0.1 &&
    Math.abs(a.numbers / a.values - b.numbers / b.values) < 0.1 &&
    (long ?? 0) <= (short ?? 0) * 1.2
  )
}

function firstElsewhere(before: readonly string[], now: readonly string[]): string | undefined {
  const kept = now.filter((name) => before.includes(name))
  const was = before.filter((name) => now.includes(name))
  return kept.find((name, at) => name !== was[at])
}

/** Difference between an export and earlier deliveries. Names of columns, rules, units and shares; no content of a cell. */
export const DriftFinding = z.strictObject({
  measure: z.enum([
    'columns',
    'rows',
    'empty',
    'mix',
    'values',
    'rejects',
    'fit',
    'skipped',
    'checks',
    'empty-handed',
    'end',
  ]),
  /** `stop` if the job stops for the finding, `accepted` if the job was told to take the export all the same. */
  level: z.enum(['warn', 'stop', 'accepted']),
  message: z.string(),
  /**
   * Distance from the usual: for rows as a share of their number, else in shares; 0.2 is 20 %. Undefined for columns, and for findings of earlier
   * versions.
   */
  change: z.number().optional(),
})
export type DriftFinding = z.infer<typeof DriftFinding>

/** Findings, from the ledger. */
export const readDrift = (drift: string | null): readonly DriftFinding[] =>
  drift === null ? [] : z.array(DriftFinding).parse(JSON.parse(drift))

/** Finding with the name of its export. */
export interface ExportDrift extends DriftFinding {
  readonly export: string
}

export interface EarlierDelivery {
  readonly profile: ExportProfile
  /** Drifted and accepted: a similar export is no drift either. */
  readonly accepted: boolean
}

interface Known {
  readonly value: number
  readonly accepted: boolean
}

/** Values of earlier deliveries, where known. @param earlier latest first */
export const knownOf = (
  earlier: readonly EarlierDelivery[],
  read: (profile: ExportProfile) => number | undefined,
): Known[] =>
  earlier.flatMap(({ profile, accepted }) => {
    const value = read(profile)
    return value === undefined ? [] : [{ value, accepted }]
  })

interface Comparison {
  /** Earlier deliveries needed for a comparison. */
  readonly after: number
  /** Distances beyond which a finding is reported, or stops the run. */
  readonly limits: { readonly warn: number; readonly stop: number }
  /** Deliveries in a row at the new distance, after which there is no warning any more. */
  readonly row: number
  distance(now: number, usual: number): number
}

/**
 * Judges the distance of a value from the usual (the median), or from an accepted value, whichever is nearer.
 * @param now undefined: nothing to compare
 * @param known latest first
 */
export function judge(
  measure: DriftFinding['measure'],
  now: number | undefined,
  known: readonly Known[],
  { after, limits: { warn, stop }, row, distance }: Comparison,
  message: (now: number, usual: number) => string,
): DriftFinding[] {
  if (now === undefined || known.length < after) return []
  const usual = median(known.map(({ value }) => value))
  const latest = known.slice(0, row).map(({ value }) => value)
  const references = [usual, ...known.filter(({ accepted }) => accepted).map(({ value }) => value)]
  const isKnown =
    latest.length === row &&
    latest.every((value) => distance(value, usual) > warn && distance(now, value) <= warn)
  const size = Math.min(...references.map((reference) => distance(now, reference)))
  const level = size > stop ? 'stop' : size > warn && !isKnown ? 'warn' : undefined
  if (level === undefined) return []
  return [{ measure, level, message: message(now, usual), change: Number(size.toFixed(3)) }]
}
