/** Rows beside their records, for a terminal. */
import type { PreviewedRow } from './previewed-row.ts'

const NAMES = 20
const SOURCE = 44
const MOST_LINES = 60

/** @param written what stands instead of the short form of the records: their JSON */
export function previewText(row: PreviewedRow, written?: readonly string[]): string {
  const widest = Math.min(NAMES, Math.max(0, ...row.source.map(([name]) => name.length)))
  const left = row.source.map(([name, text]) => (widest === 0 ? text : `${inWidth(name, widest)}  ${text}`))
  const cut =
    left.length > MOST_LINES ? [...left.slice(0, MOST_LINES), `… ${left.length - MOST_LINES} more`] : left
  const right = [...(written ?? []).map((json) => `→ ${json}`), ...resultLines(row, written === undefined)]
  const head = `── row ${row.row}, line ${row.line}: ${row.outcome} `
  const lines = Array.from({ length: Math.max(cut.length, right.length) }, (_, at) =>
    ` ${inWidth(plain(cut[at] ?? ''), SOURCE)} │ ${plain(right[at] ?? '')}`.trimEnd(),
  )
  return `${[head.padEnd(80, '─'), ...lines].join('\n')}\n\n`
}

function resultLines({ records, faults }: PreviewedRow, withRecords: boolean): string[] {
  const shown = withRecords ? records : []
  const rules = Math.max(
    0,
    ...records.map(({ rule }) => rule.length),
    ...faults.map(({ rule }) => rule?.length ?? 0),
  )
  const told = Math.max(0, ...shown.map((record) => record.told.length))
  return [
    ...shown.map(
      ({ rule, told: text, observedAt, code }) =>
        `→ ${rule.padEnd(rules)}  ${text.padEnd(told)}  ${observedAt}  ${code}`,
    ),
    ...faults.map(({ rule, code, message }) =>
      rule === undefined ? `✗ ${code}: ${message}` : `✗ ${rule.padEnd(rules)}  ${code}: ${message}`,
    ),
  ]
}

const inWidth = (text: string, width: number): string =>
  text.length > width ? `${text.slice(0, width - 1)}…` : text.padEnd(width)

/** Cells may hold escape sequences, which a terminal would obey. */
const plain = (text: string): string => text.replaceAll(/\p{Cc}/gu, '\u{fffd}')
