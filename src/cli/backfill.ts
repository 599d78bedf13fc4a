/** `waybill backfill`: runs a job over the exports of a range of days; or prints what that would be. */
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { BackfillRange } from '../ledger/ledger.ts'
import { EXIT, WaybillError } from '../model/errors.ts'
import { durationText } from '../report/figures.ts'
import { readRange } from '../run/backfill-range.ts'
import { beginBackfill, tryBackfill } from '../runs/actions.ts'
import type { BackfillLook, BackfillPlan } from '../runs/backfill-plan.ts'
import { counted, n, sizeText } from '../shown-text.ts'
import { createCounting } from '../telemetry/progress.ts'
import type { Action, Options } from './commands.ts'
import type { CommandContext } from './context.ts'
import { describeError, errorAsJson } from './describe-error.ts'
import { beginOnTerminal } from './display.ts'
import { plainTable } from './plain-table.ts'

export const backfill: Action<'backfill'> = async (context, options) => {
  const days = readRange(options.from, options.to, `waybill backfill ${options.job}`)
  const range = {
    ...days,
    in: options.in === undefined ? undefined : await folderOf(options.in),
    ...{ rate: options.rate, acceptDrift: options.acceptDrift },
  }
  if (options.dryRun) return printPlan(context, options, range)
  const onFound = (job: string, look: BackfillLook): void => {
    if (showsProgress(context, options)) context.err(shortPlan(job, range, look))
  }
  return (await beginBackfill(context, beginOnTerminal(context, options), options.job, range, onFound)).exit
}

/** @throws WaybillError `usage-wrong` where it is no folder */
async function folderOf(given: string): Promise<string> {
  const folder = resolve(given)
  const found = await stat(folder).catch(() => undefined)
  if (found?.isDirectory() === true) return folder
  const what = found === undefined ? 'is not there, or may not be looked at' : 'is a file'
  throw new WaybillError('usage-wrong', `the folder of --in ${what}`, {
    place: { file: folder },
    remedy:
      'Name the folder that the exports of the range lie in; where they lie at the source of the job, leave --in out.',
  })
}

/** Where the log is for a machine, lines between its lines would not be. */
const showsProgress = ({ settings }: CommandContext, { quiet }: Options<'backfill'>): boolean =>
  !quiet && settings.logFormat !== 'json'

async function printPlan(
  context: CommandContext,
  options: Options<'backfill'>,
  range: BackfillRange,
): Promise<number> {
  const { now, writeError: write } = context
  const counting = showsProgress(context, options)
    ? createCounting({ columns: context.terminal, now, write })
    : undefined
  const onExport = (name: string, number: number, of: number) =>
    counting?.at(`${number} of ${of}: counting ${name}`)
  const plan = await tryBackfill(context, options.job, range, onExport).finally(() => counting?.end())
  context.out(options.json ? JSON.stringify(backfillPlanJson(plan)) : backfillPlanText(plan))
  return plan.exports.some(({ error }) => error !== undefined) ? EXIT.recordsLeftBehind : EXIT.ok
}

/** One line, of what the listing alone says. */
export function shortPlan(
  job: string,
  range: BackfillRange,
  { found, without, unmatched }: BackfillLook,
): string {
  const bytes = found.reduce((total, { found: { delivery } }) => total + delivery.bytes, 0)
  const dates = found.length === 0 ? '' : `, of ${found[0]?.date} to ${found.at(-1)?.date}`
  const gaps = without.count === 0 ? '' : `; ${counted(without.count, without.unit)} without one`
  const left = unmatched.length === 0 ? '' : `; ${counted(unmatched.length, 'file')} left out by name`
  const more = gaps + left === '' ? '' : ' (--dry-run lists them)'
  return `Backfill of ${job}, ${rangeText(range)}: ${counted(found.length, 'export')}${dates}, ${sizeText(bytes)}${gaps}${left}${more}.`
}

export function backfillPlanText(plan: BackfillPlan): string[] {
  const { exports, deliveredBefore } = plan
  const listed = exports.map(({ date, bytes, rows, name, deliveredBefore: known, done, error }) => {
    const state = error?.code ?? (done ? 'done' : known ? 'delivered before' : '')
    return [date, n(bytes), rows === undefined ? '' : n(rows), name, state]
  })
  return [
    '',
    `Plan of a backfill of ${plan.job} at ${plan.gateway}, ${rangeText(plan.backfill)}: nothing was sent, nothing was written.`,
    '',
    ...plainTable(['date', 'bytes', 'rows', 'export', 'state'], listed, { from: 1, to: 2 }),
    '',
    `Exports  ${n(exports.length)}, ${sizeText(plan.bytes)}, ${n(plan.rows)} rows`,
    ...goesOnLine(plan),
    `Known    ${n(deliveredBefore.exports)} of them with ${n(deliveredBefore.rows)} rows were delivered before: they are read, and nothing of them is sent that has not changed`,
    `Time     ${timeText(plan)}`,
    ...leftOutLines(plan),
    ...exports.flatMap(({ name, error }) =>
      error === undefined ? [] : [`  ${name}: nothing of it would be sent`, ...describeError(error).slice(1)],
    ),
  ]
}

export function backfillPlanJson(plan: BackfillPlan): object {
  const exports = plan.exports.map(({ error, ...one }) => ({
    ...one,
    ...errorAsJson(error),
  }))
  return { ...plan, dryRun: true, exports }
}

const goesOnLine = ({ unfinished }: BackfillPlan): string[] =>
  unfinished === undefined
    ? []
    : [
        `Goes on  run ${unfinished.run} is not finished: ${n(unfinished.exports)} of them with ${n(unfinished.rows)} rows are done, and not read again`,
      ]

/** Of a list, so many are named; the rest is counted. */
const NAMED = 20

function leftOutLines({ without, unmatched }: BackfillPlan): string[] {
  const named = (all: readonly string[]): string[] => [
    ...all.slice(0, NAMED).map((one) => `  ${one}`),
    ...(all.length > NAMED ? [`  and ${n(all.length - NAMED)} more: --json lists all`] : []),
  ]
  const ranges = without.ranges.map(({ from, to, count }) =>
    from === to ? from : `${from} to ${to} (${n(count)})`,
  )
  return [
    ...(without.count === 0
      ? []
      : [`Without  ${n(without.count)} of ${counted(without.of, without.unit)} have no export here:`]),
    ...named(ranges),
    ...(unmatched.length === 0
      ? []
      : [
          `Left out ${counted(unmatched.length, 'file')}, as no pattern of the job, or no date, fits the name:`,
        ]),
    ...named(unmatched),
  ]
}

function timeText({ estimate }: BackfillPlan): string {
  if (estimate === undefined) return 'not known: no run of this job tells how fast it sends to this gateway'
  const { seconds, rowsPerSecond, knownRowsPerSecond, runs, limitedByRate } = estimate
  const sent = rowsPerSecond === undefined ? [] : [`${n(Math.round(rowsPerSecond))} rows a second sent`]
  const rates = [...sent, `${n(Math.round(knownRowsPerSecond))} known ones read`].join(' and ')
  const by = `by ${rates} in the latest ${counted(runs, 'run')}`
  return `about ${durationText(1000 * seconds)}, ${by}${limitedByRate ? ', and by --rate' : ''}`
}

const rangeText = ({ from, to, in: folder }: BackfillRange): string =>
  `${from} to ${to}${folder === undefined ? '' : ` in ${folder}`}`
