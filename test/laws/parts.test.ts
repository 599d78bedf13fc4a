/** An export in parts ends as the same export in one: every count, the records at the gateway, rejects and receipts. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { emptySchema } from '../postgres/server.ts'
import { type DrawnExport, drawnExport } from './drawn-exports.ts'
import { type Ending, endingOf, endOfFirst } from './ending.ts'
import { LAWS, openWorld, type Way, type World } from './world.ts'

const ofPeopleWhoComeAgain = drawnExport({ maxRows: LAWS.rows, peopleComeAgain: true, fates: ['refused'] })
// A profile hides what a later day of the person stands before: of what is not answered nobody could tell whether it was stored.
const ofPeopleOnce = drawnExport({
  maxRows: LAWS.rows,
  peopleComeAgain: false,
  fates: ['refused', 'lost', 'unanswered'],
})

async function worldWith(rows: DrawnExport, settings: string): Promise<World> {
  const world = await openWorld(settings, { WAYBILL_LEDGER: await emptySchema() })
  await world.deliver('day.csv', rows)
  return world
}

async function endOf(rows: DrawnExport, settings: string, way: Way): Promise<Ending> {
  const world = await worldWith(rows, settings)
  await world.waybill(['run', 'drawn'], way)
  return endingOf(world)
}

/** Lines of the files, whose order is up to the parts. */
const withSortedRejects = ({ rejects, ...ending }: Ending) => ({
  ...ending,
  rejects: Object.entries(rejects).map(([name, text]) => [name, text.split('\n').sort()]),
})

test('in parts as in one', LAWS.timed, async () => {
  await fc.assert(
    fc.asyncProperty(
      ofPeopleWhoComeAgain,
      fc.integer({ min: 2, max: 5 }),
      fc.integer({ min: 1, max: 10 }),
      async (rows, parts, chunkRows) => {
        const whole = withSortedRejects(await endOf(rows, '', {}))
        const divided = withSortedRejects(await endOf(rows, `parts: ${parts}\n`, { chunkRows }))
        // People who are known or refused count once for each chunk (docs/cli.md).
        const accounts = { ...whole.accounts, known: expect.any(Number), refused: expect.any(Number) }
        expect(divided).toEqual({ ...whole, accounts })
      },
    ),
    LAWS.check(3),
  )
})

/** Batches at the gateway, each with its records. */
async function batchesOf({ store }: World): Promise<readonly string[]> {
  const records = [...(await store.records('biometric')), ...(await store.records('condition'))]
  return records.map(({ source: { meta } }) => `${meta.batchId} ${meta.persistentRecordId}`).sort()
}

test(
  'in equal parts, the gateway gets equal batches, in whatever order the answers come',
  LAWS.timed,
  async () => {
    await fc.assert(
      fc.asyncProperty(
        ofPeopleWhoComeAgain,
        fc.integer({ min: 2, max: 4 }),
        fc.integer({ min: 2, max: 6 }),
        async (rows, parts, chunkRows) => {
          const [first, second] = await Promise.all([1, 2].map(() => worldWith(rows, `parts: ${parts}\n`)))
          if (first === undefined || second === undefined) throw new Error('two worlds were made')
          await first.waybill(['run', 'drawn'], { chunkRows, order: 1 })
          await second.waybill(['run', 'drawn'], { chunkRows, order: 2 })
          const batches = await batchesOf(first)
          expect(batches.length).toBeGreaterThan(0)
          expect(await batchesOf(second)).toEqual(batches)
        },
      ),
      LAWS.check(2),
    )
  },
)

const STOPS = ['before-call', 'after-call', 'before-request', 'after-request'] as const

test('in parts, stopped anywhere and resumed, as in one that was not stopped', LAWS.timed, async () => {
  await fc.assert(
    fc.asyncProperty(
      ofPeopleOnce,
      fc.integer({ min: 2, max: 4 }),
      fc.integer({ min: 2, max: 6 }),
      fc.array(fc.tuple(fc.constantFrom(...STOPS), fc.noBias(fc.nat({ max: 999 }))), {
        minLength: 6,
        maxLength: 6,
      }),
      async (rows, parts, chunkRows, stops) => {
        const settings = `parts: ${parts}\n`
        const whole = await worldWith(rows, settings)
        const { calls, requests } = await whole.waybill(['run', 'drawn'], { chunkRows })
        const wholeEnd = withSortedRejects(await endOf(rows, '', { chunkRows }))
        for (const [at, share] of stops) {
          const stopped = await worldWith(rows, settings)
          const nth = 1 + Math.floor((share / 1_000) * (at.endsWith('-call') ? calls : requests))
          await stopped.waybill(['run', 'drawn'], { chunkRows, stop: { at, nth } })
          const end = withSortedRejects(await endOfFirst(stopped, chunkRows))
          // Registrations count as they happen, by no more than what was under way (docs/cli.md).
          expect(end, `${at} ${nth}`).toEqual({ ...wholeEnd, accounts: expect.anything() })
        }
      },
    ),
    LAWS.check(1),
  )
})
