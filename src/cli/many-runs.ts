/** One named run, or the runs that options choose: for `rerun`, `reconcile` and `acknowledge`. */
import { EXIT, WaybillError } from '../model/errors.ts'
import { chooseRuns, type RunChoice } from '../runs/actions.ts'
import { plainTable } from '../system/text-table.ts'
import { type CommandContext, print } from './command-form.ts'
import type { Since } from './run-commands.ts'

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

/** Prints the chosen runs, and does nothing to them. @throws WaybillError `nothing-left` for none; `run-not-found` */
export async function listChosen(
  context: CommandContext,
  choice: RunChoice,
  json: true | undefined,
): Promise<number> {
  const listed = (await chooseRuns(context, choice)).map(({ startedAt, ...one }) => ({
    ...one,
    startedAt: new Date(startedAt).toISOString(),
  }))
  print(context, json, { dryRun: true, runs: listed }, () =>
    plainTable(
      ['run', 'job', 'started'],
      listed.map((one) => Object.values(one)),
      'none',
    ),
  )
  return EXIT.ok
}

/**
 * Does to each chosen run what the command does to one, oldest first. Passes over a run that an earlier one has settled; an interrupt ends the rest.
 * @returns the highest exit code
 */
export async function ofEach(
  context: CommandContext,
  choice: RunChoice,
  json: true | undefined,
  act: (run: string) => Promise<{ readonly shown: object; readonly exit: number }>,
): Promise<number> {
  const ends: { shown: object; exit: number }[] = []
  for (const { run } of await chooseRuns(context, choice)) {
    if (context.interrupt.aborted) {
      ends.push({ shown: { run, notBegun: true }, exit: EXIT.interrupted })
      continue
    }
    const end = await act(run).catch((error: unknown) => {
      if (error instanceof WaybillError && error.code === 'nothing-left') return undefined
      throw error
    })
    if (end !== undefined) ends.push(end)
  }
  if (json) context.out(JSON.stringify({ runs: ends.map(({ shown }) => shown) }))
  return Math.max(EXIT.ok, ...ends.map(({ exit }) => exit))
}
