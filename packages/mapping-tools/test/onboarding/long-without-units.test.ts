/** Drafts of files in which a row is one finding and nothing tells units: each unit is asked, and none is guessed. */
import { describe, expect, test } from 'vitest'
import { finished } from './finished.ts'

type Finding = readonly [name: string, value: string]

const long = (header: string, ...visits: readonly (readonly Finding[])[]): string =>
  [
    header,
    ...visits.flatMap((findings, at) =>
      findings.map(([name, value]) => `M-${at + 1},2026-03-0${at + 1},${name},${value}`),
    ),
    '',
  ].join('\n')

const HEADER = 'Member ID,Visit Date,Measure,Value'

describe('names and values, and no unit anywhere', () => {
  const visit = (systolic: number, weight: number, height: number): Finding[] => [
    ['Systolic BP', String(systolic)],
    ['Weight', String(weight)],
    ['Height', String(height)],
    ['Total Cholesterol (mg/dL)', '190'],
  ]

  test('each unit is asked by its measurement, with what the values suggest', async () => {
    const { text, asked, records, rejected } = await finished(
      'long.csv',
      long(HEADER, visit(118, 180, 70), visit(131, 165, 64), visit(124, 210, 68)),
    )
    const questions = asked.filter((line) => /^ +"/.test(line))
    expect(questions.map((line) => line.trim().split(' #')[0])).toEqual([
      '"Systolic BP": "mm[Hg]"',
      '"Weight": lb',
      '"Height": in',
    ])
    expect(asked.join('\n')).toContain('DECIDE: no column has units')
    // A unit given by the name is no guess.
    expect(text).toMatch(/^ +"Total Cholesterol \(mg\/dL\)": mg\/dL$/m)
    expect(text).not.toContain('constant: mg/dL')
    expect(rejected).toEqual([])
    // 180 lb of 0.45359237 kg, 70 in of 2.54 cm.
    expect(records).toEqual(
      expect.arrayContaining([
        'M-1 body-weight 81.6 kg 2026-03-01T00:00:00.000Z',
        'M-1 body-height 177.8 cm 2026-03-01T00:00:00.000Z',
        'M-1 total-cholesterol 190 mg/dL 2026-03-01T00:00:00.000Z',
      ]),
    )
    expect(records).toHaveLength(12)
  })

  test('where two units would do, none is written, and its values are rejected until somebody says it', async () => {
    const { asked, records, rejected } = await finished(
      'long.csv',
      long(HEADER, visit(118, 122, 70), visit(131, 124, 64)),
    )
    expect(asked.join('\n')).toContain('DECIDE: "Weight": kg or lb? Both would be plausible.')
    expect(records.join('\n')).not.toContain('body-weight')
    expect(rejected).toEqual(Array.from({ length: 2 }, () => expect.stringContaining('unit-unknown')))
  })

  test('one with values of no unit that is known, one without numbers, one of feet and inches', async () => {
    const { asked, text } = await finished(
      'long.csv',
      long(
        HEADER,
        [...visit(118, 9000, 70).slice(0, 2), ['HDL', 'see note'], ['Height', `5'10"`]],
        [...visit(131, 9100, 64).slice(0, 2), ['HDL', 'see note'], ['Height', `5'4"`]],
      ),
    )
    expect(asked.join('\n')).toContain('DECIDE: "Weight": which unit?')
    expect(asked.join('\n')).toContain('DECIDE: "HDL": which unit? It has no numbers here.')
    expect(asked.join('\n')).toContain('DECIDE: "Height": its values are feet and inches')
    expect(text).not.toMatch(/^ +"(?:Weight|HDL|Height)": /m)
  })

  test('LOINC numbers are asked in the same way, and one whose number tells the unit is not', async () => {
    const { text, asked, records } = await finished(
      'codes.csv',
      long(
        'Member ID,Visit Date,Code,Result',
        [
          ['29463-7', '180'],
          ['14749-6', '5.0'],
        ],
        [
          ['29463-7', '165'],
          ['14749-6', '6.1'],
        ],
      ),
    )
    expect(asked.join('\n')).toMatch(/"29463-7": lb # DECIDE/)
    expect(text).toMatch(/^ +"14749-6": mmol\/L$/m)
    // 5.0 mmol/L of 180.16 g/mol.
    expect(records).toContain('M-1 glucose 90 mg/dL 2026-03-01T00:00:00.000Z')
  })

  test('headings that say nothing: names are known by what they name, and the column of the value is asked', async () => {
    const { text, records } = await finished(
      'plain.csv',
      long('Member ID,Visit Date,What,Amount', visit(118, 180, 70), visit(131, 165, 64)),
    )
    expect(text).toContain('- code: { from: What, unknown: skip, table: {')
    expect(text).toContain('value: Amount # DECIDE: is Amount the value? No heading says so')
    expect(records).toHaveLength(8)
  })

  test('of two columns of numbers, neither is taken', async () => {
    const rows = long(
      'Member ID,Visit Date,What,Amount',
      visit(118, 180, 70),
      visit(131, 165, 64),
    ).replaceAll(/(?<=\d)$/gm, ',7')
    const { asked, records } = await finished('two.csv', rows.replace('Amount', 'Amount,Count'))
    expect(asked.join('\n')).toContain('which column is their value: Amount or Count? No rule is written.')
    expect(records).toEqual([])
  })

  test('ids that could be units are those of persons, or of whatever', async () => {
    const rows = long(HEADER, visit(118, 180, 70), visit(131, 165, 64)).replaceAll('M-', 'P')
    for (const heading of ['Patient', 'Badge']) {
      const { text } = await finished('ids.csv', rows.replace('Member ID', heading))
      expect(text).not.toContain(`unit: ${heading}`)
      expect(text).toContain('"Weight": lb # DECIDE')
    }
  })

  test('letters of a sex are no units', async () => {
    const rows = long(HEADER, visit(118, 180, 70), visit(131, 165, 64)).replaceAll(/(?<=\d)$/gm, ',F')
    const { text } = await finished('sexes.csv', rows.replace('Value', 'Value,Sex'))
    expect(text).not.toContain('unit: Sex')
    expect(text).toContain('"Weight": lb # DECIDE')
  })
})

test('results in JSON without units are asked in the same way', async () => {
  const lines = [180, 165].map((weight, at) =>
    JSON.stringify({
      ...{ resourceType: 'Observation', id: `o${at}`, status: 'final', effectiveDateTime: '2026-03-01' },
      subject: { reference: `Patient/${at}` },
      code: { coding: [{ system: 'http://loinc.org', code: '29463-7' }] },
      valueQuantity: { value: weight },
    }),
  )
  const { text } = await finished('Observation.ndjson', `${lines.join('\n')}\n`)
  expect(text).not.toContain('constant: mg/dL')
  expect(text).toContain('"29463-7": lb # DECIDE')
})
