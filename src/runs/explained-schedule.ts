/** Explained schedule of a job in words and as JSON, for terminal and console. */

import type { DeadlineState, FireRecord } from '../ledger/ledger.ts'
import { EXIT, errorAsJson } from '../model/errors.ts'
import { localTime } from '../schedule/fires.ts'
import { durationText } from '../story/report/figures.ts'
import { iso, utcTime } from '../system/shown-text.ts'
import type { ExplainedExpectation, ExplainedJob } from './expectations.ts'

const instant = (at: number | null): string | undefined => (at === null ? undefined : iso(at))

/** JSON of `waybill schedule --explain`. Instants are ISO 8601, UTC. */
export function explainedJson(explained: ExplainedJob): object {
  const { job, schedule, problem, pause, current, last, next, zone, expected } = explained
  return {
    job,
    schedule,
    paused: pause && {
      by: pause.by,
      note: pause.note ?? undefined,
      since: instant(pause.at),
      until: instant(pause.until),
    },
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
      retryAt: instant(fire.retry_at),
      detail: fire.detail ?? undefined,
    })),
    next: next.map((at) => ({ due: instant(at), local: localTime(at, zone) })),
    expected: expected.map(expectationJson),
  }
}

const expectationJson = ({ key, expect, last, next }: ExplainedExpectation): object => ({
  source: key.source,
  mapping: key.mapping,
  by: expect.by,
  zone: expect.zone,
  last: last && {
    due: iso(last.due),
    local: localTime(last.due, expect.zone),
    judgedAt: iso(last.judged_at),
    state: last.state,
    expected: last.expected,
    arrived: last.arrived,
    small: last.small,
  },
  next: { due: iso(next), local: localTime(next, expect.zone) },
})

/** Timetable of a job in one line, or the reason why there is none. */
export function scheduleWords({ schedule, problem }: Pick<ExplainedJob, 'schedule' | 'problem'>): string {
  if (schedule === undefined) return problem === undefined ? 'no schedule' : `cannot run: ${problem.code}`
  const { cron, zone, missed, retry, done } = schedule
  const until = retry?.until === undefined ? '' : ` until ${retry.until}`
  const tries = retry === undefined ? '' : `, retry every ${durationText(retry.every)}${until}`
  const by = done === undefined ? '' : `, done by ${done}`
  return `"${cron}" in ${zone}, missed: ${missed}${tries}${by}`
}

const REASONS: Readonly<Record<string, string>> = {
  'not-scheduled': 'no schedule was running',
  paused: 'the job was paused',
  'job-held': 'the job was already running',
  'job-invalid': 'the job file or a mapping was wrong',
  'earlier-first': 'an earlier fire goes first',
  unscheduled: 'the job is no longer scheduled',
}

const whyNot = ({ reason, detail }: Pick<FireRecord, 'reason' | 'detail'>): string => {
  if (reason === null) return ''
  const words = REASONS[reason] ?? reason
  if (detail === null) return words
  return reason === 'job-held' ? `${words} by ${detail}` : `${words}: ${detail}`
}

/** Reason why a fire runs late. */
export const lateWords = (fire: FireRecord): string =>
  fire.made_up_by === fire.due ? `late (${whyNot(fire)})` : ''

/** Result of a fire in one line. */
export function fireWords(fire: FireRecord): string {
  const run = fire.run_id === null ? '' : `run ${fire.run_id}`
  const why = whyNot(fire)
  const late = lateWords(fire)
  const words = (...parts: string[]): string => parts.filter((part) => part !== '').join(', ')
  switch (fire.state) {
    case 'due':
      return 'about to start'
    case 'missed':
      return words(why, 'will run late')
    case 'running':
      return words(`started at ${utcTime(fire.begun_at ?? fire.due)}`, run, late)
    case 'interrupted':
      return words(run, 'continues when the schedule starts', late)
    case 'retrying':
      return words(outcome(fire), run, `tried again at ${utcTime(fire.retry_at ?? fire.due)}`)
    case 'skipped':
      return words(why, fire.made_up_by === null ? '' : `covered by the fire of ${utcTime(fire.made_up_by)}`)
    case 'ended':
      return words(outcome(fire), run, late)
  }
}

function outcome({ exit, error }: FireRecord): string {
  if (error === 'exports-none') return 'found no exports'
  if (error !== null) return `${error} (exit ${exit})`
  return exit === EXIT.ok ? 'all accounted for' : `something was left behind (exit ${exit})`
}

/** Last look at an expectation. */
export const DEADLINE_WORDS: Readonly<Record<DeadlineState, string>> = {
  seen: 'seen for the first time, not notified',
  arrived: 'arrived',
  late: 'arrived, late',
  missing: 'missing',
  unreachable: 'could not be checked',
}
