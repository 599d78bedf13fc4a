/**
 * Expectations and findings in words, as JSON, and as notices. Names, times, sizes and counts; no health data. The subject of a notice is a deadline
 * or a version of a file: notified once. Pure.
 */

import type { Job } from '../definitions/definition-files.ts'
import type { Expectation, JobSource } from '../definitions/export-definition.ts'
import { type WaitingExport, waitingText } from '../extract/arrival/verify-delivery.ts'
import type { DeadlineState, ExpectationKey } from '../ledger/ledger.ts'
import type { WaybillError } from '../model/errors.ts'
import type { UnsentNotice } from '../notify/notice.ts'
import type { SmallDelivery, SmallExport } from '../run/find-exports.ts'
import { localTime } from '../schedule/fires.ts'
import { counted, utcTime } from '../system/shown-text.ts'
import type { ArrivedFile, Deadline, judge } from './judge.ts'

/** A source with an expectation. */
export interface WatchedSource {
  readonly job: Job
  readonly source: JobSource
  readonly expect: Expectation
  readonly key: ExpectationKey
}

export interface Assessment extends Omit<ReturnType<typeof judge>, 'state' | 'known'> {
  readonly watched: WatchedSource
  readonly deadline: Deadline
  readonly at: number
  readonly state: Exclude<DeadlineState, 'seen'>
  /** Exports at the source that are incomplete. */
  readonly waiting: readonly WaitingExport[]
  /** Latest dates in the names of arrived exports, of any time; `2026-03-02`. Empty for names without dates. */
  readonly latestDates: readonly string[]
  readonly error?: WaybillError
  /** Keys that count for no later deadline, as JSON; null if the source could not be checked. */
  readonly known: string | null
}

/** `0 of 1 export by Tue 2026-03-03 01:30 -05:00` */
export function countWords({ watched, deadline, arrived }: Assessment): string {
  const { count, zone } = watched.expect
  return `${arrived.length} of ${countOf(count)} by ${localTime(deadline.due, zone)}`
}

const countOf = (count: number): string => counted(count, 'export')

/** Lines about a check, a fact each. */
export function assessmentLines(assessment: Assessment): string[] {
  const { watched, deadline, arrived, small, waiting, latestDates, error } = assessment
  const { source, expect, key } = watched
  const line = (label: string, words: string): string => `${label.padEnd(9)}${words}`
  const since = localTime(deadline.previous, expect.zone)
  return [
    line('Expected', `at least ${countOf(expect.count)} since ${since}, at ${key.source}`),
    line('Due', `${utcTime(deadline.due)} UTC (${localTime(deadline.due, expect.zone)})`),
    ...(error === undefined ? [] : [line('Because', `${error.code}: ${error.message}`)]),
    ...(error === undefined && arrived.length === 0 ? [line('Arrived', 'none')] : []),
    ...arrived.map((file) => line('Arrived', fileWords(file, expect.zone, deadline.due))),
    ...small.map((one) => line('Small', smallWords(one))),
    ...waiting.map((one) => line('Waiting', waitingText(one, source))),
    ...(latestDates.length === 0 ? [] : [line('Dates', `latest: ${latestDates.join(', ')}`)]),
  ]
}

function fileWords({ name, bytes, modifiedAt }: ArrivedFile, zone: string, due: number): string {
  const late = modifiedAt > due ? ', late' : ''
  return `${name} (${bytesWords(bytes)}, of ${localTime(modifiedAt, zone)}${late})`
}

/** `a.csv has 12 bytes, usually 1,000 bytes` */
export const smallWords = ({ name, bytes, usual }: Omit<SmallExport, 'modifiedAt'>): string =>
  `${name} has ${bytesWords(bytes)}, usually ${bytesWords(usual)}`

const bytesWords = (bytes: number): string => counted(Math.round(bytes), 'byte')

const smallJson = ({ name, bytes, usual }: SmallExport) => ({ name, bytes, usual })

const instant = (at: number): string => new Date(at).toISOString()

/** JSON for programs. */
export const assessmentJson = (assessment: Assessment) => {
  const { watched, deadline, at, state, arrived, small, waiting, latestDates, error } = assessment
  const { key, expect } = watched
  return {
    job: key.job,
    source: key.source,
    mapping: key.mapping,
    by: expect.by,
    zone: expect.zone,
    due: instant(deadline.due),
    local: localTime(deadline.due, expect.zone),
    since: instant(deadline.previous),
    next: instant(deadline.next),
    judgedAt: instant(at),
    state,
    expected: expect.count,
    arrived: arrived.map(({ name, bytes, modifiedAt }) => ({
      name,
      bytes,
      modifiedAt: instant(modifiedAt),
      late: modifiedAt > deadline.due,
    })),
    small: small.map(smallJson),
    incomplete: waiting.map(({ delivery, lacks }) => ({ name: delivery.name, lacks })),
    latestDates,
    ...(error === undefined ? {} : { error: error.code }),
  }
}

/** @param gateway name in the ledger */
export function expectationNotices(assessment: Assessment, gateway: string): UnsentNotice[] {
  const { watched, deadline, at, state, arrived, small, error } = assessment
  const { job, source, mapping } = watched.key
  const cause = error === undefined ? undefined : `${error.code}: ${error.message}`
  const common = { job, gateway, at, cause, data: assessmentJson(assessment) }
  const lines = assessmentLines(assessment)
  const late = (failure: boolean, title: string, ...next: readonly string[]): UnsentNotice => ({
    ...common,
    kind: 'export-late',
    subject: `${new Date(deadline.due).toISOString()} ${source} (${mapping}) ${state}`,
    failure,
    title: `Waybill: ${job}: ${title}`,
    text: lines,
    next,
  })
  const look = `    waybill expect ${job}`
  const run = `    waybill run ${job}`
  const ofState = {
    arrived: () => [],
    late: () => [late(false, `${countWords(assessment)}, late`, ...lateSteps(assessment))],
    missing: () => [
      late(
        true,
        `${countWords(assessment)}, ${watched.expect.count - arrived.length} missing`,
        '  To check whether it has arrived since',
        look,
        '  When it has arrived, unless the schedule runs it',
        run,
      ),
    ],
    unreachable: () => [
      late(
        true,
        `exports at ${source} could not be checked (${error?.code})`,
        '    waybill doctor --sources',
        look,
      ),
    ],
  }
  return [
    ...ofState[state](),
    ...small.map((one) => ({
      ...common,
      ...smallParts(job, { ...one, source, mapping }),
      text: lines,
      next: [`${run} --dry-run`],
    })),
  ]
}

/** Notice of a run with a strangely small export. @param run id of the run */
export function smallNotice(
  { job, gateway, at }: Pick<UnsentNotice, 'job' | 'gateway' | 'at'>,
  run: string,
  small: SmallDelivery,
): UnsentNotice {
  const { source, mapping } = small
  return {
    job,
    gateway,
    at,
    ...smallParts(job, small),
    text: [`Run      ${run} has started with it`, `Source   ${source}`, `Small    ${smallWords(small)}`],
    next: ['  To see the result', `    waybill show ${run}`],
    data: { job, source, mapping, run, small: [smallJson(small)] },
  }
}

/** Parts of a notice. The subject is the version of the file: run and deadline send a single notice between them. */
const smallParts = (job: string, { name, bytes, modifiedAt, usual, source, mapping }: SmallDelivery) => ({
  kind: 'export-small' as const,
  subject: `${source} (${mapping}) ${name} ${bytes} ${new Date(modifiedAt).toISOString()}`,
  failure: true,
  title: `Waybill: ${job}: ${name} has ${Math.round((bytes / usual) * 100)} % of the usual size`,
})

/** Next steps for late exports; nothing to run if runs have read all. */
function lateSteps({ watched, deadline, arrived }: Assessment): string[] {
  const { job } = watched.key
  const isTaken = arrived
    .filter(({ modifiedAt }) => modifiedAt > deadline.due)
    .every(({ takenAt }) => takenAt !== undefined)
  return isTaken
    ? ['  A run has read it. To find the run, for `waybill show RUN`', `    waybill runs --job ${job}`]
    : ['  To run it, unless the schedule does', `    waybill run ${job}`]
}
