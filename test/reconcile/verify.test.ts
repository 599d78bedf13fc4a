import { expect, test } from 'vitest'
import type { ProfileRecord } from '../../src/reconcile/match.ts'
import { compareWithProfile } from '../../src/reconcile/verify.ts'
import { biometric, careTeam, entryOf } from '../load/made-up-entries.ts'

const entry = entryOf(biometric)
const stored: ProfileRecord = {
  persistentId: entry.transactionId,
  codes: entry.evidence.codes,
  npi: undefined,
  name: undefined,
  sourceType: entry.sourceType,
  observedAt: entry.observedAt,
  value: Number(entry.evidence.value),
  unit: entry.evidence.unit,
}
const unnamed = { ...stored, persistentId: undefined }
const other = { ...stored, persistentId: 'another' }
const later = entry.observedAt + 1
const earlier = entry.observedAt - 1

test.each<[string, readonly ProfileRecord[] | undefined, unknown]>([
  ['under our id', [stored], { verdict: 'equal' }],
  ['without an id, of the same content', [unnamed], { verdict: 'equal' }],
  [
    'without unit or date, which the gateway need not give',
    [{ ...stored, unit: undefined, observedAt: undefined }],
    { verdict: 'equal' },
  ],
  ['with another value', [{ ...stored, value: -1 }], { verdict: 'differs', fields: ['value'] }],
  ['without a value', [{ ...stored, value: undefined }], { verdict: 'differs', fields: ['value'] }],
  [
    'with another unit and code',
    [{ ...stored, unit: 'x', codes: [] }],
    { verdict: 'differs', fields: ['unit', 'code'] },
  ],
  ['at another time', [{ ...stored, observedAt: later }], { verdict: 'differs', fields: ['date'] }],
  [
    'without an id, with another value',
    [{ ...unnamed, value: -1 }],
    { verdict: 'differs', fields: ['value'] },
  ],
  ['behind a newer one', [{ ...other, observedAt: later }], { verdict: 'hidden' }],
  ['behind another of the same time', [other], { verdict: 'hidden' }],
  ['in a profile that cannot be read', undefined, { verdict: 'hidden' }],
  ['behind one of an unknown time', [{ ...other, observedAt: undefined }], { verdict: 'hidden' }],
  ['beside an older one alone', [{ ...other, observedAt: earlier }], { verdict: 'missing' }],
  ['beside one of another source type', [{ ...unnamed, sourceType: 'other' }], { verdict: 'missing' }],
  ['in an empty profile', [], { verdict: 'missing' }],
])('a biometric %s', (_, profile, expected) => {
  expect(compareWithProfile(entry, profile)).toEqual(expected)
})

test('a care team is looked for in the whole list', () => {
  const team = entryOf(careTeam)
  const { npi, name } = team.evidence
  const listed = {
    ...unnamed,
    codes: [],
    npi,
    name,
    observedAt: team.observedAt,
    value: undefined,
    unit: undefined,
  }
  expect(compareWithProfile(team, [listed])).toEqual({ verdict: 'equal' })
  expect(compareWithProfile(team, [{ ...listed, name: 'x', observedAt: 0 }])).toEqual({
    verdict: 'differs',
    fields: ['date', 'name'],
  })
  // Where changed entries are replaced, a newer one of the NPI stands in its place.
  const newer = { ...listed, persistentId: 'another', observedAt: later }
  expect(compareWithProfile(team, [newer])).toEqual({ verdict: 'hidden' })
  expect(compareWithProfile(team, [newer, listed])).toEqual({ verdict: 'equal' })
  expect(compareWithProfile(team, [{ ...listed, npi: 'x' }])).toEqual({ verdict: 'missing' })
})

const DAY = 24 * 60 * 60 * 1000

test.each<[string, number | undefined, { isReplacing?: boolean; owesDeletion?: boolean }, boolean]>([
  ['one that it replaced', -DAY, {}, true],
  ['one that has replaced it', DAY, {}, true],
  ['one of a later date that no run has delivered', 2 * DAY, {}, false],
  ['one of the same date', 0, {}, false],
  ['one of the same date that was to be deleted', 0, { owesDeletion: true }, true],
  ['one without a date', undefined, {}, false],
  ['an older one, where the job adds', -DAY, { isReplacing: false }, false],
])('a care-team entry beside %s', (_name, after, { isReplacing = true, ...expected }, differs) => {
  const team = entryOf(careTeam)
  const { observedAt, evidence } = team
  const listed = {
    ...stored,
    codes: [],
    npi: evidence.npi,
    name: evidence.name,
    value: undefined,
    unit: undefined,
  }
  const own = { ...listed, persistentId: team.transactionId, observedAt }
  const beside = {
    ...other,
    npi: evidence.npi,
    observedAt: after === undefined ? undefined : observedAt + after,
  }
  const by = {
    isBearer: false,
    owesDeletion: false,
    isRemoved: false,
    ...(isReplacing ? { newest: observedAt + DAY } : {}),
  }
  expect(compareWithProfile(team, [own, beside], { ...by, ...expected })).toEqual(
    differs ? { verdict: 'differs', fields: ['replaced'] } : { verdict: 'equal' },
  )
  expect(compareWithProfile(team, [own], { ...by, ...expected })).toEqual({ verdict: 'equal' })
})

test.each<[string, boolean, readonly ProfileRecord[] | undefined, string]>([
  ['that a later export lists no longer, and that is gone', true, [], 'hidden'],
  ['that is gone', false, [], 'missing'],
  ['that a later export lists no longer, and that is there', true, [], 'equal'],
  ['in a list that cannot be read', true, undefined, 'hidden'],
])('a care-team entry %s', (name, isRemoved, profile, verdict) => {
  const team = entryOf(careTeam)
  const { npi, name: practice } = team.evidence
  const own = { ...unnamed, codes: [], npi, name: practice, observedAt: team.observedAt, value: undefined }
  const there = name.endsWith('is there') ? [own] : profile
  const expected = { isBearer: false, owesDeletion: false, isRemoved }
  expect(compareWithProfile(team, there, expected).verdict).toBe(verdict)
})

test.each<[string, boolean, readonly (boolean | undefined)[], readonly string[]]>([
  ['bears the mark, and should', true, [true], []],
  ['lacks the mark', true, [undefined], ['mark']],
  ['lacks the mark, which another entry of the provider bears', true, [false, true], []],
  ['bears the mark, and need not', false, [true], []],
  ['need not bear the mark', false, [false], []],
])('a care-team entry that %s', (_, isBearer, marks, fields) => {
  const team = entryOf(careTeam)
  const { npi, name } = team.evidence
  const { observedAt, transactionId } = team
  const own = { ...unnamed, codes: [], npi, name, observedAt, value: undefined, unit: undefined }
  const profile = marks.map((isMarked, at) => ({
    ...own,
    persistentId: at === 0 ? transactionId : 'another',
    ...(isMarked === undefined ? {} : { isMarked }),
  }))
  const stranger = { ...own, persistentId: 'stranger', npi: 'x', isMarked: true }
  const expected = { isBearer, owesDeletion: false, isRemoved: false }
  const verdict = fields.length === 0 ? { verdict: 'equal' } : { verdict: 'differs', fields }
  expect(compareWithProfile(team, [stranger, ...profile], expected)).toEqual(verdict)
  const [first = expect.fail(), ...others] = profile
  expect(compareWithProfile(team, [{ ...first, name: 'x' }, ...others], expected)).toEqual({
    verdict: 'differs',
    fields: ['name', ...fields],
  })
})
