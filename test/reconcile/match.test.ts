import { describe, expect, it } from 'vitest'
import type { Entry } from '../../src/model/entry.ts'
import { matchAnswer } from '../../src/reconcile/match.ts'
import {
  biometric,
  careTeam,
  condition,
  DAY_MS,
  entryOf,
  OBSERVED_AT,
  people,
} from '../load/made-up-entries.ts'

const accountIds = ({ reference }: { reference: string }) => `id-of-${reference}`
type Answer = Parameters<typeof matchAnswer>[1]
const match = (entries: Entry[], echoes: Answer['echoes'], errors: Answer['errors'] = []) =>
  matchAnswer(entries, { echoes, errors }, accountIds).accepted
const doubted = (entries: Entry[], errors: Answer['errors']) =>
  matchAnswer(entries, { echoes: [], errors }, accountIds).doubted
const biometricEcho = (entry: Entry, fields: Record<string, unknown> = {}) => ({
  transactionId: entry.transactionId,
  account: { ...entry.account },
  name: 'Systolic blood pressure',
  observationDate: '2024-03-01T14:05:00.000Z',
  value: 118.5,
  unit: 'mm[Hg]',
  codes: [{ code: '8480-6' }],
  ...fields,
})
const conditionEcho = (fields: Record<string, unknown> = {}) => ({
  id: 'g-1',
  account: { type: 'partnerAccountId', reference: 'person-1' },
  codes: [{ code: 'E11.9' }],
  observationDate: String(OBSERVED_AT),
  ...fields,
})
const careTeamEcho = (fields: Record<string, unknown> = {}) => ({
  id: 'g-1',
  npi: '1234567893',
  name: 'Test Practice',
  observationDate: OBSERVED_AT,
  ...fields,
})
const one = entryOf(condition)
const other = entryOf(condition, { row: 2, person: 'person-2' })

describe('an echo', () => {
  it('names its record by transaction id or persistent record id, in any order', () => {
    const [a, b] = [entryOf(biometric, { row: 1 }), entryOf(biometric, { row: 2 })]
    const byMeta = { id: 'g-a', source: { meta: { persistentRecordId: a.transactionId } } }
    const byId = { id: 'g-b', transactionId: b.transactionId }
    expect(match([a, b], [byId, byMeta])).toEqual(
      new Map([
        [b, 'g-b'],
        [a, 'g-a'],
      ]),
    )
    // Two of one record say that something is amiss; so does one that names two.
    expect(match([a, b], [byId, byMeta, byId])).toEqual(new Map([[a, 'g-a']]))
    const ofBoth = { ...byMeta, transactionId: b.transactionId }
    expect(match([a, b], [ofBoth])).toEqual(new Map())
    expect(match([a, b], [ofBoth, byMeta, byId])).toEqual(new Map())
    expect(match([a, b], [byId, { ...byMeta, transactionId: b.transactionId }])).toEqual(new Map())
  })

  const sent = entryOf(biometric)
  const account = (type: string, reference: unknown) => ({ account: { type, reference } })
  it.each<[string, Record<string, unknown>]>([
    ['its value as text', { value: '118.50' }],
    ['no value', { value: undefined }],
    ['its date with another zone', { observationDate: '2024-03-01T15:05:00+01:00' }],
    ['its date in milliseconds', { observationDate: OBSERVED_AT }],
    ['its date in milliseconds as text', { observationDate: String(OBSERVED_AT) }],
    ['the account as resolved', account('accountId', 'id-of-person-1')],
    ['the account in URL form', account('entity', 'https://g.example/accounts/id-of-person-1')],
    ['no account', { account: undefined }],
    ['a further code', { codes: [{ code: '8480-6' }, { code: '271649006' }] }],
    ['a source of its own', { source: { name: 'x', type: 'y' } }],
  ])('that says the same counts: %s', (_name, fields) => {
    expect(match([sent], [biometricEcho(sent, fields)]).has(sent)).toBe(true)
  })

  it.each<[string, Record<string, unknown>]>([
    ['value', { value: 119 }],
    ['value that is null', { value: null }],
    ['value that is no number', { value: 'high' }],
    ['value that is empty', { value: '' }],
    ['unit', { unit: 'kPa' }],
    ['name', { name: 'Diastolic blood pressure' }],
    ['date', { observationDate: '2024-03-02T14:05:00.000Z' }],
    ['date that cannot be read', { observationDate: 'yesterday' }],
    ['code', { codes: [{ code: '8462-4' }] }],
    ['code that is none', { codes: [] }],
    ['account', account('partnerAccountId', 'person-2')],
    ['account id', account('accountId', 'id-of-person-2')],
    ['account id, which is our reference', account('accountId', 'person-1')],
    ['account in URL form', account('entity', 'https://g.example/accounts/id-of-person-2')],
    ['account of no known form', { account: 'person-1' }],
    ['id', { transactionId: `${sent.transactionId.slice(0, -1)}x` }],
  ])('of another %s is none of ours', (_name, fields) => {
    expect(match([sent], [biometricEcho(sent, fields)])).toEqual(new Map())
    const { transactionId, ...byMeta } = biometricEcho(sent, fields)
    const source = { meta: { persistentRecordId: transactionId } }
    expect(match([sent], [{ ...byMeta, transactionId: undefined, source }])).toEqual(new Map())
  })

  it.each<[string, Record<string, unknown>, boolean]>([
    ['as sent', {}, true],
    ['with an NPI that is a number', { npi: 1234567893 }, true],
    ['of the account as resolved', { userId: 'id-of-person-1' }, true],
    ['of another NPI', { npi: '1003000126' }, false],
    ['of another name', { name: 'Another' }, false],
    ['of another date', { observationDate: 1 }, false],
    ['of another account', { userId: 'id-of-person-2' }, false],
  ])('of a care-team entry counts where it says what was sent: %s', (_name, fields, counts) => {
    const entry = entryOf(careTeam)
    const source = { meta: { persistentRecordId: entry.transactionId } }
    const echo = { id: 'g-1', npi: '1234567893', name: 'Test Practice', observationDate: OBSERVED_AT, source }
    const found = matchAnswer(
      [entry],
      { echoes: [{ transactionId: undefined, ...echo, ...fields }], errors: [] },
      accountIds,
    )
    expect(found.accepted.has(entry)).toBe(counts)
  })

  it.each<[string, Record<string, unknown>, boolean, boolean]>([
    ['the account of the person', account('accountId', 'id-of-person-1'), true, false],
    ['another account', account('accountId', 'other'), false, true],
    ['another account, and another value', { ...account('accountId', 'other'), value: 1 }, false, false],
    ['the account of the person, and another value', { value: 1 }, false, false],
  ])('with %s is of this person, of another, or neither', (_what, fields, isAccepted, isElsewhere) => {
    const echoes = [biometricEcho(sent, fields)]
    const { accepted, elsewhere } = matchAnswer([sent], { echoes, errors: [] }, accountIds)
    expect([accepted.has(sent), elsewhere.includes(sent)]).toEqual([isAccepted, isElsewhere])
  })

  it('counts, unconfirmed, with an account id of an account whose id nobody knows', () => {
    const echo = biometricEcho(sent, account('accountId', 'a-1'))
    const { accepted, unconfirmed, learned } = matchAnswer(
      [sent],
      { echoes: [echo], errors: [] },
      () => undefined,
    )
    expect(accepted.has(sent)).toBe(true)
    expect([[...unconfirmed], [...learned]]).toEqual([[[sent, 'a-1']], []])
    const known = matchAnswer([sent], { echoes: [echo], errors: [] }, () => 'a-1')
    expect([known.accepted.size, known.unconfirmed.size, known.learned.size]).toEqual([1, 0, 0])
  })

  it.each<[string, readonly [string, string][], number]>([
    [
      'each person has an id',
      [
        ['person-1', 'a-1'],
        ['person-2', 'a-2'],
        ['person-1', 'a-1'],
      ],
      3,
    ],
    [
      'a person has two',
      [
        ['person-1', 'a-1'],
        ['person-2', 'a-2'],
        ['person-1', 'a-3'],
      ],
      1,
    ],
    [
      'two people have one',
      [
        ['person-1', 'a-1'],
        ['person-2', 'a-1'],
        ['person-3', 'a-3'],
      ],
      1,
    ],
    [
      'it is that of a person whose id is known',
      [
        ['person-1', 'id-of-known'],
        ['known', 'id-of-known'],
      ],
      1,
    ],
  ])('with account ids that nobody knows counts where they agree: %s', (_name, given, count) => {
    const knows = ({ reference }: { reference: string }) =>
      reference === 'known' ? 'id-of-known' : undefined
    for (const made of [biometric, careTeam]) {
      const entries = given.map(([person], at) => entryOf(made, { row: at + 1, person }))
      const echoes = entries.map((entry, at) => ({
        transactionId: undefined,
        source: { meta: { persistentRecordId: entry.transactionId } },
        ...(made === careTeam
          ? { userId: given[at]?.[1] }
          : { account: { type: 'accountId', reference: given[at]?.[1] } }),
      }))
      const { accepted, learned, unconfirmed } = matchAnswer(entries, { echoes, errors: [] }, knows)
      expect(accepted.size).toBe(count)
      // Each person is learned of several echoes, or has one that is to be confirmed.
      const people = new Set([...accepted.keys()].map((entry) => entry.account.reference))
      people.delete('known')
      expect(learned.size + unconfirmed.size).toBe(people.size)
      if (count === 3) expect([...learned]).toEqual([['person-1', 'a-1']])
    }
  })

  it('of a record that was never sent names none', () => {
    expect(
      match(
        [one],
        [
          conditionEcho({ transactionId: 'other' }),
          conditionEcho({ source: { meta: { persistentRecordId: 'other' } } }),
        ],
      ),
    ).toEqual(new Map())
  })

  it.each([
    ['as sent', { type: 'partnerAccountId', reference: 'person-1' }],
    ['as its id', { type: 'accountId', reference: 'id-of-person-1' }],
    ['in URL form', { type: 'entity', reference: 'https://gateway.example/accounts/id-of-person-1' }],
    [
      'in URL form with a slash at its end',
      { type: 'entity', reference: 'https://gateway.example/accounts/id-of-person-1/' },
    ],
  ])('without ids names a condition by its account %s, code and date', (_name, account) => {
    expect(match([one, other], [conditionEcho({ account })])).toEqual(new Map([[one, 'g-1']]))
  })

  it.each([
    String(OBSERVED_AT),
    OBSERVED_AT,
    '2024-03-01T14:05:00.000Z',
    '2024-03-01T14:05:00',
    '2024-03-01T15:05:00+01:00',
  ])('without ids is read with its date as %j, which is UTC unless it says otherwise', (observationDate) => {
    expect(match([one], [conditionEcho({ observationDate })]).has(one)).toBe(true)
  })

  it.each([
    ['person', conditionEcho({ account: { type: 'accountId', reference: 'id-of-person-3' } })],
    ['code', conditionEcho({ codes: [{ code: 'I10' }] })],
    ['date', conditionEcho({ observationDate: String(OBSERVED_AT + DAY_MS) })],
    ['account at all', conditionEcho({ account: undefined })],
  ])('without ids of another %s names none', (_name, echo) => {
    expect(match([one], [echo])).toEqual(new Map())
  })

  it('that could be either of two is neither; doubled it is none', () => {
    const twin = entryOf(condition, { row: 9, name: 'another name' })
    expect(match([one, twin], [conditionEcho(), conditionEcho()])).toEqual(new Map())
    expect(match([one, other], [conditionEcho()])).toEqual(new Map([[one, 'g-1']]))
    expect(match([one, other], [conditionEcho(), conditionEcho()])).toEqual(new Map())
  })

  it('without ids names a care-team entry by NPI, name and date', () => {
    const entry = entryOf(careTeam)
    const second = entryOf(careTeam, { row: 2, npi: '1003000126' })
    expect(match([entry, second], [careTeamEcho()])).toEqual(new Map([[entry, 'g-1']]))
    expect(
      match(
        [entry],
        [
          careTeamEcho({ name: 'Another' }),
          careTeamEcho({ observationDate: 1 }),
          careTeamEcho({ npi: undefined }),
        ],
      ),
    ).toEqual(new Map())
  })

  it('of no known form is passed over', () => {
    expect(match([one], [{}, { id: 'x' }])).toEqual(new Map())
  })
})

describe('an error that an answer of success lists', () => {
  const entries = people(4)
  const [first, second, third, fourth] = entries as [Entry, Entry, Entry, Entry]
  const echoes = entries.map((entry) => ({ transactionId: entry.transactionId, id: 'g' }))
  const all: readonly Entry[] = entries

  it.each<[string, Answer['errors'], readonly Entry[]]>([
    ['our transaction id', [{ message: 'no', transactionId: second.transactionId }], [second]],
    ['our id in words', [{ message: `record ${second.transactionId}: no` }], [second]],
    ['our id in a bare text', [`${second.transactionId} was not stored`], [second]],
    [
      'our id somewhere in it',
      [{ message: 'no', record: { source: { meta: { persistentRecordId: third.transactionId } } } }],
      [third],
    ],
    ['two ids', [{ message: `${first.transactionId} and ${third.transactionId}` }], [first, third]],
    [
      'a position, the first of which is 0',
      [
        { message: 'no', position: 0 },
        { message: 'no', position: 2 },
      ],
      [first, third],
    ],
    ['an index, which may count from 0 or from 1', [{ message: 'no', index: 2 }], [second, third]],
    ['the last place of those that count from 1', [{ message: 'no', index: 4 }], [fourth]],
    ['a place as text, deeper in it', [{ message: 'no', at: [{ position: '0' }] }], [first]],
    ['nothing', [{ message: 'a record was not stored' }], all],
    ['nothing but a place that there is not', [{ message: 'no', index: 9 }], all],
    ['nothing but an id of somebody else', [{ message: 'no', transactionId: 'other' }], all],
    ['one, beside one that names nothing', [{ transactionId: second.transactionId }, { message: 'no' }], all],
    ['nothing at all', [{}], all],
  ])('puts in doubt what it may be about, though it is echoed: it names %s', (_name, errors, expected) => {
    expect([...match(entries, echoes, errors).keys()]).toEqual(
      entries.filter((entry) => !expected.includes(entry)),
    )
    expect(new Set(doubted(entries, errors).keys())).toEqual(new Set(expected))
  })

  it('is told of the records that it may be about, each word once', () => {
    const errors = [
      { message: 'unit', transactionId: first.transactionId },
      { message: 'date', transactionId: second.transactionId },
      { message: 'more' },
      { message: 'more' },
      { code: 1 },
    ]
    expect([...doubted(entries, errors).values()]).toEqual(['unit; more', 'date; more', 'more', 'more'])
    expect([...doubted([first], [{}]).values()]).toEqual([''])
  })
})
