/**
 * A process of its own, whose program is loaded after the counters: for each scenario named, it prints what grows by more than its input does, as
 * a line of JSON.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createWorkCounter, grownBeyond, type Work } from './count-work.ts'

const counter = createWorkCounter()
const { SCENARIOS } = await import('./scenarios.ts')
for (const name of process.argv.slice(2)) {
  const folder = await mkdtemp(join(tmpdir(), 'waybill-growth-'))
  try {
    const scenario = SCENARIOS[name]
    if (scenario === undefined) throw new Error(`there is no scenario ${name}`)
    const counts: Work[] = []
    // The first one loads what is loaded once.
    for (const times of [0.25, 0.5, 1, 2]) {
      const work = await scenario.prepare(Math.round(scenario.n * times), join(folder, String(times)))
      counts.push(await counter.count(work))
    }
    const [, half, once, twice] = counts
    if (half === undefined || once === undefined || twice === undefined) throw new Error('not counted')
    const grown = grownBeyond(half, once, twice)
    process.stdout.write(`${JSON.stringify({ name, grown, functions: twice.executed.size })}\n`)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
