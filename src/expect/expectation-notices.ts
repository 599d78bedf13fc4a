/** What is told of an expectation that has not come true. Pure. Each has a subject, so that it is told once for each deadline. */
import type { Notice } from '../notify/notice.ts'
import type { Assessment } from './assess.ts'
import { assessmentJson, assessmentLines, countWords } from './expectation-text.ts'

/** @param gateway as the ledger names it */
export function expectationNotices(assessment: Assessment, gateway: string): Notice[] {
  const { watched, deadline, at, state, arrived, small, error } = assessment
  const { job, source, mapping } = watched.key
  const about = `${new Date(deadline.due).toISOString()} ${source} (${mapping})`
  const common = { job, gateway, at, data: assessmentJson(assessment) }
  const lines = assessmentLines(assessment)
  const notice = (
    kind: Notice['kind'],
    what: { readonly about: string; readonly failure: boolean; readonly title: string },
    next: readonly string[],
  ): Notice => ({
    ...common,
    kind,
    subject: `${about} ${what.about}`,
    failure: what.failure,
    title: `Waybill: ${job}: ${what.title}`,
    text: [...lines, 'Next', ...next],
  })
  const late = (failure: boolean, title: string, ...next: readonly string[]): Notice =>
    notice('export-late', { about: state, failure, title }, next)
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
    ...small.map(({ name, bytes, usual }) => {
      const title = `${name} has ${Math.round((bytes / usual) * 100)} % of the usual size`
      return notice('export-small', { about: `${name} ${bytes}`, failure: true, title }, [`${run} --dry-run`])
    }),
  ]
}

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
