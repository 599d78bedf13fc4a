import { expect, test } from 'vitest'
import { readShapes } from '../../src/draft/json-shapes.ts'

const shapes = new Map(readShapes().map((shape) => [shape.kind, shape]))

test.each([
  [
    'HL7 v2 with numeric keys, in groups',
    ["$.MSH['10'][0]['1']", "$.MSH['10'][0]['1']['1']", "$.MSH['10'][0]"],
    [
      "$.PATIENT_RESULT[?@.PATIENT].PATIENT.PID['5'][0]['2']",
      "$.PATIENT_RESULT[?@.PATIENT].PATIENT.PID['5'][0]['2']['1']",
    ],
  ],
  ['HL7 v2 in positional lists', ['$[0][10][0][0]'], ["$[?@[0] == 'PID'][5][0][1]"]],
  [
    'HL7 v2 as a tree of fields',
    ['$.header.fields[7].value[0][0].value[0]'],
    ["$.segments[?@.name == 'PID'].fields[4].value[0][1].value[0]"],
  ],
])('%s: the id of the message (MSH-10.1), and the first name (PID-5.2)', (kind, key, firstName) => {
  expect(shapes.get(kind)?.key).toEqual(key)
  expect(shapes.get(kind)?.register.firstName).toEqual(firstName)
})

test.each([
  [[{ PATIENT_RESULT: {} }], 'HL7 v2 with numeric keys, in groups'],
  [[{ resourceType: 'Observation' }], 'FHIR R4 Observation'],
  [[[['MSH', '|']]], 'HL7 v2 in positional lists'],
  // A list could have several of what a path asks for: it has none of these shapes.
  [[[{ PATIENT_RESULT: {} }], [{ resourceType: 'Observation' }], { resourceType: 'Patient' }], undefined],
] as const)('%j', (documents, kind) => {
  for (const document of documents)
    expect(readShapes().find((shape) => shape.recognises(document))?.kind).toBe(kind)
})
