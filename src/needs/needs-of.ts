/**
 * The list of needs, for every face: command, doctor, metrics and pages. The table below has all sources. A cause is a single need, however many
 * nights or jobs it has. Pure.
 */

import type { OpenMatters } from '../ledger/ledger.ts'
import { command, nextSteps, type Step, stepsForPart } from '../story/next-steps.ts'
import type { RunStory } from '../story/run-story.ts'
import { counted, shellWord, sizeText, utcTime } from '../system/shown-text.ts'
import type { Need, NeedsFacts, OpenRun, Part, RunInNeed } from './need.ts'

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

type Matters = (run: OpenRun) => readonly Matter[]

const isUnfinished = ({ state }: Pick<OpenRun, 'state'>): boolean =>
  state === 'running' || state === 'interrupted'

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
        step('Or, to end it without the rest', command('resolve', run.id, '--give-up')),
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

/** Rows and records left behind: a matter for each reason. */
const leftMatters =
  (outcome: 'rejected' | 'in-doubt'): Matters =>
  (run) => {
    const left = run.open.left.filter((one) => one.outcome === outcome)
    return [...Map.groupBy(left, ({ code }) => code)].map(([code, all]) =>
      leftMatter(run, outcome, code, all),
    )
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

function partsOf(matters: Matters, { runs, refused, people, room }: NeedsFacts): Part[] {
  const found = runs.flatMap((run) => matters(run).map((matter) => ({ run, matter })))
  // The next start continues the run: if the start is refused, or would be, the refusal is the need.
  const open = found.filter(
    ({ run, matter }) =>
      matter.continues !== true ||
      !(refused.some(({ job }) => job === run.job) || (matter.code === DISK_FULL && isShort(room))),
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
    since: started_at,
    ...matter,
    ...(concerned === undefined || concerned === 0 ? {} : { people: concerned }),
    jobs: [job],
    runs: [id],
    steps: story === undefined ? [] : stepsOf(story, isOneOf),
  }
}

interface Source {
  readonly parts: (facts: NeedsFacts) => Part[]
  /** Matters of a run that the source lists. */
  readonly matters?: Matters
  /** @param need joined from its parts */
  readonly what: (need: Omit<Need, 'what' | 'cause'>) => string
}

const DAY_MS = 86_400_000
/** Length from which a pause was perhaps forgotten. */
const PAUSED_LONG_MS = 7 * DAY_MS
/** Time after which an incomplete export needs a person: longer than a transfer, shorter than a day. */
const WAITING_LONG_MS = 12 * 3_600_000
/** Age from which the latest backup is too old. */
const BACKUP_OLD_MS = 30 * DAY_MS

const step = (say: string, ...commands: readonly string[]): Step => ({ say, commands })
const ofJobs = ({ jobs }: Pick<Need, 'jobs'>): string => jobs.join(', ')
/** ` on 3 nights` */
const nights = ({ times }: Pick<Need, 'times'>): string => (times > 1 ? `, in ${counted(times, 'run')}` : '')

/** `, 2 people`; empty if unknown. */
const ofPeople = ({ people }: Pick<Need, 'people'>): string =>
  people === undefined || people === 0 ? '' : `, ${counted(people, 'person', 'people')}`

/** All sources, in the order of the list for needs of one time. */
const SOURCES = {
  ledger: {
    parts: (facts) => {
      const { ledger } = facts
      if (ledger === undefined) return []
      return atOnce(facts, ledger.code, step(`${ledger.message}. ${ledger.remedy}`, command('doctor')))
    },
    what: ({ code }) => `the ledger cannot be used (${code})`,
  },
  disk: {
    parts: (facts) => {
      const { room } = facts
      if (!isShort(room) || room === undefined) return []
      const say = `${sizeText(room.free)} are free on the disk of ${room.home}, and a run needs ${sizeText(room.least)}: make room`
      return atOnce(facts, DISK_FULL, step(say, command('prune', '--older-than', '180d', '--dry-run')))
    },
    what: () => `the disk is full: no run begins (${DISK_FULL})`,
  },
  'start-refused': {
    parts: ({ refused, ledger, room, runs }) =>
      refused
        .filter(({ code }) => code !== ledger?.code && !(code === DISK_FULL && isShort(room)))
        .map(({ job, code, message, findings, remedy, since, times }) => ({
          runs: heldUp(runs, job),
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
  'run-unfinished': ofRuns(unfinished, (need) => `${ofJobs(need)} stopped before the end (${need.code})`),
  'backfill-unfinished': ofRuns(
    backfill,
    (need) => `the backfill of ${ofJobs(need)} is unfinished (${need.code})`,
  ),
  'run-failed': ofRuns(failed, (need) => `${ofJobs(need)} failed (${need.code})${nights(need)}`),
  'export-failed': ofRuns(
    exports,
    (need) => `${ofJobs(need)}: ${need.exports.join(', ')} was not delivered (${need.code})${nights(need)}`,
  ),
  'export-unarchived': ofRuns(
    unarchived,
    (need) => `${ofJobs(need)}: ${need.exports.join(', ')} cannot be moved into the archive`,
  ),
  'left-rejected': ofRuns(leftMatters('rejected'), leftWords('rejected')),
  'left-in-doubt': ofRuns(leftMatters('in-doubt'), leftWords('in doubt')),
  owed: {
    parts: ({ owing }) =>
      owing.map(({ summary, people }) => ({
        subject: summary.job,
        jobs: [summary.job],
        since: Date.parse(summary.startedAt),
        runs: [summary.run],
        people,
        steps: stepsForPart(summary, { of: 'owed' }),
      })),
    what: (need) => `${ofJobs(need)} owes marks or deletions at the gateway${ofPeople(need)}`,
  },
  'export-late': {
    parts: ({ overdue }) =>
      overdue.map(({ job, source, due, expected, arrived, isUnreachable }) => ({
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
  'export-waiting': {
    parts: ({ waitingExports, refused, now }) =>
      waitingExports.flatMap(({ job, waiting }) =>
        waiting
          // A refused start names the waiting exports.
          .filter(() => !refused.some((start) => start.job === job))
          .filter(({ since }) => now - since >= WAITING_LONG_MS)
          .map(({ words, since }) => ({
            subject: job,
            jobs: [job],
            since,
            steps: [
              step(`${words}. When the rest is there, or the file is gone`, command('run', shellWord(job))),
            ],
          })),
      ),
    what: (need) => `exports of ${ofJobs(need)} are not complete`,
  },
  'job-late': {
    parts: lateParts,
    what: (need) => `${ofJobs(need)} was not done by its deadline`,
  },
  'schedule-silent': {
    parts: ({ unscheduled }) =>
      unscheduled.map(({ job, due }) => ({
        subject: 'schedule',
        jobs: [job],
        since: due,
        steps: [step('To start it', command('schedule'))],
      })),
    what: (need) => `no schedule is running: ${ofJobs(need)} ${need.jobs.length === 1 ? 'is' : 'are'} due`,
  },
  'fire-missed': {
    parts: ({ missed }) =>
      [...Map.groupBy(missed, ({ job, reason }) => `${job} ${reason}`)].flatMap(([subject, fires]) =>
        fires.slice(0, 1).map(({ job, reason }) => ({
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
        subject: `${target} ${error ?? ''}`,
        jobs: [job],
        since,
        times: count,
        steps: [
          step(
            `${target} takes no notices${error === null ? '' : `: ${error}`}. After the repair`,
            command('notify', shellWord(job)),
          ),
        ],
      })),
    what: (need) => `${counted(need.times, 'notice')} of ${ofJobs(need)} not delivered`,
  },
  'ledger-copy': {
    parts: ({ copy }) =>
      (copy?.jobs ?? []).map((job) => ({
        subject: 'copy',
        jobs: [job],
        since: copy?.takenAt,
        steps: [
          step(
            'Move exports archived since then back to their inbox. A run looks for deliveries that the copy does not know',
            command('run', shellWord(job)),
          ),
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
      return [{ subject: 'backup', jobs: [], since, steps }]
    },
    what: () => 'the ledger has no backup of the last 30 days',
  },
} as const satisfies Record<string, Source>

export type Cause = keyof typeof SOURCES

/**
 * Chooses the newest run of each matter of a job: the steps come from the story of that run.
 * @param runs newest first
 */
export function newestOfEach(runs: readonly OpenRun[]): ReadonlySet<string> {
  const newest = new Map<string, string>()
  for (const run of runs)
    for (const [cause, { matters }] of Object.entries<Source>(SOURCES))
      for (const { subject } of matters?.(run) ?? []) {
        const matter = `${cause} ${run.job} ${subject}`
        if (!newest.has(matter)) newest.set(matter, run.id)
      }
  return new Set(newest.values())
}

function ofRuns(matters: Matters, what: Source['what']): Source {
  return { matters, parts: (facts) => partsOf(matters, facts), what }
}

/** All needs, oldest first. */
export function needsOf(facts: NeedsFacts): Need[] {
  const needs = Object.entries<Source>(SOURCES).flatMap(([cause, { parts, what }]) =>
    [...Map.groupBy(parts(facts), ({ subject }) => subject).values()].map((group) => {
      const need = joined(group)
      return { cause, ...need, what: what(need) }
    }),
  )
  return needs.sort((a, b) => (a.since ?? 0) - (b.since ?? 0))
}

const DISK_FULL = 'disk-full'

const isShort = (room: NeedsFacts['room']): boolean => room !== undefined && room.free < room.least

/** Unfinished run behind a refused start: the next start continues the run. */
const heldUp = (runs: NeedsFacts['runs'], job: string): string[] =>
  runs.flatMap((run) => (run.job === job && isUnfinished(run) && run.backfill === null ? [run.id] : []))

/** A problem of the whole installation, with the jobs that could not run. */
function atOnce({ refused, runs }: NeedsFacts, code: string, first: Step): Part[] {
  // A ledger on a server knows the reason of a run; in a file, on the full disk, the start is kept as refused.
  const named = new Set(refused.map(({ job }) => job))
  const stopped = runs
    .filter(({ job, reason, backfill }) => reason === code && backfill === null && !named.has(job))
    .map(({ job, started_at: since }) => ({ job, since }))
  const kept = [...refused.filter((one) => one.code === code), ...stopped]
  const sinces = kept.map(({ since }) => since)
  const commands = kept.map(({ job }) => command('run', shellWord(job)))
  return [
    {
      runs: kept.flatMap(({ job }) => heldUp(runs, job)),
      subject: code,
      code,
      jobs: kept.map(({ job }) => job),
      since: sinces.length === 0 ? undefined : Math.min(...sinces),
      steps: commands.length === 0 ? [first] : [first, step('Then', ...commands)],
    },
  ]
}

/** Jobs past their deadline, except jobs whose run has stopped, failed, or was refused: the run is the need. */
function lateParts({ late, runs, refused }: NeedsFacts): Part[] {
  const named = new Set([
    ...refused.map(({ job }) => job),
    ...runs.filter((run) => isUnfinished(run) || run.open.isFailed).map(({ job }) => job),
  ])
  return late
    .filter(({ job }) => !named.has(job))
    .map(({ job, by, fire: { due, state, run_id: run } }) => ({
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

/** Joins the parts of a cause. Runs come newest first: the newest run gives the steps. */
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
    runs: [...new Set(all.flatMap(({ runs = [] }) => runs))],
    exports: [...new Set(all.flatMap((part) => part.exports ?? []))],
    times: all.reduce((sum, { times = 1 }) => sum + times, 0),
    steps: stepsOfAll(all),
  }
}

/** Steps of all parts, each text once with all commands: a cause of several jobs has a command for each. */
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

/** @param outcome for people */
function leftWords(outcome: string): Source['what'] {
  return (need) => {
    const { rows = 0, records = 0 } = need
    const counts = [
      ...(rows === 0 ? [] : [counted(rows, 'row')]),
      ...(records === 0 ? [] : [counted(records, 'record')]),
    ]
    const why = need.code === 'in-doubt' ? '' : ` (${need.code})`
    return `${ofJobs(need)}: ${counts.join(' and ')} ${outcome}${why}${ofPeople(need)}${nights(need)}`
  }
}
