/**
 * Shows which mistakes the tests see: `npm run mutants`. The mistakes of faults.yaml come first, each with the tests that are to see it; then
 * a sample of those that a program draws, each with the tests that reach it. Exit code 1 where too many go unseen.
 */
import { execFileSync } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { availableParallelism, setPriority } from 'node:os'
import { parseArgs } from 'node:util'
import { makeCopy, ROOT, runTests, withTexts } from './copy.ts'
import { type Drawn, draw, nearestOf, type Reach, reachOf, textWith } from './drawn.ts'
import { refuseBrokenTests, seenBy, writtenFaults } from './written.ts'

const USAGE = `npm run mutants                        the mistakes of faults.yaml, and 300 that are drawn by the commit's id
npm run mutants -- NAME…               those of faults.yaml by their names
npm run mutants -- --written           those of faults.yaml alone
npm run mutants -- --drawn             the drawn ones alone; with --seed TEXT, --count N, --under src/FOLDER,packages/NAME
npm run mutants -- --drawn --near N    … each with the N nearest test files alone: cheap, and an upper limit of the unseen; --lanes N: mistakes tried at once
npm run mutants -- --at FILE:LINE TEST…  every mistake that can be drawn in a line, with the tests named
`

const WRITTEN_UNSEEN_AT_MOST = 3
/** The limit for each 100 that are drawn and not equivalent. */
const DRAWN_UNSEEN_AT_MOST = 5
/** Whoever works on the same machine goes first. */
const NICE = 10
/** The tests that are tried before all others that reach a mistake. */
const NEAREST = 8
const WORKERS = 2
/** The limit of a few tests, and what a file is taken to need of which nobody knows. */
const LIMIT_MS = 60_000
const USUAL_MS = 5_000

const say = (line: string): boolean => process.stdout.write(`${line}\n`)

async function tryWritten(copy: string, names: readonly string[]): Promise<boolean> {
  const faults = await writtenFaults(names)
  await refuseBrokenTests(copy, faults)
  let unseen = 0
  for (const [at, fault] of faults.entries()) {
    const seen = await seenBy(copy, fault)
    if (seen === undefined) unseen++
    const what = seen === undefined ? `UNSEEN  ${fault.problem ?? fault.breaks}` : `seen    ${seen}`
    say(`${`${at + 1}/${faults.length}`.padStart(7)}  ${fault.name.padEnd(36)} ${what}`)
  }
  say(`\n${faults.length - unseen} of ${faults.length} written mistakes seen\n`)
  return unseen <= WRITTEN_UNSEEN_AT_MOST
}

const passing = new Map<string, Promise<boolean>>()

/** True if a test file passes without a mistake: it was measured, or is tried now. */
async function passesWithout(copy: string, test: string, { took }: Reach): Promise<boolean> {
  if (took.has(test)) return true
  const known =
    passing.get(test) ??
    runTests(copy, [test], { bail: true, workers: WORKERS, limit: LIMIT_MS }).then(
      ({ failed, cutOff }) => failed.size === 0 && !cutOff,
    )
  if (!passing.has(test) && !(await known)) say(`${test} fails without a mistake, and is left out`)
  passing.set(test, known)
  return await known
}

/** @returns the test that sees a drawn mistake; undefined where none does */
async function seenWith(copy: string, one: Drawn, reach: Reach): Promise<string | undefined> {
  const texts = await textWith(copy, one)
  const tests = reach.tests.get(one) ?? []
  const groups = [tests.slice(0, NEAREST), tests.slice(NEAREST)]
  for (let some = groups.shift(); some !== undefined; some = groups.shift()) {
    if (some.length === 0) continue
    const usual = some.reduce((sum, test) => sum + (reach.took.get(test) ?? USUAL_MS), 0)
    const how = { bail: true, workers: WORKERS, limit: LIMIT_MS + 3 * usual }
    const { failed, cutOff } = await withTexts(copy, texts, () => runTests(copy, some, how))
    const [first] = failed
    if (first === undefined && cutOff) return 'the tests hang, or cannot begin'
    if (first === undefined) continue
    if (await passesWithout(copy, first[0], reach)) return first[1]
    groups.unshift(some.filter((test) => test !== first[0]))
  }
  return undefined
}

/** Tries mistakes in several copies at once. */
async function tryDrawn(copies: readonly string[], drawn: readonly Drawn[], reach: Reach): Promise<Drawn[]> {
  const unseen: Drawn[] = []
  const rest = [...drawn.entries()]
  const lane = async (copy: string): Promise<void> => {
    for (let next = rest.shift(); next !== undefined; next = rest.shift()) {
      const [at, one] = next
      const tests = reach.tests.get(one) ?? []
      const seen = one.equivalent === undefined ? await seenWith(copy, one, reach) : 'equivalent'
      if (seen === undefined) unseen.push(one)
      const what = seen === undefined ? `UNSEEN by ${tests.length} test files` : `seen    ${seen}`
      say(`${`${at + 1}/${drawn.length}`.padStart(7)}  ${one.file}:${one.line} ${one.kind}  ${what}`)
      if (seen === undefined) say(`         - ${one.before}\n         + ${one.after}`)
    }
  }
  await Promise.all(copies.map(lane))
  return unseen
}

const folderOf = ({ file }: Drawn): string => file.split('/').slice(0, 2).join('/')

/** @param by the tests that were tried, where others reach the mistakes, too */
function sayByFolder(drawn: readonly Drawn[], unseen: readonly Drawn[], by = ''): void {
  const tried = drawn.filter(({ equivalent }) => equivalent === undefined)
  for (const folder of [...new Set(tried.map(folderOf))].sort()) {
    const all = tried.filter((one) => folderOf(one) === folder).length
    say(`${folder.padEnd(28)} ${unseen.filter((one) => folderOf(one) === folder).length} of ${all} unseen`)
  }
  const equivalent = drawn.length - tried.length
  say(`\n${unseen.length} of ${tried.length} drawn mistakes unseen${by}, ${equivalent} more equivalent`)
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    written: { type: 'boolean', default: false },
    drawn: { type: 'boolean', default: false },
    seed: { type: 'string' },
    count: { type: 'string', default: '300' },
    under: { type: 'string', default: '' },
    near: { type: 'string' },
    lanes: { type: 'string', default: String(availableParallelism()) },
    at: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

async function trySample(copies: readonly string[]): Promise<boolean> {
  const [first = ''] = copies
  const seed =
    values.seed ?? execFileSync('git', ['rev-parse', 'HEAD'], { cwd: ROOT }).toString().slice(0, 12)
  const under = values.under === '' ? '' : ` --under ${values.under}`
  say(`drawn by --seed ${seed} --count ${values.count}${under}`)
  const folders = values.under.split(',')
  const isUnder = ({ file }: Drawn): boolean => folders.some((folder) => file.startsWith(folder))
  const drawn = await draw(first, seed, Number(values.count), isUnder)
  const { near } = values
  const reach =
    near === undefined
      ? await reachOf(first, drawn, 2 * availableParallelism())
      : await nearestOf(drawn, Number(near))
  for (const test of reach.broken) say(`${test} fails without a mistake, and is left out`)
  const unseen = await tryDrawn(copies, drawn, reach)
  const by =
    near === undefined ? '' : ` by the ${near} nearest test files (an upper limit: others were not tried)`
  sayByFolder(drawn, unseen, by)
  const tried = drawn.filter(({ equivalent }) => equivalent === undefined).length
  return unseen.length * 100 <= DRAWN_UNSEEN_AT_MOST * tried
}

async function tryLine(copy: string, place: string): Promise<boolean> {
  const [file, line] = place.split(':')
  const drawn = await draw(copy, place, 1_000, (one) => one.file === file && one.line === Number(line))
  const tests = new Map(drawn.map((one) => [one, positionals]))
  const unseen = await tryDrawn([copy], drawn, { tests, took: new Map(), broken: [] })
  sayByFolder(drawn, unseen)
  return unseen.length === 0
}

async function tryAll(copies: readonly string[]): Promise<boolean> {
  const [first = ''] = copies
  if (values.at !== undefined) return await tryLine(first, values.at)
  const isWritten = values.drawn || (await tryWritten(first, positionals))
  const isDrawn = values.written || positionals.length > 0 || (await trySample(copies))
  return isWritten && isDrawn
}

if (values.help) process.stdout.write(USAGE)
else {
  setPriority(NICE)
  const copies = await Promise.all(Array.from({ length: Number(values.lanes) }, makeCopy))
  try {
    process.exitCode = (await tryAll(copies)) ? 0 : 1
  } finally {
    await Promise.all(copies.map((copy) => rm(copy, { recursive: true, force: true })))
  }
}
