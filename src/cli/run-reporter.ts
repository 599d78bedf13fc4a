/** Turns what a run tells into progress and log lines. */
import { describePlace } from '../errors.ts'
import type { RunEvents } from '../job/run-events.ts'
import { allRecords, type Counts } from '../reconcile/balance.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Progress, ProgressState } from '../telemetry/progress.ts'

/** A wait shorter than this is not worth a line. */
const LONG_WAIT_MS = 2_000

export function createRunReporter(progress: Progress, logger: Logger): RunEvents {
  let bytes = 0
  let started: Parameters<RunEvents['runStarted']>[0] | undefined
  const state = (counts: Counts, byteOffset: number): ProgressState => ({
    rows: counts.rows.read,
    records: allRecords(counts).made,
    share: bytes === 0 ? 1 : Math.min(1, byteOffset / bytes),
  })
  return {
    runStarted(run) {
      started = run
      logger.debug('run started', { run: run.id, job: run.job, gateway: run.gateway, resumed: run.resumed })
      if (run.resumed) progress.note(`Run ${run.id} was not finished: it goes on where it stopped.`)
    },
    exportStarted(found) {
      bytes = found.bytes
      logger.debug('export started', { run: started?.id, export: found.name, bytes: found.bytes })
      progress.start(found.name)
    },
    exportAdvanced(name, counts, byteOffset) {
      logger.debug('chunk settled', { run: started?.id, export: name, rows: counts.rows.read })
      progress.advance(state(counts, byteOffset))
    },
    exportEnded(name, counts) {
      const { made, accepted, rejected, unchanged, inDoubt } = allRecords(counts)
      progress.end(state(counts, bytes))
      logger.debug('export ended', {
        run: started?.id,
        export: name,
        rows: counts.rows.read,
        records: made,
        accepted,
        rejected,
        unchanged,
        inDoubt,
      })
    },
    exportFailed(name, error) {
      logger.error(`${error.message} (${describePlace(error.place ?? { file: name })}). ${error.remedy}`, {
        run: started?.id,
        export: name,
        code: error.code,
      })
    },
    waiting({ operation, waitMs, class: reason, givesUpAt }) {
      if (waitMs < LONG_WAIT_MS) return
      const until = new Date(givesUpAt).toISOString()
      logger.warn(
        `waiting ${Math.round(waitMs / 1000)} s for the gateway (${reason}); gives up at ${until}`,
        { run: started?.id, operation },
      )
    },
    runEnded: () => logger.debug('run ended', { run: started?.id }),
  }
}
