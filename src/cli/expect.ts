/** `waybill expect`: whether the exports have arrived that jobs expect by now. */
import type { Assessment } from '../expect/assess.ts'
import { assessmentJson, assessmentLines, countWords } from '../expect/expectation-text.ts'
import { EXIT } from '../model/errors.ts'
import { lookForExpected } from '../runs/expectations.ts'
import { localTime } from '../schedule/cron-line.ts'
import type { Action } from './commands.ts'
import { errorAsJson, errorLines } from './describe-error.ts'
import { folded } from './plain-table.ts'

export const expect: Action<'expect'> = async (context, { job, quiet, json }) => {
  const { jobs, found, problems } = await lookForExpected(context, job)
  const exit = Math.max(problems[0]?.problem.exit ?? EXIT.ok, ...found.map(exitOf))
  if (json) {
    const broken = problems.map(({ name, problem }) => ({ job: name, ...errorAsJson(problem) }))
    context.out(JSON.stringify({ exit, expectations: [...found.map(assessmentJson), ...broken] }))
  } else {
    if (jobs.length + problems.length === 0 && !quiet)
      context.out('No job expects anything. See docs/jobs.md, "Expected".')
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
