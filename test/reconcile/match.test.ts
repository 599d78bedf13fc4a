import { describe, expect, it } from 'vitest'
import type { Entry } from '../../src/load/entry.ts'
import { matchEchoes } from '../../src/reconcile/match.ts'
import { biometric, careTeam, condition, DAY_MS, entryOf, OBSERVED_AT } from '../load/made-up-entries.ts'

const accountIds = ({ reference }: { reference: string }) => `id-of-${reference}`
const match = (entries: Entry[], echoes: Parameters<typeof matchEchoes>[1]) =>
  matchEchoes(entries, echoes, accountIds)
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
  it('names its record by transaction id or persistent record id, in any order, doubled or not', () => {
    const [a, b] = [entryOf(biometric, { row: 1 }), entryOf(biometric, { row: 2 })]
    const byMeta = { id: 'g-a', source: { meta: { persistentRecordId: a.transactionId } } }
    const byId = { id: 'g-b', transactionId: b.transactionId }
    expect(match([a, b], [byId, byMeta, byId])).toEqual(
      new Map([
        [b, 'g-b'],
        [a, 'g-a'],
      ]),
    )
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

  it('that could be either of two is neither; doubled it is still one', () => {
    const twin = entryOf(condition, { row: 9, name: 'another name' })
    expect(match([one, twin], [conditionEcho(), conditionEcho()])).toEqual(new Map())
    expect(match([one, other], [conditionEcho(), conditionEcho()])).toEqual(new Map([[one, 'g-1']]))
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
