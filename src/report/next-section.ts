/** What to do next about what a run has left. */
import { html } from '../html-page.ts'
import type { Step } from '../runs/next-steps.ts'

export function nextSection(steps: readonly Step[]): string {
  if (steps.length === 0) return ''
  const shown = steps.map(({ say, commands }) =>
    [
      `<p>${html(say)}</p>`,
      ...(commands.length === 0 ? [] : [`<pre>${commands.map(html).join('\n')}</pre>`]),
    ].join('\n'),
  )
  return `<section id="next" class="steps">
<h2>What to do next</h2>
${shown.join('\n')}
</section>`
}
