import { describe, expect, it } from 'vitest'
import { csvRules, faults, jsonRules, mapped, wires } from './mapping-under-test.ts'

const COLUMNS = ['id', 'npi', 'doctor', 'phone', 'street', 'town', 'zip', 'site', 'web', 'since']
const map = csvRules(
  COLUMNS,
  `careTeams:
  pcp: { when: { doctor: present }, npi: npi, name: doctor, primary: true, phoneNumber: phone, address: street, city: town, zip: zip, location: site, profile: web }
  heart: { when: { site: heart }, npi: npi, name: { constant: Dr. Heart }, type: CARDIOLOGIST, observedAt: { from: since, format: HL7, zone: UTC } }`,
  '',
  '{ constant: "2026-02-04T09:10:00-05:00" }',
)
const BASE = { id: '1', npi: '1234567893', doctor: 'Dr. "N"' }

describe('care-team entries', () => {
  it('are the whole record that the interface describes, with a string of milliseconds for a date and no transaction id', () => {
    const full = {
      ...BASE,
      phone: '555-0100',
      street: '1 Main St',
      town: 'Hope',
      zip: '04847',
      site: 'North',
      web: 'https://example.org/n',
    }
    expect(wires(map(full))).toEqual([
      {
        account: { reference: '1', type: 'partnerAccountId' },
        name: 'Dr. "N"',
        type: 'PCP',
        profile: 'https://example.org/n',
        phoneNumber: '555-0100',
        location: 'North',
        address: '1 Main St',
        city: 'Hope',
        zip: '04847',
        npi: '1234567893',
        observationDate: String(Date.UTC(2026, 1, 4, 14, 10)),
        source: {
          name: 'N',
          type: 't',
          meta: { resourceKey: '1', batchId: 'batch-1', persistentRecordId: 'e-000007-rule-c' },
        },
      },
    ])
    expect(mapped(map(full)).records[0]).toMatchObject({
      kind: 'careTeam',
      rule: 'pcp',
      primary: true,
      evidence: { npi: '1234567893' },
    })
  })

  it('leave out what is empty', () => {
    const [record] = wires(map(BASE))
    expect(Object.keys(record ?? {}).sort()).toEqual([
      ...['account', 'name', 'npi', 'observationDate', 'source', 'type'],
    ])
  })

  it('may be of another type, dated by themselves', () => {
    expect(wires(map({ ...BASE, doctor: '', site: 'heart', since: '20260101' }))).toMatchObject([
      { type: 'CARDIOLOGIST', name: 'Dr. Heart', observationDate: String(Date.UTC(2026, 0, 1)) },
    ])
  })

  it('may take their type from a column, which must tell one', () => {
    const typed = csvRules(
      COLUMNS,
      'careTeams: { any: { npi: npi, name: doctor, type: { from: site, case: upper } } }',
    )
    expect(wires(typed({ ...BASE, site: 'pcp' }))).toMatchObject([{ type: 'PCP' }])
    expect(faults(typed(BASE))).toEqual(['any: type-missing site'])
  })

  it('may go without a type where the mapping says that it may be empty', () => {
    const typed = csvRules(
      COLUMNS,
      'careTeams: { any: { npi: npi, name: doctor, primary: true, type: { from: site, optional: true } } }',
    )
    expect(wires(typed({ ...BASE, site: 'Nurse' }))).toMatchObject([{ type: 'Nurse' }])
    expect(wires(typed(BASE)).map((one) => Object.hasOwn(one, 'type'))).toEqual([false])
  })

  it.each([
    [{ npi: '' }, 'pcp: npi-missing npi'],
    [{ npi: '1234567890' }, 'pcp: npi-invalid npi'],
    [{ npi: '123456789' }, 'pcp: npi-invalid npi'],
    [{ npi: '360' }, 'pcp: npi-invalid npi'],
    [{ doctor: '', site: 'heart' }, 'heart: date-missing since'],
  ])('%j is refused: %s', (cells, fault) => {
    expect(faults(map({ ...BASE, ...cells }))).toEqual([fault])
  })

  it.each([
    ['primary: true', true],
    ['primary: false', undefined],
    ['type: PCP', undefined],
    ['primary: { doctor: Dr. Elm }', true],
    ['primary: { doctor: Dr. Oak }', false],
  ])('that have %s say of the mark: %s', (said, primary) => {
    const mapper = csvRules(COLUMNS, `careTeams: { pcp: { npi: npi, name: doctor, ${said} } }`)
    const { records } = mapped(mapper({ ...BASE, doctor: 'Dr. Elm' }))
    expect(records.map((one) => one.primary)).toEqual([primary])
  })

  it.each([
    ['npi: npi', false],
    ['npi: { constant: "1003000126" }', undefined],
  ])('that say nothing of the mark beside a rule that does, and have %s: %s', (npi, primary) => {
    const mapper = csvRules(
      COLUMNS,
      `careTeams:
  pcp: { when: { site: pcp }, npi: npi, name: doctor, primary: true }
  seen: { when: { site: seen }, ${npi}, name: doctor }`,
    )
    const saidAt = (site: string) => mapped(mapper({ ...BASE, site })).records.map((one) => one.primary)
    expect([saidAt('pcp'), saidAt('seen')]).toEqual([[true], [primary]])
  })

  it('without a name are refused', () => {
    const nameless = csvRules(COLUMNS, 'careTeams: { pcp: { npi: npi, name: doctor } }')
    expect(faults(nameless({ ...BASE, doctor: '' }))).toEqual(['pcp: name-missing doctor'])
  })
})

describe('care teams in a list', () => {
  const nested = jsonRules(
    '{ order: "$.orders[*]", member: "order.members[*]" }',
    `careTeams:
  - { when: { member.kind: doctor }, npi: member.npi, name: member.name, type: { from: member.role, table: { GP: PCP, HT: CARDIOLOGIST } } }
  - { when: { order.by: present }, npi: order.by, name: { constant: Orderer }, type: ORDERER }`,
  )
  const member = (kind: string, npi: string, role: string) => ({
    kind,
    npi,
    name: `Dr. ${npi.slice(-1)}`,
    role,
  })

  it('make a record of each element, called by their ordinals in the row', () => {
    const outcome = nested({
      id: '1',
      orders: [
        { by: '1234567893', members: [member('doctor', '1245319599', 'GP'), member('nurse', '1', 'RN')] },
        { by: '', members: [member('doctor', '360', 'GP'), member('doctor', '1003000126', 'HT')] },
      ],
    })
    expect(mapped(outcome).records.map(({ rule, evidence }) => [rule, evidence.npi])).toEqual([
      ['care-team-1', '1234567893'],
      ['care-team-2', '1245319599'],
      ['care-team-4', '1003000126'],
    ])
    expect(wires(outcome).map(({ type }) => type)).toEqual(['ORDERER', 'PCP', 'CARDIOLOGIST'])
    expect(faults(outcome)).toEqual(['care-team-3: npi-invalid member.npi'])
  })

  it('that are all left out skip the row', () => {
    expect(nested({ id: '1', orders: [{ by: '', members: [member('nurse', '1', 'RN')] }] })).toMatchObject({
      outcome: 'skipped',
      reason: 'nothing-kept',
    })
  })
})
