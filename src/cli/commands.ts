/** All commands of the command line, in the order of the help, and what their actions are. */
import type { CommandContext, GivenBy } from './command-form.ts'
import { INSTALLATION_COMMANDS } from './installation-commands.ts'
import { RUN_COMMANDS } from './run-commands.ts'

export const COMMANDS = { ...RUN_COMMANDS, ...INSTALLATION_COMMANDS }
export type CommandName = keyof typeof COMMANDS

/** What is said of commands that have commands. */
export const GROUPS: Readonly<Record<string, string>> = {
  accounts: 'who has which account; erase accounts',
  mapping: 'check, test, compare and preview mapping files',
}

/** What the action of a command is handed beside its context. */
export type Options<Name extends CommandName> = GivenBy<(typeof COMMANDS)[Name]>

/** A command's action: returns its exit code. */
export type Action<Name extends CommandName> = (
  context: CommandContext,
  options: Options<Name>,
) => Promise<number>
