import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { noTallies } from '../../src/ledger/ledger.ts'
import { noCounts } from '../../src/model/balance.ts'
import { isAllKnown, newAndKnown } from '../../src/story/balance.ts'
import { addKnown } from '../../src/story/reasons.ts'
import { leftBehindWords, newWords } from '../../src/story/words.ts'

const SINCE = '2026-11-19T02:15:00.000Z'

test('new and known are together all that was left behind, of whatever kind', () => {
  const few = fc.nat(50)
  fc.assert(
    fc.property(few, few, few, few, fc.nat(100), (row, record, doubt, owed, share) => {
      const summary = { ...noCounts(), ...noTallies() }
      summary.rows.rejected = row
      summary.records.biometric.rejected = record
      summary.records.careTeam.inDoubt = doubt
      summary.careTeams.owed = owed
      const all = row + record + doubt + owed
      const known = Math.floor((all * share) / 100)
      const left = newAndKnown(summary, { known, since: known === 0 ? null : Date.parse(SINCE) })
      expect(left.new + left.known).toBe(all)
      expect(left).toEqual({ new: all - known, known, ...(known === 0 ? {} : { since: SINCE }) })
    }),
  )
})

test('where what was owed is done before the run is over, nothing is new', () => {
  const summary = { ...noCounts(), ...noTallies() }
  expect(newAndKnown(summary, { known: 2, since: null })).toEqual({ new: 0, known: 2 })
})

test.each([
  [['2026-11-20', '2026-11-19', undefined], '2026-11-19'],
  [[undefined, '2026-11-19', '2026-11-20'], '2026-11-19'],
  [[undefined], undefined],
])('reasons known since %j are known since %s together', (since, earliest) => {
  const shares = since.map((day) => ({
    count: 3,
    known: 2,
    ...(day === undefined ? {} : { knownSince: day }),
  }))
  const all = { count: 3 * since.length, known: 2 * since.length }
  expect(addKnown(shares)).toEqual(earliest === undefined ? all : { ...all, knownSince: earliest })
})

describe('in words', () => {
  it.each([
    [{ new: 22, known: 0 }, [], []],
    [{ new: 0, known: 22, since: SINCE }, ['none new'], ['0, known 22 (since 2026-11-19)']],
    [{ new: 1234, known: 1, since: SINCE }, ['1,234 new'], ['1,234, known 1 (since 2026-11-19)']],
    [undefined, [], []],
  ])('%o: %s', (leftBehind, title, line) => {
    const summary = leftBehind === undefined ? {} : { leftBehind }
    expect(newWords(summary)).toEqual(title)
    expect(leftBehindWords(summary)).toEqual(line)
  })
})

describe('all is known', () => {
  const run = { state: 'finished', exports: [{}], leftBehind: { new: 0, known: 2 } }
  it.each([
    ['where nothing new was left behind', run, true],
    ['not where one is new', { ...run, leftBehind: { new: 1, known: 2 } }, false],
    ['not where an export was not sent', { ...run, exports: [{}, { error: 'export-empty' }] }, false],
    ['not where its threshold has ended it', { ...run, state: 'failed' }, false],
    ['not where it was stopped', { ...run, state: 'interrupted' }, false],
    ['not where nobody knows', { state: 'finished', exports: [{}] }, false],
  ])('%s', (_, summary, known) => {
    expect(isAllKnown(summary)).toBe(known)
  })
})
