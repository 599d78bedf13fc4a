/**
 * A sample of the mistakes that a program can draw from all sources, of src/ and of the packages: by a seed, those alone that the compiler takes, each with the tests
 * that reach it.
 */
import { createHash } from 'node:crypto'
import { chmod, copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'
import { allTests, runProgram, runTests, sourceTexts, type Tested, withTexts } from './copy.ts'
import { edited, type Mistake, mistakesOf } from './kinds.ts'
import { createNearest } from './nearest.ts'
import { probed } from './reach.ts'

export interface Drawn extends Mistake {
  readonly file: string
  /** The line it starts in, from 1. */
  readonly line: number
  readonly before: string
  readonly after: string
  /** Why it changes nothing that anybody could notice. */
  readonly equivalent: string | undefined
}

const Equivalent = z.strictObject({
  file: z.string(),
  before: z.string(),
  after: z.string(),
  why: z.string().min(1),
})

const COMPILE_LIMIT_MS = 300_000
const SUITE_LIMIT_MS = 3_600_000

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim()

/** The lines that a mistake stands in, before and after it is made, each as one line. */
function shown(source: string, mistake: Mistake): { line: number; before: string; after: string } {
  const start = source.lastIndexOf('\n', mistake.start - 1) + 1
  const found = source.indexOf('\n', mistake.end)
  const end = found < 0 ? source.length : found
  const inLines = { ...mistake, start: mistake.start - start, end: mistake.end - start }
  const lines = source.slice(start, end)
  return {
    line: source.slice(0, start).split('\n').length,
    before: oneLine(lines),
    after: oneLine(edited(lines, [inLines])),
  }
}

/**
 * @param wanted the mistakes asked for, by file, line and kind
 * @returns all of them in the order in which a seed draws them
 */
async function inOrderOf(seed: string, wanted: (one: Drawn) => boolean): Promise<Drawn[]> {
  const text = await readFile(join(import.meta.dirname, 'equivalent.yaml'), 'utf8')
  const equivalents = z.array(Equivalent).parse(parse(text))
  const all = [...(await sourceTexts())].flatMap(([file, source]) =>
    mistakesOf(source).map((mistake): Drawn => {
      const { line, before, after } = shown(source, mistake)
      const why = equivalents.find(
        (one) => one.file === file && one.before === before && one.after === after,
      )?.why
      return { ...mistake, file, line, before, after, equivalent: why }
    }),
  )
  const place = (one: Drawn): string =>
    createHash('sha256').update(`${seed} ${one.file} ${one.start} ${one.end} ${one.text}`).digest('hex')
  return all
    .filter(wanted)
    .map((one) => [place(one), one] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, one]) => one)
}

/** The text of a file with a mistake in it. */
export async function textWith(copy: string, { file, ...mistake }: Drawn): Promise<Map<string, string>> {
  return new Map([[file, edited(await readFile(join(copy, file), 'utf8'), [mistake])]])
}

/** The files in which the compiler finds errors; what is left unused, a person would take out. */
async function filesWithErrors(copy: string): Promise<Set<string>> {
  const compiler = join(copy, 'node_modules/typescript/bin/tsc')
  const lenient = [
    '--noUnusedLocals',
    'false',
    '--noUnusedParameters',
    'false',
    '--allowUnreachableCode',
    'true',
  ]
  const how = ['--noEmit', '--pretty', 'false', '--incremental', '--tsBuildInfoFile', join(copy, '.types')]
  const { out } = await runProgram(copy, [compiler, ...how, ...lenient], COMPILE_LIMIT_MS)
  return new Set([...out.matchAll(/^(\S+?)\(\d+,\d+\): error/gm)].map(([, file = '']) => file))
}

/** Takes those that the compiler takes; many are tried at once, each in a file of its own. */
async function compiled(copy: string, mistakes: readonly Drawn[]): Promise<Set<Drawn>> {
  const taken = new Set<Drawn>()
  let rest = mistakes
  while (rest.length > 0) {
    const first = new Map(rest.toReversed().map((one) => [one.file, one]))
    const texts = await Promise.all([...first.values()].map((one) => textWith(copy, one)))
    const wrong = await withTexts(copy, new Map(texts.flatMap((one) => [...one])), () =>
      filesWithErrors(copy),
    )
    for (const one of first.values()) if (!wrong.has(one.file)) taken.add(one)
    rest = rest.filter((one) => first.get(one.file) !== one)
  }
  return taken
}

/** @returns the first `count` mistakes, in the order of the seed, that the compiler takes */
export async function draw(
  copy: string,
  seed: string,
  count: number,
  wanted: (one: Drawn) => boolean,
): Promise<Drawn[]> {
  const all = await inOrderOf(seed, wanted)
  const drawn: Drawn[] = []
  for (let at = 0; at < all.length && drawn.length < count; at += 2 * count) {
    const some = all.slice(at, at + 2 * count)
    const taken = await compiled(copy, some)
    drawn.push(...some.filter((one) => taken.has(one)))
  }
  return drawn.slice(0, count)
}

export interface Reach {
  /** The tests that reach each of the mistakes, the nearest first. */
  readonly tests: ReadonlyMap<Drawn, readonly string[]>
  readonly took: Tested['took']
  /** The test files that fail without any mistake: they see nothing. */
  readonly broken: readonly string[]
}

/** Runs the whole suite once, with probes where the mistakes would stand. */
export async function reachOf(copy: string, drawn: readonly Drawn[], workers: number): Promise<Reach> {
  const notes = join(copy, 'reach')
  await mkdir(notes)
  await writeFile(join(notes, 'reached'), '')
  // Processes of other users note what they reach, too.
  await chmod(join(notes, 'reached'), 0o666)
  // Beside the sources: a test makes a package of these alone.
  const probe = join(copy, 'build/reached.ts')
  await copyFile(join(import.meta.dirname, 'reached.ts'), probe)
  const texts = probed(await sourceTexts(), drawn, (at) => `reachedPlace(${JSON.stringify(notes)}, ${at})`)
  const withImport = [...texts].map(([file, text]) => {
    const path = relative(join(copy, dirname(file)), probe)
    return [file, `import { reached as reachedPlace } from '${path}'; ${text}`] as const
  })
  const config = 'vitest.reach.ts'
  await writeFile(join(copy, 'test/mutants/works-for.ts'), setupText(notes))
  await writeFile(join(copy, config), CONFIG)
  const how = { bail: false, workers, limit: SUITE_LIMIT_MS, config }
  const { failed, took } = await withTexts(copy, new Map(withImport), () => runTests(copy, [], how))
  // Each process notes for itself.
  const noted = new Set((await readFile(join(notes, 'reached'), 'utf8')).trim().split('\n'))
  const known = new Set((await allTests()).filter((file) => !failed.has(file)))
  const tests = new Map(drawn.map((one): [Drawn, string[]] => [one, []]))
  for (const line of noted) {
    const [at = '', test = ''] = line.split(' ')
    const one = drawn[Number(at)]
    if (one !== undefined && known.has(test)) tests.get(one)?.push(test)
  }
  const nearest = createNearest(await allTexts())
  for (const [one, own] of tests) {
    const order = nearest(one)
    // Tests that reach it by processes alone come last.
    const place = (test: string): number => (order.includes(test) ? order.indexOf(test) : order.length)
    own.sort((a, b) => place(a) - place(b))
  }
  return { tests, took, broken: [...failed.keys()] }
}

const allTexts = async (): Promise<Map<string, string>> =>
  new Map([...(await sourceTexts()), ...(await sourceTexts('test'))])

/** The nearest tests of each mistake, by imports alone: no test is run. */
export async function nearestOf(drawn: readonly Drawn[], count: number): Promise<Reach> {
  const nearest = createNearest(await allTexts())
  return {
    tests: new Map(drawn.map((one) => [one, nearest(one).slice(0, count)])),
    took: new Map(),
    broken: [],
  }
}

const CONFIG = `import { mergeConfig } from 'vitest/config'
import config from './vitest.config.ts'
export default mergeConfig(config, { test: { setupFiles: ['test/mutants/works-for.ts'] } })
`

const setupText = (notes: string): string => `import { relative } from 'node:path'
import { expect } from 'vitest'
import { worksFor } from '../../build/reached.ts'
worksFor(${JSON.stringify(notes)}, relative(process.cwd(), expect.getState().testPath ?? ''))
`
