/** Turns the events of a run into progress and log lines (docs/logging.md). */

import { smallWords } from '../expect/expectation-text.ts'
import { addCounts, allRecords, type Counts, noCounts } from '../model/balance.ts'
import { describePlace, type WaybillError } from '../model/errors.ts'
import type {
  ExportProgress,
  LeftBehind,
  OtherRun,
  OutageProgress,
  RangePosition,
  RunListener,
} from '../run/events.ts'
import { leftIn } from '../story/balance.ts'
import { durationText } from '../story/report/figures.ts'
import { pendingText, toSecond } from '../story/words.ts'
import { counted, iso, n, utcTime } from '../system/shown-text.ts'
import type { LogFields, Logger } from '../telemetry/logger.ts'
import { LINE_EVERY_MS, type Progress, type ProgressState } from '../telemetry/progress.ts'
import type { CommandContext } from './command-form.ts'

const LONG_WAIT_MS = 2_000

/** @param logger writes its lines for standard error through `progress` while that shows something */
export function createRunReporter(progress: Progress, logger: Logger, now: () => number) {
  let about: LogFields = {}
  const fields = (): LogFields => about
  const exports = reportExports(progress, logger, now, fields)
  const gateway = reportGateway(progress, logger, now, fields)
  let searchShownAt: number | undefined
  return {
    ...exports.listener,
    ...gateway.listener,
    runStarted({ id, job, gateway, resumed, settledOnly, isFirst }) {
      about = { run: id, job }
      exports.begin()
      logger.info('run started', { ...about, gateway, resumed })
      if (isFirst === true && gateway !== 'built-in') logger.warn(NEW_LEDGER, { ...about, gateway })
      if (settledOnly === true)
        progress.note(`Run ${id} is unfinished. Its open batches are settled first; the rest waits.`)
      else if (resumed) progress.note(`Run ${id} is unfinished: it continues where it stopped.`)
    },
    partStarted(part) {
      about = part
    },
    partEnded({ code }) {
      gateway.end()
      logger.info('part ended', { ...about, code })
    },
    lookingAgain({ run, number, of }) {
      // The first line comes after the least wait to report.
      searchShownAt ??= now() - LINE_EVERY_MS + LONG_WAIT_MS
      if (now() - searchShownAt < LINE_EVERY_MS) return
      searchShownAt = now()
      progress.note(`Looking for the exports of run ${run}: ${number} of ${of}.`)
    },
    lookingTwice({ againInMs }) {
      progress.note(`Looking again in ${againInMs / 1000} s, for exports that may still change.`)
    },
    exportsWaiting({ job, waiting }) {
      for (const one of waiting) logger.warn(`not taken: ${one}`, { job })
    },
    waitingForRun(other) {
      logger.warn(waitingText(other), about)
    },
    runEnded({ state, reason, workedMs }) {
      gateway.end()
      const counts = exports.end(state === 'finished')
      const code = reason ?? undefined
      logger.info('run ended', { ...about, state, code, ...countFields(counts), durationMs: workedMs })
    },
  } satisfies RunListener
}

function reportExports(progress: Progress, logger: Logger, now: () => number, about: () => LogFields) {
  let exportSince = 0
  const shown = showProgress(progress)
  /** Counts of the exports that have ended in this process. */
  let ended = noCounts()
  /** Settled part of the current export: a stopped run ends in the middle of an export. */
  let open: ExportProgress | undefined
  const logLeft = (name: string, left: readonly LeftBehind[]): void => {
    for (const { outcome, row, line, rule, transaction, stage, code, batchId } of left) {
      const what = rule === null ? 'row' : 'record'
      const became = outcome === 'warning' ? 'warned of' : outcome === 'in-doubt' ? 'left in doubt' : outcome
      const place = { export: name, row, line, batch: batchId ?? undefined, transaction }
      logger.debug(`${what} ${became}`, { ...about(), ...place, rule: rule ?? undefined, stage, code })
    }
  }
  const listener = {
    exportSmall(small) {
      const { name, bytes } = small
      logger.warn(`strangely small: ${smallWords(small)}`, { ...about(), export: name, bytes })
    },
    exportNoted({ name, notes }) {
      for (const note of notes) logger.warn(`${name}: ${note}`, { ...about(), export: name })
    },
    exportStarted(started) {
      const { name, bytes, counts } = started
      exportSince = now()
      open = started
      logger.info('export started', { ...about(), export: name, bytes, ...resumedAt(counts) })
      shown.started(started)
    },
    exportAdvanced({ left, ...settled }) {
      // Without `left`, which holds the chunk: memory would keep the last chunk beside the next.
      open = settled
      if (logger.writes('debug')) {
        logger.debug('chunk settled', { ...about(), export: settled.name, rows: settled.counts.rows.read })
        logLeft(settled.name, left())
      }
      shown.advanced(settled)
    },
    exportEnded({ name, counts }) {
      shown.ended(name, counts)
      addCounts(ended, counts)
      open = undefined
      const durationMs = Math.max(0, now() - exportSince)
      logger.info('export ended', { ...about(), export: name, ...countFields(counts), durationMs })
    },
    exportDrifted({ name, findings }) {
      for (const { measure, message } of findings)
        logger.warn(`${name} differs from earlier deliveries: ${measure}: ${message}`, {
          ...about(),
          export: name,
        })
    },
    exportFailed({ name, error }) {
      shown.failed()
      if (open?.name === name) open = undefined
      logger.error(failureText(name, error), { ...about(), export: name, code: error.code })
    },
    exportNotArchived({ name, error }) {
      logger.error(failureText(name, error), { ...about(), export: name, code: error.code })
    },
  } satisfies RunListener
  return {
    listener,
    begin(): void {
      ended = noCounts()
      open = undefined
    },
    /** @returns counts of the exports, including the current one */
    end(isFinished: boolean): Counts {
      shown.runEnded(isFinished)
      if (open !== undefined) addCounts(ended, open.counts)
      open = undefined
      return ended
    },
  }
}

function reportGateway(progress: Progress, logger: Logger, now: () => number, about: () => LogFields) {
  let outage: OutageProgress | undefined
  const listener = {
    batchAnswered: logger.writes('debug')
      ? ({ batchId, kind, class: answer, ...sent }) => {
          const { records, bytes, attempt, status, requestId, durationMs } = sent
          const operation = `create ${kind} records`
          const facts = { records, bytes, attempt, class: answer, status, requestId, durationMs }
          logger.debug('batch answered', { ...about(), batch: batchId, operation, ...facts })
        }
      : undefined,
    waiting({ operation, waitMs, class: reason, what, givesUpAt }) {
      if (outage !== undefined) progress.wait(outageProgress(outage))
      if (waitMs < LONG_WAIT_MS) return
      const until = iso(givesUpAt)
      // An outage has its own lines; tries within an outage are detail.
      logger[outage === undefined ? 'warn' : 'debug'](
        `waiting ${Math.round(waitMs / 1000)} s for the gateway (${reason}: ${what}); gives up at ${until}`,
        { ...about(), operation, waitMs: Math.round(waitMs), class: reason },
      )
    },
    outage(state) {
      const { class: reason, status, pending, isOver } = state
      const fields = { ...about(), class: reason, status, pending }
      if (isOver) {
        const words = outageEnds(state, now())
        logger.info(words, { ...about(), pending, durationMs: Math.max(0, now() - state.since) })
        progress.wait(undefined)
        progress.note(`${words[0]?.toUpperCase()}${words.slice(1)}.`)
      } else {
        if (outage === undefined) logger.warn(outageBegins(state), fields)
        else logger.info(outageChanges(state), fields)
        progress.wait(outageProgress(state))
      }
      outage = isOver ? undefined : state
    },
    othersFound({ people, of }) {
      logger.warn(
        `${n(people)} of ${counted(of, 'profile')} show records that Waybill sent with another key or from other exports; if this installation sent them, stop this run, and restore its ledger and key, or run with --look-first (--new-key if the key is lost)`,
        about(),
      )
    },
  } satisfies RunListener
  return {
    listener,
    end(): void {
      outage = undefined
      progress.wait(undefined)
    },
  }
}

const NEW_LEDGER =
  'the ledger is new: it knows no earlier deliveries; if this installation has delivered to this gateway, stop this run, and restore a backup (waybill restore FILE; in PostgreSQL by the tools of the server) or run with --look-first'

/** Fields for an export that an earlier process has started. */
const resumedAt = ({ rows }: Counts): LogFields => (rows.read === 0 ? {} : { resumed: true, rows: rows.read })

function countFields(counts: Counts): LogFields {
  const { made, accepted, rejected, unchanged, inDoubt } = allRecords(counts)
  const { read: rows, rejected: rejectedRows } = counts.rows
  return { rows, rejectedRows, records: made, accepted, rejected, unchanged, inDoubt }
}

const failureText = (name: string, { message, place, remedy }: WaybillError): string =>
  `${message.replace(/\.$/, '')} (${describePlace(place ?? { file: name })}). ${remedy}`

/** Most exports of a range with a line each; of more, only exports with something left behind get a line. */
const LINES_OF_EXPORTS = 10

function showProgress(progress: Progress) {
  /** Counts of the exports of the range that have ended in this process. */
  let ended: Counts | undefined
  let position: RangePosition | undefined
  let state: ProgressState | undefined
  const ofRange = ({ name, counts, share }: ExportProgress, at: RangePosition): ProgressState => {
    const { number, of, bytes, bytesBefore, bytesOfAll } = at
    const all = noCounts()
    addCounts(all, ended ?? noCounts())
    addCounts(all, counts)
    const done = bytesOfAll === 0 ? 0 : (bytesBefore + share * bytes) / bytesOfAll
    // Never falls back: members of an archive are exports of their own, each from 0 to 1.
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
      const { made } = allRecords(counts)
      const { rows, rejected, inDoubt } = leftIn(counts)
      const left = rows + rejected + inDoubt
      if (left > 0 || position.of <= LINES_OF_EXPORTS) {
        const behind = left === 0 ? '' : `, ${n(left)} left behind`
        progress.note(`${name}: ${n(counts.rows.read)} rows, ${n(made)} records${behind}`)
      }
      progress.advance(ofRange({ name, counts, share: 1 }, position))
      addCounts(ended, counts)
    },
    failed() {
      if (ended === undefined) progress.stop()
    },
    /** @param finished true if all exports were run */
    runEnded(finished: boolean) {
      if (finished && ended !== undefined) progress.end({ ...stateOf(ended, 1) })
      else progress.stop()
      ended = undefined
    },
  }
}

/** Label of a range. A resumed range counts from the first export of this process. */
const rangeLabel = ({ number, of }: RangePosition): string =>
  number === 1 ? `Backfill of ${counted(of, 'export')}` : `Backfill, exports ${n(number)} to ${n(of)}`

const stateOf = (counts: Counts, share: number): ProgressState => ({
  rows: counts.rows.read,
  records: allRecords(counts).made,
  share,
})

const DAY_MS = 86_400_000

const second = (at: number): string => toSecond(iso(at))

/** Log message on the start of an outage: its cause, and the end of the wait. */
const outageBegins = ({ since, givesUpAt, class: reason, what, pending }: OutageProgress): string =>
  `gateway unavailable since ${second(since)} (${reason}: ${what}); waiting, gives up at ${second(givesUpAt)}; ${pendingText(pending)}`

const outageChanges = ({ class: reason, what }: OutageProgress): string =>
  `gateway still unavailable, now for another cause (${reason}: ${what})`

const outageEnds = ({ since, failures, pending }: OutageProgress, now: number): string =>
  `gateway available again after ${durationText(Math.max(0, now - since))} and ${counted(failures, 'failed request')}; ${pendingText(pending)}`

/** Progress text for an outage, in UTC. */
function outageProgress({ since, givesUpAt }: Pick<OutageProgress, 'since' | 'givesUpAt'>): string {
  const isLong = givesUpAt - since >= DAY_MS
  const [from, to] = [since, givesUpAt].map((at) => {
    const text = utcTime(at)
    return isLong ? text : text.slice(-5)
  })
  return `waiting for the gateway since ${from}, gives up at ${to} UTC`
}

function waitingText({ job, run, owner, since, givesWay }: OtherRun): string {
  const which = run === undefined ? '' : `run ${run}, `
  const others = `${job} (${which}${owner}, since ${iso(since)})`
  return givesWay === true
    ? `waiting for the backfill of ${others}, which gives way`
    : `waiting for another run, which goes first: ${others}`
}

/** Log of waits, for a command that runs no job itself. */
export const tellingWaits = ({
  logger,
  writeError,
}: Pick<CommandContext, 'logger' | 'writeError'>): RunListener => ({
  waitingForRun: (other) => logger.beside(writeError).warn(waitingText(other), { job: other.job }),
})
