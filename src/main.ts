/**
 * The command line as a process: reads its surroundings, handles signals, sets the exit code. What touches the world is built by application.ts.
 */

import { styleText } from 'node:util'
import { CommanderError } from 'commander'
import { createApplication, programVersion } from './application.ts'
import type { CommandContext, Perform, SettingsWanted } from './cli/command-form.ts'
import { createProgram } from './cli/program.ts'
import { errorAsJson, errorLines, logFailure } from './cli/terminal-text.ts'
import { EXIT, endingOf, filesExhausted, WaybillError } from './model/errors.ts'
import { examineSettings, readSettings } from './settings.ts'
import { linePrinter, type Paint, shownLines } from './shown-text.ts'

/** What a program finds around it: of a process its variables, working folder, streams and signals. */
export interface Surroundings extends Pick<CommandContext, 'terminal' | 'columns' | 'interrupt' | 'input'> {
  /** Writes to standard output, */
  readonly out: (text: string) => void
  /** and to standard error. */
  readonly err: (text: string) => void
  /** Colours of the one and the other; none: there are no colours. */
  readonly paint?: { readonly out: Paint; readonly err: Paint }
  readonly environment: Readonly<Record<string, string | undefined>>
  /** The working folder: settings and `.env` are relative to it. */
  readonly folder: string
}

/** Commands that may end as soon as nobody reads what they say. */
const ONLY_LOOK = ['runs', 'show', 'trace', 'mapping', 'doctor']

/**
 * Runs the command line in this process: with its surroundings, and until its signals. Then the process ends, once what was said is
 * written: nothing that is still open (a socket that a server has kept, a timer of a library) can hold it.
 */
export async function main(
  argv: readonly string[],
  compose?: (context: CommandContext) => CommandContext,
): Promise<never> {
  // Everything that is made here is for its owner alone: ledger, key, rejects, receipts, the built-in gateway's data.
  process.umask(0o077)
  // Whoever reads our output may have seen enough (`| head`). What does more than look is done to its end, and told.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    if (ONLY_LOOK.includes(argv[0] ?? '')) process.exit(EXIT.ok)
  })
  // Where nobody hears it any more, or the disk under it is full: what is at work goes on, and ends as it would have.
  process.stderr.on('error', () => {})
  process.on('uncaughtException', (thrown) => {
    const error = filesExhausted(thrown) ?? thrown
    linePrinter(writeError, paintOf(process.stderr))(errorLines(error))
    process.exit(endingOf(error).exit)
  })
  const surroundings: Surroundings = {
    environment: process.env,
    folder: process.cwd(),
    out: (text) => process.stdout.write(text),
    err: writeError,
    paint: { out: paintOf(process.stdout), err: paintOf(process.stderr) },
    terminal: process.stderr.isTTY === true && (() => process.stderr.columns),
    columns: process.stdout.isTTY === true ? process.stdout.columns : undefined,
    interrupt: interruptSignal(argv[0] === 'watch'),
    input: () => process.stdin,
  }
  const exit = await runCommandLine(argv, surroundings, compose)
  await Promise.all([written(process.stdout), written(process.stderr)])
  process.exit(exit)
}

const COLOURS = { bad: 'red', attention: 'yellow', good: 'green' } as const

/** Where the stream is a terminal that shows them; NO_COLOR and FORCE_COLOR say otherwise (no-color.org, Node's `util.styleText`). */
const paintOf =
  (stream: NodeJS.WriteStream): Paint =>
  (text, tone) =>
    styleText(COLOURS[tone], text, { stream })

/** Resolves once the stream has handed on what it was given; also where nobody takes it any more. */
const written = (stream: NodeJS.WriteStream): Promise<void> =>
  new Promise((resolve) => {
    if (stream.writable) stream.write('', () => resolve())
    else resolve()
  })

/**
 * Runs the command line.
 * @param compose what commands are handed instead, where a program of its own puts Waybill together otherwise
 * @returns the exit code
 */
export async function runCommandLine(
  argv: readonly string[],
  around: Surroundings,
  compose: (context: CommandContext) => CommandContext = (context) => context,
): Promise<number> {
  const surroundings = asTyped(around, argv.includes('--json'))
  const version = programVersion()
  let exit: number = EXIT.ok
  const perform: Perform = async (action, settings) => {
    const context = compose(await buildContext(version, surroundings, settings))
    exit = await action(context).catch((error: unknown) => {
      logFailure(context, error)
      throw error
    })
  }
  const [out, err] = [
    linePrinter(surroundings.out, surroundings.paint?.out),
    linePrinter(surroundings.err, surroundings.paint?.err),
  ]
  const program = createProgram(version, perform, {
    writeOut: (text) => surroundings.out(shownLines(text)),
    writeErr: (text) => surroundings.err(shownLines(text)),
  })
  try {
    await program.parseAsync(argv, { from: 'user' })
    return exit
  } catch (thrown) {
    const error = filesExhausted(thrown) ?? thrown
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return EXIT.ok
      // Its words were written to standard error, with help.
      const message = error.message.replace(/^error: /, '')
      if (argv.includes('--json')) out(JSON.stringify(errorAsJson(new WaybillError('usage-wrong', message))))
      return EXIT.wrongUse
    }
    err(errorLines(error))
    if (argv.includes('--json') && error instanceof WaybillError) out(JSON.stringify(errorAsJson(error)))
    return endingOf(error).exit
  }
}

/** Prefixes commands in hints with `npx` if npx has started this program. Leaves JSON on standard output unchanged: programs read it. */
function asTyped(surroundings: Surroundings, isJson: boolean): Surroundings {
  const { environment, out, err } = surroundings
  if (environment['npm_command'] !== 'exec' || environment['npm_lifecycle_event'] !== 'npx')
    return surroundings
  const typed = (text: string): string =>
    text.replace(/(?<![\w./-]|npx )waybill (?=[a-z<[])/g, 'npx waybill ')
  return { ...surroundings, out: isJson ? out : (text) => out(typed(text)), err: (text) => err(typed(text)) }
}

async function buildContext(
  version: string,
  { environment, folder, out, err, paint, ...surroundings }: Surroundings,
  wanted: SettingsWanted,
): Promise<CommandContext> {
  const { settings, findings: settingsFindings } =
    wanted === 'in-order'
      ? { settings: readSettings(environment, folder), findings: [] }
      : examineSettings(environment, folder)
  return {
    ...surroundings,
    // Second, for its own signal: it aborts with an error.
    ...createApplication(version, settings, err, surroundings.interrupt),
    settingsFindings,
    out: linePrinter(out, paint?.out),
    err: linePrinter(err, paint?.err),
    writeError: err,
  }
}

/** Never throws: where standard error is a file, what befalls it is thrown to whoever writes. */
function writeError(text: string): void {
  try {
    process.stderr.write(text)
  } catch {
    // There is no other place to say it.
  }
}

/**
 * Aborted by the first SIGINT, SIGTERM or SIGHUP; a second one ends the process at once, but for SIGHUP: a terminal that goes away may say so
 * twice.
 * @param onlyWatches whether the command stops nothing when it ends
 */
function interruptSignal(onlyWatches: boolean): AbortSignal {
  const controller = new AbortController()
  const onSignal = (signal: NodeJS.Signals): void => {
    const { stderr } = process
    if (controller.signal.aborted) {
      if (signal === 'SIGHUP') return
      // The shell's prompt is not to stand behind a progress bar.
      if (stderr.isTTY) writeError('\n')
      process.exit(EXIT.interrupted)
    }
    controller.abort()
    // What is watched goes on.
    if (onlyWatches) return
    // In a terminal in the place of the bar, which comes back below.
    writeError(
      `${stderr.isTTY ? '\r\x1b[2K' : ''}Stopping: what is under way is finished, nothing new is begun. Once more to stop at once.\n`,
    )
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  process.on('SIGHUP', onSignal)
  return controller.signal
}
