/** What commands are handed: the application, and the streams of a terminal. Options that several commands take. */
import type { Readable } from 'node:stream'
import { Command, InvalidArgumentError } from 'commander'
import { Duration } from '../definitions/export-definition.ts'
import type { Finding } from '../model/errors.ts'
import type { Application } from '../runs/application.ts'
import type { Lines } from '../shown-text.ts'

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

/** A command's action: returns its exit code. */
export type Action<Options> = (context: CommandContext, options: Options) => Promise<number>

/** `as-they-are`: the action is performed although settings are wrong, and told of them. */
export type SettingsWanted = 'in-order' | 'as-they-are'

/** Runs an action with a context made for it; gives the exit code on. */
export type Perform = (
  action: (context: CommandContext) => Promise<number>,
  settings: SettingsWanted,
) => Promise<void>

/** A command of the command line, and what most of them have. */
export class WaybillCommand extends Command {
  readonly #perform: Perform

  constructor(perform: Perform, name?: string) {
    super(name)
    this.#perform = perform
  }

  override createCommand(name?: string): WaybillCommand {
    return new WaybillCommand(this.#perform, name)
  }

  /** Shown behind the options. */
  note(text: string): this {
    return this.addHelpText('after', `\n${text}`)
  }

  examples(...lines: readonly string[]): this {
    return this.note(`Example:\n  ${lines.join('\n  ')}`)
  }

  /**
   * @param names of its arguments, as its action knows them
   * @param load its action: loaded when it is called
   * @param prints whether it prints JSON, too
   */
  performs<Options>(
    names: readonly string[],
    load: () => Promise<Action<Options>>,
    settings: SettingsWanted = 'in-order',
    prints = true,
  ): this {
    if (prints) this.option('--json', 'print one JSON object on standard output; logs go to standard error')
    // Arguments come first, then the options, then the command itself.
    return this.action((...given: unknown[]) => {
      const typed = Object.fromEntries(names.map((name, at) => [name, given[at]]))
      const options = { ...typed, ...(given[names.length] as object) } as Options
      return this.#perform(async (context) => (await load())(context, options), settings)
    })
  }
}

/** The instant that is meant, in milliseconds since the epoch. @param now the same */
export type Since = (now: number) => number

/** `7d` before now, or the beginning of a day (UTC), `2026-03-02`. */
export function since(text: string): Since {
  const day = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(day)) return () => day
  const duration = Duration.safeParse(text)
  if (duration.success) return (now) => now - duration.data
  throw new InvalidArgumentError('It must be a day, like 2026-03-02 (UTC), or how long ago, like 7d or 12h.')
}

export function positiveNumber(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1 on.')
  return Number(text)
}

export function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}
