/** Commands that start, control and settle runs, and pause jobs. */
import { stat } from 'node:fs/promises'
import { resolve as absolute } from 'node:path'
import type { BackfillRange } from '../ledger/ledger.ts'
import { allRecords } from '../model/balance.ts'
import { EXIT, errorAsJson, WaybillError } from '../model/errors.ts'
import { KIND_NAMES, PROFILE_KINDS } from '../model/record.ts'
import type { RefusedStart } from '../needs/refused-starts.ts'
import {
  abandon,
  accept,
  beginBackfill,
  beginRerun,
  beginRun,
  chooseRuns,
  type DryRunResult,
  forChosen,
  type ReconciledRun,
  type RunChoice,
  reconcile as reconcileRun,
  resend,
  resumeBackfill,
  resumeRun,
  tryBackfill,
  tryRun,
} from '../runs/actions.ts'
import { type BackfillLook, type BackfillPlan, backfillPlanJson } from '../runs/backfill-plan.ts'
import type { BeginWatch } from '../runs/begin.ts'
import { listRuns, stopRun, watchRun } from '../runs/listed-runs.ts'
import { type PausedJob, pauseJob, unpauseJob } from '../runs/pauses.ts'
import type { SampleSize, Verified } from '../runs/reconcile.ts'
import { acknowledge as acknowledgeRuns, type Person, startToAcknowledge } from '../runs/resolve.ts'
import type { Since } from '../runs/typed-words.ts'
import { keepWorking } from '../runs/workers.ts'
import { durationText } from '../story/report/figures.ts'
import type { JobEnd, RunSummary } from '../story/run-story.ts'
import { driftLines, leftOutLine, summaryLines, warningsLine } from '../story/terminal.ts'
import { counted, iso, type Lines, n, present, sizeText, utcTime } from '../system/shown-text.ts'
import { fittedTable } from '../system/text-table.ts'
import { createCounting, createProgress, NO_PROGRESS } from '../telemetry/progress.ts'
import { type CommandContext, print } from './command-form.ts'
import type { Action, Options } from './commands.ts'
import { beginOnTerminal, printRun, progressWords, showsProgress, watchOnTerminal } from './display.ts'
import { fitLines, isSuspicious, newReasonsLines } from './fit-text.ts'
import { createRunReporter, tellingWaits } from './run-reporter.ts'
import { describeError, errorLines } from './terminal-text.ts'

const run: Action<'run'> = async (context, options) => {
  const runOptions = {
    files: options.file ?? [],
    limit: options.limit ?? Number.POSITIVE_INFINITY,
    acceptDrift: options.acceptDrift === true,
    acceptEnd: options.acceptEnd,
    lookFirst: options.lookFirst,
    newLedger: options.newLedger,
    newKey: options.newKey,
  }
  if (options.dryRun !== true)
    try {
      return (await beginRun(context, beginOnTerminal(context, options), options.job, runOptions)).exit
    } catch (error) {
      const held =
        options.watch === true && isHeld(error) ? await runUnderWay(context, options.job) : undefined
      if (held === undefined) throw error
      return await watch(context, { run: held, json: options.json })
    }
  const result = await tryRun(context, options.job, runOptions)
  const failed = result.failed.map(({ name, error }) => ({ name, ...errorAsJson(error) }))
  context.out(options.json ? JSON.stringify({ ...result, failed }) : dryRunText(result, context.columns))
  const [first] = result.failed
  if (first !== undefined && result.exports.length === 0) return first.error.exit
  const stops =
    first !== undefined || result.fit.some(isSuspicious) || result.drift.some(({ level }) => level === 'stop')
  return result.rows.rejected > 0 || stops ? EXIT.recordsLeftBehind : EXIT.ok
}

const isHeld = (error: unknown): boolean => error instanceof WaybillError && error.code === 'job-held'

async function runUnderWay(context: CommandContext, job: string): Promise<string | undefined> {
  const { runs } = await listRuns(context, { job, state: 'under-way', limit: 1, page: 1, since: undefined })
  return runs[0]?.run
}

const worker: Action<'worker'> = async (context, { concurrency }) => {
  const { logger, now } = context
  const watch = (): BeginWatch => ({
    listener: createRunReporter(NO_PROGRESS, logger, now),
    onConnected: (words) => logger.info(words),
  })
  await keepWorking(context, watch, concurrency)
  return EXIT.ok
}

const stop: Action<'stop'> = async (context, options) => {
  printRun(context, await stopRun(context, options.run, personOf(context, options)), options.json)
  return EXIT.ok
}

const watch: Action<'watch'> = async (context, { run, json }) => {
  const progress = createProgress({ columns: context.terminal, now: context.now, write: context.writeError })
  let last = ''
  const shown = await watchRun(context, run, ({ summary }) => {
    const words = progressWords(summary)
    if (words === last) return
    last = words
    progress.note(words)
  })
  printRun(context, shown, json)
  return shown.summary.exit ?? EXIT.interrupted
}

const pause: Action<'pause'> = async (context, options) => {
  const done = await pauseJob(context, options.job, personOf(context, options), options.until)
  const end = done.until === undefined ? '' : ` until ${utcTime(done.until)} UTC`
  const words = done.changed
    ? `${done.job} is paused${end}: the schedule does not start it. To continue: waybill unpause ${done.job}`
    : `${done.job} is paused already: waybill schedule --explain ${done.job}`
  context.out(options.json ? JSON.stringify(pauseJson(done)) : words)
  return EXIT.ok
}

const pauseJson = ({ until, ...done }: PausedJob): object => ({
  ...done,
  ...present({ until: until && iso(until) }),
})

const unpause: Action<'unpause'> = async (context, options) => {
  const done = await unpauseJob(context, options.job, personOf(context, options))
  const words = done.changed
    ? `${done.job} is scheduled again. Missed runs follow its \`missed\` setting.`
    : `${done.job} was not paused.`
  context.out(options.json ? JSON.stringify(pauseJson(done)) : words)
  return EXIT.ok
}

const resume: Action<'resume'> = async (context, options) => {
  const watch = beginOnTerminal(context, options)
  const end = options.backfill
    ? await resumeBackfill(context, watch, options.job)
    : await resumeRun(context, watch, options.job)
  return end.exit
}

const backfill: Action<'backfill'> = async (context, options) => {
  const range = {
    from: options.from,
    to: options.to,
    in: options.in === undefined ? undefined : await folderOf(options.in),
    rate: options.rate,
    acceptDrift: options.acceptDrift,
    acceptEnd: options.acceptEnd,
  }
  if (options.dryRun) return printPlan(context, options, range)
  const onFound = (job: string, look: BackfillLook): void => {
    if (showsProgress(context, options)) context.err(shortPlan(job, range, look))
  }
  return (await beginBackfill(context, beginOnTerminal(context, options), options.job, range, onFound)).exit
}

/** @throws `usage-wrong` for a missing folder, or a file */
async function folderOf(given: string): Promise<string> {
  const folder = absolute(given)
  const found = await stat(folder).catch(() => undefined)
  if (found?.isDirectory() === true) return folder
  const what = found === undefined ? 'is missing or cannot be read' : 'is a file'
  throw new WaybillError('usage-wrong', `the folder of --in ${what}`, {
    place: { file: folder },
    remedy:
      'Name the folder with the exports of the range; leave --in out if they are at the source of the job.',
  })
}

async function printPlan(
  context: CommandContext,
  options: Options<'backfill'>,
  range: BackfillRange,
): Promise<number> {
  const { now, writeError: write } = context
  const counting = showsProgress(context, options)
    ? createCounting({ columns: context.terminal, now, write })
    : undefined
  const onExport = (name: string, number: number, of: number) =>
    counting?.at(`${number} of ${of}: counting ${name}`)
  const plan = await tryBackfill(context, options.job, range, onExport).finally(() => counting?.end())
  context.out(options.json ? JSON.stringify(backfillPlanJson(plan)) : backfillPlanText(plan, context.columns))
  return plan.exports.some(({ error }) => error !== undefined) ? EXIT.recordsLeftBehind : EXIT.ok
}

/** Plan in one line, from the listing alone. */
function shortPlan(job: string, range: BackfillRange, { found, without, unmatched }: BackfillLook): string {
  const bytes = found.reduce((total, { found: { delivery } }) => total + delivery.bytes, 0)
  const dates = found.length === 0 ? '' : `, of ${found[0]?.date} to ${found.at(-1)?.date}`
  const gaps = without.count === 0 ? '' : `; ${counted(without.count, without.unit)} without one`
  const left = unmatched.length === 0 ? '' : `; ${counted(unmatched.length, 'file')} left out by name`
  const more = gaps + left === '' ? '' : ' (--dry-run lists them)'
  return `Backfill of ${job}, ${rangeText(range)}: ${counted(found.length, 'export')}${dates}, ${sizeText(bytes)}${gaps}${left}${more}.`
}

function backfillPlanText(plan: BackfillPlan, columns: number | undefined): string[] {
  const { exports, deliveredBefore } = plan
  const listed = exports.map(({ date, bytes, rows, name, deliveredBefore: known, done, putAside, error }) => {
    const state = error?.code ?? (putAside ? 'put aside' : done ? 'done' : known ? 'delivered before' : '')
    return [date, n(bytes), rows === undefined ? '' : n(rows), name, state]
  })
  return [
    '',
    `Plan of a backfill of ${plan.job} at ${plan.gateway}, ${rangeText(plan.backfill)}: nothing was sent, nothing was written.`,
    '',
    ...fittedTable(['date', 'bytes', 'rows', 'export', 'state'], listed, { from: 1, to: 2 }, columns),
    '',
    `Exports  ${n(exports.length)}, ${sizeText(plan.bytes)}, ${n(plan.rows)} rows`,
    ...goesOnLine(plan),
    `Known    ${counted(deliveredBefore.exports, 'export')} (${counted(deliveredBefore.rows, 'row')}) ${deliveredBefore.exports === 1 ? 'was' : 'were'} delivered before; only changed records are sent`,
    `Time     ${timeText(plan)}`,
    ...leftOutLines(plan),
    ...exports.flatMap(({ name, error }) =>
      error === undefined ? [] : [`  ${name}: would not be sent`, ...describeError(error).slice(1)],
    ),
  ]
}

const goesOnLine = ({ unfinished }: BackfillPlan): string[] =>
  unfinished === undefined
    ? []
    : [
        `Resumes  run ${unfinished.run} is unfinished: ${counted(unfinished.exports, 'export')} (${counted(unfinished.rows, 'row')}) done, not read again`,
      ]

/** Most entries of a list to name; the others are counted. */
const NAMED = 20

function leftOutLines({ without, unmatched }: BackfillPlan): string[] {
  const named = (all: readonly string[]): string[] => [
    ...all.slice(0, NAMED).map((one) => `  ${one}`),
    ...(all.length > NAMED ? [`  and ${n(all.length - NAMED)} more: --json lists all`] : []),
  ]
  const ranges = without.ranges.map(({ from, to, count }) =>
    from === to ? from : `${from} to ${to} (${n(count)})`,
  )
  return [
    ...(without.count === 0
      ? []
      : [`Without  ${n(without.count)} of ${counted(without.of, without.unit)} have no export here:`]),
    ...named(ranges),
    ...(unmatched.length === 0
      ? []
      : [
          `Left out ${counted(unmatched.length, 'file')}: the name matches no pattern of the job, or has no date:`,
        ]),
    ...named(unmatched),
  ]
}

function timeText({ estimate }: BackfillPlan): string {
  if (estimate === undefined) return 'unknown: no run of this job shows the speed at this gateway'
  const { seconds, rowsPerSecond, knownRowsPerSecond, runs, limitedByRate } = estimate
  const sent = rowsPerSecond === undefined ? [] : [`${n(Math.round(rowsPerSecond))} rows a second sent`]
  const rates = [...sent, `${n(Math.round(knownRowsPerSecond))} known ones read`].join(' and ')
  const by = `by ${rates} in the latest ${counted(runs, 'run')}`
  return `about ${durationText(1000 * seconds)}, ${by}${limitedByRate ? ', limited by --rate' : ''}`
}

const rangeText = ({ from, to, in: folder }: BackfillRange): string =>
  `${from} to ${to}${folder === undefined ? '' : ` in ${folder}`}`

const rerun: Action<'rerun'> = async (context, options) => {
  assertOneWay(options)
  const choice = choiceOf(options, context.now())
  if (options.dryRun) return listChosen(context, choice, options.json)
  const retry = (run: string, watch: BeginWatch): Promise<JobEnd> =>
    beginRerun(context, watch, run, options.only)
  if (options.run !== undefined) return (await retry(options.run, beginOnTerminal(context, options))).exit
  const watch = options.json ? watchOnTerminal(context, true) : beginOnTerminal(context, options)
  return ofEach(context, choice, options.json, async (run) => {
    const { summary, exit, error } = await retry(run, watch)
    return { shown: { ...summary, ...errorAsJson(error) }, exit }
  })
}

const reconcile: Action<'reconcile'> = async (context, options) => {
  const { verify, sample, seed } = options
  if ((sample !== undefined && !verify) || (seed !== undefined && sample === undefined))
    throw new WaybillError('usage-wrong', '--sample needs --verify, and --seed needs --sample')
  assertOneWay(options)
  const choice = choiceOf(options, context.now())
  if (options.dryRun) return listChosen(context, choice, options.json)
  const how = verify ? { sample: sample ?? { kind: 'all' as const }, seed } : undefined
  const one = async (run: string) => {
    const reconciled = await reconcileRun(context, watchOnTerminal(context, true), run, how)
    if (!options.json) context.out(reconciledText(context, reconciled))
    const { found, missed, batches, reads, inDoubt, verified, summary } = reconciled
    const bad = inDoubt > 0 || (verified !== undefined && verifiedBadly(verified))
    const exit = bad ? EXIT.recordsLeftBehind : EXIT.ok
    return { shown: { found, missed, batches, reads, inDoubt, verified, summary }, exit }
  }
  if (options.run === undefined) return ofEach(context, choice, options.json, one)
  const { shown, exit } = await one(options.run)
  if (options.json) context.out(JSON.stringify(shown))
  return exit
}

const reconciledText = (
  { columns }: CommandContext,
  { run, found, missed, batches, reads, inDoubt, verified, summary, reasons }: ReconciledRun,
): Lines => [
  `Run ${run}, records in doubt: ${found} stored, ${missed} not stored, ${inDoubt} unknown. ${counted(batches, 'open batch', 'open batches')} settled, ${counted(reads, 'read')} of profiles.`,
  ...summaryLines(summary, reasons, columns),
  ...(verified === undefined ? [] : verifiedText(verified, columns)),
]

const resolve: Action<'resolve'> = async (context, options) => {
  const decisions = [options.accept, options.resend, options.giveUp].filter((one) => one === true)
  if (decisions.length !== 1 || (options.giveUp && options.transaction !== undefined))
    throw new WaybillError(
      'usage-wrong',
      'give either --accept or --resend, or --give-up for the whole run',
      {
        remedy:
          '--accept: the gateway has the records. --resend: send the records again. --give-up: do not finish the run.',
      },
    )
  if (options.giveUp) return endRun(context, options)
  return options.accept ? acceptAll(context, options) : resendAll(context, options)
}

async function endRun(context: CommandContext, options: Options<'resolve'>): Promise<number> {
  const person = personOf(context, options)
  const { summary, reasons } = await abandon(context, tellingWaits(context), options.run, person)
  print(context, options.json, { decision: 'give-up', records: 0, summary }, () => [
    `Run ${summary.run} is given up: it will not be finished.`,
    ...hadInHand(summary),
    ...summaryLines(summary, reasons, context.columns),
  ])
  return EXIT.ok
}

/** Tells how later runs treat records in flight of open chunks: their delivery is unknown. */
function hadInHand({ run, exports }: RunSummary): string[] {
  const open = exports.flatMap(({ name, state }) => (state === 'open' ? [name] : []))
  if (open.length === 0) return []
  return [
    `Records of ${open.join(', ')} that were in flight are recognised when they come again: accepted ones are not sent; for unanswered ones the profiles are read first (run ${run} was given up).`,
  ]
}

async function acceptAll(context: CommandContext, options: Options<'resolve'>): Promise<number> {
  const person = personOf(context, options)
  const { transaction } = options
  const decided = await accept(context, tellingWaits(context), options.run, person, transaction)
  const { records, summary, reasons } = decided
  print(context, options.json, { decision: 'accept', records, summary }, () => [
    `${count(records)} of run ${summary.run} ${records === 1 ? 'counts' : 'count'} as delivered.`,
    ...summaryLines(summary, reasons, context.columns),
  ])
  return EXIT.ok
}

async function resendAll(context: CommandContext, options: Options<'resolve'>): Promise<number> {
  const watch = watchOnTerminal(context, options.json === true)
  const person = personOf(context, options)
  const decided = await resend(context, watch, options.run, person, options.transaction)
  const { records, resent, summary, reasons } = decided
  const { error } = resent
  const json = { decision: 'resend', records, summary, resent: resent.summary, ...errorAsJson(error) }
  print(context, options.json, json, () => [
    `${count(records)} of run ${summary.run} released; run ${resent.summary.run} sent the records missing at the gateway.`,
    ...summaryLines(resent.summary, resent.reasons, context.columns),
    ...summaryLines(summary, reasons, context.columns),
  ])
  if (error !== undefined && !options.json) context.err(errorLines(error))
  return resent.exit
}

/** @throws `usage-wrong` for an empty name or note */
export function personOf(
  { user }: Pick<CommandContext, 'user'>,
  deciding: Pick<Options<'resolve'>, 'by' | 'note'>,
): Person {
  for (const name of ['by', 'note'] as const)
    if (deciding[name]?.trim() === '') throw new WaybillError('usage-wrong', `--${name} is empty`)
  const { by = user, note } = deciding
  return { by: by.trim(), note: note?.trim() ?? null }
}

const count = (records: number): string => `${counted(records, 'record')} in doubt`

const acknowledge: Action<'acknowledge'> = async (context, options) => {
  const { reason, job, undo = false } = options
  // A reason chooses among what one run left behind, too.
  if (options.run !== undefined) assertOneWay({ ...options, reason: undefined })
  else if (options.dryRun) assertOneWay(options)
  const choice = choiceOf(options, context.now())
  const which = { ...choice, undo }
  if (options.dryRun) return listChosen(context, choice, options.json, startToAcknowledge(context, which))
  const done = await acknowledgeRuns(context, which, personOf(context, options))
  const { runs, left, inDoubt, isStart } = done
  const ofRuns = runs.length === 1 ? runs.join() : `in ${counted(runs.length, 'run')}`
  const ofStart = `the refused start of ${job}`
  const what = isStart ? (runs.length === 0 ? ofStart : `${ofRuns}, and ${ofStart}`) : ofRuns
  const words = `${reason === undefined ? '' : ` for ${reason}`} ${what}`
  print(context, options.json, { ...done, undo }, () => [
    `${undo ? 'No longer acknowledged' : 'Acknowledged'}:${words}`,
    ...(inDoubt === 0
      ? []
      : [
          `${counted(inDoubt, 'record is', 'records are')} in doubt and ${inDoubt === 1 ? 'needs' : 'need'} a decision: waybill ${runs.length === 1 ? `show ${runs[0]}` : 'in-doubt'}`,
        ]),
    left === 0
      ? 'No run needs attention.'
      : `${counted(left, 'run needs', 'runs need')} attention: waybill runs --failed`,
  ])
  return EXIT.ok
}

/** Most ids to show; --json lists more. */
const IDS_SHOWN = 20

function verifiedText(
  { sample, seed, records, fields, listed }: Verified,
  columns: number | undefined,
): string[] {
  const rows = PROFILE_KINDS.map((kind) => {
    const { equal, differs, hidden, missing } = records[kind]
    return [KIND_NAMES[kind], ...[equal, differs, hidden, missing].map(n)]
  })
  const table = fittedTable(
    ['accepted, read back', 'equal', 'differs', 'not visible', 'missing'],
    rows,
    'rest',
    columns,
  )
  const lines = ['', `Verified: ${sampleText(sample, seed)}`, ...table]
  const different = Object.entries(fields).map(([field, count]) => `${field} ${count}`)
  if (different.length > 0) lines.push(`Fields that differ: ${different.join(', ')}`)
  for (const { transactionId, verdict, fields: which } of listed.slice(0, IDS_SHOWN))
    lines.push(`  ${transactionId} ${verdict}${which === undefined ? '' : ` (${which.join(', ')})`}`)
  if (listed.length > IDS_SHOWN) lines.push('  and more; --json lists up to 100')
  lines.push('Not visible: the profile shows a newer record, or another one of the same date.')
  return lines
}

function sampleText(sample: SampleSize, seed: string): string {
  switch (sample.kind) {
    case 'all':
      return 'everybody'
    case 'share':
      return `${Number((100 * sample.share).toPrecision(9))} % of the people, seed ${seed}`
    case 'people':
      return `${n(sample.people)} people, seed ${seed}`
  }
}

/** @param columns of the terminal; undefined to fit nothing to a width */
function dryRunText(result: DryRunResult, columns?: number): string[] {
  const { rows, exports, failed, reasons } = result
  const { made, rejected, pending } = allRecords(result)
  const { deliveredBefore: before = 0 } = result
  const lines = [
    '',
    `Dry run of ${result.job}: nothing was sent, nothing was written.`,
    ...exports.map(({ name, rows: read }) => `  ${name}: ${counted(read, 'row')}`),
    ...failed.flatMap(({ name, error }) => [
      `  ${name}: would not be sent`,
      ...describeError(error).slice(1),
    ]),
    `Rows     read ${rows.read} = mapped ${rows.mapped} + skipped ${rows.skipped} + rejected ${rows.rejected}`,
    `Records  made ${made}: ${pending - before} to send, ${before} delivered before, ${rejected} rejected by the mapping`,
    ...leftOutLine(result.leftOut),
    ...warningsLine(result.warnings),
    ...driftLines(result.drift, columns),
  ]
  for (const fit of result.fit)
    lines.push('', `How the mapping fits ${fit.export}`, ...fitLines(fit, columns))
  if (reasons.length > 0) {
    const rows = reasons.map(({ count, code, rule, message }) => [
      String(count),
      code,
      rule ?? '(row)',
      message,
    ])
    lines.push('', ...fittedTable(['count', 'code', 'rule', 'reason'], rows, 1, columns))
  }
  lines.push(...newReasonsLines(result.newReasons))
  return lines
}

export const actions = {
  run,
  backfill,
  watch,
  worker,
  stop,
  pause,
  unpause,
  resume,
  rerun,
  resolve,
  acknowledge,
  reconcile,
}

interface Choosing {
  readonly run?: string | undefined
  readonly job?: string | undefined
  readonly reason?: string | undefined
  readonly export?: string | undefined
  readonly since?: Since | undefined
}

const choiceOf = ({ since, job, reason, ...more }: Choosing, now: number): RunChoice => ({
  run: more.run,
  job,
  reason,
  export: more.export,
  since: since?.(now),
})

function assertOneWay({ run, job, reason, since, ...more }: Choosing): void {
  const options = Object.entries({ job, reason, export: more.export, since }).flatMap(([option, value]) =>
    value === undefined ? [] : [`--${option}`],
  )
  if (run === undefined && options.length === 0)
    throw new WaybillError('usage-wrong', 'name a run, or choose several with --job or --reason', {
      remedy: 'Look for them with `waybill needs`.',
    })
  if (run !== undefined && options.length > 0)
    throw new WaybillError('usage-wrong', `a named run goes without ${options.join(', ')}`, {
      remedy: 'Leave out the run to choose several, or leave out the options.',
    })
}

/**
 * Prints the chosen runs, and does nothing to them.
 * @param start refused start chosen with the runs
 * @throws `nothing-left` for none; `run-not-found`
 */
async function listChosen(
  context: CommandContext,
  choice: RunChoice,
  json: true | undefined,
  start?: RefusedStart,
): Promise<number> {
  const runs = await chooseRuns(context, choice).catch((error: unknown) => {
    // A refused start needs no run, and no ledger.
    if (start !== undefined && error instanceof WaybillError && NO_RUNS.has(error.code)) return []
    throw error
  })
  const listed = runs.map(({ startedAt, ...one }) => ({ ...one, startedAt: iso(startedAt) }))
  const refused = start && { job: start.job, code: start.code, since: iso(start.since) }
  print(context, json, { dryRun: true, runs: listed, ...present({ start: refused }) }, () => [
    ...(listed.length === 0 ? [] : tableOf(listed, context.columns)),
    ...(start === undefined
      ? []
      : [`The refused start of ${start.job} (${start.code}), since ${utcTime(start.since)} UTC`]),
  ])
  return EXIT.ok
}

const NO_RUNS: ReadonlySet<string> = new Set(['nothing-left', 'ledger-not-found'])

const tableOf = (runs: readonly object[], columns: number | undefined): string[] =>
  fittedTable(
    ['run', 'job', 'started'],
    runs.map((run) => Object.values(run)),
    'none',
    columns,
  )

/** Does to each chosen run what the command does to one, as `forChosen`. @returns the highest exit code */
async function ofEach(
  context: CommandContext,
  choice: RunChoice,
  json: true | undefined,
  act: (run: string) => Promise<{ readonly shown: object; readonly exit: number }>,
): Promise<number> {
  const ends = await forChosen(context, choice, act)
  if (json)
    context.out(
      JSON.stringify({ runs: ends.map(({ run, result }) => result?.shown ?? { run, notBegun: true }) }),
    )
  return Math.max(EXIT.ok, ...ends.map(({ result }) => result?.exit ?? EXIT.interrupted))
}

const verifiedBadly = ({ records }: Verified): boolean =>
  PROFILE_KINDS.some((kind) => records[kind].differs + records[kind].missing > 0)
