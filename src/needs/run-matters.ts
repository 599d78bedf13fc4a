/** Matters that runs left open: each is the subject of a need, with the steps that the story of the run gives. Pure. */
import type { OpenMatters } from '../ledger/ledger.ts'
import { command, nextSteps, type Step, stepsForPart } from '../story/next-steps.ts'
import type { RunStory } from '../story/run-story.ts'
import { shellWord } from '../system/shown-text.ts'
import type { NeedsFacts, OpenRun, Part, RunInNeed } from './need.ts'

/** An open matter of a run. */
interface Matter extends Partial<Pick<Part, 'exports' | 'rows' | 'records' | 'since'>> {
  /** Equal for runs with a common need. */
  readonly subject: string
  readonly code: string
  /** Outcome of rows and records, if the matter is about any. */
  readonly outcome?: 'rejected' | 'in-doubt'
  /** True if the next start of the job continues the run. */
  readonly continues?: true
  /** @param isOneOf true if several runs of the job have this matter */
  readonly stepsOf: (story: RunStory, isOneOf: boolean) => readonly Step[]
}

export type Matters = (run: OpenRun) => readonly Matter[]

export const isUnfinished = ({ state }: Pick<OpenRun, 'state'>): boolean =>
  state === 'running' || state === 'interrupted'

const step = (say: string, ...commands: readonly string[]): Step => ({ say, commands })

const stepsOfRun = ({ summary, reasons }: RunStory): readonly Step[] => nextSteps(summary, reasons)

/** An unfinished run. Runs that wait for one gateway have one need. */
const unfinished: Matters = (run) => {
  if (!isUnfinished(run) || run.backfill !== null) return []
  const code = run.reason ?? 'stopped'
  const subject = `${code} ${code.startsWith('gateway-') ? run.gateway : run.job}`
  return [{ subject, code, continues: true, stepsOf: stepsOfRun }]
}

const backfill: Matters = (run) => {
  if (!isUnfinished(run) || run.backfill === null) return []
  return [
    {
      subject: run.job,
      code: run.reason ?? 'stopped',
      stepsOf: (story) => [
        ...stepsOfRun(story),
        step('Or, to end it as it is', command('resolve', run.id, '--give-up')),
      ],
    },
  ]
}

const failed: Matters = ({ open, reason, job }) => {
  const code = reason ?? 'failed'
  if (!open.isFailed) return []
  return [
    {
      subject: `${code} ${job}`,
      code,
      stepsOf: ({ summary, reasons }) =>
        code === 'given-up' ? nextSteps(summary, reasons) : stepsForPart(summary, { of: 'failure', reasons }),
    },
  ]
}

const exports: Matters = ({ open, job }) =>
  open.exports.map(({ name, reason: code }) => ({
    subject: `${job} ${name} ${code}`,
    code,
    exports: [name],
    stepsOf: ({ summary }) => stepsForPart(summary, { of: 'export', name, code }),
  }))

const unarchived: Matters = ({ open, job }) =>
  open.unarchived.map(({ name, message }) => ({
    subject: `${job} ${message}`,
    code: 'export-unarchived',
    exports: [name],
    stepsOf: ({ summary }) => stepsForPart(summary, { of: 'unarchived', message }),
  }))

/** Matters of a run, by cause of the need. */
export const RUN_MATTERS = {
  'run-unfinished': unfinished,
  'backfill-unfinished': backfill,
  'run-failed': failed,
  'export-failed': exports,
  'export-unarchived': unarchived,
  'left-rejected': (run) => leftMatters(run, 'rejected'),
  'left-in-doubt': (run) => leftMatters(run, 'in-doubt'),
} as const satisfies Record<string, Matters>

/** Rows and records left behind: a matter for each reason. */
function leftMatters(run: OpenRun, outcome: 'rejected' | 'in-doubt'): Matter[] {
  const codes = Map.groupBy(
    run.open.left.filter((left) => left.outcome === outcome),
    ({ code }) => code,
  )
  return [...codes].map(([code, all]) => leftMatter(run, outcome, code, all))
}

function leftMatter(
  run: OpenRun,
  outcome: 'rejected' | 'in-doubt',
  code: string,
  all: OpenMatters['left'],
): Matter {
  const sum = (count: (left: OpenMatters['left'][number]) => number): number =>
    all.reduce((total, left) => total + count(left), 0)
  const [rows, records] = [sum((left) => left.rows), sum((left) => left.records)]
  const exports = new Set(all.map((left) => left.export))
  const isRejected = outcome === 'rejected'
  return {
    subject: `${run.job} ${code}`,
    code,
    outcome,
    since: Math.min(run.started_at, ...all.map(({ since }) => since ?? run.started_at)),
    exports: [...exports],
    rows,
    records,
    stepsOf: ({ summary, reasons }, isOneOf) =>
      stepsForPart(summary, {
        of: 'left',
        open: reasons.filter(
          (reason) => reason.code === code && reason.outcome === outcome && exports.has(reason.exportName),
        ),
        rejected: isRejected ? rows + records : 0,
        inDoubt: isRejected ? 0 : rows + records,
        which: isOneOf ? `--job ${shellWord(run.job)} --reason ${code}` : undefined,
        code,
      }),
  }
}

/** Parts of needs: a part for each matter of a run. */
export function partsOf(matters: Matters, { runs, refused, people }: NeedsFacts): Part[] {
  const found = runs.flatMap((run) => matters(run).map((matter) => ({ run, matter })))
  // The next start continues the run: if the start is refused, the refusal is the need.
  const open = found.filter(
    ({ run, matter }) => matter.continues !== true || !refused.some(({ job }) => job === run.job),
  )
  const ofJob = ({ run, matter }: (typeof open)[number]): string => `${run.job} ${matter.subject}`
  const counts = Map.groupBy(open, ofJob)
  return open.map((one) => {
    const isOneOf = (counts.get(ofJob(one))?.length ?? 0) > 1
    return partOf(one.run, one.matter, isOneOf, people)
  })
}

function partOf(
  { id, job, started_at, story }: RunInNeed,
  { stepsOf, outcome, continues: _, ...matter }: Matter,
  isOneOf: boolean,
  people: NeedsFacts['people'],
): Part {
  const concerned = people.find(
    (of) => of.job === job && of.code === matter.code && of.outcome === outcome,
  )?.people
  return {
    exports: [],
    since: started_at,
    ...matter,
    ...(concerned === undefined || concerned === 0 ? {} : { people: concerned }),
    jobs: [job],
    runs: [id],
    steps: story === undefined ? [] : stepsOf(story, isOneOf),
  }
}
