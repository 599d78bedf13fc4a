/**
 * Plays random histories through the core, or of care teams: `npm run drill:model -- [--care-teams] --histories 100000 --seed 1`. `--first` ends at
 * the first wrong history, as drawn.
 */
import { parseArgs } from 'node:util'
import fc from 'fast-check'
import { teamHistories } from './care-team-history.ts'
import { playTeam } from './care-team-play.ts'
import { histories } from './history.ts'
import { type Counts, play } from './play.ts'

const { values } = parseArgs({
  options: {
    histories: { type: 'string', default: '100000' },
    seed: { type: 'string' },
    'care-teams': { type: 'boolean', default: false },
    first: { type: 'boolean', default: false },
  },
})
const totals: Counts = {}
const seed = Number(values.seed ?? Date.now() % 2 ** 31)
process.stdout.write(`--histories ${values.histories} --seed ${seed}\n`)
const add = (counts: Counts): void => {
  for (const [what, count] of Object.entries(counts)) totals[what] = (totals[what] ?? 0) + count
}
const options = { numRuns: Number(values.histories), seed, endOnFailure: values.first }
if (values['care-teams'])
  await fc.assert(
    fc.asyncProperty(teamHistories, async (history) => add(await playTeam(history))),
    options,
  )
else
  fc.assert(
    fc.property(histories, (history) => add(play(history))),
    options,
  )
for (const [what, count] of Object.entries(totals).sort(([a], [b]) => (a < b ? -1 : 1)))
  process.stdout.write(`${String(count).padStart(10)}  ${what}\n`)
