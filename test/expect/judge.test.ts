import { describe, expect, it, test } from 'vitest'
import { type ArrivedFile, type EarlierJudgement, judge } from '../../src/expect/judge.ts'
import { fileKey } from '../../src/run/find-exports.ts'
import { ask, at, file, left, MONDAY, NOBODY_LOOKED, seen, TUESDAY } from './nightly-questions.ts'

type Question = Parameters<typeof judge>[0]

const MON = file('a_20260301.csv', '02T00:50')
const TUE = file('a_20260302.csv', '03T00:50')
const taken = (one: ArrivedFile, when: string): ArrivedFile => ({ ...one, takenAt: at(when) })

interface Case {
  readonly what: string
  readonly ask: Partial<Question>
  readonly state: string
  readonly arrived: readonly string[]
}

const cases: Case[] = [
  { what: 'nothing at all', ask: {}, state: 'missing', arrived: [] },
  { what: 'one that came', ask: { found: [TUE] }, state: 'arrived', arrived: [TUE.name] },
  {
    what: 'one that came soon after the deadline before, which nobody judged',
    ask: { found: [file('a_20260301.csv', '02T05:00')] },
    state: 'arrived',
    arrived: ['a_20260301.csv'],
  },
  {
    what: 'one that counted for the deadline before, and was read after it: it stays in the inbox',
    ask: { found: [MON], taken: [taken(MON, '02T02:15')], earlier: [seen(MON)] },
    state: 'missing',
    arrived: [],
  },
  {
    what: 'the same, archived after it was read',
    ask: { taken: [taken(MON, '02T02:15')], earlier: [seen(MON)] },
    state: 'missing',
    arrived: [],
  },
  {
    what: 'one that stays and is read each night, and a new one beside it',
    ask: { found: [MON, TUE], taken: [taken(MON, '02T02:15')], earlier: [seen(MON)] },
    state: 'arrived',
    arrived: [TUE.name],
  },
  {
    what: 'one that was read and archived before the deadline',
    ask: { taken: [taken(TUE, '03T01:00')], earlier: [seen(MON)] },
    state: 'arrived',
    arrived: [TUE.name],
  },
  {
    what: 'a file of one name that is written anew each night',
    ask: {
      found: [file('all.csv', '03T00:50', { bytes: 1100 })],
      taken: [file('all.csv', '02T00:50', { taken: '02T02:15' })],
      earlier: [seen(file('all.csv', '02T00:50'))],
    },
    state: 'arrived',
    arrived: ['all.csv'],
  },
  {
    what: 'a file of one name that was not written anew',
    ask: {
      found: [file('all.csv', '02T00:50')],
      taken: [file('all.csv', '02T00:50', { taken: '02T02:15' })],
      earlier: [seen(file('all.csv', '02T00:50'))],
    },
    state: 'missing',
    arrived: [],
  },
  {
    what: 'a file of one name that was written anew, read and archived',
    ask: {
      taken: [
        file('all.csv', '02T00:50', { taken: '02T02:15' }),
        file('all.csv', '02T20:00', { taken: '02T21:00' }),
      ],
      earlier: [seen(file('all.csv', '02T00:50'))],
    },
    state: 'arrived',
    arrived: ['all.csv'],
  },
  {
    what: 'a file that keeps the time of its writing, and came after the deadline before',
    ask: { found: [file('old.csv', '01T18:00')], earlier: [seen(MON)] },
    state: 'arrived',
    arrived: ['old.csv'],
  },
  {
    what: 'an old file, where nobody looked at the deadline before',
    ask: { found: [MON], taken: [taken(MON, '02T02:15')], earlier: [NOBODY_LOOKED] },
    state: 'missing',
    arrived: [],
  },
  {
    what: 'an old file, where nothing was ever judged',
    ask: { found: [MON], taken: [taken(MON, '02T02:15')] },
    state: 'missing',
    arrived: [],
  },
  {
    what: 'a file with a time ahead of the clock, which a run had taken before',
    ask: { found: [file('ahead.csv', '02T02:00', { taken: '02T01:00' })], earlier: [NOBODY_LOOKED] },
    state: 'missing',
    arrived: [],
  },
  {
    what: 'the same, taken in the very moment of the deadline before',
    ask: { found: [file('ahead.csv', '02T02:00', { taken: '02T01:30' })], earlier: [NOBODY_LOOKED] },
    state: 'missing',
    arrived: [],
  },
  {
    what: 'one of two',
    ask: { found: [TUE], expected: { count: 2, size: undefined } },
    state: 'missing',
    arrived: [TUE.name],
  },
  {
    what: 'two of two',
    ask: { found: [TUE, file('b.csv', '02T22:00')], expected: { count: 2, size: undefined } },
    state: 'arrived',
    arrived: ['b.csv', TUE.name],
  },
  {
    what: 'one that came after the deadline, seen when somebody looks later',
    ask: { found: [file('late.csv', '03T04:00')], now: at('03T07:00'), earlier: [seen(MON)] },
    state: 'late',
    arrived: ['late.csv'],
  },
  {
    what: 'one in time and one after it, of two',
    ask: {
      found: [TUE, file('late.csv', '03T04:00')],
      now: at('03T07:00'),
      expected: { count: 2, size: undefined },
    },
    state: 'late',
    arrived: [TUE.name, 'late.csv'],
  },
  {
    what: 'one in time and one after it, of one: that is for the next',
    ask: { found: [TUE, file('next.csv', '03T04:00')], now: at('03T07:00') },
    state: 'arrived',
    arrived: [TUE.name],
  },
  {
    what: 'one that came when the next deadline was nearer',
    ask: { found: [file('next.csv', '03T20:00')], now: at('03T23:00'), earlier: [seen(MON)] },
    state: 'missing',
    arrived: [],
  },
  {
    what: 'one with a time a little ahead, judged on time',
    ask: { found: [file('ahead.csv', '03T01:31')], now: TUESDAY.due + 5_000, earlier: [seen(MON)] },
    state: 'arrived',
    arrived: ['ahead.csv'],
  },
  {
    what: 'the same, judged when its minute is nearly over',
    ask: { found: [file('ahead.csv', '03T01:31')], now: TUESDAY.due + 59_999, earlier: [seen(MON)] },
    state: 'arrived',
    arrived: ['ahead.csv'],
  },
  {
    what: 'the same, judged when its minute is over',
    ask: { found: [file('after.csv', '03T01:31')], now: TUESDAY.due + 60_000, earlier: [seen(MON)] },
    state: 'late',
    arrived: ['after.csv'],
  },
  {
    what: 'one with the time of the deadline itself, judged later',
    ask: { found: [file('then.csv', '03T01:30')], now: at('03T07:00'), earlier: [seen(MON)] },
    state: 'arrived',
    arrived: ['then.csv'],
  },
  {
    what: 'one with the time of the deadline before, where nobody looked then',
    ask: { found: [file('then.csv', '02T01:30')], earlier: [NOBODY_LOOKED] },
    state: 'missing',
    arrived: [],
  },
  {
    what: 'one that was complete only after the deadline had been told as missing',
    ask: {
      found: [TUE],
      now: at('03T01:45'),
      earlier: [
        { due: TUESDAY.due, judgedAt: TUESDAY.due, known: new Set(), missing: 1, wasShort: true },
        seen(MON),
      ],
    },
    state: 'late',
    arrived: [TUE.name],
  },
]

test.each(cases)('$what', ({ ask: fields, state, arrived }) => {
  const found = judge(ask(fields))
  expect([found.state, found.arrived.map(({ name }) => name)]).toEqual([state, arrived])
})

describe('what came late', () => {
  const missed = (): EarlierJudgement => left(ask({ deadline: MONDAY, now: MONDAY.due }))
  const LATE = file('a_20260301.csv', '02T03:00')

  it('for Monday does not count for Tuesday', () => {
    expect(judge(ask({ found: [LATE], earlier: [missed()] })).state).toBe('missing')
    expect(judge(ask({ found: [LATE, TUE], earlier: [missed()] }))).toMatchObject({
      state: 'arrived',
      arrived: [TUE],
    })
  })

  it('does not either where it was looked for again, and found', () => {
    const again = left(ask({ deadline: MONDAY, now: at('02T03:15'), found: [LATE], earlier: [missed()] }))
    expect(again).toMatchObject({ missing: 0, wasShort: true })
    expect(judge(ask({ found: [LATE], earlier: [again] })).state).toBe('missing')
  })

  it('makes up for as many as were missing, and no more', () => {
    const two = { count: 2, size: undefined }
    const one = left(ask({ deadline: MONDAY, now: MONDAY.due, expected: two, found: [MON] }))
    expect(one.missing).toBe(1)
    const found = [MON, LATE, file('b.csv', '02T03:10'), TUE]
    const judged = judge(ask({ expected: two, found, earlier: [one] }))
    expect(judged).toMatchObject({ state: 'arrived', arrived: [{ name: 'b.csv' }, TUE] })
  })

  it('is not what came when Tuesday was nearer: Monday was never delivered', () => {
    const found = [file('a_20260302.csv', '02T20:00')]
    expect(judge(ask({ found, earlier: [missed()] }))).toMatchObject({ state: 'arrived', arrived: found })
  })
})

test('what came after the deadline is left for the next one to count', () => {
  const early = file('a_20260302.csv', '02T20:00')
  const monday = left(ask({ deadline: MONDAY, now: at('02T21:00'), found: [MON, early] }))
  expect(judge(ask({ found: [MON, early], earlier: [monday] }))).toMatchObject({
    state: 'arrived',
    arrived: [early],
  })
})

describe('an export is strangely small', () => {
  const sized = { count: 1, size: 0.5 }
  const history = [900, 1000, 1100].map((bytes, day) =>
    file(`h${day}.csv`, `01T0${day}:00`, { bytes, taken: `01T0${day}:15` }),
  )
  const small = (bytes: number, fields: Partial<Question> = {}) =>
    judge(
      ask({ expected: sized, found: [file('new.csv', '03T00:50', { bytes })], taken: history, ...fields }),
    ).small

  it('below the share of the median, and not at it', () => {
    expect(small(499)).toMatchObject([{ name: 'new.csv', bytes: 499, usual: 1000 }])
    expect(small(500)).toEqual([])
  })

  it('not where less than three are known, and not where nothing is said of it', () => {
    expect(small(1, { taken: history.slice(1) })).toEqual([])
    expect(small(1, { expected: { count: 1, size: undefined } })).toEqual([])
  })

  it('against the latest eight', () => {
    const old = Array.from({ length: 20 }, (_, hour) =>
      file(`o${hour}.csv`, `01T00:${String(hour).padStart(2, '0')}`, { bytes: 9000, taken: '01T00:30' }),
    )
    const eight = Array.from({ length: 8 }, (_, hour) =>
      file(`n${hour}.csv`, `01T1${hour}:00`, { bytes: 1000, taken: `01T1${hour}:15` }),
    )
    expect(small(600, { taken: [...old, ...eight] })).toEqual([])
    expect(small(600, { taken: [...old, ...eight.slice(1)] })).toEqual([])
    expect(small(600, { taken: old })).toHaveLength(1)
  })

  it('is not compared with itself, where a run has taken it already', () => {
    const itself = file('new.csv', '03T00:50', { bytes: 10, taken: '03T01:00' })
    const { small: found } = judge(ask({ expected: sized, taken: [...history.slice(0, 2), itself] }))
    expect(found).toEqual([])
    expect(judge(ask({ expected: sized, taken: [...history, itself] })).small).toHaveLength(1)
  })
})

test('what is remembered is what lies there, and what was taken since: not all that was ever archived', () => {
  const archived = file('a_20260225.csv', '01T00:50', { taken: '01T02:15' })
  const stays = file('b.csv', '01T00:50', { taken: '01T02:15' })
  const since = file('c.csv', '03T00:55', { taken: '03T01:31' })
  const { known } = judge(
    ask({
      found: [stays, TUE],
      taken: [archived, stays, since],
      now: at('03T01:32'),
      earlier: [seen(stays)],
    }),
  )
  expect(known).toEqual([stays, TUE, since].map(fileKey))
})
