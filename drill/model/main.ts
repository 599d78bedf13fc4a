/**
 * Plays random histories through the core, or of care teams: `npm run drill:model -- [--care-teams] --histories 100000 --seed 1`. Names each wrong
 * history; `--history N` plays the one of that number alone, and shrinks it; `--first` ends at the first wrong one.
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
    history: { type: 'string' },
    'care-teams': { type: 'boolean', default: false },
    first: { type: 'boolean', default: false },
  },
})
const { history: one, first } = values
const seed = Number(values.seed ?? Date.now() % 2 ** 31)
const totals: Counts = {}
const wrong: string[] = []
let played = 0
process.stdout.write(`--histories ${values.histories} --seed ${seed}\n`)

const add = (counts: Counts): void => {
  for (const [what, count] of Object.entries(counts)) totals[what] = (totals[what] ?? 0) + count
}
const alone = one === undefined ? {} : { path: String(Number(one) - 1), numRuns: 1 }
const options = { numRuns: Number(values.histories), seed, endOnFailure: first, ...alone }

function playAll<Drawn>(drawn: fc.Arbitrary<Drawn>, play: (history: Drawn) => Counts | Promise<Counts>) {
  const judge = async (history: Drawn): Promise<void> => {
    played++
    try {
      add(await play(history))
    } catch (error) {
      if (one !== undefined || first) throw error
      wrong.push(`wrong: --history ${played}: ${String(error)}\n`)
    }
  }
  return fc.assert(fc.asyncProperty(drawn, judge), options)
}

await (values['care-teams'] ? playAll(teamHistories, playTeam) : playAll(histories, play))
for (const [what, count] of Object.entries(totals).sort(([a], [b]) => (a < b ? -1 : 1)))
  process.stdout.write(`${String(count).padStart(10)}  ${what}\n`)
for (const line of wrong) process.stdout.write(line)
if (wrong.length > 0) process.exitCode = 1
