/** What is told of an expectation that has not come true. Pure. Each has a subject, so that it is told once: for its deadline, or of a version of a file. */

import type { UnsentNotice } from '../notify/notice.ts'
import type { SmallDelivery } from '../run/small-exports.ts'
import type { Assessment } from './assess.ts'
import { assessmentJson, assessmentLines, countWords, smallJson, smallWords } from './expectation-text.ts'

/** @param gateway as the ledger names it */
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
        '  To see whether it has come since',
        look,
        '  Once it has come, where the schedule does not run it',
        run,
      ),
    ],
    unreachable: () => [
      late(
        true,
        `nobody could look whether exports have arrived at ${source} (${error?.code})`,
        '    waybill doctor --sources',
        look,
      ),
    ],
  }
  return [
    ...ofState[state](),
    ...small.map((one) => ({
      ...common,
      ...smallTold(job, { ...one, source, mapping }),
      text: lines,
      next: [`${run} --dry-run`],
    })),
  ]
}

/** What is told of a run that begins with an export which is strangely small. @param run its id */
export function smallNotice(
  { job, gateway, at }: Pick<UnsentNotice, 'job' | 'gateway' | 'at'>,
  run: string,
  small: SmallDelivery,
): UnsentNotice {
  const { source, mapping } = small
  return {
    ...{ job, gateway, at },
    ...smallTold(job, small),
    text: [`Run      ${run} has begun with it`, `Source   ${source}`, `Small    ${smallWords(small)}`],
    next: ['  To see what becomes of it', `    waybill show ${run}`],
    data: { job, source, mapping, run, small: [smallJson(small)] },
  }
}

/** The subject is the version of the file: the run that begins with it and the deadline that it counts for tell it once between them. */
const smallTold = (job: string, { name, bytes, modifiedAt, usual, source, mapping }: SmallDelivery) => ({
  kind: 'export-small' as const,
  subject: `${source} (${mapping}) ${name} ${bytes} ${new Date(modifiedAt).toISOString()}`,
  failure: true,
  title: `Waybill: ${job}: ${name} has ${Math.round((bytes / usual) * 100)} % of the usual size`,
})

/** Where a run has taken all that came late, there is nothing to run any more. */
function lateSteps({ watched, deadline, arrived }: Assessment): string[] {
  const { job } = watched.key
  const isTaken = arrived
    .filter(({ modifiedAt }) => modifiedAt > deadline.due)
    .every(({ takenAt }) => takenAt !== undefined)
  return isTaken
    ? ['  A run has taken it; what became of it, `waybill show RUN` says', `    waybill runs --job ${job}`]
    : ['  Where the schedule does not run it', `    waybill run ${job}`]
}
