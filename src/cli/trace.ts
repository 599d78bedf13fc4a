/** `waybill trace`: from a transaction id back to export, line, rule, batch, tries and answer. */

import { EXIT } from '../model/errors.ts'
import { traceRecord } from '../runs/trace.ts'
import { shownPath } from '../shown-text.ts'
import type { Action } from './context.ts'
import { openKnownLedger } from './open-known-ledger.ts'

export const trace: Action<{ readonly transaction: string; readonly json?: true }> = async (
  context,
  options,
) => {
  const ledger = await openKnownLedger(context)
  try {
    const traced = await traceRecord(ledger, options.transaction)
    if (options.json) {
      context.out(JSON.stringify(traced))
      return EXIT.ok
    }
    const { origin, export: found } = traced
    const lines = [
      `Transaction  ${traced.transactionId}`,
      `Export       ${found.name} (SHA-256 ${found.sha256})`,
      origin === undefined
        ? `Row          ${traced.row} (the file is not at ${shownPath(found.path)} any more, or has changed: its line cannot be told)`
        : `Row          ${traced.row}, line ${origin.line}, byte ${origin.byteOffset} of ${shownPath(found.path)}`,
      `Rule         ${traced.rule}`,
    ]
    for (const { run, chunk, outcome, batches, decisions, reason } of traced.runs) {
      lines.push('', `Run          ${run}, chunk ${chunk}: ${outcome}`)
      for (const batch of batches) {
        const answer =
          batch.answer === null
            ? 'no answer yet'
            : `${batch.answer}${batch.status === null ? '' : `, HTTP ${batch.status}`}`
        lines.push(
          `  Batch      ${batch.batchId}: ${batch.state}, ${batch.attempts === 1 ? '1 try' : `${batch.attempts} tries`}, ${answer}`,
        )
        lines.push(
          `             begun ${batch.begunAt}${batch.settledAt === null ? '' : `, settled ${batch.settledAt}`}`,
        )
      }
      if (reason !== undefined) lines.push(`  Reason     ${reason.code} (${reason.stage}): ${reason.message}`)
      for (const { event, run: by, by: person, note, at } of decisions) {
        const who = person === undefined ? '' : `, by ${person}`
        const why = note === undefined ? '' : `: ${note}`
        lines.push(`  Decided    ${at}: ${event}${by === null ? '' : `, run ${by}`}${who}${why}`)
      }
    }
    for (const { run, at } of traced.pruned)
      lines.push('', `Run          ${run}: pruned on ${at.slice(0, 10)}`)
    context.out(lines)
    return EXIT.ok
  } finally {
    await ledger.close()
  }
}
