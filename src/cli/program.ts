/** The command line (commander). The file of a command is loaded when called, so that `--help` answers at once. */
import { Command, type OutputConfiguration } from 'commander'
import { addCommand, addNotes, type CommandForm, type Perform } from './command-form.ts'
import { type Action, COMMANDS, type CommandName } from './commands.ts'

const GROUPS: Readonly<Record<string, string>> = {
  accounts: 'export, confirm, forget and erase accounts',
  ledger: 'move the ledger to PostgreSQL',
  mapping: 'check, test, compare and preview mapping files',
}

const actionsOf = (program: Command): { readonly [Name in CommandName]: () => Promise<Action<Name>> } => ({
  run: async () => (await import('./run.ts')).actions.run,
  backfill: async () => (await import('./run.ts')).actions.backfill,
  schedule: async () => (await import('./schedule.ts')).actions.schedule,
  worker: async () => (await import('./run.ts')).actions.worker,
  needs: async () => (await import('./needs.ts')).needs,
  console: async () => (await import('./console.ts')).serveConsole,
  runs: async () => (await import('./runs.ts')).actions.runs,
  audit: async () => (await import('./audit.ts')).audit,
  show: async () => (await import('./runs.ts')).actions.show,
  'in-doubt': async () => (await import('./listings.ts')).actions.inDoubt,
  exports: async () => (await import('./listings.ts')).actions.exports,
  backfills: async () => (await import('./listings.ts')).actions.backfills,
  watch: async () => (await import('./run.ts')).actions.watch,
  logs: async () => (await import('./runs.ts')).actions.logs,
  stop: async () => (await import('./run.ts')).actions.stop,
  pause: async () => (await import('./run.ts')).actions.pause,
  unpause: async () => (await import('./run.ts')).actions.unpause,
  resume: async () => (await import('./run.ts')).actions.resume,
  trace: async () => (await import('./runs.ts')).actions.trace,
  rerun: async () => (await import('./run.ts')).actions.rerun,
  resolve: async () => (await import('./run.ts')).actions.resolve,
  acknowledge: async () => (await import('./run.ts')).actions.acknowledge,
  'put-aside': async () => (await import('./put-aside.ts')).putAside,
  reconcile: async () => (await import('./run.ts')).actions.reconcile,
  'accounts export': async () => (await import('./accounts.ts')).actions.accountsExport,
  'accounts confirm': async () => (await import('./accounts.ts')).actions.accountsConfirm,
  'accounts forget': async () => (await import('./accounts.ts')).actions.accountsForget,
  'accounts erase': async () => (await import('./accounts.ts')).actions.accountsErase,
  init: async () => (await import('./installation.ts')).actions.init,
  completion: async () => (await import('./completion.ts')).actions.completion,
  complete: async () => (await import('./completion.ts')).actions.complete(program),
  'mapping init': async () => (await import('./mapping-init.ts')).mappingInit,
  'mapping list': async () => (await import('./listings.ts')).actions.mappingList,
  'mapping show': async () => (await import('./listings.ts')).actions.mappingShow,
  'mapping check': async () => (await import('./mapping-check.ts')).actions.mappingCheck,
  'mapping test': async () => (await import('./mapping-check.ts')).actions.mappingTest,
  'mapping diff': async () => (await import('./mapping-check.ts')).actions.mappingDiff,
  'mapping preview': async () => (await import('./mapping-check.ts')).actions.mappingPreview,
  'mapping edit': async () => (await import('./mapping-edit.ts')).mappingEdit,
  doctor: async () => (await import('./installation.ts')).actions.doctor,
  report: async () => (await import('./runs.ts')).actions.report,
  expect: async () => (await import('./schedule.ts')).actions.expect,
  notify: async () => (await import('./schedule.ts')).actions.notify,
  backup: async () => (await import('./installation.ts')).actions.backup,
  restore: async () => (await import('./installation.ts')).actions.restore,
  'ledger copy': async () => (await import('./installation.ts')).actions.ledgerCopy,
  prune: async () => (await import('./installation.ts')).actions.prune,
  gateway: async () => (await import('./gateway.ts')).gateway,
})

/** @param output destination of help and usage errors; default: the streams of the process */
export function createProgram(version: string, perform: Perform, output: OutputConfiguration = {}): Command {
  const program = new Command('waybill')
    .configureOutput(output)
    .description(
      'Carries health-screening exports into a health-profile gateway and proves what became of every row.',
    )
    .version(version)
    .exitOverride()
    .configureHelp({ showGlobalOptions: false })
    .showHelpAfterError('  What to do: See the form of the command and an example with --help.')
  addNotes(program, {
    note: 'Exit codes: 0 all accepted or unchanged, 1 something was rejected or is in doubt, 2 wrong use, settings or files,\n3 gateway unreachable or credentials refused, 4 stopped by stopWhen, 5 another run holds the job, 6 a collection could not\nbe delivered, 70 a defect of Waybill, 130 interrupted.',
  })
  const actions = actionsOf(program)
  const groupOf = (name: string): Command =>
    program.commands.find((one) => one.name() === name) ??
    program.command(name).description(GROUPS[name] ?? '')
  for (const [words, form] of Object.entries<CommandForm>(COMMANDS)) {
    const [name = '', group] = words.split(' ').reverse()
    const parent = group === undefined ? program : groupOf(group)
    addCommand(parent, name, form, perform, actions[words as CommandName])
  }
  return program
}
