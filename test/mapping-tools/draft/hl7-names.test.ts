import { expect, test } from 'vitest'
import { shapeByNames } from '../../../src/mapping-tools/draft/json-shapes.ts'
import type { JsonValue } from '../../../src/model/row.ts'
import { draftedJson, vocabulary } from './drafting.ts'

const shapeOf = (...rows: JsonValue[]) => shapeByNames(rows, vocabulary)
const RESULT = { code: '4548-4', value: '5.1' }

test('what stands elsewhere under the same names is of something else', () => {
  const shape = shapeOf({
    patient: { firstName: 'Ann', mother: { firstName: 'Eve' } },
    orders: [{ results: [RESULT] }],
    observation: { code: 'x', unit: 'kg' },
    target: { results: [{ code: '2093-3', value: '180', unit: 'mg/dL' }] },
  })
  expect(shape?.each).toEqual({ level_1: '$.orders[*]', level_2: 'level_1.results[*]' })
  expect(shape?.biometrics).toMatchObject({ code: ['level_2.code'], value: ['level_2.value'], unit: [] })
  expect(shape?.register).toMatchObject({ firstName: ['$.patient.firstName'] })
})

test('a lone result is a level, as it may be a list in the next message; a list of patients leads to one alone', () => {
  const shape = shapeOf({ OBX: { OBX_3: '4548-4', OBX_5: '5.1' }, PID: [{ PID_3: ['7', '8'] }] })
  expect(shape?.each).toEqual({ level_1: '$.OBX[*]' })
  expect(shape?.reference).toEqual(['$.PID[?@.PID_3].PID_3[0]'])
})

test.each([
  ['no codes', { results: [{ value: '5.1' }] }],
  ['names that could be anything', { code: '4548-4', value: '5.1', unit: '%' }],
  ['a goal', { goal: { results: [RESULT] } }],
  ['lists in lists', { results: [[RESULT]] }],
])('%s: no results', (_, document) => {
  expect(shapeOf(document)).toBeUndefined()
})

test('where a row is one result, its key says which', () => {
  const row = { pid3: 'P1', msh10: 'M1', obr7: '20260204', obx3: '4548-4', obx5: '5.1', obx6: '%' }
  const { text } = draftedJson('json', [row, { ...row, obx3: '2093-3', obx5: '180', obx6: 'mg/dL' }])
  expect(text).toContain('key: [$.pid3, $.msh10, $.obr7, $.obx3]')
})

test('when it was written is asked about, where nothing says when it was observed', () => {
  const { text } = draftedJson('ndjson', {
    MSH_7: '20260301',
    PID_3: 'P1',
    OBX: [{ OBX_3: '4548-4', OBX_5: '5.1' }],
  })
  expect(text).toMatch(/DECIDE: does \$\.MSH_7 say when it was observed\?/)
})
