import { expect, test } from 'vitest'
import { readShapes } from '../../../src/mapping-tools/draft/json-shapes.ts'

const shapes = new Map(readShapes().map((shape) => [shape.kind, shape]))

test.each([
  [
    'HL7 v2 as Mirth / NextGen Connect writes it',
    ["$.HL7Message.MSH['MSH.10'][0]['MSH.10.1']", "$.HL7Message.MSH['MSH.10']"],
    ["$.HL7Message.PID['PID.5'][0]['PID.5.2']"],
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

test('components that are named by their type are sought under each type; the whole field comes last', () => {
  const { reference = [] } = shapes.get('HL7 v2 as xml2js makes it of HAPI XML') ?? {}
  expect(reference[0]).toMatch(/'PID\.3'\]\[0\]\['CX\.1'\]\[0\]$/)
  expect(reference).toHaveLength(2 * 7 + 1)
  expect(reference.at(-1)).toMatch(/'PID\.3'\]\[0\]$/)
})

test.each([
  [[{ HL7Message: {} }], 'HL7 v2 as Mirth / NextGen Connect writes it'],
  [[{ resourceType: 'Observation' }], 'FHIR R4 Observation'],
  [[[['MSH', '|']]], 'HL7 v2 in positional lists'],
  [[{ MSH: [{ data: {} }] }], 'HL7 v2 as segments with an index'],
  // A list could have several of what a path asks for: it has none of these shapes.
  [[[{ HL7Message: {} }], [{ resourceType: 'Observation' }], { resourceType: 'Patient' }], undefined],
] as const)('%j', (documents, kind) => {
  for (const document of documents)
    expect(readShapes().find((shape) => shape.recognises(document))?.kind).toBe(kind)
})
