/** `waybill init`, `doctor`, `backup`, `prune` and others that maintain an installation. */

import { join, relative } from 'node:path'
import { EXIT, WaybillError } from '../model/errors.ts'
import { type CheckFinding, exitOf } from '../operate/finding.ts'
import type { KeptRun } from '../operate/prune.ts'
import { copyLedger } from '../runs/copy-ledger.ts'
import { backUp, beginFolder, type PrunedInstallation, pruneRuns } from '../runs/installation.ts'
import { lookOver } from '../runs/look-over.ts'
import { restoreBackup } from '../runs/restore.ts'
import {
  counted,
  iso,
  type Line,
  n,
  shellPath,
  shownPath,
  sizeText,
  type Tone,
} from '../system/shown-text.ts'
import { folded } from '../system/text-table.ts'
import { print } from './command-form.ts'
import type { Action } from './commands.ts'
import { countCases } from './mapping-check.ts'

const init: Action<'init'> = async (context, { folder = '.', json }) => {
  print(context, json, await beginFolder(folder), (begun) => [
    ...begun.written.map((name) => `Wrote    ${name}`),
    ...begun.kept.map((name) => `Kept     ${name}: exists already`),
    '',
    'Next',
    ...(shownPath(begun.folder) === '' ? [] : [`  cd ${shellPath(begun.folder)}`]),
    '  waybill run nightly-screenings --dry-run    # counts; sends nothing',
    '  waybill run nightly-screenings              # to the built-in gateway, a stand-in on this machine',
    '  waybill mapping init EXPORT --name NAME     # a mapping of your own',
  ])
  return EXIT.ok
}

const doctor: Action<'doctor'> = async (context, options) => {
  const { settings, settingsFindings } = context
  const findings = await lookOver(context, {
    settingsFindings,
    servers: options.sources === true,
    countCases: (name) => countCases(settings, name),
  })
  const exit = exitOf(findings)
  context.out(options.json ? JSON.stringify({ exit, findings }) : doctorText(findings, context.columns))
  return exit
}

const TONES = { ok: 'good', warning: 'attention', problem: 'bad' } as const satisfies Record<
  CheckFinding['level'],
  Tone
>

const HANG = 19

function doctorText(findings: readonly CheckFinding[], columns: number | undefined): Line[] {
  const lines = findings.flatMap(({ check, level, subject, found, details = [], remedy }): Line[] => {
    const line = `${level.padEnd(8)} ${check.padEnd(9)} ${subject === undefined ? '' : `${subject}: `}${found}`
    const below = remedy === undefined || level === 'ok' ? details : [...details, `What to do: ${remedy}`]
    return [
      ...folded([line], columns, HANG).map((text) => ({ text, tone: TONES[level] })),
      ...folded(
        below.map((text) => ' '.repeat(HANG) + text),
        columns,
      ),
    ]
  })
  const count = (wanted: CheckFinding['level']): number =>
    findings.filter(({ level }) => level === wanted).length
  const [problems, warnings] = [count('problem'), count('warning')]
  const end =
    problems + warnings === 0
      ? 'All is well.'
      : `${counted(problems, 'problem')}, ${counted(warnings, 'warning')}.`
  return [...lines, '', end]
}

const prune: Action<'prune'> = async (context, options) => {
  const before = context.now() - options.olderThan
  const dryRun = options.dryRun === true
  const pruned = await pruneRuns(context, { before, dryRun })
  const result = { before: iso(before), dryRun, ...pruned }
  context.out(options.json ? JSON.stringify(result) : pruneText(pruned, before, dryRun))
  if (!context.interrupt.aborted) return EXIT.ok
  throw new WaybillError('interrupted', 'the pruning was interrupted', {
    remedy: 'Run the command again: the pruning continues where it stopped.',
  })
}

function pruneText(pruned: PrunedInstallation, before: number, dryRun: boolean): string[] {
  const { runs, resumed, kept, detail, files, ledger: compacted } = pruned
  const instant = `${iso(before).slice(0, 16)}Z`
  const did = dryRun ? 'Would remove' : 'Removed'
  const { bytes, ...counts } = detail
  const removed = Object.entries(counts).map(([what, count]) => `${what} ${n(count)}`)
  return [
    `${did} the detail of ${n(runs.length)} ${runs.length === 1 ? 'run' : 'runs'} that ended before ${instant}.`,
    ...(resumed.length === 0 ? [] : [`Also of an earlier, interrupted pruning: ${n(resumed.length)}.`]),
    `Files    receipts and rejects ${n(files.files)} (${sizeText(files.bytes)})`,
    `Ledger   ${removed.join(', ')} (${sizeText(bytes)})`,
    ...(compacted === undefined
      ? []
      : [
          `         ${sizeText(compacted.freed)} returned to the disk, ${sizeText(compacted.empty)} kept for the next runs`,
        ]),
    ...(kept.length === 0 ? [] : ['Kept, though older:', ...kept.map(keptText)]),
    'Deliveries stay known; `waybill runs` and `waybill show` keep the balances.',
    ...(dryRun && runs.length > 0 ? ['To remove it: the same command without --dry-run.'] : []),
  ]
}

const WHY: Readonly<Record<KeptRun['because'], (run: KeptRun) => string>> = {
  unfinished: ({ command }) => `unfinished; to finish it: ${command}`,
  'in-doubt': ({ run }) => `has records in doubt; to look them up: waybill reconcile ${run}`,
  'referred-to': ({ by }) => `run ${by}, younger or kept, has retried what it left behind`,
  held: ({ by }) => `its job is under way (run ${by}); prune again afterwards`,
}

const keptText = (kept: KeptRun): string => `  ${kept.run}  ${WHY[kept.because](kept)}`

const backup: Action<'backup'> = async (context, options) => {
  const { home, key } = context.settings
  const { ledger, copy, bytes, takenAt } = await backUp(context, options.file)
  const keptIn = key === undefined ? join(home, 'key') : 'WAYBILL_KEY'
  const backed = { ledger, copy, bytes, takenAt: iso(takenAt), key: keptIn }
  print(context, options.json, backed, () => [
    `Ledger ${relative('.', ledger)} copied to ${relative('.', copy)}: ${sizeText(bytes)}, checked, readable by its owner alone.`,
    `Not included: the key (${key === undefined ? relative('.', keptIn) : 'WAYBILL_KEY, or the file of WAYBILL_KEY_FILE'}), receipts and rejects. ` +
      'Back up the key separately: without it, everything would be sent again.',
    'To restore a lost ledger: waybill restore FILE',
  ])
  return EXIT.ok
}

const ledgerCopy: Action<'ledger copy'> = async (context, { to, json }) => {
  print(context, json, await copyLedger(context, to), ({ ledger, rows, tables }) => [
    `Ledger ${relative('.', ledger)} moved: ${counted(rows, 'row')} of ${counted(tables.length, 'table')}, equal in number and digest.`,
    `The file refuses runs from now on. Set WAYBILL_LEDGER=${to}`,
    'Not included: the key. Give WAYBILL_KEY to each machine, with the content of `key` in this home.',
  ])
  return EXIT.ok
}

const restore: Action<'restore'> = async (context, { file, json }) => {
  const restored = await restoreBackup(context, file)
  const { ledger, backup, takenAt, gateways, unfinished, unknownRuns, aside } = restored
  const receipts =
    unknownRuns.length === 0 ? '' : `, as by ${counted(unknownRuns.length, 'run')} with receipts in this home`
  print(context, json, restored, () => [
    `Ledger ${relative('.', ledger)} restored from ${relative('.', backup)}, made ${takenAt ?? 'at an unknown time'} with the key of this home, for ${gateways.join(', ') || 'no gateway'}.`,
    `Not included: later deliveries${receipts}. Runs read profiles before they send records missing from the backup.`,
    ...unfinished.map((run) => `Unfinished: run ${run}. The next run of its job resumes it.`),
    ...(aside === undefined ? [] : [`The old ledger is kept: ${relative('.', aside)}.`]),
    'Next: move exports archived since then back to their inbox, and run each job.',
  ])
  return EXIT.ok
}

export const actions = { init, doctor, prune, backup, restore, ledgerCopy }
