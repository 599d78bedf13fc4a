/** `waybill schedule --explain`: the last fires of each job, what each did or why it did not run, and the next ones. */
import type { Expectation } from '../definitions/export-definition.ts'
import type { DeadlineState, FireRecord } from '../ledger/ledger.ts'
import { EXIT } from '../model/errors.ts'
import { type ExplainedExpectation, type ExplainedJob, explainJobs } from '../runs/explain-jobs.ts'
import { localTime } from '../schedule/cron-line.ts'
import { utcTime } from '../shown-text.ts'
import type { CommandContext } from './context.ts'
import { errorAsJson, errorLines } from './describe-error.ts'
import { fittedTable, plainTable } from './plain-table.ts'
import { toSecond, waitsText } from './run-reporter.ts'

/**
 * @param options `job` undefined: all jobs of the folder that have a schedule, or a file that is wrong
 * @returns 2 where a job file is wrong
 */
export async function explainSchedule(
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
  const { job, schedule, problem, pause, current, last, next, zone, expected } = explained
  const what =
    schedule === undefined
      ? problem === undefined
        ? 'no schedule'
        : `it cannot be run: ${problem.code}`
      : `"${schedule.cron}" in ${schedule.zone}, missed: ${schedule.missed}`
  const lines = [`${job}: ${what}`]
  if (pause !== undefined) {
    const why = pause.note === null ? '' : `: ${pause.note}`
    lines.push(
      `paused by ${pause.by} since ${toSecond(new Date(pause.at).toISOString())}${why}. To go on: waybill resume ${job}`,
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
    lines.push(...fittedTable(['last', 'UTC', 'state', 'what became of it'], rows, 'none', columns))
  }
  if (next.length > 0) {
    const times = next.map((at) => [localTime(at, zone), utcTime(at)])
    lines.push(...plainTable(['next', 'UTC'], times, 'none'))
  }
  if (expected.length > 0) lines.push(...expectationsTable(expected, columns))
  return [...lines, '']
}

function currentText({ run, owner, since, waits }: NonNullable<ExplainedJob['current']>): string {
  const why = waits === undefined ? '' : `; it ${waitsText(waits)}`
  return `now run ${run} is under way since ${toSecond(since)}, by process ${owner}${why}`
}

const instant = (at: number | null): string | undefined =>
  at === null ? undefined : new Date(at).toISOString()

function explainedJson(explained: ExplainedJob): object {
  const { job, schedule, problem, pause, current, last, next, zone, expected } = explained
  return {
    job,
    schedule,
    paused: pause && { by: pause.by, note: pause.note ?? undefined, since: instant(pause.at) },
    now: current && { run: current.run, owner: current.owner, since: current.since, waits: current.waits },
    ...errorAsJson(problem),
    last: last.map((fire) => ({
      due: instant(fire.due),
      local: localTime(fire.due, zone),
      state: fire.state,
      madeUpBy: instant(fire.made_up_by),
      run: fire.run_id ?? undefined,
      begunAt: instant(fire.begun_at),
      endedAt: instant(fire.ended_at),
      exit: fire.exit ?? undefined,
      error: fire.error ?? undefined,
      reason: fire.reason ?? undefined,
      detail: fire.detail ?? undefined,
    })),
    next: next.map((at) => ({ due: instant(at), local: localTime(at, zone) })),
    expected: expected.map(expectationJson),
  }
}

const WORDS: Readonly<Record<DeadlineState, string>> = {
  seen: 'seen for the first time, not told',
  arrived: 'arrived',
  late: 'arrived, late',
  missing: 'missing',
  unreachable: 'nobody could look',
}

/** @param columns of the terminal; undefined: nothing is fitted to a width */
export function expectationsTable(
  expectations: readonly ExplainedExpectation[],
  columns: number | undefined,
): string[] {
  const rows: string[][] = []
  for (const { key, expect, last, next } of expectations) {
    if (last !== undefined) {
      const small = last.small === 0 ? '' : `, ${last.small} strangely small`
      const count = last.state === 'unreachable' ? '' : ` (${last.arrived} of ${last.expected}${small})`
      rows.push([...times(last.due, expect), key.source, `${WORDS[last.state]}${count}`])
    }
    rows.push([...times(next, expect), key.source, ''])
  }
  return fittedTable(['expected by', 'UTC', 'exports', 'what was found'], rows, 'none', columns)
}

const times = (at: number, { zone }: Expectation): [string, string] => [localTime(at, zone), utcTime(at)]

export const expectationJson = ({ key, expect, last, next }: ExplainedExpectation): object => ({
  source: key.source,
  mapping: key.mapping,
  by: expect.by,
  zone: expect.zone,
  last: last && {
    due: new Date(last.due).toISOString(),
    local: localTime(last.due, expect.zone),
    judgedAt: new Date(last.judged_at).toISOString(),
    state: last.state,
    expected: last.expected,
    arrived: last.arrived,
    small: last.small,
  },
  next: { due: new Date(next).toISOString(), local: localTime(next, expect.zone) },
})

const REASONS: Readonly<Record<string, string>> = {
  'not-scheduled': 'no schedule was running',
  paused: 'the job was paused',
  'job-held': 'the job was being run',
  'job-invalid': 'the job file or a mapping was wrong',
  'earlier-first': 'an earlier fire goes first',
  unscheduled: 'the job is on no schedule any more',
}

/** Why it did not run at its time. */
export const whyNot = ({ reason, detail }: Pick<FireRecord, 'reason' | 'detail'>): string => {
  if (reason === null) return ''
  const words = REASONS[reason] ?? reason
  if (detail === null) return words
  return reason === 'job-held' ? `${words} by ${detail}` : `${words}: ${detail}`
}

/** Of one that is made up for, why it did not run at its time. */
export const lateWords = (fire: FireRecord): string =>
  fire.made_up_by === fire.due ? `made up for (${whyNot(fire)})` : ''

/** What became of it, in a line. */
export function fireWords(fire: FireRecord): string {
  const run = fire.run_id === null ? '' : `run ${fire.run_id}`
  const why = whyNot(fire)
  const late = lateWords(fire)
  const words = (...parts: string[]): string => parts.filter((part) => part !== '').join(', ')
  switch (fire.state) {
    case 'due':
      return 'about to begin'
    case 'missed':
      return words(why, 'to be made up for')
    case 'running':
      return words(`begun at ${utcTime(fire.begun_at ?? fire.due)}`, run, late)
    case 'interrupted':
      return words(run, 'goes on when the schedule is started', late)
    case 'skipped':
      return words(why, fire.made_up_by === null ? '' : `made up for by that of ${utcTime(fire.made_up_by)}`)
    case 'ended':
      return words(outcome(fire), run, late)
  }
}

function outcome({ exit, error }: FireRecord): string {
  if (error === 'exports-none') return 'found no exports'
  if (error !== null) return `${error} (exit ${exit})`
  return exit === EXIT.ok ? 'all accounted for' : `something was left behind (exit ${exit})`
}
