/** Turns what a run tells into progress and log lines (docs/logging.md). */

import { smallWords } from '../expect/expectation-text.ts'
import { addCounts, allRecords, type Counts, noCounts } from '../model/balance.ts'
import { describePlace, type WaybillError } from '../model/errors.ts'
import { durationText } from '../report/figures.ts'
import {
  createRunEvents,
  type ExportProgress,
  type LeftBehind,
  type OtherRun,
  type OutageProgress,
  type RangePosition,
  type RunEvents,
  type RunListener,
  type WaitsForGateway,
} from '../run/events.ts'
import { counted, n, utcTime } from '../shown-text.ts'
import type { LogFields, Logger } from '../telemetry/logger.ts'
import { LINE_EVERY_MS, type Progress, type ProgressState } from '../telemetry/progress.ts'
import type { CommandContext } from './command-form.ts'

/** A wait shorter than this is not worth a line. */
const LONG_WAIT_MS = 2_000

/** @param logger its lines for standard error go through `progress`, where that shows something */
export function createRunReporter(progress: Progress, logger: Logger, now: () => number) {
  /** Fields of every line. */
  let about: LogFields = {}
  let exportSince = 0
  const shown = showProgress(progress)
  let lookingSaidAt: number | undefined
  /** Of the exports of the run that have ended in this process, */
  let ended = noCounts()
  /** and of the one under way what is settled: a run that is stopped ends in the middle of one. */
  let open: ExportProgress | undefined
  let outage: OutageProgress | undefined
  const tellLeft = (name: string, left: readonly LeftBehind[]): void => {
    for (const { outcome, row, line, rule, transaction, stage, code, batchId } of left) {
      const what = rule === null ? 'row' : 'record'
      const became = outcome === 'warning' ? 'warned of' : outcome === 'in-doubt' ? 'left in doubt' : outcome
      const place = { export: name, row, line, batch: batchId ?? undefined, transaction }
      logger.debug(`${what} ${became}`, { ...about, ...place, rule: rule ?? undefined, stage, code })
    }
  }
  return {
    runStarted({ id, job, gateway, resumed, settledOnly, isFirst }) {
      about = { run: id, job }
      ended = noCounts()
      open = undefined
      logger.info('run started', { ...about, gateway, resumed })
      if (isFirst === true && gateway !== 'built-in') logger.warn(NEW_LEDGER, { ...about, gateway })
      if (settledOnly === true)
        progress.note(
          `Run ${id} was not finished: what it has under way is settled first, and no more of it is run now.`,
        )
      else if (resumed) progress.note(`Run ${id} was not finished: it goes on where it stopped.`)
    },
    lookingAgain({ run, number, of }) {
      // What takes less than the first wait is not worth a line.
      lookingSaidAt ??= now() - LINE_EVERY_MS + LONG_WAIT_MS
      if (now() - lookingSaidAt < LINE_EVERY_MS) return
      lookingSaidAt = now()
      progress.note(`Looking for what run ${run} has read: ${number} of ${of} exports.`)
    },
    lookingTwice({ againInMs }) {
      progress.note(`Looking again in ${againInMs / 1000} s, for exports that may still change.`)
    },
    exportsWaiting({ job, waiting }) {
      for (const one of waiting) logger.warn(`not taken: ${one}`, { job })
    },
    exportSmall(small) {
      logger.warn(`strangely small: ${smallWords(small)}`, {
        ...about,
        export: small.name,
        bytes: small.bytes,
      })
    },
    exportNoted({ name, notes }) {
      for (const note of notes) logger.warn(`${name}: ${note}`, { ...about, export: name })
    },
    exportStarted(started) {
      const { name, bytes, counts } = started
      exportSince = now()
      open = started
      logger.info('export started', { ...about, export: name, bytes, ...resumedAt(counts) })
      shown.started(started)
    },
    exportAdvanced({ left, ...settled }) {
      // Not with `left`: it holds the chunk, and the next is hardly there before this one is forgotten.
      open = settled
      if (logger.writes('debug')) {
        logger.debug('chunk settled', { ...about, export: settled.name, rows: settled.counts.rows.read })
        tellLeft(settled.name, left())
      }
      shown.advanced(settled)
    },
    exportEnded({ name, counts }) {
      shown.ended(name, counts)
      addCounts(ended, counts)
      open = undefined
      const durationMs = Math.max(0, now() - exportSince)
      logger.info('export ended', { ...about, export: name, ...countFields(counts), durationMs })
    },
    exportDrifted({ name, findings }) {
      for (const { measure, message } of findings)
        logger.warn(`${name} differs from earlier deliveries: ${measure}: ${message}`, {
          ...about,
          export: name,
        })
    },
    exportFailed({ name, error }) {
      shown.failed()
      if (open?.name === name) open = undefined
      logger.error(failureText(name, error), { ...about, export: name, code: error.code })
    },
    exportNotArchived({ name, error }) {
      logger.error(failureText(name, error), { ...about, export: name, code: error.code })
    },
    batchAnswered: logger.writes('debug')
      ? ({ batchId, kind, class: answer, ...sent }) => {
          const { records, bytes, attempt, status, requestId, durationMs } = sent
          const operation = `create ${kind} records`
          const facts = { records, bytes, attempt, class: answer, status, requestId, durationMs }
          logger.debug('batch answered', { ...about, batch: batchId, operation, ...facts })
        }
      : undefined,
    waiting({ operation, waitMs, class: reason, what, givesUpAt }) {
      if (outage !== undefined) progress.wait(outageProgress(outage))
      if (waitMs < LONG_WAIT_MS) return
      const until = new Date(givesUpAt).toISOString()
      // Of an outage each try would be told else.
      logger[outage === undefined ? 'warn' : 'debug'](
        `waiting ${Math.round(waitMs / 1000)} s for the gateway (${reason}: ${what}); gives up at ${until}`,
        { ...about, operation, waitMs: Math.round(waitMs), class: reason },
      )
    },
    outage(told) {
      const { class: reason, status, pending, isOver } = told
      const fields = { ...about, class: reason, status, pending }
      if (isOver) {
        const words = outageEnds(told, now())
        logger.info(words, { ...about, pending, durationMs: Math.max(0, now() - told.since) })
        progress.wait(undefined)
        progress.note(`${words[0]?.toUpperCase()}${words.slice(1)}.`)
      } else {
        if (outage === undefined) logger.warn(outageBegins(told), fields)
        else logger.info(outageChanges(told), fields)
        progress.wait(outageProgress(told))
      }
      outage = isOver ? undefined : told
    },
    othersFound({ people, of }) {
      logger.warn(
        `${n(people)} of ${counted(of, 'profile')} show records that a Waybill sent with another key or from other exports; if that was this installation, stop this run, and restore its ledger and key, or run with --look-first (--new-key if the key is lost)`,
        about,
      )
    },
    waitingForRun(other) {
      logger.warn(waitingText(other), about)
    },
    runEnded({ state, reason, workedMs }) {
      outage = undefined
      progress.wait(undefined)
      shown.runEnded(state === 'finished')
      const code = reason ?? undefined
      if (open !== undefined) addCounts(ended, open.counts)
      open = undefined
      logger.info('run ended', { ...about, state, code, ...countFields(ended), durationMs: workedMs })
    },
  } satisfies RunListener
}

const NEW_LEDGER =
  'the ledger is new: it does not know what was delivered before; if this installation has delivered to this gateway, stop this run, and restore a backup (waybill restore FILE) or run with --look-first'

/** Of an export that an earlier process has begun. */
const resumedAt = ({ rows }: Counts): LogFields => (rows.read === 0 ? {} : { resumed: true, rows: rows.read })

function countFields(counts: Counts): LogFields {
  const { made, accepted, rejected, unchanged, inDoubt } = allRecords(counts)
  const { read: rows, rejected: rejectedRows } = counts.rows
  return { rows, rejectedRows, records: made, accepted, rejected, unchanged, inDoubt }
}

const failureText = (name: string, { message, place, remedy }: WaybillError): string =>
  `${message} (${describePlace(place ?? { file: name })}). ${remedy}`

/** Of more exports than this only those leave a line of which something was left behind. */
const LINES_OF_EXPORTS = 10

function showProgress(progress: Progress) {
  /** Of the range: what this process has ended of it. */
  let ended: Counts | undefined
  let position: RangePosition | undefined
  let state: ProgressState | undefined
  const ofRange = ({ name, counts, share }: ExportProgress, at: RangePosition): ProgressState => {
    const { number, of, bytes, bytesBefore, bytesOfAll } = at
    const all = noCounts()
    addCounts(all, ended ?? noCounts())
    addCounts(all, counts)
    const done = bytesOfAll === 0 ? 0 : (bytesBefore + share * bytes) / bytesOfAll
    // Members of an archive are exports of their own, each from 0 to 1.
    state = { ...stateOf(all, Math.max(done, state?.share ?? 0)), at: { name, number, of } }
    return state
  }
  return {
    started(export_: ExportProgress & { readonly position?: RangePosition | undefined }) {
      position = export_.position
      if (position === undefined) {
        if (ended !== undefined) progress.stop()
        ended = undefined
        progress.start(export_.name, stateOf(export_.counts, export_.share))
        return
      }
      if (ended !== undefined) {
        progress.advance(ofRange(export_, position))
        return
      }
      ended = noCounts()
      state = undefined
      progress.start(rangeLabel(position), ofRange(export_, position))
    },
    advanced(export_: ExportProgress) {
      const { counts, share } = export_
      progress.advance(position === undefined ? stateOf(counts, share) : ofRange(export_, position))
    },
    ended(name: string, counts: Counts) {
      if (position === undefined || ended === undefined) {
        progress.end(stateOf(counts, 1))
        return
      }
      const { made, rejected, inDoubt } = allRecords(counts)
      const left = counts.rows.rejected + rejected + inDoubt
      if (left > 0 || position.of <= LINES_OF_EXPORTS) {
        const behind = left === 0 ? '' : `, ${n(left)} left behind`
        progress.note(`${name}: ${n(counts.rows.read)} rows, ${n(made)} records${behind}`)
      }
      progress.advance(ofRange({ name, counts, share: 1 }, position))
      addCounts(ended, counts)
    },
    /** Nothing of the export was sent. */
    failed() {
      if (ended === undefined) progress.stop()
    },
    /** @param finished whether all exports were run */
    runEnded(finished: boolean) {
      if (finished && ended !== undefined) progress.end({ ...stateOf(ended, 1) })
      else progress.stop()
      ended = undefined
    },
  }
}

/** Counts are those of this process: where it has gone on with the range, of the exports from there on. */
const rangeLabel = ({ number, of }: RangePosition): string =>
  number === 1 ? `Backfill of ${counted(of, 'export')}` : `Backfill, exports ${n(number)} to ${n(of)}`

const stateOf = (counts: Counts, share: number): ProgressState => ({
  rows: counts.rows.read,
  records: allRecords(counts).made,
  share,
})

const DAY_MS = 86_400_000

/** `2026-03-02T02:17:05Z` */
export const toSecond = (instant: string): string => `${instant.slice(0, 19)}Z`

const iso = (at: number): string => toSecond(new Date(at).toISOString())

/** For the log: why it waits, and until when. */
export const outageBegins = ({ since, givesUpAt, class: reason, what, pending }: OutageProgress): string =>
  `nothing gets through to the gateway since ${iso(since)} (${reason}: ${what}); waiting, gives up at ${iso(givesUpAt)}; ${pendingText(pending)}`

export const outageChanges = ({ class: reason, what }: OutageProgress): string =>
  `still nothing gets through to the gateway, now for another cause (${reason}: ${what})`

export const outageEnds = ({ since, failures, pending }: OutageProgress, now: number): string =>
  `the gateway answers again, after ${durationText(Math.max(0, now - since))} and ${counted(failures, 'request')} in vain; ${pendingText(pending)}`

/** For progress; by the clock of UTC, as everywhere. */
export function outageProgress({ since, givesUpAt }: Pick<OutageProgress, 'since' | 'givesUpAt'>): string {
  const isLong = givesUpAt - since >= DAY_MS
  const [from, to] = [since, givesUpAt].map((at) => {
    const text = utcTime(at)
    return isLong ? text : text.slice(-5)
  })
  return `waiting for the gateway since ${from}, gives up at ${to} UTC`
}

/** In one line, of a run of another process. */
export const waitsText = ({ since, givesUpAt, class: reason, what, pending }: WaitsForGateway): string =>
  `waits for the gateway since ${toSecond(since)}, gives up at ${toSecond(givesUpAt)}: nothing gets through (${reason}: ${what}); ${pendingText(pending)}`

/** In several, with what to type. */
export const waitsLines = ({ since, givesUpAt, class: reason, what, pending }: WaitsForGateway): string[] => [
  `Waiting  for the gateway since ${toSecond(since)}: nothing gets through (${reason})`,
  `         ${what}`,
  `         gives up at ${toSecond(givesUpAt)}; ${pendingText(pending)}. To see whether the gateway can be had`,
  '    waybill doctor',
]

const pendingText = (pending: number): string =>
  `${counted(pending, 'record is pending', 'records are pending')}`

function waitingText({ job, run, owner, since, givesWay }: OtherRun): string {
  const which = run === undefined ? '' : `run ${run}, `
  const others = `${job} (${which}${owner}, since ${new Date(since).toISOString()})`
  return givesWay === true
    ? `waiting for the backfill of ${others}, which gives way`
    : `waiting for another run, which goes first: ${others}`
}

/** For a command that runs nothing itself. */
export const tellingWaits = ({
  logger,
  writeError,
}: Pick<CommandContext, 'logger' | 'writeError'>): RunEvents =>
  createRunEvents({
    waitingForRun: (other) => logger.beside(writeError).warn(waitingText(other), { job: other.job }),
  })
