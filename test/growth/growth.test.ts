/** Nothing takes more than twice the work for twice as many rows, columns, names or files: counted, not timed. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, it } from 'vitest'
import { z } from 'zod'
import { INHERITED, PROJECT } from '../cli/command-line.ts'
import { needing } from '../needed.ts'
import { SCENARIOS, SUPERLINEAR } from './scenarios.ts'

const Counted = z.object({
  name: z.string(),
  functions: z.int(),
  grown: z.array(z.object({ place: z.string(), counts: z.array(z.int()) })),
})

/** Rows that were delivered are looked for in each segment of the ledger. Segments merge, so that there are a few of them at most. */
const IN_SEGMENTS = /^src\/ledger\/(?:sqlite\/delivered|delivered-rows)\.ts /

/** In a process of its own: V8 counts within a function only where it was compiled after the counting began. */
async function count(...scenarios: readonly string[]): Promise<z.infer<typeof Counted>[]> {
  // What is optimised may be inlined, and is then not counted.
  const flags = ['--no-opt', '--no-maglev']
  const script = join(import.meta.dirname, 'count-process.ts')
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, script, ...scenarios], {
    cwd: PROJECT,
    env: INHERITED,
    maxBuffer: 64 * 1024 ** 2,
  })
  return stdout
    .trim()
    .split('\n')
    .map((line) => Counted.parse(JSON.parse(line)))
}

const isLong = (name: string): boolean =>
  name.startsWith('a run: ') && process.env['WAYBILL_GROWTH'] !== 'all'
const LONG = Object.keys(SCENARIOS).filter(isLong)
const COUNTED = Object.keys(SCENARIOS).filter((name) => !isLong(name))

/** All in one process: to load the program costs as much as to count a scenario. */
let counts: ReadonlyMap<string, z.infer<typeof Counted>>

beforeAll(async () => {
  const counted = await count(...COUNTED)
  counts = new Map(counted.map((one) => [one.name, one]))
}, 600_000)

it.each(COUNTED.filter((name) => !SUPERLINEAR.includes(name)))(
  '%s: grows by no more than its input',
  (name) => {
    const { functions, grown } = counts.get(name) ?? {}
    expect(functions).toBeGreaterThan(0)
    expect(grown?.filter(({ place }) => !IN_SEGMENTS.test(place))).toEqual([])
  },
)

it.each(LONG)(
  '%s',
  needing(LONG.length === 0, '`npm run growth`: a run is counted for more than a minute'),
  () => {},
)

it('what takes four times the work for twice the input is found', () => {
  const [byBlocks, byElements] = SUPERLINEAR.map((name) => counts.get(name))
  expect(byBlocks?.grown).toEqual([
    { place: expect.stringContaining('leven/index.js'), counts: expect.anything() },
  ])
  expect(byElements?.grown).toEqual([
    { place: expect.stringContaining('includes at test/growth/scenarios.ts'), counts: expect.anything() },
  ])
})
