/**
 * Composition root: builds the concrete parts, handles signals, sets the exit code. Everything that touches the world (clock, chance,
 * files of the home, SQLite, the network) is made here and handed in.
 */
import { randomBytes, randomInt, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { hostname, userInfo } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { CommanderError } from 'commander'
import type { Perform } from './cli/command-options.ts'
import type { CommandContext } from './cli/context.ts'
import { describeError, errorAsJson, logFailure, openLog } from './cli/describe-error.ts'
import { createProgram } from './cli/program.ts'
import { EXIT, endingOf, filesExhausted, WaybillError } from './model/errors.ts'
import { assertWithin, closeToOthers, makeFolder, modeText } from './own-files.ts'
import { identify, processTable } from './process-identity.ts'
import { examineSettings, readSettings } from './settings.ts'
import { linePrinter, shownLines } from './shown-text.ts'

/** What a program finds around it: of a process its variables, working folder, streams and signals. */
export interface Surroundings extends Pick<CommandContext, 'terminal' | 'columns' | 'interrupt' | 'input'> {
  /** Writes to standard output, */
  readonly out: (text: string) => void
  /** and to standard error. */
  readonly err: (text: string) => void
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
    linePrinter(writeError)(describeError(error))
    process.exit(endingOf(error).exit)
  })
  const surroundings: Surroundings = {
    environment: process.env,
    folder: process.cwd(),
    out: (text) => process.stdout.write(text),
    err: writeError,
    terminal: process.stderr.isTTY === true && (() => process.stderr.columns),
    columns: process.stdout.isTTY === true ? process.stdout.columns : undefined,
    interrupt: interruptSignal(),
    input: () => process.stdin,
  }
  const exit = await runCommandLine(argv, surroundings, compose)
  await Promise.all([written(process.stdout), written(process.stderr)])
  process.exit(exit)
}

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
  surroundings: Surroundings,
  compose: (context: CommandContext) => CommandContext = (context) => context,
): Promise<number> {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  const version =
    typeof manifest === 'object' && manifest !== null && 'version' in manifest
      ? String(manifest.version)
      : '0'
  let exit: number = EXIT.ok
  const perform: Perform = async (action, settings) => {
    const context = compose(await buildContext(version, surroundings, settings))
    exit = await action(context).catch((error: unknown) => {
      logFailure(context, error)
      throw error
    })
  }
  const [out, err] = [linePrinter(surroundings.out), linePrinter(surroundings.err)]
  const program = createProgram(version, perform, {
    writeOut: (text) => surroundings.out(shownLines(text)),
    writeErr: (text) => surroundings.err(shownLines(text)),
  })
  try {
    await program.parseAsync(argv, { from: 'user' })
    return exit
  } catch (thrown) {
    const error = filesExhausted(thrown) ?? thrown
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.wrongUse
    err(describeError(error))
    if (argv.includes('--json') && error instanceof WaybillError) out(JSON.stringify(errorAsJson(error)))
    return endingOf(error).exit
  }
}

async function buildContext(
  version: string,
  { environment, folder, out, err, ...surroundings }: Surroundings,
  tolerance?: 'as-they-are',
): Promise<CommandContext> {
  const { settings, findings: settingsFindings } =
    tolerance === undefined
      ? { settings: readSettings(environment, folder), findings: [] }
      : examineSettings(environment, folder)
  const makeHome = (): void => {
    try {
      makeFolder(settings.home)
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause)
      throw new WaybillError('ledger-unusable', `the home ${settings.home} cannot be made: ${reason}`, {
        cause,
      })
    }
  }
  const logger = openLog(settings, err, Date.now)
  const closeLedgerToOthers = (ledger: string): void => {
    for (const file of [ledger, `${ledger}-wal`, `${ledger}-shm`]) {
      try {
        const mode = closeToOthers(file)
        if (mode !== undefined)
          logger.warn(`${file} was open to others (mode ${modeText(mode)}), and is no more`)
      } catch (cause) {
        throw new WaybillError('ledger-unusable', `${file} is open to others, and is another user's`, {
          place: { file },
          remedy: 'Give the file to the user who runs Waybill: chown it, and chmod 600 it.',
          cause,
        })
      }
    }
  }
  return {
    version,
    settings,
    user: userName(),
    settingsFindings,
    logger,
    ...surroundings,
    out: linePrinter(out),
    err: linePrinter(err),
    writeError: err,
    now: Date.now,
    random: () => randomInt(2 ** 32) / 2 ** 32,
    randomHex: hexOf,
    sleep: async (ms, signal) => {
      await delay(ms, undefined, { signal }).catch(() => signal.throwIfAborted())
    },
    ...identify(hostname(), process.pid, randomBytes(8).toString('hex'), processTable(process.pid)),
    async openLedger() {
      makeHome()
      const { openLedger } = await import('./ledger/open-ledger.ts')
      const file = join(settings.home, 'ledger.sqlite')
      assertWithin(settings.home, file)
      closeLedgerToOthers(file)
      return openLedger(file)
    },
    async connectGateway(name, onRequest) {
      makeHome()
      const { connectGateway } = await import('./runs/connect-gateway.ts')
      const parts = { now: Date.now, nextRequestId: randomUUID, randomHex: hexOf }
      return connectGateway(name, settings, onRequest === undefined ? parts : { ...parts, onRequest })
    },
    async identity(hadRuns = false) {
      makeHome()
      const [{ createIdentity }, { readOrMakeKey }] = await Promise.all([
        import('./model/ids.ts'),
        import('./runs/open-known-ledger.ts'),
      ])
      const file = join(settings.home, 'key')
      assertWithin(settings.home, file)
      return createIdentity(settings.key ?? readOrMakeKey(file, randomBytes(32).toString('hex'), hadRuns))
    },
  }
}

/** Of a user of whom the system knows only the number, as in many containers, that number. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return `user ${process.getuid?.() ?? 'unknown'}`
  }
}

const hexOf = (bytes: number): string => randomBytes(bytes).toString('hex')

/** Never throws: where standard error is a file, what befalls it is thrown to whoever writes. */
function writeError(text: string): void {
  try {
    process.stderr.write(text)
  } catch {
    // There is no other place to say it.
  }
}

/** Aborted by the first SIGINT or SIGTERM; a second one ends the process at once. */
function interruptSignal(): AbortSignal {
  const controller = new AbortController()
  const onSignal = (): void => {
    const { stderr } = process
    if (controller.signal.aborted) {
      // The shell's prompt is not to stand behind a progress bar.
      if (stderr.isTTY) writeError('\n')
      process.exit(EXIT.interrupted)
    }
    controller.abort()
    // In a terminal in the place of the bar, which comes back below.
    writeError(
      `${stderr.isTTY ? '\r\x1b[2K' : ''}Stopping: what is under way is finished, nothing new is begun. Once more to stop at once.\n`,
    )
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  return controller.signal
}
