/** The plan of a backfill, for people and as JSON. */
import type { BackfillPlan } from '../job/backfill-plan.ts'
import type { Dated } from '../job/backfill-range.ts'
import type { FoundExport } from '../job/find-exports.ts'
import type { BackfillRange } from '../ledger/ledger.ts'
import { describeError, errorAsJson } from './describe-error.ts'
import { plainTable } from './plain-table.ts'
import { sizeText } from './sizes.ts'

/** One line, of what the listing alone says. */
export function shortPlan(job: string, range: BackfillRange, found: readonly Dated<FoundExport>[]): string {
  const bytes = found.reduce((total, { found: { delivery } }) => total + delivery.bytes, 0)
  const dates = found.length === 0 ? '' : `, of ${found[0]?.date} to ${found.at(-1)?.date}`
  return `Backfill of ${job}, ${rangeText(range)}: ${deliveries(found.length)}${dates}, ${sizeText(bytes)}.\n`
}

export function backfillPlanText(plan: BackfillPlan): string {
  const { exports, deliveredBefore } = plan
  const table = plainTable(['date', 'bytes', 'rows', 'export', 'state'], { from: 1, to: 2 })
  for (const { date, bytes, rows, name, deliveredBefore: known, error } of exports) {
    const state = error?.code ?? (known ? 'delivered before' : '')
    table.push([date, n(bytes), rows === undefined ? '' : n(rows), name, state])
  }
  const lines = [
    '',
    `Plan of a backfill of ${plan.job} at ${plan.gateway}, ${rangeText(plan.backfill)}: nothing was sent, nothing was written.`,
    '',
    table.toString(),
    '',
    `Exports  ${n(exports.length)}, ${sizeText(plan.bytes)}, ${n(plan.rows)} rows`,
    `Known    ${n(deliveredBefore.exports)} of them with ${n(deliveredBefore.rows)} rows were delivered before: they are read, and nothing of them is sent that has not changed`,
    `Time     ${timeText(plan)}`,
    ...exports.flatMap(({ name, error }) =>
      error === undefined ? [] : [`  ${name}: nothing of it would be sent${describeError(error)}`],
    ),
  ]
  return `${lines.join('\n')}\n`
}

export function backfillPlanJson(plan: BackfillPlan): object {
  const exports = plan.exports.map(({ error, ...one }) => ({
    ...one,
    ...(error === undefined ? {} : errorAsJson(error)),
  }))
  return { ...plan, dryRun: true, exports }
}

function timeText({ estimate }: BackfillPlan): string {
  if (estimate === undefined)
    return 'not known: no run of this job has sent anything to this gateway and finished'
  const { seconds, rowsPerSecond, runs, limitedByRate } = estimate
  const by = `by ${n(Math.round(rowsPerSecond))} rows a second in the latest ${n(runs)} runs`
  return `about ${durationText(seconds)}, ${by}${limitedByRate ? ', and by --rate' : ''}`
}

/** `42 s`, `12 min`, `3.5 h`. */
function durationText(seconds: number): string {
  if (seconds < 100) return `${Math.ceil(seconds)} s`
  if (seconds < 100 * 60) return `${Math.ceil(seconds / 60)} min`
  return `${(seconds / 3600).toFixed(1)} h`
}

const rangeText = ({ from, to, in: folder }: BackfillRange): string =>
  `${from} to ${to}${folder === undefined ? '' : ` in ${folder}`}`

const deliveries = (count: number): string => (count === 1 ? '1 export' : `${n(count)} exports`)

const n = (count: number): string => count.toLocaleString('en-US')
