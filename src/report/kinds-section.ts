/** Outcomes by kind of record, and what else went to and fro. */
import { scaleLinear } from 'd3-scale'
import { allRecords, type RecordCounts } from '../model/balance.ts'
import { RECORD_KINDS } from '../model/record.ts'
import { owedWords } from '../reconcile/new-and-known.ts'
import { counted, n } from '../shown-text.ts'
import { px } from './figures.ts'
import { countOf, KINDS, OUTCOMES, RECORD_OUTCOMES, type RecordOutcome } from './outcomes.ts'
import type { RunFacts } from './run-facts.ts'
import { table } from './table.ts'

/** Pixels; what is there is never narrower than the second. */
const BAR_WIDTH = 180
const NARROWEST = 2

export function kindsSection({ summary }: RunFacts): string {
  const { records } = summary
  const line = (name: string, counts: RecordCounts): string[] => [
    name,
    n(counts.made),
    shareBar(counts),
    ...RECORD_OUTCOMES.map((outcome) => n(countOf(counts, outcome))),
  ]
  const columns = [
    { head: 'records' },
    { head: 'made', number: true as const },
    { head: 'shares' },
    ...RECORD_OUTCOMES.map((outcome) => ({
      head: `${OUTCOMES[outcome].mark} ${OUTCOMES[outcome].name}`,
      number: true as const,
    })),
  ]
  return `<section id="kinds">
<h2>Outcomes by kind</h2>
${table({
  label: 'Outcomes by kind of record',
  columns,
  lines: RECORD_KINDS.map((kind) => line(KINDS[kind], records[kind])),
  total: line('all', allRecords({ records })),
  kind: 'kinds',
})}
${beside(summary)}
</section>`
}

/** Where each outcome's part of a bar begins, and how wide it is; together as wide as the bar. */
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
  const parts = sharesOf(counts, BAR_WIDTH).map(({ outcome, x, width }) => {
    const box = `x="${px(x)}" width="${px(width)}" height="12"`
    const pattern =
      outcome === 'accepted' || outcome === 'unchanged'
        ? ''
        : `<rect fill="url(#${outcome}-pattern)" ${box}/>`
    return `<rect class="node ${outcome}" ${box}/>${pattern}`
  })
  return `<svg class="bar" viewBox="0 0 ${BAR_WIDTH} 12" width="${BAR_WIDTH}" height="12" aria-hidden="true">${parts.join('')}</svg>`
}

/** What is counted for the run as a whole, where there is any of it. */
function beside({ rows, accounts, primaryCare, careTeams, requests }: RunFacts['summary']): string {
  const facts: [string, string][] = [
    [
      'accounts',
      `${n(accounts.registered)} registered, ${n(accounts.known)} known, ${n(accounts.refused)} refused`,
    ],
  ]
  const { marked, unmarked } = primaryCare
  if (marked + unmarked > 0)
    facts.push(['primary care physicians', `${n(marked)} marked, ${n(unmarked)} unmarked`])
  if (careTeams.replaced > 0)
    facts.push(['care teams with an older entry', `${n(careTeams.replaced)} replaced`])
  const owed = owedWords({ primaryCare, careTeams })
  if (owed !== undefined) facts.push(['owed at the gateway', `${owed}: the next run does it`])
  if (rows.corrected > 0)
    facts.push(['corrections', `${counted(rows.corrected, 'row')} with a known key and other content`])
  facts.push([
    'requests',
    `${n(requests.sent)} sent, of these ${n(requests.retried)} again; ${counted(requests.readBack, 'read')} of profiles`,
  ])
  return `<dl class="facts">${facts.map(([name, text]) => `<dt>${name}</dt><dd>${text}</dd>`).join('')}</dl>`
}
