/** Form of a command of the command line, and the context of its action: the application, and the streams of a terminal. */

import type { Readable } from 'node:stream'
import { type Command, Option } from 'commander'
import type { Finding } from '../model/errors.ts'
import type { Application } from '../runs/application.ts'
import type { Lines } from '../system/shown-text.ts'

/** Help of an option; as an object with a parser, a default, choices or conflicts. */
type OptionForm = string | OptionDetail
interface OptionDetail {
  readonly says: string
  /** @throws InvalidArgumentError */
  readonly read?: (text: string, before: never) => unknown
  readonly else?: string | number
  readonly choices?: readonly string[]
  /** Options in conflict with this one, by the names in the action. */
  readonly not?: readonly string[]
  readonly mandatory?: true
}

/** `as-they-are`: performs the action despite wrong settings, and hands in the findings. */
export type SettingsWanted = 'in-order' | 'as-they-are'

export interface CommandForm {
  readonly says: string
  /** By the names in the action: the argument as typed, and its help. */
  readonly arguments?: Readonly<Record<string, readonly [typed: string, says?: string]>>
  /** By flags, in the syntax of commander. */
  readonly options?: Readonly<Record<string, OptionForm>>
  readonly note?: string
  readonly examples?: readonly string[]
  /** Default: `in-order`. */
  readonly settings?: SettingsWanted
  /** The command has no JSON output. */
  readonly prints?: false
  readonly hidden?: true
}

type Act = (context: CommandContext) => Promise<number>

/** Performs an action with a new context, and stores the exit code. */
export type Perform = (action: Act, settings: SettingsWanted) => Promise<void>

const JSON_OPTION = 'print one JSON object on standard output; logs go to standard error'

/** @param load loads the action of the command when called */
export function addCommand(
  parent: Command,
  name: string,
  form: CommandForm,
  perform: Perform,
  load: () => Promise<(context: CommandContext, given: never) => Promise<number>>,
): void {
  const command = parent.command(name, { hidden: form.hidden === true }).description(form.says)
  const names = Object.keys(form.arguments ?? {})
  for (const [typed, says = ''] of Object.values(form.arguments ?? {})) command.argument(typed, says)
  for (const [flags, option] of Object.entries(form.options ?? {})) command.addOption(optionOf(flags, option))
  if (form.prints !== false) command.option('--json', JSON_OPTION)
  addNotes(command, form)
  // Arguments come first, then the options, then the command itself.
  command.action((...typed: unknown[]) => {
    const given = Object.fromEntries(names.map((one, at) => [one, typed[at]]))
    const all = Object.assign(given, typed[names.length]) as never
    return perform(async (context) => (await load())(context, all), form.settings ?? 'in-order')
  })
}

/** Adds text behind the options. */
export function addNotes(command: Command, { note, examples }: Pick<CommandForm, 'note' | 'examples'>): void {
  if (note !== undefined) command.addHelpText('after', `\n${note}`)
  if (examples !== undefined) command.addHelpText('after', `\nExample:\n  ${examples.join('\n  ')}`)
}

function optionOf(flags: string, form: OptionForm): Option {
  const { says, read, choices, not = [], mandatory = false, ...more } = toDetail(form)
  const option = new Option(flags, says).conflicts([...not]).makeOptionMandatory(mandatory)
  if (read !== undefined) option.argParser<unknown>(read as (text: string, before: unknown) => unknown)
  if (choices !== undefined) option.choices(choices)
  if (more.else !== undefined) option.default(more.else)
  return option
}

const toDetail = (form: OptionForm): OptionDetail => (typeof form === 'string' ? { says: form } : form)

export interface CommandContext extends Application {
  /** Problems of the settings; empty except for commands that run despite problems. */
  readonly settingsFindings: readonly Finding[]
  /** Prints lines to standard output, each as one line, whatever its content. */
  readonly out: (lines: Lines) => void
  /** Prints lines to standard error, likewise. */
  readonly err: (lines: Lines) => void
  /** Writes to standard error unchanged: for log and progress, which escape their own text. */
  readonly writeError: (text: string) => void
  /** Current columns of the terminal at standard error; false for no terminal. */
  readonly terminal: false | (() => number)
  /** Columns of the terminal at standard output; undefined for no terminal: no text is then fitted to a width. */
  readonly columns?: number | undefined
  /** Opens standard input; undefined for none. */
  readonly input?: (() => Readable) | undefined
}

/** Prints the result of a command, as JSON on request, otherwise in words. */
export function print<Value>(
  { out }: Pick<CommandContext, 'out'>,
  json: true | undefined,
  value: Value,
  words: (value: Value) => Lines,
): void {
  out(json ? JSON.stringify(value) : words(value))
}
