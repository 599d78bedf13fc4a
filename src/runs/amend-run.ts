/** Settles leftovers of a run without running the job: holds the job's lease, so that no run interferes. */
import { join } from 'node:path'
import type { Ledger, Receipted, RunLedger, RunRecord } from '../ledger/ledger.ts'
import { WaybillError } from '../model/errors.ts'
import { dayOf, kindOf } from '../run/backfill-range.ts'
import { holdJob, type Turn, type WaitingDependencies } from '../run/lease.ts'
import { type AppendedFile, openAppended, type Receipt, receiptsText } from '../run/receipts.ts'
import { openChunksOf } from '../run/resume.ts'

export type RunOfJob = RunRecord & { readonly job: string; readonly gateway: string }

/** Minimum length of a shortened id that separates runs of one moment. */
const SHORTEST_NAME = 4

/**
 * @param name an id, its start, or the part behind its hyphen; or `latest`
 * @throws `run-not-found`, also if several runs match
 */
export async function nameRun(ledger: Pick<Ledger, 'runs'>, name: string): Promise<RunOfJob> {
  const exact = name === 'latest' ? (await ledger.runs.list(1)).at(0) : await ledger.runs.find(name)
  if (exact !== undefined) return exact
  if (name === 'latest')
    throw new WaybillError('run-not-found', 'there are no runs yet', {
      remedy: 'Start one with `waybill run JOB`.',
    })
  const [found, ...others] = name.length < SHORTEST_NAME ? [] : await ledger.runs.list(3, { named: name })
  if (found === undefined) throw new WaybillError('run-not-found', `there is no run ${name}`)
  if (others.length === 0) return found
  const ids = [found, ...others].map(({ id }) => id).join(', ')
  throw new WaybillError('run-not-found', `several runs match ${name}: ${ids}`, {
    remedy: 'Type more of the id.',
  })
}

/** @param name as in `nameRun`. @throws `run-not-found`, `run-pruned` */
export async function findRun(ledger: Pick<Ledger, 'runs'>, name: string): Promise<RunOfJob> {
  const run = await nameRun(ledger, name)
  if (run.pruned_at !== null)
    throw new WaybillError('run-pruned', `the detail of run ${run.id} was pruned on ${dayOf(run.pruned_at)}`)
  return run
}

/** @throws `gateway-differs` */
export function assertSameGateway(run: RunOfJob, gatewayName: string): void {
  if (run.gateway === gatewayName) return
  throw new WaybillError(
    'gateway-differs',
    `run ${run.id} used the gateway ${run.gateway}, but the settings name ${gatewayName}`,
  )
}

/** @throws `run-unfinished` if any other run of the job is unfinished; a backfill counts only with an open chunk */
export async function assertNoneUnfinished(
  ledger: Ledger,
  { job_id, job }: RunOfJob,
  except?: string,
): Promise<void> {
  const unfinished = await ledger.runs.unfinished(job_id, 'ordinary')
  if (unfinished !== undefined && unfinished.id !== except)
    throw new WaybillError('run-unfinished', `run ${unfinished.id} of the job ${job} is not finished`, {
      remedy: `Finish it first: waybill run ${job}`,
    })
  const backfill = await ledger.runs.unfinished(job_id, 'backfill')
  if (backfill === undefined || backfill.id === except) return
  if ((await openChunksOf(ledger, backfill)).size === 0) return
  throw new WaybillError('run-unfinished', `the backfill ${backfill.id} of the job ${job} has open batches`, {
    remedy: `Resume it, or let the next run settle its batches: waybill run ${job}`,
  })
}

export interface Amending {
  /** The run, read under the lease: it may have advanced until then. */
  readonly run: RunOfJob
  readonly runLedger: RunLedger
  /** Appends to the receipts of the run. The result goes into the ledger, in the transaction of the outcomes. */
  readonly receipt: (receipts: readonly Receipt[]) => Promise<Receipted>
  readonly receiptsFile: () => AppendedFile
  /** Aborted when the operator stops the process, or when the lease is lost. */
  readonly signal: AbortSignal
}

export interface AmendingDependencies extends WaitingDependencies {
  readonly home: string
}

/**
 * Asks a backfill of the job to give way, waits for the lease, and works.
 * @param notWhileItRuns thrown if the run itself is in progress
 * @throws `job-held` if another run holds the job; `interrupted` while waiting; `run-pruned`
 */
export async function amendRun<Result>(
  deps: AmendingDependencies,
  named: RunOfJob,
  work: (amending: Amending) => Promise<Result>,
  notWhileItRuns?: Turn['notWhileItRuns'],
): Promise<Result> {
  const { id, job, job_id: jobId, state } = named
  const isBackfill = kindOf(named) === 'backfill' && (state === 'running' || state === 'interrupted')
  const held = await holdJob(deps, { jobId, job, runId: id, givesWay: false, notWhileItRuns, isBackfill })
  const signal = AbortSignal.any([deps.interrupt, held.lost])
  const runLedger = deps.ledger.runs.amend(held.lease)
  let file: AppendedFile | undefined
  try {
    const run = await findRun(deps.ledger, id)
    const path = join(deps.home, run.receipts_path)
    const receiptsFile = (): AppendedFile => {
      file ??= openAppended(deps.home, path, run.receipts_length, runLedger.assertHeld)
      return file
    }
    const receipt = async (receipts: readonly Receipt[]): Promise<Receipted> =>
      receipts.length === 0
        ? {}
        : { receiptsLength: await receiptsFile().append(await receiptsText(receipts)) }
    return await work({ run, runLedger, receipt, receiptsFile, signal })
  } finally {
    await file?.close()
    await held.release()
  }
}
