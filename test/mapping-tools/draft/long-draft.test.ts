import { expect, test } from 'vitest'
import { draftedJson, draftedMapping, notes, rules } from './drafting.ts'

test('LOINC numbers in a column make rules of long rows', () => {
  const drafted = draftedMapping(
    'patient,taken,code,result,units,status,ref range\nA,2026-02-04,4548-4,5.1,%,final,4-6\nB,2026-02-05,8480-6,118,mmHg,preliminary,',
  )
  expect(rules(drafted)).toEqual([
    '- code: { from: code, system: LOINC, unknown: skip }',
    '  value: result',
    '  unit: units',
    '  refRange: ref range',
    '  status: { from: status, keep: [final] }',
  ])
  expect(drafted.draft.found).toEqual(['hba1c', 'systolic-bp'])
})

test("a vendor's own tests are matched by name", () => {
  const drafted = draftedMapping(
    'mrn,date,test,value,uom\n1,2026-02-04,HDL,50,mg/dL\n1,2026-02-04,Sodium,140,mmol/L\n1,2026-02-04,Zinc,1,mg/L',
  )
  expect(rules(drafted)[0]).toBe(
    '- code: { from: test, unknown: skip, table: { "HDL": hdl-cholesterol, "Sodium": sodium } }',
  )
  expect(notes(drafted).join('\n')).toContain('1 other codes were not matched')
  expect(drafted.text).not.toContain('Zinc')
})

test('SNOMED codes with an end are active without it', () => {
  expect(
    rules(
      draftedMapping('PATIENT,START,STOP,CODE\nA,2026-02-04,,44054006\nB,2026-02-04,2026-03-04,38341003'),
    ),
  ).toEqual([
    '- code: { from: CODE, system: SNOMED, unknown: skip }',
    '  when: { STOP: absent }',
    '  status: active',
    '- code: { from: CODE, system: SNOMED, unknown: skip }',
    '  when: { STOP: present }',
    '  status: resolved',
  ])
})

test('flat JSON is a table by its paths', () => {
  const drafted = draftedJson(
    'ndjson',
    { id: '1', vitals: { sbp: '118', weight_kg: '80' } },
    { id: '2', vitals: { sbp: '130' } },
  )
  expect(rules(drafted)).toEqual(['systolic-bp: $.vitals.sbp', 'body-weight: $.vitals.weight_kg'])
})

test('of JSON that is not known, lists are told by their paths', () => {
  const drafted = draftedJson('json', {
    meta: { v: '1' },
    data: { people: [{ id: '1', sbp: '118', more: ['a'] }] },
  })
  expect(drafted.text).toContain('records: "$.data.people[*]"')
  expect(drafted.text).toContain('"$.more[*]"')
  expect(rules(drafted)).toEqual(['systolic-bp: $.sbp'])
})
