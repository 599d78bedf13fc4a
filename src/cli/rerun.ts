/** `waybill rerun`: maps again what a run has left behind, and sends it. */
import { assertTellable, targetsOf } from '../definitions/jobs.ts'
import { allRecords } from '../model/balance.ts'
import { EXIT, WaybillError } from '../model/errors.ts'
import type { RunDependencies } from '../run/dependencies.ts'
import type { JobEnd } from '../run/execute.ts'
import { doubtsOfGivenUp } from '../run/resume.ts'
import { type RunSummary, summarise } from '../run/summary.ts'
import { amendRun, assertNoneUnfinished, assertSameGateway, findRun } from '../runs/amend-run.ts'
import { giveUp } from '../runs/give-up.ts'
import { lastRunFile, tellingLastRun } from '../runs/last-run.ts'
import { findJobOfRun, openKnownLedger } from '../runs/open-known-ledger.ts'
import { reconcileRun } from '../runs/reconcile.ts'
import { acceptInDoubt, type Person, resendInDoubt } from '../runs/resolve.ts'
import { withRunAgain } from '../runs/run-again.ts'
import { mailedReport, runAndTell } from '../runs/run-and-tell.ts'
import { rerunJob } from '../runs/take-up.ts'
import { createTeller } from '../runs/teller.ts'
import { verifiedBadly, verifyRun } from '../runs/verify.ts'
import type { SampleSize } from '../runs/verify-sample.ts'
import { withRunDependencies } from '../runs/with-gateways.ts'
import { counted } from '../shown-text.ts'
import type { Action, CommandContext } from './context.ts'
import { describeError, errorAsJson } from './describe-error.ts'
import { reportRun, watchOnTerminal } from './display.ts'
import { tellingWaits } from './run-reporter.ts'
import { summaryText, verifiedText } from './summary-text.ts'

export interface RerunOptions {
  readonly run: string
  readonly only?: 'rejected' | 'in-doubt'
  readonly quiet?: true
  readonly json?: true
}

export const rerun: Action<RerunOptions> = async (context, options) => {
  const { job, gateway } = await findJobOfRun(context, options.run)
  assertTellable(context.settings, job)
  return withRunDependencies(
    context,
    watchOnTerminal(context, options.quiet === true),
    gateway,
    async (deps) => {
      const run = await findRun(deps.ledger, options.run)
      const known = new Map([[run.job, targetsOf(job)]])
      const teller = createTeller(context, deps.ledger, known, mailedReport(context, deps.ledger))
      const work = (told: RunDependencies): Promise<JobEnd> =>
        tellingLastRun(context, told, { job: run.job, tell: lastRunFile(context), refusals: false }, () =>
          rerunJob(told, job, run, options.only ?? 'left-behind'),
        )
      try {
        const end = await runAndTell(context, { teller, deps, job, refusals: false, work })
        await reportRun(context, options, deps.ledger, end)
        return end.exit
      } finally {
        await teller.deliver()
      }
    },
  )
}

export interface ReconcileOptions {
  readonly run: string
  readonly verify?: true
  readonly sample?: SampleSize
  readonly seed?: string
  readonly json?: true
}

/** @throws WaybillError `usage-wrong`: a sample of nothing */
export const reconcile: Action<ReconcileOptions> = async (context, options) => {
  const { verify, sample, seed } = options
  if ((sample !== undefined && !verify) || (seed !== undefined && sample === undefined))
    throw new WaybillError('usage-wrong', '--sample is for --verify, and --seed is for --sample')
  const { job, gateway } = await findJobOfRun(context, options.run)
  return withRunDependencies(context, watchOnTerminal(context, true), gateway, async (deps) => {
    const { ledger } = deps
    const named = await findRun(ledger, options.run)
    assertSameGateway(named, deps.gatewayName)
    const { verified, run, ...reconciled } = await amendRun(deps, named, async (amending) => {
      const { run } = amending
      await assertNoneUnfinished(ledger, run, run.id)
      return withRunAgain(deps, job, run, amending, async (again) => {
        const settled = await reconcileRun(ledger, again, deps.now)
        const compared = verify
          ? await verifyRun(ledger, again, sample ?? { kind: 'all' }, seed ?? run.id)
          : undefined
        return { ...settled, reads: again.reads, verified: compared, run }
      })
    })
    const summary = await summarise(ledger, deps.home, run.id)
    const inDoubt = allRecords(summary).inDoubt + (await doubtsOfGivenUp(ledger, run))
    if (options.json) context.out(JSON.stringify({ ...reconciled, inDoubt, verified, summary }))
    else {
      const { found, missed, batches, reads } = reconciled
      context.out(
        `Of run ${run.id}: ${found} in doubt found stored, ${missed} found not stored, ${inDoubt} in doubt still; ${batches} open batches settled; reads of profiles ${reads}`,
      )
      context.out(summaryText(summary, await ledger.reasonsOf(run.id), context.columns))
      if (verified !== undefined) context.out(verifiedText(verified))
    }
    const bad = inDoubt > 0 || (verified !== undefined && verifiedBadly(verified))
    return bad ? EXIT.recordsLeftBehind : EXIT.ok
  })
}

export interface ResolveOptions {
  readonly run: string
  readonly accept?: true
  readonly resend?: true
  readonly giveUp?: true
  readonly transaction?: readonly string[]
  readonly by?: string
  readonly note?: string
  readonly json?: true
}

/** @throws WaybillError `usage-wrong`: not exactly one of the decisions */
export const resolve: Action<ResolveOptions> = async (context, options) => {
  const decisions = [options.accept, options.resend, options.giveUp].filter((one) => one === true)
  if (decisions.length !== 1 || (options.giveUp && options.transaction !== undefined))
    throw new WaybillError('usage-wrong', 'say either --accept or --resend, or --give-up of the whole run', {
      remedy:
        '--accept: the gateway has the records. --resend: they are sent again. --give-up: the run is not finished.',
    })
  for (const name of ['by', 'note'] as const)
    if (options[name]?.trim() === '') throw new WaybillError('usage-wrong', `--${name} is empty`)
  if (options.giveUp) return abandon(context, options)
  return options.accept ? accept(context, options) : resend(context, options)
}

async function abandon(context: CommandContext, options: ResolveOptions): Promise<number> {
  const ledger = await openKnownLedger(context)
  try {
    const run = await findRun(ledger, options.run)
    const { home } = context.settings
    await giveUp({ ...context, home, ledger, events: tellingWaits(context) }, run, personOf(context, options))
    const summary = await summarise(ledger, home, run.id)
    if (options.json) context.out(JSON.stringify({ decision: 'give-up', records: 0, summary }))
    else {
      context.out([`Run ${run.id} is given up: it will not be finished.`, ...hadInHand(summary)])
      context.out(summaryText(summary, await ledger.reasonsOf(run.id), context.columns))
    }
    return EXIT.ok
  } finally {
    await ledger.close()
  }
}

/** What its open chunks had in hand is not known as delivered. */
function hadInHand({ run, exports }: RunSummary): string[] {
  const open = exports.flatMap(({ name, state }) => (state === 'open' ? [name] : []))
  if (open.length === 0) return []
  return [
    `What it had in hand of ${open.join(', ')} is recognised where it comes again: what the gateway has taken is not sent, and for what was never answered the profiles are read first (run ${run} was given up).`,
  ]
}

async function accept(context: CommandContext, options: ResolveOptions): Promise<number> {
  const ledger = await openKnownLedger(context)
  try {
    const run = await findRun(ledger, options.run)
    const records = await acceptInDoubt(
      { ...context, home: context.settings.home, ledger, events: tellingWaits(context) },
      run,
      options.transaction ?? [],
      personOf(context, options),
    )
    const summary = await summarise(ledger, context.settings.home, run.id)
    if (options.json) context.out(JSON.stringify({ decision: 'accept', records, summary }))
    else {
      context.out(`${count(records)} of run ${run.id} ${records === 1 ? 'counts' : 'count'} as delivered.`)
      context.out(summaryText(summary, await ledger.reasonsOf(run.id), context.columns))
    }
    return EXIT.ok
  } finally {
    await ledger.close()
  }
}

const resend = async (context: CommandContext, options: ResolveOptions): Promise<number> => {
  const { job, gateway } = await findJobOfRun(context, options.run)
  return withRunDependencies(
    context,
    watchOnTerminal(context, options.json === true),
    gateway,
    async (deps) => {
      const run = await findRun(deps.ledger, options.run)
      const end = await resendInDoubt(deps, job, run, options.transaction ?? [], personOf(context, options))
      const { summary: resent, error, decided } = end
      const summary = await summarise(deps.ledger, deps.home, run.id)
      if (options.json) {
        const failed = error === undefined ? {} : errorAsJson(error)
        const said = { decision: 'resend', records: decided, summary, resent, ...failed }
        context.out(JSON.stringify(said))
        return end.exit
      }
      context.out(
        `${count(decided)} of run ${run.id} freed; run ${resent.run} has sent what the gateway lacks.`,
      )
      for (const one of [resent, summary])
        context.out(summaryText(one, await deps.ledger.reasonsOf(one.run), context.columns))
      if (error !== undefined) context.err(describeError(error))
      return end.exit
    },
  )
}

const personOf = ({ user }: CommandContext, { by = user, note }: ResolveOptions): Person => ({
  by: by.trim(),
  note: note?.trim() ?? null,
})

const count = (records: number): string => `${counted(records, 'record')} in doubt`
