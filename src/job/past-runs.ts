/** The runs of a job that tell how fast it is. */
import type { Ledger, RunRecord } from '../ledger/ledger.ts'
import { allRecords } from '../model/balance.ts'
import type { PastRun } from './backfill-estimate.ts'
import { summarise } from './summary.ts'

/** The latest runs that are looked at. */
const RUNS_LOOKED_AT = 5

/** The latest finished runs; where there are none, an unfinished one, by what it has done. */
export async function pastRuns(ledger: Ledger, home: string, runs: readonly RunRecord[]): Promise<PastRun[]> {
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

/** Of a run that was killed, or is under way: nobody has written down how long it was at work. From its start to what it settled last. */
async function knownSpan(ledger: Ledger, { id, started_at: from }: RunRecord): Promise<number> {
  let to = from
  for (const record of await ledger.exportsOf(id))
    for (const { settled_at: at } of await ledger.chunksOf(record.id)) to = Math.max(to, at ?? from)
  return to - from
}
