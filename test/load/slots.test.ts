/** Chunks of records, decided by their slots: a gateway that takes all but some values, and what is kept from one export to the next. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type KeptSlot, NO_SUSPICION } from '../../src/ledger/ledger.ts'
import { ChunkDecisions } from '../../src/load/chunk-decisions.ts'
import { ChunkSlots } from '../../src/load/slots.ts'
import type { Entry } from '../../src/model/entry.ts'
import type { RowPrint } from '../../src/model/ids.ts'
import type { EntryOutcome } from '../../src/model/outcome.ts'
import { keptSlot } from '../ledger/kept-slots.ts'
import { placed, SPEAKS } from './loading.ts'
import { biometric, entriesOf, entryOf } from './made-up-entries.ts'

const REASON = { stage: 'submit', code: 'refused', message: '', scrubbed: '' } as const

interface Night {
  readonly entries: readonly Entry[]
  /** Arrival of an export that is read again. */
  readonly again?: number
  /** A further chunk of the export before. */
  readonly isNext?: boolean
  readonly refuses?: (value: string | undefined) => boolean
}

/** @param isCertain false: no row is usual, and each record is decided by itself */
function createMemory(isCertain = true) {
  const delivered = new Map<string, readonly KeptSlot[]>()
  const prints = new Map<string, RowPrint>()
  const stored: (string | undefined)[] = []
  let arrivals = 0
  return {
    delivered,
    prints,
    stored,
    run({ entries, again, isNext = false, refuses = () => false }: Night): readonly EntryOutcome[] {
      if (again === undefined && !isNext) arrivals++
      const arrival = again ?? arrivals
      placed(entries)
      const uncertain = { suspicion: NO_SUSPICION }
      const elsewhere = { content: 'elsewhere', rule: 'elsewhere', isOpen: false, sentUntil: null }
      const held = new Map(isCertain ? [] : entries.map(({ rowKey }) => [rowKey, [elsewhere]] as const))
      const speaks = { ...SPEAKS, arrival, isAgain: again !== undefined }
      const slots = new ChunkSlots({ delivered, held, prints }, entries, speaks, uncertain)
      const decisions = new ChunkDecisions(
        {
          ...{ ...uncertain, held: 'hold', memory: { exports: { withContent: async () => [] } } },
          ...{ reconciler: { readBackAny: async () => new Map() } },
          stale: { has: () => false, judge: async () => false },
        },
        slots,
        entries.length,
      )
      slots.hear(entries, [])
      decisions.begin(entries)
      const twins = decisions.twins(entries)
      for (const entry of decisions.open(entries)) {
        if (twins.has(entry)) continue
        if (refuses(entry.value))
          decisions.outcomes.note([{ entry, outcome: 'rejected', batchId: 'b', reason: REASON }])
        else {
          stored.push(entry.value)
          decisions.outcomes.note([{ entry, outcome: 'accepted', batchId: 'b', status: 201 }])
        }
      }
      decisions.shareFates(twins)
      slots.learnOutcomes(decisions.outcomes.all(), () => false)
      const kept = slots.toKeep().delivered
      // Each row is written once, however many records it has.
      expect(new Set(kept.map(({ rowKey }) => rowKey)).size).toBe(kept.length)
      for (const { rowKey, records, print } of kept) {
        delivered.set(rowKey, records)
        if (print !== undefined) prints.set(rowKey, print)
      }
      return decisions.outcomes.all()
    },
  }
}

const sent = (outcomes: readonly EntryOutcome[]): number =>
  outcomes.filter(({ outcome }) => outcome === 'accepted').length

describe('a chunk', () => {
  const record = fc.record({ rule: fc.nat(3), value: fc.integer({ min: 1, max: 3 }) })
  const rows = fc.array(fc.record({ key: fc.nat(3), records: fc.array(record, { maxLength: 4 }) }), {
    maxLength: 5,
  })
  const nights = fc.array(fc.record({ rows, isAgain: fc.boolean() }), { minLength: 1, maxLength: 5 })
  const entriesOfRows = (of: typeof rows extends fc.Arbitrary<infer Rows> ? Rows : never): Entry[] =>
    of.flatMap(({ key, records }, at) =>
      entriesOf(
        records.map(({ rule, value }) =>
          biometric({
            key: `${key}`,
            person: 'ann',
            rule: `rule-${rule}`,
            code: `c-${rule % 2}`,
            value: String(value),
          }),
        ),
        { row: at + 1, key: `${key}`, person: 'ann' },
      ),
    )

  it('gives each record one outcome, and the same where its row is known as a whole as where each record is decided by itself', () => {
    fc.assert(
      fc.property(nights, (drawn) => {
        const [whole, single] = [createMemory(), createMemory(false)]
        for (const [at, { rows: ofNight, isAgain }] of drawn.entries()) {
          const again = isAgain && at > 0 ? at : undefined
          const refuses = (value: string | undefined): boolean => value === '3' && at % 2 === 0
          const run = (memory: ReturnType<typeof createMemory>) => {
            const night = {
              entries: entriesOfRows(ofNight),
              refuses,
              ...(again === undefined ? {} : { again }),
            }
            const outcomes = memory.run(night)
            expect(outcomes).toHaveLength(night.entries.length)
            return outcomes.map(({ entry, outcome }) => [entry.place, outcome])
          }
          expect(run(whole)).toEqual(run(single))
        }
        expect(whole.stored).toEqual(single.stored)
        expect(new Map([...whole.delivered].sort())).toEqual(new Map([...single.delivered].sort()))
      }),
      { numRuns: 300 },
    )
  })

  it('takes two contents that share half of their hash for two', () => {
    const memory = createMemory()
    const one = entryOf(biometric, { key: 'same', value: '70' })
    memory.run({ entries: [one] })
    const other = Object.assign(entryOf(biometric, { key: 'same', value: '71' }), { first: one.first })
    expect(sent(memory.run({ entries: [other] }))).toBe(1)
    const third = Object.assign(entryOf(biometric, { key: 'same', value: '72' }), {
      first: one.first,
      last: one.last + 1,
    })
    expect(sent(memory.run({ entries: [third] }))).toBe(1)
  })

  it('does not correct what two people have under one key of a mapping', () => {
    const memory = createMemory()
    const both = () =>
      ['ann', 'ben'].map((person, at) => entryOf(biometric, { row: at + 1, key: 'same', person }))
    expect([sent(memory.run({ entries: both() })), sent(memory.run({ entries: both() }))]).toEqual([2, 0])
  })

  it('sends a value once that was corrected, taken back, corrected again in one export', () => {
    const memory = createMemory()
    const values = ['70', '75', '70', '75'].map((value, at) =>
      entryOf(biometric, { row: at + 1, key: 'same', person: 'ann', value }),
    )
    expect(sent(memory.run({ entries: values }))).toBe(1)
    expect(memory.stored).toEqual(['75'])
  })

  it('writes the print of a row that is known without one, once', () => {
    const memory = createMemory()
    const row = () => entriesOf([biometric({ value: '70' }), biometric({ rule: 'pulse', code: '8867-4' })])
    memory.run({ entries: row() })
    memory.prints.clear()
    memory.run({ entries: row() })
    expect(memory.prints.size).toBe(1)
    expect(memory.stored).toHaveLength(2)
  })

  it('writes nothing down of what stands, and one row where one record is new', () => {
    const memory = createMemory()
    const row = (value: string) =>
      entriesOf([biometric({ value: '70' }), biometric({ rule: 'pulse', code: '8867-4', value })])
    memory.run({ entries: row('60') })
    const before = [...memory.delivered.values()][0]
    memory.run({ entries: row('60') })
    expect([...memory.delivered.values()][0]).toBe(before)
    memory.run({ entries: row('61') })
    expect([...memory.delivered.values()][0]).not.toBe(before)
  })
})

describe('the last word of an export', () => {
  interface Line {
    readonly value: number
    readonly rank: number
    readonly issued: number
  }
  const line = fc.record({
    value: fc.integer({ min: 1, max: 3 }),
    rank: fc.oneof({ weight: 4, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: fc.constantFrom(0, 2) }),
    issued: fc.nat(3),
  })
  const nights = fc.array(
    fc.record({
      lines: fc.array(line, { minLength: 1, maxLength: 5 }),
      rowsOfChunk: fc.integer({ min: 1, max: 5 }),
    }),
    { minLength: 1, maxLength: 4 },
  )
  const entryAt = ({ value, rank, issued }: Line, at: number): Entry =>
    Object.assign(entryOf(biometric, { row: at + 1, key: 'k', person: 'ann', value: String(value) }), {
      rank,
      issued,
    })
  const run = (
    memory: ReturnType<typeof createMemory>,
    lines: readonly Line[],
    size: number,
    again?: number,
  ) => {
    const entries = lines.map(entryAt)
    let count = 0
    for (let from = 0; from < entries.length; from += size) {
      const chunk = { entries: entries.slice(from, from + size), isNext: from > 0 }
      count += sent(memory.run(again === undefined ? chunk : { ...chunk, again }))
    }
    return count
  }

  it('goes by state, then by time of issue, then by row, however the export is cut; to read it again sends nothing', () => {
    fc.assert(
      fc.property(nights, (drawn) => {
        const memory = createMemory()
        let wanted: Line | undefined
        for (const [at, { lines, rowsOfChunk }] of drawn.entries()) {
          run(memory, lines, rowsOfChunk)
          const [last] = lines
            .map((one, row) => ({ ...one, row }))
            .sort((a, b) => b.rank - a.rank || b.issued - a.issued || b.row - a.row)
          // A preliminary result replaces none that is final, in whatever export.
          if (wanted === undefined || wanted.rank === 0 || (last?.rank ?? 0) > 0) wanted = last
          expect(memory.stored.at(-1)).toBe(String(wanted?.value))
          expect(run(memory, lines, rowsOfChunk, at + 1)).toBe(0)
        }
      }),
      { numRuns: 1_000 },
    )
  })

  const [older, later] = [
    { value: 1, rank: 1, issued: 1_000 },
    { value: 2, rank: 1, issued: 2_000 },
  ]
  it.each([
    ['one chunk', 2],
    ['two chunks', 1],
  ])('is what was issued later, though it stands above: %s', (_name, size) => {
    const memory = createMemory()
    run(memory, [later, older], size)
    expect(memory.stored).toEqual(['2'])
    run(memory, [later, older], size)
    expect(memory.stored).toEqual(['2'])
    // The next export has the last word, whenever its result was issued.
    run(memory, [older], size)
    expect(memory.stored).toEqual(['2', '1'])
  })

  it('is the correction that stands above its original in an earlier chunk, night after night', () => {
    const memory = createMemory()
    const lines = [
      { value: 2, rank: 2, issued: 0 },
      { value: 1, rank: 1, issued: 0 },
    ]
    for (let night = 0; night < 3; night++) run(memory, lines, 1)
    expect(memory.stored).toEqual(['2'])
  })
})

describe('results of a list that grows, shrinks and is sorted otherwise', () => {
  const DAY_MS = 86_400_000
  /** Of one row: at each instant a value; `hba1c-2` is whatever stands second. */
  const listed = (results: readonly (readonly [day: number, value: string])[]): Entry[] =>
    entriesOf(
      results.map(([day, value], at) => {
        const before = results.slice(0, at).filter(([other]) => other === day).length
        const made = { key: 'ann', rule: `hba1c-${at + 1}`, listedAs: 'hba1c', value, before }
        return biometric({ ...made, observedAt: day * DAY_MS })
      }),
      { key: 'ann' },
    )

  it('are sent once each, whatever each export shows of them', () => {
    const parts = fc.array(fc.shuffledSubarray([0, 1, 2, 3, 4], { minLength: 1 }), {
      minLength: 1,
      maxLength: 8,
    })
    fc.assert(
      fc.property(parts, (shown) => {
        const memory = createMemory()
        for (const days of shown) memory.run({ entries: listed(days.map((day) => [day, `5.${day}`])) })
        expect(memory.stored.toSorted()).toEqual([...new Set(shown.flat())].sort().map((day) => `5.${day}`))
      }),
    )
  })

  it('are corrected at their instant alone, and a correction can be taken back', () => {
    const memory = createMemory()
    const run = (...results: [number, string][]) => sent(memory.run({ entries: listed(results) }))
    expect(run([1, '70'], [2, '80'])).toBe(2)
    expect(run([3, '90'], [2, '80'], [1, '75'])).toBe(2)
    expect(run([1, '70'], [3, '90'])).toBe(1)
    expect(memory.stored).toEqual(['70', '80', '90', '75', '70'])
  })

  it('of one instant are told apart by their order', () => {
    const memory = createMemory()
    const results = () =>
      listed([
        [1, '118'],
        [1, '121'],
        [1, '118'],
      ])
    expect([sent(memory.run({ entries: results() })), sent(memory.run({ entries: results() }))]).toEqual([
      2, 0,
    ])
  })
})

describe('what is counted as corrected', () => {
  const counted = (known: readonly KeptSlot[], entries: readonly Entry[]): number => {
    const delivered = new Map(known.length === 0 ? [] : [[entries[0]?.rowKey ?? '', known]])
    const slots = new ChunkSlots({ delivered, held: new Map() }, placed(entries), SPEAKS, {
      suspicion: NO_SUSPICION,
    })
    slots.hear(entries, [])
    return new Set(entries.filter((entry) => slots.isCorrection(entry)).map(({ row }) => row)).size
  }
  const at = (row: number, value: string) => entryOf(biometric, { row, key: 'same', person: 'ann', value })
  const [first = expect.fail('none'), second, third] = [at(1, '70'), at(2, '75'), at(3, '75')]
  it.each([
    ['rows below the first one of their key', [], [first, second], 1],
    ['not a row that says it once more', [], [first, second, third], 1],
    [
      'a row of a key of which something is stored',
      [keptSlot(first.ruleHash, '0'.repeat(16), { arrival: 0 })],
      [first],
      1,
    ],
    [
      'not where nothing is stored',
      [keptSlot(first.ruleHash, '0'.repeat(16), { arrival: 0, isStored: false })],
      [first],
      0,
    ],
  ] as const)('%s', (_name, known, entries, count) => {
    expect(counted(known, entries as readonly Entry[])).toBe(count)
  })
})
