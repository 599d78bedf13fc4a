import { describe, expect, it } from 'vitest'
import { csvRules, faults, mapped, wires } from './mapping-under-test.ts'

const COLUMNS = ['id', 'at', 'dm', 'state', 'code', 'since']
const BASE = { id: '1', at: '2026-02-04' }
const rules = (text: string): ReturnType<typeof csvRules> =>
  csvRules(COLUMNS, text, '', '{ from: at, format: ISO, zone: Europe/Berlin }', '{ name: N, type: ehr }')

describe('wide conditions', () => {
  const map = rules(`
conditions:
  type-2-diabetes: { when: { dm: [Y, "1"] }, status: active }
  other: { catalog: asthma, when: { dm: A }, status: { from: state, table: { a: active } }, observedAt: { from: since, format: yyyyMMdd, zone: UTC } }
`)

  it('are the whole record that the interface describes, with a number for a date', () => {
    for (const dm of ['Y', '1']) {
      expect(wires(map({ ...BASE, dm }))).toEqual([
        {
          transactionId: 'e-000007-rule-c',
          account: { reference: '1', type: 'partnerAccountId' },
          name: 'Type 2 diabetes mellitus',
          status: 'active',
          observationDate: Date.UTC(2026, 1, 3, 23),
          codes: [
            {
              code: 'E11.9',
              codeSystem: '2.16.840.1.113883.6.90',
              codeSystemName: 'ICD-10-CM',
              name: 'Type 2 diabetes mellitus',
            },
            {
              code: '44054006',
              codeSystem: '2.16.840.1.113883.6.96',
              codeSystemName: 'SNOMED CT',
              name: 'Type 2 diabetes mellitus',
            },
          ],
          source: {
            name: 'N',
            type: 'ehr',
            meta: { resourceKey: '1', batchId: 'batch-1', persistentRecordId: 'e-000007-rule-c' },
          },
        },
      ])
    }
  })

  it('of several SNOMED codes send the first, under a name of their own', () => {
    expect(wires(map({ ...BASE, dm: 'A', state: 'a', since: '20260101' }))).toMatchObject([
      {
        codes: [{ code: 'J45.909' }, { code: '195967001' }],
        status: 'active',
        observationDate: Date.UTC(2026, 0, 1),
      },
    ])
    expect(mapped(map({ ...BASE, dm: 'A', state: 'a', since: '20260101' })).records[0]?.rule).toBe('other')
  })

  it.each([
    [{ dm: 'A', since: '20260101' }, 'other: status-missing state'],
    [{ dm: 'A', state: 'b', since: '20260101' }, 'other: value-not-in-table state'],
    [{ dm: 'A', state: 'a' }, 'other: date-missing since'],
  ])('%j is refused: %s', (cells, fault) => {
    expect(faults(map({ ...BASE, ...cells }))).toEqual([fault])
  })

  it.each(['', 'N', 'maybe'])('dm %j is none', (dm) => {
    expect(map({ ...BASE, dm })).toMatchObject({ outcome: 'mapped', records: [], rejected: [] })
  })
})

describe('a status', () => {
  const of = (status: string) =>
    rules(`conditions: { asthma: { when: { dm: A }${status}, family: { history: { from: state } } } }`)
  const statuses = (status: string, state: string) =>
    wires(of(status)({ ...BASE, dm: 'A', state })).map((one) => [one['status'], Object.hasOwn(one, 'status')])

  it('is left out where the rule has none, or says that it may be empty', () => {
    expect(statuses('', 'a')).toEqual([[undefined, false]])
    expect(statuses(', status: { from: state, optional: true }', '')).toEqual([[undefined, false]])
    expect(statuses(', status: { from: state, optional: true }', 'a')).toEqual([['a', true]])
    expect(wires(of('')({ ...BASE, dm: 'A', state: 'a' }))).toMatchObject([{ family: { history: 'a' } }])
  })

  it('that is read and empty rejects the record', () => {
    expect(faults(of(', status: { from: state }')({ ...BASE, dm: 'A' }))).toEqual([
      'asthma: status-missing state',
    ])
    const looked = ', status: { from: state, table: { a: active }, optional: true }'
    expect(faults(of(looked)({ ...BASE, dm: 'A', state: 'b' }))).toEqual(['asthma: value-not-in-table state'])
  })
})

describe('coded conditions', () => {
  const map = rules(`
conditions:
  - { code: { from: code, system: ICD-10-CM }, when: { state: absent }, status: active }
  - { code: { from: code, system: SNOMED, unknown: skip }, when: { state: present }, status: { from: state } }
`)

  it('are found by each of their codes, and named by key and ordinal', () => {
    for (const [cells, rule, status] of [
      [{ code: 'I10' }, 'hypertension-1', 'active'],
      [{ code: '59621000', state: 'resolved' }, 'hypertension-1', 'resolved'],
    ] as const) {
      const outcome = map({ ...BASE, ...cells })
      expect(mapped(outcome).records.map((record) => record.rule)).toEqual([rule])
      expect(wires(outcome)).toMatchObject([{ status, codes: [{ code: 'I10' }, { code: '38341003' }] }])
    }
  })

  it('that the catalog lacks are refused, or left out where the mapping says so', () => {
    expect(faults(map({ ...BASE, code: 'Q99.9' }))).toEqual(['unmapped-1: code-unknown code'])
    expect(faults(map({ ...BASE }))).toEqual(['unmapped-1: code-missing code'])
    expect(map({ ...BASE, code: '123037004', state: 'x' })).toMatchObject({
      outcome: 'skipped',
      reason: 'nothing-kept',
    })
  })
})

describe('medication and family', () => {
  const columns = [...COLUMNS, 'rx', 'rx_name', 'history', 'mother', 'father', 'kin']
  const map = csvRules(
    columns,
    `
conditions:
  type-2-diabetes:
    when: { dm: Y }
    status: active
    medication:
      - { code: rx, system: RxNorm, name: rx_name }
      - { code: { constant: "A10BA02" }, system: ATC, when: { state: m } }
    family: { history: { from: history }, member: { mother: { mother: Y }, father: { father: Y } } }
  asthma: { when: { dm: Y }, status: active, family: { history: known, member: [kin] } }
`,
    '',
    '{ from: at, format: ISO, zone: Europe/Berlin }',
    '{ name: N, type: ehr }',
  )
  const sent = (cells: Record<string, string>): unknown[] =>
    wires(map({ ...BASE, dm: 'Y', ...cells })).map(({ medication, family }) => ({ medication, family }))

  it.each([
    [{}, undefined, undefined, { history: 'known' }],
    [
      { rx: '860975', rx_name: 'metformin', state: 'm' },
      [
        { code: '860975', codeSystem: '2.16.840.1.113883.6.88', codeSystemName: 'RxNorm', name: 'metformin' },
        { code: 'A10BA02', codeSystem: '2.16.840.1.113883.6.73', codeSystemName: 'ATC' },
      ],
      undefined,
      { history: 'known' },
    ],
    // A name without a code is no medication.
    [{ rx_name: 'metformin' }, undefined, undefined, { history: 'known' }],
    [
      { history: 'yes', mother: 'Y', father: 'Y', kin: 'aunt' },
      undefined,
      { history: 'yes', member: ['mother', 'father'] },
      { history: 'known', member: ['aunt'] },
    ],
    [{ father: 'Y' }, undefined, { member: ['father'] }, { history: 'known' }],
  ])('of %j', (cells, medication, family, other) => {
    expect(sent(cells)).toEqual([
      { medication, family },
      { medication: undefined, family: other },
    ])
  })

  it('are of the content: another medication is another record', () => {
    const contents = ['860975', '860976', ''].map(
      (rx) => mapped(map({ ...BASE, dm: 'Y', rx })).records[0]?.text,
    )
    expect(new Set(contents).size).toBe(3)
  })
})
