import { readFile } from 'node:fs/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { histories } from '../../drill/model/history.ts'
import { placeOfExport } from '../../drill/model/place.ts'
import { play } from '../../drill/model/play.ts'
import {
  type Doubt,
  decide,
  EMPTY,
  type Incoming,
  type Place,
  type Slot,
  type Step,
  type Surroundings,
  WITHDRAWN,
} from '../../src/load/decide.ts'
import {
  isWorthWriting,
  lapseAbsent,
  learn,
  orderOf,
  type SlotEvent,
  takeOver,
} from '../../src/load/learn.ts'

const placeOf = (arrival: number, more: Partial<Place> = {}): Place => ({
  ...{ anchor: arrival, day: 0, arrival, rank: 1, issued: 0, row: 1 },
  ...more,
})
const incoming = (content: string, more: Partial<Incoming> = {}): Incoming => ({
  ...{ content, place: placeOf(5), isLate: false, isRenewed: false },
  ...more,
})
const word = (content: string, place = placeOf(5)) => ({ content, place, isLate: false })
const slotOf = (more: Partial<Slot>): Slot => ({ ...EMPTY, seen: 'whole', ...more })
const around = (more: Partial<Surroundings> = {}): Surroundings => ({
  ...{
    isSuspect: false,
    isAsked: false,
    isBehindDoubt: false,
    isTwin: false,
    isReported: false,
    isRefused: false,
  },
  ...{ doubts: 'hold', ...more },
})
const doubt = (content: string, state: Doubt['state']): Doubt => ({ content, state })
const newDoubt = (content: string, state: Doubt['state']): Doubt => ({ content, state, isNew: true })

const A = 'a'
const B = 'b'
const C = 'c'
const later = word(B, placeOf(9))

const CASES: readonly [line: number, step: Step, slot: Slot, content: string, Surroundings][] = [
  [1, 'ask', slotOf({ doubts: [doubt(A, 'sent')] }), A, around()],
  [1, 'ask', slotOf({ doubts: [doubt(A, 'sent')] }), A, around({ isAsked: true, doubts: 'resend' })],
  [1, 'ask', slotOf({ doubts: [doubt(A, 'sent')], latest: later }), A, around()],
  [2, 'ask', slotOf({ doubts: [doubt(A, 'hidden')] }), A, around({ doubts: 'look' })],
  [2, 'ask', slotOf({ doubts: [doubt(A, 'unreadable')] }), A, around({ doubts: 'resend' })],
  [3, 'hold', slotOf({ doubts: [doubt(A, 'hidden')] }), A, around()],
  [3, 'hold', slotOf({ doubts: [doubt(A, 'hidden')] }), A, around({ doubts: 'look', isAsked: true })],
  [3, 'hold', slotOf({ doubts: [doubt(A, 'hidden')], latest: later }), A, around()],
  [4, 'outdated', slotOf({ stored: B, latest: later }), A, around()],
  [4, 'outdated', slotOf({ latest: later }), A, around({ isSuspect: true })],
  [4, 'outdated', slotOf({ stored: B, latest: word(B) }), A, around()],
  [5, 'withdrawn', slotOf({ stored: A, latest: word(WITHDRAWN) }), WITHDRAWN, around()],
  [5, 'withdrawn', slotOf({ doubts: [doubt(A, 'hidden')] }), WITHDRAWN, around({ isRefused: true })],
  [5, 'nothing', slotOf({ stored: A }), WITHDRAWN, around({ isReported: true })],
  [5, 'nothing', EMPTY, WITHDRAWN, around({ isSuspect: true })],
  [6, 'ask', EMPTY, A, around({ isSuspect: true })],
  [6, 'ask', slotOf({ stored: A, seen: 'nothing' }), A, around({ isSuspect: true })],
  [6, 'ask', slotOf({ stored: B, seen: 'stored' }), A, around({ isSuspect: true })],
  [6, 'ask', slotOf({ stored: A, seen: 'nothing', isLapsed: true }), A, around()],
  [6, 'ask', EMPTY, A, around({ isSuspect: true, isRefused: true, isTwin: true })],
  [7, 'unchanged', slotOf({ stored: A, latest: later }), A, around()],
  [8, 'unchanged', slotOf({ stored: A, latest: word(A) }), A, around({ isRefused: true })],
  [8, 'unchanged', slotOf({ stored: A, seen: 'stored' }), A, around({ isSuspect: true })],
  [8, 'unchanged', slotOf({ stored: A }), A, around({ isBehindDoubt: true })],
  [9, 'unchanged', EMPTY, A, around({ isTwin: true, isRefused: true })],
  [10, 'refuse', EMPTY, A, around({ isRefused: true, isBehindDoubt: true })],
  [11, 'ask', slotOf({ doubts: [doubt(B, 'unreadable')] }), A, around()],
  [11, 'ask', slotOf({ stored: A, doubts: [doubt(B, 'sent')] }), A, around()],
  [12, 'wait', slotOf({ doubts: [doubt(B, 'unreadable')] }), A, around({ isAsked: true })],
  [12, 'wait', slotOf({ stored: A, doubts: [doubt(B, 'hidden')] }), A, around()],
  [12, 'wait', EMPTY, A, around({ isBehindDoubt: true })],
  [13, 'send', EMPTY, A, around()],
  [13, 'send', EMPTY, A, around({ isSuspect: true, isAsked: true })],
  [13, 'send', slotOf({ stored: B, latest: word(A) }), A, around({ isSuspect: true })],
  [13, 'send', slotOf({ stored: B, doubts: [doubt(B, 'hidden')] }), A, around()],
  [13, 'send', slotOf({ doubts: [doubt(A, 'hidden')] }), A, around({ doubts: 'resend', isAsked: true })],
  [13, 'send', EMPTY, A, around({ isBehindDoubt: true, doubts: 'resend' })],
]

describe('the table of decisions', () => {
  it.each(CASES)('line %i: %s', (_line, step, slot, content, beside) => {
    const { latest = word(content) } = slot
    expect(decide({ ...slot, latest }, content, beside)).toBe(step)
  })

  it('is the one that the page on delivery shows', async () => {
    const page = await readFile('docs/delivery.md', 'utf8')
    const [, table = ''] = /<!-- decide -->\n([\s\S]*?)<!-- \/decide -->/.exec(page) ?? []
    const told = table.split('\n').flatMap((row) => {
      const [, when = '', step = ''] = row.split('|').map((cell) => cell.trim())
      const [, line] = /^(\d+)\./.exec(when) ?? []
      const steps = [...step.matchAll(/`([a-z]+)`/g)].map(([, name]) => name)
      return line === undefined ? [] : steps.map((name) => `${line} ${name}`)
    })
    expect(told.sort()).toEqual([...new Set(CASES.map(([line, step]) => `${line} ${step}`))].sort())
  })
})

describe('places', () => {
  const inOrder: readonly [string, Place][] = [
    ['a preliminary result of the newest export', placeOf(9, { rank: 0 })],
    ['a backfilled file without a date', placeOf(7, { anchor: 0 })],
    ['one with a date before all nights', placeOf(6, { anchor: 0, day: 3 })],
    ['a night', placeOf(2)],
    ['a row further down', placeOf(2, { row: 5 })],
    ['one with a time of issue above it', placeOf(2, { issued: 1, row: 4 })],
    ['a later issued one', placeOf(2, { issued: 2, row: 3 })],
    ['one of that time further down', placeOf(2, { issued: 2, row: 6 })],
    ['a corrected result that was issued before', placeOf(2, { rank: 2 })],
    ['a backfilled file of the day after', placeOf(8, { anchor: 2, day: 4 })],
    ['another one of that day, read later', placeOf(9, { anchor: 2, day: 4 })],
    ['one of a day later, read before', placeOf(7, { anchor: 2, day: 5 })],
    ['the next night', placeOf(3)],
  ]
  it.each(inOrder.slice(1).map(([name, place], at) => [name, place, inOrder[at]] as const))(
    '%s is newer than what stands before it',
    (_name, place, before) => {
      expect(orderOf(incoming(A, { place, isRenewed: true }), word(B, before?.[1]))).toBeGreaterThan(0)
      expect(
        orderOf(incoming(B, { place: before?.[1] ?? place, isRenewed: true }), word(A, place)),
      ).toBeLessThan(0)
    },
  )

  const nights = [
    { arrival: 1, day: 10 },
    { arrival: 4, day: 8 },
    { arrival: 6, day: undefined },
    { arrival: 7, day: 12 },
  ]
  it.each([
    ['a day behind all', 13, 7],
    ['the day of a night', 12, 7],
    ['a day between: the newest that is not later, whenever it was read', 11, 4],
    ['a day before all', 7, 0],
    ['no day', undefined, 0],
  ])('a backfilled file of %s', (_name, day, arrival) => {
    expect(placeOfExport(day, nights)).toBe(arrival)
  })
})

describe('what is learned', () => {
  const doubts = [doubt(A, 'sent'), doubt(B, 'unreadable')]
  const suspect = { content: A, isSuspect: true }
  it.each<[string, Partial<Slot>, SlotEvent, Partial<Slot>]>([
    [
      'a newer word',
      { latest: word(A) },
      { what: 'exported', incoming: incoming(B, { place: placeOf(6) }) },
      { latest: { ...word(B, placeOf(6)), isNews: true } },
    ],
    ['another one in its place', { latest: word(A) }, { what: 'exported', incoming: incoming(B) }, {}],
    [
      'another one in its place, by another mapping',
      { latest: word(A) },
      { what: 'exported', incoming: incoming(B, { isRenewed: true }) },
      { latest: { ...word(B), isNews: true } },
    ],
    [
      'a withdrawal behind a corrected result',
      { latest: word(A, placeOf(5, { rank: 2 })) },
      { what: 'exported', incoming: incoming(WITHDRAWN, { place: placeOf(5, { row: 2 }) }) },
      { latest: { ...word(WITHDRAWN, placeOf(5, { row: 2 })), isNews: true } },
    ],
    [
      'a result behind a withdrawal',
      { latest: word(WITHDRAWN, placeOf(5, { rank: 2 })) },
      { what: 'exported', incoming: incoming(A, { place: placeOf(5, { row: 2 }) }) },
      { latest: { ...word(A, placeOf(5, { row: 2 })), isNews: true } },
    ],
    [
      'an older one',
      { latest: word(A) },
      { what: 'exported', incoming: incoming(B, { place: placeOf(4) }) },
      {},
    ],
    ['what is sent', {}, { what: 'sending', content: A }, { doubts: [newDoubt(A, 'sent')] }],
    [
      'what is sent again',
      { doubts: [doubt(A, 'hidden')] },
      { what: 'sending', content: A },
      { doubts: [{ ...newDoubt(A, 'sent'), isAgain: true }] },
    ],
    [
      'that a newer one hides what was sent in this chunk',
      { doubts: [newDoubt(A, 'sent')] },
      { what: 'hidden', ...suspect },
      { doubts: [newDoubt(A, 'hidden')] },
    ],
    [
      'what is taken: nothing is in doubt any more',
      { stored: B, doubts, seen: 'nothing' },
      { what: 'accepted', content: A },
      { stored: A, doubts: [], seen: 'whole' },
    ],
    [
      'what was taken before a copy',
      { doubts },
      { what: 'accepted before', content: A },
      { stored: A, doubts: [], seen: 'nothing' },
    ],
    ['what is refused', { doubts }, { what: 'refused', content: A }, { doubts: [doubt(B, 'unreadable')] }],
    [
      'what is refused, and was in doubt before',
      { doubts: [{ ...doubt(A, 'sent'), isAgain: true }] },
      { what: 'refused', content: A },
      { doubts: [{ ...doubt(A, 'hidden'), isAgain: true }] },
    ],
    [
      'what the profile shows',
      { doubts, seen: 'nothing' },
      { what: 'shown', content: A },
      { stored: A, doubts: [doubt(B, 'hidden')], seen: 'whole' },
    ],
    ['that nothing is there', { stored: B, doubts }, { what: 'absent' }, { stored: undefined, doubts: [] }],
    ['that another one is there', { stored: A }, { what: 'other', ...suspect }, { stored: undefined }],
    [
      'that another one is there, of one that may have been sent',
      {},
      { what: 'other', ...suspect },
      { doubts: [doubt(A, 'hidden')] },
    ],
    [
      'that a newer one hides it',
      { stored: A, doubts: [doubt(B, 'unreadable')], seen: 'nothing' },
      { what: 'hidden', ...suspect },
      { doubts: [doubt(B, 'hidden')], seen: 'stored' },
    ],
    [
      'that a newer one hides it, of one that was never sent',
      {},
      { what: 'hidden', content: A, isSuspect: false },
      {},
    ],
    ['that nothing can be read', { stored: A, seen: 'nothing' }, { what: 'unreadable', ...suspect }, {}],
    [
      'that nothing can be read, of one that may have been sent',
      {},
      { what: 'unreadable', ...suspect },
      { doubts: [doubt(A, 'unreadable')] },
    ],
    [
      'that its row was sent without it',
      { stored: A },
      { what: 'lapsed' },
      { seen: 'nothing', isLapsed: true },
    ],
    ['that its row was sent without it, where it has nothing', {}, { what: 'lapsed' }, {}],
  ])('%s', (_name, before, event, after) => {
    const slot = slotOf(before)
    expect(learn(slot, event)).toEqual({ ...slot, ...after })
  })

  it.each<[string, Partial<Slot>, Incoming, boolean]>([
    ['a word', {}, incoming(A), true],
    ['its repetition by a later night', { latest: word(A) }, incoming(A, { place: placeOf(9) }), false],
    [
      'the repetition of a late word',
      { latest: { ...word(A), isLate: true } },
      incoming(A, { place: placeOf(9) }),
      true,
    ],
    [
      'the same file once more',
      { latest: { ...word(A), isLate: true } },
      incoming(A, { isLate: true }),
      false,
    ],
    [
      'a preliminary result that is final',
      { latest: word(A, placeOf(5, { rank: 0 })) },
      incoming(A, { place: placeOf(9) }),
      true,
    ],
    [
      'one with a time of issue, repeated by the next export',
      { latest: word(A, placeOf(5, { issued: 7 })) },
      incoming(A, { place: placeOf(9, { issued: 7 }) }),
      true,
    ],
    [
      'the same of the same export',
      { latest: word(A, placeOf(5, { issued: 7 })) },
      incoming(A, { place: placeOf(5, { issued: 7, row: 2 }) }),
      false,
    ],
    ['a corrected one, repeated', { latest: word(A) }, incoming(A, { place: placeOf(9, { rank: 2 }) }), true],
  ])('of what is said, %s is written down or not', (_name, before, said, isWritten) => {
    const slot = slotOf(before)
    expect(isWorthWriting(slot, learn(slot, { what: 'exported', incoming: said }))).toBe(isWritten)
  })

  it.each<[string, Slot, Partial<Slot>, boolean]>([
    ['what it had is stored', EMPTY, { stored: A }, true],
    ['it is in doubt', EMPTY, { doubts: [doubt(A, 'hidden')] }, true],
    ['it had something else', EMPTY, { stored: B }, false],
    ['this one has something of its own', slotOf({ stored: B }), { stored: A }, false],
    ['this one lapsed', slotOf({ stored: B, isLapsed: true }), { stored: A }, true],
    [
      'this one has something of its own, and it is in doubt',
      slotOf({ stored: B }),
      { doubts: [doubt(A, 'sent')] },
      true,
    ],
    [
      'both have something, and it is in doubt',
      slotOf({ stored: B }),
      { stored: B, doubts: [doubt(A, 'sent')] },
      false,
    ],
  ])(
    'a rule that its row does not say gives its slot to another name: %s',
    (_name, slot, former, isTaken) => {
      const other = slotOf(former)
      expect(takeOver(slot, A, [slotOf({}), other])?.from).toBe(isTaken ? other : undefined)
    },
  )

  it.each<[string, Partial<Slot>, Partial<Slot>, boolean]>([
    ['nothing before, something stored now', {}, { stored: A }, true],
    ['nothing before, something in doubt now', {}, { doubts: [newDoubt(A, 'sent')] }, true],
    ['something in doubt before', { doubts: [doubt(A, 'hidden')] }, { doubts: [doubt(A, 'hidden')] }, false],
    ['nothing before, nothing now', {}, {}, false],
    ['something stored before and now', { stored: A }, { stored: B }, false],
    [
      'something stored, and in doubt now once more',
      { doubts: [doubt(A, 'hidden')] },
      { doubts: [newDoubt(A, 'hidden')] },
      true,
    ],
    [
      'another name was sent meanwhile, this one is sent again',
      { stored: A, isLapsed: true },
      { stored: A },
      true,
    ],
    ['another name was sent meanwhile', { stored: A, isLapsed: true }, { stored: A, isLapsed: true }, false],
  ])(
    'other rules of the row may be former names of one that comes into force: %s',
    (_name, before, now, takes) => {
      const former = slotOf({ stored: C })
      const row = (present: Partial<Slot>) => ({ before: slotOf(before), now: slotOf(present) })
      const slots = new Map([
        ['present', row(now)],
        ['former', { before: former, now: former }],
      ])
      const isLapsed = (rules: readonly string[], listed: readonly string[]): boolean => {
        const copy = structuredClone(slots)
        lapseAbsent(copy, new Set(rules), new Set(listed))
        return copy.get('former')?.now.isLapsed === true
      }
      expect(isLapsed(['present'], [])).toBe(takes)
      // A list shows another part each time; a rule of the row is no former name.
      expect(isLapsed(['present'], ['present'])).toBe(false)
      expect(isLapsed(['present', 'former'], [])).toBe(false)
    },
  )

  it.each([
    ['nothing', undefined, false],
    ['something else', C, false],
    ['this', A, true],
  ])(
    'a rule whose other name may have been sent keeps its content, unless the other has stored %s',
    (_, stored, isWhole) => {
      const own = slotOf({
        stored: B,
        latest: word(A),
        doubts: [doubt(C, 'hidden')],
        isLapsed: true,
        seen: 'nothing',
      })
      const taken = takeOver(own, A, [slotOf({ stored, doubts: [doubt(A, 'sent')], latest: word(A) })])
      expect(taken?.isWhole).toBe(isWhole)
      expect(taken?.slot.stored).toBe(isWhole ? A : B)
      expect(taken?.slot.doubts).toEqual([doubt(C, 'hidden'), newDoubt(A, 'sent')])
    },
  )

  it.each([
    ['the newer of both', placeOf(9), placeOf(5), B],
    ['the former one', placeOf(4), placeOf(5), A],
  ])('the slot that is taken over keeps the latest word: %s', (_name, own, former, latest) => {
    const taken = takeOver(slotOf({ latest: word(B, own) }), A, [
      slotOf({ stored: A, latest: word(A, former) }),
    ])
    expect(taken?.slot).toMatchObject({ stored: A, latest: { content: latest } })
  })
})

it('at most once while it stands; at the end the newest word, or a person was told why not', () => {
  fc.assert(
    fc.property(histories, (history) => void play(history)),
    { numRuns: 2_000 },
  )
})
