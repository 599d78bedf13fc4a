/** Rows beside their records, for a terminal. */
import { shown } from '../shown-text.ts'
import type { PreviewedRow } from './previewed-row.ts'

const NAMES = 20
const SOURCE = 44
const MOST_LINES = 60

/** @param written what stands instead of the short form of the records: their JSON */
export function previewText(row: PreviewedRow, written?: readonly string[]): string[] {
  const widest = Math.min(NAMES, Math.max(0, ...row.source.map(([name]) => name.length)))
  const left = row.source.map(([name, text]) =>
    shown(widest === 0 ? text : `${inWidth(name, widest)}  ${text}`),
  )
  const cut =
    left.length > MOST_LINES ? [...left.slice(0, MOST_LINES), `… ${left.length - MOST_LINES} more`] : left
  const right = [...(written ?? []).map((json) => `→ ${json}`), ...resultLines(row, written === undefined)]
  const head = `── row ${row.row}, line ${row.line}: ${row.outcome} `
  const lines = Array.from({ length: Math.max(cut.length, right.length) }, (_, at) =>
    ` ${inWidth(cut[at] ?? '', SOURCE)} │ ${right[at] ?? ''}`.trimEnd(),
  )
  return [head.padEnd(80, '─'), ...lines, '']
}

function resultLines({ records, faults }: PreviewedRow, withRecords: boolean): string[] {
  const told = withRecords ? records : []
  const rules = Math.max(
    0,
    ...records.map(({ rule }) => rule.length),
    ...faults.map(({ rule }) => rule?.length ?? 0),
  )
  const longest = Math.max(0, ...told.map((record) => record.told.length))
  return [
    ...told.map(
      ({ rule, told: text, observedAt, code }) =>
        `→ ${rule.padEnd(rules)}  ${text.padEnd(longest)}  ${observedAt}  ${code}`,
    ),
    ...faults.map(({ rule, code, message }) =>
      rule === undefined ? `✗ ${code}: ${message}` : `✗ ${rule.padEnd(rules)}  ${code}: ${message}`,
    ),
  ]
}

const inWidth = (text: string, width: number): string =>
  text.length > width ? `${text.slice(0, width - 1)}…` : text.padEnd(width)
