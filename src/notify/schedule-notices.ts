/** What is told of a schedule: a job file that is wrong, fires that were missed. Pure. */
import { hash } from 'node:crypto'
import { n } from '../count-in-words.ts'
import type { WaybillError } from '../errors.ts'
import type { FireRecord } from '../ledger/ledger.ts'
import type { Notice } from './notice.ts'
import { type About, findingLines, utc } from './run-notices.ts'

/** Fires that are named, at most. */
const AT_MOST = 5

/** @param version changes with the file, so that a problem which comes back is told again */
export function brokenNotice({ job, gateway, at }: About, problem: WaybillError, version: string): Notice {
  const digest = hash('sha256', JSON.stringify([problem.message, problem.findings]), 'hex').slice(0, 16)
  return {
    kind: 'job-broken',
    job,
    gateway,
    subject: `${digest} ${version}`,
    failure: true,
    at,
    title: `Waybill: ${job} is not run until it is corrected (${problem.code})`,
    text: [
      problem.message,
      ...findingLines(problem.findings),
      `What to do: ${problem.remedy}`,
      'Next',
      '  waybill doctor',
      `  waybill schedule --explain ${job}`,
    ],
    data: { error: problem.code, findings: problem.findings },
  }
}

/**
 * Fires that did not run at their time, for one reason: in one notice, as an absence may have missed hundreds.
 * @param moved at least one; each is told by the one process that has moved it
 */
export function missedNotice(
  { job, gateway, at }: About,
  reason: string,
  moved: readonly [FireRecord, ...FireRecord[]],
): Notice {
  const fires = moved.toSorted((a, b) => a.due - b.due)
  const [first = moved[0]] = fires
  const last = fires.at(-1) ?? first
  const [detail] = fires.flatMap((fire) => fire.detail ?? [])
  const one = fires.length === 1
  const which = one
    ? `its fire of ${utc(first.due)}`
    : `${n(fires.length)} fires, from ${utc(first.due)} to ${utc(last.due)}`
  return {
    kind: 'fire-missed',
    job,
    gateway,
    subject: `${iso(first.due)} ${reason}`,
    failure: true,
    at,
    title: `Waybill: ${job} missed ${which} (${reason})`,
    text: [
      ...fires.slice(0, AT_MOST).map((fire) => `Due      ${utc(fire.due)}: ${becomes(fire)}`),
      ...(fires.length > AT_MOST ? [`         and ${n(fires.length - AT_MOST)} more`] : []),
      ...(detail === undefined ? [] : [`Because  ${detail}`]),
      'Next',
      `  waybill schedule --explain ${job}`,
    ],
    data: {
      reason,
      ...(detail === undefined ? {} : { detail }),
      fires: fires.map(({ due, state, made_up_by }) => ({
        due: iso(due),
        state,
        ...(made_up_by === null ? {} : { madeUpBy: iso(made_up_by) }),
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

const iso = (at: number): string => new Date(at).toISOString()
