/**
 * The command line as a process: reads its surroundings, handles signals, sets the exit code. application.ts builds the parts with access to the
 * world.
 */

import { styleText } from 'node:util'
import { CommanderError } from 'commander'
import { createApplication, programVersion } from './application.ts'
import type { CommandContext, Perform, SettingsWanted } from './cli/command-form.ts'
import { createProgram } from './cli/program.ts'
import { errorLines } from './cli/terminal-text.ts'
import { EXIT, endingOf, errorAsJson, filesExhausted, WaybillError } from './model/errors.ts'
import { examineSettings, readSettings } from './system/settings.ts'
import { linePrinter, type Paint, shownLines } from './system/shown-text.ts'

/** Surroundings of a program: variables, working folder, streams and signals of a process. */
interface Surroundings extends Pick<CommandContext, 'terminal' | 'columns' | 'interrupt' | 'input'> {
  readonly out: (text: string) => void
  readonly err: (text: string) => void
  /** Colours for standard output and standard error; undefined for none. */
  readonly paint?: { readonly out: Paint; readonly err: Paint }
  readonly environment: Readonly<Record<string, string | undefined>>
  /** The working folder: settings and `.env` are relative to it. */
  readonly folder: string
}

/** Commands that only read: they end when nobody reads their output any more. */
const ONLY_LOOK = ['runs', 'show', 'trace', 'mapping', 'doctor']

/**
 * Runs the command line in this process until a signal, then ends the process once the output is written. An open socket or timer of a library
 * cannot keep the process alive.
 */
export async function main(
  argv: readonly string[],
  compose?: (context: CommandContext) => CommandContext,
): Promise<never> {
  // All new files are for their owner alone: ledger, key, rejects, receipts, data of the built-in gateway.
  process.umask(0o077)
  // The reader of the output may have seen enough (`| head`). A command that writes continues to its end and its notifications.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    if (ONLY_LOOK.includes(argv[0] ?? '')) process.exit(EXIT.ok)
  })
  // With nobody to read standard error, or a full disk under it, work in flight continues and ends as usual.
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

/** Colours for a terminal that has colours; NO_COLOR and FORCE_COLOR decide first (no-color.org, Node's `util.styleText`). */
const paintOf =
  (stream: NodeJS.WriteStream): Paint =>
  (text, tone) =>
    styleText(COLOURS[tone], text, { stream })

/** Resolves once the stream has written everything, or is closed. */
const written = (stream: NodeJS.WriteStream): Promise<void> =>
  new Promise((resolve) => {
    if (stream.writable) stream.write('', () => resolve())
    else resolve()
  })

/**
 * Runs the command line.
 * @param compose replaces the parts of a command, for a program that builds Waybill from other parts
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
      // Commander has written the message to standard error, with help.
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
    // Second, as its interrupt signal replaces the other: it aborts with an error.
    ...createApplication(version, settings, err, surroundings.interrupt),
    settingsFindings,
    out: linePrinter(out, paint?.out),
    err: linePrinter(err, paint?.err),
    writeError: err,
  }
}

/** Never throws. With a file as standard error, a write error goes to the caller of `write`. */
function writeError(text: string): void {
  try {
    process.stderr.write(text)
  } catch {
    // No other stream is left for a report.
  }
}

/**
 * Aborts at the first SIGINT, SIGTERM or SIGHUP. A second SIGINT or SIGTERM ends the process at once; a terminal that goes away may send SIGHUP
 * twice.
 * @param onlyWatches true for a command that stops nothing when it ends
 */
function interruptSignal(onlyWatches: boolean): AbortSignal {
  const controller = new AbortController()
  const onSignal = (signal: NodeJS.Signals): void => {
    const { stderr } = process
    if (controller.signal.aborted) {
      if (signal === 'SIGHUP') return
      // Moves the shell's prompt to the line below the progress bar.
      if (stderr.isTTY) writeError('\n')
      process.exit(EXIT.interrupted)
    }
    controller.abort()
    // The watched run continues.
    if (onlyWatches) return
    // Replaces the progress bar of a terminal; the bar returns one line below.
    writeError(
      `${stderr.isTTY ? '\r\x1b[2K' : ''}Stopping: work in flight is finished, nothing new starts. Interrupt again to stop at once.\n`,
    )
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  process.on('SIGHUP', onSignal)
  return controller.signal
}

/** Writes the error that ended a command into the log file; standard error has its description. */
function logFailure({ settings, logger }: Pick<CommandContext, 'settings' | 'logger'>, error: unknown): void {
  if (settings.logFile === undefined) return
  const file = logger.beside(() => {})
  if (error instanceof WaybillError) file.error(`${error.message}. ${error.remedy}`, { code: error.code })
  else file.error('unexpected: a defect, whose stack is on standard error')
}
