/** What to type next for what a run has left. Lines that begin with four blanks are commands, to be typed as they stand. */

import type { Reason } from '../ledger/ledger.ts'
import { allRecords, type Counts } from '../model/balance.ts'
import { remedyOf } from '../model/errors.ts'
import { backfillCommand, remedyWith } from '../run/backfill-range.ts'
import type { RunSummary } from '../runs/summary.ts'
import { counted, n, shellPath, shellWord } from '../shown-text.ts'
import { leftSteps } from './left-steps.ts'
import { toSecond } from './outage-text.ts'
import { remedyFor } from './remedies.ts'
import { command, gatewaySetting } from './shell-command.ts'

/**
 * @param reasons of the run: then it is said by reason, and with examples
 * @returns nothing where nothing is left to do
 */
export function nextSteps(summary: RunSummary, reasons: readonly Reason[] = []): string[] {
  if (summary.pruned !== undefined) return []
  const steps = stepsOf(summary, reasons)
  return steps.length === 0 ? [] : ['Next', ...atItsGateway(summary, steps)]
}

function stepsOf(summary: RunSummary, reasons: readonly Reason[]): string[] {
  const { run, state, activity } = summary
  const { job, backfill } = summary
  const typed = backfill === undefined ? `waybill run ${shellWord(job)}` : backfillCommand(job, backfill)
  const again = `    ${typed}`
  if (activity?.kind === 'under-way') return ['  It is under way. How far it is', command('show', run)]
  if (state === 'running') return ['  To finish it: it goes on where it stopped', again]
  if (state === 'interrupted') return interruptedSteps(summary, typed)
  // Its rows are read anew, from another file: what was rejected of this one cannot be taken up, but for what its own file has shown
  // to be missing.
  if (summary.reason === 'given-up')
    return [...givenUpSteps(run, reasons.filter(isOpen)), '  To begin anew with what is there now', again]
  const left = leftSteps(summary, reasons.filter(isOpen), leftCounts(summary), again)
  const steps = [...exportSteps(summary, typed), ...left]
  return state === 'failed' ? [...steps, ...failedSteps(again)] : steps
}

/** Of what it had in hand, the ledger knows what it left in doubt; what was never answered the doctor tells. */
const givenUpSteps = (run: string, reasons: readonly Reason[]): string[] => [
  ...(reasons.some(({ outcome }) => outcome === 'in-doubt')
    ? [
        '  To look once more whether the gateway has what is in doubt; or, where somebody knows that it has',
        command('reconcile', run),
        command('resolve', run, '--accept'),
      ]
    : []),
  ...(reasons.some((reason) => remedyFor(reason) === 'send-again')
    ? [
        '  To send what a look into the profiles did not find, where the file that it had begun with is there still',
        command('rerun', run, '--only', 'rejected'),
      ]
    : []),
]

/** Of a run that went to another gateway than the settings name: commands that go there say so, and those alone can finish it. */
function atItsGateway({ run, gateway, state, settingsName }: RunSummary, steps: readonly string[]): string[] {
  if (settingsName === undefined) return [...steps]
  const setting = gatewaySetting(gateway)
  const isOpen = state === 'running' || state === 'interrupted'
  return [
    `  The run went to ${gateway}, and the settings name ${settingsName}: there with the keys of that gateway`,
    ...steps.map((step) =>
      step.replace(/^ {4}(?=waybill (run|backfill|rerun|reconcile|resolve) )/, `    ${setting} `),
    ),
    ...(isOpen ? ['  Or, to end it as it is', command('resolve', run, '--give-up')] : []),
  ]
}

/** Its threshold has ended it, mostly in the middle of a chunk of which the ledger knows no reasons: a dry run tells them all. */
const failedSteps = (again: string): string[] => [
  '  To see what would be rejected now, and why; nothing is sent',
  `${again} --dry-run`,
  '  Once that is put right, for all that the run did not come to',
  again,
]

/** Whether something of it is left that no later run has settled. */
const isOpen = ({ count, settled }: Reason): boolean => count > settled

/** Rows and records by what is left of them. */
function leftCounts(summary: RunSummary): { readonly rejected: number; readonly inDoubt: number } {
  const settled = (summary.settled ?? []).reduce((sum, { count }) => sum + count, 0)
  const { rejected, inDoubt } = allRecords(summary)
  return { rejected: summary.rows.rejected + rejected - settled, inDoubt }
}

function interruptedSteps({ run, reason = '', exports }: RunSummary, typed: string): string[] {
  const again = `    ${typed}`
  if (reason === 'export-changed' || reason === 'export-gone') {
    const open = exports.filter(({ state }) => state === 'open')
    return [
      ...open.map(({ name, sha256 }) => `  Put the file back that was ${name} (SHA-256 ${sha256}), then`),
      again,
      '  Or, where it is not to be had any more, give the run up, and begin anew with what is there now',
      command('resolve', run, '--give-up'),
      again,
    ]
  }
  if (reason.startsWith('gateway-')) {
    const words = '  To see whether the gateway can be had, and to finish the run where it stopped'
    return [words, command('doctor'), again]
  }
  const remedy = reason === 'interrupted' ? undefined : remedyText(reason, typed)
  return [
    ...(remedy === undefined ? [] : [`  ${reason}: ${remedy}`]),
    '  To finish it: it goes on where it stopped',
    again,
  ]
}

/** @param typed what reads the exports of the run again: an inbox need not have those of a backfill */
function exportSteps({ exports, backfill }: RunSummary, typed: string): string[] {
  const failed = exports.flatMap(({ error, readSince, ...one }) =>
    error === undefined || readSince !== undefined ? [] : [{ error, ...one }],
  )
  if (failed.length === 0) return []
  const drifted = failed.some(({ error }) => error === 'export-drifted')
  return [
    ...failed.flatMap(({ name, error, mapping, file, counts }) => [
      `  ${sentOf(name, counts)} (${error}): ${remedyText(error, typed) ?? 'see docs/errors.md'}`,
      // The ledger knows the code alone, not which columns.
      ...(error === 'columns-missing' && mapping !== undefined && file !== undefined
        ? [command('mapping', 'check', shellWord(mapping), '--export', shellPath(file))]
        : []),
    ]),
    '  Then',
    `    ${typed}`,
    ...(drifted && backfill?.acceptDrift !== true
      ? ['  Or, where what differs is right', `    ${typed} --accept-drift`]
      : []),
  ]
}

/** An export may break off once much of it is delivered. */
function sentOf(name: string, counts: Counts): string {
  const { accepted, inDoubt } = allRecords(counts)
  if (counts.rows.read === 0) return `Nothing of ${name} was sent`
  if (accepted + inDoubt === 0) return `No record of ${name} was accepted`
  const doubts = inDoubt === 0 ? '' : ` and ${n(inDoubt)} in doubt`
  return `${name} failed with ${counted(accepted, 'record')} accepted${doubts}`
}

function remedyText(code: string, typed: string): string | undefined {
  const remedy = remedyOf(code)
  return remedy === undefined ? undefined : remedyWith(remedy, typed)
}

/** What people have decided on it, which later runs have settled its rejects, and whose rejects it has taken up. */
export function relatedRuns(summary: RunSummary): string[] {
  const { origin, backfill, settled = [], decided = [], pruned, rows, records } = summary
  const filled =
    backfill === undefined ? [] : [`A backfill of the exports of ${backfill.from} to ${backfill.to}.`]
  const taken = origin === undefined ? [] : [`It takes up what run ${origin.run} has left behind.`]
  const count = settled.reduce((sum, one) => sum + one.count, 0)
  const shares = settled.map((one) => `${n(one.count)} by run ${one.run}`).join(', ')
  const later =
    count === 0
      ? []
      : [
          `Of ${n(rows.rejected + allRecords({ records }).rejected)} rejected, ${n(count)} settled since: ${shares}.`,
        ]
  const gone =
    pruned === undefined
      ? []
      : [`Its detail was pruned on ${pruned.slice(0, 10)}: batches, reasons, receipts and rejects are gone.`]
  const decisions = decided.map(
    ({ decision, by, note, at }) =>
      `Decided at ${toSecond(at)} by ${by}: ${decision}${note === undefined ? '' : `. ${note}`}`,
  )
  return [...filled, ...taken, ...decisions, ...later, ...gone]
}
