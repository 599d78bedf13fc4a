/** Turns what a run tells into progress and log lines (docs/logging.md). */
import { smallWords } from '../expect/expectation-text.ts'
import { addCounts, allRecords, type Counts, noCounts } from '../model/balance.ts'
import { describePlace, type WaybillError } from '../model/errors.ts'
import type { ExportProgress, LeftBehind, OutageProgress, RunListener } from '../run/events.ts'
import type { LogFields, Logger } from '../telemetry/logger.ts'
import type { Progress } from '../telemetry/progress.ts'
import { LINE_EVERY_MS } from '../telemetry/terminal-line.ts'
import { showProgress } from './export-progress.ts'
import { outageBegins, outageChanges, outageEnds, outageProgress } from './outage-text.ts'
import { waitingText } from './waiting-text.ts'

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
    exportSmall(small) {
      logger.warn(`strangely small: ${smallWords(small)}`, {
        ...about,
        export: small.name,
        bytes: small.bytes,
      })
    },
    exportStarted(started) {
      const { name, bytes, counts } = started
      exportSince = now()
      open = started
      logger.info('export started', { ...about, export: name, bytes, ...resumedAt(counts) })
      shown.started(started)
    },
    exportAdvanced(settled) {
      open = settled
      if (logger.writes('debug')) {
        logger.debug('chunk settled', { ...about, export: settled.name, rows: settled.counts.rows.read })
        tellLeft(settled.name, settled.left())
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
  'the ledger is new: it does not know what was delivered before; if this installation has delivered to this gateway, stop this run, and restore a backup or run with --look-first'

/** Of an export that an earlier process has begun. */
const resumedAt = ({ rows }: Counts): LogFields => (rows.read === 0 ? {} : { resumed: true, rows: rows.read })

function countFields(counts: Counts): LogFields {
  const { made, accepted, rejected, unchanged, inDoubt } = allRecords(counts)
  const { read: rows, rejected: rejectedRows } = counts.rows
  return { rows, rejectedRows, records: made, accepted, rejected, unchanged, inDoubt }
}

const failureText = (name: string, { message, place, remedy }: WaybillError): string =>
  `${message} (${describePlace(place ?? { file: name })}). ${remedy}`
