/** Plays random histories through the core: `npm run drill:model -- --histories 100000 --seed 1`. */
import { parseArgs } from 'node:util'
import fc from 'fast-check'
import { histories } from './history.ts'
import { type Counts, play } from './play.ts'

const { values } = parseArgs({
  options: { histories: { type: 'string', default: '100000' }, seed: { type: 'string' } },
})
const totals: Counts = {}
const seed = Number(values.seed ?? Date.now() % 2 ** 31)
process.stdout.write(`--histories ${values.histories} --seed ${seed}\n`)
fc.assert(
  fc.property(histories, (history) => {
    for (const [what, count] of Object.entries(play(history))) totals[what] = (totals[what] ?? 0) + count
  }),
  { numRuns: Number(values.histories), seed },
)
for (const [what, count] of Object.entries(totals).sort(([a], [b]) => (a < b ? -1 : 1)))
  process.stdout.write(`${String(count).padStart(10)}  ${what}\n`)
