/** Next steps for the left-behind work of a run: words, and commands ready to type. Pure. */
import type { Reason } from '../ledger/ledger.ts'
import { allRecords, type Counts } from '../model/balance.ts'
import { remedyOf } from '../model/errors.ts'
import { transactionId } from '../model/ids.ts'
import { backfillCommand } from '../run/backfill-range.ts'
import { counted, n, shellPath, shellWord } from '../system/shown-text.ts'
import { failedExports, leftIn, settledShare } from './balance.ts'
import { groupReasons, mostFirst } from './reasons.ts'
import { type Remedy, remedyFor } from './remedies.ts'
import type { ExportSummary, RunSummary } from './run-story.ts'
import { owedWords } from './words.ts'

export interface Step {
  readonly say: string
  /** Shell commands, each on its own line; empty if the words are enough. */
  readonly commands: readonly string[]
}

const step = (say: string, ...commands: readonly string[]): Step => ({ say, commands })

const when = (is: boolean, say: string, ...commands: readonly string[]): Step[] =>
  is ? [step(say, ...commands)] : []

/** Steps as lines of text. */
export const stepLines = (steps: readonly Step[]): string[] =>
  steps.flatMap(({ say, commands }) => [`  ${say}`, ...commands.map((one) => `    ${one}`)])

interface Typed {
  /** Command to the gateway of the run; names the gateway if the settings name another. */
  send(...words: readonly string[]): string
  /** Command that reads the exports of the run, or resumes the run. An inbox need not have the exports of a backfill. */
  readonly again: string
  path(file: string): string
  /** Words that choose the run in a command: its id, or words that choose several runs. */
  readonly which: string
}

function typedOf(
  { run, job, gateway, backfill, settingsName }: RunSummary,
  path: Typed['path'],
  which = run,
): Typed {
  const setting = settingsName === undefined ? '' : `${gatewaySetting(gateway)} `
  const again = backfill === undefined ? command('run', shellWord(job)) : backfillCommand(job, backfill, path)
  return { send: (...words) => `${setting}${command(...words)}`, again: `${setting}${again}`, path, which }
}

/**
 * Next steps of a run.
 * @param reasons of the run: steps are then given by reason, with examples
 * @param path writes a file in a command; default: as typed in this folder
 * @returns nothing if nothing is left to do
 */
export function nextSteps(
  summary: RunSummary,
  reasons: readonly Reason[] = [],
  path: (file: string) => string = shellPath,
): readonly Step[] {
  if (summary.pruned !== undefined) return []
  const steps = stepsOf(summary, reasons, typedOf(summary, path))
  const { run, gateway, state, activity, settingsName } = summary
  if (steps.length === 0 || settingsName === undefined) return steps
  const isUnfinished = state === 'interrupted' || activity?.kind === 'stopped'
  return [
    step(
      `The run went to ${gateway}, and the settings name ${settingsName}: type the commands with the keys of that gateway`,
    ),
    ...steps,
    ...when(isUnfinished, 'Or, to end it without the rest', command('resolve', run, '--give-up')),
  ]
}

function stepsOf(summary: RunSummary, reasons: readonly Reason[], typed: Typed): readonly Step[] {
  const { run, state, activity } = summary
  if (activity?.kind === 'under-way')
    return [step('It is under way. To follow it to its end', command('watch', run))]
  if (state === 'running') {
    const isAwaited = activity?.kind === 'stopped' && activity.byWorkers === true
    const words = 'To continue it where it stopped'
    return [step(isAwaited ? 'Another worker continues it within 30 s. If none does' : words, typed.again)]
  }
  if (state === 'interrupted') return interruptedSteps(summary, typed)
  // The rows are read anew from another file. Rejects of this run cannot be taken up, except records that its own file has shown to be missing.
  if (summary.reason === 'given-up')
    return isAcknowledged(summary, 'given-up') && leftIn(summary).inDoubt === 0
      ? []
      : [
          ...givenUpSteps(run, reasons.filter(isOpen(summary)), typed),
          step('To start again with the current files', typed.again),
        ]
  const open = reasons.filter(isOpen(summary))
  const left = leftCounts(summary, reasons, open)
  const leftOf = [...leftSteps(summary, open, left, typed), ...owedSteps(summary, open, typed)]
  const anew = left.rejected === 0 ? [] : (summary.anew ?? [])
  const steps = [
    ...exportSteps(summary, typed),
    ...unarchivedSteps(summary.exports, typed),
    ...anew.map((one) =>
      step(
        `${one.export} came again with other content, and was read. For the rejects of that run`,
        command('show', one.run),
      ),
    ),
    ...leftOf,
  ]
  const isOver = state !== 'failed' || isAcknowledged(summary, summary.reason)
  const all = isOver ? steps : [...steps, ...failedSteps(summary, reasons, typed)]
  const stays = all.length > 0 && (!isOver || left.rejected > 0 || steps.length > leftOf.length)
  return [...all, ...when(stays, STAYS, command('acknowledge', run))]
}

const STAYS = 'To accept this as final'

type Part =
  | {
      readonly of: 'left'
      /** Reasons that are neither settled nor acknowledged. */
      readonly open: readonly Reason[]
      readonly rejected: number
      readonly inDoubt: number
      /** Words that choose the runs of these rows and records in a command; default: the id of the run. */
      readonly which: string | undefined
      readonly code: string
    }
  | { readonly of: 'export'; readonly name: string; readonly code: string }
  | { readonly of: 'unarchived'; readonly message: string }
  | { readonly of: 'failure'; readonly reasons: readonly Reason[] }
  | { readonly of: 'owed' }

/** Next steps for one part of what a run left to be done. */
export function stepsForPart(summary: RunSummary, part: Part): readonly Step[] {
  const typed = typedOf(summary, shellPath, part.of === 'left' ? part.which : undefined)
  const stays = (...which: readonly string[]): Step => step(STAYS, command('acknowledge', ...which))
  switch (part.of) {
    case 'left': {
      const steps = leftSteps(summary, part.open, part, typed)
      if (part.rejected === 0) return steps
      const { which } = part
      return [...steps, which === undefined ? stays(summary.run, '--reason', part.code) : stays(which)]
    }
    case 'export': {
      const exports = summary.exports.filter(({ name }) => name === part.name)
      return [
        ...exportSteps({ ...summary, exports }, typed),
        stays(summary.run, '--reason', part.code),
        step(
          'If no other file will come, later runs pass over this one',
          command(
            'put-aside',
            shellWord(part.name),
            '--job',
            shellWord(summary.job),
            '--reason',
            'unreadable',
          ),
        ),
      ]
    }
    case 'unarchived': {
      const exports = summary.exports.filter(({ unarchived }) => unarchived === part.message)
      return [...unarchivedSteps(exports, typed), stays(summary.run)]
    }
    case 'failure':
      return [...failedSteps(summary, part.reasons, typed), stays(summary.run)]
    case 'owed':
      return owedSteps(summary, [], typed)
  }
}

/** Steps for a run that was given up. The ledger knows the records left in doubt; `doctor` reports unanswered batches. */
const givenUpSteps = (run: string, reasons: readonly Reason[], { send }: Typed): Step[] => [
  ...when(
    reasons.some(({ outcome }) => outcome === 'in-doubt'),
    'To look for the records in doubt once more; or, if you know that the gateway has them',
    send('reconcile', run),
    send('resolve', run, '--accept'),
  ),
  ...when(
    reasons.some((reason) => remedyFor(reason) === 'send-again'),
    'To send the missing records, if the original file is still there',
    send('rerun', run, '--only', 'rejected'),
  ),
]

/** Steps for a run stopped by its threshold: checks of the mapping, as the rejects files have the rows; a dry run, for the rows after the stop. */
function failedSteps(summary: RunSummary, reasons: readonly Reason[], { again, path }: Typed): Step[] {
  const heldBack = reasons.filter(({ outcome }) => outcome === 'held-back')
  const checks = heldBack.length === 0 ? [] : mappingChecks(summary, heldBack, path)
  return [
    ...when(checks.length > 0, `To check the mapping against the export${codesOf(heldBack)}`, ...checks),
    step('To count what would be rejected now, and why; sends nothing', `${again} --dry-run`),
    step('After the correction, for the remaining rows', again),
  ]
}

/** Rejected rows and records, and records in doubt. Rejects count 0 if reasons are known and none is open. */
function leftCounts(
  summary: RunSummary,
  reasons: readonly Reason[],
  open: readonly Reason[],
): { readonly rejected: number; readonly inDoubt: number } {
  const { rejected, settled } = settledShare(summary)
  const all = rejected - settled
  return { rejected: reasons.length > 0 && open.length === 0 ? 0 : all, inDoubt: leftIn(summary).inDoubt }
}

function interruptedSteps(
  { run, gateway, reason = '', exports }: RunSummary,
  { again, send }: Typed,
): Step[] {
  if (reason === 'export-changed' || reason === 'export-gone') {
    const open = exports.filter(({ state }) => state === 'open')
    return [
      ...open.map(({ name, sha256 }, at) =>
        step(
          `Put the file back that was ${name} (SHA-256 ${sha256}), then`,
          ...(at === open.length - 1 ? [again] : []),
        ),
      ),
      step(
        'Or, if the file is lost, give the run up, and start again with the current files',
        send('resolve', run, '--give-up'),
        again,
      ),
    ]
  }
  if (reason.startsWith('gateway-')) {
    const first = reason === 'gateway-refused-credentials' ? 'Replace the refused key or token. ' : ''
    return [step(`${first}To check the gateway ${gateway}, then continue the run`, command('doctor'), again)]
  }
  const remedy = reason === 'interrupted' || reason === 'asked-to-stop' ? undefined : remedyOf(reason, again)
  return [
    ...when(remedy !== undefined, `${reason}: ${remedy}`),
    step('To continue it where it stopped', again),
  ]
}

function exportSteps(summary: RunSummary, { again, path }: Typed): Step[] {
  const { backfill } = summary
  const failed = failedExports(summary).filter(
    ({ error, readSince, putAside }) =>
      readSince === undefined && putAside === undefined && !isAcknowledged(summary, error),
  )
  if (failed.length === 0) return []
  const has = (code: string): boolean => failed.some(({ error }) => error === code)
  // The job itself may not find an export that the operator named.
  const named = failed.flatMap((one) => one.named ?? [])
  const then = named.length === 0 ? again : [again, '--file', ...named.map(path)].join(' ')
  return [
    ...failed.map(({ name, error, detail = '', remedy = remedyOf(error, again), mapping, file, counts }) =>
      step(
        // Differences are listed separately.
        `${sentOf(name, counts)} (${error}): ${error === 'export-drifted' ? '' : sentence(detail)}${remedy ?? 'see docs/errors.md'}`,
        // The ledger stores the code alone, not the missing columns.
        ...(error === 'columns-missing' && mapping !== undefined && file !== undefined
          ? [command('mapping', 'check', shellWord(mapping), '--export', path(file))]
          : []),
      ),
    ),
    step('Then', then),
    ...when(
      has('export-drifted') && backfill?.acceptDrift !== true,
      'Or, if the differences are intended',
      `${then} --accept-drift`,
    ),
    ...when(
      has('export-cut') && backfill?.acceptEnd !== true,
      'Or, if the file is complete',
      `${then} --accept-end`,
    ),
  ]
}

/** Steps for delivered exports that the archive refused, each cause once. */
function unarchivedSteps(exports: readonly ExportSummary[], { again }: Typed): Step[] {
  const refused = exports.flatMap(({ unarchived, remedy = '' }) =>
    unarchived === undefined ? [] : `${unarchived}. ${remedy}`,
  )
  if (refused.length === 0) return []
  return [...[...new Set(refused)].map((words) => step(words)), step('Then', again)]
}

/** Text with a full stop and a space before the next sentence. */
const sentence = (text: string): string =>
  text === '' ? '' : `${text.replace(/[.:]$/, '').replace(/[^?]$/, '$&.')} `

/** Words on the records sent: an export may fail after much was delivered. */
function sentOf(name: string, counts: Counts): string {
  const { accepted, inDoubt } = allRecords(counts)
  if (counts.rows.read === 0) return `Nothing of ${name} was sent`
  if (accepted + inDoubt === 0) return `No record of ${name} was accepted`
  const doubts = inDoubt === 0 ? '' : ` and ${n(inDoubt)} in doubt`
  return `${name} failed with ${counted(accepted, 'record')} accepted${doubts}`
}

const FILES_NAMED = 5

/** File in commands that confirm people, written by a person. */
const CONFIRMED_FILE = 'confirmed.csv'

const IDS_NAMED = 5

const CODES_NAMED = 5

/** Words by remedy; `{codes}` stands for the codes of the reasons. */
const BY_REMEDY = {
  person:
    'Exports give several birth dates under one reference{codes}: find out whose rows they are (`trace --person` shows what was sent). Write the right dates into a file (columns partnerAccountId and dateOfBirth) and confirm them; or let the source give each person a reference',
  void: 'The source has withdrawn records that the gateway has{codes}: ask its operator to remove them; the rejects files have all transaction ids',
  document:
    'The requests are sent, their authorizations are not{codes}: put the PDFs into the folder of the job, then send these rows again',
  gateway:
    'If the gateway is at fault{codes}: see what became of one record; once its operator has repaired it, send the records again',
  'send-again': 'To send the records that the gateway does not have{codes}',
  redelivery: 'Ask the vendor for the whole export again{codes}; when it has come',
} as const satisfies Partial<Record<Remedy, string>>

/**
 * Steps for rejects and doubts.
 * @param open unsettled reasons, most frequent first; empty: only the counts are known
 * @param left counts of rows and records
 */
function leftSteps(
  summary: RunSummary,
  open: readonly Reason[],
  left: { readonly rejected: number; readonly inDoubt: number },
  { again, send, path, which }: Typed,
): Step[] {
  const { run, job } = summary
  const unknown = open.length === 0 && left.rejected > 0
  const rerun = send('rerun', which, '--only', 'rejected')
  const those = (...remedies: readonly Remedy[]): readonly Reason[] =>
    open.filter((reason) => remedies.includes(remedyFor(reason)))
  /** A step where a reason asks for the remedy. */
  const by = (
    remedy: keyof typeof BY_REMEDY,
    commands: (reasons: readonly Reason[]) => readonly string[] = () => [rerun],
  ): Step[] => {
    const reasons = those(remedy)
    return when(
      reasons.length > 0,
      BY_REMEDY[remedy].replace('{codes}', () => codesOf(reasons)),
      ...commands(reasons),
    )
  }
  const mapped = those('mapping', 'either')
  const checks =
    unknown || mapped.length > 0 ? mappingChecks(summary, unknown ? undefined : mapped, path) : []
  const lines = those('data', 'either', 'gateway')
  const { named, others = '' } = rejectsFiles(summary, unknown ? undefined : lines, path)
  return [
    ...when(
      unknown || mapped.length > 0,
      `If the mapping is at fault${codesOf(mapped)}: correct it, check it, and map these rows again`,
      ...checks,
      rerun,
    ),
    ...when(
      named.length > 0,
      `If the data are at fault${codesOf(lines)}: correct the lines in the rejects file, and run the file`,
      ...named.map((file) => send('run', shellWord(job), '--file', path(file))),
    ),
    ...when(others !== '', others),
    ...by('person', () => [
      command('accounts', 'confirm', '--file', CONFIRMED_FILE, '--job', shellWord(job)),
      rerun,
    ]),
    ...by('void', (withdrawn) =>
      withdrawn
        .flatMap(({ sentAs = [] }) => sentAs)
        .slice(0, IDS_NAMED)
        .map((id) => command('trace', id)),
    ),
    ...by('document'),
    ...by('gateway', (refused) => [...traceOf(refused), rerun]),
    ...by('send-again'),
    ...when(
      left.inDoubt > 0,
      'To look for the records in doubt once more, and send the missing ones',
      send('rerun', which, '--only', 'in-doubt'),
    ),
    ...when(left.inDoubt > 0, 'Or, to look and send nothing', send('reconcile', which)),
    ...when(
      left.inDoubt > 0,
      'For records still in doubt, a person must find out: the gateway has them, or it has not',
      ...traceOf(those('doubt')),
      send('resolve', run, '--accept'),
      send('resolve', run, '--resend'),
    ),
    ...by('redelivery', () => [again]),
  ]
}

function owedSteps(summary: RunSummary, open: readonly Reason[], { again }: Typed): Step[] {
  const owed = owedWords(summary)
  const codes = codesOf(open.filter((reason) => remedyFor(reason) === 'next-run'))
  return when(
    owed !== undefined,
    `Owed at the gateway: ${owed}${codes}. The next run does it, even without an export`,
    again,
  )
}

/** Codes like ` (unit-unknown, date-invalid)`, most frequent first; empty without a known reason. */
function codesOf(reasons: readonly Reason[]): string {
  if (reasons.length === 0) return ''
  const codes = openCodes(reasons)
  const rest = codes.length - CODES_NAMED
  return ` (${codes.slice(0, CODES_NAMED).join(', ')}${rest > 0 ? ` and ${rest} more` : ''})`
}

const traceOf = (reasons: readonly Reason[]): string[] => {
  const [first] = reasons.flatMap(({ example }) => example ?? [])
  if (first === undefined) return []
  const { exportId, row, rule, content } = first
  return [command('trace', transactionId(exportId, row, rule, content))]
}

/** Exports with these reasons. @param reasons undefined: all exports with a rejects file */
function concerned(
  { exports }: RunSummary,
  reasons: readonly Reason[] | undefined,
): readonly ExportSummary[] {
  const names = new Set(reasons?.map(({ exportName }) => exportName))
  return exports.filter(({ name, rejects }) =>
    reasons === undefined ? rejects !== undefined : names.has(name),
  )
}

/** Checks of each mapping, once, against the first export in conflict. A rejects file does not have the format that the mapping reads. */
function mappingChecks(
  summary: RunSummary,
  reasons: readonly Reason[] | undefined,
  path: Typed['path'],
): string[] {
  const exports = new Map<string, ExportSummary>()
  for (const one of concerned(summary, reasons)) {
    if (one.mapping !== undefined && exports.get(one.mapping)?.file === undefined)
      exports.set(one.mapping, one)
  }
  return [...exports].map(([mapping, { file, reading }]) =>
    command(
      ...['mapping', 'check', shellWord(mapping)],
      ...(file === undefined || reading === 'rejects' ? [] : ['--export', path(file)]),
    ),
  )
}

/** Rejects files named individually, and words for the rest. */
function rejectsFiles(
  summary: RunSummary,
  reasons: readonly Reason[] | undefined,
  path: Typed['path'],
): { readonly named: readonly string[]; readonly others?: string } {
  const files = concerned(summary, reasons).flatMap(({ rejects }) => rejects ?? [])
  const rest = files.length - FILES_NAMED
  const folder = summary.files.rejects
  const named = files.slice(0, FILES_NAMED)
  return rest > 0 && folder !== undefined
    ? { named, others: `and ${rest} more rejects files in ${path(folder)}` }
    : { named }
}

/** Command ready to type. @param words quoted where necessary */
export const command = (...words: readonly string[]): string => `waybill ${words.join(' ')}`

/**
 * Setting to type before a command for another gateway than the settings name.
 * @param gateway as the ledger names it: an address without secrets, or `built-in`
 */
const gatewaySetting = (gateway: string): string => `WAYBILL_GATEWAY_URL=${shellWord(gateway)}`

/** Codes of reasons that no later run has settled, most frequent first. */
const openCodes = (reasons: readonly Reason[]): string[] =>
  mostFirst(
    groupReasons(
      reasons.map((reason) => ({ ...reason, count: reason.count - reason.settled })),
      ['code'],
    ).map(({ first: { code }, sum: { count } }) => ({ code, count })),
  ).map(({ code }) => code)

/** True if records of this reason are neither settled by a later run nor acknowledged. Records in doubt need a decision. */
const isOpen =
  (summary: RunSummary) =>
  ({ count, settled, code, outcome, decidedAt }: Reason): boolean =>
    count > settled &&
    outcome !== 'held-back' &&
    (outcome === 'in-doubt' || !isAcknowledged(summary, code, decidedAt))

/** True if a person accepted the rest left for this reason as final. @param since ISO 8601: earlier acknowledgements do not count */
const isAcknowledged = ({ acknowledged = [] }: RunSummary, reason: string | undefined, since = ''): boolean =>
  acknowledged.some(({ code, at }) => at >= since && (code === undefined || code === reason))
