/** What a backfill would do: its exports with sizes and rows, which of them were delivered before, and how long the others may take. */

import {
  type DefinitionFolders,
  type Job,
  type LoadedMapping,
  readMappings,
} from '../definitions/definition-files.ts'
import { fingerprint } from '../extract/fingerprint.ts'
import { openExport } from '../extract/open-export.ts'
import type { BackfillRange, ExportRecord, Ledger, RunRecord } from '../ledger/ledger.ts'
import { readCounts } from '../model/balance.ts'
import { WaybillError } from '../model/errors.ts'
import type { Arrival, ReceivedExport } from './arrival.ts'
import { type Estimate, estimate } from './backfill-estimate.ts'
import { lookInRange, type RangeLook } from './backfill-exports.ts'
import { type Gaps, gapsOf, unmatchedNames } from './backfill-gaps.ts'
import { backfillSources, noneInRange } from './backfill-job.ts'
import { isOpen, rangeOf, sameRange } from './backfill-range.ts'
import { countRows } from './exports-of-run.ts'
import { pastRuns } from './past-runs.ts'
import { isExportProblem } from './run-export.ts'

export interface PlannedExport {
  readonly name: string
  /** The day that its name says. */
  readonly date: string
  /** Of the file as delivered. */
  readonly bytes: number
  /** Undefined where it cannot be read. */
  readonly rows?: number
  /** Whether this very content was read to its end by an earlier run of the job at this gateway. */
  readonly deliveredBefore: boolean
  /** Whether the unfinished backfill of this range is through with it: it is not read again. */
  readonly done?: true
  /** What is wrong with it. */
  readonly error?: WaybillError
}

export interface BackfillPlan {
  readonly job: string
  readonly gateway: string
  readonly backfill: BackfillRange
  readonly exports: readonly PlannedExport[]
  readonly bytes: number
  readonly rows: number
  /** How many of the exports that are to be read, and how many of their rows, were delivered before. */
  readonly deliveredBefore: { readonly exports: number; readonly rows: number }
  /** The unfinished backfill of this range, which is gone on with, and what it is through with. */
  readonly unfinished?: { readonly run: string; readonly exports: number; readonly rows: number }
  /** Days of the range without an export. */
  readonly without: Gaps
  /** Names of files that are left out, as no pattern or date fits them. */
  readonly unmatched: readonly string[]
  /** Of what is to be read; undefined where no run tells. */
  readonly estimate?: Estimate
}

export interface PlanParts {
  readonly folders: DefinitionFolders
  readonly home: string
  /** Undefined where there is none yet: nothing was delivered. */
  readonly ledger: Ledger | undefined
  readonly gateway: string
  readonly arrival: Arrival
  readonly now: () => number
  /** Told before each export is counted. */
  readonly onExport: (name: string, number: number, of: number) => void
}

/** Writes nothing and sends nothing. @throws WaybillError as `backfillJob` */
export async function planBackfill(parts: PlanParts, job: Job, range: BackfillRange): Promise<BackfillPlan> {
  const { arrival, now, gateway } = parts
  const name = job.definition.job
  const mappings = await readMappings(parts.folders, job)
  const sources = backfillSources(job, range)
  const look = await lookInRange({ range, sources, arrival, now })
  const { found } = look
  if (found.length === 0) throw noneInRange(name, sources, range)
  const runs = ((await parts.ledger?.runs(RUNS_LISTED, { job: name })) ?? []).filter(
    (run) => run.gateway === gateway,
  )
  const unfinished = runs.find((run) => isUnfinished(run.state) && sameRange(rangeOf(run), range))
  const begun = unfinished && (await parts.ledger?.exportsOf(unfinished.id))
  const exports: PlannedExport[] = []
  for (const [at, { found: delivery, date, name: file }] of found.entries()) {
    parts.onExport(file, at + 1, found.length)
    const mapping = mappings.get(delivery.mapping)
    if (mapping === undefined)
      throw new WaybillError('mapping-not-found', `there is no mapping ${delivery.mapping}`)
    try {
      const own = begun?.filter((one) => one.mapping === mapping.name).map(({ path }) => path)
      const done = own !== undefined && !isOpen(delivery.source.address(file), own)
      for (const received of await arrival.receive(delivery)) {
        const planned = await planOne(parts, name, received, date, mapping)
        exports.push(done ? { ...planned, done } : planned)
      }
    } catch (error) {
      if (!isExportProblem(error)) throw error
      exports.push({ name: file, date, bytes: delivery.delivery.bytes, deliveredBefore: false, error })
    }
    await arrival.clearUnpacked()
    await arrival.forget(delivery)
  }
  const toRead = exports.filter(({ done }) => done === undefined)
  const known = toRead.filter(({ deliveredBefore }) => deliveredBefore)
  const rows = rowsOf(exports)
  const fresh = rowsOf(toRead) - rowsOf(known)
  const past = parts.ledger === undefined ? [] : await pastRuns(parts.ledger, parts.home, runs)
  const expected = estimate({ fresh, known: rowsOf(known) }, past, range.rate)
  return {
    job: name,
    gateway,
    backfill: range,
    exports,
    bytes: exports.reduce((total, { bytes }) => total + bytes, 0),
    rows,
    deliveredBefore: { exports: known.length, rows: rowsOf(known) },
    ...(unfinished === undefined
      ? {}
      : {
          unfinished: {
            run: unfinished.id,
            exports: exports.length - toRead.length,
            rows: rows - rowsOf(toRead),
          },
        }),
    ...leftOut(job, range, look, mappings),
    ...(expected === undefined ? {} : { estimate: expected }),
  }
}

/** What of the range has no export, and what lies there that is none. */
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

/** Runs of the job among which an unfinished one, and the latest ones, are looked for. */
const RUNS_LISTED = 1_000

const isUnfinished = (state: RunRecord['state']): boolean => state === 'running' || state === 'interrupted'

const rowsOf = (exports: readonly PlannedExport[]): number =>
  exports.reduce((total, { rows = 0 }) => total + rows, 0)

async function planOne(
  { ledger, gateway }: PlanParts,
  job: string,
  { name, file, version, limits }: ReceivedExport,
  date: string,
  { read }: LoadedMapping,
): Promise<PlannedExport> {
  const { sha256, exportId, bytes } = await fingerprint(file, undefined, version)
  try {
    const rows = await countRows(await openExport(file, read, limits, version))
    const records = (await ledger?.exportsWithContent(exportId)) ?? []
    const same = records.filter((record) => record.sha256 === sha256)
    const deliveredBefore = ledger !== undefined && (await wasRead(ledger, { job, gateway }, same, rows))
    return { name, date, bytes, rows, deliveredBefore }
  } catch (error) {
    if (!isExportProblem(error)) throw error
    return { name, date, bytes, deliveredBefore: false, error }
  }
}

/** A run with `--limit` has finished an export of which it has read some rows alone. */
async function wasRead(
  ledger: Ledger,
  { job, gateway }: { readonly job: string; readonly gateway: string },
  records: readonly ExportRecord[],
  rows: number,
): Promise<boolean> {
  for (const record of records) {
    if (record.state !== 'finished' || record.reading !== 'whole') continue
    const run = await ledger.run(record.run_id)
    if (run?.job !== job || run.gateway !== gateway) continue
    if ((await rowsRead(ledger, record)) >= rows) return true
  }
  return false
}

async function rowsRead(ledger: Ledger, { id, totals }: ExportRecord): Promise<number> {
  if (totals !== null) return readCounts(totals).rows.read
  const chunks = (await ledger.chunksOf(id)).filter(({ state }) => state === 'settled')
  return chunks.reduce((total, { counts }) => total + readCounts(counts).rows.read, 0)
}
