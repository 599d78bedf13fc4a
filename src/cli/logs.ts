/** `waybill logs`: what the log says of a run. */
import { EXIT } from '../model/errors.ts'
import { type LogLine, logOfRun } from '../runs/run-log.ts'
import { logLineText } from '../telemetry/logger.ts'
import type { Action } from './context.ts'

export const logs: Action<{ readonly run: string | undefined; readonly json?: true }> = async (
  context,
  { run, json },
) => {
  if (json === true) {
    const lines: LogLine[] = []
    for await (const line of logOfRun(context, run)) lines.push(line)
    context.out(JSON.stringify({ lines }))
    return EXIT.ok
  }
  let found = false
  for await (const { run: _run, ...line } of logOfRun(context, run)) {
    found = true
    context.out(logLineText(line))
  }
  if (!found) context.out('The log says nothing of this run: it was begun without it, or the lines are gone.')
  return EXIT.ok
}
