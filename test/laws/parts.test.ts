/** An export in parts ends as the same export in one: every count, the records at the gateway, rejects and receipts. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { emptySchema } from '../postgres/server.ts'
import { type DrawnExport, drawnExport } from './drawn-exports.ts'
import { type Ending, endingOf } from './ending.ts'
import { LAWS, openWorld, type Way } from './world.ts'

const drawn = drawnExport({ maxRows: LAWS.rows, peopleComeAgain: true, fates: ['refused'] })

async function endOf(rows: DrawnExport, settings: string, way: Way): Promise<Ending> {
  const world = await openWorld(settings, { WAYBILL_LEDGER: await emptySchema() })
  await world.deliver('day.csv', rows)
  const { err } = await world.waybill(['run', 'drawn'], way)
  expect(err).not.toContain('defect')
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
      drawn,
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
