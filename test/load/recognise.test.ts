import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { DeliveredRecord } from '../../src/ledger/ledger.ts'
import { disputed, fateOfRestated, isOutdated, type Memory, recognise } from '../../src/load/recognise.ts'
import type { Entry } from '../../src/model/entry.ts'
import { hasSameContent, wordsOf } from '../../src/model/ids.ts'
import type { EntryOutcome } from '../../src/model/outcome.ts'
import { newlyDelivered } from '../../src/run/settlement.ts'
import { biometric, entriesOf, entryOf } from './made-up-entries.ts'

const nothing: Memory = { delivered: new Map(), held: new Map() }
const remember = (...entries: Entry[]): Memory['delivered'] => {
  const records = ({ ruleHash: rule, first, last }: Entry): DeliveredRecord => ({
    rule,
    ...{ first, last },
    arrival: 1,
    byBackfill: false,
    isContested: false,
  })
  const byKey = Map.groupBy(entries, ({ rowKey }) => rowKey)
  return new Map([...byKey].map(([rowKey, ofKey]) => [rowKey, ofKey.map(records)]))
}
const holding = (...entries: Entry[]): Memory['held'] =>
  new Map(
    entries.map(({ rowKey, content, ruleHash: rule }) => [
      rowKey,
      new Map([[content, { rule, arrival: 2, byBackfill: false }]]),
    ]),
  )
/** By an export behind all others. */
const NEWEST = { arrival: 3 }
const make = (row: number, key: string, value: string, rule = 'pulse'): Entry =>
  entryOf(biometric, { row, key, value, rule, person: 'ann' })

const isLastWord = (entry: Entry, entries: readonly Entry[]): boolean =>
  entries
    .slice(entries.indexOf(entry))
    .every(
      ({ rowKey, ruleHash, content }) =>
        rowKey !== entry.rowKey || ruleHash !== entry.ruleHash || content === entry.content,
    )

/** What a gateway has that takes all but some values, and a ledger beside it. */
function createModel(refuses: (value: string | undefined) => boolean = () => false) {
  let arrivals = 0
  let delivered = new Map<string, readonly DeliveredRecord[]>()
  const shown = new Map<string, string | undefined>()
  const stored: (string | undefined)[] = []
  /** By arrival, what its last reading did not get through. */
  const left = new Map<number, ReadonlySet<string>>()
  /** @param again arrival of an export that is read again; without it, it is new. @returns how many were sent */
  const run = async (entries: readonly Entry[], again?: number): Promise<number> => {
    const arrival = again ?? ++arrivals
    const speaks = { arrival, isBackfill: false, isAgain: again !== undefined }
    const wasDelivered = ({ rowKey, content }: Entry) =>
      delivered.get(rowKey)?.some((one) => hasSameContent(one, wordsOf(content))) === true
    const isNews = (entry: Entry) =>
      !wasDelivered(entry) || again === undefined || left.get(again)?.has(positionOf(entry)) === true
    const lastWords = new Set(
      disputed(entries, { delivered, held: new Map() }, speaks).filter(
        (entry) => isNews(entry) && isLastWord(entry, entries),
      ),
    )
    const { fresh, restated } = recognise(
      entries,
      { delivered, held: new Map() },
      { arrival, news: lastWords },
    )
    const outcomes = new Map<Entry, EntryOutcome>()
    const reason = { stage: 'submit' as const, code: 'refused', message: '', scrubbed: '' }
    let sent = 0
    for (const entry of entries) {
      const restating = restated.find((one) => one.entry === entry)
      const isSent = restating && fateOfRestated(restating, (one) => outcomes.get(one)?.outcome) === 'send'
      if (!fresh.includes(entry) && isSent !== true) {
        outcomes.set(entry, { entry, outcome: 'unchanged' })
        continue
      }
      if (isOutdated(entry, delivered, speaks, lastWords)) {
        outcomes.set(entry, { entry, outcome: 'unchanged', passedOver: 'outdated' })
        continue
      }
      const { value } = entry.evidence
      sent += 1
      if (refuses(value)) outcomes.set(entry, { entry, outcome: 'rejected', batchId: '', reason })
      else {
        outcomes.set(entry, { entry, outcome: 'accepted', batchId: '', status: 201 })
        shown.set(entry.rowKey, value)
        stored.push(value)
      }
    }
    const said = { arrival, byBackfill: false }
    const now = newlyDelivered({ delivered, held: new Map() }, [...outcomes.values()], said)
    delivered = new Map([...delivered, ...now.map(({ rowKey, records }) => [rowKey, records] as const)])
    const rejected = [...outcomes.values()].filter(({ outcome }) => outcome === 'rejected')
    left.set(arrival, new Set(rejected.map(({ entry }) => positionOf(entry))))
    return sent
  }
  return { run, shown, stored }
}

const positionOf = ({ row, content }: Entry): string => `${row.row} ${content}`

describe('recognise', () => {
  it('puts every entry into exactly one place, and a twin behind its first', () => {
    const rows = fc.array(
      fc.record({ key: fc.constantFrom('a', 'b', 'c'), value: fc.constantFrom('1', '2', '3') }),
      { maxLength: 30 },
    )
    const some = fc.subarray([0, 1, 2, 3, 4, 5])
    fc.assert(
      fc.property(rows, some, some, (made, before, doubted) => {
        const entries = made.map(({ key, value }, at) => make(at + 1, key, value))
        const pick = (positions: number[]) => positions.flatMap((at) => entries[at] ?? [])
        const memory = { delivered: remember(...pick(before)), held: holding(...pick(doubted)) }
        const { fresh, unchanged, unclear, held, twins, restated } = recognise(entries, memory, NEWEST)
        const later = [...twins, ...restated].map(({ entry }) => entry)
        const placed = [...fresh, ...unchanged, ...unclear, ...held, ...later]
        expect(placed).toHaveLength(entries.length)
        expect(new Set(placed)).toEqual(new Set(entries))
        for (const { entry, first } of twins) {
          expect(placed.indexOf(first)).toBeGreaterThanOrEqual(0)
          expect([entry.rowKey, entry.content]).toEqual([first.rowKey, first.content])
        }
        const identities = fresh.map((entry) => `${entry.rowKey} ${entry.content}`)
        expect(new Set(identities).size).toBe(identities.length)
      }),
    )
  })

  it('takes two contents that share half of their hash for two', () => {
    const hashed = (first: number, last: number) => Object.assign(make(1, 'a', '1'), { first, last })
    const memory = { ...nothing, delivered: remember(hashed(1, 2)) }
    expect(recognise([hashed(1, 2)], memory, NEWEST).unchanged).toHaveLength(1)
    for (const other of [hashed(1, 3), hashed(3, 2)])
      expect(recognise([other], memory, NEWEST).fresh).toHaveLength(1)
  })

  it('does not send what was delivered, nor what is in doubt', () => {
    const [old, doubtful, other] = [make(1, 'a', '1'), make(2, 'b', '1'), make(3, 'c', '1')]
    const memory = { delivered: remember(old), held: holding(doubtful) }
    const recognised = recognise([old, doubtful, other], memory, NEWEST)
    expect(recognised).toMatchObject({ unchanged: [old], held: [doubtful], fresh: [other], twins: [] })
  })

  it.each([
    ['behind the doubt', { arrival: 3 }, 'unclear'],
    ['that brought the doubt', { arrival: 2 }, 'unclear'],
    ['before the doubt', { arrival: 1 }, 'unchanged'],
    ['that is run again, to look for what is in doubt', { arrival: 3, doubts: 'look' as const }, 'unclear'],
    ['that is sent again, whatever is in doubt', { arrival: 3, doubts: 'resend' as const }, 'fresh'],
  ])('does not know what stands where something else is in doubt: for an export %s', (_, how, expected) => {
    const [stands, doubtful, other] = [make(1, 'a', '70'), make(1, 'a', '75'), make(1, 'a', '5', 'weight')]
    const memory = { delivered: remember(stands, other), held: holding(doubtful) }
    const recognised = recognise([stands, other], memory, how)
    expect(recognised).toMatchObject(
      expected === 'unchanged'
        ? { unchanged: [stands, other] }
        : { unchanged: [other], [expected]: [stands] },
    )
  })

  it('takes the same record under another row key for another', () => {
    const entries = [make(1, 'a', '1'), make(2, 'b', '1')]
    const delivered = new Map([['0'.repeat(32), [...remember(...entries).values()].flat()]])
    expect(recognise(entries, { ...nothing, delivered }, NEWEST).fresh).toEqual(entries)
  })

  it('knows a record whose rule has another name by now', () => {
    const delivered = remember(make(1, 'a', '1', 'pulse'))
    expect(recognise([make(1, 'a', '1', 'heart-rate')], { ...nothing, delivered }, NEWEST).fresh).toEqual([])
  })

  it('counts rows corrected: another content under a known key, once a row', () => {
    const first = make(1, 'a', '1')
    expect(recognise([first, make(2, 'a', '2'), make(3, 'b', '3')], nothing, NEWEST).rowsCorrected).toBe(1)
    expect(
      recognise([make(2, 'a', '2')], { ...nothing, delivered: remember(first) }, NEWEST).rowsCorrected,
    ).toBe(1)
    expect(recognise([first, make(2, 'a', '1')], nothing, NEWEST).rowsCorrected).toBe(0)
  })
})

describe('what an export had corrected itself, once a later export has replaced that', () => {
  const [refused, corrected, later] = [make(1, 'a', '77'), make(2, 'a', '95'), make(1, 'a', '54')]
  const records = [corrected, later].map(({ ruleHash: rule, first, last }, at) => ({
    ...{ rule, first, last, arrival: at + 1, byBackfill: false, isContested: false },
  }))
  const delivered = new Map([[refused.rowKey, records]])
  it.each([
    ['a backfill', true, 1, [], true],
    ['a backfill, as its last word', true, 1, [refused], false],
    ['a run', false, 1, [refused], true],
    ['a backfill of another export', true, 3, [], false],
  ] as const)('is outdated or not, read again by %s', (_who, isBackfill, arrival, last, expected) => {
    const speaks = { arrival, isBackfill, isAgain: true }
    expect(isOutdated(refused, delivered, speaks, new Set(last))).toBe(expected)
  })
})

describe('a record whose place another content has taken', () => {
  const [entry, stands] = [make(1, 'a', '70'), make(1, 'a', '75')]
  const speaksAs = (arrival: number, isBackfill: boolean) => ({ arrival, isBackfill, isAgain: false })
  /** Arrivals of the content that stands, and of the export that is read. */
  const ARRIVALS = [
    [2, 1],
    [2, 2],
    [2, 3],
  ] as const
  const CASES = ARRIVALS.flatMap(([stood, arrival]) =>
    [false, true].flatMap((byBackfill) =>
      [false, true].map((isBackfill) => ({ stood, arrival, byBackfill, isBackfill })),
    ),
  )
  // The arrival of a backfill tells nothing of how new it is, be it the one that is read or the one that was.
  it.each(CASES)('is outdated by a later export, and by no backfill: %j', (one) => {
    const { stood, arrival, byBackfill, isBackfill } = one
    const { ruleHash: rule, first, last } = stands
    const standing = { rule, first, last, arrival: stood, byBackfill, isContested: false }
    const delivered = new Map([[entry.rowKey, [standing]]])
    expect(isOutdated(entry, delivered, speaksAs(arrival, isBackfill), new Set())).toBe(
      !byBackfill && !isBackfill && arrival === 1,
    )
    // The same content, another rule, and a row key that is new are in nobody's place.
    for (const other of [stands, make(1, 'a', '70', 'weight'), make(1, 'b', '70')])
      expect(isOutdated(other, delivered, speaksAs(1, false), new Set())).toBe(false)
  })
})

describe('a correction that is taken back', () => {
  it('is sent by a new export, and not by one that is read again', async () => {
    const { run, shown } = createModel()
    const nights = ['70', '75', '70'].map((value) => [make(1, 'a', value)])
    const sent: number[] = []
    for (const night of nights) sent.push(await run(night))
    expect([sent, [...shown.values()]]).toEqual([[1, 1, 1], ['70']])
    for (const [at, night] of nights.entries()) expect(await run(night, at + 1)).toBe(0)
    expect([...shown.values()]).toEqual(['70'])
  })

  it('shows what the newest export says last, and sends nothing when any is read again', async () => {
    const values = fc.constantFrom('70', '75', '80', 'refused')
    const rows = fc.array(fc.tuple(fc.constantFrom('a', 'b'), values), { minLength: 1, maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(fc.array(rows, { minLength: 1, maxLength: 5 }), async (nights) => {
        const { run, shown } = createModel((value) => value === 'refused')
        const read: Entry[][] = []
        for (const night of nights) {
          const entries = night.map(([key, value], at) => make(at + 1, key, value))
          read.push(entries)
          await run(entries)
          for (const [rowKey, ofKey] of Map.groupBy(entries, (entry) => entry.rowKey)) {
            const taken = ofKey.filter((entry) => entry.evidence.value !== 'refused').at(-1)
            if (taken !== undefined && ofKey.at(-1) === taken)
              expect(shown.get(rowKey)).toBe(taken.evidence.value)
          }
          const before = [...shown]
          const refused = entries.filter((entry) => entry.evidence.value === 'refused')
          expect(await run(entries, read.length)).toBeLessThanOrEqual(refused.length)
          expect([...shown]).toEqual(before)
        }
      }),
    )
  })

  it('stands in the end, whatever the gateway refused on the way, and is sent no oftener than it came back', async () => {
    const values = fc.constantFrom('70', '75', '80')
    const night = fc.record({
      says: fc.array(values, { minLength: 1, maxLength: 3 }),
      taken: fc.subarray(['70', '75', '80']),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(night, { minLength: 1, maxLength: 5 }), async (nights) => {
        let taken: readonly string[] = []
        const { run, shown, stored } = createModel((value) => value !== undefined && !taken.includes(value))
        const exports: Entry[][] = []
        const readAgain = async () => {
          for (const [at, entries] of exports.entries()) await run(entries, at + 1)
        }
        for (const night of nights) {
          taken = night.taken
          // Each is read again before the one that is new.
          await readAgain()
          const newest = night.says.map((value, at) => make(at + 1, 'a', value))
          await run(newest)
          exports.push(newest)
        }
        taken = ['70', '75', '80']
        await readAgain()
        await readAgain()
        const told = nights.flatMap(({ says }) => says)
        expect([...shown.values()]).toEqual(told.slice(-1))
        for (const value of taken) {
          const comebacks = told.filter((one, at) => one === value && told[at - 1] !== value)
          expect(stored.filter((one) => one === value).length).toBeLessThanOrEqual(comebacks.length)
        }
      }),
      { numRuns: 500 },
    )
  })
})

describe('results of a list that grows, shrinks and is sorted otherwise', () => {
  const LATER = 86_400_000
  /** Of one row: at each instant a value; `hba1c-2` is whatever stands second. */
  const listed = (results: readonly (readonly [number, string])[]): Entry[] =>
    entriesOf(
      results.map(([day, value], at) => {
        const before = results.slice(0, at).filter(([other]) => other === day).length
        const observedAt = day * LATER
        return biometric({
          key: 'ann',
          rule: `hba1c-${at + 1}`,
          listedAs: 'hba1c',
          value,
          observedAt,
          before,
        })
      }),
      { key: 'ann' },
    )

  it('are sent once each, whatever each export shows of them', async () => {
    const shownParts = fc.array(fc.shuffledSubarray([0, 1, 2, 3, 4], { minLength: 1 }), {
      minLength: 1,
      maxLength: 8,
    })
    await fc.assert(
      fc.asyncProperty(shownParts, async (parts) => {
        const model = createModel()
        for (const days of parts) await model.run(listed(days.map((day) => [day, `5.${day}`])))
        expect(model.stored.toSorted()).toEqual([...new Set(parts.flat())].sort().map((day) => `5.${day}`))
      }),
    )
  })

  it('are corrected at their instant alone, and a correction can be taken back', async () => {
    const model = createModel()
    const run = (...results: [number, string][]) => model.run(listed(results))
    expect(await run([1, '70'], [2, '80'])).toBe(2)
    expect(await run([3, '90'], [2, '80'], [1, '75'])).toBe(2)
    expect(await run([1, '70'], [3, '90'])).toBe(1)
    expect(model.stored).toEqual(['70', '80', '90', '75', '70'])
  })

  it('of one instant are told apart by their order', async () => {
    const model = createModel()
    expect(
      await model.run(
        listed([
          [1, '118'],
          [1, '121'],
          [1, '118'],
        ]),
      ),
    ).toBe(2)
    expect(
      await model.run(
        listed([
          [1, '118'],
          [1, '121'],
          [1, '118'],
        ]),
      ),
    ).toBe(0)
  })
})

describe('what is delivered', () => {
  it.each([
    ['as it says', { arrival: 2, byBackfill: false }, undefined, { arrival: 2, byBackfill: false }],
    [
      'a later one that has said it again',
      { arrival: 2, byBackfill: false },
      { arrival: 5, byBackfill: false },
      { arrival: 5, byBackfill: false },
    ],
    [
      'an earlier one',
      { arrival: 5, byBackfill: false },
      { arrival: 2, byBackfill: false },
      { arrival: 5, byBackfill: false },
    ],
    [
      'one that was no backfill',
      { arrival: 5, byBackfill: true },
      { arrival: 2, byBackfill: false },
      { arrival: 2, byBackfill: false },
    ],
    [
      'itself, not a backfill',
      { arrival: 2, byBackfill: false },
      { arrival: 5, byBackfill: true },
      { arrival: 2, byBackfill: false },
    ],
  ])(
    'is known as said by the export that said it last while it was in doubt: %s',
    (_, said, doubt, expected) => {
      const entry = make(1, 'a', '70')
      const held = new Map(
        doubt === undefined
          ? []
          : [[entry.rowKey, new Map([[entry.content, { rule: entry.ruleHash, ...doubt }]])]],
      )
      const outcome = { entry, outcome: 'accepted', batchId: '', status: 201 } as const
      const [row] = newlyDelivered({ delivered: new Map(), held }, [outcome], said)
      expect(row?.records).toMatchObject([expected])
    },
  )
})

describe('records of one row', () => {
  const ofRow = (count: number) =>
    entriesOf(
      Array.from({ length: count }, (_, at) => biometric({ rule: `rule-${at}`, value: String(at) })).concat(
        biometric({ rule: 'again', value: '0' }),
      ),
    )
  it.each([1, 3, 60])(
    'of which one says again what another says: it shares its fate (%i others)',
    (count) => {
      const entries = ofRow(count)
      const { fresh, twins } = recognise(entries, nothing, NEWEST)
      expect(fresh).toEqual(entries.slice(0, -1))
      expect(twins).toEqual([{ entry: entries.at(-1), first: entries[0] }])
    },
  )

  it('are known as a whole where all of them stand, and one by one where one does not', () => {
    const entries = ofRow(3).slice(0, -1)
    const all = recognise(entries, { delivered: remember(...entries), held: new Map() }, NEWEST)
    expect(all).toMatchObject({ unchanged: entries, fresh: [] })
    const some = remember(...entries.slice(1))
    expect(recognise(entries, { delivered: some, held: new Map() }, NEWEST)).toMatchObject({
      ...{ unchanged: entries.slice(1), fresh: entries.slice(0, 1) },
    })
  })
})
