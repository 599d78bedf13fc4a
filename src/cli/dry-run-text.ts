/** The result of `run --dry-run` for people. */
import { counted } from '../count-in-words.ts'
import type { DryRunResult } from '../job/dry-run.ts'
import { allRecords } from '../reconcile/balance.ts'
import { describeError } from './describe-error.ts'
import { plainTable } from './plain-table.ts'
import { driftLines, warningsLine } from './summary-text.ts'

export function dryRunText(result: DryRunResult): string {
  const { rows, exports, failed, reasons } = result
  const { made, rejected, pending } = allRecords(result)
  const lines = [
    '',
    `Dry run of ${result.job}: nothing was sent, nothing was written.`,
    ...exports.map(({ name, rows: read }) => `  ${name}: ${counted(read, 'row')}`),
    ...failed.map(({ name, error }) => `  ${name}: nothing of it would be sent${describeError(error)}`),
    `Rows     read ${rows.read} = mapped ${rows.mapped} + skipped ${rows.skipped} + rejected ${rows.rejected}`,
    `Records  made ${made}: ${pending} to send (fewer where some were delivered before), ${rejected} rejected by the mapping`,
    ...warningsLine(result.warnings),
    ...driftLines(result.drift),
  ]
  if (reasons.length > 0) {
    const table = plainTable(['count', 'code', 'rule', 'reason'], 1)
    for (const { count, code, rule, message } of reasons)
      table.push([String(count), code, rule ?? '(row)', message])
    lines.push('', table.toString())
  }
  return `${lines.join('\n')}\n`
}
