/** Records in doubt of all runs, with request and last look at the profile. No values. */
import type { BatchRecord, ExceptionRecord, ExportRecord, Ledger, RunRecord } from '../ledger/ledger.ts'
import { readCounts } from '../model/balance.ts'
import { transactionId } from '../model/ids.ts'
import { iso } from '../system/shown-text.ts'
import { type Application, withLedgerIfAny } from './application.ts'

/**
 * Result of the last look at the profile. `none`: nobody has looked since the run was given up. `unreadable`: the profile could not be read.
 * `unclear`: the profile was read, and shows a newer record in this place, or does not tell. `waits`: the record was not sent.
 */
export type LastLook = 'none' | 'unreadable' | 'unclear' | 'waits'

/** Records in doubt to list of a run. */
const DOUBTS_LISTED = 200

export interface DoubtfulRecord {
  readonly export: string
  readonly row: number
  /** Line of the file; in a workbook, the row of the sheet. */
  readonly line: number
  readonly kind: string
  readonly rule: string
  readonly code: string
  readonly transactionId: string
  /** Request that carried the record; absent for a record that was held back, and not sent. */
  readonly sent?: {
    readonly batchId: string
    readonly records: number
    readonly attempts: number
    readonly answer: string | null
    readonly status: number | null
    readonly begunAt: string
    readonly settledAt: string | null
  }
  readonly look: LastLook
}

export interface DoubtfulRun {
  readonly run: string
  readonly job: string
  readonly gateway: string
  readonly startedAt: string
  readonly records: readonly DoubtfulRecord[]
  /** Records that the run sent before it was given up, without an answer or a look since: named by their batches alone. */
  readonly unasked: number
  /** True if the run has more records in doubt. */
  readonly hasMore: boolean
}

type NamedRun = RunRecord & { readonly job: string; readonly gateway: string }

/** Reads the runs with records in doubt, newest first. */
export const readInDoubt = (application: Application): Promise<readonly DoubtfulRun[]> =>
  withLedgerIfAny(application, async (ledger) => {
    if (ledger === undefined) return []
    const matters = await ledger.runs.openMatters()
    const runs = await ledger.runs.list(Number.MAX_SAFE_INTEGER, { among: [...matters.keys()] })
    const found: DoubtfulRun[] = []
    for (const run of runs) {
      const isInDoubt = matters.get(run.id)?.left.some(({ outcome }) => outcome === 'in-doubt') ?? false
      const unasked = run.reason === 'given-up' ? await ledger.left.unasked(run.id) : 0
      if (isInDoubt || unasked > 0) found.push(await doubtfulRun(ledger, run, unasked))
    }
    return found
  })

async function doubtfulRun(ledger: Ledger, run: NamedRun, unasked: number): Promise<DoubtfulRun> {
  const about = { run: run.id, job: run.job, gateway: run.gateway, startedAt: iso(run.started_at), unasked }
  const records: DoubtfulRecord[] = []
  for (const record of await ledger.exports.ofRun(run.id))
    for (const chunk of await ledger.chunks.ofExport(record.id)) {
      if (chunk.counts !== null && inDoubtIn(chunk.counts) === 0) continue
      const key = { exportRow: record.id, chunk: chunk.number }
      const doubts = (await ledger.chunks.exceptions(key)).filter(({ state }) => state === 'in-doubt')
      if (doubts.length === 0) continue
      const batches = await ledger.chunks.batches(key)
      const looks = await looksAt(ledger, run.job_id, doubts)
      for (const doubt of doubts) records.push(recordOf(record, doubt, batches, looks))
      if (records.length > DOUBTS_LISTED)
        return { ...about, records: records.slice(0, DOUBTS_LISTED), hasMore: true }
    }
  return { ...about, records, hasMore: false }
}

const inDoubtIn = (counts: string): number =>
  Object.values(readCounts(counts).records).reduce((sum, { inDoubt }) => sum + inDoubt, 0)

async function looksAt(
  ledger: Ledger,
  jobId: number,
  doubts: readonly ExceptionRecord[],
): Promise<ReadonlyMap<string, LastLook>> {
  const contents = doubts.flatMap(({ content }) => content ?? [])
  const held = await ledger.left.heldWith(jobId, contents)
  return new Map(
    held.map(({ content, series, sentUntil }) => [
      content,
      sentUntil !== null ? 'none' : series === null ? 'unclear' : 'unreadable',
    ]),
  )
}

function recordOf(
  { name, export_id: exportId }: ExportRecord,
  { row, line, kind, rule, content, code, batch_id: batchId }: ExceptionRecord,
  batches: readonly BatchRecord[],
  looks: ReadonlyMap<string, LastLook>,
): DoubtfulRecord {
  const batch = batches.findLast((one) => one.batch_id === batchId)
  const id = transactionId(exportId, row, rule ?? '', content ?? '')
  const about = { export: name, row, line, kind: kind ?? '', rule: rule ?? '', code, transactionId: id }
  const look = looks.get(content ?? '') ?? (code === 'waits-for-older' ? 'waits' : 'unclear')
  if (batch === undefined) return { ...about, look }
  const { records, attempts, answer, status, begun_at: begun, settled_at: settled } = batch
  const sent = {
    batchId: batch.batch_id,
    records,
    attempts,
    answer,
    status,
    begunAt: iso(begun),
    settledAt: settled === null ? null : iso(settled),
  }
  return { ...about, sent, look }
}
