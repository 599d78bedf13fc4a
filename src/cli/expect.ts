/** `waybill expect`: whether the exports have arrived that jobs expect by now. */
import { type Job, readJob } from '../definitions/definition-files.ts'
import { gatewayNameOf, targetsOf } from '../definitions/jobs.ts'
import type { Assessment } from '../expect/assess.ts'
import { assessmentJson, assessmentLines, countWords } from '../expect/expectation-text.ts'
import { type ExpectationParts, judgeJob } from '../expect/expectation-watch.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { EXIT, WaybillError } from '../model/errors.ts'
import { sourceSettings } from '../runs/connect-gateway.ts'
import { mailedReport } from '../runs/run-and-tell.ts'
import { createTeller } from '../runs/teller.ts'
import { localTime } from '../schedule/cron-line.ts'
import type { Action, CommandContext } from './context.ts'
import { describeError, errorAsJson } from './describe-error.ts'
import { listJobs } from './scheduled-jobs.ts'

export interface ExpectOptions {
  /** Undefined: all jobs that expect anything. */
  readonly job?: string | undefined
  readonly quiet?: true
  readonly json?: true
}

export const expect: Action<ExpectOptions> = async (context, { job, quiet, json }) => {
  const { jobs, problems } = await expectingJobs(context, job)
  const found = jobs.length === 0 ? [] : await judgeJobs(context, jobs)
  const exit = Math.max(problems[0]?.problem.exit ?? EXIT.ok, ...found.map(exitOf))
  if (json) {
    const broken = problems.map(({ name, problem }) => ({ job: name, ...errorAsJson(problem) }))
    context.out(JSON.stringify({ exit, expectations: [...found.map(assessmentJson), ...broken] }))
  } else {
    if (jobs.length + problems.length === 0 && !quiet)
      context.out('No job expects anything. See docs/jobs.md, "Expected".')
    for (const one of found) if (!quiet || exitOf(one) !== EXIT.ok) context.out(assessmentText(one))
  }
  for (const { problem } of problems) context.err(describeError(problem))
  return exit
}

async function expectingJobs(
  { settings }: CommandContext,
  name: string | undefined,
): Promise<{
  readonly jobs: readonly Job[]
  readonly problems: readonly { readonly name: string; readonly problem: WaybillError }[]
}> {
  const expects = ({ sources }: Job): boolean => sources.some(({ expect }) => expect !== undefined)
  if (name !== undefined) {
    const job = await readJob(settings, name)
    if (expects(job)) return { jobs: [job], problems: [] }
    throw new WaybillError('usage-wrong', `the job ${job.definition.job} expects nothing`, {
      remedy:
        'Write `expect: { by: "30 1 * * 1-5", zone: America/New_York }` under its exports: docs/jobs.md, "Expected".',
    })
  }
  const listed = await listJobs(settings)
  return {
    jobs: listed.flatMap((one) => ('job' in one && expects(one.job) ? [one.job] : [])),
    problems: listed.flatMap((one) => ('problem' in one ? [one] : [])),
  }
}

async function judgeJobs(context: CommandContext, jobs: readonly Job[]): Promise<Assessment[]> {
  const ledger = await context.openLedger()
  try {
    const teller = createTeller(context, ledger, new Map(), mailedReport(context, ledger))
    const parts = expectationParts(context, ledger, (job, notice) => teller.tell(notice, targetsOf(job)))
    const found: Assessment[] = []
    for (const job of jobs) found.push(...(await judgeJob(parts, job)))
    await teller.deliver()
    return found
  } finally {
    await ledger.close()
  }
}

const exitOf = ({ state, small, error }: Assessment): number =>
  error?.exit ?? (state === 'missing' || small.length > 0 ? EXIT.recordsLeftBehind : EXIT.ok)

function assessmentText(assessment: Assessment): string[] {
  const { watched, deadline, state } = assessment
  const head = `${watched.key.job}: ${state}: ${countWords(assessment)}`
  const next = `Then     by ${localTime(deadline.next, watched.expect.zone)}`
  return [head, ...[...assessmentLines(assessment), next].map((line) => `  ${line}`), '']
}

/** A look that has taken so long is given up: the next one may do better, and the job is to be looked at again. */
const PATIENCE_MS = 5 * 60_000

export const expectationParts = (
  { settings, now, interrupt }: CommandContext,
  ledger: Ledger,
  tell: ExpectationParts['tell'],
): ExpectationParts => ({
  ledger,
  gatewayOf: (job) => gatewayNameOf(settings, job.definition),
  sources: sourceSettings(settings),
  now,
  patience: () => AbortSignal.any([AbortSignal.timeout(PATIENCE_MS), interrupt]),
  tell,
})
