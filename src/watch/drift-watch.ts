/**
 * Watches one export for drift: ahead of the run as far as the job may stop for drift, else while the rows are mapped. The columns of a CSV are in
 * its header, and are always compared first; medians and rejects show in the first rows. Everything else needs the whole export, and so a second
 * reading: the watch reads ahead only if the job asks for a stop.
 */
import type { LoadedMapping } from '../definitions/definition-files.ts'
import { comparesDrift, type DriftDefinition } from '../definitions/job-definition.ts'
import type { OpenExport } from '../extract/open-export.ts'
import type { Ledger, Profiles, RunLedger } from '../ledger/ledger.ts'
import type { RowOutcome } from '../model/entry.ts'
import { WaybillError } from '../model/errors.ts'
import { isTable, type Row } from '../model/row.ts'
import { counted, n } from '../system/shown-text.ts'
import {
  columnDrift,
  type DriftFinding,
  type EarlierDelivery,
  FEWEST_VALUES,
  judge,
  knownOf,
  pathDrift,
  percent,
  rowDrift,
  share,
  valueDrift,
} from './drift.ts'
import {
  createProfiler,
  ExportProfile,
  type MeasuredProfile,
  median,
  type Profiler,
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

/** The part of the memory that a watch reads. */
type WatchMemory = Omit<DriftMemory, 'ledger'> & {
  readonly ledger: { readonly profiles: Pick<Profiles, 'has' | 'latest'> }
}

/** The part of a run's ledger that a watch writes. */
type WatchNotes = Pick<RunLedger, 'noteDrift' | 'saveProfile'>

export interface DriftWatch {
  /**
   * Reads as far as necessary before anything of the export is sent. Call first.
   * @returns number of rows, if all were read
   * @throws WaybillError `columns-missing`, or a problem of the export
   */
  readAhead(opened: OpenExport, exportName: string): Promise<number | undefined>
  /**
   * Replaces `readAhead` for an export begun by an earlier process: reads the settled rows, which nobody maps any more.
   * @param rows number of settled rows
   */
  catchUp(opened: OpenExport, exportName: string, rows: number): Promise<void>
  /** @throws WaybillError `export-drifted` if the part read ahead differs by more than the job allows */
  assertAllowed(exportName: string, path: string): void
  /** Adds a finding made elsewhere. */
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

/** Undefined if there is nothing to compare: the job does not want it, or this very content was delivered before. */
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

/** What a watch compares with, and how the findings count. */
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
    const { earlier } = this
    const { rules, accept } = this.memory
    const columns = this.isCsv
      ? columnDrift(profile, earlier, rules)
      : all
        ? pathDrift(profile, earlier, rules)
        : []
    const values = all
      ? [
          ...outcomeDrift(profile, earlier, rules),
          ...valueDrift(profile, earlier, rules),
          ...measureDrift(profile, earlier, rules),
          ...swappedDrift(profile, earlier, rules),
          ...fitFindings(suspicions, rules.fit),
        ]
      : []
    const drifted = [...this.noted, ...columns, ...values]
    this.found = accept
      ? drifted.map((one) => (one.level === 'stop' ? { ...one, level: 'accepted' } : one))
      : drifted
  }

  /** @param head profile of the first rows */
  judgeHead(head: ExportProfile): void {
    const stops = measureDrift(head, this.earlier, this.memory.rules).filter(({ level }) => level === 'stop')
    this.found = [...this.found, ...stops]
  }

  judgeRows(rows: number): void {
    this.found = [...this.found, ...rowDrift(rows, this.earlier, this.memory.rules)]
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

  /** @throws WaybillError `export-drifted` */
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

function createWatch(
  memory: WatchMemory,
  mapping: LoadedMapping,
  sha256: string,
  earlier: readonly EarlierDelivery[],
): DriftWatch {
  const { job, accept, whole } = memory
  const isCsv = isTable(mapping.read.format)
  const comparison = new Comparison(memory, isCsv, earlier)
  let profiler: Profiler | undefined
  /** True if all rows were read ahead. */
  let complete = false

  const judge = (profile: ExportProfile, all: boolean): void =>
    comparison.judge(profile, all, profiler?.suspicions() ?? [])
  /** @param most rows to read. @param exportName undefined: only the columns matter */
  const profilerOf = (opened: OpenExport, most: number, exportName: string | undefined): Promise<Profiler> =>
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
        mapping.compiled.bind(opened.columns, exportName, memory.now)
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
): Promise<Profiler> {
  const profiler = createProfiler(mapping, opened.columns)
  const mapper = exportName && mapping.compiled.bind(opened.columns, exportName, now)
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

type Limits = Pick<DriftDefinition, 'values' | 'rejects' | 'after'>

/**
 * Compares measurements of an export with earlier deliveries: medians, shares of rejects, days. Also finds oddities in the result of the mapping: all
 * rows skipped, or more warnings of a check (docs/jobs.md, "Drift"). Pure.
 * @param earlier latest first
 */
export const measureDrift = (
  current: ExportProfile,
  earlier: readonly EarlierDelivery[],
  rules: Limits,
): DriftFinding[] => [
  ...rejectDrift('rows', ({ rows, rejectedRows }) => share(rejectedRows, rows), current, earlier, rules),
  ...Object.entries(current.measured).flatMap(([rule, now]) => {
    const measuredOf = ({ measured }: ExportProfile): MeasuredProfile | undefined =>
      Object.hasOwn(measured, rule) ? measured[rule] : undefined
    const shareOf = (profile: ExportProfile): number | undefined => {
      const { rejected, found } = measuredOf(profile) ?? { rejected: 0, found: 0 }
      return share(rejected, found)
    }
    return [
      ...rejectDrift(rule, shareOf, current, earlier, rules),
      ...medianDrift(rule, now, measuredOf, earlier, rules),
    ]
  }),
  ...daysDrift(current, earlier, rules),
]

function rejectDrift(
  what: string,
  shareOf: (profile: ExportProfile) => number | undefined,
  current: ExportProfile,
  earlier: readonly EarlierDelivery[],
  { after, rejects: limits }: Limits,
): DriftFinding[] {
  // Fewer rejects than ever are no trouble.
  const distance = (one: number, other: number): number => Math.max(0, one - other)
  const known = knownOf(earlier, shareOf)
  return judge('rejects', shareOf(current), known, { after, limits, row: after, distance }, (now, usual) => {
    return `of ${what} ${percent(now)} rejected, usually ${percent(usual)}`
  })
}

/** Standard errors that a median or a share must move to count as moved: chance hardly ever makes four. */
const BEYOND_CHANCE = 4

function medianDrift(
  rule: string,
  { quartiles, values }: MeasuredProfile,
  measuredOf: (profile: ExportProfile) => MeasuredProfile | undefined,
  earlier: readonly EarlierDelivery[],
  { after, values: limits }: Limits,
): DriftFinding[] {
  const known = knownOf(earlier, (profile) => measuredOf(profile)?.quartiles?.[1])
  if (quartiles === undefined || known.length < after) return []
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
  const moved = judge('values', now, known, { after, limits, row: 1, distance }, (_, usual) => {
    const times = usual === 0 ? '' : ` (${Number((now / usual).toPrecision(3))} times)`
    return `the median of ${rule} is ${now}, usually ${usual}${times}`
  })
  if (q1 !== q3 || spread <= 0 || !Number.isFinite(limits.warn)) return moved
  const message = `${rule} is ${now} in most rows, and usually is not`
  return [...moved, { measure: 'values', level: 'warn', message, change: 1 }]
}

/** Factor by which the usual span of days must grow, and by more than a month, before swapped day and month are suspected. */
const SPREAD = 2
const MONTH = 31

function daysDrift(
  { daysSpanned: now }: ExportProfile,
  earlier: readonly EarlierDelivery[],
  { values, after }: Limits,
): DriftFinding[] {
  if (!Number.isFinite(values.warn)) return []
  return judge(
    'values',
    now,
    knownOf(earlier, ({ daysSpanned }) => daysSpanned),
    {
      after,
      limits: { warn: 0, stop: Number.POSITIVE_INFINITY },
      row: after,
      distance: (one, other) =>
        one > other * SPREAD && one > other + MONTH ? (one - other) / Math.max(other, 1) : 0,
    },
    (_, usual) =>
      `nine of ten dates lie within ${now} days, usually ${Math.round(usual)}: are day and month swapped?`,
  )
}

/** Suspicions about the export itself, as findings beside the changes. */
export const fitFindings = (suspicions: readonly Suspicion[], fit: DriftDefinition['fit']): DriftFinding[] =>
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

/** @param earlier latest first */
export const outcomeDrift = (
  current: ExportProfile,
  earlier: readonly EarlierDelivery[],
  rules: DriftDefinition,
): DriftFinding[] => [...emptyHanded(current, earlier, rules), ...checkDrift(current, earlier, rules)]

/** Finding that every row was skipped: strange without any history, except for exports that usually bring nothing. */
function emptyHanded(
  { rows, skipped }: ExportProfile,
  earlier: readonly EarlierDelivery[],
  { after, skipped: { warn } }: DriftDefinition,
): DriftFinding[] {
  if (rows === 0 || skipped < rows || !Number.isFinite(warn)) return []
  const shares = earlier.map(({ profile }) => profile.skipped / Math.max(1, profile.rows))
  if (shares.length >= after && median(shares) >= 1) return []
  return [
    { measure: 'empty-handed', level: 'warn', message: `all ${counted(rows, 'row')} skipped`, change: 1 },
  ]
}

/** Warnings of a check, reported if no earlier delivery had as many, by share of the rows. */
function checkDrift(
  { rows, warnings }: ExportProfile,
  earlier: readonly EarlierDelivery[],
  { checks }: DriftDefinition,
): DriftFinding[] {
  if (checks === 'off') return []
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

/**
 * Finds values mirrored or moved as a whole since earlier deliveries: flags read the other way round, swapped names, times of another zone
 * (docs/jobs.md, "Drift"). A single export shows none of these. Pure.
 * @param earlier latest first
 */
export function swappedDrift(
  current: ExportProfile,
  earlier: readonly EarlierDelivery[],
  { after, mix, values }: Pick<DriftDefinition, 'mix' | 'values' | 'after'>,
): DriftFinding[] {
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
