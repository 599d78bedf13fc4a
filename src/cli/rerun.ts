/** `waybill rerun`, `reconcile`, `resolve` and `acknowledge`: what to do about what a run has left behind. */
import { EXIT, WaybillError } from '../model/errors.ts'
import type { RunSummary } from '../run/summary.ts'
import { abandon, accept, beginRerun, reconcile as reconcileRun, resend } from '../runs/actions.ts'
import { acknowledge as acknowledgeRuns, type Person } from '../runs/resolve.ts'
import { verifiedBadly } from '../runs/verify.ts'
import { counted } from '../shown-text.ts'
import type { Action, Options } from './commands.ts'
import { type CommandContext, say } from './context.ts'
import { errorAsJson, errorLines } from './describe-error.ts'
import { beginOnTerminal, watchOnTerminal } from './display.ts'
import { tellingWaits } from './run-reporter.ts'
import { summaryLines, verifiedText } from './summary-text.ts'

export const rerun: Action<'rerun'> = async (context, options) =>
  (await beginRerun(context, beginOnTerminal(context, options), options.run, options.only)).exit

/** @throws WaybillError `usage-wrong`: a sample of nothing */
export const reconcile: Action<'reconcile'> = async (context, options) => {
  const { verify, sample, seed } = options
  if ((sample !== undefined && !verify) || (seed !== undefined && sample === undefined))
    throw new WaybillError('usage-wrong', '--sample is for --verify, and --seed is for --sample')
  const reconciled = await reconcileRun(
    context,
    watchOnTerminal(context, true),
    options.run,
    verify ? { sample: sample ?? { kind: 'all' }, seed } : undefined,
  )
  const { run, found, missed, batches, reads, inDoubt, verified, summary, reasons } = reconciled
  const told = { found, missed, batches, reads, inDoubt, verified, summary }
  say(context, options.json, told, () => [
    `Of run ${run}: ${found} in doubt found stored, ${missed} found not stored, ${inDoubt} in doubt still; ${batches} open batches settled; reads of profiles ${reads}`,
    ...summaryLines(summary, reasons, context.columns),
    ...(verified === undefined ? [] : verifiedText(verified)),
  ])
  const bad = inDoubt > 0 || (verified !== undefined && verifiedBadly(verified))
  return bad ? EXIT.recordsLeftBehind : EXIT.ok
}

/** @throws WaybillError `usage-wrong`: not exactly one of the decisions */
export const resolve: Action<'resolve'> = async (context, options) => {
  const decisions = [options.accept, options.resend, options.giveUp].filter((one) => one === true)
  if (decisions.length !== 1 || (options.giveUp && options.transaction !== undefined))
    throw new WaybillError('usage-wrong', 'say either --accept or --resend, or --give-up of the whole run', {
      remedy:
        '--accept: the gateway has the records. --resend: they are sent again. --give-up: the run is not finished.',
    })
  if (options.giveUp) return endRun(context, options)
  return options.accept ? acceptAll(context, options) : resendAll(context, options)
}

async function endRun(context: CommandContext, options: Options<'resolve'>): Promise<number> {
  const person = personOf(context, options)
  const { summary, reasons } = await abandon(context, tellingWaits(context), options.run, person)
  say(context, options.json, { decision: 'give-up', records: 0, summary }, () => [
    `Run ${summary.run} is given up: it will not be finished.`,
    ...hadInHand(summary),
    ...summaryLines(summary, reasons, context.columns),
  ])
  return EXIT.ok
}

/** What its open chunks had in hand is not known as delivered. */
function hadInHand({ run, exports }: RunSummary): string[] {
  const open = exports.flatMap(({ name, state }) => (state === 'open' ? [name] : []))
  if (open.length === 0) return []
  return [
    `What it had in hand of ${open.join(', ')} is recognised where it comes again: what the gateway has taken is not sent, and for what was never answered the profiles are read first (run ${run} was given up).`,
  ]
}

async function acceptAll(context: CommandContext, options: Options<'resolve'>): Promise<number> {
  const person = personOf(context, options)
  const { transaction } = options
  const decided = await accept(context, tellingWaits(context), options.run, person, transaction)
  const { records, summary, reasons } = decided
  say(context, options.json, { decision: 'accept', records, summary }, () => [
    `${count(records)} of run ${summary.run} ${records === 1 ? 'counts' : 'count'} as delivered.`,
    ...summaryLines(summary, reasons, context.columns),
  ])
  return EXIT.ok
}

async function resendAll(context: CommandContext, options: Options<'resolve'>): Promise<number> {
  const watch = watchOnTerminal(context, options.json === true)
  const person = personOf(context, options)
  const decided = await resend(context, watch, options.run, person, options.transaction)
  const { records, resent, summary, reasons } = decided
  const { error } = resent
  const said = { decision: 'resend', records, summary, resent: resent.summary, ...errorAsJson(error) }
  say(context, options.json, said, () => [
    `${count(records)} of run ${summary.run} freed; run ${resent.summary.run} has sent what the gateway lacks.`,
    ...summaryLines(resent.summary, resent.reasons, context.columns),
    ...summaryLines(summary, reasons, context.columns),
  ])
  if (error !== undefined && !options.json) context.err(errorLines(error))
  return resent.exit
}

/** @throws WaybillError `usage-wrong` where a word of it is empty */
export function personOf(
  { user }: Pick<CommandContext, 'user'>,
  deciding: Pick<Options<'resolve'>, 'by' | 'note'>,
): Person {
  for (const name of ['by', 'note'] as const)
    if (deciding[name]?.trim() === '') throw new WaybillError('usage-wrong', `--${name} is empty`)
  const { by = user, note } = deciding
  return { by: by.trim(), note: note?.trim() ?? null }
}

const count = (records: number): string => `${counted(records, 'record')} in doubt`

export const acknowledge: Action<'acknowledge'> = async (context, options) => {
  const { run, reason, undo = false } = options
  const done = await acknowledgeRuns(context, { run, reason, undo }, personOf(context, options))
  const { runs, left, inDoubt } = done
  const which = `${reason === undefined ? '' : ` for ${reason}`} ${runs.length === 1 ? runs.join() : `in ${counted(runs.length, 'run')}`}`
  say(context, options.json, { ...done, undo }, () => [
    `${undo ? 'No longer acknowledged' : 'Acknowledged'}:${which}`,
    ...(inDoubt === 0
      ? []
      : [
          `${counted(inDoubt, 'record is', 'records are')} in doubt, and must be decided on: waybill show ${runs[0]}`,
        ]),
    left === 0
      ? 'No run needs somebody.'
      : `${counted(left, 'run needs', 'runs need')} somebody: waybill runs --failed`,
  ])
  return EXIT.ok
}
