/**
 * Shows which mistakes the tests see: `npm run mutants [-- NAME…]`. Each fault of faults.yaml is put into a copy of the tree, where the
 * tests that are to see it run. Exit code 1 where more than three faults go unseen; a fault that has no place any more counts as unseen.
 */
import { spawn } from 'node:child_process'
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { setPriority, tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'

const ROOT = resolve(import.meta.dirname, '../..')
const UNSEEN_AT_MOST = 3
/** A fault may hang the tests: that is seen, too. */
const HANGS_AFTER_MS = 240_000
/** Whoever works on the same machine goes first. */
const NICE = 10
const NOT_COPIED = ['node_modules', '.git', 'dist', 'coverage', 'test-output', '.waybill']

const Fault = z.strictObject({
  name: z.string().regex(/^[a-z0-9-]+$/),
  /** What the mistake does, in words. */
  breaks: z.string().min(1),
  file: z.string(),
  find: z.string().min(1),
  replace: z.string(),
  tests: z.array(z.string()).min(1),
})
type Fault = z.infer<typeof Fault>

interface Placed extends Fault {
  /** Why it cannot be put in, as the text or a test is gone. */
  readonly problem?: string
}

const say = (line: string): boolean => process.stdout.write(`${line}\n`)

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(join(ROOT, folder), { recursive: true, withFileTypes: true })
  return entries
    .filter((one) => one.isFile() && one.name.endsWith('.ts'))
    .map((one) => join(one.parentPath, one.name).slice(ROOT.length + 1))
}

/** Where the text stands today: in the file that the fault names, else in the only one of src/ that has it. */
async function place(faults: readonly Fault[]): Promise<Placed[]> {
  const texts = new Map<string, string>()
  for (const file of await filesIn('src')) texts.set(file, await readFile(join(ROOT, file), 'utf8'))
  const allTests = (await filesIn('test')).filter((file) => file.endsWith('.test.ts'))
  return faults.map((fault) => {
    const having = [...texts].filter(([, text]) => text.includes(fault.find)).map(([file]) => file)
    const file = having.includes(fault.file) ? fault.file : having[0]
    if (file === undefined || (file !== fault.file && having.length > 1))
      return { ...fault, problem: `its text stands in ${having.length} files` }
    const times = (texts.get(file)?.split(fault.find).length ?? 1) - 1
    if (times !== 1) return { ...fault, problem: `its text stands ${times} times in ${file}` }
    const tests = fault.tests.map((test) =>
      allTests.includes(test) ? test : allTests.find((one) => basename(one) === basename(test)),
    )
    const gone = fault.tests.find((_, at) => tests[at] === undefined)
    if (gone !== undefined) return { ...fault, problem: `there is no ${gone}` }
    return { ...fault, file, tests: tests.filter((test) => test !== undefined) }
  })
}

const Report = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      assertionResults: z.array(z.object({ fullName: z.string(), status: z.string() })),
    }),
  ),
})

/** @returns the test that failed first; undefined where all pass */
async function failureOf(
  folder: string,
  tests: readonly string[],
  bail: boolean,
): Promise<string | undefined> {
  const vitest = join(folder, 'node_modules/vitest/vitest.mjs')
  const report = join(folder, 'mutants-report.json')
  await rm(report, { force: true })
  // On a busy machine a test may fail once: a fault fails it again.
  const how = ['--reporter=json', `--outputFile=${report}`, '--maxWorkers=2', '--retry=1']
  if (bail) how.push('--bail=1')
  const child = spawn(process.execPath, [vitest, 'run', ...how, ...tests], {
    ...{ cwd: folder, detached: true, stdio: 'ignore' },
  })
  const endAll = (): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    } catch {
      // All of it has ended.
    }
  }
  const timer = setTimeout(endAll, bail ? HANGS_AFTER_MS : 4 * HANGS_AFTER_MS)
  const code = await new Promise((done, failed) => child.on('error', failed).on('exit', done))
  clearTimeout(timer)
  // What a fault leaves behind must not live on.
  endAll()
  if (code === 0) return undefined
  const text = await readFile(report, 'utf8').catch(() => '{"testResults":[]}')
  const failed = Report.parse(JSON.parse(text)).testResults.filter(({ status }) => status === 'failed')
  const names = failed.flatMap(({ assertionResults }) => assertionResults)
  const first = names.find(({ status }) => status === 'failed')?.fullName ?? failed[0]?.name
  return first ?? 'the tests hang, or cannot begin'
}

const all = z.array(Fault).parse(parse(await readFile(join(import.meta.dirname, 'faults.yaml'), 'utf8')))
const names = process.argv.slice(2)
const unknown = names.filter((name) => !all.some((fault) => fault.name === name))
if (unknown.length > 0) throw new Error(`there is no fault ${unknown.join(', ')}`)
const faults = await place(all.filter(({ name }) => names.length === 0 || names.includes(name)))

setPriority(NICE)
const folder = await mkdtemp(join(tmpdir(), 'waybill-mutants-'))
const unseen: Placed[] = []
try {
  await cp(ROOT, folder, { recursive: true, filter: (path) => !NOT_COPIED.includes(basename(path)) })
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const tests = [...new Set(faults.flatMap((fault) => (fault.problem === undefined ? fault.tests : [])))]
  say(`${tests.length} test files without a fault`)
  const broken = tests.length === 0 ? undefined : await failureOf(folder, tests, false)
  // A test that fails anyway sees nothing.
  if (broken !== undefined) throw new Error(`a test fails without any fault: ${broken}`)
  for (const [at, fault] of faults.entries()) {
    const { name, breaks, file, find, replace, problem } = fault
    let seenBy: string | undefined
    if (problem === undefined) {
      const path = join(folder, file)
      const text = await readFile(path, 'utf8')
      await writeFile(path, text.split(find).join(replace))
      seenBy = await failureOf(folder, fault.tests, true)
      await writeFile(path, text)
    }
    if (seenBy === undefined) unseen.push(fault)
    const what = seenBy === undefined ? `UNSEEN  ${problem ?? breaks}` : `seen    ${seenBy}`
    say(`${`${at + 1}/${faults.length}`.padStart(5)}  ${name.padEnd(36)} ${what}`)
  }
} finally {
  await rm(folder, { recursive: true, force: true })
}
say(
  `\n${faults.length - unseen.length} of ${faults.length} faults seen, ${unseen.length} unseen (at most ${UNSEEN_AT_MOST})`,
)
for (const { name, problem, breaks, file } of unseen) say(`  ${name}  ${file}: ${problem ?? breaks}`)
process.exitCode = unseen.length > UNSEEN_AT_MOST ? 1 : 0
