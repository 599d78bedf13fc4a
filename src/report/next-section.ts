/** What to type next for what a run has left. */
import { html } from '../html-page.ts'

/** Lines that are set in so far are commands, to be typed as they stand; the others say what for. */
const COMMAND = /^ {4}/

/** @param lines as `waybill show` prints them, under a first line that names them */
export function nextSection([, ...lines]: readonly string[]): string {
  if (lines.length === 0) return ''
  const parts: { readonly isCommand: boolean; readonly lines: string[] }[] = []
  for (const line of lines) {
    const isCommand = COMMAND.test(line)
    const last = parts.at(-1)
    if (last?.isCommand === isCommand) last.lines.push(line.trim())
    else parts.push({ isCommand, lines: [line.trim()] })
  }
  const shown = parts.map(({ isCommand, lines: same }) =>
    isCommand
      ? `<pre>${same.map(html).join('\n')}</pre>`
      : same.map((line) => `<p>${html(line)}</p>`).join('\n'),
  )
  return `<section id="next" class="steps">
<h2>What to do next</h2>
${shown.join('\n')}
</section>`
}
