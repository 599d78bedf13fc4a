/** Nothing takes more than twice the work for twice as many rows, columns, names or files: counted, not timed. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { INHERITED, PROJECT } from '../cli/command-line.ts'
import { SCENARIOS, SUPERLINEAR } from './scenarios.ts'

const Counted = z.object({
  name: z.string(),
  functions: z.int(),
  grown: z.array(z.object({ place: z.string(), counts: z.array(z.int()) })),
})

/** Rows that were delivered are looked for in each segment of the ledger. Segments merge, so that there are a few of them at most. */
const IN_SEGMENTS = /^src\/ledger\/(?:sqlite\/delivered|delivered-rows)\.ts /

/** Runs are counted for more than a minute: `npm run growth` counts them, too. */
const isLong = (group: string): boolean => group === 'a run' && process.env['WAYBILL_GROWTH'] !== 'all'

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

describe.each([
  ...Map.groupBy(
    Object.keys(SCENARIOS).filter((name) => !SUPERLINEAR.includes(name)),
    (name) => name.split(':')[0] ?? '',
  ),
])('%s', (group, names) => {
  it.skipIf(isLong(group))(
    'grows by no more than its input',
    async () => {
      const counted = await count(...names)
      expect(counted.map(({ name }) => name)).toEqual(names)
      for (const { name, functions, grown } of counted) {
        expect(functions, name).toBeGreaterThan(0)
        expect(
          grown.filter(({ place }) => !IN_SEGMENTS.test(place)),
          name,
        ).toEqual([])
      }
    },
    300_000,
  )
})

it('what takes four times the work for twice the input is found', async () => {
  const [byBlocks, byElements] = await count(...SUPERLINEAR)
  expect(byBlocks?.grown).toEqual([
    { place: expect.stringContaining('leven/index.js'), counts: expect.anything() },
  ])
  expect(byElements?.grown).toEqual([
    { place: expect.stringContaining('includes at test/growth/scenarios.ts'), counts: expect.anything() },
  ])
}, 60_000)
