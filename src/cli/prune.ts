/** `waybill prune`: removes receipts, rejects and ledger detail of old runs. */
import { join, relative } from 'node:path'
import { EXIT, WaybillError } from '../model/errors.ts'
import type { KeptBecause, KeptRun } from '../operate/prune.ts'
import { backUp, type PrunedInstallation, pruneRuns } from '../runs/installation.ts'
import { n, sizeText } from '../shown-text.ts'
import type { Action } from './context.ts'

export interface PruneOptions {
  /** Milliseconds. */
  readonly olderThan: number
  readonly dryRun?: true
  readonly json?: true
}

export const prune: Action<PruneOptions> = async (context, options) => {
  const before = context.now() - options.olderThan
  const dryRun = options.dryRun === true
  const pruned = await pruneRuns(context, { before, dryRun })
  const result = { before: new Date(before).toISOString(), dryRun, ...pruned }
  context.out(options.json ? JSON.stringify(result) : pruneText(pruned, before))
  if (!context.interrupt.aborted) return EXIT.ok
  throw new WaybillError('interrupted', 'the pruning was interrupted', {
    remedy: 'Prune again: it goes on where it stopped.',
  })
}

function pruneText(pruned: PrunedInstallation, before: number): string[] {
  const { runs, resumed, kept, detail, files, ledger: compacted } = pruned
  const instant = `${new Date(before).toISOString().slice(0, 16)}Z`
  const did = compacted === undefined ? 'Would remove' : 'Removed'
  const { bytes, ...counts } = detail
  const told = Object.entries(counts).map(([what, count]) => `${what} ${n(count)}`)
  return [
    `${did} the detail of ${n(runs.length)} ${runs.length === 1 ? 'run' : 'runs'} that ended before ${instant}.`,
    ...(resumed.length === 0 ? [] : [`And what an earlier pruning had begun with: ${n(resumed.length)}.`]),
    `Files    receipts and rejects ${n(files.files)} (${sizeText(files.bytes)})`,
    `Ledger   ${told.join(', ')} (${sizeText(bytes)})`,
    ...(compacted === undefined
      ? []
      : [
          `         ${sizeText(compacted.freed)} given back to the disk, ${sizeText(compacted.empty)} kept for the next runs`,
        ]),
    ...(kept.length === 0 ? [] : ['Kept, though older:', ...kept.map(keptText)]),
    'What was delivered is recognised as before; `waybill runs` and `waybill show` keep the balances.',
  ]
}

const WHY: Readonly<Record<KeptBecause, (run: KeptRun) => string>> = {
  unfinished: ({ command }) => `it is not finished; to finish it: ${command}`,
  'in-doubt': ({ run }) => `records of it are in doubt; to look for them: waybill reconcile ${run}`,
  'referred-to': ({ by }) => `run ${by} has taken up what it left behind, and is younger or kept`,
  held: ({ by }) => `its job is under way (run ${by}); prune again when that has ended`,
}

const keptText = (kept: KeptRun): string => `  ${kept.run}  ${WHY[kept.because](kept)}`

export const backup: Action<{ readonly file: string; readonly json?: true }> = async (context, options) => {
  const { home, key } = context.settings
  const { ledger, copy, bytes, takenAt } = await backUp(context, options.file)
  const keptIn = key === undefined ? join(home, 'key') : 'WAYBILL_KEY'
  if (options.json) {
    context.out(
      JSON.stringify({ ledger, copy, bytes, takenAt: new Date(takenAt).toISOString(), key: keptIn }),
    )
    return EXIT.ok
  }
  context.out([
    `Ledger ${relative('.', ledger)} copied to ${relative('.', copy)}: ${sizeText(bytes)}, checked, readable by its owner alone.`,
    `Not in it: the key (${key === undefined ? relative('.', keptIn) : 'WAYBILL_KEY, or the file of WAYBILL_KEY_FILE'}), receipts and rejects. ` +
      'Keep the key elsewhere too: without it nothing that was delivered is recognised.',
    'How to restore it: docs/runbook.md.',
  ])
  return EXIT.ok
}
