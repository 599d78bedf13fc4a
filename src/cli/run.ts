/** `waybill run`: runs a job now. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { readJob } from '../definitions/definition-files.ts'
import { assertTellable, chooseGateway, targetsOf } from '../definitions/jobs.ts'
import { allRecords } from '../model/balance.ts'
import { EXIT } from '../model/errors.ts'
import { createIdentity } from '../model/ids.ts'
import type { RunDependencies } from '../run/dependencies.ts'
import type { JobEnd } from '../run/execute.ts'
import { type DryRunResult, dryRun } from '../runs/dry-run.ts'
import { lastRunFile, tellingLastRun } from '../runs/last-run.ts'
import { mailedReport, runAndTell, tellingRefusals } from '../runs/run-and-tell.ts'
import { runJob } from '../runs/run-job.ts'
import { createTeller } from '../runs/teller.ts'
import { sourceSettings, withRunDependencies } from '../runs/with-gateways.ts'
import { counted } from '../shown-text.ts'
import type { Action } from './context.ts'
import { describeError, errorAsJson } from './describe-error.ts'
import { reportRun, watchOnTerminal } from './display.ts'
import { fittedTable } from './plain-table.ts'
import { driftLines, warningsLine } from './summary-text.ts'

export interface RunCommandOptions {
  readonly job: string
  readonly file?: readonly string[]
  readonly limit?: number
  readonly acceptDrift?: true
  readonly lookFirst?: true
  readonly dryRun?: true
  readonly quiet?: true
  readonly json?: true
}

export const run: Action<RunCommandOptions> = (context, options) =>
  options.dryRun === true
    ? perform(context, options)
    : tellingRefusals(context, options.job, () => perform(context, options))

const perform: Action<RunCommandOptions> = async (context, options) => {
  const { settings } = context
  const job = await readJob(settings, options.job)
  assertTellable(settings, job)
  const gateway = options.dryRun ? undefined : chooseGateway(settings, job)
  const runOptions = {
    files: options.file ?? [],
    limit: options.limit ?? Number.POSITIVE_INFINITY,
    acceptDrift: options.acceptDrift === true,
    lookFirst: options.lookFirst === true,
  }
  if (gateway === undefined) {
    // Without a ledger nothing was delivered yet, and a dry run makes none.
    const ledger = existsSync(join(settings.home, 'ledger.sqlite')) ? await context.openLedger() : undefined
    try {
      const result = await dryRun(
        settings,
        job,
        createIdentity(context.randomHex(32)),
        { ...runOptions, ledger },
        context.now(),
        sourceSettings(settings),
      )
      const failed = result.failed.map(({ name, error }) => ({ name, ...errorAsJson(error) }))
      context.out(options.json ? JSON.stringify({ ...result, failed }) : dryRunText(result, context.columns))
      const [first] = result.failed
      if (first !== undefined && result.exports.length === 0) return first.error.exit
      const stops = first !== undefined || result.drift.some(({ level }) => level === 'stop')
      return result.rows.rejected > 0 || stops ? EXIT.recordsLeftBehind : EXIT.ok
    } finally {
      await ledger?.close()
    }
  }
  return withRunDependencies(
    context,
    watchOnTerminal(context, options.quiet === true),
    gateway,
    async (deps) => {
      const known = new Map([[job.definition.job, targetsOf(job)]])
      const teller = createTeller(context, deps.ledger, known, mailedReport(context, deps.ledger))
      try {
        const tell = lastRunFile(context)
        const work = (told: RunDependencies): Promise<JobEnd> =>
          tellingLastRun(context, told, { job: job.definition.job, tell, refusals: true }, () =>
            runJob(told, job, runOptions),
          )
        const end = await runAndTell(context, { teller, deps, job, refusals: true, work })
        await reportRun(context, options, deps.ledger, end)
        return end.exit
      } finally {
        await teller.deliver()
      }
    },
  )
}

/** @param columns of the terminal; undefined: nothing is fitted to a width */
export function dryRunText(result: DryRunResult, columns?: number): string[] {
  const { rows, exports, failed, reasons } = result
  const { made, rejected, pending } = allRecords(result)
  const lines = [
    '',
    `Dry run of ${result.job}: nothing was sent, nothing was written.`,
    ...exports.map(({ name, rows: read }) => `  ${name}: ${counted(read, 'row')}`),
    ...failed.flatMap(({ name, error }) => [
      `  ${name}: nothing of it would be sent`,
      ...describeError(error).slice(1),
    ]),
    `Rows     read ${rows.read} = mapped ${rows.mapped} + skipped ${rows.skipped} + rejected ${rows.rejected}`,
    `Records  made ${made}: ${pending} to send (fewer where some were delivered before), ${rejected} rejected by the mapping`,
    ...warningsLine(result.warnings),
    ...driftLines(result.drift, columns),
  ]
  if (reasons.length > 0) {
    const rows = reasons.map(({ count, code, rule, message }) => [
      String(count),
      code,
      rule ?? '(row)',
      message,
    ])
    lines.push('', ...fittedTable(['count', 'code', 'rule', 'reason'], rows, 1, columns))
  }
  return lines
}
