/** What is told of a schedule: a job file that is wrong, a folder of jobs that is gone, fires that were missed. Pure. */
import { hash } from 'node:crypto'
import type { FireRecord } from '../ledger/ledger.ts'
import type { WaybillError } from '../model/errors.ts'
import { n, present } from '../shown-text.ts'
import type { UnsentNotice } from './notice.ts'
import { type About, findingLines, iso, utc } from './run-notices.ts'

/** Fires that are named, at most. */
const AT_MOST = 5

/** @param version changes with the file, so that a problem which comes back is told again */
export function brokenNotice(about: About, problem: WaybillError, version: string): UnsentNotice {
  const { job } = about
  const digest = hash('sha256', JSON.stringify([problem.message, problem.findings]), 'hex').slice(0, 16)
  return {
    ...about,
    kind: 'job-broken',
    subject: `${digest} ${version}`,
    failure: true,
    title: `Waybill: ${job} is not run until it is corrected (${problem.code})`,
    text: [problem.message, ...findingLines(problem.findings), `What to do: ${problem.remedy}`],
    next: ['  waybill doctor', `  waybill schedule --explain ${job}`],
    data: { error: problem.code, findings: problem.findings },
  }
}

/**
 * The folder of jobs cannot be read any more, or holds none any more: a disk that is not mounted, mostly. Told once a day at most, by how many processes it may be found.
 * @param problem undefined: it can be read, and there is no job in it
 * @param jobs their names, as they were read last
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
    title: `Waybill: the jobs folder of the schedule ${problem === undefined ? 'holds no job any more' : `cannot be read (${problem.code})`}`,
    text: [
      ...(problem === undefined ? [] : [problem.message]),
      `Jobs     ${known}`,
      problem === undefined
        ? 'None of them is run. What comes due until they are there again is not made up for.'
        : 'They are run as they were read last, until the schedule ends: it does not start without the folder.',
      'What to do: Check WAYBILL_JOBS, and that the disk it lies on is there. Nothing is to be started again.',
    ],
    next: ['  waybill schedule --explain'],
    data: { ...(problem === undefined ? {} : { error: problem.code }), jobs },
  }
}

/**
 * Fires that did not run at their time, for one reason: in one notice, as an absence may have missed hundreds.
 * @param moved at least one; each is told by the one process that has moved it
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
      ...{ reason, ...present({ detail }) },
      fires: fires.map(({ due, state, made_up_by: by }) => ({
        ...{ due: iso(due), state, ...present({ madeUpBy: by === null ? by : iso(by) }) },
      })),
    },
  }
}

function becomes({ due, state, made_up_by }: FireRecord): string {
  if (made_up_by === due) return 'made up for by a run that begins now'
  if (made_up_by !== null) return `made up for by the run of ${utc(made_up_by)}`
  return state === 'skipped'
    ? 'not made up for, as the job says `missed: skip`'
    : 'made up for by a run of its own, as soon as the one before it is over'
}
