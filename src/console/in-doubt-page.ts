/** Records in doubt: the request that sent each, the result of the last look, and the three ways to end the doubt. */
import type { Application } from '../runs/application.ts'
import { type DoubtfulRecord, type DoubtfulRun, type LastLook, readInDoubt } from '../runs/in-doubt.ts'
import { foldedTable, nameHtml, words } from '../story/report/figures.ts'
import { counted, html, n } from '../system/shown-text.ts'
import { actsHtml, type Page, runLink, timeHtml, transactionLink, type Viewer } from './layout.ts'
import { actionPath } from './typed-commands.ts'

const UNFOLDED = 10

const LOOKS: Readonly<Record<LastLook, string>> = {
  none: 'nobody has looked since the run was given up',
  unreadable: 'the profile could not be read',
  waits: 'not sent: waits for an older record',
  unclear: 'the profile does not tell: it shows a newer record in this place, or none of this kind',
}

export async function inDoubtPage(application: Application, { mayAct }: Viewer): Promise<Page> {
  const runs = await readInDoubt(application)
  const title =
    runs.length === 0 ? 'No record is in doubt' : `Records of ${counted(runs.length, 'run')} are in doubt`
  return {
    title,
    isLive: true,
    json: { runs },
    body: `<h1>${title}</h1>
<p>A record is in doubt if it may have been sent, and the profile at the gateway does not tell. No run sends it before a person decides.</p>
${runs.map((run) => runSection(run, mayAct)).join('\n')}`,
  }
}

function runSection(found: DoubtfulRun, mayAct: boolean): string {
  const { run, job, gateway, startedAt, records, unasked, hasMore } = found
  return `<section id="run-${html(run)}">
<h2>${html(job)} <span>run ${runLink(run)}, ${timeHtml(Date.parse(startedAt))}, gateway ${html(gateway)}</span></h2>
${unasked === 0 ? '' : `<p>${counted(unasked, 'record was', 'records were')} in flight when the run was given up, and nobody has looked since. They count by batch, not one by one.</p>`}
${mayAct ? waysOut(run) : ''}
${records.length === 0 ? '' : recordsTable(found, mayAct)}
${hasMore ? `<p class="note">The first ${n(records.length)}. The rejects file has all.</p>` : ''}
</section>`
}

/** The ways to end a doubt, each with its risk. */
const waysOut = (run: string): string => `<dl class="ways">
<dt>${actsHtml([{ to: actionPath('reconcile', { run }), words: 'Look again' }])}</dt>
<dd>Reads the profiles, and sends nothing. Without risk: begin here.</dd>
<dt>${actsHtml([{ to: actionPath('accept', { run }), words: 'It is there' }])}</dt>
<dd>Counts the records as delivered. Risk: a record that the gateway does not have stays missing there.</dd>
<dt>${actsHtml([{ to: actionPath('resend', { run }), words: 'Send again' }])}</dt>
<dd>Looks once more, and sends the records that are not there. Risk: a record that arrived, and that the profile does not show, is then there twice.</dd>
</dl>`

function recordsTable({ run, records }: DoubtfulRun, mayAct: boolean): string {
  const one = (record: DoubtfulRecord): string[] => [
    transactionLink(record.transactionId),
    `${nameHtml(record.export)}, row ${n(record.row)}, line ${n(record.line)}`,
    html(record.rule),
    `<code>${html(record.code)}</code>`,
    sentHtml(record),
    LOOKS[record.look],
    ...(mayAct ? [decisions(run, record.transactionId)] : []),
  ]
  return foldedTable(
    {
      label: `Records in doubt of run ${run}`,
      columns: words(
        'transaction',
        'place',
        'rule',
        'code',
        'sent',
        'last look',
        ...(mayAct ? ['this record'] : []),
      ),
      lines: records.map(one),
      kind: 'blocks',
    },
    UNFOLDED,
    'more records',
  )
}

function sentHtml({ sent }: DoubtfulRecord): string {
  if (sent === undefined) return 'held back, not sent by this run'
  const { batchId, records, attempts, answer, status, begunAt } = sent
  const answered = answer === null ? 'no answer' : `${answer}${status === null ? '' : `, HTTP ${status}`}`
  return `${timeHtml(Date.parse(begunAt))}, batch <code>${html(batchId)}</code> of ${counted(records, 'record')}, ${counted(attempts, 'attempt')}: ${html(answered)}`
}

const decisions = (run: string, transaction: string): string =>
  actsHtml([
    { to: actionPath('accept', { run, transaction }), words: 'It is there', of: transaction },
    { to: actionPath('resend', { run, transaction }), words: 'Send again', of: transaction },
  ])
