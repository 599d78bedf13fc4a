/** Tables of a report: they scroll where the page is narrow, and fold where they are long. */

import { html } from '../html-page.ts'
import { n } from '../shown-text.ts'

export interface Column {
  /** Plain text. */
  readonly head: string
  /** Numbers stand to the right. */
  readonly number?: true
}

/** Cells are HTML; the first of a line names it. */
export type Line = readonly string[]

export interface TableOptions {
  /** Says what it is, to those who do not see it. */
  readonly label: string
  readonly columns: readonly Column[]
  readonly lines: readonly Line[]
  /** Bold last line. */
  readonly total?: Line
  readonly kind?: string
}

export function table({ label, columns, lines, total, kind }: TableOptions): string {
  const classOf = (at: number): string => (columns[at]?.number ? ' class="number"' : '')
  const line = (cells: Line): string =>
    `<tr>${cells
      .map((cell, at) =>
        at === 0 ? `<th scope="row"${classOf(at)}>${cell}</th>` : `<td${classOf(at)}>${cell}</td>`,
      )
      .join('')}</tr>`
  const head = columns
    .map(({ head: text }, at) => `<th scope="col"${classOf(at)}>${html(text)}</th>`)
    .join('')
  return `<div class="scroll" tabindex="0" role="region" aria-label="${html(label)}">
<table${kind === undefined ? '' : ` class="${kind}"`}>
<thead><tr>${head}</tr></thead>
<tbody>
${lines.map(line).join('\n')}
</tbody>${total === undefined ? '' : `\n<tfoot>${line(total)}</tfoot>`}
</table>
</div>`
}

/** The first lines, and the others behind a line that says how many they are. @param rest what they are: `more exports` */
export function foldedTable(options: TableOptions, shown: number, rest: string): string {
  const { lines, label } = options
  // A fold for a line or two would cost more room than it saves.
  if (lines.length <= shown + 2) return table(options)
  const hidden = lines.slice(shown)
  const count = `${n(hidden.length)} ${rest}`
  return `${table({ ...options, lines: lines.slice(0, shown) })}
<details class="rest"><summary>${html(count)}</summary>
${table({ ...options, lines: hidden, label: `${label}, ${count}` })}
</details>`
}

/** The numbers of a picture, for those who read them rather. */
export const numbers = (content: string): string =>
  `<details class="numbers"><summary>In numbers</summary>\n${content}\n</details>`
