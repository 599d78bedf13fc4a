/** Words of a chunk as its slots keep them: corrections, doubts, and recency of an export. */
import { expect, test } from 'vitest'
import type { HeldDoubt } from '../../src/ledger/ledger.ts'
import { ChunkSlots, type Speaks } from '../../src/load/slots.ts'
import type { Entry } from '../../src/model/entry.ts'
import { keptSlot } from '../ledger/kept-slots.ts'
import { placed, SPEAKS } from './loading.ts'
import { biometric, careTeam, condition, entriesOf, entryOf } from './made-up-entries.ts'

type Memory = ConstructorParameters<typeof ChunkSlots>[0]

const NOTHING: Memory = { delivered: new Map(), held: new Map() }

function slotsOf(entries: readonly Entry[], memory: Memory = NOTHING, speaks: Partial<Speaks> = {}) {
  const all = placed(entries)
  const suspicion = { until: undefined, copy: 0 }
  const slots = new ChunkSlots(memory, all, { ...SPEAKS, ...speaks }, suspicion)
  slots.hear(all, [])
  return { slots, all }
}

const weight = (row: number, value: string): Entry => entryOf(biometric, { row, key: 'ann|monday', value })

test.each([
  ['of one value', ['61'], [false]],
  ['of equal values: the second repeats the first', ['61', '61'], [false, false]],
  ['of two values: the second corrects the first', ['61', '62'], [false, true]],
  ['of a value that comes back', ['61', '62', '61'], [false, true, false]],
])('rows of one key, %s', (_, values, corrections) => {
  const { slots, all } = slotsOf(values.map((value, at) => weight(at + 1, value)))
  expect(all.map((entry) => slots.isCorrection(entry))).toEqual(corrections)
})

const doubtAbout = (entry: Entry, content: string): HeldDoubt => ({
  ...{ content, rule: entry.ruleHash, sentUntil: null, isOpen: true },
})

test.each([
  ['a biometric', biometric, 2],
  ['a care team, each of which is a doubt of its own,', careTeam, 1],
])('of the doubts about %s, its slot has %3$i', (_, make, count) => {
  const entry = entryOf(make, {})
  const doubts = [doubtAbout(entry, entry.content), doubtAbout(entry, 'f'.repeat(16))]
  const { slots, all } = slotsOf([entry], { ...NOTHING, held: new Map([[entry.rowKey, doubts]]) })
  expect(all.map((one) => slots.of(one).doubts.length)).toEqual([count])
})

test.each([
  [{}, false],
  [{ isAgain: true }, true],
  [{ isBackfill: true }, true],
  [{ isAgain: true, isBackfill: true }, true],
])('the word of an export, %j, is late: %s', (speaks, isLate) => {
  const { slots, all } = slotsOf([weight(1, '61')], NOTHING, speaks)
  expect(all.map((entry) => slots.incomingOf(entry).isLate)).toEqual([isLate])
})

test.each([
  ['is absent, and is the last word', '61', 'miss'],
  ['is absent, and another word is stored since', '62', 'supersede'],
])('a doubt whose record %s ends so', (_, latest, event) => {
  const asked = weight(1, '61')
  const held = new Map([[asked.rowKey, [doubtAbout(asked, asked.content)]]])
  const { slots, all } = slotsOf([weight(2, latest)], { ...NOTHING, held })
  const [word] = all
  if (word === undefined) throw new Error('there is an entry')
  slots.learn(word, { what: 'absent' })
  if (latest !== '61') slots.learn(word, { what: 'accepted', content: word.content })
  expect([...slots.toKeep().ended]).toEqual([[asked.content, event]])
})

const REASON = { stage: 'submit' as const, code: 'refused', message: 'no', scrubbed: 'no' }

test.each([
  ['it was sent, and refused', 'rejected', 'batch-1'],
  ['it was not sent', 'rejected', null],
  ['it was sent, and nobody answered', 'in-doubt', 'batch-1'],
] as const)('a record in doubt of an earlier run stays in doubt, where %s', (_, outcome, batchId) => {
  const entry = weight(1, '61')
  const held = new Map([[entry.rowKey, [doubtAbout(entry, entry.content)]]])
  const { slots, all } = slotsOf([entry], { ...NOTHING, held })
  slots.learnOutcomes(
    all.map((one) => ({ entry: one, outcome, batchId, reason: REASON })),
    () => false,
  )
  expect(all.flatMap((one) => slots.of(one).doubts)).toMatchObject([{ content: entry.content }])
  expect(slots.toKeep().ended.size).toBe(0)
})

test.each([
  ['sent, and not answered, may replace', 'batch-1', true],
  ['held since an earlier run does not replace', null, false],
])('a record %s the record of another name of its rule', (_, batchId, isLapsed) => {
  const entry = weight(1, '61')
  const former = keptSlot('former', 'f'.repeat(16))
  const memory = {
    delivered: new Map([[entry.rowKey, [former]]]),
    held: new Map([[entry.rowKey, [doubtAbout(entry, entry.content)]]]),
  }
  const { slots, all } = slotsOf([entry], memory)
  slots.learnOutcomes(
    all.map((one) => ({ entry: one, outcome: 'in-doubt', batchId, reason: REASON })),
    () => false,
  )
  const kept = slots.toKeep().delivered.flatMap(({ records }) => records)
  expect(kept.some(({ ruleHash, word }) => ruleHash === 'former' && word?.isLapsed === true)).toBe(isLapsed)
})

test.each([
  ['has none', () => undefined, 1],
  ['has another one', (print: object) => ({ ...print, first: 1 }), 1],
  ['has it', (print: object) => print, 0],
])('a row that is known as a whole, and whose print the ledger %s, gets %3$i', (_, keptOf, count) => {
  const row = { row: 1, key: 'ann|monday' }
  const [first, second] = [biometric(row), condition(row)]
  const entries = entriesOf([first, second], row)
  const [{ rowKey } = expect.fail()] = entries
  const records = entries.map((entry) => keptSlot(entry.ruleHash, entry.content))
  const print = { biometrics: 1, conditions: 1, ...SPEAKS.hashOf([]) }
  const kept = keptOf(print) as typeof print | undefined
  const memory = {
    ...{ held: new Map(), delivered: new Map([[rowKey, records]]) },
    prints: new Map(kept === undefined ? [] : [[rowKey, kept]]),
  }
  const { slots } = slotsOf(entries, memory)
  const { delivered } = slots.toKeep()
  expect(delivered).toEqual(count === 0 ? [] : [{ rowKey, records, print }])
  expect(slotsOf(entries, { ...memory, prints: undefined }).slots.toKeep().delivered).toEqual([])
})
