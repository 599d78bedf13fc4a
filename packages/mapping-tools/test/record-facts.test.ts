import { describe, expect, it } from 'vitest'
import { readJson } from '../../../src/extract/open-json.ts'
import { recordText } from '../../../src/load/batch-text.ts'
import type { JsonValue } from '../../../src/model/row.ts'
import { csvMapper, load, mapped } from '../../../test/transform/mapping-under-test.ts'
import { factsOf } from '../src/record-facts.ts'
import { shipped } from './cases-under-test.ts'

const mapping = shipped('acme-onsite.yaml').replace(
  'sendingSystem: acme',
  'sendingSystem: acme, dataQuality: good',
)
const columns = load(mapping).compiled.reads.map(({ name }) => name)
const ROW = {
  participant_id: 'P-1',
  screened_at: '02/04/2026 09:10',
  tc: '196.0',
  tobacco: 'Y',
  pcp_npi: '1234567893',
  pcp_name: 'Dr. Reed',
}

/** Every scalar of a body, however deep. */
const scalars = (value: JsonValue): string[] =>
  typeof value === 'object' && value !== null ? Object.values(value).flatMap(scalars) : [String(value)]

describe('the facts of a record', () => {
  const row = mapped(csvMapper(mapping, columns)(ROW))

  it.each(row.records.map((record) => ({ rule: record.rule, record })))(
    'of $rule leave out nothing but ids',
    ({ record }) => {
      const read = readJson(recordText({ kind: record.kind, text: record.text, transactionId: 'ID' }, 'ID'))
      const told = Object.values(factsOf(record)).join('\n')
      const ids = ['ID', row.key, row.account.reference]
      const body = 'value' in read ? scalars(read.value).filter((text) => !ids.includes(text)) : []
      expect(body.length).toBeGreaterThan(6)
      const known = [/^2\.16\.840\.1\.113883\.6\.(1|90|96)$/, /^\d{13}$/]
      for (const text of body) if (!known.some((form) => form.test(text))) expect(told).toContain(text)
    },
  )

  it('keep digits, and tell dates as instants', () => {
    const [cholesterol, tobacco, pcp] = row.records.map(factsOf)
    expect(cholesterol).toEqual({
      value: '196.0 mg/dL',
      name: 'Cholesterol, total',
      code: 'LOINC 2093-3',
      type: 'Observation',
      observedAt: '2026-02-04T14:10:00.000Z',
      accountType: 'partnerAccountId',
      source: 'Acme Onsite Screening',
      sourceType: 'screening',
      dataQuality: 'good',
      sendingSystem: 'acme',
    })
    expect(tobacco).toMatchObject({
      codes: 'ICD-10-CM Z72.0, SNOMED CT 110483000',
      observedAt: '2026-02-04T14:10:00.000Z',
    })
    expect(pcp).toMatchObject({ npi: '1234567893', primary: 'true', observedAt: '2026-02-04T14:10:00.000Z' })
  })

  it('tell a day before 1970 as one, too', () => {
    const { text = expect.fail('no date as a number') } =
      row.records.find((one) => /"observationDate":\d/.test(one.text)) ?? {}
    const early = text.replace(/"observationDate":\d+/, '"observationDate":-86400000')
    expect(factsOf({ text: early, primary: undefined })).toMatchObject({
      observedAt: '1969-12-31T00:00:00.000Z',
    })
  })

  it('name a system whose OID is not its own, and a code whose name is not that of the record', () => {
    const [record] = row.records
    if (record === undefined) return expect.fail('no record')
    const text = record.text
      .replaceAll('2.16.840.1.113883.6.1"', '1.2.3"')
      .replace('"name":"Cholesterol, total"}', '"name":"TC"}')
    expect(factsOf({ text, primary: undefined })).toMatchObject({
      code: 'LOINC 1.2.3 2093-3',
      codes: 'LOINC 1.2.3 2093-3 (TC)',
    })
  })
})
