/**
 * Report of a run as one self-contained page: a head with the run, its end and notes on its numbers, then sections. Pure; names, counts, codes and
 * digests, no health data.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { lstat, readFile } from 'node:fs/promises'
import { relative } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { scaleLinear } from 'd3-scale'
import { type Reason, wordsOf } from '../../ledger/ledger.ts'
import { allRecords, kindsShown, type RecordCounts } from '../../model/balance.ts'
import { KIND_NAMES } from '../../model/record.ts'
import { shipped } from '../../system/shipped.ts'
import { counted, html, htmlPage, iso, n } from '../../system/shown-text.ts'
import { leftByRun, mostLeftFirst, notDelivered } from '../balance.ts'
import { gatherDetails } from '../facts.ts'
import { nextSteps, type Step } from '../next-steps.ts'
import { DRIFT_SHOWN, largestFirst, type MergedReason, mergeReasons } from '../reasons.ts'
import type { DetailedExport, DetailedStory, RunSummary } from '../run-story.ts'
import {
  accountsWords,
  because,
  CORRECTED,
  codeCountWords,
  driftCounts,
  ifAny,
  knownWords,
  leftBehindWords,
  owedNote,
  partsCells,
  prunedNote,
  unjudgedNote,
} from '../words.ts'
import { balanceSection } from './balance-section.ts'
import {
  countOf,
  counts,
  durationText,
  foldedTable,
  localText,
  nameHtml,
  OUTCOMES,
  outcomeBox,
  PATTERNS,
  px,
  RECORD_OUTCOMES,
  type RecordOutcome,
  table,
  utcText,
  words,
} from './figures.ts'
import { STYLE } from './style.ts'
import { throughputSection } from './throughput-section.ts'

/** Name of the page's `meta` element with the id of the run. */
const RUN_META = 'waybill-run'

/** @param beginning start of a file, at least two thousand bytes */
export const isReportOf = (beginning: string, run: string): boolean =>
  beginning.includes(`<meta name="${RUN_META}" content="${html(run)}">`)

interface ReportContext {
  readonly writtenAt: number
  readonly version: string
  /** Next steps with commands, as `waybill show` prints them; empty for none. */
  readonly nextSteps: readonly Step[]
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
  readonly version: string
  /** Reads the files of the run; without it, the report leaves files out. */
  readonly outputsOf?: (summary: RunSummary) => Promise<readonly OutputFile[]>
}

/**
 * Writes the page as HTML, to keep or to mail.
 * @throws `run-not-found`
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

const MARKS: Readonly<Record<Verdict['level'], string>> = { well: '✓', left: '!', open: '…', bad: '×' }

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

const SHOWN = 12

/** @param outputs undefined if not read */
function filesSection(
  { exports, summary }: DetailedStory,
  outputs: readonly OutputFile[] | undefined,
): string {
  const came = foldedTable(
    {
      label: 'Exports with their digests',
      columns: [...words('export'), ...counts('bytes'), ...words('SHA-256')],
      lines: exports.map(({ name, bytes, sha256 }) => [nameHtml(name), n(bytes), digest(sha256)]),
      kind: 'stacked files',
    },
    SHOWN,
    'more exports',
  )
  return `<section id="files">
<h2>Files and digests</h2>
${exports.length === 0 ? '<p class="none">No export was read.</p>' : `${came}\n${mappings(exports)}`}
${writtenFiles(summary, outputs)}
</section>`
}

/** Mappings, once each for any number of exports. Joined tables belong to a mapping, so that it may have several digests. */
function mappings(exports: DetailedStory['exports']): string {
  const same = [...Map.groupBy(exports, ({ mappingDigest }) => mappingDigest).values()]
  return foldedTable(
    {
      label: 'Mappings with their digests',
      columns: words('mapping', 'read', 'SHA-256'),
      lines: same.flatMap((all) => {
        const [first] = all
        if (first === undefined) return []
        const { mapping = 'its name was pruned', mappingDigest } = first
        const read =
          all.length === 1 && same.length > 1 ? nameHtml(first.name) : counted(all.length, 'export')
        return [[html(mapping), read, digest(mappingDigest)]]
      }),
      kind: 'stacked files',
    },
    SHOWN,
    'more mappings',
  )
}

function writtenFiles({ pruned, files }: RunSummary, outputs: readonly OutputFile[] | undefined): string {
  if (pruned !== undefined) return '<p class="none">Receipts and rejects are gone: the run was pruned.</p>'
  if (files.rejects === undefined && files.receipts === undefined)
    return '<p class="none">The run has written neither rejects nor receipts.</p>'
  if (outputs === undefined) return ''
  const note =
    files.rejects === undefined
      ? ''
      : '<p class="note">Rejects are rows as they came, health data: keep them where they are.</p>\n'
  return `${note}${foldedTable(
    {
      label: 'Rejects and receipts with their digests',
      columns: [...words('written, in the home'), ...counts('bytes'), ...words('mode', 'SHA-256')],
      lines: outputs.map(({ path, found }) => [
        nameHtml(path),
        ...(found === undefined
          ? ['', '', '<strong>missing</strong>']
          : [
              n(found.bytes),
              `<code>${found.mode.toString(8).padStart(4, '0')}</code>`,
              digest(found.sha256),
            ]),
      ]),
      kind: 'stacked files',
    },
    SHOWN,
    'more files',
  )}`
}

const digest = (sha256: string): string => `<code>${html(sha256)}</code>`

interface OutputFile {
  readonly what: 'rejects' | 'receipts'
  /** Relative to the home. */
  readonly path: string
  /** Undefined for a missing file. */
  readonly found?: { readonly bytes: number; readonly mode: number; readonly sha256: string }
}

/** @param home folder of the installation */
export async function measureOutputFiles(
  home: string,
  { exports, files }: Pick<RunSummary, 'exports' | 'files'>,
): Promise<OutputFile[]> {
  const named = [
    ...exports.flatMap(({ rejects }) => (rejects === undefined ? [] : [['rejects', rejects] as const])),
    ...(files.receipts === undefined ? [] : [['receipts', files.receipts] as const]),
  ]
  const measured: OutputFile[] = []
  for (const [what, path] of named) {
    const found = await measure(path).catch(() => undefined)
    measured.push({ what, path: relative(home, path), ...(found === undefined ? {} : { found }) })
  }
  return measured
}

async function measure(path: string): Promise<OutputFile['found']> {
  const { size, mode } = await lstat(path)
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  return { bytes: size, mode: mode & 0o777, sha256: hash.digest('hex') }
}

/** Width of a bar in pixels; each part has at least `NARROWEST`. */
const BAR_WIDTH = 180
const NARROWEST = 2

function kindsSection({ summary }: DetailedStory): string {
  const { records } = summary
  const hasRecords = allRecords({ records }).made > 0
  const line = (name: string, of: RecordCounts): string[] => [
    name,
    n(of.made),
    shareBar(of),
    ...RECORD_OUTCOMES.map((outcome) => n(countOf(of, outcome))),
  ]
  const columns = [
    ...[...words('records'), ...counts('made'), ...words('shares')],
    ...counts(...RECORD_OUTCOMES.map((outcome) => `${OUTCOMES[outcome].mark} ${OUTCOMES[outcome].name}`)),
  ]
  return `<section id="kinds">
<h2>Outcomes by kind</h2>
${
  hasRecords
    ? table({
        label: 'Outcomes by kind of record',
        columns,
        lines: kindsShown(summary).map((kind) => line(KIND_NAMES[kind], records[kind])),
        total: line('all', allRecords({ records })),
        kind: 'kinds',
      })
    : '<p class="none">No record was made.</p>'
}
${beside(summary)}
</section>`
}

/** Start and width of each outcome's part of a bar; the parts fill the bar. */
export function sharesOf(
  counts: RecordCounts,
  width: number,
): { readonly outcome: RecordOutcome; readonly x: number; readonly width: number }[] {
  const there = RECORD_OUTCOMES.filter((outcome) => countOf(counts, outcome) > 0)
  const total = there.reduce((sum, outcome) => sum + countOf(counts, outcome), 0)
  const scale = scaleLinear([0, total], [0, width - there.length * NARROWEST])
  let x = 0
  return there.map((outcome) => {
    const part = { outcome, x, width: NARROWEST + scale(countOf(counts, outcome)) }
    x += part.width
    return part
  })
}

function shareBar(counts: RecordCounts): string {
  const parts = sharesOf(counts, BAR_WIDTH).map(({ outcome, x, width }) =>
    outcomeBox(outcome, `x="${px(x)}" width="${px(width)}" height="12"`),
  )
  return `<svg class="bar" viewBox="0 0 ${BAR_WIDTH} 12" width="${BAR_WIDTH}" height="12" aria-hidden="true">${parts.join('')}</svg>`
}

function beside({ rows, leftOut, accounts, primaryCare, careTeams, requests }: RunSummary): string {
  const facts: [string, string][] = [['accounts', accountsWords(accounts)]]
  const { marked, unmarked } = primaryCare
  if (marked + unmarked > 0)
    facts.push(['primary care physicians', `${n(marked)} marked, ${n(unmarked)} unmarked`])
  if (careTeams.replaced > 0)
    facts.push(['care teams with an older entry', `${n(careTeams.replaced)} replaced`])
  if (careTeams.removed > 0) facts.push(['care teams no longer listed', `${n(careTeams.removed)} deleted`])
  for (const kept of unjudgedNote({ careTeams })) facts.push(['kept', kept])
  for (const owed of owedNote({ primaryCare, careTeams })) facts.push(['owed at the gateway', owed])
  if (leftOut.length > 0) facts.push(['left out by the mapping', html(codeCountWords(leftOut))])
  if (rows.corrected > 0) facts.push(['corrections', `${counted(rows.corrected, 'row')} ${CORRECTED}`])
  facts.push([
    'requests',
    `${n(requests.sent)} sent, ${n(requests.retried)} of them retries; ${counted(requests.readBack, 'read')} of profiles`,
  ])
  return `<dl class="facts">${facts.map(([name, text]) => `<dt>${name}</dt><dd>${text}</dd>`).join('')}</dl>`
}

const READINGS: Readonly<Record<DetailedExport['reading'], string>> = {
  whole: '',
  selected: 'rows left behind',
  rejects: 'a corrected rejects file',
}

function exportsSection({ exports }: DetailedStory): string {
  if (exports.length === 0) return ''
  const order = mostLeftFirst(exports)
  const many = exports.length > SHOWN ? ', most left behind first' : ''
  return `<section id="exports">
<h2>Exports${many === '' ? '' : ` <span>${n(exports.length)}${many}</span>`}</h2>
${foldedTable(
  {
    label: 'Exports and the outcomes of their rows',
    columns: [
      ...words('export'),
      ...counts('rows', 'mapped', 'skipped', 'rejected', 'records', 'not delivered'),
      ...words('state'),
    ],
    lines: order.map(lineOf),
    kind: 'exports',
  },
  SHOWN,
  'more exports',
)}${exports.map(partsOf).join('')}
</section>`
}

function partsOf({ name, parts = [] }: DetailedExport): string {
  if (parts.length === 0) return ''
  const { head, lines } = partsCells(parts)
  const [part, state, rows, taken, worker] = head
  const columns = [...words(part, state), ...counts(rows, taken), ...words(worker)]
  return table({ label: `Parts of ${name}`, columns, lines: lines.map((cells) => cells.map(html)) })
}

function lineOf({ name, counts, state, error, reading }: DetailedExport): string[] {
  const { read, mapped, skipped, rejected } = counts.rows
  const how = READINGS[reading]
  return [
    `${nameHtml(name)}${how === '' ? '' : ` <span class="soft">${how}</span>`}`,
    ...[read, mapped, skipped, rejected, allRecords(counts).made, notDelivered(counts)].map(n),
    error === undefined ? html(state) : `<strong>${html(state)}</strong> <code>${html(error)}</code>`,
  ]
}

const REASONS_SHOWN = 20
const NAMED = 4

/**
 * Reasons of rows and records, most frequent first; one line for many rules or exports. Meanings and remedies come from docs/reasons.md, part of the
 * program. Below: warnings, differences from earlier deliveries, next steps.
 */
function reasonsSection({ summary, reasons }: DetailedStory, explanations: Explanations): string {
  if (reasons.length === 0 && summary.pruned === undefined) return ''
  return `<section id="reasons">
<h2>Reasons for rows and records left behind</h2>
${leftBehindWords(summary)
  .map((words) => `<p>New: ${html(words)}.</p>\n`)
  .join('')}${
  reasons.length === 0
    ? '<p class="none">Reasons are gone: the detail of the run was pruned.</p>'
    : `${reasonsTable(reasons, explanations)}
${meanings(summary, new Set(reasons.map(({ code }) => code)), explanations)}
<p class="note">All codes: <code>docs/reasons.md</code>, which comes with the program.</p>`
}
</section>`
}

function meanings(summary: RunSummary, codes: ReadonlySet<string>, explanations: Explanations): string {
  const found = [...codes].flatMap((code) => {
    const explanation = explanations.get(code)
    return explanation === undefined ? [] : [{ code, ...explanation }]
  })
  if (found.length === 0) return ''
  const one = ({ code, means, remedy }: (typeof found)[number]): string =>
    `<dt id="reason-${html(code)}"><code>${html(code)}</code></dt>
<dd>${explained(means, summary)}${remedy === '' ? '' : `<br><span class="soft">What to do:</span> ${explained(remedy, summary)}`}</dd>`
  return `<h3>Meanings and remedies</h3>
<dl class="meanings">
${found.map(one).join('\n')}
</dl>`
}

function reasonsTable(reasons: readonly Reason[], explanations: Explanations): string {
  const merged = mergeReasons(reasons)
  const most = merged[0]?.count ?? 0
  return foldedTable(
    {
      label: 'Reasons, most frequent first',
      columns: [...counts('count'), ...words('share', 'reason', 'where')],
      lines: merged.map((reason) => reasonLine(reason, most, explanations)),
      kind: 'stacked reasons',
    },
    REASONS_SHOWN,
    'more reasons',
  )
}

function reasonLine(
  { outcome, stage, code, field, message, count, settled, rules, exports, ...known }: MergedReason,
  most: number,
  explanations: Explanations,
): string[] {
  const face = Object.entries(OUTCOMES).find(([name]) => name === outcome)?.[1]
  const facts = [
    face === undefined ? outcome : `${face.mark} ${face.name}`,
    stage,
    ...knownWords(known),
    ...(settled === 0 ? [] : [`${n(settled)} settled since by later runs`]),
  ]
  return [
    n(count),
    `<svg class="share ${html(outcome)}" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true"><rect width="${Math.max(2, (100 * count) / most).toFixed(2)}" height="1"/></svg>`,
    `${explanations.has(code) ? `<a href="#reason-${html(code)}"><code>${html(code)}</code></a>` : `<code>${html(code)}</code>`} <span class="outcome">${html(facts.join(', '))}</span><br>${html(wordsOf({ field, message }))}`,
    `${names(
      rules.map((rule) => html(rule ?? 'the row as a whole')),
      'rules',
    )}<br><span class="soft name">${names(exports.map(nameHtml), 'exports')}</span>`,
  ]
}

const names = (all: readonly string[], what: string): string =>
  all.length > NAMED
    ? `${all.slice(0, NAMED - 1).join(', ')} and ${n(all.length - NAMED + 1)} more ${what}`
    : all.join(', ')

/** Explanation in Markdown: words, and code between backquotes. */
interface Explanation {
  readonly means: string
  /** Empty for nothing to do. */
  readonly remedy: string
}

type Explanations = ReadonlyMap<string, Explanation>

/** Empty for a program without the page: the report then names only the page. */
export const readExplanations = async (): Promise<Explanations> =>
  explanationsOf(await readFile(shipped('docs/reasons.md'), 'utf8').catch(() => ''))

/** @param page Markdown: rows of tables with a code, or several codes of one meaning, in the first cell */
function explanationsOf(page: string): Explanations {
  const rows = [...page.matchAll(/^\| ((?:`[a-z-]+`(?:, )?)+) \| (.*) \|$/gm)]
  return new Map(
    rows.flatMap(([, codes = '', cells = '']) => {
      const [means = '', remedy = ''] = cells.split(' | ').map((cell) => cell.replace(/^\* /, ''))
      return [...codes.matchAll(/`([^`]+)`/g)].map(([, code = '']) => [code, { means, remedy }] as const)
    }),
  )
}

/** Explanation as HTML. Links become plain words, as the page travels alone. @param run replaces RUN in commands */
const explained = (markdown: string, { job, run }: { readonly job: string; readonly run: string }) =>
  html(markdown.replaceAll(/\[([^\]]+)\]\([^)]*\)/g, '$1')).replaceAll(
    /`([^`]+)`/g,
    (_, code: string) => `<code>${code.replace(/\bRUN\b/, html(run)).replace(/\bJOB\b/, html(job))}</code>`,
  )

const EXAMPLES_SHOWN = 12

function findingsSection({ summary: { warnings, drift } }: DetailedStory): string {
  if (warnings.length + drift.length === 0) return ''
  return `<section id="findings">
<h2>Warnings and drift</h2>
${
  warnings.length === 0
    ? ''
    : foldedTable(
        {
          label: 'Warnings, most frequent first',
          columns: [...counts('count'), ...words('warning')],
          lines: warnings.map(({ code, count }) => [n(count), `<code>${html(code)}</code>`]),
          kind: 'short',
        },
        EXAMPLES_SHOWN,
        'more warnings',
      )
}
${
  drift.length === 0
    ? ''
    : `${drift.length > DRIFT_SHOWN ? `<p>${driftCounts(drift)}. The largest first.</p>\n` : ''}${foldedTable(
        {
          label: 'How exports differ from earlier deliveries',
          columns: words('export', 'drift', 'what', 'differs'),
          lines: largestFirst(drift).map(({ export: name, level, measure, message }) => [
            nameHtml(name),
            ...[level, measure, message].map(html),
          ]),
          kind: 'stacked drift',
        },
        DRIFT_SHOWN,
        'more differences',
      )}`
}
</section>`
}

export function nextSection(steps: readonly Step[]): string {
  if (steps.length === 0) return ''
  const shown = steps.map(({ say, commands }) =>
    [
      `<p>${html(say)}</p>`,
      ...(commands.length === 0 ? [] : [`<pre>${commands.map(html).join('\n')}</pre>`]),
    ].join('\n'),
  )
  return `<section id="next" class="steps">
<h2>Next steps</h2>
${shown.join('\n')}
</section>`
}
