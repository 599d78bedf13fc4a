/** What a backfill would do: its exports with sizes and rows, which of them were delivered before, and how long the others may take. */
import { WaybillError } from '../errors.ts'
import { fingerprint } from '../extract/fingerprint.ts'
import { openExport } from '../extract/open-export.ts'
import type { BackfillRange, ExportRecord, Ledger } from '../ledger/ledger.ts'
import { allRecords } from '../reconcile/balance.ts'
import type { Arrival, ReceivedExport } from './arrival.ts'
import { type Estimate, estimate, type PastRun } from './backfill-estimate.ts'
import { findInRange } from './backfill-exports.ts'
import { backfillSources, noneInRange } from './backfill-job.ts'
import { readCounts } from './counts-text.ts'
import { type DefinitionFolders, type Job, type LoadedMapping, readMappings } from './definition-files.ts'
import { countRows } from './exports-of-run.ts'
import { isExportProblem } from './run-export.ts'
import { summarise } from './summary.ts'

/** The latest runs that tell how fast the job is. */
const RUNS_LOOKED_AT = 5

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
  /** How many of the exports, and how many of their rows, were delivered before. */
  readonly deliveredBefore: { readonly exports: number; readonly rows: number }
  /** Of what was not; undefined where no finished run tells. */
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
  /** Requests a second at most. */
  readonly perSecond: number | undefined
  /** Told before each export is counted. */
  readonly onExport: (name: string, number: number, of: number) => void
}

/** Writes nothing and sends nothing. @throws WaybillError as `backfillJob` */
export async function planBackfill(parts: PlanParts, job: Job, range: BackfillRange): Promise<BackfillPlan> {
  const { arrival, now, gateway } = parts
  const name = job.definition.job
  const mappings = await readMappings(parts.folders, job)
  const sources = backfillSources(job, range)
  const found = await findInRange({ range, sources, arrival, now })
  if (found.length === 0) throw noneInRange(name, sources, range)
  const exports: PlannedExport[] = []
  for (const [at, { found: delivery, date, name: file }] of found.entries()) {
    parts.onExport(file, at + 1, found.length)
    const mapping = mappings.get(delivery.mapping)
    if (mapping === undefined)
      throw new WaybillError('mapping-not-found', `there is no mapping ${delivery.mapping}`)
    try {
      for (const received of await arrival.receive(delivery))
        exports.push(await planOne(parts, name, received, date, mapping))
    } catch (error) {
      if (!isExportProblem(error)) throw error
      exports.push({ name: file, date, bytes: delivery.delivery.bytes, deliveredBefore: false, error })
    }
    await arrival.clearUnpacked()
    await arrival.forget(delivery)
  }
  const known = exports.filter(({ deliveredBefore }) => deliveredBefore)
  const rows = rowsOf(exports)
  const fresh = rows - rowsOf(known)
  const past = parts.ledger === undefined ? [] : await pastRuns(parts.ledger, parts.home, name, gateway)
  const expected = estimate(fresh, past, parts.perSecond)
  return {
    job: name,
    gateway,
    backfill: range,
    exports,
    bytes: exports.reduce((total, { bytes }) => total + bytes, 0),
    rows,
    deliveredBefore: { exports: known.length, rows: rowsOf(known) },
    ...(expected === undefined ? {} : { estimate: expected }),
  }
}

const rowsOf = (exports: readonly PlannedExport[]): number =>
  exports.reduce((total, { rows = 0 }) => total + rows, 0)

async function planOne(
  { ledger, gateway }: PlanParts,
  job: string,
  { name, file, limits }: ReceivedExport,
  date: string,
  { read }: LoadedMapping,
): Promise<PlannedExport> {
  const { sha256, exportId, bytes } = await fingerprint(file)
  try {
    const rows = await countRows(await openExport(file, read, limits))
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

async function pastRuns(ledger: Ledger, home: string, job: string, gateway: string): Promise<PastRun[]> {
  const runs = (await ledger.runs(1000, { job })).filter(
    (run) => run.gateway === gateway && run.state === 'finished' && run.origin_run === null,
  )
  return Promise.all(
    runs.slice(0, RUNS_LOOKED_AT).map(async ({ id }) => {
      const summary = await summarise(ledger, home, id)
      const { made, unchanged } = allRecords(summary)
      const { sent, readBack } = summary.requests
      const { rows, durationMs } = summary
      return { rows: rows.read, made, unchanged, requests: sent + readBack, durationMs }
    }),
  )
}
