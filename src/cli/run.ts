/** `waybill run`: runs a job now. */
import { allRecords } from '../model/balance.ts'
import { EXIT, WaybillError } from '../model/errors.ts'
import { beginRun, type DryRunResult, tryRun } from '../runs/actions.ts'
import { listRuns } from '../runs/listed-runs.ts'
import { counted } from '../shown-text.ts'
import type { Action } from './commands.ts'
import type { CommandContext } from './context.ts'
import { watch } from './control.ts'
import { describeError, errorAsJson } from './describe-error.ts'
import { beginOnTerminal } from './display.ts'
import { fitLines, isSuspicious } from './fit-text.ts'
import { fittedTable } from './plain-table.ts'
import { driftLines, leftOutLine, warningsLine } from './summary-text.ts'

export const run: Action<'run'> = async (context, options) => {
  const runOptions = {
    files: options.file ?? [],
    limit: options.limit ?? Number.POSITIVE_INFINITY,
    acceptDrift: options.acceptDrift === true,
    lookFirst: options.lookFirst === true,
  }
  if (options.dryRun !== true)
    try {
      return (await beginRun(context, beginOnTerminal(context, options), options.job, runOptions)).exit
    } catch (error) {
      const held =
        options.watch === true && isHeld(error) ? await runUnderWay(context, options.job) : undefined
      if (held === undefined) throw error
      return await watch(context, { run: held, json: options.json })
    }
  const result = await tryRun(context, options.job, runOptions)
  const failed = result.failed.map(({ name, error }) => ({ name, ...errorAsJson(error) }))
  context.out(options.json ? JSON.stringify({ ...result, failed }) : dryRunText(result, context.columns))
  const [first] = result.failed
  if (first !== undefined && result.exports.length === 0) return first.error.exit
  const stops =
    first !== undefined || result.fit.some(isSuspicious) || result.drift.some(({ level }) => level === 'stop')
  return result.rows.rejected > 0 || stops ? EXIT.recordsLeftBehind : EXIT.ok
}

const isHeld = (error: unknown): boolean => error instanceof WaybillError && error.code === 'job-held'

/** Undefined where it has ended by now. */
async function runUnderWay(context: CommandContext, job: string): Promise<string | undefined> {
  const { runs } = await listRuns(context, { job, state: 'under-way', limit: 1, page: 1, since: undefined })
  return runs[0]?.run
}

/** @param columns of the terminal; undefined: nothing is fitted to a width */
export function dryRunText(result: DryRunResult, columns?: number): string[] {
  const { rows, exports, failed, reasons } = result
  const { made, rejected, pending } = allRecords(result)
  const { deliveredBefore: before = 0 } = result
  const lines = [
    '',
    `Dry run of ${result.job}: nothing was sent, nothing was written.`,
    ...exports.map(({ name, rows: read }) => `  ${name}: ${counted(read, 'row')}`),
    ...failed.flatMap(({ name, error }) => [
      `  ${name}: nothing of it would be sent`,
      ...describeError(error).slice(1),
    ]),
    `Rows     read ${rows.read} = mapped ${rows.mapped} + skipped ${rows.skipped} + rejected ${rows.rejected}`,
    `Records  made ${made}: ${pending - before} to send, ${before} delivered before, ${rejected} rejected by the mapping`,
    ...leftOutLine(result.leftOut),
    ...warningsLine(result.warnings),
    ...driftLines(result.drift, columns),
  ]
  for (const fit of result.fit) lines.push('', `How the mapping fits ${fit.export}`, ...fitLines(fit))
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
