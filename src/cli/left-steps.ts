/** What to type for rows and records that a run has left behind, by what puts their reasons right. Pure. */

import type { Reason } from '../ledger/ledger.ts'
import { transactionId } from '../model/ids.ts'
import type { ExportSummary, RunSummary } from '../runs/summary.ts'
import { shellPath, shellWord } from '../shown-text.ts'
import { type Remedy, remedyFor } from './remedies.ts'
import { command } from './shell-command.ts'

/** Files named one by one; of more their folder is told. */
const FILES_NAMED = 5

/** Codes named of those that have the same remedy. */
const CODES_NAMED = 5

/**
 * @param open reasons of what no later run has settled, most frequent first; none: nothing is known but the counts
 * @param left counts of rows and records
 * @param again the command that reads what the run was to read
 */
export function leftSteps(
  summary: RunSummary,
  open: readonly Reason[],
  left: { readonly rejected: number; readonly inDoubt: number },
  again: string,
): string[] {
  const { run } = summary
  const those = (...remedies: readonly Remedy[]): readonly Reason[] =>
    open.filter((reason) => remedies.includes(remedyFor(reason)))
  const unknown = open.length === 0 && left.rejected > 0
  const rerun = command('rerun', run, '--only', 'rejected')
  const steps: string[] = []
  const say = (words: string, ...commands: readonly string[]): number => steps.push(`  ${words}`, ...commands)

  const mapped = those('mapping', 'either')
  if (unknown || mapped.length > 0) {
    const checks = mappingChecks(summary, unknown ? undefined : mapped)
    const then = 'correct it, see that it fits, and map these rows again'
    say(`If the mapping is at fault${codesOf(mapped)}: ${then}`, ...checks, rerun)
  }
  const lines = those('data', 'either', 'gateway')
  const corrected = rejectsRuns(summary, unknown ? undefined : lines)
  if (corrected.length > 0) {
    const then = 'correct the lines in the rejects file, and run that'
    say(`If the data are at fault${codesOf(lines)}: ${then}`, ...corrected)
  }
  const refused = those('gateway')
  if (refused.length > 0) {
    const then = 'see what became of one; once the cause is put right there, send it again'
    say(`If the gateway is at fault${codesOf(refused)}: ${then}`, ...traceOf(refused), rerun)
  }
  const unsent = those('send-again')
  if (unsent.length > 0) say(`The gateway has not got these${codesOf(unsent)}: send them`, rerun)
  if (left.inDoubt > 0) {
    say(
      'Nobody can tell whether the gateway has what is in doubt: look once more, and send what it lacks',
      command('reconcile', run),
      command('rerun', run, '--only', 'in-doubt'),
    )
    say(
      'What is in doubt even then, somebody must find out: the gateway has the records, or it has not',
      ...traceOf(those('doubt')),
      command('resolve', run, '--accept'),
      command('resolve', run, '--resend'),
    )
  }
  const unread = those('redelivery')
  if (unread.length > 0)
    say(`Ask the vendor for the whole export again${codesOf(unread)}; when it is in its place`, again)
  const unmarked = those('next-run')
  if (unmarked.length > 0)
    say(`The entry is stored${codesOf(unmarked)}; each run that meets it tries again`, again)
  const byHand = those('by-hand')
  if (byHand.length > 0)
    say(`The old entry is to be deleted at the gateway${codesOf(byHand)}, like that of`, ...traceOf(byHand))
  return steps
}

/** ` (unit-unknown, date-invalid)`: most frequent first; nothing where no reason is known. */
function codesOf(reasons: readonly Reason[]): string {
  if (reasons.length === 0) return ''
  const counts = new Map<string, number>()
  for (const { code, count, settled } of reasons) counts.set(code, (counts.get(code) ?? 0) + count - settled)
  const codes = [...counts].sort(([, a], [, b]) => b - a).map(([code]) => code)
  const rest = codes.length - CODES_NAMED
  return ` (${codes.slice(0, CODES_NAMED).join(', ')}${rest > 0 ? ` and ${rest} more` : ''})`
}

const traceOf = (reasons: readonly Reason[]): string[] => {
  const [first] = reasons.flatMap(({ example }) => example ?? [])
  if (first === undefined) return []
  const { exportId, row, rule, content } = first
  return [command('trace', transactionId(exportId, row, rule, content))]
}

/** @param reasons undefined: of any export */
function concerned(
  { exports }: RunSummary,
  reasons: readonly Reason[] | undefined,
): readonly ExportSummary[] {
  const names = new Set(reasons?.map(({ exportName }) => exportName))
  return exports.filter(({ name, rejects }) =>
    reasons === undefined ? rejects !== undefined : names.has(name),
  )
}

/** Each mapping once, with the first export that it is at odds with. A corrected rejects file is not of the form that it reads. */
function mappingChecks(summary: RunSummary, reasons: readonly Reason[] | undefined): string[] {
  const exports = new Map<string, ExportSummary>()
  for (const one of concerned(summary, reasons)) {
    if (one.mapping !== undefined && exports.get(one.mapping)?.file === undefined)
      exports.set(one.mapping, one)
  }
  return [...exports].map(([mapping, { file, reading }]) =>
    command(
      ...['mapping', 'check', shellWord(mapping)],
      ...(file === undefined || reading === 'rejects' ? [] : ['--export', shellPath(file)]),
    ),
  )
}

function rejectsRuns(summary: RunSummary, reasons: readonly Reason[] | undefined): string[] {
  const files = concerned(summary, reasons).flatMap(({ rejects }) => rejects ?? [])
  const named = files
    .slice(0, FILES_NAMED)
    .map((file) => command('run', shellWord(summary.job), '--file', shellPath(file)))
  const rest = files.length - FILES_NAMED
  const folder = summary.files.rejects
  return rest > 0 && folder !== undefined
    ? [...named, `  and ${rest} more rejects files in ${shellPath(folder)}`]
    : named
}
