/**
 * The one list of what needs somebody, for every face: command, doctor, metrics and pages. Each source is a function of one table; one cause is
 * one need, however many nights or jobs it has. Pure.
 */
import type { OpenMatters, RunRecord } from '../ledger/ledger.ts'
import { command, nextSteps, type Step, stepsForPart } from '../story/next-steps.ts'
import type { RunStory, RunSummary } from '../story/run-story.ts'
import { counted, shellWord, sizeText, utcTime } from '../system/shown-text.ts'
import type { RefusedStart } from './refused-starts.ts'

/** Something that needs a person. */
export interface Need {
  /** Source of the need: a row of the table below. */
  readonly cause: Cause
  /** Error code, or reason code. */
  readonly code?: string
  /** Sorted. Empty for the installation as a whole. */
  readonly jobs: readonly string[]
  /** One line; no health data. */
  readonly what: string
  /** Milliseconds since the epoch; undefined if nobody knows. */
  readonly since: number | undefined
  /** Runs concerned, newest first. */
  readonly runs: readonly string[]
  /** Starts or runs with this cause, for `on 3 nights`. */
  readonly times: number
  readonly exports: readonly string[]
  /** Rows and records left behind by the newest run. */
  readonly rows?: number
  readonly records?: number
  /** Steps that end the need, with commands to type. */
  readonly steps: readonly Step[]
}

/** A run that needs somebody. */
export interface RunInNeed extends Pick<RunRecord, 'id' | 'state' | 'reason' | 'started_at' | 'backfill'> {
  readonly job: string
  readonly gateway: string
  /** What the run left open: neither settled since nor acknowledged. */
  readonly open: OpenMatters
  /** Of the newest run of each matter alone (`newestOfEach`): it gives the steps. */
  readonly story?: RunStory
}

export interface NeedsFacts {
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly refused: readonly RefusedStart[]
  /** Runs that need somebody and that no process is working on, newest first. */
  readonly runs: readonly RunInNeed[]
  /** Newest finished run of each job that owes marks or deletions. */
  readonly owing: readonly RunSummary[]
  /** Expectations whose latest deadline has passed without the exports. */
  readonly overdue: readonly OverdueExport[]
  /** Targets with notifications that were given up, or wait for long. */
  readonly undelivered: readonly {
    readonly job: string
    readonly target: string
    readonly count: number
    readonly error: string | null
    readonly since: number
  }[]
  readonly missed: readonly { readonly job: string; readonly due: number; readonly reason: string }[]
  readonly pauses: readonly {
    readonly job: string
    readonly by: string
    readonly note: string | null
    readonly at: number
  }[]
  /** Scheduled jobs whose fire is due for so long that no schedule can be running. */
  readonly unscheduled: readonly { readonly job: string; readonly due: number }[]
  /** Jobs that were not done by their deadline. */
  readonly late: readonly LateJob[]
  /** A restored or copied ledger, and the jobs that have finished no run with it. */
  readonly copy: { readonly takenAt: number; readonly jobs: readonly string[] } | undefined
  /** The ledger cannot be used. */
  readonly ledger: Trouble | undefined
  /** Free bytes of the home, and the least for a run; undefined without a home. */
  readonly room: { readonly free: number; readonly least: number; readonly home: string } | undefined
  readonly backup: { readonly latestAt: number | undefined; readonly firstRunAt: number | undefined }
}

export interface OverdueExport {
  readonly job: string
  readonly source: string
  readonly due: number
  readonly expected: number
  readonly arrived: number
  readonly isUnreachable: boolean
}

/** A job whose fire was not done by its deadline. */
export interface LateJob {
  readonly job: string
  readonly by: number
  readonly fire: { readonly due: number; readonly state: string; readonly run_id: string | null }
}

export interface Trouble {
  readonly code: string
  readonly message: string
  readonly remedy: string
}

/** A need before needs of one cause become one. */
interface Part extends Omit<Need, 'what' | 'times' | 'cause'> {
  /** Parts with equal subjects are one need. */
  readonly subject: string
  readonly times?: number
}

interface Source {
  readonly parts: (facts: NeedsFacts) => Part[]
  /** @param need joined from its parts */
  readonly what: (need: Omit<Need, 'what' | 'cause'>) => string
}

const DAY_MS = 86_400_000
/** A pause that lasts so long was perhaps forgotten. */
const PAUSED_LONG_MS = 7 * DAY_MS
/** Age of the latest backup from which somebody should look. */
const BACKUP_OLD_MS = 30 * DAY_MS

const step = (say: string, ...commands: readonly string[]): Step => ({ say, commands })
const ofJobs = ({ jobs }: Pick<Need, 'jobs'>): string => jobs.join(', ')
/** ` on 3 nights` */
const nights = ({ times }: Pick<Need, 'times'>): string => (times > 1 ? `, in ${counted(times, 'run')}` : '')
const NOTHING = { runs: [], exports: [] } as const

/** All sources, in the order of the list for needs of one time. */
const SOURCES = {
  ledger: {
    parts: ({ ledger, refused }) =>
      ledger === undefined
        ? []
        : atOnce(refused, ledger.code, step(`${ledger.message}. ${ledger.remedy}`, command('doctor'))),
    what: ({ code }) => `the ledger cannot be used (${code})`,
  },
  disk: {
    parts: ({ room, refused }) =>
      !isShort(room) || room === undefined
        ? []
        : atOnce(
            refused,
            DISK_FULL,
            step(
              `${sizeText(room.free)} are free on the disk of ${room.home}, and a run begins only with ${sizeText(room.least)}: make room`,
              command('prune', '--older-than', '180d', '--dry-run'),
            ),
          ),
    what: () => `the disk is full: no run begins (${DISK_FULL})`,
  },
  'start-refused': {
    parts: ({ refused, ledger, room }) =>
      refused
        .filter(({ code }) => code !== ledger?.code && !(code === DISK_FULL && isShort(room)))
        .map(({ job, code, message, findings, remedy, since, times }) => ({
          ...NOTHING,
          subject: `${code} ${message}`,
          code,
          jobs: [job],
          since,
          times,
          steps: [
            ...[`${message}.`, ...findings, remedy].map((line) => step(line)),
            step('Then', command('run', shellWord(job))),
            step('To take it off this list as it is', command('acknowledge', '--job', shellWord(job))),
          ],
        })),
    what: (need) =>
      `${ofJobs(need)} could not run (${need.code})${need.times > 1 ? `, ${counted(need.times, 'time')}` : ''}`,
  },
  'run-unfinished': {
    parts: ({ runs, refused }) =>
      runs.filter(isUnfinished).flatMap((run) => {
        const { job, gateway } = run
        const reason = run.reason ?? 'stopped'
        // The next start finishes the run: what refuses the start is the need.
        if (run.backfill !== null || refused.some((one) => one.job === job)) return []
        const subject = `${reason} ${reason.startsWith('gateway-') ? gateway : job}`
        return [partOf(run, reason, subject, ({ summary, reasons }) => nextSteps(summary, reasons))]
      }),
    what: (need) => `${ofJobs(need)} stopped before the end (${need.code}): it goes on where it stopped`,
  },
  'backfill-unfinished': {
    parts: ({ runs }) =>
      runs
        .filter((run) => isUnfinished(run) && run.backfill !== null)
        .map((run) =>
          partOf(run, run.reason ?? 'stopped', run.job, ({ summary, reasons }) => [
            ...nextSteps(summary, reasons),
            step('Or, to end it as it is', command('resolve', run.id, '--give-up')),
          ]),
        ),
    what: (need) => `the backfill of ${ofJobs(need)} is unfinished (${need.code})`,
  },
  'run-failed': {
    parts: ({ runs }) =>
      runs
        .filter(({ open }) => open.isFailed)
        .map((run) => {
          const reason = run.reason ?? 'failed'
          return partOf(run, reason, `${reason} ${run.job}`, ({ summary, reasons }) =>
            reason === 'given-up'
              ? nextSteps(summary, reasons)
              : stepsForPart(summary, { of: 'failure', reasons }),
          )
        }),
    what: (need) => `${ofJobs(need)} failed (${need.code})${nights(need)}`,
  },
  'export-failed': {
    parts: ({ runs }) =>
      runs.flatMap((run) =>
        run.open.exports.map(({ name, reason: code }) => ({
          ...partOf(run, code, `${run.job} ${name} ${code}`, ({ summary }) =>
            stepsForPart(summary, { of: 'export', name, code }),
          ),
          exports: [name],
        })),
      ),
    what: (need) =>
      `${ofJobs(need)}: ${need.exports.join(', ')} was not delivered (${need.code})${nights(need)}`,
  },
  'left-rejected': { parts: leftParts('rejected'), what: leftWords('rejected') },
  'left-in-doubt': { parts: leftParts('in-doubt'), what: leftWords('in doubt') },
  owed: {
    parts: ({ owing }) =>
      owing.map((summary) => ({
        subject: summary.job,
        jobs: [summary.job],
        since: Date.parse(summary.startedAt),
        runs: [summary.run],
        exports: [],
        steps: stepsForPart(summary, { of: 'owed' }),
      })),
    what: (need) => `${ofJobs(need)} owes marks or deletions at the gateway`,
  },
  'export-late': {
    parts: ({ overdue }) =>
      overdue.map(({ job, source, due, expected, arrived, isUnreachable }) => ({
        ...NOTHING,
        subject: `${job} ${source}`,
        code: isUnreachable ? 'source-unreachable' : 'export-late',
        jobs: [job],
        since: due,
        steps: [
          step(
            isUnreachable
              ? `${source} could not be read. To look again`
              : `${arrived} of ${counted(expected, 'export')} came to ${source}. When the rest is there`,
            isUnreachable ? command('expect', shellWord(job)) : command('run', shellWord(job)),
          ),
        ],
      })),
    what: (need) =>
      need.code === 'source-unreachable'
        ? `the source of ${ofJobs(need)} cannot be reached`
        : `exports of ${ofJobs(need)} are late`,
  },
  'job-late': {
    parts: lateParts,
    what: (need) => `${ofJobs(need)} was not done by its deadline`,
  },
  'schedule-silent': {
    parts: ({ unscheduled }) =>
      unscheduled.map(({ job, due }) => ({
        ...NOTHING,
        subject: 'schedule',
        jobs: [job],
        since: due,
        steps: [step('No schedule has looked at a time that is due. To start it', command('schedule'))],
      })),
    what: (need) => `no schedule is running: ${ofJobs(need)} ${need.jobs.length === 1 ? 'is' : 'are'} due`,
  },
  'fire-missed': {
    parts: ({ missed }) =>
      [...Map.groupBy(missed, ({ job, reason }) => `${job} ${reason}`)].flatMap(([subject, fires]) =>
        fires.slice(0, 1).map(({ job, reason }) => ({
          ...NOTHING,
          subject,
          code: reason,
          jobs: [job],
          since: Math.min(...fires.map(({ due }) => due)),
          times: fires.length,
          steps: [
            step('The next run reads what has come since; for it now', command('run', shellWord(job))),
            step('To look at the fires', command('schedule', '--explain', shellWord(job))),
          ],
        })),
      ),
    what: (need) => `${ofJobs(need)} missed ${counted(need.times, 'fire')} (${need.code})`,
  },
  paused: {
    parts: ({ pauses, now }) =>
      pauses
        .filter(({ at }) => now - at >= PAUSED_LONG_MS)
        .map(({ job, by, note, at }) => ({
          ...NOTHING,
          subject: job,
          jobs: [job],
          since: at,
          steps: [
            step(
              `Paused by ${by} on ${utcTime(at)} UTC${note === null ? '' : ` (${note})`}. To end the pause`,
              command('unpause', shellWord(job)),
            ),
          ],
        })),
    what: (need) => `${ofJobs(need)} is paused for long`,
  },
  'notice-undelivered': {
    parts: ({ undelivered }) =>
      undelivered.map(({ job, target, error, since, count }) => ({
        ...NOTHING,
        subject: `${target} ${error ?? ''}`,
        jobs: [job],
        since,
        times: count,
        steps: [
          step(
            `${target} takes no notices${error === null ? '' : `: ${error}`}. Once that is mended`,
            command('notify', shellWord(job)),
          ),
        ],
      })),
    what: (need) => `${counted(need.times, 'notice')} of ${ofJobs(need)} not delivered`,
  },
  'ledger-copy': {
    parts: ({ copy }) =>
      (copy?.jobs ?? []).map((job) => ({
        ...NOTHING,
        subject: 'copy',
        jobs: [job],
        since: copy?.takenAt,
        steps: [
          step('A run of the job looks for what the copy does not know', command('run', shellWord(job))),
        ],
      })),
    what: (need) =>
      `the ledger was restored from a backup: ${ofJobs(need)} ${need.jobs.length === 1 ? 'has' : 'have'} not run since`,
  },
  'backup-old': {
    parts: ({ backup: { latestAt, firstRunAt }, now }) => {
      const since = latestAt ?? firstRunAt
      if (since === undefined || now - since < BACKUP_OLD_MS) return []
      const say = latestAt === undefined ? 'No backup is known. To make one' : 'To make one'
      const steps = [step(say, command('backup', 'FILE'))]
      return [{ ...NOTHING, subject: 'backup', jobs: [], since, steps }]
    },
    what: () => 'the ledger has no backup of the last 30 days',
  },
} as const satisfies Record<string, Source>

export type Cause = keyof typeof SOURCES

/** All needs, oldest first. */
export function needsOf(facts: NeedsFacts): Need[] {
  const needs = Object.entries<Source>(SOURCES).flatMap(([cause, { parts, what }]) =>
    [...Map.groupBy(parts(facts), ({ subject }) => subject).values()].map((group) => {
      const need = joined(group)
      return { cause: cause as Cause, ...need, what: what(need) }
    }),
  )
  return needs.sort((a, b) => (a.since ?? 0) - (b.since ?? 0))
}

/** JSON for programs. Instants are ISO 8601, UTC. */
export const needJson = ({ since, ...need }: Need) => ({
  ...need,
  ...(since === undefined ? {} : { since: new Date(since).toISOString() }),
})

const DISK_FULL = 'disk-full'

const isShort = (room: NeedsFacts['room']): boolean => room !== undefined && room.free < room.least

/** A trouble of the whole installation, and the jobs that it kept from running. */
function atOnce(refused: readonly RefusedStart[], code: string, first: Step): Part[] {
  const kept = refused.filter((one) => one.code === code)
  const sinces = kept.map(({ since }) => since)
  const commands = kept.map(({ job }) => command('run', shellWord(job)))
  return [
    {
      ...NOTHING,
      subject: code,
      code,
      jobs: kept.map(({ job }) => job),
      since: sinces.length === 0 ? undefined : Math.min(...sinces),
      steps: commands.length === 0 ? [first] : [first, step('Then', ...commands)],
    },
  ]
}

/** Jobs past their deadline. A run that has stopped or failed, or was refused, is a need of its own. */
function lateParts({ late, runs, refused }: NeedsFacts): Part[] {
  const named = new Set([
    ...refused.map(({ job }) => job),
    ...runs.filter((run) => isUnfinished(run) || run.open.isFailed).map(({ job }) => job),
  ])
  return late
    .filter(({ job }) => !named.has(job))
    .map(({ job, by, fire: { due, state, run_id: run } }) => ({
      ...NOTHING,
      subject: job,
      jobs: [job],
      since: by,
      runs: run === null ? [] : [run],
      steps: [
        step(
          `Due on ${utcTime(due)} UTC, to be done by ${utcTime(by)} UTC`,
          ...(state === 'running' && run !== null
            ? [command('watch', run)]
            : [command('run', shellWord(job))]),
        ),
      ],
    }))
}

/** Joins the parts of one cause. Runs come newest first: the newest gives the steps. */
function joined([first, ...others]: readonly Part[]): Omit<Need, 'what' | 'cause'> {
  if (first === undefined) throw new RangeError('a need has a part')
  const { subject: _, ...newest } = first
  const all = [first, ...others]
  const sinces = all.flatMap(({ since }) => since ?? [])
  const jobs = [...new Set(all.flatMap((part) => part.jobs))].sort()
  return {
    ...newest,
    jobs,
    since: sinces.length === 0 ? undefined : Math.min(...sinces),
    runs: [...new Set(all.flatMap(({ runs }) => runs))],
    exports: [...new Set(all.flatMap((part) => part.exports))],
    times: all.reduce((sum, { times = 1 }) => sum + times, 0),
    steps: stepsOfAll(all),
  }
}

/** Steps of the newest part, and of the others those whose commands are different: a cause of several jobs has a command for each. */
function stepsOfAll(parts: readonly Part[]): Step[] {
  const said = new Map<string, string[]>()
  for (const { steps } of parts)
    for (const { say, commands } of steps) {
      const known = said.get(say)
      if (known === undefined) said.set(say, [...commands])
      else known.push(...commands.filter((one) => !known.includes(one)))
    }
  return [...said].map(([say, commands]) => ({ say, commands }))
}

const isUnfinished = ({ state }: Pick<RunInNeed, 'state'>): boolean =>
  state === 'running' || state === 'interrupted'

/** @param stepsOf steps of the newest run of the matter; other runs have none of their own */
function partOf(
  { id, job, started_at, story }: RunInNeed,
  code: string,
  subject: string,
  stepsOf: (story: RunStory) => readonly Step[],
): Part {
  const steps = story === undefined ? [] : stepsOf(story)
  return { subject, code, jobs: [job], since: started_at, runs: [id], exports: [], steps }
}

/** Chooses the newest run of each matter of a job: its story gives the steps. @param runs newest first */
export function newestOfEach(runs: readonly Omit<RunInNeed, 'story'>[]): ReadonlySet<string> {
  const seen = new Set<string>()
  const isFirst = (matter: string): boolean => !seen.has(matter) && seen.add(matter).has(matter)
  const mattersOf = ({ job, state, reason, backfill, open }: Omit<RunInNeed, 'story'>): string[] => [
    ...(isUnfinished({ state }) ? [`${job} unfinished ${reason} ${backfill !== null}`] : []),
    ...(open.isFailed ? [`${job} failed ${reason}`] : []),
    ...open.exports.map((one) => `${job} export ${one.name} ${one.reason}`),
    ...open.left.map(({ outcome, code }) => `${job} ${outcome} ${code}`),
  ]
  return new Set(runs.filter((run) => mattersOf(run).filter(isFirst).length > 0).map(({ id }) => id))
}

/** Rows and records that runs left behind, a need for each job and reason. */
function leftParts(outcome: 'rejected' | 'in-doubt'): Source['parts'] {
  return ({ runs }) => {
    const left = runs.flatMap((run) => {
      const codes = Map.groupBy(
        run.open.left.filter((one) => one.outcome === outcome),
        ({ code }) => code,
      )
      return [...codes].map(([code, all]) => ({ run, code, all }))
    })
    const groups = Map.groupBy(left, ({ run, code }) => `${run.job} ${code}`)
    return [...groups].flatMap(([subject, group]) => {
      const [{ run: newest, code } = { run: undefined, code: '' }] = group
      const which = group.length > 1 ? `--job ${shellWord(newest?.job ?? '')} --reason ${code}` : undefined
      return group.map(({ run, all }) => leftPart(run, { outcome, code, subject, which, all }))
    })
  }
}

interface LeftOfRun {
  readonly outcome: 'rejected' | 'in-doubt'
  readonly code: string
  readonly subject: string
  /** Words that choose all runs of the need in a command; undefined for one run. */
  readonly which: string | undefined
  /** By export. */
  readonly all: OpenMatters['left']
}

function leftPart(run: RunInNeed, { outcome, code, subject, which, all }: LeftOfRun): Part {
  const sum = (of: (one: OpenMatters['left'][number]) => number): number =>
    all.reduce((total, one) => total + of(one), 0)
  const [rows, records] = [sum((one) => one.rows), sum((one) => one.records)]
  const isRejected = outcome === 'rejected'
  const exports = new Set(all.map((one) => one.export))
  const part = partOf(run, code, subject, ({ summary, reasons }) =>
    stepsForPart(summary, {
      of: 'left',
      open: reasons.filter(
        (one) => one.code === code && one.outcome === outcome && exports.has(one.exportName),
      ),
      rejected: isRejected ? rows + records : 0,
      inDoubt: isRejected ? 0 : rows + records,
      which,
      code,
    }),
  )
  const since = Math.min(run.started_at, ...all.map((one) => one.since ?? run.started_at))
  return { ...part, since, exports: [...exports], rows, records }
}

function leftWords(outcome: string): Source['what'] {
  return (need) => {
    const { rows = 0, records = 0 } = need
    const counts = [
      ...(rows === 0 ? [] : [counted(rows, 'row')]),
      ...(records === 0 ? [] : [counted(records, 'record')]),
    ]
    const why = need.code === 'in-doubt' ? '' : ` (${need.code})`
    return `${ofJobs(need)}: ${counts.join(' and ')} ${outcome}${why}${nights(need)}`
  }
}
