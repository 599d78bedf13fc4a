/** One HL7 v2 message as text, and in the JSON of several tools, gives the same records through the mapping of each shape; where a tool has lost something, that. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { loadMapping } from '../../src/definitions/definition-files.ts'
import { openExport } from '../../src/extract/open-export.ts'
import { NEEDS_CORPUS } from '../needed.ts'
import { bundle, ROOT } from '../transform/mapping-under-test.ts'
import { corpusPath } from './corpus-file.ts'

/** The codes of the messages' own laboratories. */
const CODES = `code,key
JHDL,hdl-cholesterol
JTRIG,triglycerides
JVLDL,vldl-cholesterol
JLDL,ldl-cholesterol
JCHO,total-cholesterol
tt-0003-01,creatinine
tt-0003-02,potassium
tt-0003-03,sodium
tt-0003-05,egfr
`
/** And their units. */
const UNITS = 'MLMIN,mL/min/{1.73_m2}\n'
/** One message is of lead, which the shipped catalog does not have. */
const LEAD =
  'catalog: { biometrics: { lead: { name: Lead in blood, loinc: 10368-9, unit: ug/dL, range: [0, 500], decimals: 1 } } }\n'

/** How a shape without a shipped mapping is walked: an OBX's component by field and number, and what stands once. */
interface Shape {
  readonly obx: string
  readonly at: (field: number, component: number) => string
  readonly patient: string
  readonly collected: string
}

const POSITIONAL: Shape = {
  obx: "$[?@[0] == 'OBX']",
  at: (field, component) => `obx[${field}][0][${component - 1}]`,
  patient: `"$[?@[0] == 'PID'][3][0][0]"`,
  collected: "$[?@[0] == 'OBR'][7][0][0]",
}
const TREE_PERSON = "$.segments[?@.name == 'PID'].fields[2].value[0][0].value[0]"
const TREE: Shape = {
  obx: "$.segments[?@.name == 'OBX']",
  at: (field, component) => `obx.fields[${field - 1}].value[0][${component - 1}].value[0]`,
  // A field that repeats stands one level deeper.
  patient: `{ firstOf: ["${TREE_PERSON}[0].value[0]", "${TREE_PERSON}"] }`,
  collected: "$.segments[?@.name == 'OBR'].fields[6].value[0][0].value[0]",
}
/** A field of one component is a text, of several an object: whichever is there. */
const INDEXED: Shape = {
  obx: '$.OBX[*]',
  at: (field, component) => `obx.data['OBX.${field}']['OBX.${field}.${component}']`,
  patient: `"$.PID[0].data['PID.3'][0]['PID.3.1']"`,
  collected: "$.OBR[?@.data].data['OBR.7']",
}

function mappingOf({ obx, at, patient, collected }: Shape): string {
  const first = (field: number): string =>
    obx === INDEXED.obx ? `{ firstOf: ["${at(field, 1)}", "obx.data['OBX.${field}']"] }` : `"${at(field, 1)}"`
  const rule = (condition: string, code: string): string => `
  - when: ${condition}
    code: { ${code} }
    value: ${first(5)}
    unit: { firstOf: [{ firstOf: [${first(6)}], extract: "^(?:CD:.*|(.*))$" }, "${at(6, 2)}"] }
    refRange: ${first(7)}
    status: { firstOf: [${first(11)}], keep: [F, C] }`
  const coded = `any: [{ "${at(3, 3)}": LN }, { "${at(3, 6)}": LN }]`
  return `mapping: shape
read: { format: json, each: { obx: "${obx}" } }
${LEAD}row:
  key: [${patient}]
  account: { reference: ${patient} }
  observedAt: { firstOf: [${first(14)}, "${collected}"], format: HL7, zone: America/New_York }
  source: { name: Laboratory, type: laboratory }
  emptyWhen: ['""']
  ignore: [OBX-4]
biometrics:${rule(`{ "${at(3, 3)}": LN }`, `from: "${at(3, 1)}", system: LOINC, unknown: skip`)}${rule(
    `{ "${at(3, 6)}": LN, not: { "${at(3, 3)}": LN } }`,
    `from: "${at(3, 4)}", system: LOINC, unknown: skip`,
  )}${rule(`{ not: { ${coded} } }`, `firstOf: [${first(3)}], table: hl7-lab-codes`)}
`
}

const shipped = (name: string): string =>
  readFileSync(join(ROOT, 'mappings', `${name}.yaml`), 'utf8')
    .replace('format: ndjson', 'format: json')
    .replace('\nrow:\n', `\n${LEAD}row:\n`)

const GOOGLE = 'hl7v2/pairs-google-schematized/wstl1/mapping_configs/hl7v2_fhir_r4'
const PAIRS = 'hl7v2/pairs-node-hl7-complete/valid'
/** The message itself, as it is sent. */
const TEXTS: Readonly<Record<string, string>> = {
  oru: 'hl7v2/simple-hl7/oru.hl7',
  oru_r01_ex6: `${GOOGLE}/oru_r01_ex6.hl7`,
  'ORU_R01_2.5.1_SampleTestCase1': `${PAIRS}/nist/ORU_R01_2.5.1_SampleTestCase1.hl7`,
  large: 'hl7v2/nextgen-connect/large.hl7',
}
const SHAPES = {
  text: [() => shipped('hl7v2-oru'), (name: string) => TEXTS[name] ?? name],
  mirth: [() => shipped('mirth-oru'), (name: string) => `json-shapes/mirth-jsonxmlutil/${name}.json`],
  numeric: [() => shipped('numeric-keys-oru'), (name: string) => `json-shapes/redox-hl7-v2/${name}.json`],
  google: [() => shipped('google-hl7v2-oru'), (name: string) => `${GOOGLE}/${name}.hl7.fhir.input.json`],
  xml2js: [() => shipped('xml2js-oru'), (name: string) => `${PAIRS}/${name}.json`],
  positional: [() => mappingOf(POSITIONAL), (name: string) => `json-shapes/hl7-amida/${name}.json`],
  indexed: [() => mappingOf(INDEXED), (name: string) => `json-shapes/hl7-standard/${name}.json`],
  tree: [() => mappingOf(TREE), (name: string) => `json-shapes/simple-hl7/${name}.json`],
} as const
type ShapeName = keyof typeof SHAPES

const Bundle = z.looseObject({ unitSpellings: z.string() })

/** `person rule code value unit instant range` of each record, and `rule: reason` of each that is rejected, sorted. */
async function told(shape: ShapeName, name: string): Promise<string[]> {
  const [mapping, path] = SHAPES[shape]
  const { unitSpellings, ...rest } = Bundle.parse(JSON.parse(bundle(mapping(), { 'hl7-lab-codes': CODES })))
  const { compiled, read } = loadMapping(JSON.stringify({ ...rest, unitSpellings: unitSpellings + UNITS }))
  const file = corpusPath(path(name))
  const map = compiled.bind(undefined, file, Number.POSITIVE_INFINITY)
  const found: string[] = []
  for await (const rows of (await openExport(file, read)).rows()) {
    for (const row of rows) {
      const outcome = map(row)
      if (outcome.outcome !== 'mapped') return expect.fail(`${file}: ${JSON.stringify(outcome)}`)
      for (const { account, rule, evidence, observedAt, text } of outcome.records) {
        const range = /"refRange":"([^"]*)"/.exec(text)?.[1] ?? '-'
        const when = new Date(observedAt).toISOString()
        found.push(
          `${account.reference} ${rule} ${evidence.codes.join()} ${evidence.value} ${evidence.unit} ${when} ${range}`,
        )
      }
      found.push(...outcome.rejected.map(({ rule, issue }) => `${rule}: ${issue.code}`))
    }
  }
  return found.sort()
}

const each = async (shapes: readonly ShapeName[], name: string): Promise<Record<string, string[]>> =>
  Object.fromEntries(
    await Promise.all(shapes.map(async (shape) => [shape, await told(shape, name)] as const)),
  )
const alike = (shapes: readonly ShapeName[], expected: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(shapes.map((shape) => [shape, expected]))

describe('one message in the JSON of several tools', NEEDS_CORPUS, () => {
  test('codes and coded units of the laboratory, and a time at each result', async () => {
    const shapes = ['text', 'mirth', 'numeric', 'positional', 'indexed', 'tree'] as const
    // 20080511103500 in New York; the reference range is the first component of OBX-7.
    expect(await each(shapes, 'oru')).toEqual(
      alike(shapes, [
        '94000000000 hdl-cholesterol-1 2085-9 62 mg/dL 2008-05-11T14:35:00.000Z >40',
        '94000000000 ldl-cholesterol-1 13457-7 134 mg/dL 2008-05-11T14:35:00.000Z 0-100',
        '94000000000 total-cholesterol-1 2093-3 210 mg/dL 2008-05-11T14:35:00.000Z 90-200',
        '94000000000 triglycerides-1 2571-8 72 mg/dL 2008-05-11T14:35:00.000Z 35-150',
        '94000000000 vldl-cholesterol-1 13458-5 14 mg/dL 2008-05-11T14:35:00.000Z -',
      ]),
    )
  })

  test('5.10 keeps its digits wherever the tool has, a value is converted, one below detection is none', async () => {
    const shapes = ['text', 'numeric', 'google', 'positional', 'indexed', 'tree'] as const
    // 86.25 umol/L of creatinine, 113.12 g/mol: 0.976 mg/dL.
    expect(await each(shapes, 'oru_r01_ex6')).toEqual(
      alike(shapes, [
        '1076943130 creatinine-1 2160-0 0.98 mg/dL 2020-05-08T17:06:44.000Z 49 - 92 UMOLL',
        '1076943130 potassium-1 2823-3 5.10 mmol/L 2020-05-08T17:06:44.000Z 3.5 - 5.3',
        '1076943130 sodium-1 2951-2 145.01 mmol/L 2020-05-08T17:06:44.000Z 133 - 146',
        'egfr-1: value-with-comparator',
        'unmapped-1: code-unknown',
      ]),
    )
  })

  test('LOINC as the code, a unit with its text, a time with its offset', async () => {
    const shapes = ['text', 'numeric', 'positional', 'indexed', 'tree'] as const
    const name = 'ORU_R01_2.5.1_SampleTestCase1'
    const found = { ...(await each(shapes, name)), xml2js: await told('xml2js', `nist/${name}`) }
    const lead =
      '9817566735 lead-1 10368-9 50 ug/dL 2008-08-15T17:30:00.000Z <9 mcg/dL:  Acceptable background lead exposure'
    expect(found).toEqual(alike([...shapes, 'xml2js'], [lead]))
  })

  test('of several orders without times at results, the date is lost where the tool has not kept which order a result is of', async () => {
    const grouped = await told('text', 'large')
    expect(await told('numeric', 'large')).toEqual(grouped)
    const records = grouped.filter((line) => line.startsWith('1424589 '))
    expect(records.length).toBe(32)
    const codes = new Set(records.map((line) => line.split(' ')[2]))
    const message = readFileSync(corpusPath('hl7v2/nextgen-connect/large.hl7'), 'utf8')
    const written = message.split(/[\r\n]+/).flatMap((segment) => {
      const [name, , , identifier = '', , value, unit] = segment.split('|')
      // Glucose by its code for mmol/L, though in mg/dL: sent by the code of the catalog.
      const loinc = identifier.split('^')[3]?.replace('14749-6', '2345-7')
      const ucum = unit?.replace('THOU/', '10*3/').replace('MIL/', '10*6/').replace('uIU/mL', 'm[IU]/L')
      return name === 'OBX' && codes.has(loinc) ? [`${loinc} ${value} ${ucum}`] : []
    })
    expect(records.map((line) => line.split(' ').slice(2, 5).join(' ')).sort()).toEqual(written.sort())
    // 201006041144 in New York, of every order of this message.
    expect(records.filter((line) => !line.includes(' 2010-06-04T15:44:00.000Z '))).toEqual([])

    const undated = grouped.map((line) => line.replace(/^1424589 (\S+) .*$/, '$1: date-invalid')).sort()
    const flat = ['mirth', 'positional', 'indexed', 'tree'] as const
    expect(await each(flat, 'large')).toEqual(alike(flat, undated))
  })
})
