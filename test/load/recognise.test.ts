import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Entry } from '../../src/load/entry.ts'
import { recognise } from '../../src/load/recognise.ts'
import { biometric, entryOf } from './made-up-entries.ts'

const nothing = { delivered: new Map<string, Set<string>>(), held: new Map<string, Set<string>>() }
const remember = (...entries: Entry[]) =>
  new Map(entries.map((entry) => [entry.rowKey, new Set([entry.content])]))
const make = (row: number, key: string, value: string): Entry =>
  entryOf(biometric, { row, key, value, person: 'ann' })

describe('recognise', () => {
  it('puts every entry into exactly one place, and a twin behind its first', () => {
    const rows = fc.array(
      fc.record({ key: fc.constantFrom('a', 'b', 'c'), value: fc.constantFrom('1', '2', '3') }),
      { maxLength: 30 },
    )
    fc.assert(
      fc.property(
        rows,
        fc.subarray([0, 1, 2, 3, 4, 5]),
        fc.subarray([0, 1, 2, 3, 4, 5]),
        (made, before, doubted) => {
          const entries = made.map(({ key, value }, at) => make(at + 1, key, value))
          const pick = (positions: number[]) => remember(...positions.flatMap((at) => entries[at] ?? []))
          const { fresh, unchanged, held, twins } = recognise(entries, {
            delivered: pick(before),
            held: pick(doubted),
          })
          const placed = [...fresh, ...unchanged, ...held, ...twins.map((twin) => twin.entry)]
          expect(placed).toHaveLength(entries.length)
          expect(new Set(placed)).toEqual(new Set(entries))
          for (const { entry, first } of twins) {
            expect(fresh).toContain(first)
            expect([entry.rowKey, entry.content]).toEqual([first.rowKey, first.content])
          }
          const identities = fresh.map((entry) => `${entry.rowKey} ${entry.content}`)
          expect(new Set(identities).size).toBe(identities.length)
        },
      ),
    )
  })

  it('does not send what was delivered, nor what is in doubt', () => {
    const [old, doubtful, other] = [make(1, 'a', '1'), make(2, 'b', '1'), make(3, 'c', '1')]
    const recognised = recognise([old, doubtful, other], {
      delivered: remember(old),
      held: remember(doubtful),
    })
    expect(recognised).toMatchObject({ unchanged: [old], held: [doubtful], fresh: [other], twins: [] })
  })

  it('takes the same record under another row key for another', () => {
    const entries = [make(1, 'a', '1'), make(2, 'b', '1')]
    expect(
      recognise(entries, {
        ...nothing,
        delivered: new Map([['0'.repeat(32), new Set(entries.map((one) => one.content))]]),
      }).fresh,
    ).toEqual(entries)
  })

  it('counts rows corrected: another content under a known key, once a row', () => {
    const first = make(1, 'a', '1')
    expect(recognise([first, make(2, 'a', '2'), make(3, 'b', '3')], nothing).rowsCorrected).toBe(1)
    expect(recognise([make(2, 'a', '2')], { ...nothing, delivered: remember(first) }).rowsCorrected).toBe(1)
    expect(recognise([first, make(2, 'a', '1')], nothing).rowsCorrected).toBe(0)
  })
})
