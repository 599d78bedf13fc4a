/** Parts of records that come several at a time: medications, relatives, disclosures, answers; and each part of a request. */
import { describe, expect, it } from 'vitest'
import { MedicalRecordsRequestSent } from '../../src/gateway/contract/medical-records.ts'
import { AnswersEntry, RequestEntry } from '../../src/model/entry.ts'
import { csvMapper, csvRules, faults, mapped, wires } from './mapping-under-test.ts'

describe('a condition', () => {
  const columns = ['id', 'd1', 'd2', 'n1', 'n2', 'on2', 'h', 'r1', 'r2', 'r3']
  const of = csvRules(
    columns,
    `conditions:
  asthma:
    when: { id: present }
    status: active
    medication:
      - { code: { from: d1, table: { A: "1", B: "2", none: "" } }, name: n1, system: RxNorm }
      - { code: d2, name: { from: n2, table: { x: Y } }, when: { on2: { in: ["", Y] } } }
    family: { history: { from: h, table: { yes: known } }, member: [{ from: r1, table: { m: mother } }, r2, r3] }
`,
  )
  const map = (row: Record<string, string>) => of({ id: '1', ...row })
  const drugs = (row: Record<string, string>): unknown => wires(map(row))[0]?.['medication']
  const family = (row: Record<string, string>): unknown => wires(map(row))[0]?.['family']
  const RXNORM = { codeSystem: '2.16.840.1.113883.6.88', codeSystemName: 'RxNorm' }

  it('has each medication with a code, whatever the others lack', () => {
    expect(drugs({ d1: 'A', d2: 'x1', n1: 'One', n2: 'x' })).toEqual([
      { code: '1', ...RXNORM, name: 'One' },
      { code: 'x1', name: 'Y' },
    ])
    expect(drugs({ d1: 'none', d2: 'x1' })).toEqual([{ code: 'x1' }])
    expect(drugs({ d1: 'B' })).toEqual([{ code: '2', ...RXNORM }])
    expect(drugs({ n1: 'One', n2: 'x' })).toBeUndefined()
    expect(drugs({ d1: 'A', d2: 'x1', on2: 'N' })).toEqual([{ code: '1', ...RXNORM }])
  })

  it('has each relative once, and a history', () => {
    expect(family({ h: 'yes', r1: 'm', r2: 'mother', r3: 'aunt' })).toEqual({
      history: 'known',
      member: ['mother', 'aunt'],
    })
    expect(family({ r2: 'uncle', r3: 'uncle' })).toEqual({ member: ['uncle'] })
    expect(family({ h: 'yes' })).toEqual({ history: 'known' })
    expect(family({})).toBeUndefined()
  })

  it.each([
    [{ d1: 'C' }, 'd1'],
    [{ d2: 'x1', n2: 'z' }, 'n2'],
    [{ h: 'no' }, 'h'],
    [{ r1: 'q' }, 'r1'],
  ])('with a part that its table lacks is rejected: %j', (row, column) => {
    expect(faults(map(row))).toEqual([`asthma: value-not-in-table ${column}`])
  })
})

describe('a request for medical records', () => {
  const columns = [
    'ref',
    'num',
    'first',
    'last',
    'born',
    'from',
    'to',
    'zip',
    'npi',
    'suite',
    'kind',
    'a',
    'b',
    'pdf',
    'off',
    't',
  ]
  const map = csvMapper(
    `mapping: m
read: { format: csv }
row: { key: [ref], account: { reference: ref } }
medicalRecords:
  aps:
    reference: num
    patient: { firstName: first, lastName: last, dob: { from: born, format: MM/dd/yyyy }, zip: zip }
    provider: { npi: npi, fax: kind, others: { suite: suite } }
    request:
      type: t
      requestType: Attending
      requestSubType: { from: kind, emptyWhen: [none], table: { life: Life, none: "" }, otherwise: Health }
      datesOfService: { start: { from: from, format: yyyy-MM-dd }, end: { from: to, format: yyyy-MM-dd } }
      disclosures: [lab_reports, { from: a }, { from: b }]
    authorization: { file: pdf }
    withdrawn: { off: Y }
`,
    columns,
  )
  const ROW = {
    ...{
      ref: 'r1',
      num: 'n1',
      first: 'Ann',
      last: 'Person',
      born: '02/03/1980',
      from: '2020-01-01',
      to: '2020-02-01',
    },
    ...{ zip: '02139', npi: '1234567893', suite: '7', kind: 'life' },
  }
  const requestOf = (row: Record<string, string> = {}) => {
    const [entry] = mapped(map({ ...ROW, ...row })).records
    if (!(entry instanceof RequestEntry)) expect.fail('no request')
    return entry.request
  }
  const bodyOf = (row: Record<string, string> = {}) => {
    const body: unknown = JSON.parse(requestOf(row).body)
    MedicalRecordsRequestSent.parse(body)
    return body as Record<string, unknown>
  }

  it('has each part in its place; what is empty is cleared', () => {
    expect(bodyOf()).toEqual({
      referenceNumber: 'n1',
      patient: {
        ...{ zip: '02139', firstName: 'Ann', lastName: 'Person', dob: '1980-02-03' },
        ...{ reference: 'r1', type: 'partnerAccountId' },
      },
      provider: { npi: '1234567893', fax: 'life', suite: '7' },
      request: {
        ...{ type: '', requestType: 'Attending', requestSubType: 'Life', disclosures: ['lab_reports'] },
        datesOfService: { type: 'startEnd', start: '2020-01-01', end: '2020-02-01' },
      },
      webhook: { url: '' },
    })
    expect(bodyOf({ zip: '', npi: '', suite: '' })).toMatchObject({
      patient: { zip: null },
      provider: { npi: null, suite: null },
    })
    expect(bodyOf({ t: 'x' })).toMatchObject({ request: { type: 'x' } })
  })

  it('has each disclosure once, of one cell and of several', () => {
    const of = (a: string, b: string): unknown =>
      (bodyOf({ a, b })['request'] as { disclosures: unknown }).disclosures
    expect(of('immunizations, nurse_notes', 'pathology')).toEqual([
      ...['lab_reports', 'immunizations', 'nurse_notes', 'pathology'],
    ])
    expect(of('nurse_notes,,lab_reports', 'nurse_notes')).toEqual(['lab_reports', 'nurse_notes'])
  })

  it('has an authorization that is a name of a file, and is withdrawn where the mapping says so', () => {
    expect(requestOf({ pdf: 'a.pdf' })).toMatchObject({
      authorization: 'a.pdf',
      isWithdrawn: false,
      reference: 'n1',
    })
    expect(requestOf({ off: 'Y' })).toMatchObject({ authorization: '', isWithdrawn: true })
    expect(requestOf({ pdf: 'x'.repeat(255) }).authorization).toHaveLength(255)
  })

  it.each([
    [{ num: '' }, 'value-missing', 'num'],
    [{ first: '' }, 'value-missing', 'first'],
    [{ last: '' }, 'value-missing', 'last'],
    [{ born: '' }, 'value-missing', 'born'],
    [{ born: '1980-02-03' }, 'date-invalid', 'born'],
    [{ born: '12/31/1899' }, 'date-invalid', 'born'],
    [{ kind: 'none' }, 'value-missing', 'kind'],
    [{ from: '' }, 'value-missing', 'from'],
    [{ to: '31.12.2020' }, 'date-invalid', 'to'],
    [{ to: '2019-12-31' }, 'date-invalid', '-'],
    [{ a: 'immunizations', b: 'notes' }, 'disclosure-unknown', 'a, b'],
    [{ a: 'immunizations, notes' }, 'disclosure-unknown', 'a, b'],
    [{ pdf: '../a.pdf' }, 'authorization-badly-named', 'pdf'],
    [{ pdf: '/a.pdf' }, 'authorization-badly-named', 'pdf'],
    [{ pdf: '.a' }, 'authorization-badly-named', 'pdf'],
    [{ pdf: 'C:a.pdf' }, 'authorization-badly-named', 'pdf'],
    [{ pdf: 'a\\b' }, 'authorization-badly-named', 'pdf'],
    [{ pdf: 'x'.repeat(256) }, 'authorization-badly-named', 'pdf'],
  ])('with %j is rejected: %s', (row, code, field) => {
    expect(faults(map({ ...ROW, ...row }))).toEqual([`aps: ${code} ${field}`])
  })

  it('may be of one day', () => {
    expect(bodyOf({ to: '2020-01-01' })).toMatchObject({
      request: { datesOfService: { start: '2020-01-01', end: '2020-01-01' } },
    })
  })
})

describe('answers to the paged test', () => {
  const map = csvMapper(
    `mapping: m
read: { format: csv }
row: { key: [id], account: { reference: id } }
assessment:
  answers:
    smoking: s
    sports: [s1, { from: s2, table: { T: tennis } }]
    weight: { facts: { now: w1, before: w2 } }
`,
    ['id', 's', 's1', 's2', 'w1', 'w2'],
  )
  const answersOf = (row: Record<string, string>) => {
    const [entry] = mapped(map({ id: '1', ...row })).records
    if (!(entry instanceof AnswersEntry)) expect.fail('no answers')
    return entry.answers.map(({ question, fact, option }) => [question, fact, option])
  }

  it('are those that the row has: one, of a list, by fact', () => {
    expect(answersOf({ s: 'no', s1: 'golf', s2: 'T', w1: '80', w2: '90' })).toEqual([
      ['smoking', undefined, 'no'],
      ['sports', undefined, 'golf'],
      ['sports', undefined, 'tennis'],
      ['weight', 'now', '80'],
      ['weight', 'before', '90'],
    ])
    expect(answersOf({ s2: 'T' })).toEqual([['sports', undefined, 'tennis']])
    expect(answersOf({ w2: '90' })).toEqual([['weight', 'before', '90']])
  })

  it('reject the row with one that cannot be read, and with none', () => {
    expect(faults(map({ id: '1', s: 'no', s2: 'X' }))).toEqual(['assessment: value-not-in-table s2'])
    expect(faults(map({ id: '1' }))).toEqual(['assessment: answers-missing -'])
  })
})
