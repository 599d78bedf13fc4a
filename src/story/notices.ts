/**
 * Notices of a run: balance, and reasons by code alone, for programs by code and rule, as the message of a reason may have foreign words.
 * Pure.
 */
import { hash } from 'node:crypto'
import type { Reason } from '../ledger/ledger.ts'
import { allRecords, balanceWords } from '../model/balance.ts'
import { describePlace, type Ending, endingOf, type Finding, WaybillError } from '../model/errors.ts'
import type { UnsentNotice } from '../notify/notice.ts'
import { counted, n, present, utcTime } from '../system/shown-text.ts'
import type { RunSummary } from './facts.ts'
import {
  addKnown,
  isAllKnown,
  type KnownShare,
  knownWords,
  leftBehindWords,
  newWords,
  owedWords,
} from './known.ts'
import { type Step, stepLines } from './next-steps.ts'

/** Most reasons, failed exports and findings to name. */
const AT_MOST = 5

export interface EndedRun {
  readonly summary: RunSummary
  readonly exit: number
  /** Code of the error that ended the run early. */
  readonly error?: Ending['code'] | undefined
  readonly reasons: readonly Pick<Reason, 'outcome' | 'code' | 'rule' | 'count' | 'known' | 'knownSince'>[]
  /** Next steps, with commands. */
  readonly next: readonly Step[]
  /** Milliseconds since the epoch. */
  readonly at: number
}

/** `run-ended`; `run-stopped` for a run to be continued. */
export function runNotice({ summary, exit, error, reasons, next, at }: EndedRun): UnsentNotice {
  const { run, job, gateway, state, detail, rows, records, leftBehind, exports, startedAt, durationMs } =
    summary
  const isOver = state === 'finished' || state === 'failed'
  const stop = error ?? summary.reason
  const because = stop === undefined ? '' : ` (${stop})`
  // Avoids "interrupted (interrupted)".
  const stateWords = stop === state ? state : `${state}${because}`
  const left = leftOf(summary)
  const owed = owedWords(summary)
  const ended = left === '' ? 'finished: all accounted for' : `finished with ${left}`
  const result = state === 'finished' ? ended : `${state === 'failed' ? 'failed' : 'was stopped'}${because}`
  const { made, accepted, unchanged, rejected, inDoubt, pending } = allRecords(summary)
  const grouped = groupReasons(reasons)
  const failed = exports.filter((one) => one.error !== undefined)
  return {
    kind: isOver ? 'run-ended' : 'run-stopped',
    job,
    gateway,
    subject: isOver ? `${run} ${state}` : `${run} ${state} ${iso(at)}`,
    failure: exit !== 0,
    ...(exit !== 0 && isAllKnown(summary) ? { known: true as const } : {}),
    at,
    title: `Waybill: ${job} ${result}`,
    text: [
      `Run      ${run}, ${stateWords}, exit code ${exit}`,
      ...(detail === undefined ? [] : [`Because  ${detail}`]),
      `Time     started ${utc(Date.parse(startedAt))}, ${(durationMs / 1000).toFixed(1)} s of work`,
      `Gateway  ${gateway}`,
      ...(rows.read + made === 0
        ? ['Rows     none is settled']
        : [
            `Rows     read ${n(rows.read)} = mapped ${n(rows.mapped)} + skipped ${n(rows.skipped)} + rejected ${n(rows.rejected)}`,
            `Records  made ${n(made)} = accepted ${n(accepted)} + unchanged ${n(unchanged)} + rejected ${n(rejected)} + in doubt ${n(inDoubt)} + pending ${n(pending)}`,
          ]),
      ...(summary.soFar ? [balanceWords(summary)] : []),
      ...failed.slice(0, AT_MOST).map(({ name, error }) => `Export   not sent: ${name} (${error})`),
      ...differsLines(summary.drift.filter(({ level }) => level === 'stop')),
      ...(owed === undefined ? [] : [`Owed     ${owed}: the next run does it`]),
      ...leftBehindWords(summary).map((words) => `New      ${words}`),
      ...reasonLines(grouped, run),
    ],
    next: stepLines(next),
    data: {
      run,
      state,
      exit,
      ...present({ error: stop, detail }),
      startedAt,
      durationMs,
      rows,
      records,
      ...present({ soFar: summary.soFar, leftBehind }),
      exports: exports.map(({ name, rows, state, error }) => ({ name, rows, state, ...present({ error }) })),
      reasons: grouped,
    },
  }
}

/** Rejects, doubts and failed exports in words; empty for none. The words on new ones do not cover exports. */
export function leftOf(summary: RunSummary): string {
  const { rejected, inDoubt } = allRecords(summary)
  const failed = summary.exports.filter(({ error }) => error !== undefined).length
  const left = [
    ifAny(summary.rows.rejected, 'rejected row'),
    ifAny(rejected, 'rejected record'),
    ifAny(inDoubt, 'record in doubt', 'records in doubt'),
    ifAny(summary.careTeams.owed, 'mark or deletion owed', 'marks or deletions owed'),
    newWords(summary),
  ].flat()
  return [
    ...ifAny(failed, 'export not sent', 'exports not sent'),
    ...(left.length === 0 ? [] : [left.join(', ')]),
  ].join('; ')
}

const ifAny = (count: number, one: string, many?: string): string[] =>
  count === 0 ? [] : [counted(count, one, many)]

interface CountedReason extends KnownShare {
  readonly outcome: string
  readonly code: string
  readonly rule: string | null
}

/** Groups reasons by outcome, code and rule, most frequent first. Leaves out warnings: their records were delivered. */
function groupReasons(reasons: EndedRun['reasons']): CountedReason[] {
  const groups = Map.groupBy(
    reasons.filter(({ outcome }) => outcome !== 'warning'),
    ({ outcome, code, rule }) => JSON.stringify([outcome, code, rule]),
  )
  return [...groups.values()]
    .flatMap((group) =>
      group.slice(0, 1).map(({ outcome, code, rule }) => ({ outcome, code, rule, ...addKnown(group) })),
    )
    .sort((a, b) => b.count - a.count)
}

/** Lines by outcome and code: a cause at many rules has a single line, above a rarer cause at one rule. */
function reasonLines(grouped: readonly CountedReason[], run: string): string[] {
  const groups = [...Map.groupBy(grouped, ({ outcome, code }) => JSON.stringify([outcome, code])).values()]
    .flatMap((group) =>
      group.slice(0, 1).map(({ outcome, code }) => ({
        outcome,
        code,
        ...addKnown(group),
        rules: group.flatMap(({ rule }) => rule ?? []),
      })),
    )
    .sort((a, b) => b.count - a.count)
  const more = groups.length - AT_MOST
  return [
    ...groups
      .slice(0, AT_MOST)
      .map(
        ({ outcome, code, rules, count, ...known }) =>
          `Reason   ${n(count)} ${[outcome, ...knownWords(known)].join(', ')}: ${code}${atRules(rules)}`,
      ),
    ...(more > 0 ? [`         and ${n(more)} more: waybill show ${run}`] : []),
  ]
}

function atRules([first, ...others]: readonly string[]): string {
  if (first === undefined) return ''
  return others.length === 0 ? ` at ${first}` : ` at ${n(others.length + 1)} rules`
}

interface Drifted {
  readonly name: string
  readonly sha256: string
  readonly findings: readonly Omit<RunSummary['drift'][number], 'export'>[]
}

const differsLines = (
  findings: readonly Pick<RunSummary['drift'][number], 'measure' | 'message'>[],
): string[] => findings.slice(0, AT_MOST).map(({ measure, message }) => `Differs  ${measure}: ${message}`)

/** Notice of an export, read to the end, with differences from earlier deliveries. Notified once for each content. @param run id of the run */
export function driftNotice(about: About, run: string, drifted: Drifted): UnsentNotice {
  const { name, sha256, findings } = drifted
  const isEmptyHanded = findings.some(({ measure }) => measure === 'empty-handed')
  const measures = [...new Set(findings.map(({ measure }) => measure))].join(', ')
  const more = findings.length - AT_MOST
  return {
    ...about,
    kind: isEmptyHanded ? 'export-empty-handed' : 'export-drifted',
    subject: `${name} ${sha256.slice(0, 16)}`,
    failure: true,
    title: isEmptyHanded
      ? `Waybill: ${about.job}: all rows of ${name} were skipped`
      : `Waybill: ${about.job}: ${name} differs from earlier deliveries (${measures})`,
    text: [
      `Run      ${run} has read it to the end; nothing was held back`,
      `Export   ${name}`,
      ...differsLines(findings),
      ...(more > 0 ? [`         and ${n(more)} more: waybill show ${run}`] : []),
    ],
    next: ['  Ask the vendor whether this is right. To see the result', `    waybill show ${run}`],
    data: { run, export: name, findings },
  }
}

/** Job and time of a notice. */
export type About = Pick<UnsentNotice, 'job' | 'gateway' | 'at'>

/**
 * Notice of an error that kept a job from running. The notice leaves out the message of an unexpected error, which may hold anything.
 * @param latestRun latest run of the job: after a new run, an equal error is notified again
 */
export function refusalNotice(about: About, error: unknown, latestRun?: string): UnsentNotice {
  const { job } = about
  const { code, exit, lines } = wordsOf(error)
  const digest = hash('sha256', JSON.stringify(lines), 'hex').slice(0, 16)
  return {
    ...about,
    kind: 'run-refused',
    subject: `${code} ${digest} after ${latestRun ?? 'no run'}`,
    failure: true,
    title: `Waybill: ${job} was not run (${code})`,
    text: lines,
    next: ['  waybill doctor', `  waybill run ${job}`],
    data: { error: code, exit },
  }
}

/** Notice of a stopped run whose progress the ledger cannot give. */
export function brokenOffNotice(about: About, run: string, error: unknown): UnsentNotice {
  const { job, at } = about
  const { code, exit, lines } = wordsOf(error)
  return {
    ...about,
    kind: 'run-stopped',
    subject: `${run} ${code} ${iso(at)}`,
    failure: true,
    title: `Waybill: ${job} was stopped (${code})`,
    text: [`Run      ${run}; its progress cannot be read`, ...lines],
    next: ['  waybill doctor', `  waybill run ${job}`],
    data: { run, error: code, exit },
  }
}

/** Lines on an error; without the message of an unexpected error. */
function wordsOf(error: unknown): Ending & { readonly lines: readonly string[] } {
  if (!(error instanceof WaybillError)) {
    const lines = ['An unexpected error, a defect of Waybill: the log has its message.']
    return { ...endingOf(error), lines }
  }
  const { message, findings, remedy } = error
  return { ...endingOf(error), lines: [message, ...findingLines(findings), `What to do: ${remedy}`] }
}

/** First findings, a line each. */
export const findingLines = (findings: readonly Finding[]): string[] => [
  ...findings.slice(0, AT_MOST).map(({ place, message }) => `  ${describePlace(place)}: ${message}`),
  ...(findings.length > AT_MOST ? [`  and ${n(findings.length - AT_MOST)} more`] : []),
]

/** A process with the lease of a job, at present or at the end of the process. */
export interface Holder {
  /** `host:pid` */
  readonly owner: string
  readonly run: string
  /** Milliseconds since the epoch. */
  readonly since: number
}

/** Notice of a job held by another process. Notified once for each lease. */
export function heldNotice(about: About, { owner, run, since }: Holder): UnsentNotice {
  return {
    ...about,
    kind: 'job-held',
    subject: `${run} ${owner} ${iso(since)}`,
    failure: true,
    title: `Waybill: ${about.job} was not run: another process is running it`,
    text: [`Held by  ${owner}`, `Run      ${run}`, `Since    ${utc(since)}`],
    next: [`  waybill show ${run}`, '  waybill doctor'],
    data: { owner, run, since: iso(since) },
  }
}

/**
 * Notice of a run without a process: it was killed, or its machine is gone.
 * @param goesOn true if the sender also resumes the run
 */
export function deadRunNotice(about: About, { owner, run, since }: Holder, goesOn: boolean): UnsentNotice {
  return {
    ...about,
    kind: 'run-stopped',
    subject: `${run} ${owner} ${iso(since)}`,
    failure: true,
    title: `Waybill: ${about.job} was stopped: its process has ended`,
    text: [
      `Run      ${run}, started or resumed ${utc(since)}`,
      `Process  ${owner}`,
      goesOn ? 'Its progress is stored: it continues by itself.' : 'Its progress is stored.',
    ],
    next: [
      goesOn ? '  To see the run' : '  To see the run and how to continue it',
      `    waybill show ${run}`,
    ],
    data: { run, state: 'running', owner, since: iso(since) },
  }
}

export const iso = (at: number): string => new Date(at).toISOString()

/** Time for people; the data has times to sort and compare. */
export const utc = (at: number): string => `${utcTime(at)} UTC`
