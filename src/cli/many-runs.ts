/** One named run, or the runs that options choose: for `rerun`, `reconcile` and `acknowledge`. */
import { EXIT, WaybillError } from '../model/errors.ts'
import type { RefusedStart } from '../needs/refused-starts.ts'
import { chooseRuns, forChosen, type RunChoice } from '../runs/actions.ts'
import type { Since } from '../runs/typed-words.ts'
import { utcTime } from '../system/shown-text.ts'
import { fittedTable } from '../system/text-table.ts'
import { type CommandContext, print } from './command-form.ts'

/** Options that choose runs. */
interface Choosing {
  readonly run?: string | undefined
  readonly job?: string | undefined
  readonly reason?: string | undefined
  readonly export?: string | undefined
  readonly since?: Since | undefined
}

/** @param now milliseconds since the epoch */
export const choiceOf = ({ since, job, reason, ...more }: Choosing, now: number): RunChoice => ({
  run: more.run,
  job,
  reason,
  export: more.export,
  since: since?.(now),
})

/**
 * Asserts that the run is named, or chosen by options: not both, and one of them.
 * @throws WaybillError `usage-wrong`
 */
export function assertOneWay({ run, job, reason, since, ...more }: Choosing): void {
  const options = Object.entries({ job, reason, export: more.export, since }).flatMap(([option, value]) =>
    value === undefined ? [] : [`--${option}`],
  )
  if (run === undefined && options.length === 0)
    throw new WaybillError('usage-wrong', 'name a run, or choose several with --job or --reason', {
      remedy: 'Look for them with `waybill needs`.',
    })
  if (run !== undefined && options.length > 0)
    throw new WaybillError('usage-wrong', `a named run goes without ${options.join(', ')}`, {
      remedy: 'Leave out the run to choose several, or leave out the options.',
    })
}

/**
 * Prints the chosen runs, and does nothing to them.
 * @param start refused start chosen with the runs
 * @throws WaybillError `nothing-left` for none; `run-not-found`
 */
export async function listChosen(
  context: CommandContext,
  choice: RunChoice,
  json: true | undefined,
  start?: RefusedStart,
): Promise<number> {
  const runs = await chooseRuns(context, choice).catch((error: unknown) => {
    // A refused start needs no run, and no ledger.
    if (start !== undefined && error instanceof WaybillError && NO_RUNS.has(error.code)) return []
    throw error
  })
  const listed = runs.map(({ startedAt, ...one }) => ({
    ...one,
    startedAt: new Date(startedAt).toISOString(),
  }))
  const starts =
    start === undefined
      ? {}
      : { start: { job: start.job, code: start.code, since: new Date(start.since).toISOString() } }
  const startLine =
    start === undefined
      ? []
      : [`The refused start of ${start.job} (${start.code}), since ${utcTime(start.since)} UTC`]
  print(context, json, { dryRun: true, runs: listed, ...starts }, () => [
    ...(listed.length === 0 ? [] : tableOf(listed, context.columns)),
    ...startLine,
  ])
  return EXIT.ok
}

const NO_RUNS: ReadonlySet<string> = new Set(['nothing-left', 'ledger-not-found'])

const tableOf = (runs: readonly object[], columns: number | undefined): string[] =>
  fittedTable(
    ['run', 'job', 'started'],
    runs.map((run) => Object.values(run)),
    'none',
    columns,
  )

/** Does to each chosen run what the command does to one, as `forChosen`. @returns the highest exit code */
export async function ofEach(
  context: CommandContext,
  choice: RunChoice,
  json: true | undefined,
  act: (run: string) => Promise<{ readonly shown: object; readonly exit: number }>,
): Promise<number> {
  const ends = await forChosen(context, choice, act)
  if (json)
    context.out(
      JSON.stringify({ runs: ends.map(({ run, result }) => result?.shown ?? { run, notBegun: true }) }),
    )
  return Math.max(EXIT.ok, ...ends.map(({ result }) => result?.exit ?? EXIT.interrupted))
}
