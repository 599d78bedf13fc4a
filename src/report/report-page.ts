/** A run as one page that needs nothing else. Pure; it holds names, counts, codes and digests, no health data. */

import { nextSteps, type Step } from '../run/next-steps.ts'
import type { RunSummary } from '../run/summary.ts'
import { html, htmlPage } from '../shown-text.ts'
import { balanceSection } from './balance-section.ts'
import { PATTERNS, utcText } from './figures.ts'
import { filesSection, type OutputFile } from './files-section.ts'
import { findingsSection, nextSection } from './findings-section.ts'
import { exportsSection, kindsSection } from './kinds-section.ts'
import { type Explanations, readExplanations, reasonsSection } from './reasons-section.ts'
import { type FactSources, gatherFacts, type RunFacts } from './run-facts.ts'
import { runHeader, runNotes } from './run-header.ts'
import { STYLE } from './style.ts'
import { throughputSection } from './throughput-section.ts'

/** Of the page's `meta` element whose content is the id of the run. */
const RUN_META = 'waybill-run'

/** @param beginning of a file: its first two thousand bytes are enough */
export const isReportOf = (beginning: string, run: string): boolean =>
  beginning.includes(`<meta name="${RUN_META}" content="${html(run)}">`)

export interface ReportContext {
  /** Milliseconds since the epoch. */
  readonly writtenAt: number
  /** Of the program. */
  readonly version: string
  /** Lines that say what to type next, as `waybill show` prints them; none where nothing is left to do. */
  readonly nextSteps: readonly Step[]
  /** What codes of reasons mean. */
  readonly explanations: Explanations
  /** Files of the run as they lie in the home; undefined where nobody has looked. */
  readonly outputs?: readonly OutputFile[] | undefined
}

export function reportPage(facts: RunFacts, context: ReportContext): string {
  const sections = [
    { id: 'balance', name: 'Balance', body: balanceSection(facts) },
    { id: 'next', name: 'What to do next', body: nextSection(context.nextSteps) },
    { id: 'kinds', name: 'Kinds', body: kindsSection(facts) },
    { id: 'reasons', name: 'Reasons', body: reasonsSection(facts, context.explanations) },
    { id: 'findings', name: 'Warnings and drift', body: findingsSection(facts) },
    { id: 'throughput', name: 'Throughput', body: throughputSection(facts) },
    { id: 'exports', name: 'Exports', body: exportsSection(facts) },
    { id: 'files', name: 'Files', body: filesSection(facts, context.outputs) },
  ].filter(({ body }) => body !== '')
  return htmlPage({
    title: `${facts.summary.job} ${facts.summary.run}`,
    meta: { [RUN_META]: facts.summary.run, generator: `Waybill ${context.version}` },
    style: STYLE,
    body: [
      PATTERNS,
      runHeader(facts, context.writtenAt),
      contents(sections),
      '<main>',
      runNotes(facts),
      ...sections.map(({ body }) => body),
      '</main>',
      `<footer>Written ${utcText(context.writtenAt)} by Waybill ${html(context.version)} from its ledger. It holds names of files and rules, counts, codes and digests: nothing of a person.</footer>`,
    ]
      .filter((part) => part !== '')
      .join('\n'),
  })
}

interface Section {
  /** Of its element, and its short name in the contents. */
  readonly id: string
  readonly name: string
  readonly body: string
}

const contents = (sections: readonly Section[]): string =>
  `<nav aria-label="Contents"><ul>${sections.map(({ id, name }) => `<li><a href="#${id}">${name}</a></li>`).join('')}</ul></nav>`

export interface ReportParts extends FactSources {
  /** Of the program. */
  readonly version: string
  /** Looks at the files of the run; without it they are left out. */
  readonly outputsOf?: (summary: RunSummary) => Promise<readonly OutputFile[]>
}

/**
 * The page as HTML, to be kept or mailed.
 * @throws WaybillError `run-not-found`
 */
export async function runReport(parts: ReportParts, runId: string): Promise<string> {
  const { now, version, outputsOf } = parts
  const facts = await gatherFacts(parts, runId)
  const { summary, reasons } = facts
  return reportPage(facts, {
    writtenAt: now,
    version,
    nextSteps: nextSteps(summary, reasons),
    explanations: await readExplanations(),
    outputs: await outputsOf?.(summary),
  })
}
