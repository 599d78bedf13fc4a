/** How a command of the command line is written down, and what its action is handed: the application, and the streams of a terminal. */

import type { Readable } from 'node:stream'
import { type Command, Option } from 'commander'
import type { Finding } from '../model/errors.ts'
import type { Application } from '../runs/application.ts'
import type { Lines } from '../shown-text.ts'

/** What an option does; more where its text is not taken as it is, or something hangs on it. */
export type OptionForm = string | OptionDetail
interface OptionDetail {
  readonly says: string
  /** @throws InvalidArgumentError */
  readonly read?: (text: string, before: never) => unknown
  /** What it counts as where it is not given. */
  readonly else?: string | number
  readonly choices?: readonly string[]
  /** Options that it cannot be given with, as the action knows them. */
  readonly not?: readonly string[]
  readonly mandatory?: true
}

/** `as-they-are`: the action is performed although settings are wrong, and told of them. */
export type SettingsWanted = 'in-order' | 'as-they-are'

export interface CommandForm {
  readonly says: string
  /** By the name that its action knows them by: as they are typed, and what they are. */
  readonly arguments?: Readonly<Record<string, readonly [typed: string, says?: string]>>
  /** By their flags, as commander has them. */
  readonly options?: Readonly<Record<string, OptionForm>>
  /** Shown behind the options. */
  readonly note?: string
  readonly examples?: readonly string[]
  /** Default: in order. */
  readonly settings?: SettingsWanted
  /** It prints no JSON. */
  readonly prints?: false
  readonly hidden?: true
}

type CamelCase<Text> = Text extends `${infer First}-${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Text
type NameOf<Flags> = Flags extends `--${infer Name} ${string}`
  ? CamelCase<Name>
  : Flags extends `--${infer Name}`
    ? CamelCase<Name>
    : never
type Typed<Text> = Text extends `${string}...${'>' | ']'}`
  ? readonly string[]
  : Text extends `${string}<${string}>`
    ? string
    : true
type ValueOf<Flags, Form> = Form extends { readonly read: (...given: never[]) => infer Value }
  ? Value
  : Form extends { readonly choices: readonly (infer Choice)[] }
    ? Choice
    : Flags extends `${string}[${string}]`
      ? string | true
      : Typed<Flags>
type Given = { readonly else: unknown } | { readonly mandatory: true }
type OptionsOf<Forms> = {
  readonly [Flags in keyof Forms as Forms[Flags] extends Given ? NameOf<Flags> : never]: ValueOf<
    Flags,
    Forms[Flags]
  >
} & {
  readonly [Flags in keyof Forms as Forms[Flags] extends Given ? never : NameOf<Flags>]?:
    | ValueOf<Flags, Forms[Flags]>
    | undefined
}
type ArgumentsOf<Forms> = {
  readonly [Name in keyof Forms]: Forms[Name] extends readonly [infer Text, ...unknown[]]
    ? Text extends `[${string}`
      ? Text extends `${string}...]`
        ? readonly string[]
        : string | undefined
      : Typed<Text>
    : never
}

/** What the action of a command is handed: its arguments and options, in one. */
export type GivenBy<Form> = (Form extends { readonly arguments: infer Forms }
  ? ArgumentsOf<Forms>
  : unknown) &
  (Form extends { readonly options: infer Forms } ? OptionsOf<Forms> : unknown) &
  (Form extends { readonly prints: false } ? unknown : { readonly json?: true | undefined })

/** What a command does; returns its exit code. */
export type Act = (context: CommandContext) => Promise<number>

/** Performs an action with a context made for it; gives the exit code on. */
export type Perform = (action: Act, settings: SettingsWanted) => Promise<void>

const JSON_OPTION = 'print one JSON object on standard output; logs go to standard error'

/** @param load the command's action, loaded when it is called */
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

/** Words behind the options. */
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
  /** What is wrong with the settings; empty but for commands that are performed all the same. */
  readonly settingsFindings: readonly Finding[]
  /** Prints lines to standard output, each as one line, whatever it holds. */
  readonly out: (lines: Lines) => void
  /** The same to standard error. */
  readonly err: (lines: Lines) => void
  /** Standard error as it is: for log and progress, which see to it themselves what they show. */
  readonly writeError: (text: string) => void
  /** Columns of the terminal that standard error is, as it is now; false: it is none. */
  readonly terminal: false | (() => number)
  /** Columns of the terminal that standard output is; undefined where it is none: then nothing is fitted to a width. */
  readonly columns?: number | undefined
  /** Opens standard input; undefined where there is none. */
  readonly input?: (() => Readable) | undefined
}

/** What a command has to say: as JSON where that is asked for, else in words. */
export function say<Value>(
  { out }: Pick<CommandContext, 'out'>,
  json: true | undefined,
  value: Value,
  words: (value: Value) => Lines,
): void {
  out(json ? JSON.stringify(value) : words(value))
}
