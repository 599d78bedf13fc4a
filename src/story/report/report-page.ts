/**
 * Report of a run as one self-contained page: a head with the run, its end and notes on its numbers, then sections. Pure; names, counts, codes and
 * digests, no health data.
 */
import { allRecords } from '../../model/balance.ts'
import { counted, html, htmlPage, iso, n } from '../../system/shown-text.ts'
import { leftByRun } from '../balance.ts'
import { gatherDetails } from '../facts.ts'
import { nextSteps, type Step } from '../next-steps.ts'
import type { DetailedStory, RunSummary } from '../run-story.ts'
import { because, ifAny, prunedNote } from '../words.ts'
import { balanceSection } from './balance-section.ts'
import { countOf, durationText, localText, OUTCOMES, PATTERNS, RECORD_OUTCOMES, utcText } from './figures.ts'
import { filesSection, type OutputFile } from './files-section.ts'
import { exportsSection, kindsSection } from './kinds-section.ts'
import {
  type Explanations,
  findingsSection,
  nextSection,
  readExplanations,
  reasonsSection,
} from './reasons-section.ts'
import { STYLE } from './style.ts'
import { throughputSection } from './throughput-section.ts'

/** Name of the page's `meta` element with the id of the run. */
const RUN_META = 'waybill-run'

/** @param beginning start of a file, at least two thousand bytes */
export const isReportOf = (beginning: string, run: string): boolean =>
  beginning.includes(`<meta name="${RUN_META}" content="${html(run)}">`)

export interface ReportContext {
  /** Milliseconds since the epoch. */
  readonly writtenAt: number
  /** Version of the program. */
  readonly version: string
  /** Next steps with commands, as `waybill show` prints them; empty for none. */
  readonly nextSteps: readonly Step[]
  /** Meanings of reason codes. */
  readonly explanations: Explanations
  /** Files of the run in the home; undefined if not read. */
  readonly outputs?: readonly OutputFile[] | undefined
}

export function reportPage(facts: DetailedStory, context: ReportContext): string {
  const { head, notes, sections } = reportParts(facts, context)
  return htmlPage({
    title: `${facts.summary.job} ${facts.summary.run}`,
    meta: { [RUN_META]: facts.summary.run, generator: `Waybill ${context.version}` },
    style: STYLE,
    body: [
      PATTERNS,
      head,
      contents(sections),
      '<main>',
      notes,
      ...sections.map(({ body }) => body),
      '</main>',
      `<footer>Written ${utcText(context.writtenAt)} by Waybill ${html(context.version)} from its ledger. Contains names of files and rules, counts, codes and digests: no personal data.</footer>`,
    ]
      .filter((part) => part !== '')
      .join('\n'),
  })
}

/** Head, notes and sections of a run as HTML, for pages in the style of the report. Their pictures use `PATTERNS`. */
export function reportParts(facts: DetailedStory, context: ReportContext) {
  const sections: readonly Section[] = [
    { id: 'balance', name: 'Balance', body: balanceSection(facts) },
    { id: 'next', name: 'Next steps', body: nextSection(context.nextSteps) },
    { id: 'kinds', name: 'Kinds', body: kindsSection(facts) },
    { id: 'reasons', name: 'Reasons', body: reasonsSection(facts, context.explanations) },
    { id: 'findings', name: 'Warnings and drift', body: findingsSection(facts) },
    { id: 'throughput', name: 'Throughput', body: throughputSection(facts) },
    { id: 'exports', name: 'Exports', body: exportsSection(facts) },
    { id: 'files', name: 'Files', body: filesSection(facts, context.outputs) },
  ].filter(({ body }) => body !== '')
  return { head: runHeader(facts, context.writtenAt), notes: runNotes(facts), sections }
}

interface Section {
  /** Id of the element; `name` is its short name in the contents. */
  readonly id: string
  readonly name: string
  readonly body: string
}

const contents = (sections: readonly Section[]): string =>
  `<nav aria-label="Contents"><ul>${sections.map(({ id, name }) => `<li><a href="#${id}">${name}</a></li>`).join('')}</ul></nav>`

type ReportParts = Parameters<typeof gatherDetails>[0] & {
  /** Version of the program. */
  readonly version: string
  /** Reads the files of the run; without it, the report leaves files out. */
  readonly outputsOf?: (summary: RunSummary) => Promise<readonly OutputFile[]>
}

/**
 * Writes the page as HTML, to keep or to mail.
 * @throws WaybillError `run-not-found`
 */
export async function runReport(parts: ReportParts, runId: string): Promise<string> {
  const { now, version, outputsOf } = parts
  const facts = await gatherDetails(parts, runId)
  const { summary, reasons } = facts
  return reportPage(facts, {
    writtenAt: now,
    version,
    nextSteps: nextSteps(summary, reasons),
    explanations: await readExplanations(),
    outputs: await outputsOf?.(summary),
  })
}

/** Verdict on a run: `well`, all is accounted for; `left`, something was left behind; `open`, not at its end; `bad`, failed. */
interface Verdict {
  readonly level: 'well' | 'left' | 'open' | 'bad'
  readonly words: string
}

export function verdictOf(summary: RunSummary): Verdict {
  const { state, activity, balanced } = summary
  const why = because(summary.reason)
  const verdict = (level: Verdict['level'], words: string): Verdict => ({ level, words })
  if (!balanced) return verdict('bad', 'Not balanced: a defect')
  if (activity?.kind === 'under-way')
    return verdict('open', `Under way${activity.waits === undefined ? '' : ': waiting for the gateway'}`)
  if (state === 'running')
    return verdict('open', 'Stopped before its end: the next run of its job continues it')
  if (state === 'interrupted')
    return verdict('open', `Interrupted${why}: the next run of its job continues it`)
  if (state === 'failed') return verdict('bad', `Failed${why}`)
  const { exports, unarchived, rows, rejected, inDoubt, pending, marks, deletions } = leftByRun(summary)
  const left = [
    ...ifAny(exports, 'export could not be used', 'exports could not be used'),
    ...ifAny(unarchived, 'export not archived', 'exports not archived'),
    ...ifAny(rows, 'row rejected', 'rows rejected'),
    ...ifAny(rejected, 'record rejected', 'records rejected'),
    ...ifAny(inDoubt, 'record in doubt', 'records in doubt'),
    ...ifAny(pending, 'record pending', 'records pending'),
    ...ifAny(marks, 'mark owed', 'marks owed'),
    ...ifAny(deletions, 'deletion owed', 'deletions owed'),
  ]
  return left.length === 0
    ? verdict('well', 'Finished: every row and record is accounted for')
    : verdict('left', `Finished: ${left.join(', ')}`)
}

/** Mark beside the words of a verdict. */
const MARKS: Readonly<Record<Verdict['level'], string>> = { well: '✓', left: '!', open: '…', bad: '×' }

/** @param writtenAt milliseconds since the epoch */
function runHeader({ summary, startedAt, endedAt, zone, exports }: DetailedStory, writtenAt: number): string {
  const { level, words } = verdictOf(summary)
  const time = (at: number): string =>
    `<time datetime="${iso(at)}">${utcText(at)}</time>${
      zone === undefined ? '' : `<br><span class="soft">${localText(at, zone)} ${html(zone)}</span>`
    }`
  const facts = [
    ['run', `<code>${html(summary.run)}</code>`],
    ['gateway', html(summary.gateway)],
    ['started', time(startedAt)],
    endedAt === undefined
      ? ['as of', time(writtenAt)]
      : [summary.state === 'interrupted' ? 'interrupted' : 'ended', time(endedAt)],
    ...(summary.exit === undefined ? [] : ([['exit code', String(summary.exit)]] as const)),
    ...(summary.detail === undefined ? [] : ([['because', html(summary.detail)]] as const)),
    ['at work', durationText(summary.durationMs)],
    ...backfillFact(summary, exports.length),
  ] as const
  return `<header>
<p class="what">Waybill run report</p>
<h1>${html(summary.job)}</h1>
<p class="verdict ${level}"><span aria-hidden="true">${MARKS[level]}</span> ${html(words)}</p>
${outcomeLine(summary)}
<dl>${facts.map(([name, text]) => `<div><dt>${name}</dt><dd>${text}</dd></div>`).join('')}</dl>
</header>`
}

/** Counts at the head: accepted and rejected always, other outcomes if any. Rejected rows come apart, as they made no record. */
function outcomeLine(summary: RunSummary): string {
  const all = allRecords(summary)
  const shares = RECORD_OUTCOMES.flatMap((outcome) => {
    const count = countOf(all, outcome)
    return count === 0 && outcome !== 'accepted' && outcome !== 'rejected' ? [] : [{ outcome, count }]
  })
  const items = [
    ...shares.map(
      ({ outcome, count }) =>
        [outcome, `${OUTCOMES[outcome].mark} records ${OUTCOMES[outcome].name}`, count] as const,
    ),
    ...(summary.rows.rejected === 0
      ? []
      : [['rejected', `${OUTCOMES.rejected.mark} rows rejected`, summary.rows.rejected] as const]),
  ]
  return `<ul class="outcomes" aria-label="Outcomes">${items
    .map(
      ([outcome, words, count]) =>
        `<li class="${outcome}"><strong>${n(count)}</strong> <span>${words}</span></li>`,
    )
    .join('')}</ul>`
}

/** Range of a backfill, without its folder, which matters only on its machine. */
const backfillFact = ({ backfill }: RunSummary, exports: number) =>
  backfill === undefined
    ? []
    : ([
        ['a backfill of', `${html(`${backfill.from} to ${backfill.to}`)}: ${counted(exports, 'export')}`],
      ] as const)

/** Notes on the numbers below: other runs, a run before its end, pruned detail. */
function runNotes({ summary, rowsInHand }: DetailedStory): string {
  const { origin, settled = [], soFar } = summary
  const notes = [
    ...prunedNote(summary).map((note) => `${note} The balance is unchanged.`),
    ...(soFar
      ? [
          `The run is not at the end of its exports: the numbers cover the settled part.${
            rowsInHand === 0
              ? ''
              : ` Pending: ${counted(rowsInHand, 'row')} in flight, without an outcome yet.`
          }`,
        ]
      : []),
    ...(origin === undefined
      ? []
      : [`Retries what run <code>${html(origin.run)}</code> left behind (${html(origin.selection)}).`]),
    ...settled.map(
      ({ run, count }) => `Settled since by run <code>${html(run)}</code>: ${n(count)} of the rejects.`,
    ),
  ]
  return notes.length === 0
    ? ''
    : `<ul class="notes">${notes.map((note) => `<li>${note}</li>`).join('')}</ul>`
}
