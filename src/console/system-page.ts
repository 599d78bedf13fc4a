/** System: what `waybill doctor` finds, the size of what is kept, locks, notices, and the audit. */
import { exitOf, type Level } from '../operate/finding.ts'
import { type Application, lastBackupAt, ledgerFile } from '../runs/application.ts'
import { readAudit } from '../runs/audit.ts'
import { type Looking, lookOver } from '../runs/look-over.ts'
import { type Lock, readLocks, readOpenWork } from '../runs/system-state.ts'
import { foldedTable, table, words } from '../story/report/figures.ts'
import { freeBytes, lookAt } from '../system/own-files.ts'
import { counted, html, n, sizeText } from '../system/shown-text.ts'
import { ageText } from '../system/text-table.ts'
import { actsHtml, codeHtml, onlyKnown, type Page, runLink, timeHtml, type Viewer } from './layout.ts'
import { actionPath } from './typed-commands.ts'

const AUDIT_SHOWN = 100
const AUDIT_UNFOLDED = 10

const MARKS: Readonly<Record<Level, string>> = { ok: '✓', warning: '!', problem: '×' }

export async function systemPage(
  application: Application,
  looking: Looking,
  { mayAct }: Viewer,
): Promise<Page> {
  const findings = await lookOver(application, looking)
  const [problems = 0, warnings = 0] = (['problem', 'warning'] as const).map(
    (wanted) => findings.filter(({ level }) => level === wanted).length,
  )
  const verdict =
    problems + warnings === 0
      ? 'All is well'
      : `${counted(problems, 'problem')}, ${counted(warnings, 'warning')}`
  const work = await readOpenWork(application).catch(onlyKnown)
  return {
    title: `System: ${verdict}`,
    json: { exit: exitOf(findings), findings },
    body: `<h1>System: ${verdict}</h1>
<section id="kept"><h2>What is kept</h2>
<dl class="facts">${(await keptFacts(application, work)).map(([name, said]) => `<dt>${name}</dt><dd>${said}</dd>`).join('')}</dl></section>
${locksSection(await readLocks(application).catch(onlyKnown))}
${noticesSection(work, mayAct)}
${auditSection(await readAudit(application, {}).catch(onlyKnown))}
<section id="findings"><h2>Checks <span>as of ${timeHtml(application.now())}; reload to look again</span></h2>
${table({
  label: 'Checks',
  columns: words('check', 'level', 'found', 'what to do'),
  lines: findings.map(({ check, level, subject, found, details = [], remedy }) => [
    html(check),
    `<span class="level ${level}">${MARKS[level]} ${level}</span>`,
    [`${subject === undefined ? '' : `${subject}: `}${found}`, ...details].map(html).join('<br>'),
    level === 'ok' ? '' : codeHtml(remedy ?? ''),
  ]),
  kind: 'stacked checks',
})}</section>`,
  }
}

type OpenWork = Awaited<ReturnType<typeof readOpenWork>>

async function keptFacts(
  application: Application,
  work: OpenWork,
): Promise<readonly (readonly [string, string])[]> {
  const { settings, now } = application
  const { home } = settings
  if (lookAt(home) === undefined) return [['home', `${html(home)} does not exist yet`]]
  const size = lookAt(ledgerFile(application))?.size
  const backup = await lastBackupAt(home)
  const copy = work?.copy
  return [
    ['home', html(home)],
    [
      'ledger',
      settings.ledger !== undefined ? 'on a server' : size === undefined ? 'none yet' : sizeText(size),
    ],
    ['free on the disk', sizeText(freeBytes(home))],
    [
      'latest backup',
      settings.ledger !== undefined
        ? 'by the tools of the server'
        : backup === undefined
          ? 'none known'
          : `${timeHtml(backup)} (${html(ageText(now() - backup))})`,
    ],
    ...(copy === undefined
      ? []
      : [
          [
            'restored',
            `a copy of ${timeHtml(copy.takenAt)}; not looked for since by ${html(copy.jobs.join(', ') || 'no job')}`,
          ] as const,
        ]),
  ]
}

function locksSection(locks: readonly Lock[] | undefined): string {
  if (locks === undefined) return ''
  return `<section id="locks"><h2>Locks <span>jobs that a run holds</span></h2>
${
  locks.length === 0
    ? '<p class="none">No run holds a job.</p>'
    : table({
        label: 'Locks',
        columns: words('job', 'run', 'process', 'since', 'waiting'),
        lines: locks.map(({ job, run, activity, waiter }) => [
          html(job),
          runLink(run),
          activity.kind === 'under-way'
            ? html(activity.owner)
            : `gone${activity.owner === undefined ? '' : `: ${html(activity.owner)}`}; the next run takes over`,
          timeHtml(Date.parse(activity.kind === 'under-way' ? activity.since : activity.lastSign)),
          html(waiter ?? 'nobody'),
        ]),
        kind: 'rows blocks',
      })
}</section>`
}

function noticesSection(work: OpenWork, mayAct: boolean): string {
  const notices = work?.undelivered ?? []
  return `<section id="notices"><h2>Notices not delivered</h2>
${
  notices.length === 0
    ? `<p class="none">${work === undefined ? 'Unknown: there is no ledger, or it cannot be read.' : 'None.'}</p>`
    : table({
        label: 'Notices not delivered',
        columns: words('job', 'target', 'notices', 'state', 'since', 'error', ...(mayAct ? ['action'] : [])),
        lines: notices.map(({ job, target, count, state, since, error }) => [
          html(job),
          html(target),
          n(count),
          state === 'given-up' ? '× given up' : '… waiting',
          timeHtml(since),
          html(error ?? 'never tried'),
          ...(mayAct
            ? [actsHtml([{ to: actionPath('notify', { job }), words: 'Send again', of: `${job} ${target}` }])]
            : []),
        ]),
        kind: 'rows blocks',
      })
}</section>`
}

function auditSection(records: Awaited<ReturnType<typeof readAudit>> | undefined): string {
  if (records === undefined) return ''
  const shown = records.slice(-AUDIT_SHOWN).reverse()
  return `<section id="audit"><h2>Audit <span>${records.length > shown.length ? `the latest ${n(shown.length)} of ${n(records.length)} actions; all: <code>waybill audit</code>` : 'actions of people, newest first'}</span></h2>
${
  shown.length === 0
    ? '<p class="none">Nobody has acted yet.</p>'
    : foldedTable(
        {
          label: 'Audit',
          columns: words('at', 'by', 'action', 'of', 'why'),
          lines: shown.map(({ at, by, action, job, run, subject, note }) => [
            timeHtml(at),
            html(by),
            html(action),
            [run === null ? html(job ?? '') : runLink(run), html(subject ?? '')].join(' '),
            html(note ?? ''),
          ]),
          kind: 'rows blocks',
        },
        AUDIT_UNFOLDED,
        'earlier actions',
      )
}</section>`
}
