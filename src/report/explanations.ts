/** What the codes of reasons mean, and what to do about them: as docs/reasons.md says it, which comes with the program. */
import { readFile } from 'node:fs/promises'
import { html } from '../html-page.ts'

/** In Markdown: words, and code between backquotes. */
export interface Explanation {
  readonly means: string
  /** Empty where nothing is to be done. */
  readonly remedy: string
}

/** By code. */
export type Explanations = ReadonlyMap<string, Explanation>

/** None where the page did not come along: the report then names the page alone. */
export const readExplanations = async (): Promise<Explanations> =>
  explanationsOf(await readFile(new URL('../../docs/reasons.md', import.meta.url), 'utf8').catch(() => ''))

/** @param page in Markdown: rows of tables whose first cell is a code, or several with the same meaning */
export function explanationsOf(page: string): Explanations {
  const rows = [...page.matchAll(/^\| ((?:`[a-z-]+`(?:, )?)+) \| (.*) \|$/gm)]
  return new Map(
    rows.flatMap(([, codes = '', cells = '']) => {
      const [means = '', remedy = ''] = cells.split(' | ').map((cell) => cell.replace(/^\* /, ''))
      return [...codes.matchAll(/`([^`]+)`/g)].map(([, code = '']) => [code, { means, remedy }] as const)
    }),
  )
}

/** As HTML. Links lead nowhere from a page that travels alone: their words stay. @param run in the place of RUN, in commands */
export const explained = (markdown: string, { job, run }: { readonly job: string; readonly run: string }) =>
  html(markdown.replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1')).replaceAll(
    /`([^`]+)`/g,
    (_, code: string) => `<code>${code.replace(/\bRUN\b/, html(run)).replace(/\bJOB\b/, html(job))}</code>`,
  )
