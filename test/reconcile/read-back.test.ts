import { describe, expect, it } from 'vitest'
import { judge, judgeAny, judgeOfAnyKey, type ProfileRecord } from '../../src/reconcile/match.ts'
import {
  biometric,
  careTeam,
  condition,
  DAY_MS,
  entryOf,
  OBSERVED_AT,
  SOURCE_TYPE,
} from '../load/made-up-entries.ts'

const entry = entryOf(biometric)
const found = (fields: Partial<ProfileRecord> = {}): ProfileRecord => ({
  persistentId: undefined,
  codes: ['8480-6'],
  npi: undefined,
  name: 'Systolic blood pressure',
  sourceType: SOURCE_TYPE,
  observedAt: OBSERVED_AT,
  value: 118.5,
  unit: 'mm[Hg]',
  ...fields,
})
const foreign = 'ffffffffffffffff-000001-other-00000000'

const elsewhere = entry.transactionId.replace(/^[0-9a-f]{16}-\d+/, 'ffffffffffffffff-000099')

describe('what a profile says of a record that may have been sent from another export', () => {
  it.each<[string, string, object?]>([
    ['the same record under the id that it had there', elsewhere, { storedAs: elsewhere }],
    ['another record, with the same value', `${elsewhere.slice(0, -1)}x`],
    ['its twin in this export', entry.transactionId.replace(/-\d+-/, '-000099-')],
    ['one whose id is none of ours', 'anything'],
  ])('%s', (_name, persistentId, verdict = { inItsPlace: persistentId }) => {
    expect(judgeAny(entry, [found({ persistentId })])).toEqual(verdict)
    expect(judge(entry, [found({ persistentId })])).toBe('hidden')
    expect(judgeAny(entry, [found({ persistentId, value: 119 })])).toEqual({ inItsPlace: persistentId })
  })

  it.each([
    [
      'a newer one beside it',
      [found({ persistentId: foreign }), found({ persistentId: foreign, observedAt: OBSERVED_AT + 1 })],
    ],
    ['a newer one alone', [found({ persistentId: foreign, observedAt: OBSERVED_AT + 1 })]],
    ['one without a date beside it', [found({ persistentId: foreign }), found({ observedAt: undefined })]],
    ['one of the same instant without an id', [found({ value: 119 })]],
  ])('nothing stands in its place where the profile shows %s', (_name, profile) => {
    expect(judgeAny(entry, profile)).toBe('hidden')
  })
})

describe('what a profile says of a record that may have been sent under another key', () => {
  const content = /[0-9a-f]{8}$/
  const otherKey = (id: string): string =>
    id.replace(content, (digits) => (digits === '0'.repeat(8) ? '1' : '0').repeat(8))
  it.each<[string, string, boolean]>([
    ['the same record of the export', otherKey(entry.transactionId), true],
    ['the same record of another export', otherKey(elsewhere), true],
    [
      'the record of the same row of another export',
      otherKey(entry.transactionId).replace(/^[0-9a-f]{16}/, 'f'.repeat(16)),
      true,
    ],
    [
      'a record of another row of the export',
      otherKey(entry.transactionId).replace(/-\d+-/, '-000099-'),
      false,
    ],
    ['a record of another rule', otherKey(entry.transactionId).replace('systolic-bp', 'other'), false],
    ['an id that is none of ours', 'anything', false],
  ])('%s', (_, persistentId, isSame) => {
    const verdict = isSame ? { storedAs: persistentId } : { inItsPlace: persistentId }
    expect(judgeOfAnyKey(entry, [found({ persistentId })])).toEqual(verdict)
    // By one key, another content is another record.
    expect(judgeAny(entry, [found({ persistentId })])).toEqual({ inItsPlace: persistentId })
  })
})

describe('what a profile says of a biometric', () => {
  it.each([
    ['nothing there', [], 'absent'],
    ['our id', [found({ persistentId: entry.transactionId })], 'stored'],
    [
      'our id, whatever else it says',
      [found({ persistentId: entry.transactionId, observedAt: 0, value: 1, codes: [] })],
      'stored',
    ],
    ['the same record, its meta trimmed', [found()], 'stored'],
    ['the same record under another id', [found({ persistentId: foreign })], 'hidden'],
    ['an older one', [found({ observedAt: OBSERVED_AT - DAY_MS, persistentId: foreign })], 'absent'],
    ['a newer one', [found({ observedAt: OBSERVED_AT + DAY_MS, persistentId: foreign })], 'hidden'],
    ['a newer one, its meta trimmed', [found({ observedAt: OBSERVED_AT + DAY_MS })], 'hidden'],
    ['another value on the same date', [found({ value: 119 })], 'hidden'],
    ['another unit on the same date', [found({ unit: 'kPa' })], 'hidden'],
    ['one without a date', [found({ observedAt: undefined, persistentId: foreign })], 'hidden'],
    [
      'a newer one of another code',
      [found({ codes: ['8462-4'], observedAt: OBSERVED_AT + DAY_MS })],
      'absent',
    ],
    [
      'a newer one of another source type',
      [found({ sourceType: 'claim', observedAt: OBSERVED_AT + DAY_MS })],
      'absent',
    ],
    [
      'a newer one of a source type untold',
      [found({ sourceType: undefined, observedAt: OBSERVED_AT + DAY_MS })],
      'hidden',
    ],
  ] as const)('%s', (_name, profile, verdict) => {
    expect(judge(entry, profile)).toBe(verdict)
  })
})

it.each([
  ['nothing there', [], 'absent'],
  ['the same, its meta trimmed', [found({ codes: ['E11.9'], value: undefined, unit: undefined })], 'stored'],
  ['a newer one', [found({ codes: ['E11.9'], observedAt: OBSERVED_AT + 1 })], 'hidden'],
] as const)('a condition: %s', (_name, profile, verdict) => {
  expect(judge(entryOf(condition), profile)).toBe(verdict)
})

const listed = (fields: Partial<ProfileRecord> = {}) =>
  found({ codes: [], npi: '1234567893', name: 'Test Practice', value: undefined, unit: undefined, ...fields })
it.each([
  ['nothing there', [], 'absent'],
  ['the same, its meta trimmed', [listed()], 'stored'],
  ['another name', [listed({ name: 'Another' })], 'absent'],
  ['a newer one of the same NPI, as all are listed', [listed({ observedAt: OBSERVED_AT + 1 })], 'absent'],
] as const)('a care-team entry: %s', (_name, profile, verdict) => {
  expect(judge(entryOf(careTeam), profile)).toBe(verdict)
})
