/** A run's summary for people: the balance as a table, reasons for rejects, places of files, commands for the next steps. */

import { type CommandContext, say } from '../cli/command-form.ts'
import { fitLines } from '../cli/fit-text.ts'
import { toSecond, waitsLines } from '../cli/run-reporter.ts'
import { describeError, fittedTable, folded, plainTable } from '../cli/terminal-text.ts'
import { wordsOf } from '../ledger/concerns.ts'
import type { Reason } from '../ledger/ledger.ts'
import { allRecords, balanceWords, type CodeCount, kindsShown, type PeopleCounts } from '../model/balance.ts'
import { EXIT } from '../model/errors.ts'
import { KIND_NAMES, PROFILE_KINDS } from '../model/record.ts'
import type { DryRunResult } from '../runs/actions.ts'
import type { ShownRun } from '../runs/listed-runs.ts'
import type { NewReasons } from '../runs/new-reasons.ts'
import type { SampleSize, Verified } from '../runs/verify.ts'
import { BUILT_IN } from '../system/settings.ts'
import { counted, type Line, n, shownPath, type Tone, toned } from '../system/shown-text.ts'
import type { ExportDrift } from '../watch/drift.ts'
import type { ExportSummary, RunSummary } from './facts.ts'
import { knownWords, leftBehindWords, owedWords, unjudgedWords } from './known.ts'
import { nextSteps, stepLines, toLookAt } from './next-steps.ts'
import { codeCountWords, mostLeftFirst, notDelivered, troubleOf } from './report/kinds-section.ts'
import {
  DRIFT_SHOWN,
  driftCounts,
  largestFirst,
  type MergedReason,
  mergeReasons,
} from './report/reasons-section.ts'

/** @param columns of the terminal; undefined to fit nothing to a width */
export function summaryText(summary: RunSummary, reasons: readonly Reason[], columns?: number): string[] {
  const { rows, records, accounts, requests, primaryCare, careTeams } = summary
  const lines = [
    '',
    `Run ${summary.run} of ${summary.job}: ${whatItCameTo(summary)}, ${summary.people === undefined ? 'sent to' : 'collected from'} ${summary.gateway}`,
    ...whyLines(summary),
    ...standInLine(summary),
    '',
    ...(nothingSettled(summary) ? [] : [...exportsTable(summary, columns), '']),
    ...(nothingSettled(summary)
      ? [`Rows     none${exportWords(summary)} is settled`]
      : [
          `Rows     read ${n(rows.read)} = mapped ${n(rows.mapped)} + skipped ${n(rows.skipped)} + rejected ${n(rows.rejected)}` +
            (rows.corrected === 0 ? '' : `; ${n(rows.corrected)} with a known key and other content`),
          ...(summary.people === undefined ? recordsTable(records) : [peopleLine(summary.people)]),
        ]),
    ...leftOutLine(summary.leftOut),
    ...warningsLine(summary.warnings),
    balanceWords(summary),
    '',
    `Accounts ${n(accounts.registered)} registered, ${n(accounts.known)} known, ${n(accounts.refused)} refused; ${counted(primaryCare.marked, 'primary care physician')} marked` +
      (primaryCare.unmarked === 0 ? '' : `, ${n(primaryCare.unmarked)} unmarked`) +
      (careTeams.replaced === 0 ? '' : `; ${counted(careTeams.replaced, 'care team')} replaced`) +
      (careTeams.removed === 0
        ? ''
        : `; ${counted(careTeams.removed, 'care team')} deleted, no longer listed`),
    ...owedLine(summary),
    ...unjudgedLine(summary),
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
  toned(folded(summaryText(...given), given[2]), 1, toneOf(given[0]))

/** Prints a run as `waybill show` does. */
export const sayRun = (
  context: CommandContext,
  { summary, reasons }: ShownRun,
  json: true | undefined,
): void => say(context, json, { ...summary, reasons }, () => summaryLines(summary, reasons, context.columns))

/** Tone for the exit code of a run; `attention` for a run without exit code. */
export const toneOf = ({ exit }: { readonly exit?: number | undefined }): Tone =>
  exit === EXIT.ok ? 'good' : exit === undefined || exit === EXIT.recordsLeftBehind ? 'attention' : 'bad'

/** Work still to do for stored records. */
function owedLine(summary: RunSummary): string[] {
  const owed = owedWords(summary)
  return owed === undefined ? [] : [`Owed     ${owed}: the next run does it`]
}

function unjudgedLine({ careTeams: { unjudged } }: RunSummary): string[] {
  return unjudged === 0 ? [] : [`Kept     ${unjudgedWords(unjudged)}`]
}

/** Failed notifications: `Unsent   webhook hooks.example (the webhook answered 404; retried later)` */
function untoldLine({ untold = [] }: RunSummary): string[] {
  const words = untold.map(({ target, state, error }) => {
    const then = state === 'pending' ? (error === undefined ? 'on its way' : 'retried later') : 'given up'
    return `${target} (${[...(error === undefined ? [] : [error]), then].join('; ')})`
  })
  return words.length === 0 ? [] : ['', `Unsent   ${words.join(', ')}`]
}

/** State of a run in words. A run in state `running` is under way, or its process was killed. */
function whatItCameTo({ state, reason, activity, durationMs, startedAt, exit }: RunSummary): string {
  if (activity?.kind === 'under-way') {
    const taken = activity.since.slice(0, 19) === startedAt.slice(0, 19)
    const since = taken ? '' : `, resumed at ${toSecond(activity.since)}`
    return `under way since ${toSecond(startedAt)}${since}, by process ${activity.owner}`
  }
  if (activity?.kind === 'stopped') {
    const who = activity.owner === undefined ? 'its process' : `its process ${activity.owner}`
    return `stopped; ${who} has ended, last heartbeat at about ${toSecond(activity.lastSign)}`
  }
  const why = reason === undefined ? '' : ` (${reason})`
  const code = exit === undefined ? '' : `, exit code ${exit}`
  return `${state}${why}${code}, after ${(durationMs / 1000).toFixed(1)} s at work`
}

/** True for a run whose table of exports would have only zeros. */
const nothingSettled = ({ rows, exports }: RunSummary): boolean =>
  rows.read === 0 && exports.every(({ error }) => error === undefined)

const exportWords = ({ exports: [first, ...others] }: RunSummary): string => {
  if (first === undefined) return ''
  return ` of ${others.length === 0 ? first.name : counted(others.length + 1, 'export')}`
}

/** Warns that the built-in gateway is no delivery. */
const standInLine = ({ gateway }: RunSummary): string[] =>
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
const warningsLine = (warnings: readonly CodeCount[]): string[] =>
  warnings.length === 0 ? [] : [`Warnings ${codeCountWords(warnings)}`]

/** Differences of exports from earlier deliveries; for many, the counts and the largest differences. */
export function driftLines(drift: readonly ExportDrift[], columns?: number): string[] {
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

function recordsTable(records: RunSummary['records']): string[] {
  if (allRecords({ records }).made === 0) return ['Records  none']
  const rows = kindsShown({ records }).map((kind) => {
    const { made, accepted, rejected, unchanged, inDoubt, pending } = records[kind]
    return [KIND_NAMES[kind], ...[made, accepted, rejected, unchanged, inDoubt, pending].map(n)]
  })
  return plainTable(['records', 'made', 'accepted', 'rejected', 'unchanged', 'in doubt', 'pending'], rows)
}

/** Most exports, and most files of rejects, to show one by one. */
const SHOWN = 12

/**
 * Table of exports. Of many, shows those with most left behind, and counts the others.
 * @param columns of the terminal; undefined to fit nothing to a width
 */
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

const HEAD = ['export', 'rows', 'mapped', 'skipped', 'rejected', 'state']

/** @param withRecords adds a column of records: they alone may put an export among those with something left behind */
function tableOf(
  exports: readonly ExportSummary[],
  withRecords: boolean,
  columns: number | undefined,
): string[] {
  const head = withRecords ? HEAD.toSpliced(-1, 0, 'records not delivered') : HEAD
  const rows = exports.map(({ name, counts, state, error }) => {
    const { read, mapped, skipped, rejected } = counts.rows
    const numbers = [read, mapped, skipped, rejected, ...(withRecords ? [notDelivered(counts)] : [])].map(n)
    return [name, ...numbers, error === undefined ? state : `${state}: ${error}`]
  })
  return fittedTable(head, rows, 'rest', columns)
}

/** Files of a run; of many files of rejects only the folder. */
export function writtenFiles({ exports, files }: Pick<RunSummary, 'exports' | 'files'>): string[] {
  const rejects = exports.flatMap((one) => one.rejects ?? [])
  const { rejects: folder, receipts } = files
  return [
    ...(rejects.length > SHOWN && folder !== undefined
      ? [`Rejects  ${shownPath(folder)}: ${counted(rejects.length, 'file')}`]
      : rejects.map((file) => `Rejects  ${shownPath(file)}`)),
    ...(receipts === undefined ? [] : [`Receipts ${shownPath(receipts)}`]),
  ]
}

/** Most reasons to show; the others are counted. */
const REASONS_SHOWN = 15

/** Most rules to name in a line; more are counted. */
const RULES_NAMED = 3

/** Most exports to name in a line. Of more, one is named, as a name may fill a line. */
const EXPORTS_NAMED = 2

/**
 * Table of reasons, most frequent first.
 * @param columns of the terminal; undefined to leave each message in one line of any length
 */
export function reasonsTable(reasons: readonly Reason[], columns: number | undefined): string[] {
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

/** Most ids to show; --json lists more. */
const IDS_SHOWN = 20

export function verifiedText({ sample, seed, records, fields, listed }: Verified): string[] {
  const rows = PROFILE_KINDS.map((kind) => {
    const { equal, differs, hidden, missing } = records[kind]
    return [KIND_NAMES[kind], ...[equal, differs, hidden, missing].map(n)]
  })
  const table = plainTable(['accepted, read back', 'equal', 'differs', 'not visible', 'missing'], rows)
  const lines = ['', `Verified: ${sampleText(sample, seed)}`, ...table]
  const different = Object.entries(fields).map(([field, count]) => `${field} ${count}`)
  if (different.length > 0) lines.push(`Fields that differ: ${different.join(', ')}`)
  for (const { transactionId, verdict, fields: which } of listed.slice(0, IDS_SHOWN))
    lines.push(`  ${transactionId} ${verdict}${which === undefined ? '' : ` (${which.join(', ')})`}`)
  if (listed.length > IDS_SHOWN) lines.push('  and more; --json lists up to 100')
  lines.push('Not visible: the profile shows a newer record, or another one of the same date.')
  return lines
}

function sampleText(sample: SampleSize, seed: string): string {
  switch (sample.kind) {
    case 'all':
      return 'everybody'
    case 'share':
      return `${sample.share * 100} % of the people, seed ${seed}`
    case 'people':
      return `${n(sample.people)} people, seed ${seed}`
  }
}

/** Related runs and decisions: the run whose rejects this run retries, decisions of people, later runs that settled its own rejects. */
function relatedRuns(summary: RunSummary): string[] {
  const { origin, backfill, settled = [], decided = [], pruned, rows, records } = summary
  const filled =
    backfill === undefined ? [] : [`A backfill of the exports of ${backfill.from} to ${backfill.to}.`]
  const taken = origin === undefined ? [] : [`Retries what run ${origin.run} left behind.`]
  const count = settled.reduce((sum, one) => sum + one.count, 0)
  const shares = settled.map((one) => `${n(one.count)} by run ${one.run}`).join(', ')
  const later =
    count === 0
      ? []
      : [
          `Settled since: ${n(count)} of ${n(rows.rejected + allRecords({ records }).rejected)} rejected, ${shares}.`,
        ]
  const gone =
    pruned === undefined
      ? []
      : [`Detail pruned on ${pruned.slice(0, 10)}: batches, reasons, receipts and rejects are gone.`]
  const decisions = decided.map(
    ({ decision, code, by, note, at }) =>
      `Decided at ${toSecond(at)} by ${by}: ${decision}${code === undefined ? '' : ` ${code}`}${note === undefined ? '' : `. ${note}`}`,
  )
  return [...filled, ...taken, ...decisions, ...later, ...gone]
}

/** Reasons that the last run did not have; empty without a run to compare with. */
export function newReasonsLines(found: NewReasons | undefined): string[] {
  if (found === undefined || found.reasons.length === 0) return []
  const { run, reasons } = found
  return [
    `Not rejected by the last run, ${run}:`,
    ...reasons.map(({ code, rule, count }) =>
      rule === null
        ? `  ${counted(count, 'row')}: ${code}`
        : `  ${counted(count, 'record')} of ${rule}: ${code}`,
    ),
  ]
}

/** @param columns of the terminal; undefined to fit nothing to a width */
export function dryRunText(result: DryRunResult, columns?: number): string[] {
  const { rows, exports, failed, reasons } = result
  const { made, rejected, pending } = allRecords(result)
  const { deliveredBefore: before = 0 } = result
  const lines = [
    '',
    `Dry run of ${result.job}: nothing was sent, nothing was written.`,
    ...exports.map(({ name, rows: read }) => `  ${name}: ${counted(read, 'row')}`),
    ...failed.flatMap(({ name, error }) => [
      `  ${name}: would not be sent`,
      ...describeError(error).slice(1),
    ]),
    `Rows     read ${rows.read} = mapped ${rows.mapped} + skipped ${rows.skipped} + rejected ${rows.rejected}`,
    `Records  made ${made}: ${pending - before} to send, ${before} delivered before, ${rejected} rejected by the mapping`,
    ...leftOutLine(result.leftOut),
    ...warningsLine(result.warnings),
    ...driftLines(result.drift, columns),
  ]
  for (const fit of result.fit) lines.push('', `How the mapping fits ${fit.export}`, ...fitLines(fit))
  if (reasons.length > 0) {
    const rows = reasons.map(({ count, code, rule, message }) => [
      String(count),
      code,
      rule ?? '(row)',
      message,
    ])
    lines.push('', ...fittedTable(['count', 'code', 'rule', 'reason'], rows, 1, columns))
  }
  lines.push(...newReasonsLines(result.newReasons))
  return lines
}
