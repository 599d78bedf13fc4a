/** A run's summary for people: the balance as a table, reasons for rejects, places of files, commands for the next steps. */

import { type Reason, wordsOf } from '../ledger/ledger.ts'
import { allRecords, balanceWords, type CodeCount, kindsShown, type PeopleCounts } from '../model/balance.ts'
import { EXIT } from '../model/errors.ts'
import { KIND_NAMES } from '../model/record.ts'
import { BUILT_IN } from '../system/settings.ts'
import { counted, type Line, n, shownPath, type Tone, toned } from '../system/shown-text.ts'
import { ageText, fittedTable, folded, tonedRows } from '../system/text-table.ts'
import { toLookAt } from '../watch/drift-watch.ts'
import { failedExports, mostLeftFirst, notDelivered, settledShare, troubleOf } from './balance.ts'
import { nextSteps, stepLines } from './next-steps.ts'
import { DRIFT_SHOWN, largestFirst, type MergedReason, mergeReasons } from './reasons.ts'
import type { ExportSummary, ListedRun, RunSummary } from './run-story.ts'
import {
  accountsWords,
  because,
  CORRECTED,
  codeCountWords,
  driftCounts,
  knownWords,
  leftBehindWords,
  owedNote,
  partsCells,
  prunedNote,
  rowsWords,
  toSecond,
  unjudgedNote,
  waitsLines,
  waitsText,
  workedWords,
} from './words.ts'

/** @param columns of the terminal; undefined to fit nothing to a width */
export function summaryText(summary: RunSummary, reasons: readonly Reason[], columns?: number): string[] {
  const { rows, records, accounts, requests, primaryCare, careTeams } = summary
  const lines = [
    '',
    `Run ${summary.run} of ${summary.job}: ${whatItCameTo(summary)}, ${summary.people === undefined ? 'sent to' : 'collected from'} ${summary.gateway}`,
    ...whyLines(summary),
    ...builtInLine(summary),
    '',
    ...(nothingSettled(summary) ? [] : [...exportsTable(summary, columns), '']),
    ...partsTable(summary, columns),
    ...(nothingSettled(summary)
      ? [`Rows     ${unsettledWords(summary)}`]
      : [
          `Rows     ${rowsWords(rows)}${rows.corrected === 0 ? '' : `; ${n(rows.corrected)} ${CORRECTED}`}`,
          ...(summary.people === undefined ? recordsTable(records, columns) : [peopleLine(summary.people)]),
        ]),
    ...leftOutLine(summary.leftOut),
    ...warningsLine(summary.warnings),
    balanceWords(summary),
    '',
    `Accounts ${accountsWords(accounts)}; ${counted(primaryCare.marked, 'primary care physician')} marked` +
      (primaryCare.unmarked === 0 ? '' : `, ${n(primaryCare.unmarked)} unmarked`) +
      (careTeams.replaced === 0 ? '' : `; ${counted(careTeams.replaced, 'care team')} replaced`) +
      (careTeams.removed === 0
        ? ''
        : `; ${counted(careTeams.removed, 'care team')} deleted, no longer listed`),
    ...owedNote(summary).map((owed) => `Owed     ${owed}`),
    ...unjudgedNote(summary).map((kept) => `Kept     ${kept}`),
    `Requests ${n(requests.sent)} sent, ${counted(requests.retried, 'retry', 'retries')}; ${counted(requests.readBack, 'read')} of profiles`,
  ]
  lines.push(...collectionLines(summary))
  lines.push(...relatedRuns(summary))
  lines.push(...driftLines(summary.drift, columns))
  const known = leftBehindWords(summary).map((words) => `New      ${words}`)
  if (reasons.length > 0) lines.push('', ...known, ...reasonsTable(reasons, columns))
  const files = writtenFiles(summary)
  if (files.length > 0) lines.push('', ...files)
  lines.push(...untoldLine(summary))
  const next = stepLines(nextSteps(summary, reasons))
  if (next.length > 0) lines.push('', 'Next', ...next)
  else if (toLookAt(summary.drift).length > 0)
    lines.push('', 'If the differences are intended, nothing is left to do. Ask the vendor.')
  else if (summary.pruned === undefined) lines.push('', 'Nothing is left to do.')
  return lines
}

/** The summary for a terminal, with the result of the run in colour. */
export const summaryLines = (...given: Parameters<typeof summaryText>): Line[] =>
  toned(folded(summaryText(...given), given[2]), toneOf(given[0]))

/** Tone for the exit code of a run; `attention` for a run without exit code. */
const toneOf = ({ exit }: { readonly exit?: number | undefined }): Tone =>
  exit === EXIT.ok ? 'good' : exit === undefined || exit === EXIT.recordsLeftBehind ? 'attention' : 'bad'

/** Failed notifications: `Unsent   webhook hooks.example (the webhook answered 404; retried later)` */
function untoldLine({ untold = [] }: RunSummary): string[] {
  const words = untold.map(({ target, state, error }) => {
    const then = state === 'pending' ? (error === undefined ? 'on its way' : 'retried later') : 'given up'
    return `${target} (${[...(error === undefined ? [] : [error]), then].join('; ')})`
  })
  return words.length === 0 ? [] : ['', `Unsent   ${words.join(', ')}`]
}

/** State of a run in words. A run in state `running` is under way, or its process was killed. */
function whatItCameTo(summary: RunSummary): string {
  const { state, reason, activity, startedAt, exit } = summary
  if (activity?.kind === 'under-way') {
    const taken = activity.since.slice(0, 19) === startedAt.slice(0, 19)
    const since = taken ? '' : `, resumed at ${toSecond(activity.since)}`
    return `under way since ${toSecond(startedAt)}${since}, by process ${activity.owner}`
  }
  if (activity?.kind === 'stopped') {
    const who = activity.owner === undefined ? 'its process' : `its process ${activity.owner}`
    return `stopped; ${who} has ended, last heartbeat at about ${toSecond(activity.lastSign)}`
  }
  const code = exit === undefined ? '' : `, exit code ${exit}`
  return `${state}${because(reason)}${code}, after ${workedWords(summary)} at work`
}

/** True for a run whose table of exports would have only zeros. */
const nothingSettled = (summary: RunSummary): boolean =>
  summary.rows.read === 0 && failedExports(summary).length === 0

const unsettledWords = ({ exports: [first, ...others] }: RunSummary): string => {
  if (first === undefined) return 'no export was read'
  return `none of ${others.length === 0 ? first.name : counted(others.length + 1, 'export')} is settled`
}

/** Warns that the built-in gateway is no delivery. */
const builtInLine = ({ gateway }: RunSummary): string[] =>
  gateway === BUILT_IN
    ? ['Stand-in The built-in gateway is on this machine: nothing was delivered, and no export is archived.']
    : []

/** Reason for a wait, or for the end of a run. */
function whyLines({ activity, detail }: RunSummary): string[] {
  if (activity?.kind === 'under-way') return activity.waits === undefined ? [] : waitsLines(activity.waits)
  return detail === undefined ? [] : [`Because  ${detail}`]
}

/** One line on parts that the mapping leaves out on purpose; empty for none. */
export const leftOutLine = (leftOut: readonly CodeCount[]): string[] =>
  leftOut.length === 0 ? [] : [`Left out ${codeCountWords(leftOut)}`]

/** One line on warnings; empty for none. */
export const warningsLine = (warnings: readonly CodeCount[]): string[] =>
  warnings.length === 0 ? [] : [`Warnings ${codeCountWords(warnings)}`]

/** Differences of exports from earlier deliveries; for many, the counts and the largest differences. */
export function driftLines(drift: RunSummary['drift'], columns?: number): string[] {
  if (drift.length === 0) return []
  const rows = largestFirst(drift)
    .slice(0, DRIFT_SHOWN)
    .map(({ level, export: name, measure, message }) => [level, name, measure, message])
  const rest = drift.length - rows.length
  return [
    '',
    ...(rest > 0 ? [`Drift    ${driftCounts(drift)}. The largest:`] : []),
    ...fittedTable(['drift', 'export', 'what', 'differs'], rows, 'none', columns),
    ...(rest > 0 ? [`  and ${n(rest)} more; --json lists all of them`] : []),
  ]
}

const peopleLine = ({ asked, ...became }: PeopleCounts): string => {
  const parts = Object.entries(became).map(([what, count]) => `${what} ${n(count)}`)
  return `People   asked ${n(asked)} = ${parts.join(' + ')}`
}

/** Place of a collection: its folder, or the folder aside until the run has ended. */
function collectionLines({ collection }: RunSummary): string[] {
  if (collection === undefined) return []
  const { folder, aside, files, isWhole } = collection
  const place = aside === undefined ? shownPath(folder) : folder
  const words = Object.entries(files).map(([name, { lines }]) => `${name} (${counted(lines, 'line')})`)
  return isWhole
    ? ['', `Collected ${place}: ${words.join(', ')}; manifest.json has sizes and SHA-256`]
    : [
        '',
        `Collected so far ${words.join(', ')}; moved into place at the end of the run: ${place}`,
        ...(aside === undefined ? [] : [`Until then in ${shownPath(aside)}`]),
      ]
}

function recordsTable(records: RunSummary['records'], columns: number | undefined): string[] {
  if (allRecords({ records }).made === 0) return ['Records  none']
  const rows = kindsShown({ records }).map((kind) => {
    const { made, accepted, rejected, unchanged, inDoubt, pending } = records[kind]
    return [KIND_NAMES[kind], ...[made, accepted, rejected, unchanged, inDoubt, pending].map(n)]
  })
  return fittedTable(
    ['records', 'made', 'accepted', 'rejected', 'unchanged', 'in doubt', 'pending'],
    rows,
    'rest',
    columns,
  )
}

const SHOWN = 12

/** Table of exports. Of many, shows those with most left behind, and counts the others. */
function exportsTable({ exports }: Pick<RunSummary, 'exports'>, columns: number | undefined): string[] {
  if (exports.length <= SHOWN) return tableOf(exports, false, columns)
  const left = mostLeftFirst(exports).filter((one) => troubleOf(one) > 0)
  const clean = exports.length - left.length
  const shown = left.slice(0, SHOWN)
  const rest = [
    ...(left.length > SHOWN ? [`${n(left.length - SHOWN)} more with something left behind`] : []),
    ...(clean > 0 ? [`${n(clean)} with nothing left behind`] : []),
  ]
  return [
    `${counted(exports.length, 'export')}, ${n(left.length)} of them with something left behind${shown.length === 0 ? '' : ':'}`,
    ...(shown.length === 0 ? [] : tableOf(shown, true, columns)),
    ...(shown.length === 0 || rest.length === 0
      ? []
      : [`  and ${rest.join(', ')}; --json lists all of them`]),
  ]
}

const HEAD = ['export', 'state', 'rows', 'mapped', 'skipped', 'rejected']

/** @param withRecords adds a column of records: they alone may put an export among those with something left behind */
function tableOf(
  exports: readonly ExportSummary[],
  withRecords: boolean,
  columns: number | undefined,
): string[] {
  const head = withRecords ? [...HEAD, 'records not delivered'] : HEAD
  const rows = exports.map(({ name, counts, state, error }) => {
    const { read, mapped, skipped, rejected } = counts.rows
    const numbers = [read, mapped, skipped, rejected, ...(withRecords ? [notDelivered(counts)] : [])].map(n)
    return [name, error === undefined ? state : `${state}: ${error}`, ...numbers]
  })
  return fittedTable(head, rows, { from: 2, to: head.length }, columns)
}

/** Table of the parts of an export that workers read together. An export after another: at most one is open. */
function partsTable({ exports }: Pick<RunSummary, 'exports'>, columns: number | undefined): string[] {
  const { parts = [] } = exports.find((one) => one.parts !== undefined) ?? {}
  if (parts.length === 0) return []
  const { head, lines } = partsCells(parts)
  return [...fittedTable(head, lines, { from: 2, to: 4 }, columns), '']
}

/** Files of a run; of many files of rejects only the folder. */
function writtenFiles({ exports, files }: Pick<RunSummary, 'exports' | 'files'>): string[] {
  const rejects = exports.flatMap((one) => one.rejects ?? [])
  const { rejects: folder, receipts } = files
  return [
    ...(rejects.length > SHOWN && folder !== undefined
      ? [`Rejects  ${shownPath(folder)}: ${counted(rejects.length, 'file')}`]
      : rejects.map((file) => `Rejects  ${shownPath(file)}`)),
    ...(receipts === undefined ? [] : [`Receipts ${shownPath(receipts)}`]),
  ]
}

const REASONS_SHOWN = 15

const RULES_NAMED = 3

/** Most exports to name in a line. Of more, one is named, as a name may fill a line. */
const EXPORTS_NAMED = 2

/** Table of reasons, most frequent first. */
function reasonsTable(reasons: readonly Reason[], columns: number | undefined): string[] {
  const merged = mergeReasons(reasons)
  const rows = merged
    .slice(0, REASONS_SHOWN)
    .map((one) => [n(one.count), outcomeOf(one), one.code, rulesOf(one), exportsOf(one), wordsOf(one)])
  const head = ['count', 'outcome', 'reason', 'rule', 'export', 'message']
  const table = fittedTable(head, rows, 1, columns)
  const rest = merged.slice(REASONS_SHOWN).reduce((sum, { count }) => sum + count, 0)
  const more = `${n(rest)} more for ${counted(merged.length - REASONS_SHOWN, 'other reason')}`
  return rest === 0 ? table : [...table, `  and ${more}; --json lists all of them`]
}

/** `rejected, 20 known since 2026-11-19, 3 settled`. */
function outcomeOf({ outcome, settled, count, ...known }: MergedReason): string {
  return [
    settled === count ? 'settled' : outcome,
    ...knownWords(known),
    ...(settled === 0 || settled === count ? [] : [`${n(settled)} settled`]),
  ].join(', ')
}

const rulesOf = ({ rules }: MergedReason): string =>
  rules.length > RULES_NAMED ? `${rules.length} rules` : rules.map((rule) => rule ?? '(row)').join(', ')

const exportsOf = ({ exports }: MergedReason): string =>
  exports.length > EXPORTS_NAMED
    ? `${exports[0]} and ${n(exports.length - 1)} more exports`
    : exports.join(', ')

/** Related runs and decisions: the run whose rejects this run retries, decisions of people, later runs that settled its own rejects. */
function relatedRuns(summary: RunSummary): string[] {
  const { origin, backfill, settled = [], decided = [] } = summary
  const { settled: count, rejected } = settledShare(summary)
  const shares = settled.map((one) => `${n(one.count)} by run ${one.run}`).join(', ')
  return [
    ...(backfill === undefined ? [] : [`A backfill of the exports of ${backfill.from} to ${backfill.to}.`]),
    ...(origin === undefined ? [] : [`Retries what run ${origin.run} left behind.`]),
    ...decided.map(
      ({ decision, code, by, note, at }) =>
        `Decided at ${toSecond(at)} by ${by}: ${decision}${code === undefined ? '' : ` ${code}`}${note === undefined ? '' : `. ${note}`}`,
    ),
    ...summary.exports.flatMap(({ name, putAside: aside }) =>
      aside === undefined
        ? []
        : [
            `${name} was put aside by ${aside.by} at ${toSecond(aside.at)}${aside.note === undefined ? '' : `. ${aside.note}`}`,
          ],
    ),
    ...(count === 0 ? [] : [`Settled since: ${n(count)} of ${n(rejected)} rejected, ${shares}.`]),
    ...prunedNote(summary),
  ]
}

const LIST_HEAD =
  'run,age,job,state,exit,rejected,in doubt,most frequent reason,rows,accepted,unchanged,balance,drift,see also'

/** Exit code and counts. */
const OF_NUMBERS = [4, 5, 6, 8, 9, 10]

/** @param columns of the terminal; undefined to fit nothing to a width */
export function runsTable(listed: readonly ListedRun[], now: number, columns: number | undefined): Line[] {
  const rows = listed.map((one) => {
    const { accepted, unchanged, inDoubt } = allRecords(one)
    return [
      one.run,
      ageText(now - Date.parse(one.startedAt)),
      one.job,
      stateText(one),
      one.exit === undefined ? '' : String(one.exit),
      n(settledShare(one).rejected),
      n(inDoubt),
      reasonText(one),
      ...[one.rows.read, accepted, unchanged].map(n),
      one.balanced ? (one.soFar ? 'so far' : 'yes') : 'NO',
      driftText(one),
      relatedText(one),
    ]
  })
  const tones = listed.map((one): [string, Tone] => [one.run, toneOf(one)])
  return tonedRows(fittedTable(LIST_HEAD.split(','), rows, OF_NUMBERS, columns), new Map(tones))
}

/** Waits for the gateway, below the list. */
export const waitingLines = (listed: readonly ListedRun[]): string[] =>
  listed.flatMap(({ run, activity }) =>
    activity?.kind === 'under-way' && activity.waits !== undefined
      ? [`Run ${run} ${waitsText(activity.waits)}`]
      : [],
  )

function stateText({ state, reason, activity }: ListedRun): string {
  if (activity?.kind === 'stopped') return 'stopped'
  if (activity !== undefined) return activity.waits === undefined ? 'under way' : 'waiting'
  return `${state}${because(reason)}`
}

function reasonText(one: ListedRun): string {
  const { mostFrequent } = one
  // A failed export is settled once a later run of the job has read the file.
  const failed = failedExports(one).filter(({ readSince }) => readSince === undefined)
  const byCode = Map.groupBy(failed, ({ error }) => error)
  const codes = [...byCode].map(([code, all]) => (byCode.size === 1 ? code : `${code} ${n(all.length)}`))
  const count = failed.length
  return [
    ...(mostFrequent === undefined ? [] : [`${mostFrequent.code} ${n(mostFrequent.count)}`]),
    ...(count === 0 ? [] : [`${counted(count, 'export')} failed (${codes.join(', ')})`]),
  ].join('; ')
}

/** Differences of exports that were delivered: `b1.csv: rows, skipped`. */
function driftText({ drift }: ListedRun): string {
  const found = toLookAt(drift)
  const exports = new Set(found.map((one) => one.export))
  if (exports.size === 0) return ''
  const which = exports.size === 1 ? [...exports].join() : counted(exports.size, 'export')
  return `${which}: ${[...new Set(found.map(({ measure }) => measure))].join(', ')}`
}

/** Run whose rejects this run retries, and share of its own rejects settled by later runs. */
function relatedText(one: ListedRun): string {
  const { origin, settled = [] } = one
  const { settled: count, rejected } = settledShare(one)
  const share = count === rejected ? 'all' : `${n(count)} of ${n(rejected)}`
  return [
    ...(origin === undefined ? [] : [`retries ${origin.run}`]),
    ...(count === 0 ? [] : [`${share} settled by ${settled.map(({ run }) => run).join(', ')}`]),
  ].join('; ')
}
