/** The exports of a run and the files it has written for them, for people: of many, those with something left behind. */

import { mostLeftFirst, notDelivered, troubleOf } from '../report/exports-section.ts'
import type { ExportSummary, RunSummary } from '../runs/summary.ts'
import { counted, n, shownPath } from '../shown-text.ts'
import { fittedTable } from './plain-table.ts'

/** Exports, and files of rejects, that are shown one by one. */
const SHOWN = 12

/**
 * Of many, those with most left behind first; the others are counted.
 * @param columns of the terminal; undefined: nothing is fitted to a width
 */
export function exportsTable(
  { exports }: Pick<RunSummary, 'exports'>,
  columns: number | undefined,
): string[] {
  if (exports.length <= SHOWN) return tableOf(exports, false, columns)
  const left = mostLeftFirst(exports).filter((one) => troubleOf(one) > 0)
  const clean = exports.length - left.length
  const shown = left.slice(0, SHOWN)
  const rest = [
    ...(left.length > SHOWN ? [`${n(left.length - SHOWN)} more with something left behind`] : []),
    ...(clean > 0 ? [`${n(clean)} with nothing left behind`] : []),
  ]
  return [
    `${counted(exports.length, 'export')}, ${n(left.length)} of them with something left behind${shown.length === 0 ? '' : ':'}`,
    ...(shown.length === 0 ? [] : tableOf(shown, true, columns)),
    ...(shown.length === 0 || rest.length === 0
      ? []
      : [`  and ${rest.join(', ')}; --json lists all of them`]),
  ]
}

const HEAD = ['export', 'rows', 'mapped', 'skipped', 'rejected', 'state']

/** An export may be among those with something left behind for its records alone: then these are counted, too. */
function tableOf(
  exports: readonly ExportSummary[],
  withRecords: boolean,
  columns: number | undefined,
): string[] {
  const head = withRecords ? HEAD.toSpliced(-1, 0, 'records not delivered') : HEAD
  const rows = exports.map(({ name, counts, state, error }) => {
    const { read, mapped, skipped, rejected } = counts.rows
    const numbers = [read, mapped, skipped, rejected, ...(withRecords ? [notDelivered(counts)] : [])].map(n)
    return [name, ...numbers, error === undefined ? state : `${state}: ${error}`]
  })
  return fittedTable(head, rows, 'rest', columns)
}

/** Of many files of rejects the folder alone. */
export function writtenFiles({ exports, files }: Pick<RunSummary, 'exports' | 'files'>): string[] {
  const rejects = exports.flatMap((one) => one.rejects ?? [])
  const { rejects: folder, receipts } = files
  return [
    ...(rejects.length > SHOWN && folder !== undefined
      ? [`Rejects  ${shownPath(folder)}: ${counted(rejects.length, 'file')}`]
      : rejects.map((file) => `Rejects  ${shownPath(file)}`)),
    ...(receipts === undefined ? [] : [`Receipts ${shownPath(receipts)}`]),
  ]
}
