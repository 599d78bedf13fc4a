/**
 * Notices of a run, and of a schedule that could not run a job: words, and facts for programs. The message of a reason may have foreign words: its
 * code alone stands here. Pure.
 */
import { hash } from 'node:crypto'
import type { FireRecord } from '../ledger/ledger.ts'
import { allRecords, balanceWords } from '../model/balance.ts'
import { describePlace, endingOf, type Finding, WaybillError } from '../model/errors.ts'
import type { UnsentNotice } from '../notify/notice.ts'
import { iso, n, present, utcTime } from '../system/shown-text.ts'
import { failedExports, isAllKnown } from './balance.ts'
import { type Step, stepLines } from './next-steps.ts'
import { groupReasons, type KnownShare, mostFirst } from './reasons.ts'
import type { RunStory, RunSummary } from './run-story.ts'
import { because, knownWords, leftBehindWords, leftWords, owedNote, rowsWords, workedWords } from './words.ts'

/** Most reasons, failed exports, findings, jobs and fires to name. */
const AT_MOST = 5

export interface EndedRun extends RunStory {
  readonly exit: number
  /** Code of the error that ended the run early. */
  readonly error?: ReturnType<typeof endingOf>['code'] | undefined
  readonly next: readonly Step[]
  readonly at: number
}

/** `run-ended`; `run-stopped` for a run to be continued. */
export function runNotice({ summary, exit, error, reasons, next, at }: EndedRun): UnsentNotice {
  const { run, job, gateway, state, detail, rows, records, leftBehind, exports, startedAt, durationMs } =
    summary
  const isOver = state === 'finished' || state === 'failed'
  const stop = error ?? summary.reason
  const why = because(stop)
  // Avoids "interrupted (interrupted)".
  const stateWords = stop === state ? state : `${state}${why}`
  const left = leftWords(summary)
  const ended = left === '' ? 'finished: all accounted for' : `finished with ${left}`
  const result = state === 'finished' ? ended : `${state === 'failed' ? 'failed' : 'was stopped'}${why}`
  const { made, accepted, unchanged, rejected, inDoubt, pending } = allRecords(summary)
  const grouped = countReasons(reasons)
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
      `Time     started ${utc(Date.parse(startedAt))}, ${workedWords(summary)} of work`,
      `Gateway  ${gateway}`,
      ...(rows.read + made === 0
        ? ['Rows     none is settled']
        : [
            `Rows     ${rowsWords(rows)}`,
            `Records  made ${n(made)} = accepted ${n(accepted)} + unchanged ${n(unchanged)} + rejected ${n(rejected)} + in doubt ${n(inDoubt)} + pending ${n(pending)}`,
          ]),
      ...(summary.soFar ? [balanceWords(summary)] : []),
      ...failedExports(summary)
        .slice(0, AT_MOST)
        .map(({ name, error }) => `Export   not sent: ${name} (${error})`),
      ...differsLines(summary.drift.filter(({ level }) => level === 'stop')),
      ...owedNote(summary).map((owed) => `Owed     ${owed}`),
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

interface CountedReason extends KnownShare {
  readonly outcome: string
  readonly code: string
  readonly rule: string | null
}

/** Reasons by outcome, code and rule, most frequent first. Leaves out warnings: their records were delivered. */
const countReasons = (reasons: RunStory['reasons']): CountedReason[] =>
  mostFirst(
    groupReasons(
      reasons.filter(({ outcome }) => outcome !== 'warning'),
      ['outcome', 'code', 'rule'],
    ).map(({ first: { outcome, code, rule }, sum }) => ({ outcome, code, rule, ...sum })),
  )

/** Lines by outcome and code: a cause at many rules has a single line, above a rarer cause at one rule. */
function reasonLines(counted: readonly CountedReason[], run: string): string[] {
  const groups = mostFirst(
    groupReasons(counted, ['outcome', 'code']).map(({ first: { outcome, code }, sum, group }) => ({
      outcome,
      code,
      ...sum,
      rules: group.flatMap(({ rule }) => rule ?? []),
    })),
  )
  return [
    ...groups
      .slice(0, AT_MOST)
      .map(
        ({ outcome, code, rules, count, ...known }) =>
          `Reason   ${n(count)} ${[outcome, ...knownWords(known)].join(', ')}: ${code}${atRules(rules)}`,
      ),
    ...moreLine(groups, run),
  ]
}

/** Words on those beyond the named ones; empty for none. @param indent blanks in front */
const more = ({ length }: readonly unknown[], indent = '         ', end = ''): string[] =>
  length > AT_MOST ? [`${indent}and ${n(length - AT_MOST)} more${end}`] : []

const moreLine = (all: readonly unknown[], run: string): string[] =>
  more(all, undefined, `: waybill show ${run}`)

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
      ...moreLine(findings, run),
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
function wordsOf(error: unknown) {
  if (!(error instanceof WaybillError)) {
    const lines = ['An unexpected error, a defect of Waybill: the log has its message.']
    return { ...endingOf(error), lines }
  }
  const { message, findings, remedy } = error
  return { ...endingOf(error), lines: [message, ...findingLines(findings), `What to do: ${remedy}`] }
}

const findingLines = (findings: readonly Finding[]): string[] => [
  ...findings.slice(0, AT_MOST).map(({ place, message }) => `  ${describePlace(place)}: ${message}`),
  ...more(findings, '  '),
]

/** A process with the lease of a job, at present or at the end of the process. */
interface Holder {
  /** `host:pid` */
  readonly owner: string
  readonly run: string
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

/** @param version changes with the file, so that a returning problem is notified again */
export function brokenNotice(about: About, problem: WaybillError, version: string): UnsentNotice {
  const { job } = about
  const digest = hash('sha256', JSON.stringify([problem.message, problem.findings]), 'hex').slice(0, 16)
  return {
    ...about,
    kind: 'job-broken',
    subject: `${digest} ${version}`,
    failure: true,
    title: `Waybill: ${job} is not run until its file is corrected (${problem.code})`,
    text: wordsOf(problem).lines,
    next: ['  waybill doctor', `  waybill schedule --explain ${job}`],
    data: { error: problem.code, findings: problem.findings },
  }
}

/**
 * Notice of a folder of jobs that cannot be read any more, or is empty now: mostly a missing mount. At most one a day, from all processes.
 * @param problem undefined for a readable folder without jobs
 * @param jobs names of the jobs as last read
 */
export function goneNotice(
  about: About,
  problem: WaybillError | undefined,
  jobs: readonly string[],
): UnsentNotice {
  const known = [jobs.slice(0, AT_MOST).join(', '), ...more(jobs, ' ')].join('')
  return {
    ...about,
    kind: 'jobs-gone',
    subject: iso(about.at).slice(0, 10),
    failure: true,
    title: `Waybill: the jobs folder of the schedule ${problem === undefined ? 'has no jobs any more' : `cannot be read (${problem.code})`}`,
    text: [
      ...(problem === undefined ? [] : [problem.message]),
      `Jobs     ${known}`,
      problem === undefined
        ? 'No job is run. Fires that come due before the jobs return are skipped.'
        : 'The jobs are run as last read, until the schedule ends: it does not start without the folder.',
      'What to do: Check WAYBILL_JOBS, and that its disk is mounted. No restart is needed.',
    ],
    next: ['  waybill schedule --explain'],
    data: { ...(problem === undefined ? {} : { error: problem.code }), jobs },
  }
}

/**
 * Notice of fires missed for one reason. A single notice for all, as an absence may miss hundreds.
 * @param moved at least one fire; the process that moved a fire sends its notice
 */
export function missedNotice(
  about: About,
  reason: string,
  moved: readonly [FireRecord, ...FireRecord[]],
): UnsentNotice {
  const { job } = about
  const fires = moved.toSorted((a, b) => a.due - b.due)
  const [first = moved[0]] = fires
  const last = fires.at(-1) ?? first
  const [detail] = fires.flatMap((fire) => fire.detail ?? [])
  const which =
    fires.length === 1
      ? `its fire of ${utc(first.due)}`
      : `${n(fires.length)} fires, from ${utc(first.due)} to ${utc(last.due)}`
  return {
    ...about,
    kind: 'fire-missed',
    subject: `${iso(first.due)} ${reason}`,
    failure: true,
    title: `Waybill: ${job} missed ${which} (${reason})`,
    text: [
      ...fires.slice(0, AT_MOST).map((fire) => `Due      ${utc(fire.due)}: ${becomes(fire)}`),
      ...more(fires),
      ...(detail === undefined ? [] : [`Because  ${detail}`]),
    ],
    next: [`  waybill schedule --explain ${job}`],
    data: {
      reason,
      ...present({ detail }),
      fires: fires.map(({ due, state, made_up_by: by }) => ({
        due: iso(due),
        state,
        ...present({ madeUpBy: by === null ? by : iso(by) }),
      })),
    },
  }
}

/** Notice of the first good run of a job to targets that last heard of a failure. */
export function recoveredNotice(about: About, { summary }: Pick<RunStory, 'summary'>): UnsentNotice {
  const { job } = about
  const { run, startedAt, rows } = summary
  return {
    ...about,
    kind: 'job-recovered',
    subject: run,
    failure: false,
    title: `Waybill: ${job} has recovered`,
    text: [
      `Run      ${run}, finished: all accounted for`,
      `Time     started ${utc(Date.parse(startedAt))}, ${workedWords(summary)} of work`,
      `Rows     ${rowsWords(rows)}`,
    ],
    next: ['  Earlier runs may still need somebody', `    waybill needs --job ${job}`],
    data: { run, startedAt },
  }
}

interface LateFacts {
  readonly due: number
  readonly by: number
  readonly zone: string
  readonly run: string | null
  readonly now: string
}

/** Notice of a missed deadline. Notified once for each. */
export function lateNotice(about: About, { due, by, zone, run, now }: LateFacts): UnsentNotice {
  const { job } = about
  return {
    ...about,
    kind: 'job-late',
    subject: iso(by),
    failure: true,
    title: `Waybill: ${job} was not done by ${utc(by)}`,
    text: [`Due      ${utc(due)}`, `Done by  ${utc(by)}, by the clock of ${zone}`, `Now      ${now}`],
    next: [...(run === null ? [] : [`  waybill show ${run}`]), `  waybill schedule --explain ${job}`],
    data: { due: iso(due), by: iso(by), ...(run === null ? {} : { run }) },
  }
}

function becomes({ due, state, made_up_by }: FireRecord): string {
  if (made_up_by === due) return 'a late run starts now'
  if (made_up_by !== null) return `covered by the run of ${utc(made_up_by)}`
  return state === 'skipped' ? 'skipped, as the job has `missed: skip`' : 'runs late, after the run before it'
}

/** Time for people; the data has times to sort and compare. */
const utc = (at: number): string => `${utcTime(at)} UTC`
