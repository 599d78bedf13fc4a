/** Outcomes by kind of record, and other counts of the run. Then the exports. */
import { scaleLinear } from 'd3-scale'
import { allRecords, kindsShown, type RecordCounts } from '../../model/balance.ts'
import { KIND_NAMES } from '../../model/record.ts'
import { counted, html, n } from '../../system/shown-text.ts'
import { mostLeftFirst, notDelivered } from '../balance.ts'
import type { DetailedExport, DetailedStory, RunSummary } from '../run-story.ts'
import { accountsWords, CORRECTED, codeCountWords, owedNote, unjudgedNote } from '../words.ts'
import {
  countOf,
  counts,
  foldedTable,
  nameHtml,
  OUTCOMES,
  outcomeBox,
  px,
  RECORD_OUTCOMES,
  type RecordOutcome,
  table,
  words,
} from './figures.ts'

/** Width of a bar in pixels; each part has at least `NARROWEST`. */
const BAR_WIDTH = 180
const NARROWEST = 2

export function kindsSection({ summary }: DetailedStory): string {
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

/** Counts of the run as a whole, if any. */
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

const SHOWN = 12

const READINGS: Readonly<Record<DetailedExport['reading'], string>> = {
  whole: '',
  selected: 'rows left behind',
  rejects: 'a corrected rejects file',
}

export function exportsSection({ exports }: DetailedStory): string {
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
)}
</section>`
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
