/** `waybill prune`: removes receipts, rejects and ledger detail of old runs. */
import { existsSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { backUpLedger } from '../ledger/sqlite/backup.ts'
import { type Compacted, compactLedger } from '../ledger/sqlite/pruning.ts'
import { EXIT, WaybillError } from '../model/errors.ts'
import { type KeptBecause, type KeptRun, type Pruned, prune as pruneRuns } from '../operate/prune.ts'
import { n } from '../shown-text.ts'
import type { Action } from './context.ts'
import { sizeText } from './summary-text.ts'

export interface PruneOptions {
  /** Milliseconds. */
  readonly olderThan: number
  readonly dryRun?: true
  readonly json?: true
}

export const prune: Action<PruneOptions> = async (context, options) => {
  const { home } = context.settings
  const file = join(home, 'ledger.sqlite')
  if (!existsSync(file))
    throw new WaybillError('usage-wrong', `there is no ledger in ${home} yet`, {
      remedy: 'Check WAYBILL_HOME. The first run makes the ledger.',
    })
  const before = context.now() - options.olderThan
  const dryRun = options.dryRun === true
  const ledger = await context.openLedger()
  let pruned: Pruned
  try {
    const { now, interrupt } = context
    pruned = await pruneRuns({ ledger, home, now, interrupt }, { before, dryRun })
  } finally {
    await ledger.close()
  }
  const compacted = dryRun ? undefined : compactLedger(file, context.now())
  const result = { before: new Date(before).toISOString(), dryRun, ...pruned, ledger: compacted }
  context.out(options.json ? JSON.stringify(result) : pruneText(pruned, before, compacted))
  if (!context.interrupt.aborted) return EXIT.ok
  throw new WaybillError('interrupted', 'the pruning was interrupted', {
    remedy: 'Prune again: it goes on where it stopped.',
  })
}

function pruneText(pruned: Pruned, before: number, compacted: Compacted | undefined): string[] {
  const { runs, resumed, kept, detail, files } = pruned
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
  unfinished: ({ job }) => `it is not finished; to finish it: waybill run ${job}`,
  'in-doubt': ({ run }) => `records of it are in doubt; to look for them: waybill reconcile ${run}`,
  'referred-to': ({ by }) => `run ${by} has taken up what it left behind, and is younger or kept`,
  held: ({ by }) => `its job is under way (run ${by}); prune again when that has ended`,
}

const keptText = (kept: KeptRun): string => `  ${kept.run}  ${WHY[kept.because](kept)}`

export const backup: Action<{ readonly file: string; readonly json?: true }> = async (context, options) => {
  const { home, key } = context.settings
  const ledger = join(home, 'ledger.sqlite')
  if (!existsSync(ledger))
    throw new WaybillError('usage-wrong', `there is no ledger in ${home} yet`, {
      remedy: 'Check WAYBILL_HOME. The first run makes the ledger.',
    })
  // It may have the shape of an earlier program still.
  await (await context.openLedger()).close()
  const copy = resolve(options.file)
  const { bytes, takenAt } = backUpLedger(ledger, copy, context.now())
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
