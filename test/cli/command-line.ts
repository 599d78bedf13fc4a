/** Runs the real command line as a user would: within this process, or in one of its own that can be killed. */
import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import { runCommandLine } from '../../src/main.ts'
import { temporaryFolder } from '../temporary-folder.ts'

export const PROJECT = resolve(import.meta.dirname, '../..')
const ENTRY = join(PROJECT, 'bin/waybill.js')
const FAST_CLOCK = pathToFileURL(join(import.meta.dirname, 'fast-clock.ts'))

/** Shifts the clock of all processes: `npm run test:midnight`. */
const SHIFTED_CLOCK = ['LD_PRELOAD', 'FAKETIME', 'FAKETIME_DONT_FAKE_MONOTONIC']
/** What a process has besides its settings. */
export const INHERITED = Object.fromEntries(
  ['PATH', 'NODE_COMPILE_CACHE', ...SHIFTED_CLOCK].flatMap((name) =>
    process.env[name] === undefined ? [] : [[name, process.env[name]]],
  ),
)

/** The young generation of the launcher, at its full size from the start: to clear a small one again and again costs a small run a twelfth of its time. */
const YOUNG_GENERATION = ['--min-semi-space-size=16', '--max-semi-space-size=16']

export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export interface Workplace {
  readonly folder: string
  readonly home: string
  /** Settings for the commands run here. */
  readonly environment: Record<string, string>
  /** Writes `jobs/<name>.yaml`. */
  job(name: string, yaml: string): Promise<void>
  /** In a process of its own. */
  start(...args: string[]): ChildProcessWithoutNullStreams
  /** In a process of its own, whose clock begins at an instant (UTC) and runs so many times as fast. */
  startFast(at: string, speed: number, ...args: string[]): ChildProcessWithoutNullStreams
  /** Another program than the command line, with the same settings. */
  startProgram(file: string, ...args: string[]): ChildProcessWithoutNullStreams
  /** Within this process; in one of its own while a command of another folder is at work there, or if both write. */
  waybill(...args: string[]): Promise<Ended>
  /** Within this process, whose clock shows that instant (UTC) and goes on from there. */
  waybillAt(instant: string, ...args: string[]): Promise<Ended>
  /** Within this process, until the signal aborts, as a signal to a process of its own does. */
  waybillUntil(interrupt: AbortSignal, ...args: string[]): Promise<Ended>
  /** Within this process, put together otherwise. */
  waybillWith(compose: Compose, ...args: string[]): Promise<Ended>
}

/**
 * A folder with a home and jobs of its own, and the shipped mappings; gone after the test.
 * @param startsAt what the clock of commands within this process shows now, in ms; without it, the machine's
 */
export async function createWorkplace(
  environment: Record<string, string> = {},
  startsAt?: number,
): Promise<Workplace> {
  const ahead = startsAt === undefined ? 0 : startsAt - Date.now()
  const folder = await temporaryFolder()
  const home = join(folder, 'home')
  const settings = {
    WAYBILL_HOME: home,
    WAYBILL_JOBS: join(folder, 'jobs'),
    WAYBILL_MAPPINGS: join(PROJECT, 'mappings'),
    WAYBILL_GATEWAY_URL: 'built-in',
    ...environment,
  }
  const { mkdir } = await import('node:fs/promises')
  await mkdir(join(folder, 'jobs'))
  const startProgram: Workplace['startProgram'] = (...args) =>
    spawn(process.execPath, [...YOUNG_GENERATION, ...args], {
      cwd: folder,
      env: { ...INHERITED, ...settings },
    })
  const start: Workplace['start'] = (...args) => startProgram(ENTRY, ...args)
  return {
    folder,
    home,
    environment: settings,
    job: (name, yaml) =>
      writeFile(join(folder, 'jobs', `${name}.yaml`), `job: ${name}\n${withShortLag(yaml)}`),
    start,
    startFast: (at, speed, ...args) =>
      startProgram(
        `--import=${FAST_CLOCK}?${new URLSearchParams({ at, speed: `${speed}` })}`,
        ENTRY,
        ...args,
      ),
    startProgram,
    waybillAt(instant, ...args) {
      return perform(folder, settings, args, clockAhead(Date.parse(instant) - Date.now()))
    },
    waybillUntil: (interrupt, ...args) => perform(folder, settings, args, clockAhead(ahead), interrupt),
    waybillWith: (compose, ...args) => perform(folder, settings, args, compose),
    waybill: (...args) =>
      canPerform(folder, args) ? perform(folder, settings, args, clockAhead(ahead)) : ended(start(...args)),
  }
}

const clockAhead =
  (ms: number): Compose =>
  (context) =>
    ms === 0 ? context : { ...context, now: () => context.now() + ms }

/** The gateways of tests show at once what they store; a job whose test says nothing of that waits for no more. */
const withShortLag = (yaml: string): string =>
  yaml.includes('readLag') || yaml.includes('\nsubmit:\n')
    ? yaml
    : /^submit: \{/m.test(yaml)
      ? yaml.replace(/^submit: \{/m, 'submit: { readLag: 100ms,')
      : `${yaml.trimEnd()}\nsubmit: { readLag: 100ms }\n`

type Compose = NonNullable<Parameters<typeof runCommandLine>[2]>

interface AtWork {
  count: number
  /** Takes back what the commands of the folder were given. */
  readonly leave: () => void
}

/** Commands at work within this process, which has one working folder, by their folder. */
const atWork = new Map<string, AtWork>()

/** Commands that change nothing: they need no process of their own beside one that does. */
const ONLY_LOOK: readonly string[] = [
  'audit',
  'backfills',
  'exports',
  'in-doubt',
  'logs',
  'mapping',
  'needs',
  'runs',
  'show',
  'trace',
]

const canPerform = (folder: string, [command = '']: readonly string[]): boolean =>
  atWork.size === 0 || (atWork.has(folder) && ONLY_LOOK.includes(command))

/** Gives this process the surroundings of a workplace until its last command has ended. @returns what ends one command */
function surround(folder: string, environment: Record<string, string>): () => void {
  const commands = atWork.get(folder) ?? { count: 0, leave: enter(folder, environment) }
  atWork.set(folder, commands)
  commands.count += 1
  return () => {
    commands.count -= 1
    if (commands.count > 0) return
    atWork.delete(folder)
    commands.leave()
  }
}

function enter(folder: string, environment: Record<string, string>): () => void {
  const before = { umask: process.umask(0o077), variables: { ...process.env } }
  process.chdir(folder)
  // Libraries read variables of their own, like those with the credentials of S3.
  Object.assign(process.env, environment)
  return () => {
    process.chdir(PROJECT)
    for (const name of Object.keys(environment)) delete process.env[name]
    Object.assign(process.env, before.variables)
    process.umask(before.umask)
  }
}

/** As a process of that folder would, within this one: a start of its own costs more than most commands do. */
async function perform(
  folder: string,
  environment: Record<string, string>,
  args: readonly string[],
  compose?: Compose,
  interrupt = new AbortController().signal,
): Promise<Ended> {
  let out = ''
  let err = ''
  const end = surround(folder, environment)
  try {
    const surroundings = {
      environment,
      folder,
      out: (text: string) => {
        out += text
      },
      err: (text: string) => {
        err += text
      },
      terminal: false as const,
      interrupt,
    }
    const code = await runCommandLine(args, surroundings, compose)
    return { code, out, err }
  } finally {
    end()
  }
}

/** Waits for the process's end and gives what it said. */
export async function ended(child: ChildProcess): Promise<Ended> {
  let out = ''
  let err = ''
  child.stdout?.on('data', (text: Buffer) => {
    out += text.toString()
  })
  child.stderr?.on('data', (text: Buffer) => {
    err += text.toString()
  })
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, out, err }
}

const count = z.int()
const Records = z.object({
  made: count,
  accepted: count,
  rejected: count,
  unchanged: count,
  inDoubt: count,
  pending: count,
})

/** The summary as the documentation promises it. */
export const Summary = z.object({
  run: z.string(),
  job: z.string(),
  state: z.string(),
  balanced: z.boolean(),
  soFar: z.literal(true).optional(),
  exports: z.array(
    z.object({
      name: z.string(),
      sha256: z.string(),
      rows: count,
      error: z.string().optional(),
      file: z.string().optional(),
      rejects: z.string().optional(),
    }),
  ),
  rows: z.object({ read: count, mapped: count, skipped: count, rejected: count }),
  accounts: z.object({ registered: count, known: count, refused: count }),
  records: z.object({ biometric: Records, condition: Records, careTeam: Records }),
  requests: z.object({ sent: count, retried: count, readBack: count }),
  primaryCare: z.object({ marked: count, unmarked: count, owed: count }),
  files: z.object({ rejects: z.string().optional(), receipts: z.string().optional() }),
  durationMs: z.number(),
  error: z.object({ code: z.string(), message: z.string(), remedy: z.string() }).optional(),
  resumed: z.object({ run: z.string(), balanced: z.boolean() }).optional(),
})
export type Summary = z.infer<typeof Summary>

export const summaryOf = ({ out, err }: Ended): Summary => {
  try {
    return Summary.parse(JSON.parse(out))
  } catch (cause) {
    throw new Error(`no summary on standard output; standard error says: ${err}`, { cause })
  }
}
