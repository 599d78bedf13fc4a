/** Backfills that have begun, by day: the progress of each, and its rate. */
import type { BackfillRange, ExportRecord, Ledger, RunRecord } from '../ledger/ledger.ts'
import { readCounts } from '../model/balance.ts'
import { rangeOf } from '../run/backfill-range.ts'
import { activityOf } from '../story/facts.ts'
import { iso } from '../system/shown-text.ts'
import { type Application, withLedgerIfAny } from './application.ts'

const DAY_MS = 86_400_000

/** Backfills to list. */
const BACKFILLS_LISTED = 5

export interface BegunExport {
  readonly name: string
  /** Day in the name of the file; absent without one. */
  readonly date?: string
  readonly state: ExportRecord['state']
  readonly reason?: string
  readonly rows: number
}

export interface BegunBackfill {
  readonly run: string
  readonly job: string
  readonly gateway: string
  readonly state: RunRecord['state']
  /** True while a process carries the run out. */
  readonly isUnderWay: boolean
  readonly startedAt: string
  readonly backfill: BackfillRange
  readonly exports: readonly BegunExport[]
  readonly rows: number
  readonly durationMs: number
}

/** Reads the latest backfills, newest first. */
export const readBackfills = (
  application: Pick<Application, 'settings' | 'openLedger' | 'now' | 'isDead'>,
): Promise<readonly BegunBackfill[]> =>
  withLedgerIfAny(application, async (ledger) => {
    const found: BegunBackfill[] = []
    for (const run of (await ledger?.runs.list(Number.MAX_SAFE_INTEGER)) ?? []) {
      const backfill = rangeOf(run)
      if (ledger === undefined || backfill === undefined) continue
      const activity = await activityOf(ledger, run, application.now(), application.isDead)
      const exports = await exportsOf(ledger, run.id)
      found.push({
        run: run.id,
        job: run.job,
        gateway: run.gateway,
        state: run.state,
        isUnderWay: activity?.kind === 'under-way',
        startedAt: iso(run.started_at),
        backfill,
        exports,
        rows: exports.reduce((sum, { rows }) => sum + rows, 0),
        durationMs: run.worked_ms,
      })
      if (found.length === BACKFILLS_LISTED) break
    }
    return found
  })

async function exportsOf(ledger: Ledger, run: string): Promise<BegunExport[]> {
  const found: BegunExport[] = []
  for (const record of await ledger.exports.ofRun(run)) {
    const { name, state, day, reason } = record
    found.push({
      name,
      state,
      rows: await rowsOfExport(ledger, record),
      ...(day === null ? {} : { date: iso(day * DAY_MS).slice(0, 10) }),
      ...(reason === null ? {} : { reason }),
    })
  }
  return found
}

/** Rows of the settled chunks of an export; after pruning, its total. */
export async function rowsOfExport(
  ledger: Pick<Ledger, 'chunks'>,
  { id, totals }: Pick<ExportRecord, 'id' | 'totals'>,
): Promise<number> {
  if (totals !== null) return readCounts(totals).rows.read
  const chunks = await ledger.chunks.ofExport(id)
  return chunks.reduce((sum, { counts }) => sum + (counts === null ? 0 : readCounts(counts).rows.read), 0)
}
