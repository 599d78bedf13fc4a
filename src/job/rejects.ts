/**
 * The rejects of a chunk as CSV: the row as it came, and behind it why it, or a record of it, did not get through.
 * It holds health data, so its file has mode 0600; nothing of it goes anywhere else.
 */
import { stringify } from 'csv-stringify/sync'
import type { Row } from '../extract/row.ts'
import type { EntryOutcome } from '../load/entry.ts'
import type { MarkFailure } from '../load/primary-care.ts'
import type { ChunkRow } from './chunks.ts'

/** Columns added behind those of the export. `_line` is where the row starts; `_raw` holds a row that has no columns. */
export const REJECT_COLUMNS = [
  '_export',
  '_row',
  '_line',
  '_rule',
  '_stage',
  '_code',
  '_reason',
  '_raw',
] as const

/** JSON rows have no columns: the line as it came stands in this one. */
const JSON_COLUMN = '_json'

interface Reject {
  readonly rule: string
  readonly stage: string
  readonly code: string
  readonly reason: string
}

export interface ChunkTrouble {
  readonly outcomes: readonly EntryOutcome[]
  readonly markFailures: readonly MarkFailure[]
}

export function rejectsHeader(columns: readonly string[] | undefined): string {
  return stringify([[...(columns ?? [JSON_COLUMN]), ...REJECT_COLUMNS]])
}

export function rejectsText(
  exportName: string,
  columns: readonly string[] | undefined,
  rows: readonly ChunkRow[],
  trouble: ChunkTrouble,
): string {
  const byRow = new Map<number, Reject[]>()
  const add = (row: number, reject: Reject): void => {
    const known = byRow.get(row)
    if (known === undefined) byRow.set(row, [reject])
    else known.push(reject)
  }
  for (const { outcome } of rows) {
    if (outcome.outcome === 'rejected') {
      const { stage, code, message } = outcome.issue
      add(outcome.row, { rule: '', stage, code, reason: message })
    } else if (outcome.outcome === 'mapped') {
      for (const { rule, issue } of outcome.rejected) {
        add(outcome.row, {
          rule,
          stage: issue.stage,
          code: issue.code,
          reason: withField(issue.message, issue.field),
        })
      }
    }
  }
  for (const outcome of trouble.outcomes) {
    if (outcome.outcome !== 'rejected' && outcome.outcome !== 'in-doubt') continue
    const { entry, reason } = outcome
    add(entry.row.row, {
      rule: entry.record.rule,
      stage: reason.stage,
      code: reason.code,
      reason: withField(reason.message, reason.field),
    })
  }
  for (const { entry, reason } of trouble.markFailures) {
    add(entry.row.row, {
      rule: entry.record.rule,
      stage: reason.stage,
      code: reason.code,
      reason: reason.message,
    })
  }
  if (byRow.size === 0) return ''
  const lines = rows.flatMap(({ source }) =>
    (byRow.get(source.row) ?? []).map(({ rule, stage, code, reason }) => {
      const { cells, raw } = asItCame(source, columns)
      return [...cells, exportName, source.row, source.line, rule, stage, code, reason, raw]
    }),
  )
  return stringify(lines)
}

const withField = (message: string, field: string | undefined): string =>
  field === undefined ? message : `${field}: ${message}`

/** The row's cells under the export's columns; a row that does not fit them goes into `_raw` as a whole. */
function asItCame(
  row: Row,
  columns: readonly string[] | undefined,
): { cells: readonly string[]; raw: string } {
  if (columns === undefined) return { cells: [row.kind === 'cells' ? '' : row.text], raw: '' }
  if (row.kind === 'cells') return { cells: row.cells, raw: '' }
  return { cells: columns.map(() => ''), raw: row.text }
}
