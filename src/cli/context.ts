/** What commands are handed: the application, and the streams of a terminal. */
import type { Readable } from 'node:stream'
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
