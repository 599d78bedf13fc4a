import { globSync, readFileSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readDefinition } from '../../src/extract/read-definition.ts'
import { jsonNames, rootScope } from '../../src/transform/scope.ts'
import { allRows, brief, numberSource } from '../extract/export-file.ts'
import { NEEDS_CORPUS } from '../needed.ts'
import { corpusPath, WITHOUT_CORPUS } from './corpus-file.ts'

const DOCUMENT = readDefinition.parse({ format: 'json' })
const files = (pattern: string): string[] => (WITHOUT_CORPUS ? [] : globSync(corpusPath(pattern)).sort())

const ALL = ['json-shapes/*/*.json', 'hl7v2/pairs-*/**/*.json', 'redox/**/*.json'].flatMap(files)

/** How a shape is walked to its OBX segments: the levels, what an OBX reads, and where the patient's number is. */
interface Shape {
  readonly files: string
  readonly each: Readonly<Record<string, string>>
  readonly code: string
  readonly value: string
  readonly patient: string
}

const SHAPES: Readonly<Record<string, Shape>> = {
  'mirth-jsonxmlutil': {
    files: 'json-shapes/mirth-jsonxmlutil/*.json',
    each: { obx: '$.HL7Message.OBX[*]' },
    code: "obx['OBX.3']['OBX.3.1']",
    value: "obx['OBX.5']['OBX.5.1']",
    patient: "$.HL7Message.PID['PID.3'][0]['PID.3.1']",
  },
  'hl7-standard': {
    files: 'json-shapes/hl7-standard/*.json',
    each: { obx: '$.OBX[*]' },
    code: "obx.data['OBX.3']['OBX.3.1']",
    value: "obx.data['OBX.5']",
    patient: "$.PID[0].data['PID.3'][0]['PID.3.1']",
  },
  'redox-hl7-v2': {
    files: 'json-shapes/redox-hl7-v2/*.json',
    each: {
      patient: '$.PATIENT_RESULT[*]',
      order: 'patient.ORDER_OBSERVATION[*]',
      observation: 'order.OBSERVATION[*]',
    },
    code: "observation.OBX['3']['1']",
    value: "observation.OBX['5'][0]",
    patient: "patient.PATIENT.PID['3'][0]['1']",
  },
  'hl7-amida': {
    files: 'json-shapes/hl7-amida/*.json',
    each: { obx: "$[?@[0] == 'OBX']" },
    code: 'obx[3][0][0]',
    value: 'obx[5][0][0]',
    patient: "$[?@[0] == 'PID'][3][0][0]",
  },
  'simple-hl7': {
    files: 'json-shapes/simple-hl7/*.json',
    each: { obx: "$.segments[?@.name == 'OBX']" },
    code: 'obx.fields[2].value[0][0].value[0]',
    value: 'obx.fields[4].value[0][0].value[0]',
    patient: "$.segments[?@.name == 'PID'].fields[2].value[0][0].value[0]",
  },
  xml2js: {
    files: 'hl7v2/pairs-node-hl7-complete/valid/*/*.json',
    each: {
      patient: "$.ORU_R01['ORU_R01.PATIENT_RESULT'][*]",
      order: "patient['ORU_R01.ORDER_OBSERVATION'][*]",
      observation: "order['ORU_R01.OBSERVATION'][*]",
    },
    code: "observation.OBX[0]['OBX.3'][0]['CE.1'][0]",
    value: "observation.OBX[0]['OBX.5'][0]",
    patient: "patient['ORU_R01.PATIENT'][0].PID[0]['PID.3'][0]['CX.1'][0]",
  },
}

/** `patient code value` of each OBX of a file, in order; a value that is no scalar is `-`. */
async function observations(file: string, shape: Shape): Promise<string[]> {
  const names = jsonNames({ each: shape.each }, (level, message) => expect.fail(`${level}: ${message}`))
  const [patient, code, value] = [shape.patient, shape.code, shape.value].map((path) => names.locate(path))
  const [row] = await allRows(file, DOCUMENT)
  if (row?.kind !== 'json') return expect.fail(file)
  return names
    .scopes(rootScope(row), code?.branch ?? 0)
    .map((scope) => [patient, code, value].map((one) => one?.read(scope) ?? '-').join(' '))
}

/** Fields of each OBX of a message. @param grouped without those of a specimen (HL7 v2.5.1, ORU^R01), a group of its own */
function results(message: string, grouped: boolean): string[][] {
  const found: string[][] = []
  let specimen = false
  for (const segment of message.split(/[\r\n]+/)) {
    const fields = segment.split('|')
    if (fields[0] === 'OBR' || fields[0] === 'SPM') specimen = fields[0] === 'SPM'
    if (fields[0] === 'OBX' && !(grouped && specimen)) found.push(fields)
  }
  return found
}

const MESSAGES = new Map(files('hl7v2/**/*.hl7').map((file) => [basename(file, '.hl7'), file]))

describe('JSON made of HL7 v2', NEEDS_CORPUS, () => {
  test('every file opens and is one row, with numbers as text', async () => {
    expect(ALL.length).toBeGreaterThan(90)
    for (const file of ALL) {
      const expected: unknown = JSON.parse(readFileSync(file, 'utf8').replace(/^\ufeff/, ''), numberSource)
      expect((await allRows(file, DOCUMENT)).map(brief), file).toEqual([expected])
    }
  })

  test.each(Object.entries(SHAPES))('%s: levels lead to every OBX of the message', async (_, shape) => {
    const found = files(shape.files)
    expect(found.length).toBeGreaterThan(3)
    for (const file of found) {
      const source = MESSAGES.get(basename(file, '.json'))
      if (source === undefined) expect.fail(`${file} has no message beside it`)
      const grouped = Object.keys(shape.each).length > 1
      const message = results(readFileSync(source, 'utf8'), grouped)
      const read = await observations(file, shape)
      expect(read.length, file).toBe(message.length)
      for (const [at, fields] of message.entries()) {
        const identifier = fields[3] ?? ''
        // A component alone, or in parts, is written in other ways by each of the tools.
        if (!identifier.includes('^') || identifier.includes('&')) continue
        expect(read[at]?.split(' ')[1], `${file} ${at}`).toBe(identifier.split('^')[0]?.trim().split(' ')[0])
      }
    }
  })

  test('one message gives the same observations in every shape, a 14-digit number among them', async () => {
    const shapes = Object.values(SHAPES).filter(({ files: pattern }) => pattern.startsWith('json-shapes'))
    const read = await Promise.all(
      shapes.map((shape) => observations(corpusPath(dirname(shape.files), 'oru.json'), shape)),
    )
    for (const one of read)
      expect(one).toEqual([
        '94000000000 JHDL 62',
        '94000000000 JTRIG 72',
        '94000000000 JVLDL 14',
        '94000000000 JLDL 134',
        '94000000000 JCHO 210',
      ])
  })

  test('Redox: orders and their results', async () => {
    const [row] = await allRows(
      corpusPath('redox/java-data-model/results/newResults/results-new.json'),
      DOCUMENT,
    )
    if (row?.kind !== 'json') return expect.fail()
    const names = jsonNames({ each: { order: '$.Orders[*]', result: 'order.Results[*]' } }, () =>
      expect.fail(),
    )
    const code = names.locate('result.Code')
    const scopes = names.scopes(rootScope(row), code.branch)
    const source = JSON.parse(row.text) as { Orders: { Results: { Code: string }[] }[] }
    expect(scopes.map((scope) => code.read(scope))).toEqual(
      source.Orders.flatMap(({ Results }) => Results.map(({ Code }) => Code.trim())),
    )
    expect(scopes.length).toBeGreaterThan(1)
  })
})
