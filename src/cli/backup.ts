/** `waybill backup`: a consistent copy of the ledger, also while a run is on. */
import { existsSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { backUpLedger } from '../ledger/backup.ts'
import { EXIT, WaybillError } from '../model/errors.ts'
import type { Action } from './context.ts'
import { sizeText } from './sizes.ts'

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
