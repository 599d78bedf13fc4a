import { describe, expect, it } from 'vitest'
import type { CareTeamReturned } from '../../src/gateway/contract/care-team.ts'
import { findListed, planCareTeams, replacedBy } from '../../src/load/care-team-plan.ts'
import { careTeam, DAY_MS, entryOf, type Made, OBSERVED_AT } from './made-up-entries.ts'

const NPI = '1234567893'
const made = (fields: Made = {}) => entryOf(careTeam, { npi: NPI, ...fields })
/** As the gateway would list `made()`. */
const listed = (fields: Partial<CareTeamReturned> = {}): CareTeamReturned => ({
  id: 'id-1',
  npi: NPI,
  name: 'Test Practice',
  type: 'PCP',
  pcp: false,
  observationDate: OBSERVED_AT,
  ...fields,
})
const dateOf = ({ observationDate }: CareTeamReturned): number | undefined =>
  typeof observationDate === 'number' ? observationDate : undefined
const [before, after] = [OBSERVED_AT - DAY_MS, OBSERVED_AT + DAY_MS]

describe('a care-team entry of which the account has', () => {
  const renamed = listed({ name: 'Former Practice' })
  it.each([
    ['nothing', [], ['send', 'send', 'send']],
    ['the same', [listed()], ['known', 'known', 'known']],
    ['the same, older', [listed({ observationDate: before })], ['known', 'known', 'known']],
    ['the same, newer', [listed({ observationDate: after })], ['known', 'known', 'known']],
    [
      'the same with a field that is not sent',
      [listed({ city: 'Springfield' })],
      ['known', 'known', 'known'],
    ],
    ['another provider', [listed({ npi: '1003000126' })], ['send', 'send', 'send']],
    ['another name, older', [{ ...renamed, observationDate: before }], ['send', 'send', 'omit']],
    ['another name, of the same date', [renamed], ['send', 'send', 'omit']],
    ['another name, newer', [{ ...renamed, observationDate: after }], ['send', 'omit', 'omit']],
    ['another name, undated', [{ ...renamed, observationDate: undefined }], ['send', 'send', 'omit']],
    ['another type', [listed({ type: 'SPECIALIST' })], ['send', 'send', 'omit']],
    ['no name', [listed({ name: undefined })], ['send', 'send', 'omit']],
    [
      'the same, and another name that is newer',
      [listed(), { ...renamed, observationDate: after }],
      ['known', 'known', 'known'],
    ],
  ] as const)('%s', (_name, list, steps) => {
    const entry = made()
    const found = (['add', 'replace', 'keep'] as const).map(
      (changed) => planCareTeams([entry], list, dateOf, changed).get(entry)?.step,
    )
    expect(found).toEqual(steps)
  })

  it('tells why it is passed over', () => {
    const entry = made()
    const newer = [listed({ name: 'Former Practice', observationDate: after })]
    expect(planCareTeams([entry], newer, dateOf, 'keep').get(entry)).toMatchObject({ why: 'care-team-kept' })
    expect(planCareTeams([entry], newer, dateOf, 'replace').get(entry)).toMatchObject({
      why: 'care-team-outdated',
    })
  })

  it('the same again in the chunk is sent once: the oldest', () => {
    const [newer, older] = [made({ row: 1, observedAt: after }), made({ row: 2 })]
    const plan = planCareTeams([newer, older], [], dateOf, 'add')
    expect(plan.get(older)).toEqual({ step: 'send' })
    expect(plan.get(newer)).toEqual({ step: 'share', first: older })
  })
})

describe('what a new entry replaces', () => {
  const entry = made({ name: 'New Practice' })
  const kept = listed({ id: 'new', name: 'New Practice' })
  const old = (fields: Partial<CareTeamReturned> = {}) =>
    listed({ id: 'old', observationDate: before, ...fields })
  const twoRoles = made({ row: 1, rule: 'other', name: 'Beside' })
  it.each([
    ['the older of its NPI', [kept, old()], ['old']],
    ['those of the same date, too', [kept, old({ observationDate: OBSERVED_AT })], ['old']],
    ['not a newer one', [kept, old({ observationDate: after })], []],
    ['not one without a date', [kept, old({ observationDate: undefined })], []],
    ['not another provider', [kept, old({ npi: '1003000126' })], []],
    ['nothing, where the gateway has updated in place', [{ ...kept, id: 'old' }], []],
    ['not what was delivered with it', [kept, old({ name: 'Beside', observationDate: OBSERVED_AT })], []],
  ] as const)('%s', (_name, list, ids) => {
    const found = findListed(entry, undefined, list, dateOf)
    expect(found).toBeDefined()
    if (found !== undefined) expect(replacedBy(entry, found, list, [twoRoles], dateOf)).toEqual(ids)
  })
})

describe('a stored entry is found', () => {
  const entry = made()
  const ours = { name: 'Test', meta: { persistentRecordId: entry.transactionId } }
  it.each([
    ['by our id, whatever else it says', listed({ source: ours, name: 'Other', observationDate: 0 }), true],
    ['by all that was sent', listed(), true],
    ['by the id that the gateway gave it', listed({ id: 'given', observationDate: undefined }), true],
    ['not by an id whose fields are others', listed({ id: 'given', name: 'Other' }), false],
    ['not by the fields of another date', listed({ observationDate: before }), false],
  ] as const)('%s', (_name, one, isFound) => {
    expect(findListed(entry, 'given', [one], dateOf) !== undefined).toBe(isFound)
  })
})
