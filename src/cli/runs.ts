/** `waybill runs`, `show`, `trace`, `logs`, `report`. */
import { open } from 'node:fs/promises'
import { relative, resolve } from 'node:path'
import { EXIT, WaybillError } from '../model/errors.ts'
import { traceExportRow, trace as traceRecord } from '../runs/actions.ts'
import { reportOf } from '../runs/installation.ts'
import { type ListedRuns, listRuns, logOfRun, type RunQuestion, showRun } from '../runs/listed-runs.ts'
import {
  type Trace,
  type TracedOrigin,
  type TracedPerson,
  type TracedRow,
  tracePerson,
} from '../runs/trace.ts'
import type { Since } from '../runs/typed-words.ts'
import { isReportOf } from '../story/report/report-page.ts'
import { runsTable, waitingLines } from '../story/terminal.ts'
import { writeOwn } from '../system/own-files.ts'
import { counted, n, shownPath } from '../system/shown-text.ts'
import { fittedTable } from '../system/text-table.ts'
import { logLineText } from '../telemetry/logger.ts'
import { print } from './command-form.ts'
import type { Action } from './commands.ts'
import { printRun } from './display.ts'

const runs: Action<'runs'> = async (context, { json, since, ...question }) => {
  const listed = await listRuns(context, { ...question, since: since?.(context.now()) })
  const { runs } = listed
  if (json) context.out(JSON.stringify(listed))
  else if (runs.length > 0)
    context.out([
      ...runsTable(runs, context.now(), context.columns),
      ...waitingLines(runs),
      ...pagesLine(listed),
    ])
  else context.out(listed.total > 0 ? pagesLine(listed) : nothingListed(question, since))
  return EXIT.ok
}

/** Says which page is shown; empty if all runs are shown. */
function pagesLine({ runs, total, page, pages }: ListedRuns): string[] {
  if (runs.length === total) return []
  const next = page < pages ? `; the next: --page ${page + 1}` : ''
  return [`${n(runs.length)} of ${counted(total, 'run')}, page ${n(page)} of ${n(pages)}${next}`]
}

function nothingListed({ job, failed, state }: Omit<RunQuestion, 'since'>, since: Since | undefined): string {
  const of = job === undefined ? '' : ` of ${job}`
  if (state !== undefined || since !== undefined) return `There are no matching runs${of}.`
  return failed
    ? `No run${of} failed or left anything behind.`
    : `There are no runs${of} yet. Start one with: waybill run ${job ?? 'JOB'}`
}

const show: Action<'show'> = async (context, { run, reason, values, json }) => {
  if (reason !== undefined) {
    const { showReason } = await import('./listings.ts')
    return showReason(context, { run, reason, values, json })
  }
  if (values) throw new WaybillError('usage-wrong', '--values needs --reason')
  printRun(context, await showRun(context, run), json)
  return EXIT.ok
}

const trace: Action<'trace'> = async (context, { transaction, row, person, json }) => {
  if ([transaction, row, person].filter((one) => one !== undefined).length !== 1)
    throw new WaybillError(
      'usage-wrong',
      'give one of: a transaction id, a row with --row EXPORT:17, a person with --person REFERENCE',
    )
  const { columns } = context
  if (transaction !== undefined) print(context, json, await traceRecord(context, transaction), traceText)
  else if (row !== undefined)
    print(context, json, await traceExportRow(context, row.name, row), (traced) => rowText(traced, columns))
  else if (person !== undefined)
    print(context, json, await tracePerson(context, person), (traced) => personText(traced, columns))
  return EXIT.ok
}

const RECORD_HEAD = ['rule', 'outcome', 'run', 'reason', 'transaction']

const recordCells = ({ rule, outcome, run, reason, transactionId }: TracedRow['records'][number]) => [
  rule ?? '(row)',
  outcome,
  run,
  reason?.code ?? '',
  transactionId ?? '',
]

function personText({ rows, unread }: TracedPerson, columns: number | undefined): string[] {
  const lines = rows.flatMap(({ export: name, row, records }) =>
    records.map((record) => [name, n(row), ...recordCells(record)]),
  )
  return [
    lines.length === 0
      ? 'No remaining export has sent or rejected a record of this person.'
      : 'For details of a record: waybill trace TRANSACTION',
    ...(lines.length === 0 ? [] : fittedTable(['export', 'row', ...RECORD_HEAD], lines, 1, columns)),
    ...unread.map(({ export: name, why }) => `Not searched: ${name}: ${why}`),
  ]
}

function rowText({ export: name, row, records }: TracedRow, columns: number | undefined): string[] {
  return [
    `Row ${n(row)} of ${name}; for details of a record: waybill trace TRANSACTION`,
    ...fittedTable(RECORD_HEAD, records.map(recordCells), 'none', columns),
  ]
}

const placeIn = ({ sheet, line, byteOffset }: TracedOrigin): string =>
  sheet === undefined ? `line ${line}, byte ${byteOffset}` : `row ${line} of the sheet ${sheet}`

function traceText(traced: Trace): string[] {
  const { origin, export: found } = traced
  const lines = [
    `Transaction  ${traced.transactionId}`,
    `Export       ${found.name} (SHA-256 ${found.sha256})`,
    origin === undefined
      ? `Row          ${traced.row} (the file is no longer at ${shownPath(found.path)}, or has changed: line unknown)`
      : `Row          ${traced.row}, ${placeIn(origin)} of ${shownPath(found.path)}`,
    `Rule         ${traced.rule}`,
  ]
  for (const { run, chunk, outcome, batches, decisions, reason } of traced.runs) {
    lines.push('', `Run          ${run}, chunk ${chunk}: ${outcome}`)
    for (const batch of batches) {
      const answer =
        batch.answer === null
          ? 'no answer yet'
          : `${batch.answer}${batch.status === null ? '' : `, HTTP ${batch.status}`}`
      lines.push(
        `  Batch      ${batch.batchId}: ${batch.state}, ${batch.attempts === 1 ? '1 try' : `${batch.attempts} tries`}, ${answer}`,
      )
      lines.push(
        `             begun ${batch.begunAt}${batch.settledAt === null ? '' : `, settled ${batch.settledAt}`}`,
      )
    }
    if (reason !== undefined) lines.push(`  Reason     ${reason.code} (${reason.stage}): ${reason.message}`)
    for (const { event, run: by, by: person, note, at } of decisions) {
      const who = person === undefined ? '' : `, by ${person}`
      const why = note === undefined ? '' : `: ${note}`
      lines.push(`  Decided    ${at}: ${event}${by === null ? '' : `, run ${by}`}${who}${why}`)
    }
  }
  for (const { run, at } of traced.pruned) lines.push('', `Run          ${run}: pruned on ${at.slice(0, 10)}`)
  return lines
}

const logs: Action<'logs'> = async (context, { run, json }) => {
  if (json === true) {
    context.out(JSON.stringify({ lines: await Array.fromAsync(logOfRun(context, run)) }))
    return EXIT.ok
  }
  let found = false
  for await (const { run: _run, ...line } of logOfRun(context, run)) {
    found = true
    context.out(logLineText(line))
  }
  if (!found)
    context.out(
      'The log has no lines of this run: the run started without a log file, or the lines are gone.',
    )
  return EXIT.ok
}

const report: Action<'report'> = async (context, options) => {
  const { run, page } = await reportOf(context, options.run)
  const file = resolve(options.out ?? `${run}.html`)
  await writeReport(file, run, page)
  const written = { run, file, bytes: Buffer.byteLength(page) }
  const words = `Wrote ${relative('.', file)}: the report of run ${run}, without health data.`
  print(context, options.json, written, () => words)
  return EXIT.ok
}

/** Replaces only an earlier report of the same run. @throws `usage-wrong` */
async function writeReport(file: string, run: string, page: string): Promise<void> {
  const there = await beginningOf(file)
  if (there !== undefined && !isReportOf(there, run))
    throw new WaybillError('usage-wrong', `${file} exists already, and is not a report of run ${run}`, {
      place: { file },
      remedy: 'Name another file with --out.',
    })
  writeOwn(file, page)
}

/** First bytes of a file; undefined for none; empty for an unreadable file, which is no report. */
async function beginningOf(file: string): Promise<string | undefined> {
  const handle = await open(file).catch((error: NodeJS.ErrnoException) => error.code)
  if (handle === 'ENOENT') return undefined
  if (typeof handle !== 'object') return ''
  try {
    const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(2048), position: 0 })
    return buffer.toString('utf8', 0, bytesRead)
  } catch {
    return ''
  } finally {
    await handle.close()
  }
}

export const actions = { runs, show, trace, logs, report }
