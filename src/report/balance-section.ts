/** The balance: as a picture, as tables, and what is wrong where it does not balance. */

import { allRecords } from '../model/balance.ts'
import { RECORD_KINDS } from '../model/record.ts'
import { n } from '../shown-text.ts'
import { balanceFlow, recordFlow, rowFlow } from './balance-flow.ts'
import { balancePicture } from './balance-picture.ts'
import { KINDS } from './outcomes.ts'
import type { RunFacts } from './run-facts.ts'
import { numbers, table } from './table.ts'

const HEADS = ['came in', 'rows became', 'records made', 'records became']
const WIDE = { columnWidth: 245, textWidth: 205, heads: HEADS }
const NARROW = { columnWidth: 172, textWidth: 172, heads: [] }

export function balanceSection(facts: RunFacts): string {
  return `<section id="balance">
<h2>Balance${facts.summary.soFar ? ' so far' : ''}</h2>
${imbalance(facts)}${pictures(facts)}
</section>`
}

function pictures({ summary }: RunFacts): string {
  if (summary.rows.read === 0 && allRecords(summary).made === 0)
    return '<p class="none">No row has an outcome: there is nothing to draw.</p>'
  const part = (name: string, picture: string): string =>
    picture === '' ? '' : `<figure><figcaption>${name}</figcaption>\n${picture}</figure>`
  return `<p class="note">Widths are to scale within rows and within records; what would be too thin to be seen is drawn wider. Counts are exact.</p>
<div class="wide">${balancePicture(balanceFlow(summary), WIDE)}</div>
<div class="narrow">${part('Rows', balancePicture(rowFlow(summary), NARROW))}
${part('Records', balancePicture(recordFlow(summary), NARROW))}</div>
${numbers(balanceTable(summary))}`
}

function balanceTable({ rows, records }: RunFacts['summary']): string {
  const all = allRecords({ records })
  const lines = [
    ['rows read', rows.read],
    ['rows mapped', rows.mapped],
    ['rows skipped', rows.skipped],
    ['rows rejected', rows.rejected],
    ['records made', all.made],
    ['records accepted', all.accepted],
    ['records unchanged', all.unchanged],
    ['records rejected', all.rejected],
    ['records in doubt', all.inDoubt],
    ['records pending', all.pending],
  ] as const
  return table({
    label: 'The balance in numbers',
    columns: [{ head: 'what' }, { head: 'count', number: true }],
    lines: lines.map(([name, count]) => [name, n(count)]),
    kind: 'short',
  })
}

/** Each equation that does not hold, as it stands. */
function imbalance({ summary: { balanced, rows, records } }: RunFacts): string {
  if (balanced) return ''
  const wrong: string[] = []
  const { read, mapped, skipped, rejected } = rows
  if (read !== mapped + skipped + rejected)
    wrong.push(
      `rows: read ${n(read)} ≠ mapped ${n(mapped)} + skipped ${n(skipped)} + rejected ${n(rejected)}`,
    )
  for (const kind of RECORD_KINDS) {
    const { made, accepted, rejected: refused, unchanged, inDoubt, pending } = records[kind]
    if (made !== accepted + refused + unchanged + inDoubt + pending)
      wrong.push(
        `${KINDS[kind]}: made ${n(made)} ≠ accepted ${n(accepted)} + rejected ${n(refused)} + unchanged ${n(unchanged)} + in doubt ${n(inDoubt)} + pending ${n(pending)}`,
      )
  }
  return `<div class="alarm" role="alert">
<p><strong>Not balanced.</strong> This is a defect of Waybill: keep the ledger as it is, and report it.</p>
<ul>${wrong.map((line) => `<li>${line}</li>`).join('')}</ul>
</div>\n`
}
