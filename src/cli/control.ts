/** `waybill stop` and `watch`: a run that is under way, in whatever process. `pause` and `resume`: a job on the schedule. */
import { allRecords } from '../model/balance.ts'
import { EXIT } from '../model/errors.ts'
import { pauseJob, stopRun, watchRun } from '../runs/control.ts'
import type { ShownRun } from '../runs/listed-runs.ts'
import { counted, n } from '../shown-text.ts'
import { createProgress } from '../telemetry/progress.ts'
import type { Action } from './commands.ts'
import { personOf } from './rerun.ts'
import { waitsText } from './run-reporter.ts'
import { sayRun } from './summary-text.ts'

export const stop: Action<'stop'> = async (context, { run, by = context.user, json }) => {
  sayRun(context, await stopRun(context, run, by.trim() === '' ? context.user : by.trim()), json)
  return EXIT.ok
}

/** Ends with the exit code of the run. */
export const watch: Action<'watch'> = async (context, { run, json }) => {
  const progress = createProgress({ columns: context.terminal, now: context.now, write: context.writeError })
  let said = ''
  const shown = await watchRun(context, run, ({ summary }) => {
    const words = progressWords(summary)
    if (words === said) return
    said = words
    progress.note(words)
  })
  sayRun(context, shown, json)
  return shown.summary.exit ?? EXIT.interrupted
}

export const pause: Action<'pause'> = async (context, options) => {
  const done = await pauseJob(context, options.job, personOf(context, options))
  const words = done.changed
    ? `${done.job} is paused: the schedule begins nothing of it. To go on: waybill resume ${done.job}`
    : `${done.job} is paused already: waybill schedule --explain ${done.job}`
  context.out(options.json ? JSON.stringify(done) : words)
  return EXIT.ok
}

export const resume: Action<'resume'> = async (context, { job, json }) => {
  const done = await pauseJob(context, job, 'over')
  const words = done.changed
    ? `${done.job} goes on: what it missed is made up for as its schedule says (missed).`
    : `${done.job} was not paused.`
  context.out(json ? JSON.stringify(done) : words)
  return EXIT.ok
}

function progressWords(summary: ShownRun['summary']): string {
  const { run, rows, activity } = summary
  const { accepted, unchanged } = allRecords(summary)
  const waits =
    activity?.kind === 'under-way' && activity.waits !== undefined ? `; ${waitsText(activity.waits)}` : ''
  return `Run ${run}: ${counted(rows.read, 'row')} settled, ${n(accepted)} accepted, ${n(unchanged)} unchanged${waits}`
}
