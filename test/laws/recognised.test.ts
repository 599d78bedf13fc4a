/** Rows that come again are recognised by their prints before their records are made: each run ends as if all records were made. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { type DrawnExport, type DrawnRow, drawnExport } from './drawn-exports.ts'
import { endingOf, shownOf } from './ending.ts'
import { LAWS, openWorld, type World } from './world.ts'

/** What is compared with earlier deliveries must be mapped, but for the same export again. */
const NOT_COMPARED = `drift:
  ${['columns', 'rows', 'empty', 'mix', 'values', 'rejects', 'skipped', 'fit', 'checks'].map((one) => `${one}: off`).join('\n  ')}
`

const withoutPrints = (ledger: Ledger): Ledger => ({
  ...ledger,
  slots: { ...ledger.slots, prints: async () => new Map() },
})

/** Counts the row keys whose slots are read. */
function counting() {
  const read = { keys: 0 }
  const withLedger = (ledger: Ledger): Ledger => ({
    ...ledger,
    slots: {
      ...ledger.slots,
      delivered(jobId, rowKeys) {
        read.keys += rowKeys.length
        return ledger.slots.delivered(jobId, rowKeys)
      },
    },
  })
  return { read, withLedger }
}

/** A night changes, repeats, leaves out or moves rows of the night before, by shares in a thousand. */
interface Night {
  readonly edits: readonly (readonly [
    what: 'change' | 'repeat' | 'leave-out' | 'move',
    share: number,
    pulse: number,
  ])[]
  readonly isNewName: boolean
  readonly chunkRows: number
  readonly heals: boolean
  readonly forgets: boolean
}

const night: fc.Arbitrary<Night> = fc.record({
  edits: fc.array(
    fc.tuple(
      fc.constantFrom('change' as const, 'repeat' as const, 'leave-out' as const, 'move' as const),
      fc.noBias(fc.nat({ max: 999 })),
      fc.integer({ min: 50, max: 99 }),
    ),
    { maxLength: 4 },
  ),
  isNewName: fc.boolean(),
  chunkRows: fc.integer({ min: 1, max: 12 }),
  heals: fc.boolean(),
  forgets: fc.boolean(),
})

function edited(rows: readonly DrawnRow[], { edits }: Night): readonly DrawnRow[] {
  const now = [...rows]
  for (const [what, share, pulse] of edits) {
    const at = Math.floor((share / 1_000) * now.length)
    const row = now[at]
    if (row === undefined) continue
    if (what === 'change') now[at] = { ...row, pulse }
    else if (what === 'repeat') now.push({ ...row, pulse: pulse % 2 === 0 ? row.pulse : pulse })
    else {
      now.splice(at, 1)
      if (what === 'move' || now.length === 0) now.push(row)
    }
  }
  return now
}

/** Waits for the gateway move the clock: instants are left out. */
async function endOf(world: World): Promise<string> {
  const { exports } = await shownOf(world)
  const { accounts: _counted, ...ending } = await endingOf(world)
  const corrected = JSON.stringify(exports).match(/"corrected":\d+/g)
  return JSON.stringify({ ...ending, corrected }, null, 1).replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'INSTANT')
}

/** Forgets the accounts of a third of the people. */
async function forgetFirst({ folder, waybill }: World, rows: readonly DrawnRow[]): Promise<void> {
  const file = join(folder, 'people.csv')
  const people = new Set(rows.flatMap(({ person }) => (person % 3 === 0 ? [`p${person}`] : [])))
  await writeFile(file, ['partnerAccountId', ...people, ''].join('\n'))
  await waybill(['accounts', 'forget', '--file', file])
}

/** Most rows are of a person of their own, and have what prints are made for. */
const recognisable = ({ rows, ...drawn }: DrawnExport): DrawnExport => ({
  ...drawn,
  rows: rows.map((row, at) => ({
    ...row,
    person: at % 5 === 0 ? row.person : 50 + at,
    careTeam: at % 4 === 0 ? row.careTeam : undefined,
    is: at % 6 === 1 ? 'no-pulse' : row.is,
  })),
})

async function play(drawn: DrawnExport, nights: readonly Night[], withLedger: (ledger: Ledger) => Ledger) {
  const world = await openWorld(NOT_COMPARED)
  const ends: string[] = []
  let { rows } = drawn
  let name = 'night.csv'
  for (const [at, one] of nights.entries()) {
    if (at > 0) rows = edited(rows, one)
    if (one.isNewName) name = `night-${at}.csv`
    await world.deliver(name, { ...drawn, rows })
    if (one.heals) world.heal()
    if (one.forgets) await forgetFirst(world, rows)
    const { code } = await world.waybill(['run', 'drawn'], { chunkRows: one.chunkRows, withLedger })
    ends.push(`${code} ${await endOf(world)}`)
  }
  return ends
}

test('each night ends as if all records were made', LAWS.timed, async () => {
  const fates = ['refused', 'lost', 'unanswered'] as const
  const drawn = drawnExport({ maxRows: LAWS.rows, peopleComeAgain: true, fates }).map(recognisable)
  await fc.assert(
    fc.asyncProperty(drawn, fc.array(night, { minLength: 2, maxLength: 4 }), async (rows, nights) => {
      const made = await play(rows, nights, withoutPrints)
      expect(await play(rows, nights, (ledger) => ledger)).toEqual(made)
    }),
    LAWS.check(3),
  )
})

const ROW: DrawnRow = {
  ...{ person: 1, day: 1, is: 'good', pulse: 70, a1c: '5.1', hasCondition: true, careTeam: undefined },
  fate: undefined,
}

test('rows that come again are read by their prints alone', LAWS.timed, async () => {
  const world = await openWorld()
  const rows = Array.from({ length: 9 }, (_, person) => ({ ...ROW, person }))
  const deliver = (all: readonly DrawnRow[]) => world.deliver('day.csv', { rows: all, strangers: [] })
  const keysRead = async (): Promise<number> => {
    const { read, withLedger } = counting()
    const { code } = await world.waybill(['run', 'drawn'], { withLedger, chunkRows: 4 })
    expect(code).toBe(0)
    return read.keys
  }
  await deliver(rows)
  expect(await keysRead()).toBe(9)
  expect(await keysRead()).toBe(0)
  // Another export is compared with the first: all its values count.
  await deliver(rows.map((one) => (one.person === 4 ? { ...one, pulse: 71 } : one)))
  expect(await keysRead()).toBe(9)
  expect(await keysRead()).toBe(1)
  expect(await keysRead()).toBe(0)
})
