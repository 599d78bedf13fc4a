/** A run that is killed and resumed sends the batches of a run that was not killed: their cut follows from the export and the mapping alone. */
import { expect, test } from 'vitest'
import type { DrawnExport, DrawnRow } from './drawn-exports.ts'
import { LAWS, openWorld, type Way, type World } from './world.ts'

const CHUNK_ROWS = 10

const good = (person: number, day: number, fate?: DrawnRow['fate']): DrawnRow => ({
  ...{ person, day, is: 'good', pulse: 60 + day, a1c: '5.1', hasCondition: true },
  ...{ careTeam: undefined, fate },
})

/** Of people who come once: a later day would hide what is not answered. */
const FATES: Readonly<Record<number, DrawnRow['fate']>> = {
  3: ['heart-rate', 'lost'],
  7: ['hba1c', 'unanswered'],
}

/** Chunks of ten rows: five people of the first are in the second, too, and two of the second in the third. */
const ROWS: DrawnExport = {
  strangers: [],
  rows: [
    ...Array.from({ length: 10 }, (_, at) => good(at, 1, FATES[at])),
    ...Array.from({ length: 10 }, (_, at) => (at % 2 === 0 ? good(at, 2) : good(10 + at, 1))),
    ...Array.from({ length: 6 }, (_, at) => (at < 2 ? good(11 + 2 * at, 2) : good(30 + at, 1))),
  ],
}

async function deliver(rows: DrawnExport = ROWS): Promise<World> {
  const world = await openWorld()
  await world.deliver('day.csv', rows)
  return world
}

/** Batches at the gateway, each with its records. */
async function batchesOf({ store }: World): Promise<string[]> {
  const records = [...(await store.records('biometric')), ...(await store.records('condition'))]
  return records.map(({ source }) => `${source.meta.batchId} ${source.meta.persistentRecordId}`).toSorted()
}

const run = (world: World, stop?: Way['stop']) =>
  world.waybill(['run', 'drawn'], { chunkRows: CHUNK_ROWS, ...(stop === undefined ? {} : { stop }) })

/** Calls of the ledger between two places at which a process is killed: each has a world of its own. */
const STEP = LAWS.rows > 24 ? 1 : 9

test('killed at calls of the ledger all through the run, and resumed', LAWS.timed, async () => {
  const whole = await deliver()
  const { calls } = await run(whole)
  const expected = await batchesOf(whole)
  for (let nth = 4; nth < calls; nth += STEP) {
    const killed = await deliver()
    await run(killed, { at: 'after-call', nth })
    await run(killed)
    expect(await batchesOf(killed), `killed behind call ${nth} of ${calls}`).toEqual(expected)
  }
})
