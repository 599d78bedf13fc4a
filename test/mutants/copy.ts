/** Copies of the tree in which mistakes are made, and the tests run in one. */
import { spawn } from 'node:child_process'
import { chmod, cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { z } from 'zod'

export const ROOT = resolve(import.meta.dirname, '../..')
const NOT_COPIED = ['node_modules', '.git', 'dist', 'coverage', 'test-output', '.waybill']

/** @returns the TypeScript files of a folder of the tree, by their paths in it */
async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true })
  return entries
    .filter((one) => one.isFile() && one.name.endsWith('.ts') && !one.name.endsWith('.d.ts'))
    .map((one) => join(one.parentPath, one.name).slice(ROOT.length + 1))
    .sort()
}

/** Files of the core's folder, and of each package's. */
const filesInAll = async (folder: 'src' | 'test'): Promise<string[]> => {
  const packages = await readdir(join(ROOT, 'packages'))
  const folders = [folder, ...packages.map((name) => `packages/${name}/${folder}`)]
  return (await Promise.all(folders.map(filesIn))).flat()
}

/** @returns the test files of the core and of the packages, by their paths in the tree */
export const allTests = async (): Promise<string[]> =>
  (await filesInAll('test')).filter((file) => file.endsWith('.test.ts'))

/** @returns the texts of the sources, or of all files of tests, of the core and of the packages, by their paths in the tree */
export async function sourceTexts(folder: 'src' | 'test' = 'src'): Promise<Map<string, string>> {
  const files = await filesInAll(folder)
  return new Map(
    await Promise.all(files.map(async (file) => [file, await readFile(join(ROOT, file), 'utf8')] as const)),
  )
}

/** A copy with the modules that are installed in the tree; whoever made it removes it. */
export async function makeCopy(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'waybill-mutants-'))
  // Tests start the program as other users.
  await chmod(folder, 0o755)
  await cp(ROOT, folder, { recursive: true, filter: (path) => !NOT_COPIED.includes(basename(path)) })
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

/** Does something with changed files in a copy, and puts the old ones back. */
export async function withTexts<T>(
  copy: string,
  texts: ReadonlyMap<string, string>,
  use: () => Promise<T>,
): Promise<T> {
  const before = await Promise.all([...texts.keys()].map((file) => readFile(join(copy, file), 'utf8')))
  try {
    for (const [file, text] of texts) await writeFile(join(copy, file), text)
    return await use()
  } finally {
    for (const [at, file] of [...texts.keys()].entries()) await writeFile(join(copy, file), before[at] ?? '')
  }
}

const Report = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      startTime: z.number(),
      endTime: z.number(),
      assertionResults: z.array(z.object({ fullName: z.string(), status: z.string() })),
    }),
  ),
})

export interface Tested {
  /** The first test of each file that failed, by files; a file of which nothing could begin stands last, with its own name. */
  readonly failed: ReadonlyMap<string, string>
  /** How long each file took, in milliseconds. */
  readonly took: ReadonlyMap<string, number>
  /** The tests hang, could not begin, or ended badly with none of them failed. */
  readonly cutOff: boolean
}

export interface HowToTest {
  /** Ends with the first failure. */
  readonly bail: boolean
  readonly workers: number
  /** The milliseconds after which they are taken to hang. */
  readonly limit: number
  /** A file of settings for vitest, in the copy; without it, the tests run in the order given. */
  readonly config?: string
}

const IN_ORDER = 'vitest.in-order.ts'

const inOrderText = (tests: readonly string[]): string => `import { mergeConfig } from 'vitest/config'
import { BaseSequencer } from 'vitest/node'
import config from './vitest.config.ts'
const order = ${JSON.stringify(tests)}
const placeOf = ({ moduleId }) => order.findIndex((test) => moduleId.endsWith('/' + test))
class InOrder extends BaseSequencer {
  sort(files) {
    return files.toSorted((a, b) => placeOf(a) - placeOf(b))
  }
}
export default mergeConfig(config, { test: { sequence: { sequencer: InOrder } } })
`

/** Runs test files in a copy; none for all of them. */
export async function runTests(copy: string, tests: readonly string[], how: HowToTest): Promise<Tested> {
  const report = join(copy, 'mutants-report.json')
  await rm(report, { force: true })
  // On a busy machine a test may fail once: a mistake fails it again.
  const options = ['--reporter=json', `--outputFile=${report}`, `--maxWorkers=${how.workers}`, '--retry=1']
  if (how.bail) options.push('--bail=1')
  if (how.config === undefined) await writeFile(join(copy, IN_ORDER), inOrderText(tests))
  options.push(`--config=${how.config ?? IN_ORDER}`)
  const vitest = join(copy, 'node_modules/vitest/vitest.mjs')
  const ended = await runProgram(copy, [vitest, 'run', ...options, ...tests], how.limit)
  const text = await readFile(report, 'utf8').catch(() => '{"testResults":[]}')
  const { testResults } = Report.parse(JSON.parse(text))
  const nameOf = (file: string): string => file.slice(copy.length + 1)
  const failed = testResults
    .filter(({ status }) => status === 'failed')
    .map(({ name, assertionResults }) => {
      const first = assertionResults.find(({ status }) => status === 'failed')
      return [nameOf(name), first?.fullName ?? nameOf(name)] as const
    })
    // Where another file failed first, the rest of a file was not begun.
    .sort(([a, first], [b, second]) => Number(a === first) - Number(b === second))
  return {
    failed: new Map(failed),
    took: new Map(testResults.map(({ name, startTime, endTime }) => [nameOf(name), endTime - startTime])),
    cutOff: ended.code !== 0 && failed.length === 0,
  }
}

const interrupted = new AbortController()
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => interrupted.abort())

/** Runs a program of Node in a copy; after the limit it is killed with all that it has started. */
export async function runProgram(
  copy: string,
  args: readonly string[],
  limit: number,
): Promise<{ code: number | null; out: string }> {
  if (interrupted.signal.aborted) throw new Error('interrupted')
  const child = spawn(process.execPath, args, {
    cwd: copy,
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
  })
  const endAll = (): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    } catch {
      // All of it has ended.
    }
  }
  const timer = setTimeout(endAll, limit)
  interrupted.signal.addEventListener('abort', endAll)
  const code = await new Promise<number | null>((done, failed) => child.on('error', failed).on('exit', done))
  clearTimeout(timer)
  interrupted.signal.removeEventListener('abort', endAll)
  // Processes that a mistake leaves behind must not live on.
  endAll()
  return { code, out }
}
