/** Ends a run that cannot be finished, as the file that it had begun with is not to be had any more. */
import { createSpool } from '../extract/arrival/receive-file.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { unpackHolds } from '../ledger/packed-records.ts'
import { advanceRun } from '../ledger/states.ts'
import { WaybillError } from '../model/errors.ts'
import { spoolFolder } from '../run/arrival.ts'
import { kindOf } from '../run/backfill-range.ts'
import type { Receipt } from '../run/receipts.ts'
import { receiptsOfBatch } from '../run/resume.ts'
import { type Amending, type AmendingDependencies, amendRun, type RunOfJob } from './amend-run.ts'
import type { Person } from './resolve.ts'

/**
 * What its open chunks had sent is not known as delivered under the keys of its rows: later runs of the job recognise it by its content,
 * and look into the profiles before they send what was never answered (`Ledger.perhapsSent`).
 * @throws WaybillError `job-held` where it is under way: a backfill is asked to let another run go first, never to end itself;
 *   `nothing-left` where it has come to its end
 */
export async function giveUp(deps: AmendingDependencies, run: RunOfJob, person: Person): Promise<void> {
  const end = async ({ run: { state }, runLedger, receipt }: Amending): Promise<void> => {
    if (state !== 'running' && state !== 'interrupted')
      throw new WaybillError(
        'nothing-left',
        `run ${run.id} has come to its end (${state}): it cannot be given up`,
      )
    advanceRun(state, 'give-up')
    const receipted = await receipt(await takenInOpenChunks(deps.ledger, run.id))
    // Nobody goes on with what was fetched and unpacked for it.
    await createSpool(spoolFolder(deps.home, run.job_id, kindOf(run))).clear()
    const at = deps.now()
    const resolution = { run: run.id, decision: 'give-up', ...person, at } as const
    await runLedger.endRun({ state: 'failed', endedAt: at, reason: 'given-up', resolution, ...receipted })
  }
  await amendRun(deps, run, end, (held) => {
    const remedy = `A run that is under way is not given up. End its process first (Ctrl-C where it was typed), then type: waybill resolve ${run.id} --give-up`
    return new WaybillError('job-held', held, { remedy })
  })
}

/** No settlement of these chunks will write their receipts. */
async function takenInOpenChunks(
  ledger: Pick<Ledger, 'exportsOf' | 'chunksOf' | 'batchesOf'>,
  runId: string,
): Promise<Receipt[]> {
  const receipts: Receipt[] = []
  for (const record of await ledger.exportsOf(runId)) {
    for (const { number, state } of await ledger.chunksOf(record.id)) {
      if (state !== 'open') continue
      for (const batch of await ledger.batchesOf({ exportRow: record.id, chunk: number })) {
        if (batch.state !== 'settled') continue
        const learnedFrom = batch.answer === 'ambiguous' ? 'read-back' : undefined
        receipts.push(...receiptsOfBatch(record, batch, unpackHolds(batch.holds), learnedFrom))
      }
    }
  }
  return receipts
}
