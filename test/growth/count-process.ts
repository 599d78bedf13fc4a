/**
 * A process of its own, whose program is loaded after the counters: for each scenario named, it prints what grows by more than its input does, as
 * a line of JSON.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createWorkCounter, grownBeyond, type Work } from './count-work.ts'

const counter = createWorkCounter()
/** Kinds of scenarios whose code is loaded. */
const loaded = new Set<string>()
const { SCENARIOS } = await import('./scenarios.ts')
for (const name of process.argv.slice(2)) {
  const folder = await mkdtemp(join(tmpdir(), 'waybill-growth-'))
  try {
    const scenario = SCENARIOS[name]
    if (scenario === undefined) throw new Error(`there is no scenario ${name}`)
    const counted = async (times: number): Promise<Work> => {
      const work = await scenario.prepare(Math.round(scenario.n * times), join(folder, String(times)))
      return counter.count(work)
    }
    // The first of a kind loads what is loaded once.
    const [kind = ''] = name.split(':')
    if (!loaded.has(kind)) await counted(0.25)
    loaded.add(kind)
    const [half, once, twice] = [await counted(0.5), await counted(1), await counted(2)]
    const grown = grownBeyond(half, once, twice)
    process.stdout.write(`${JSON.stringify({ name, grown, functions: twice.executed.size })}\n`)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
