/** What to type next for what a run has left. */
import { relative } from 'node:path'
import { remedyOf } from '../errors.ts'
import type { RunSummary } from '../job/summary.ts'
import { allRecords } from '../reconcile/balance.ts'

export function nextSteps(summary: RunSummary): string[] {
  const { run, job, rows, exports, state } = summary
  const { rejected, inDoubt } = allRecords(summary)
  if (state === 'running' || state === 'interrupted') return ['Next', `  to finish it:  waybill run ${job}`]
  if (summary.pruned !== undefined) return []
  const settled = (summary.settled ?? []).reduce((sum, { count }) => sum + count, 0)
  const steps = exports.flatMap(({ name, error }) =>
    error === undefined
      ? []
      : [
          `  nothing of ${name} was sent (${error}): ${remedyOf(error) ?? ''}`,
          `    then:  waybill run ${job}`,
        ],
  )
  if (rows.rejected + rejected > settled) {
    steps.push(`  after the mapping was corrected:       waybill rerun ${run} --only rejected`)
    const [first] = exports.flatMap((one) => one.rejects ?? [])
    if (first !== undefined)
      steps.push(`  after the rejects file was corrected:  waybill run ${job} --file ${relative('.', first)}`)
  }
  if (inDoubt > 0) {
    steps.push(`  to look once more what is stored:      waybill reconcile ${run}`)
    steps.push(`  then to decide on what is in doubt:    waybill resolve ${run} --accept (or --resend)`)
  }
  return steps.length === 0 ? [] : ['Next', ...steps]
}

/** Which later runs have settled its rejects, and whose rejects it has taken up. */
export function relatedRuns({ origin, settled = [], pruned }: RunSummary): string[] {
  const taken = origin === undefined ? [] : [`It takes up what run ${origin.run} has left behind.`]
  const later = settled.map(
    ({ run, count }) =>
      `Of what was rejected ${count.toLocaleString('en-US')} ${count === 1 ? 'was' : 'were'} settled by run ${run}.`,
  )
  const gone =
    pruned === undefined
      ? []
      : [`Its detail was pruned on ${pruned.slice(0, 10)}: batches, reasons, receipts and rejects are gone.`]
  return [...taken, ...later, ...gone]
}
