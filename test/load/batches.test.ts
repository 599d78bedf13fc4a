import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { batchBytes, recordBytes, writeBatch } from '../../src/load/batch-text.ts'
import { planBatches } from '../../src/load/batches.ts'
import type { Entry } from '../../src/model/entry.ts'
import { biometric, careTeam, condition, DAY_MS, entryOf, OBSERVED_AT, people } from './made-up-entries.ts'

type PlannedBatch = ReturnType<typeof planBatches>[number]

const ROOM = Buffer.alloc(1 << 20)
const lengthOf = (held: readonly Entry[]): number => writeBatch(ROOM, held, BATCH_ID).length
const BATCH_ID = `${'f'.repeat(16)}-99999-condition-${'f'.repeat(8)}`

const entries: fc.Arbitrary<Entry[]> = fc
  .array(
    fc.record({
      make: fc.constantFrom(biometric, condition, careTeam),
      person: fc.constantFrom('ann', 'bob', 'cyd', 'dan'),
      code: fc.constantFrom('1', '2'),
      day: fc.integer({ min: 0, max: 3 }),
      name: fc.string({ maxLength: 40 }),
    }),
    { maxLength: 60 },
  )
  .map((rows) =>
    rows.map(({ make, person, code, day, name }, at) =>
      entryOf(make, {
        row: at + 1,
        person,
        code,
        npi: `100000000${code}`,
        observedAt: OBSERVED_AT + day * DAY_MS,
        name,
      }),
    ),
  )
/** Nobody is behind the chunk before, and nothing was sent. */
const ALL = { acrossAccounts: false, behind: new Set<string>(), sent: new Set<Entry>() }
const limits = fc.record({
  records: fc.integer({ min: 1, max: 9 }),
  bytes: fc.integer({ min: 1, max: 5000 }),
})

const law = (
  check: (plan: PlannedBatch[], given: Entry[], limit: { records: number; bytes: number }) => void,
): void =>
  fc.assert(
    fc.property(entries, limits, (given, limit) => check(planBatches(given, limit, ALL), given, limit)),
  )

describe('a plan', () => {
  it('holds every entry exactly once', () => {
    law((plan, given) => {
      const planned = plan.flatMap((batch) => batch.entries)
      expect(planned).toHaveLength(given.length)
      expect(new Set(planned)).toEqual(new Set(given))
    })
  })

  it('keeps to the limits, but for a record that breaks them alone', () => {
    law((plan, _given, { records, bytes }) => {
      for (const batch of plan) {
        expect(batch.entries.length).toBeLessThanOrEqual(records)
        if (batch.entries.length > 1) expect(lengthOf(batch.entries)).toBeLessThanOrEqual(bytes)
      }
    })
  })

  it('has one kind a batch, and for care teams one account', () => {
    law((plan) => {
      for (const { kind, entries: held } of plan) {
        expect(held.every((entry) => entry.kind === kind)).toBe(true)
        if (kind === 'careTeam') expect(new Set(held.map((entry) => entry.account.reference)).size).toBe(1)
      }
    })
  })

  it('never has two of one series in a batch', () => {
    law((plan) => {
      for (const batch of plan)
        expect(new Set(batch.entries.map((entry) => entry.series)).size).toBe(batch.entries.length)
    })
  })

  it('lets the older of a series be settled before the newer is sent', () => {
    law((plan) => {
      const predecessors = (at: number): Set<number> =>
        new Set((plan[at]?.after ?? []).flatMap((one) => [one, ...predecessors(one)]))
      for (const [at, batch] of plan.entries()) {
        expect(batch.after.every((one) => one < at)).toBe(true)
        const settled = predecessors(at)
        for (const entry of batch.entries) {
          for (const [earlier, other] of plan.entries()) {
            if (earlier === at) continue
            const rival = other.entries.find((one) => one.series === entry.series && one.kind === entry.kind)
            if (rival !== undefined && rival.observedAt < entry.observedAt) expect(settled).toContain(earlier)
            // Of equal dates, too, one waits for the other.
            if (rival !== undefined) expect(settled.has(earlier) || predecessors(earlier).has(at)).toBe(true)
          }
        }
      }
    })
  })

  it('is the same for the same entries', () => {
    law((plan, given, limit) => {
      expect(planBatches([...given], { ...limit }, ALL)).toEqual(plan)
    })
  })

  it('has batches of their own for people of the chunk before, each as if they were alone', () => {
    law((_plan, given, limit) => {
      const behind = new Set(['ann', 'bob'])
      const isBehind = ({ account }: Entry): boolean => behind.has(account.reference)
      const batchesOf = (plan: readonly PlannedBatch[]) => new Set(plan.map((one) => one.entries))
      const apart = [true, false].flatMap((is) =>
        planBatches(
          given.filter((entry) => isBehind(entry) === is),
          limit,
          ALL,
        ),
      )
      const cutting = { ...ALL, behind }
      expect(batchesOf(planBatches(given, limit, cutting))).toEqual(batchesOf(apart))
    })
  })

  it('leaves out what was sent, and cuts the rest as before', () => {
    law((plan, given, limit) => {
      const sent = new Set(given.filter((_entry, at) => at % 3 !== 0))
      const rest = plan.map((one) => one.entries.filter((entry) => !sent.has(entry)))
      const cut = planBatches(given, limit, { ...ALL, sent })
      expect(cut.map((one) => one.entries)).toEqual(rest.filter((one) => one.length > 0))
      for (const { entries: held, bytes } of cut) expect(bytes).toBe(batchBytes(held))
    })
  })

  it('fills batches up, in the order of the rows', () => {
    const given = people(7)
    expect(
      planBatches(given, { records: 3, bytes: 1e6 }, ALL).map((batch) =>
        batch.entries.map((entry) => entry.row.row),
      ),
    ).toEqual([[1, 2, 3], [4, 5, 6], [7]])
  })

  it('cuts no batch before the next record would break a limit, and tells the bytes of each', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 30 }), limits, (count, limit) => {
        const plan = planBatches(people(count), limit, ALL)
        for (const [at, batch] of plan.entries()) {
          expect(batch.bytes).toBe(batchBytes(batch.entries))
          const next = plan[at + 1]?.entries[0]
          if (next === undefined) continue
          const more = [...batch.entries, next]
          expect(more.length > limit.records || batchBytes(more) > limit.bytes).toBe(true)
        }
      }),
    )
  })

  it('of nothing is empty', () => {
    expect(planBatches([], { records: 1, bytes: 1 }, ALL)).toEqual([])
  })
})

it('a record is never longer than it is taken to be', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc.stringMatching(/^[a-z0-9-]{1,300}$/),
      (name, rule) => {
        for (const make of [biometric, condition, careTeam]) {
          const entry = entryOf(make, { name, rule, row: 10_000_000 })
          expect(lengthOf([entry])).toBeLessThanOrEqual(recordBytes(entry))
          expect(lengthOf([entry, entry])).toBeLessThanOrEqual(batchBytes([entry, entry]))
        }
      },
    ),
  )
})
