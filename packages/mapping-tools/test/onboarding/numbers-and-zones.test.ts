/** Exports whose numbers, dates and zones were read as others than they are, through a reader and the shipped mappings. */
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openExport } from '../../../../src/extract/open-export.ts'
import { temporaryFolder } from '../../../../test/temporary-folder.ts'
import { HEAD, load, NOW, ROOT } from '../../../../test/transform/mapping-under-test.ts'
import { factsOf } from '../../src/record-facts.ts'

const shipped = (name: string): string => readFileSync(join(ROOT, 'mappings', `${name}.yaml`), 'utf8')

const TABLES = { 'hl7-lab-codes': readFileSync(join(ROOT, 'mappings/tables/hl7-lab-codes.csv'), 'utf8') }

/** `rule value at` of each record, and the codes of what was rejected. */
async function mapped(mapping: string, content: string): Promise<{ records: string[]; rejected: string[] }> {
  const path = join(await temporaryFolder(), 'export')
  await writeFile(path, content)
  const { compiled, read } = load(mapping, TABLES)
  const opened = await openExport(path, read)
  const map = compiled.bind(opened.columns, 'export', NOW)
  const records: string[] = []
  const rejected: string[] = []
  for await (const block of opened.rows())
    for (const row of block) {
      const outcome = map(row)
      if (outcome.outcome === 'rejected') rejected.push(outcome.issue.code)
      if (outcome.outcome !== 'mapped') continue
      rejected.push(...outcome.rejected.map(({ issue }) => issue.code))
      records.push(
        ...outcome.records.map((one) => {
          const { value, observedAt } = factsOf(one)
          return `${one.rule} ${value} ${observedAt}`
        }),
      )
    }
  return { records, rejected }
}

it('AST in a cell is the Atlantic to the laboratory and Alaska to Intl: rejected', async () => {
  const mapping = `${HEAD.replace('key: [id]', 'key: [pid]')
    .replace('reference: id', 'reference: pid')
    .replace(
      '{ from: at, format: ISO, zone: UTC }',
      '{ from: when, format: "yyyy-MM-dd HH:mm", zone: { from: z } }',
    )}biometrics: { heart-rate: hr }`
  const cells = (zone: string): string =>
    `pid,when,z,hr\nP-1,2026-02-04 09:10,${zone},61\nP-2,2026-07-04 09:10,${zone},62\n`
  expect(await mapped(mapping, cells('AST'))).toEqual({
    records: [],
    rejected: ['zone-unknown', 'zone-unknown'],
  })
  expect((await mapped(mapping, cells('America/Halifax'))).records).toEqual([
    'heart-rate 61 /min 2026-02-04T13:10:00.000Z',
    'heart-rate 62 /min 2026-07-04T12:10:00.000Z',
  ])
})

it('a day of the year 1 is no date', async () => {
  const mapping = `${HEAD.replace('from: at', 'from: visited').replace('id]', 'id, visited]')}biometrics: { systolic-bp: sbp }`
  expect(await mapped(mapping, 'id,visited,sbp\nP-1,0001-01-01,118\nP-2,2026-02-04,121\n')).toEqual({
    records: ['systolic-bp 121 mm[Hg] 2026-02-04T00:00:00.000Z'],
    rejected: ['date-too-early'],
  })
})

it('a FHIR value with an exponent is a value', async () => {
  const observation = (
    id: string,
    loinc: string,
    value: string,
    unit: string,
    at = '2026-02-04T09:10:00-05:00',
  ): string =>
    `{"resourceType": "Observation", "id": "${id}", "status": "final", "code": {"coding": [{"system": "http://loinc.org", "code": "${loinc}"}]}, "subject": {"reference": "Patient/7"}, "effectiveDateTime": "${at}", "valueQuantity": {"value": ${value}, "unit": "${unit}", "system": "http://unitsofmeasure.org", "code": "${unit}"}}\n`
  const content =
    observation('a', '8480-6', '1.2E+2', 'mm[Hg]') +
    observation('d', '2345-7', '12000E-2', 'mg/dL') +
    observation('g', '2345-7', '9.5e1', 'mg/dL') +
    observation('s', '2345-7', '"9.5e1"', 'mg/dL') +
    observation('y', '2345-7', '95', 'mg/dL', '1900-01-01')
  expect(await mapped(shipped('fhir-observation'), content)).toEqual({
    records: [
      'systolic-bp-1 120 mm[Hg] 2026-02-04T14:10:00.000Z',
      'glucose-1 120 mg/dL 2026-02-04T14:10:00.000Z',
      'glucose-1 95 mg/dL 2026-02-04T14:10:00.000Z',
    ],
    rejected: ['value-in-scientific-notation', 'date-too-early'],
  })
})

it('HL7 electrolytes in mEq/L and enzymes in IU/L are in the units of the catalog', async () => {
  const obx = (code: string, value: string, unit: string, range = ''): string =>
    `OBX|1|NM|${code}^A test^LN||${value}|${unit}|${range}||||F`
  const message = (...segments: readonly string[]): string =>
    [
      'MSH|^~\\&|LAB|FAC|EHR|FAC|20260204101500||ORU^R01^ORU_R01|M1|P|2.5.1',
      'PID|1||P-1001^^^FAC^MR||Quill^Ada||19790412|F|||1 Elm St^^Springfield^IL^62701',
      'OBR|1|ORD1|FIL1|24323-8^Panel^LN|||20260204091000',
      ...segments,
    ].join('\r')
  const content = message(
    obx('2823-3', '4.2', 'mEq/L', '3.5-5.1'),
    obx('2951-2', '139', 'mEq/L'),
    obx('2075-0', '102', 'meq/L'),
    obx('2028-9', '24', 'MEQ/L'),
    obx('14334-7', '0.8', 'mEq/L'),
    obx('1742-6', '31', 'IU/L'),
    // Calcium has two charges.
    obx('17861-6', '4.9', 'mEq/L'),
    // A hormone's international unit is no enzyme's.
    obx('3016-3', '2.1', 'U/L'),
  )
  const { records, rejected } = await mapped(shipped('hl7v2-oru'), `${content}\r`)
  expect(records.map((one) => one.replace(/ \S+$/, ''))).toEqual([
    'potassium-1 4.2 mmol/L',
    'sodium-1 139 mmol/L',
    'chloride-1 102 mmol/L',
    'carbon-dioxide-1 24 mmol/L',
    'lithium-1 0.8 mmol/L',
    'alt-1 31 U/L',
  ])
  expect(rejected).toEqual(['unit-mismatch', 'unit-mismatch'])
})
