/** The result of `run --dry-run` for people. */

import { allRecords } from '../model/balance.ts'
import type { DryRunResult } from '../run/dry-run.ts'
import { counted } from '../shown-text.ts'
import { describeError } from './describe-error.ts'
import { fittedTable } from './plain-table.ts'
import { driftLines, warningsLine } from './summary-text.ts'

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
