/** Notices of a schedule: a wrong job file, a missing folder of jobs, missed fires. Pure. */
import { hash } from 'node:crypto'
import type { FireRecord } from '../ledger/ledger.ts'
import type { WaybillError } from '../model/errors.ts'
import type { UnsentNotice } from '../notify/notice.ts'
import { n, present } from '../system/shown-text.ts'
import { type About, findingLines, iso, utc } from './notices.ts'

/** Most fires to name. */
const AT_MOST = 5

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
    text: [problem.message, ...findingLines(problem.findings), `What to do: ${problem.remedy}`],
    next: ['  waybill doctor', `  waybill schedule --explain ${job}`],
    data: { error: problem.code, findings: problem.findings },
  }
}

/**
 * Notice of a folder of jobs that cannot be read any more, or is empty now: mostly a disk that is not mounted. At most one notice a day, from any
 * number of processes.
 * @param problem undefined for a readable folder without jobs
 * @param jobs names of the jobs as last read
 */
export function goneNotice(
  about: About,
  problem: WaybillError | undefined,
  jobs: readonly string[],
): UnsentNotice {
  const known = `${jobs.slice(0, AT_MOST).join(', ')}${jobs.length > AT_MOST ? ` and ${n(jobs.length - AT_MOST)} more` : ''}`
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
      ...(fires.length > AT_MOST ? [`         and ${n(fires.length - AT_MOST)} more`] : []),
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

function becomes({ due, state, made_up_by }: FireRecord): string {
  if (made_up_by === due) return 'a late run starts now'
  if (made_up_by !== null) return `covered by the run of ${utc(made_up_by)}`
  return state === 'skipped' ? 'skipped, as the job has `missed: skip`' : 'runs late, after the run before it'
}
