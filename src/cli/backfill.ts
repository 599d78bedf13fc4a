/** `waybill backfill`: runs a job over the exports of a range of days; or prints what that would be. */
import { existsSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { EXIT } from '../errors.ts'
import { type Arrival, createArrival } from '../job/arrival.ts'
import { findInRange } from '../job/backfill-exports.ts'
import { backfillJob, backfillSources } from '../job/backfill-job.ts'
import { planBackfill } from '../job/backfill-plan.ts'
import { assertDated, readRange } from '../job/backfill-range.ts'
import { type Job, readJob } from '../job/definition-files.ts'
import { assertTellable, targetsOf } from '../job/notify-targets.ts'
import type { BackfillRange } from '../ledger/ledger.ts'
import { backfillPlanJson, backfillPlanText, shortPlan } from './backfill-text.ts'
import type { Action, CommandContext } from './context.ts'
import { lastRunFile, tellingLastRun } from './last-run.ts'
import { mailedReport } from './mailed-report.ts'
import { reportRun } from './report-run.ts'
import { runAndTell } from './run-and-tell.ts'
import { sourceSettings, withRunDependencies } from './run-environment.ts'
import { createTeller } from './teller.ts'

export interface BackfillCommandOptions {
  readonly job: string
  readonly from: string
  readonly to: string
  readonly in?: string
  /** Requests a second. */
  readonly rate?: number
  readonly acceptDrift?: true
  readonly dryRun?: true
  readonly quiet?: true
  readonly json?: true
}

export const backfill: Action<BackfillCommandOptions> = async (context, options) => {
  const { settings } = context
  const days = readRange(options.from, options.to, `waybill backfill ${options.job}`)
  const range = options.in === undefined ? days : { ...days, in: resolve(options.in) }
  const job = await readJob(settings, options.job)
  assertDated(job.definition.job, job.sources)
  if (options.dryRun) return printPlan(context, options, job, range)
  assertTellable(settings, job)
  if (showsProgress(context, options)) context.err(await tellPlan(context, job, range))
  return withRunDependencies(context, options.quiet === true, async (opened) => {
    const { ledger } = opened
    const deps = { ...opened, requestsPerSecond: options.rate }
    const known = new Map([[job.definition.job, targetsOf(job)]])
    const teller = createTeller(context, ledger, known, mailedReport(context, ledger))
    const tell = lastRunFile(context)
    const acceptDrift = options.acceptDrift === true
    try {
      const end = await runAndTell(context, {
        ...{ teller, deps, job, refusals: false },
        work: (told) =>
          tellingLastRun(context, told, { job: job.definition.job, tell, refusals: false }, () =>
            backfillJob(told, job, { range, acceptDrift }),
          ),
      })
      await reportRun(context, options, ledger, end)
      return end.exit
    } finally {
      await teller.deliver()
    }
  })
}

/** Where the log is for a machine, lines between its lines would not be. */
const showsProgress = ({ settings }: CommandContext, { quiet }: BackfillCommandOptions): boolean =>
  !quiet && settings.logFormat !== 'json'

/** What is about to be run. That nothing of the range is there may mean that an unfinished backfill has taken it all. */
async function tellPlan(context: CommandContext, job: Job, range: BackfillRange): Promise<string> {
  const sources = backfillSources(job, range)
  return withTemporaryArrival(context, async (arrival) =>
    shortPlan(job.definition.job, range, await findInRange({ range, sources, arrival, now: context.now })),
  )
}

async function printPlan(
  context: CommandContext,
  options: BackfillCommandOptions,
  job: Job,
  range: BackfillRange,
): Promise<number> {
  const { settings, now, err } = context
  const { home } = settings
  // Without a ledger nothing was delivered yet, and a plan makes none.
  const ledger = existsSync(join(home, 'ledger.sqlite')) ? await context.openLedger() : undefined
  try {
    const plan = await withTemporaryArrival(context, (arrival) =>
      planBackfill(
        {
          ...{ folders: settings, home, ledger, arrival, now },
          gateway: settings.gatewayUrl ?? 'built-in',
          perSecond: options.rate,
          onExport: (name, number, of) => {
            if (showsProgress(context, options)) err(`${number} of ${of}: counting ${name}\n`)
          },
        },
        job,
        range,
      ),
    )
    context.out(options.json ? `${JSON.stringify(backfillPlanJson(plan))}\n` : backfillPlanText(plan))
    return plan.exports.some(({ error }) => error !== undefined) ? EXIT.recordsLeftBehind : EXIT.ok
  } finally {
    await ledger?.close()
  }
}

/** For what is fetched or unpacked to be looked at: a folder of random name that its owner alone may read. */
async function withTemporaryArrival<Result>(
  { settings }: CommandContext,
  work: (arrival: Arrival) => Promise<Result>,
): Promise<Result> {
  const arrival = createArrival(await mkdtemp(join(tmpdir(), 'waybill-backfill-')), sourceSettings(settings))
  try {
    return await work(arrival)
  } finally {
    await arrival.close(false)
  }
}
