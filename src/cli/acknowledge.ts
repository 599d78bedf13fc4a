/** `waybill acknowledge`: what runs left behind stays as it is, and needs nobody any more. */
import { EXIT } from '../model/errors.ts'
import { acknowledge as acknowledgeRuns } from '../runs/acknowledge.ts'
import { counted } from '../shown-text.ts'
import type { Action } from './context.ts'
import { type Deciding, personOf } from './rerun.ts'

export interface AcknowledgeOptions extends Deciding {
  readonly run: string | undefined
  readonly reason?: string
  readonly undo?: true
  readonly json?: true
}

export const acknowledge: Action<AcknowledgeOptions> = async (context, options) => {
  const { run, reason, undo = false } = options
  const done = await acknowledgeRuns(context, { run, reason, undo }, personOf(context, options))
  if (options.json) {
    context.out(JSON.stringify({ ...done, undo }))
    return EXIT.ok
  }
  const { runs, left, inDoubt } = done
  const which = `${reason === undefined ? '' : ` for ${reason}`} ${runs.length === 1 ? runs.join() : `in ${counted(runs.length, 'run')}`}`
  context.out([
    `${undo ? 'No longer acknowledged' : 'Acknowledged'}:${which}`,
    ...(inDoubt === 0
      ? []
      : [
          `${counted(inDoubt, 'record is', 'records are')} in doubt, and must be decided on: waybill show ${runs[0]}`,
        ]),
    left === 0
      ? 'No run needs somebody.'
      : `${counted(left, 'run needs', 'runs need')} somebody: waybill runs --failed`,
  ])
  return EXIT.ok
}
