import { expect, test } from 'vitest'
import type { JsonValue } from '../../../../src/model/row.ts'
import { shapeByNames } from '../../src/draft/json-shapes.ts'
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
  expect(shape?.each).toEqual({ orders: '$.orders[*]', results: 'orders.results[*]' })
  expect(shape?.biometrics).toMatchObject({ code: ['results.code'], value: ['results.value'], unit: [] })
  expect(shape?.register).toMatchObject({ firstName: ['$.patient.firstName'] })
})

test('a lone result is a level, as it may be a list in the next message; a list of patients leads to one alone', () => {
  const shape = shapeOf({ OBX: { OBX_3: '4548-4', OBX_5: '5.1' }, PID: [{ PID_3: ['7', '8'] }] })
  expect(shape?.each).toEqual({ obx: '$.OBX[*]' })
  expect(shape?.reference).toEqual(['$.PID[?@.PID_3].PID_3[0]'])
})

test('a number alone is a field of the only segment that its object names', () => {
  const alone = shapeOf({ msg: { OBX_3: '4548-4', field5: '5.1' } })
  expect(alone?.biometrics).toMatchObject({ value: ['$.msg.field5'] })
  const either = shapeOf({ msg: { OBX_3: '4548-4', OBR_4: 'panel', field5: '5.1' } })
  expect(either?.biometrics?.value ?? []).toEqual([])
})

const CONVERTED: readonly (readonly [string, JsonValue, object])[] = [
  [
    'Mirth / NextGen Connect',
    {
      HL7Message: {
        MSH: { 'MSH.10': { 'MSH.10.1': 'M1' } },
        PID: { 'PID.5': [{ 'PID.5.1': 'Reed', 'PID.5.2': 'Ann' }] },
        OBX: { 'OBX.3': { 'OBX.3.1': 'A1C' }, 'OBX.5': { 'OBX.5.1': '5.1' } },
      },
    },
    {
      each: { obx: '$.HL7Message.OBX[*]' },
      key: ["$.HL7Message.MSH['MSH.10'][0]['MSH.10.1']"],
      firstName: ["$.HL7Message.PID['PID.5'][0]['PID.5.2']"],
      value: ["obx['OBX.5'][0]['OBX.5.1']"],
    },
  ],
  [
    'segments with an index',
    {
      MSH: [{ index: '0', data: { 'MSH.10': 'M1' } }],
      PID: [{ index: '1', data: { 'PID.5': { 'PID.5.1': 'Reed', 'PID.5.2': 'Ann' } } }],
      OBX: [{ index: '3', data: { 'OBX.3': { 'OBX.3.1': 'A1C' }, 'OBX.5': '5.1' } }],
    },
    {
      each: { obx: '$.OBX[*]' },
      key: ["$.MSH[?@.data].data['MSH.10']"],
      firstName: ["$.PID[?@.data].data['PID.5'][0]['PID.5.2']"],
      value: ["obx.data['OBX.5']"],
    },
  ],
  [
    'xml2js of HAPI, components by their types',
    {
      ORU_R01: {
        MSH: [{ 'MSH.10': ['M1'] }],
        'ORU_R01.GROUP': [
          {
            'ORU_R01.PATIENT': [
              { PID: [{ 'PID.5': [{ 'XPN.1': [{ 'FN.1': ['Reed'] }], 'XPN.2': ['Ann'] }] }] },
            ],
            OBSERVATION: [{ OBX: [{ 'OBX.3': [{ 'CE.1': ['A1C'] }], 'OBX.5': ['5.1'] }] }],
          },
        ],
      },
    },
    {
      each: {
        oru_r01_group: "$.ORU_R01['ORU_R01.GROUP'][*]",
        observation: 'oru_r01_group.OBSERVATION[*]',
        obx: 'observation.OBX[*]',
      },
      key: ["$.ORU_R01.MSH[?@['MSH.10']]['MSH.10'][0]"],
      firstName: [
        "$.ORU_R01['ORU_R01.GROUP'][?@['ORU_R01.PATIENT']]['ORU_R01.PATIENT'][?@.PID].PID[?@['PID.5']]['PID.5'][0]['XPN.2'][0]",
      ],
      value: ["obx['OBX.5'][0]"],
    },
  ],
]

test.each(CONVERTED)('%s', (_, document, paths) => {
  const shape = shapeOf(document)
  const { firstName } = shape?.register ?? {}
  expect({ each: shape?.each, key: shape?.key, firstName, value: shape?.biometrics?.value }).toEqual(paths)
})

test.each([
  ['no values', { results: [{ code: '4548-4' }] }],
  ['no codes', { results: [{ value: '5.1' }] }],
  ['names that could be anything', { code: '4548-4', value: '5.1', unit: '%' }],
  ['a goal', { goal: { results: [RESULT] } }],
  ['lists in lists', { results: [[RESULT]] }],
])('%s: no results', (_, document) => {
  expect(shapeOf(document)).toBeUndefined()
})

test('results by their numbers without values are results, and asked about', () => {
  const { text } = draftedJson('ndjson', { PID_3: 'P1', OBX: [{ OBX_3: '4548-4', OBX_5: null }] })
  expect(text).toContain('each: { obx: "$.OBX[*]" }')
  expect(text).toContain('DECIDE: no codes or no values were found')
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
  expect(text).toMatch(/DECIDE: does \$\.MSH_7 contain the observation date\?/)
})
