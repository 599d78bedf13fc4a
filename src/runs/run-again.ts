/** What a run has read, opened once more with the mapping that it had: to read back what became of its records. */
import { join } from 'node:path'
import type { Job } from '../definitions/definition-files.ts'
import { type ChunkRecord, type ExportRecord, NOTHING_PERHAPS_SENT, originOf } from '../ledger/ledger.ts'
import { resolveAccounts } from '../load/accounts.ts'
import { lookUp } from '../load/delivery.ts'
import { createEntries, type Entry } from '../model/entry.ts'
import type { AccountIds, Verdict } from '../model/outcome.ts'
import type { Origin } from '../model/row.ts'
import { type ProfileRecord, readProfile } from '../reconcile/read-back.ts'
import { type Arrival, createArrival, spoolFolder } from '../run/arrival.ts'
import { kindOf } from '../run/backfill-range.ts'
import { connectStages } from '../run/connect-stages.ts'
import type { RunDependencies } from '../run/dependencies.ts'
import { keptMapping, rejoin } from '../run/joined-exports.ts'
import { openAppended } from '../run/receipts.ts'
import { isGivenUp } from '../run/resume.ts'
import { type OpenRows, openAll, openRows } from '../run/rows.ts'
import type { Amending, RunOfJob } from './amend-run.ts'
import { receiveOriginal } from './take-up.ts'

export type RunAgain = ReturnType<typeof connectAgain>

/** Nothing that is made here sends a record, or registers anybody. */
export async function withRunAgain<Result>(
  deps: RunDependencies,
  job: Job,
  run: RunOfJob,
  amending: Amending,
  work: (again: RunAgain) => Promise<Result>,
): Promise<Result> {
  const arrival = createArrival(spoolFolder(deps.home, run.job_id, kindOf(run)), deps.sources)
  try {
    return await work(connectAgain(deps, job, run, amending, arrival))
  } finally {
    // An unfinished run goes on with what was fetched and kept for it; that need not be this one.
    const unfinished = await deps.ledger.unfinishedRun(run.job_id, kindOf(run))
    await arrival.close(unfinished !== undefined)
  }
}

function connectAgain(
  deps: RunDependencies,
  job: Job,
  run: RunOfJob,
  { runLedger, receipt, signal, stop }: Amending,
  arrival: Arrival,
) {
  const { ledger, identity, gateway, now } = deps
  const stages = connectStages(deps, job, run.job_id, {
    behindSince: undefined,
    perhapsSent: NOTHING_PERHAPS_SENT,
    origin: originOf(run),
    isBackfill: kindOf(run) === 'backfill',
    runLedger,
    // Never written to, nor closed: no chunk is settled here.
    receipts: openAppended(deps.home, join(deps.home, run.receipts_path), 0, runLedger.assertHeld),
    stop,
    signal,
    limit: Number.POSITIVE_INFINITY,
    turn: async () => {},
    startedAt: run.started_at,
    rejectsPath: run.rejects_path,
  })
  const { load } = stages
  // A run whose process is gone may have sent a moment ago.
  const overAt = run.state === 'running' ? deps.now() : (run.ended_at ?? deps.now())
  const otherwise = isGivenUp(run)
    ? `nothing need be done: what it had under way is looked for whenever it comes again. Where somebody knows that the gateway has it: waybill resolve ${run.id} --accept`
    : undefined
  const found = async (record: ExportRecord) => {
    const { file, version, limits, beside } = await receiveOriginal(arrival, job, record, otherwise)
    const content = await keptMapping(ledger, record)
    const mapping = await rejoin(content, record.name, arrival.kept, beside)
    return { record: { ...record, path: file, version }, mapping, limits }
  }
  const accountIds = async (entries: readonly Entry[]): Promise<AccountIds> =>
    (await resolveAccounts({ ...load.accounts, register: 'never' }, entries)).accountIds
  async function* entries(
    exportId: string,
    { opened, mapper }: OpenRows,
    from?: Origin,
  ): AsyncGenerator<Entry[]> {
    for await (const block of opened.rows(from)) {
      for (const source of block) {
        signal.throwIfAborted()
        const outcome = mapper(source)
        yield outcome.outcome === 'mapped' ? createEntries(identity, exportId, outcome) : []
      }
    }
  }
  return {
    ...{ ledger, now, run, runLedger, receipt },
    /** All rows of the file; of selected rows, the file that they stand in. @throws WaybillError `export-gone` */
    async openAll(export_: ExportRecord): Promise<OpenRows> {
      const { record, mapping, limits } = await found(export_)
      return openAll(ledger, record, mapping, limits, run.started_at)
    },
    /** The rows that the run has read. @throws WaybillError `export-gone` */
    async openRows(export_: ExportRecord): Promise<OpenRows> {
      const { record, mapping, limits } = await found(export_)
      return openRows(stages, record, mapping, limits)
    },
    entries,
    /** From the first row of a chunk on. @param most rows to read; undefined: those of the chunk */
    async *entriesOfChunk(
      exportId: string,
      rows: OpenRows,
      chunk: ChunkRecord,
      most = chunk.rows,
    ): AsyncGenerator<Entry[]> {
      const from = { row: chunk.first_row, line: chunk.first_line, byteOffset: chunk.byte_offset }
      let left = most
      for await (const ofRow of entries(exportId, rows, from)) {
        yield ofRow
        if (--left <= 0) break
      }
    },
    readBack: async (entries: readonly Entry[]): Promise<Map<Entry, Verdict>> =>
      lookUp(load, entries, await accountIds(entries), overAt),
    /** The profile of the account that all of these belong to; undefined where it cannot be read. */
    readProfile: (entries: readonly Entry[], ids: AccountIds): Promise<ProfileRecord[] | undefined> =>
      readProfile(gateway, load.sending.read, entries, ids),
    accountIds,
    /** A person's reference, hashed. */
    accountOf: (entry: Entry): string => identity.account(entry.account),
    /** A provider's NPI, hashed. */
    npiOf: identity.npi,
    /** Whether the job replaces care-team entries that have changed. */
    replaces: load.careTeams.changed === 'replace',
    /** Reads of profiles so far. */
    get reads(): number {
      return runLedger.tallies.requests.readBack
    },
  }
}
