/** A row beside what becomes of it, in the words in which people read it. It holds health data. */
import type { PreparedRecord, RowOutcome } from '../model/record.ts'
import type { Row } from '../model/row.ts'
import { factsOf } from './record-facts.ts'

/** A record in short: rule; value or status, or who; when; code. */
export interface PreviewedRecord {
  readonly rule: string
  readonly told: string
  readonly observedAt: string
  readonly code: string
}

export interface PreviewedRow {
  readonly row: number
  readonly line: number
  readonly outcome: RowOutcome['outcome']
  /** Cells that hold something, by column; of JSON, lines of the document without a name. */
  readonly source: readonly (readonly [name: string, text: string])[]
  readonly records: readonly PreviewedRecord[]
  /** What there is no record of, by rule (of the whole row: without one), and why. */
  readonly faults: readonly { readonly rule?: string; readonly code: string; readonly message: string }[]
}

const MOST_LINES = 200

/** @param columns of CSV */
export function previewRow(
  row: Row,
  columns: readonly string[] | undefined,
  outcome: RowOutcome,
): PreviewedRow {
  const { records, faults } = becameOf(outcome)
  return {
    row: row.row,
    line: row.line,
    outcome: outcome.outcome,
    source: sourceOf(row, columns),
    records,
    faults,
  }
}

function becameOf(outcome: RowOutcome): Pick<PreviewedRow, 'records' | 'faults'> {
  if (outcome.outcome === 'skipped')
    return { records: [], faults: [{ code: outcome.reason, message: 'left out' }] }
  if (outcome.outcome === 'rejected')
    return { records: [], faults: [{ code: outcome.issue.code, message: outcome.issue.message }] }
  return {
    records: outcome.records.map(inShort),
    faults: outcome.rejected.map(({ rule, issue }) => ({ rule, code: issue.code, message: issue.message })),
  }
}

function inShort(record: PreparedRecord): PreviewedRecord {
  const facts = factsOf(record)
  const told =
    record.kind === 'careTeam'
      ? [facts['npi'], facts['name'], facts['type']].filter((fact) => fact !== undefined).join(' ')
      : (facts['value'] ?? facts['status'] ?? '')
  return {
    rule: record.rule,
    told,
    observedAt: new Date(record.observedAt).toISOString(),
    code: facts['code'] ?? facts['codes'] ?? '',
  }
}

function sourceOf(row: Row, columns: readonly string[] | undefined): (readonly [string, string])[] {
  if (row.kind === 'cells')
    return row.cells.flatMap((cell, at) =>
      cell === '' ? [] : [[columns?.[at] ?? `cell ${at + 1}`, cell] as const],
    )
  const text = row.kind === 'json' ? JSON.stringify(row.value, null, 1) : row.text
  const lines = text.split('\n')
  const shown = lines.slice(0, MOST_LINES).map((line) => ['', line] as const)
  return lines.length > MOST_LINES ? [...shown, ['', `… ${lines.length - MOST_LINES} more lines`]] : shown
}
