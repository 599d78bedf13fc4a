/** Plan of a backfill: exports with sizes and rows, earlier deliveries among them, and an estimate of the time. */

import { DateTime } from 'luxon'
import {
  type DefinitionFolders,
  type Job,
  type LoadedMapping,
  readMappings,
} from '../definitions/definition-files.ts'
import type { JobSource } from '../definitions/export-definition.ts'
import { fingerprint } from '../extract/content.ts'
import { openExport } from '../extract/open-export.ts'
import { compilePattern, matchExportName } from '../extract/sources/source.ts'
import { type AsideContents, asideContent, NONE_ASIDE } from '../ledger/audit.ts'
import type { BackfillRange, ExportRecord, Ledger, RunRecord } from '../ledger/ledger.ts'
import { allRecords } from '../model/balance.ts'
import { errorAsJson, isExportProblem, WaybillError } from '../model/errors.ts'
import type { Arrival, ReceivedExport } from '../run/arrival.ts'
import { openBeside, rangeOf, sameRange } from '../run/backfill-range.ts'
import { lookInRange, type RangeLook } from '../run/exports-in-range.ts'
import { countRows } from '../run/exports-of-run.ts'
import { summarise } from '../story/facts.ts'
import { present } from '../system/shown-text.ts'
import { rowsOfExport } from './backfills.ts'
import { backfillSources, noneInRange } from './run-job.ts'

export interface PlannedExport {
  readonly name: string
  readonly date: string
  readonly bytes: number
  readonly rows?: number
  /** True if an earlier run of the job at this gateway read this exact content to the end. */
  readonly deliveredBefore: boolean
  /** True if the unfinished backfill of this range has finished the export: the backfill does not read it again. */
  readonly done?: true
  /** True if a person has put this content aside: the backfill passes over the export. */
  readonly putAside?: true
  /** Error of reading the export. */
  readonly error?: WaybillError
}

export interface BackfillPlan {
  readonly job: string
  readonly gateway: string
  readonly backfill: BackfillRange
  readonly exports: readonly PlannedExport[]
  readonly bytes: number
  readonly rows: number
  /** Earlier deliveries among the exports and rows to read. */
  readonly deliveredBefore: { readonly exports: number; readonly rows: number }
  /** Unfinished backfill of this range, to be resumed, with finished exports and rows. */
  readonly unfinished?: { readonly run: string; readonly exports: number; readonly rows: number }
  readonly without: Gaps
  /** Names of files left out, because no pattern or date matches. */
  readonly unmatched: readonly string[]
  /** Time for the exports to read; undefined without a past run. */
  readonly estimate?: Estimate
}

/** JSON of `waybill backfill --dry-run`. */
export const backfillPlanJson = (plan: BackfillPlan): object => ({
  ...plan,
  dryRun: true,
  exports: plan.exports.map(({ error, ...one }) => ({ ...one, ...errorAsJson(error) })),
})

export interface PlanParts {
  readonly folders: DefinitionFolders
  readonly home: string
  /** Undefined without a ledger: nothing was delivered. */
  readonly ledger: Ledger | undefined
  readonly gateway: string
  readonly arrival: Arrival
  readonly now: () => number
  /** Called before each export is counted. */
  readonly onExport: (name: string, number: number, of: number) => void
}

/** Writes and sends nothing. @throws as `backfillJob` */
export async function planBackfill(parts: PlanParts, job: Job, range: BackfillRange): Promise<BackfillPlan> {
  const { arrival, now, gateway } = parts
  const name = job.definition.job
  const mappings = await readMappings(parts.folders, job)
  const sources = backfillSources(job, range)
  const look = await lookInRange({ range, sources, arrival, now })
  const { found } = look
  if (found.length === 0) throw noneInRange(name, sources, range)
  const runs = ((await parts.ledger?.runs.list(RUNS_LISTED, { job: name })) ?? []).filter(
    (run) => run.gateway === gateway,
  )
  const unfinished = runs.find((run) => isUnfinished(run.state) && sameRange(rangeOf(run), range))
  const begun = unfinished && (await parts.ledger?.exports.ofRun(unfinished.id))
  const begunBy = begun && Map.groupBy(begun, ({ mapping }) => mapping)
  const isOpenFor = new Map(
    [...mappings].map(([key, { name }]) => [
      key,
      openBeside((begunBy?.get(name) ?? []).map(({ path }) => path)),
    ]),
  )
  const aside = await asideOf(parts, name)
  const exports: PlannedExport[] = []
  for (const [at, { found: delivery, date, name: file }] of found.entries()) {
    parts.onExport(file, at + 1, found.length)
    const mapping = mappings.get(delivery.mapping)
    if (mapping === undefined)
      throw new WaybillError('mapping-not-found', `there is no mapping ${delivery.mapping}`)
    try {
      const done = isOpenFor.get(delivery.mapping)?.(delivery.source.address(file)) === false
      for (const received of await arrival.receive(delivery)) {
        const planned = await planOne({ ...parts, aside }, name, received, date, mapping)
        exports.push(done ? { ...planned, done } : planned)
      }
    } catch (error) {
      if (!isExportProblem(error)) throw error
      const { bytes } = delivery.delivery
      const isAside =
        aside.get(delivery.source.address(file)) ===
        asideContent({ sha256: '', delivered: delivery.delivery })
      const about = { name: file, date, bytes, deliveredBefore: false }
      exports.push(isAside ? { ...about, putAside: true } : { ...about, error })
    }
    await arrival.clearUnpacked()
    await arrival.forget(delivery)
  }
  const toRead = exports.filter(({ done, putAside }) => done === undefined && putAside === undefined)
  const known = toRead.filter(({ deliveredBefore }) => deliveredBefore)
  const rows = rowsOf(exports)
  const fresh = rowsOf(toRead) - rowsOf(known)
  const past = parts.ledger === undefined ? [] : await pastRuns(parts.ledger, parts.home, runs)
  return {
    job: name,
    gateway,
    backfill: range,
    exports,
    bytes: exports.reduce((total, { bytes }) => total + bytes, 0),
    rows,
    deliveredBefore: { exports: known.length, rows: rowsOf(known) },
    ...(unfinished && {
      unfinished: {
        run: unfinished.id,
        exports: exports.filter(({ done }) => done === true).length,
        rows: rows - rowsOf(toRead),
      },
    }),
    ...leftOut(job, range, look, mappings),
    ...present({ estimate: estimate({ fresh, known: rowsOf(known) }, past, range.rate) }),
  }
}

/** Files of a range, from the listing only. */
export interface BackfillLook extends Pick<BackfillPlan, 'without' | 'unmatched'>, Pick<RangeLook, 'found'> {}

/** Days of the range without an export, and files that are not exports. */
export function leftOut(
  job: Job,
  range: BackfillRange,
  { found, names }: RangeLook,
  mappings: ReadonlyMap<string, LoadedMapping>,
): Pick<BackfillPlan, 'without' | 'unmatched'> {
  const joins = [...mappings.values()].flatMap((mapping) => mapping.joins.map((join) => join.export))
  const listed = job.sources.map((rules, at) => ({ rules, names: names[at] ?? [] }))
  return {
    without: gapsOf(
      range,
      job.sources.map(({ match }) => match),
      found.map(({ date }) => date),
    ),
    unmatched: unmatchedNames(listed, range.in !== undefined, joins),
  }
}

const RUNS_LISTED = 1_000

const isUnfinished = (state: RunRecord['state']): boolean => state === 'running' || state === 'interrupted'

const rowsOf = (exports: readonly PlannedExport[]): number =>
  exports.reduce((total, { rows = 0 }) => total + rows, 0)

async function asideOf({ ledger, gateway }: PlanParts, job: string): Promise<AsideContents> {
  const jobId = await ledger?.jobs.known(job, gateway)
  return jobId === undefined || ledger === undefined ? NONE_ASIDE : ledger.putAside.contents(jobId)
}

async function planOne(
  { ledger, gateway, aside }: PlanParts & { readonly aside: AsideContents },
  job: string,
  { name, address, file, version, limits }: ReceivedExport,
  date: string,
  { read }: LoadedMapping,
): Promise<PlannedExport> {
  const { sha256, exportId, bytes } = await fingerprint(file, limits.signal, version)
  if (aside.get(address) === asideContent({ sha256 }))
    return { name, date, bytes, deliveredBefore: false, putAside: true }
  try {
    const rows = await countRows(await openExport(file, read, limits, version))
    const records = (await ledger?.exports.withContent(exportId)) ?? []
    const same = records.filter((record) => record.sha256 === sha256)
    const deliveredBefore = ledger !== undefined && (await wasRead(ledger, { job, gateway }, same, rows))
    return { name, date, bytes, rows, deliveredBefore }
  } catch (error) {
    if (!isExportProblem(error)) throw error
    return { name, date, bytes, deliveredBefore: false, error }
  }
}

/** Compares row counts: a run with `--limit` finishes an export after reading only some rows. */
async function wasRead(
  ledger: Ledger,
  { job, gateway }: { readonly job: string; readonly gateway: string },
  records: readonly ExportRecord[],
  rows: number,
): Promise<boolean> {
  for (const record of records) {
    if (record.state !== 'finished' || record.reading !== 'whole') continue
    const run = await ledger.runs.find(record.run_id)
    if (run?.job !== job || run.gateway !== gateway) continue
    if ((await rowsOfExport(ledger, record)) >= rows) return true
  }
  return false
}

interface PastRun {
  readonly rows: number
  /** Records made; `unchanged` of them were delivered before and not sent. */
  readonly made: number
  readonly unchanged: number
  readonly requests: number
  readonly durationMs: number
}

interface RowsToRead {
  readonly fresh: number
  readonly known: number
}

interface Estimate {
  readonly seconds: number
  readonly rowsPerSecond?: number
  /** Speed of rows delivered before: read, mapped and recognised, not sent. */
  readonly knownRowsPerSecond: number
  readonly runs: number
  /** True if `--rate` determines the time. */
  readonly limitedByRate: boolean
}

/** A run with this share of known records gives the speed of reading alone. */
const MOSTLY_UNCHANGED = 0.95

/**
 * @param past if no run read mostly known rows, known rows count at the average speed of all runs: a safe upper bound
 * @param perSecond limit of requests per second
 * @returns undefined without a usable past run
 */
export function estimate(
  { fresh, known }: RowsToRead,
  past: readonly PastRun[],
  perSecond: number | undefined,
): Estimate | undefined {
  const usable = past.filter((run) => run.rows > 0 && run.made > 0 && run.durationMs > 0)
  const sent = usable.flatMap((run) => {
    const sentRows = run.rows * (1 - run.unchanged / run.made)
    return sentRows > 0 ? [{ ...run, sentRows }] : []
  })
  if (usable.length === 0 || (fresh > 0 && sent.length === 0)) return undefined
  const reading = usable.filter(({ made, unchanged }) => unchanged / made >= MOSTLY_UNCHANGED)
  const msPerKnown = msPerRow(reading.length > 0 ? reading : usable)
  const toRead = (known * msPerKnown) / 1000
  const knownRowsPerSecond = 1000 / msPerKnown
  if (sent.length === 0)
    return { seconds: toRead, knownRowsPerSecond, runs: usable.length, limitedByRate: false }
  const sentRows = sum(sent.map((run) => run.sentRows))
  const atWork = sent.map(({ rows, durationMs, sentRows: own }) => {
    const read = reading.length > 0 ? (rows - own) * msPerKnown : 0
    return Math.max(durationMs - read, (durationMs * own) / rows)
  })
  const rowsPerSecond = (sentRows * 1000) / sum(atWork)
  const requestsPerRow = sum(sent.map((run) => run.requests)) / sentRows
  const free = fresh / rowsPerSecond
  const paced = perSecond === undefined ? 0 : (fresh * requestsPerRow) / perSecond
  return {
    seconds: Math.max(free, paced) + toRead,
    rowsPerSecond,
    knownRowsPerSecond,
    runs: usable.length,
    limitedByRate: paced > free,
  }
}

const msPerRow = (runs: readonly PastRun[]): number =>
  sum(runs.map(({ durationMs }) => durationMs)) / sum(runs.map(({ rows }) => rows))

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0)

interface Gaps {
  /** Months if no pattern of the job has a day. */
  readonly unit: 'day' | 'month'
  readonly count: number
  readonly of: number
  /** `2026-01-31`, or `2026-01`; both ends included. */
  readonly ranges: readonly { readonly from: string; readonly to: string; readonly count: number }[]
}

type Rules = Pick<JobSource, 'match' | 'marker' | 'manifest' | 'checksum'>

/**
 * @param listed files at each source of the job
 * @param all true: every file should be an export, as in a named folder; false: only files that match a pattern except for the date
 * @param joins patterns of files to be joined with exports
 * @returns names of files that are not an export of any day, sorted
 */
export function unmatchedNames(
  listed: readonly { readonly rules: Rules; readonly names: readonly string[] }[],
  all: boolean,
  joins: readonly string[],
): string[] {
  const rules = listed.map((one) => one.rules)
  const fits = fitsOneOf(rules.map(({ match }) => match))
  const isBeside = fitsOneOf([...joins, ...rules.flatMap(({ manifest }) => manifest ?? [])])
  const unmatched = new Set<string>()
  for (const { rules: own, names } of listed) {
    const fitsButForDate = fitsOneOf([own.match.replace(/\{date:[^{}]*\}/, '*')])
    const companions = new Set(
      names.flatMap((name) =>
        rules.flatMap(({ marker, checksum }) =>
          [marker, checksum].flatMap((pattern) => pattern?.replaceAll('{name}', name) ?? []),
        ),
      ),
    )
    for (const name of names) {
      const meant = all ? !name.startsWith('.') : fitsButForDate(name)
      if (meant && !fits(name) && !isBeside(name) && !companions.has(name)) unmatched.add(name)
    }
  }
  return [...unmatched].sort()
}

function fitsOneOf(patterns: readonly string[]): (name: string) => boolean {
  const compiled = patterns.map(compilePattern)
  return (name) => compiled.some((pattern) => matchExportName(pattern, name) !== undefined)
}

/** @param dates of exports: ISO dates, for a month its first day */
export function gapsOf(
  { from, to }: Pick<BackfillRange, 'from' | 'to'>,
  matches: readonly string[],
  dates: Iterable<string>,
): Gaps {
  const unit = matches.some(hasDay) ? 'day' : 'month'
  const length = unit === 'day' ? '2026-01-31'.length : '2026-01'.length
  const there = new Set(dates)
  const ranges: { from: string; to: string; count: number }[] = []
  let of = 0
  let open: (typeof ranges)[number] | undefined
  const first = DateTime.fromISO(from, { zone: 'utc' })
  let at = unit === 'day' || first.day === 1 ? first : first.startOf('month').plus({ month: 1 })
  for (; (at.toISODate() ?? '') <= to; at = at.plus({ [unit]: 1 })) {
    of += 1
    const date = at.toISODate() ?? ''
    if (there.has(date)) {
      open = undefined
      continue
    }
    const shown = date.slice(0, length)
    if (open === undefined) {
      open = { from: shown, to: shown, count: 0 }
      ranges.push(open)
    }
    open.to = shown
    open.count += 1
  }
  return { unit, count: ranges.reduce((sum, { count }) => sum + count, 0), of, ranges }
}

function hasDay(match: string): boolean {
  const { dateFormat } = compilePattern(match)
  const written = [23, 24].map((day) =>
    DateTime.utc(1987, 11, day).toFormat(dateFormat ?? '', { locale: 'en-US' }),
  )
  return new Set(written).size > 1
}

const RUNS_LOOKED_AT = 5

/** Latest finished runs; without any, the progress of an unfinished run. */
async function pastRuns(ledger: Ledger, home: string, runs: readonly RunRecord[]): Promise<PastRun[]> {
  const own = runs.filter(({ origin_run: origin }) => origin === null)
  const finished = own.filter(({ state }) => state === 'finished').slice(0, RUNS_LOOKED_AT)
  const unfinished = own.filter(({ state }) => state === 'running' || state === 'interrupted').slice(0, 1)
  return Promise.all(
    (finished.length > 0 ? finished : unfinished).map(async (run) => {
      const summary = await summarise(ledger, home, run.id)
      const { made, unchanged } = allRecords(summary)
      const { sent, readBack } = summary.requests
      const durationMs = run.state === 'running' ? await knownSpan(ledger, run) : summary.durationMs
      return { rows: summary.rows.read, made, unchanged, requests: sent + readBack, durationMs }
    }),
  )
}

/** Working time of a run that was killed or is in progress, since no record of it exists: from the start to the last settled chunk. */
async function knownSpan(ledger: Ledger, { id, started_at: from }: RunRecord): Promise<number> {
  let to = from
  for (const record of await ledger.exports.ofRun(id))
    for (const { settled_at: at } of await ledger.chunks.ofExport(record.id)) to = Math.max(to, at ?? from)
  return to - from
}
