/** System: what `waybill doctor` finds, and the size of what is kept. */
import { exitOf, type Level } from '../operate/finding.ts'
import { type Application, lastBackupAt, ledgerFile, withLedgerIfAny } from '../runs/application.ts'
import { type Looking, lookOver } from '../runs/look-over.ts'
import { table, words } from '../story/report/figures.ts'
import { freeBytes, lookAt } from '../system/own-files.ts'
import { counted, html, sizeText } from '../system/shown-text.ts'
import { ageText } from '../system/text-table.ts'
import { codeHtml, type Page, timeHtml } from './layout.ts'

const MARKS: Readonly<Record<Level, string>> = { ok: '✓', warning: '!', problem: '×' }

export async function systemPage(application: Application, looking: Looking): Promise<Page> {
  const findings = await lookOver(application, looking)
  const [problems = 0, warnings = 0] = (['problem', 'warning'] as const).map(
    (wanted) => findings.filter(({ level }) => level === wanted).length,
  )
  const verdict =
    problems + warnings === 0
      ? 'All is well'
      : `${counted(problems, 'problem')}, ${counted(warnings, 'warning')}`
  return {
    title: `System: ${verdict}`,
    json: { exit: exitOf(findings), findings },
    body: `<h1>System: ${verdict}</h1>
<section id="kept"><h2>What is kept</h2>
<dl class="facts">${(await keptFacts(application)).map(([name, said]) => `<dt>${name}</dt><dd>${said}</dd>`).join('')}</dl></section>
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

/** Names and HTML. */
async function keptFacts(application: Application): Promise<readonly (readonly [string, string])[]> {
  const { settings, now } = application
  const { home } = settings
  if (lookAt(home) === undefined) return [['home', `${html(home)} does not exist yet`]]
  const size = lookAt(ledgerFile(application))?.size
  const backup = await lastBackupAt(home)
  // A ledger that cannot be opened is among the findings.
  const waiting = await withLedgerIfAny(
    application,
    async (ledger) => (await ledger?.overview.openWork(now()))?.undelivered ?? [],
  ).catch(() => undefined)
  return [
    ['home', html(home)],
    ['ledger', size === undefined ? 'none yet' : sizeText(size)],
    ['free on the disk', sizeText(freeBytes(home))],
    [
      'latest backup',
      backup === undefined ? 'none known' : `${timeHtml(backup)} (${html(ageText(now() - backup))})`,
    ],
    [
      'notices not delivered',
      waiting === undefined
        ? 'unknown'
        : waiting.length === 0
          ? 'none'
          : waiting
              .map(({ job, target, count, error }) =>
                html(
                  `${counted(count, 'notice')} of ${job} to ${target}${error === null ? '' : `: ${error}`}`,
                ),
              )
              .join('<br>'),
    ],
  ]
}
