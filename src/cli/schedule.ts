/** `waybill schedule`, `expect`, `notify`. */

import type { Expectation } from '../definitions/export-definition.ts'
import { type Assessment, assessmentJson, assessmentLines, countWords } from '../expect/expectation-text.ts'
import { type FireRecord, processName } from '../ledger/ledger.ts'
import { describePlace, EXIT, errorAsJson, WaybillError } from '../model/errors.ts'
import {
  type ExplainedExpectation,
  type ExplainedJob,
  explainJobs,
  lookForExpected,
} from '../runs/expectations.ts'
import {
  DEADLINE_WORDS,
  explainedJson,
  fireWords,
  lateWords,
  scheduleWords,
} from '../runs/explained-schedule.ts'
import { keepSchedule } from '../runs/keep-schedule.ts'
import { testTargets } from '../runs/teller.ts'
import { localTime } from '../schedule/fires.ts'
import type { ScheduleEvents } from '../schedule/schedule-parts.ts'
import { toSecond, waitsText } from '../story/words.ts'
import { counted, iso, utcTime } from '../system/shown-text.ts'
import { fittedTable, folded } from '../system/text-table.ts'
import type { Logger } from '../telemetry/logger.ts'
import { NO_PROGRESS } from '../telemetry/progress.ts'
import { type CommandContext, print } from './command-form.ts'
import type { Action } from './commands.ts'
import { watchOnTerminal } from './display.ts'
import { createRunReporter } from './run-reporter.ts'
import { errorLines } from './terminal-text.ts'

const schedule: Action<'schedule'> = async (context, { explain, json, metrics }) => {
  if (explain !== undefined)
    return explainSchedule(context, { job: explain === true ? undefined : explain, json: json === true })
  if (json) throw new WaybillError('usage-wrong', '--json is given without --explain')
  const { logger, now } = context
  const reporter = () => createRunReporter(NO_PROGRESS, logger, now)
  const watch = { ...watchOnTerminal(context, false), events: createScheduleLog(logger), reporter }
  await keepSchedule(context, watch, metrics)
  return EXIT.ok
}

/** Words for the end of a run that goes on. */
const ENDS: Readonly<Partial<Record<FireRecord['state'], string>>> = {
  interrupted: 'was interrupted',
  retrying: 'is tried again',
}

function createScheduleLog(logger: Logger): ScheduleEvents {
  const tell =
    (level: 'info' | 'warn', what: string, words = fireWords) =>
    (job: string, fire: FireRecord): void => {
      const more = words(fire)
      logger[level](`the fire of ${utcTime(fire.due)} UTC ${what}${more === '' ? '' : `: ${more}`}`, {
        job,
        run: fire.run_id ?? undefined,
        code: fire.error ?? undefined,
      })
    }
  return {
    scheduled: (job, { cron, zone }, next) =>
      logger.info(`scheduled "${cron}" in ${zone}, next on ${localTime(next, zone)}`, { job }),
    unscheduled: (job) => logger.info('no longer scheduled', { job }),
    broken: (job, problem) =>
      logger.error(`not run until corrected: ${inOneLine(problem)}`, { job, code: problem.code }),
    begun: (job, fire, _, again) => tell('info', again ? 'is resumed' : 'is run', lateWords)(job, fire),
    abandoned: tell('warn', 'was interrupted: its process has ended', ({ owner, begun_at }) => {
      const name = processName(owner ?? 'a process')
      return begun_at === null ? name : `${name}, which started it at ${utcTime(begun_at)} UTC`
    }),
    ended: (job, fire) => {
      // `exports-none` is no warning here: without a known reason, `trouble` has logged the error.
      const isWell = fire.exit === EXIT.ok || fire.state === 'interrupted' || fire.error === 'exports-none'
      const what = ENDS[fire.state] ?? 'has ended'
      tell(isWell ? 'info' : 'warn', what)(job, fire)
    },
    gaveUp: tell('warn', 'is not tried again'),
    missed: tell('warn', 'was missed'),
    skipped: tell('info', 'is skipped'),
    recovered: () => logger.info('the folder of jobs can be read again'),
    trouble(job, error) {
      if (error instanceof WaybillError) logger.error(inOneLine(error), { job, code: error.code })
      else
        logger.error(
          `unexpected: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
          { job },
        )
    },
  }
}

function inOneLine({ message, place, findings, remedy }: WaybillError): string {
  const where = place === undefined ? '' : describePlace(place)
  const at = where === '' || message.includes(where) ? '' : ` (${where})`
  const found = findings.map((finding) => `; ${describePlace(finding.place)}: ${finding.message}`)
  return `${message}${at}${found.join('')}. ${remedy}`
}

/**
 * @param options `job` undefined: all jobs with a schedule, or with a wrong file
 * @returns 2 for a wrong job file
 */
async function explainSchedule(
  context: CommandContext,
  options: { readonly job: string | undefined; readonly json: boolean },
): Promise<number> {
  const shown = await explainJobs(context, options.job)
  if (options.json) context.out(JSON.stringify({ jobs: shown.map(explainedJson) }))
  else if (shown.length === 0) context.out('No job has a schedule. See docs/jobs.md, "Schedule".')
  else for (const one of shown) context.out(explainedText(one, context.columns))
  const problems = shown.flatMap(({ problem }) => problem ?? [])
  for (const problem of problems) context.err(errorLines(problem))
  return problems[0]?.exit ?? EXIT.ok
}

function explainedText(explained: ExplainedJob, columns: number | undefined): string[] {
  const { job, pause, current, last, next, zone, expected } = explained
  const what = scheduleWords(explained)
  const lines = [`${job}: ${what}`]
  if (pause !== undefined) {
    const why = pause.note === null ? '' : `: ${pause.note}`
    const until = pause.until === null ? '' : ` until ${localTime(pause.until, zone)}`
    lines.push(
      `paused by ${pause.by} since ${toSecond(iso(pause.at))}${until}${why}. To continue: waybill unpause ${job}`,
    )
  }
  if (current !== undefined) lines.push(currentText(current))
  if (last.length > 0) {
    const rows = last.map((fire) => [
      localTime(fire.due, zone),
      utcTime(fire.due),
      fire.state,
      fireWords(fire),
    ])
    lines.push(...fittedTable(['last', 'UTC', 'state', 'result'], rows, 'none', columns))
  }
  if (next.length > 0) {
    const times = next.map((at) => [localTime(at, zone), utcTime(at)])
    lines.push(...fittedTable(['next', 'UTC'], times, 'none', columns))
  }
  if (expected.length > 0) lines.push(...expectationsTable(expected, columns))
  return [...lines, '']
}

function currentText({ run, owner, since, waits }: NonNullable<ExplainedJob['current']>): string {
  const why = waits === undefined ? '' : `; it ${waitsText(waits)}`
  return `now run ${run} is under way since ${toSecond(since)}, by process ${owner}${why}`
}

function expectationsTable(
  expectations: readonly ExplainedExpectation[],
  columns: number | undefined,
): string[] {
  const rows: string[][] = []
  for (const { key, expect, last, next } of expectations) {
    if (last !== undefined) {
      const small = last.small === 0 ? '' : `, ${last.small} strangely small`
      const count = last.state === 'unreachable' ? '' : ` (${last.arrived} of ${last.expected}${small})`
      rows.push([...times(last.due, expect), key.source, `${DEADLINE_WORDS[last.state]}${count}`])
    }
    rows.push([...times(next, expect), key.source, ''])
  }
  return fittedTable(['expected by', 'UTC', 'exports', 'what was found'], rows, 'none', columns)
}

const times = (at: number, { zone }: Expectation): [string, string] => [localTime(at, zone), utcTime(at)]

const expect: Action<'expect'> = async (context, { job, quiet, json }) => {
  const { jobs, found, problems } = await lookForExpected(context, job)
  const exit = Math.max(problems[0]?.problem.exit ?? EXIT.ok, ...found.map(exitOf))
  if (json) {
    const broken = problems.map(({ name, problem }) => ({ job: name, ...errorAsJson(problem) }))
    context.out(JSON.stringify({ exit, expectations: [...found.map(assessmentJson), ...broken] }))
  } else {
    if (jobs.length + problems.length === 0 && !quiet)
      context.out('No job expects exports. See docs/jobs.md, "Expected".')
    for (const one of found)
      if (!quiet || exitOf(one) !== EXIT.ok) context.out(assessmentText(one, context.columns))
  }
  for (const { problem } of problems) context.err(errorLines(problem))
  return exit
}

const exitOf = ({ state, small, error }: Assessment): number =>
  error?.exit ?? (state === 'missing' || small.length > 0 ? EXIT.recordsLeftBehind : EXIT.ok)

function assessmentText(assessment: Assessment, columns: number | undefined): string[] {
  const { watched, deadline, state } = assessment
  const head = `${watched.key.job}: ${state}: ${countWords(assessment)}`
  const next = `Then     by ${localTime(deadline.next, watched.expect.zone)}`
  const lines = folded([...assessmentLines(assessment), next], columns && columns - 2)
  return [...folded([head], columns), ...lines.map((line) => `  ${line}`), '']
}

const notify: Action<'notify'> = async (context, options) => {
  const tested = await testTargets(context, options.job)
  const { targets, waiting } = tested
  print(context, options.json, tested, () => [
    ...targets.map(({ target, error }) =>
      error === undefined ? `delivered  ${target}` : `failed     ${target}: ${error}`,
    ),
    ...waitingWords(waiting),
  ])
  const isWell = waiting.left === 0 && targets.every(({ error }) => error === undefined)
  return isWell ? EXIT.ok : EXIT.recordsLeftBehind
}

const waitingWords = ({
  delivered,
  left,
}: {
  readonly delivered: number
  readonly left: number
}): string[] => [
  ...(delivered === 0 ? [] : [`delivered  ${counted(delivered, 'notice')} of before`]),
  ...(left === 0 ? [] : [`waiting    ${counted(left, 'notice')} of before`]),
]

export const actions = { schedule, expect, notify }
