/** However a run is cut into chunks, answered and stopped: it ends as the same run in one piece that nothing befalls. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type DrawnExport, drawnExport } from './drawn-exports.ts'
import { endingOf, endOfFirst } from './ending.ts'
import { LAWS, openWorld, type Way, type World } from './world.ts'

const EXPORT = 'day.csv'

async function worldWith(drawn: DrawnExport): Promise<World> {
  const world = await openWorld()
  await world.deliver(EXPORT, drawn)
  return world
}

async function runOf(drawn: DrawnExport, way: Way = {}): Promise<World> {
  const world = await worldWith(drawn)
  await world.waybill(['run', 'drawn'], way)
  return world
}

// A profile hides what a later day of the person stands before: of what is not answered nobody could tell whether it was stored.
const drawnRows = {
  ofPeopleOnce: drawnExport({
    maxRows: LAWS.rows,
    peopleComeAgain: false,
    fates: ['refused', 'lost', 'unanswered'],
  }),
  ofPeopleWhoComeAgain: drawnExport({ maxRows: LAWS.rows, peopleComeAgain: true, fates: ['refused'] }),
}

test.each(Object.entries(drawnRows))(
  'in many chunks as in one, in whatever order answers come: rows %s',
  LAWS.timed,
  async (_of, drawn) => {
    await fc.assert(
      fc.asyncProperty(drawn, fc.integer({ min: 1, max: 10 }), fc.nat(), async (rows, chunkRows, order) => {
        const [whole, cut] = [await runOf(rows), await runOf(rows, { chunkRows, order })]
        const [wholeEnd, cutEnd] = [await endingOf(whole), await endingOf(cut)]
        // People who are known or refused count once for each chunk (docs/cli.md).
        const accounts = { ...wholeEnd.accounts, known: expect.any(Number), refused: expect.any(Number) }
        expect(cutEnd).toEqual({ ...wholeEnd, accounts })
      }),
      LAWS.check(2),
    )
  },
)

const STOPS = ['before-call', 'after-call', 'before-request', 'after-request'] as const

test('stopped anywhere and resumed as one that was not stopped', LAWS.timed, async () => {
  await fc.assert(
    fc.asyncProperty(
      drawnRows.ofPeopleOnce,
      fc.integer({ min: 2, max: 6 }),
      // Processes that are stopped one after the other, each at a share of what a whole run does.
      fc.array(
        fc.array(fc.tuple(fc.constantFrom(...STOPS), fc.noBias(fc.nat({ max: 999 }))), {
          minLength: 1,
          maxLength: 2,
        }),
        { minLength: 4, maxLength: 4 },
      ),
      async (drawn, chunkRows, histories) => {
        const whole = await worldWith(drawn)
        const { calls, requests } = await whole.waybill(['run', 'drawn'], { chunkRows })
        const wholeEnd = await endOfFirst(whole, chunkRows)
        for (const history of histories) {
          const stopped = await worldWith(drawn)
          for (const [at, share] of history) {
            const nth = 1 + Math.floor((share / 1_000) * (at.endsWith('-call') ? calls : requests))
            await stopped.waybill(['run', 'drawn'], { chunkRows, stop: { at, nth } })
          }
          // Registrations count as they happen, by no more than what was under way (docs/cli.md).
          expect(await endOfFirst(stopped, chunkRows), JSON.stringify(history)).toEqual({
            ...wholeEnd,
            accounts: expect.anything(),
          })
        }
      },
    ),
    LAWS.check(3),
  )
})
