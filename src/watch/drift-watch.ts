/**
 * Watches an export for drift: by columns and first rows, and while it is mapped. Where the job may stop for it, the whole is read ahead.
 */

import { z } from 'zod'
import type { LoadedMapping } from '../definitions/definition-files.ts'
import { comparesDrift, type DriftDefinition } from '../definitions/job-definition.ts'
import type { OpenExport } from '../extract/open-export.ts'
import type { Ledger, RunLedger } from '../ledger/ledger.ts'
import type { RowOutcome } from '../model/entry.ts'
import { WaybillError } from '../model/errors.ts'
import { isTable, type Row } from '../model/row.ts'
import { counted, n } from '../system/shown-text.ts'
import {
  type ColumnProfile,
  createProfiler,
  ExportProfile,
  type MeasuredProfile,
  median,
  OTHER,
  ROWS_SAMPLED,
} from './export-profile.ts'
import type { Suspicion } from './judge-fit.ts'
import { hoursMoved } from './times-of-day.ts'

/** Finished deliveries compared with an export. */
export const DELIVERIES_COMPARED = 20

/** Earlier deliveries for the comparison, and its rules. */
export interface DriftMemory {
  readonly job: string
  readonly rules: DriftDefinition
  readonly ledger: Pick<Ledger, 'profiles' | 'expectations' | 'exports'>
  /** True if exports are accepted despite drift. */
  readonly accept: boolean
  /** True if findings may stop an export, which is then read ahead; else findings are only reported. */
  readonly mayStop: boolean
  /** False if only some rows are taken: a part is compared by its columns alone, and is not remembered. */
  readonly whole: boolean
  readonly now: number
}

type WatchMemory = Omit<DriftMemory, 'ledger'> & {
  readonly ledger: { readonly profiles: Pick<Ledger['profiles'], 'has' | 'latest'> }
}

type WatchNotes = Pick<RunLedger, 'noteDrift' | 'saveProfile'>

export interface DriftWatch {
  /**
   * Reads as far as necessary before anything of the export is sent. Call first.
   * @returns number of rows, if all were read
   * @throws `columns-missing`, or a problem of the export
   */
  readAhead(opened: OpenExport, exportName: string): Promise<number | undefined>
  /**
   * Replaces `readAhead` for an export begun by an earlier process: reads the settled rows, which nobody maps any more.
   * @param rows number of settled rows
   */
  catchUp(opened: OpenExport, exportName: string, rows: number): Promise<void>
  /** @throws `export-drifted` if the part read ahead differs by more than the job allows */
  assertAllowed(exportName: string, path: string): void
  note(finding: DriftFinding): void
  /** Records the result of reading ahead. */
  begin(runLedger: WatchNotes, exportRow: number): Promise<void>
  /** Takes every row, as mapped. */
  look(rows: readonly { readonly source: Row; readonly outcome: RowOutcome }[]): void
  /** Returns all findings; call after the last row. */
  compare(): readonly DriftFinding[]
  /** Records the findings made on the way; call after the last row. @returns all findings */
  end(runLedger: WatchNotes, exportRow: number): Promise<readonly DriftFinding[]>
}

/** Undefined if the job does not want it, or this very content was delivered before. */
export async function watchDrift(
  memory: WatchMemory,
  mapping: LoadedMapping,
  sha256: string,
): Promise<DriftWatch | undefined> {
  const { job, rules, ledger } = memory
  if (!comparesDrift(rules)) return undefined
  const key = { job, mapping: mapping.name }
  if (await ledger.profiles.has(key, sha256)) return undefined
  const profiles = await ledger.profiles.latest(key, DELIVERIES_COMPARED)
  const earlier = profiles.map(({ accepted, content }): EarlierDelivery => {
    return { accepted, profile: ExportProfile.parse(JSON.parse(content)) }
  })
  return createWatch(memory, mapping, sha256, earlier)
}

/** Earlier deliveries to compare with, and the weight of the findings. */
class Comparison {
  found: readonly DriftFinding[] = []
  private readonly noted: DriftFinding[] = []
  private readonly isCsv: boolean
  private readonly memory: WatchMemory
  private readonly earlier: readonly EarlierDelivery[]

  constructor(memory: WatchMemory, isCsv: boolean, earlier: readonly EarlierDelivery[]) {
    this.memory = memory
    this.isCsv = isCsv
    this.earlier = earlier
  }

  /** @param all true: values, too; false: columns alone */
  judge(profile: ExportProfile, all: boolean, suspicions: readonly Suspicion[]): void {
    const { earlier, isCsv } = this
    const { rules, accept } = this.memory
    const columns = isCsv ? columnDrift({ current: profile, earlier, rules }) : []
    const drifted = [
      ...this.noted,
      ...(all ? driftOf(profile, earlier, rules, { isCsv, suspicions }) : columns),
    ]
    this.found = accept
      ? drifted.map((one) => (one.level === 'stop' ? { ...one, level: 'accepted' } : one))
      : drifted
  }

  judgeHead(head: ExportProfile): void {
    const { earlier, memory } = this
    const measured = measureDrift({ current: head, earlier, rules: memory.rules })
    this.found = [...this.found, ...measured.filter(({ level }) => level === 'stop')]
  }

  judgeRows(rows: number): void {
    const { earlier, memory } = this
    this.found = [...this.found, ...rowDrift(rows, { earlier, rules: memory.rules })]
  }

  note(finding: DriftFinding): void {
    this.noted.push(finding)
    this.found = [...this.found, finding]
  }

  /** Findings that the first rows did not show have not stopped the export. */
  soften(): void {
    this.found = this.found.map((one) => (one.level === 'stop' ? { ...one, level: 'warn' } : one))
  }

  async save(runLedger: WatchNotes, exportRow: number): Promise<void> {
    if (this.found.length > 0) await runLedger.noteDrift(exportRow, JSON.stringify(this.found))
  }

  assertAllowed(exportName: string, path: string): void {
    const stops = this.memory.mayStop ? this.found.filter(({ level }) => level === 'stop') : []
    if (stops.length === 0) return
    const findings = stops.map(({ measure, message }) => ({ place: {}, message: `${measure}: ${message}` }))
    const named = findings.slice(0, FINDINGS_NAMED).map(({ message }) => message)
    const rest = findings.length - named.length
    throw new WaybillError(
      'export-drifted',
      `${exportName} differs from earlier deliveries by more than the job allows: ${named.join('; ')}${rest === 0 ? '' : `; and ${rest} more`}`,
      { place: { file: path }, findings },
    )
  }
}

/**
 * Differences of a whole export from earlier deliveries, and oddities of its own (docs/jobs.md, "Drift"). Pure.
 * @param earlier latest first
 */
export const driftOf = (
  profile: ExportProfile,
  earlier: readonly EarlierDelivery[],
  rules: DriftDefinition,
  { isCsv, suspicions }: { readonly isCsv: boolean; readonly suspicions: readonly Suspicion[] },
): DriftFinding[] => {
  const compared = { current: profile, earlier, rules }
  return [
    ...(isCsv ? columnDrift : pathDrift)(compared),
    ...emptyHanded(compared),
    ...checkDrift(compared),
    ...valueDrift(compared),
    ...measureDrift(compared),
    ...swappedDrift(compared),
    ...fitFindings(suspicions, rules.fit),
  ]
}

/** An export beside earlier deliveries. */
interface Compared {
  readonly current: ExportProfile
  /** Latest first. */
  readonly earlier: readonly EarlierDelivery[]
  readonly rules: DriftDefinition
}

function createWatch(
  memory: WatchMemory,
  mapping: LoadedMapping,
  sha256: string,
  earlier: readonly EarlierDelivery[],
): DriftWatch {
  const { job, accept, whole } = memory
  const isCsv = isTable(mapping.read.format)
  const comparison = new Comparison(memory, isCsv, earlier)
  let profiler: ReturnType<typeof createProfiler> | undefined
  /** True if all rows were read ahead. */
  let complete = false

  const judge = (profile: ExportProfile, all: boolean): void =>
    comparison.judge(profile, all, profiler?.suspicions() ?? [])
  const profilerOf = (opened: OpenExport, most: number, exportName: string | undefined) =>
    profileRows(mapping, opened, most, { exportName, now: memory.now })
  const save = async (runLedger: WatchNotes, exportRow: number): Promise<void> => {
    if (profiler === undefined || !whole) return
    const content = JSON.stringify(profiler.profile())
    const accepted = accept && comparison.found.length > 0
    await runLedger.saveProfile(exportRow, { job, mapping: mapping.name, sha256, accepted, content })
  }

  return {
    async readAhead(opened, exportName) {
      const extent = extentOf(memory, isCsv, earlier.length)
      if (extent === 'values') {
        profiler = await profilerOf(opened, Number.POSITIVE_INFINITY, exportName)
        complete = true
        const profile = profiler.profile()
        judge(profile, true)
        return profile.rows
      }
      profiler = createProfiler(mapping, opened.columns)
      judge(profiler.profile(), false)
      if (comparison.found.length > 0) {
        // Columns that the mapping reads and the export lacks have an error of their own.
        mapping.compiled.bind(opened.columns, exportName, memory.now, opened.below)
        // Includes the form of the first values, which identifies renamed columns.
        judge((await profilerOf(opened, ROWS_SAMPLED, undefined)).profile(), false)
      }
      if (stopsForHead(memory, earlier.length))
        comparison.judgeHead((await profilerOf(opened, ROWS_AHEAD, exportName)).profile())
      if (extent === 'header') return undefined
      let rows = 0
      for await (const block of opened.rows()) rows += block.length
      comparison.judgeRows(rows)
      return rows
    },
    async catchUp(opened, exportName, rows) {
      if (complete) return
      profiler = await profilerOf(opened, rows, exportName)
    },
    assertAllowed: (exportName, path) => comparison.assertAllowed(exportName, path),
    note: (finding) => comparison.note(finding),
    async begin(runLedger, exportRow) {
      if (complete) await save(runLedger, exportRow)
      await comparison.save(runLedger, exportRow)
    },
    look(rows) {
      if (complete || !whole) return
      for (const { source, outcome } of rows) profiler?.add(source, outcome)
    },
    compare() {
      if (!complete && whole && profiler !== undefined) judge(profiler.profile(), true)
      if (!complete && memory.mayStop) comparison.soften()
      return comparison.found
    },
    async end(runLedger, exportRow) {
      if (complete) return comparison.found
      this.compare()
      await save(runLedger, exportRow)
      await comparison.save(runLedger, exportRow)
      return comparison.found
    },
  }
}

/** Profiles the first rows of an export. @param exportName undefined: only the columns matter */
async function profileRows(
  mapping: LoadedMapping,
  opened: OpenExport,
  most: number,
  { exportName, now }: { readonly exportName: string | undefined; readonly now: number },
): Promise<ReturnType<typeof createProfiler>> {
  const profiler = createProfiler(mapping, opened.columns)
  const mapper = exportName && mapping.compiled.bind(opened.columns, exportName, now, opened.below)
  let left = most
  if (left === 0) return profiler
  for await (const block of opened.rows()) {
    for (const row of block.slice(0, left)) profiler.add(row, mapper ? mapper(row) : undefined)
    left -= block.length
    if (left <= 0) break
  }
  return profiler
}

/** Findings named in an error message; the ledger has all of them. */
const FINDINGS_NAMED = 10

/** Rows for judging medians and rejects before anything is sent: enough for a median, and soon read. */
const ROWS_AHEAD = 2_000

function stopsForHead({ mayStop, accept, whole, rules }: WatchMemory, deliveries: number): boolean {
  const stops = Number.isFinite(rules.values.stop) || Number.isFinite(rules.rejects.stop)
  return stops && mayStop && !accept && whole && deliveries >= rules.after
}

/** Extent of the reading necessary before the job can know that the export may be sent. */
function extentOf(
  { rules, mayStop, accept, whole }: WatchMemory,
  isCsv: boolean,
  deliveries: number,
): 'header' | 'rows' | 'values' {
  if (!mayStop || accept || !whole) return 'header'
  if (rules.fit === 'stop') return 'values'
  if (deliveries < rules.after) return 'header'
  const stops = ({ stop }: { readonly stop: number }): boolean => Number.isFinite(stop)
  if (stops(rules.empty) || stops(rules.mix) || stops(rules.skipped) || (!isCsv && rules.columns === 'stop'))
    return 'values'
  return stops(rules.rows) ? 'rows' : 'header'
}

/** Medians, shares of rejects and days, against earlier deliveries (docs/jobs.md, "Drift"). */
const measureDrift = (compared: Compared): DriftFinding[] => [
  ...rejectDrift('rows', ({ rows, rejectedRows }) => share(rejectedRows, rows), compared),
  ...Object.entries(compared.current.measured).flatMap(([rule, now]) => {
    const measuredOf = ({ measured }: ExportProfile): MeasuredProfile | undefined =>
      Object.hasOwn(measured, rule) ? measured[rule] : undefined
    const shareOf = (profile: ExportProfile): number | undefined => {
      const { rejected, found } = measuredOf(profile) ?? { rejected: 0, found: 0 }
      return share(rejected, found)
    }
    return [...rejectDrift(rule, shareOf, compared), ...medianDrift(rule, now, measuredOf, compared)]
  }),
  ...daysDrift(compared),
]

function rejectDrift(what: string, shareOf: FigureOf, compared: Compared): DriftFinding[] {
  const { after, rejects: limits } = compared.rules
  // Fewer rejects than ever are no trouble.
  const distance = (one: number, other: number): number => Math.max(0, one - other)
  return judge(
    'rejects',
    shareOf(compared.current),
    shareOf,
    compared,
    { limits, row: after, distance },
    (now, usual) => {
      return `of ${what} ${percent(now)} rejected, usually ${percent(usual)}`
    },
  )
}

/** Standard errors that a median or a share must move to count as moved: chance hardly ever makes four. */
const BEYOND_CHANCE = 4

function medianDrift(
  rule: string,
  { quartiles, values }: MeasuredProfile,
  measuredOf: (profile: ExportProfile) => MeasuredProfile | undefined,
  compared: Compared,
): DriftFinding[] {
  const { earlier, rules } = compared
  const limits = rules.values
  const medianOf: FigureOf = (profile) => measuredOf(profile)?.quartiles?.[1]
  if (quartiles === undefined || knownOf(earlier, medianOf).length < rules.after) return []
  const [q1, now, q3] = quartiles
  const spread = median(
    earlier.flatMap(({ profile }) => {
      const { quartiles: [first, , third] = [] } = measuredOf(profile) ?? {}
      return first === undefined || third === undefined ? [] : [third - first]
    }),
  )
  // Standard error of a median of normal values, from the distance of their quartiles.
  const error = (0.93 * Math.max(spread, q3 - q1)) / Math.sqrt(values)
  const distance = (one: number, other: number): number => {
    const moved = Math.abs(one - other)
    return moved <= BEYOND_CHANCE * error ? 0 : moved / Math.max(Math.abs(other), Number.EPSILON)
  }
  const moved = judge('values', now, medianOf, compared, { limits, row: 1, distance }, (_, usual) => {
    const times = usual === 0 ? '' : ` (${Number((now / usual).toPrecision(3))} times)`
    return `the median of ${rule} is ${now}, usually ${usual}${times}`
  })
  if (q1 !== q3 || spread <= 0 || !Number.isFinite(limits.warn)) return moved
  const message = `${rule} is ${now} in most rows, and usually is not`
  return [...moved, { measure: 'values', level: 'warn', message, change: 1 }]
}

/** Growth of the usual span of days, and by more than a month, that suggests swapped day and month. */
const SPREAD = 2
const MONTH = 31

function daysDrift(compared: Compared): DriftFinding[] {
  const { after, values } = compared.rules
  if (!Number.isFinite(values.warn)) return []
  return judge(
    'values',
    compared.current.daysSpanned,
    ({ daysSpanned }) => daysSpanned,
    compared,
    {
      limits: { warn: 0, stop: Number.POSITIVE_INFINITY },
      row: after,
      distance: (one, other) =>
        one > other * SPREAD && one > other + MONTH ? (one - other) / Math.max(other, 1) : 0,
    },
    (now, usual) =>
      `nine of ten dates lie within ${now} days, usually ${Math.round(usual)}: are day and month swapped?`,
  )
}

const fitFindings = (suspicions: readonly Suspicion[], fit: DriftDefinition['fit']): DriftFinding[] =>
  fit === 'off'
    ? []
    : suspicions
        // For rows left out, earlier deliveries say more.
        .filter(({ finding }) => finding !== 'rows-left-out')
        .map(({ rule, message, finding }) => ({
          measure: 'fit',
          level: fit,
          message: `${rule === null ? '' : `${rule}: `}${message} (${finding})`,
        }))

/** Finding that every row was skipped, except of exports that usually bring nothing. */
function emptyHanded({ current: { rows, skipped }, earlier, rules }: Compared): DriftFinding[] {
  const {
    after,
    skipped: { warn },
  } = rules
  if (rows === 0 || skipped < rows || !Number.isFinite(warn)) return []
  const shares = earlier.map(({ profile }) => profile.skipped / Math.max(1, profile.rows))
  if (shares.length >= after && median(shares) >= 1) return []
  return [
    { measure: 'empty-handed', level: 'warn', message: `all ${counted(rows, 'row')} skipped`, change: 1 },
  ]
}

/** Warnings of a check, reported if no earlier delivery had as many, by share of the rows. */
function checkDrift({ current: { rows, warnings }, earlier, rules }: Compared): DriftFinding[] {
  if (rules.checks === 'off') return []
  return Object.entries(warnings).flatMap(([code, count]) => {
    const now = count / Math.max(1, rows)
    const most = Math.max(
      0,
      ...earlier.map(({ profile }) => (profile.warnings[code] ?? 0) / Math.max(1, profile.rows)),
    )
    if (now <= most) return []
    const usual = earlier.length === 0 ? '' : `, before ${percent(most)} at most`
    const message = `${code} ${n(count)} in ${counted(rows, 'row')}${usual}`
    return [
      {
        measure: 'checks' as const,
        level: 'warn' as const,
        message,
        change: Number((now - most).toFixed(3)),
      },
    ]
  })
}

/** Finds values mirrored or moved as a whole: inverted flags, swapped names, times of another zone. */
function swappedDrift({ current, earlier, rules: { after, mix, values } }: Compared): DriftFinding[] {
  const before = earlier.map(({ profile }) => profile)
  const flags = Object.keys(current.rules).flatMap((rule) => {
    const found = mirrored(current, before, after, ({ rules, taken }) => {
      const rows = Object.hasOwn(rules, rule) ? rules[rule] : undefined
      return rows === undefined ? undefined : [rows, taken]
    })
    // A larger change is reported by its size.
    if (found === undefined || Math.abs(found.now - found.usual) > mix.warn) return []
    const [now, usual] = [percent(found.now), percent(found.usual)]
    return `rows with ${rule} ${now}, usually ${usual}: is its flag the other way round?`
  })
  const names = mirrored(current, before, after, (profile) =>
    profile.names === undefined ? undefined : [profile.names.first, profile.names.first + profile.names.last],
  )
  const clocks = before.flatMap(({ clock }) => clock ?? [])
  const hours = current.clock && hoursMoved(current.clock, clocks, after)
  const others = [
    ...(names === undefined
      ? []
      : [
          'people have as many different first names as last names before, and the reverse: are they swapped?',
        ]),
    ...(hours === undefined
      ? []
      : [
          `times of day ${counted(Math.abs(hours), 'hour')} ${hours > 0 ? 'later' : 'earlier'} than usual, in the same pattern: is the zone right?`,
        ]),
  ]
  const tell =
    (measure: 'mix' | 'values') =>
    (message: string): DriftFinding => ({ measure, level: 'warn', message })
  return [
    ...(Number.isFinite(mix.warn) ? flags.map(tell('mix')) : []),
    ...(Number.isFinite(values.warn) ? others.map(tell('values')) : []),
  ]
}

type Counts = readonly [part: number, whole: number]

/** Share now equal to the earlier rest, beyond chance, and steady before; undefined otherwise. */
function mirrored(
  current: ExportProfile,
  before: readonly ExportProfile[],
  after: number,
  countsOf: (profile: ExportProfile) => Counts | undefined,
): { readonly now: number; readonly usual: number } | undefined {
  const enough = (profile: ExportProfile): Counts[] => {
    const counts = countsOf(profile)
    return counts === undefined || counts[1] < FEWEST_VALUES ? [] : [counts]
  }
  const [[part, rows] = [0, 0]] = enough(current)
  const known = before.flatMap(enough)
  if (rows === 0 || known.length < after) return undefined
  const shares = known.map(([one, whole]) => one / whole)
  const [now, usual] = [part / rows, median(shares)]
  const moved = Math.abs(now - usual)
  const rowsBefore = known.reduce((sum, [, whole]) => sum + whole, 0)
  const error = Math.sqrt(usual * (1 - usual) * (1 / rows + 1 / rowsBefore))
  const away = [now - (1 - usual), ...shares.map((one) => one - usual)]
  const isMirror = moved > BEYOND_CHANCE * error && away.every((far) => Math.abs(far) < moved / 2)
  return isMirror ? { now, usual } : undefined
}

/** Findings in an export that continued, for a person to look at. */
export const toLookAt = <Finding extends Pick<DriftFinding, 'level'>>(found: readonly Finding[]): Finding[] =>
  found.filter(({ level }) => level === 'warn')

/** Fewest values for comparing shares: smaller samples are left to chance. */
const FEWEST_VALUES = 20

function columnDrift({ current, earlier, rules: { columns: level } }: Compared): DriftFinding[] {
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
    const why = by === 'place' ? 'same position' : 'similar values'
    messages.push(`${quoted(from)} was probably renamed ${quoted(to)} (${why})`)
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

const rowDrift = (rows: number, compared: Omit<Compared, 'current'>): DriftFinding[] =>
  judge(
    'rows',
    rows,
    (profile) => profile.rows,
    compared,
    {
      limits: compared.rules.rows,
      row: compared.rules.after,
      distance: (now, usual) => (usual === 0 ? (now === 0 ? 0 : 1) : Math.abs(now - usual) / usual),
    },
    (now, usual) => `${number(now)}, usually ${number(usual)}`,
  )

/** Paths of JSON read by a mapping: paths that now lead to nothing and always led to a value, and the reverse. */
function pathDrift({ current, earlier, rules: { columns: level, after } }: Compared): DriftFinding[] {
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

/** Rows, skipped rows, empty values and mix. */
function valueDrift(compared: Compared): DriftFinding[] {
  const { current, rules } = compared
  const compare = (measure: 'empty' | 'mix' | 'skipped', what: string, shareOf: FigureOf): DriftFinding[] =>
    judge(
      measure,
      shareOf(current),
      shareOf,
      compared,
      {
        limits: rules[measure],
        row: measure === 'skipped' ? rules.after : 1,
        distance: (one, other) => Math.abs(one - other),
      },
      (now, usual) => `${what} ${percent(now)}, usually ${percent(usual)}`,
    )
  return [
    ...rowDrift(current.rows, compared),
    ...compare('skipped', 'rows skipped', ({ skipped, rows }) => share(skipped, rows)),
    ...current.columns.flatMap(({ name }) => compare('empty', `empty ${quoted(name)}`, shareOfEmpty(name))),
    ...Object.keys(current.rules).flatMap((rule) => compare('mix', `rows with ${rule}`, shareOfRule(rule))),
    ...keysOf(compared, ({ codes }) => codes).flatMap((code) =>
      compare('mix', `rows with ${code === OTHER ? 'another value' : code}`, shareOfCode(code)),
    ),
    ...keysOf(compared, ({ units }) => units).flatMap((rule) =>
      keysOf(compared, ({ units }) => units[rule] ?? {}).flatMap((unit) =>
        compare('mix', `${rule} ${unitName(unit)}`, shareOfUnit(rule, unit)),
      ),
    ),
  ]
}

function unitName(unit: string): string {
  if (unit === '') return 'without unit'
  return `in ${unit === OTHER ? 'another value' : unit}`
}

/** Figure of a profile; undefined if there are too few values, or none of this kind. */
type FigureOf = (profile: ExportProfile) => number | undefined

const share = (part: number, whole: number): number | undefined =>
  whole < FEWEST_VALUES ? undefined : part / whole

const shareOfEmpty =
  (name: string) =>
  ({ columns }: Pick<ExportProfile, 'columns'>): number | undefined => {
    const column = columns.find((one) => one.name === name)
    return column && share(column.empty, column.values)
  }

/** Share of rows with a rule; undefined if the mapping had no rule of this name. */
const shareOfRule =
  (rule: string): FigureOf =>
  ({ rules, taken }) => {
    const rows = rules[rule]
    return rows === undefined ? undefined : share(rows, taken)
  }

const shareOfCode =
  (code: string): FigureOf =>
  ({ codes, taken }) =>
    share(codes[code] ?? 0, taken)

const shareOfUnit =
  (rule: string, unit: string): FigureOf =>
  ({ units }) => {
    const counts = units[rule]
    if (counts === undefined) return undefined
    const all = Object.values(counts).reduce((sum, count) => sum + count, 0)
    return share(counts[unit] ?? 0, all)
  }

function keysOf(
  { current, earlier }: Compared,
  part: (profile: ExportProfile) => Readonly<Record<string, unknown>>,
): string[] {
  const all = [current, ...earlier.map(({ profile }) => profile)].flatMap((profile) =>
    Object.keys(part(profile)),
  )
  return [...new Set(all)].sort()
}

const number = (count: number): string => n(Math.round(count))
const percent = (part: number): string => `${(part * 100).toFixed(1)} %`

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
const DriftFinding = z.strictObject({
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

interface EarlierDelivery {
  readonly profile: ExportProfile
  /** Drifted and accepted: a similar export is no drift either. */
  readonly accepted: boolean
}

interface Known {
  readonly value: number
  readonly accepted: boolean
}

/** Values of earlier deliveries, where known. @param earlier latest first */
const knownOf = (earlier: readonly EarlierDelivery[], read: FigureOf): Known[] =>
  earlier.flatMap(({ profile, accepted }) => {
    const value = read(profile)
    return value === undefined ? [] : [{ value, accepted }]
  })

interface Weighing {
  /** Distances beyond which a finding is reported, or stops the run. */
  readonly limits: { readonly warn: number; readonly stop: number }
  /** Deliveries in a row at the new distance, after which there is no warning any more. */
  readonly row: number
  distance(now: number, usual: number): number
}

/**
 * Judges the distance of a value from the usual (the median), or from an accepted value, whichever is nearer.
 * @param now undefined: nothing to compare
 * @param figureOf the value in an earlier delivery
 */
function judge(
  measure: DriftFinding['measure'],
  now: number | undefined,
  figureOf: FigureOf,
  { earlier, rules }: Omit<Compared, 'current'>,
  { limits: { warn, stop }, row, distance }: Weighing,
  message: (now: number, usual: number) => string,
): DriftFinding[] {
  const known = knownOf(earlier, figureOf)
  if (now === undefined || known.length < rules.after) return []
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
