import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { createRoundedWatch, readReference, undone } from '../../src/transform/references.ts'

const read = (text: string): string => {
  const found = readReference(text)
  return 'reference' in found ? found.reference : found.code
}

describe('a reference', () => {
  it.each([
    '12340',
    'P-0',
    'AC0000001',
    '00123',
    '0A',
    '1.2.840.10008',
    'a1b2c3d4-e5f6-4711-8a9b-000000000000',
    'MRN 12 34',
    '7/2026',
    'Noone',
    'Maxine',
    'TOTAL-17',
    'outpatient/7',
    'Nan-Smith-7',
    '12E05',
    '123,45',
    "O'Brien-1",
    'Ä-17',
  ])('is taken as it stands: %j', (text) => {
    expect(readReference(text)).toEqual({ reference: text, undone: undefined })
  })

  it.each([
    ...[
      'NULL',
      'null',
      '(null)',
      'None',
      'NaN',
      'nan',
      'N/A',
      '#N/A',
      'NA',
      '#REF!',
      '#VALUE!',
      '\\N',
      'nil',
      'undefined',
    ],
    ...[
      '0',
      '00',
      '0.0',
      '-0',
      '-',
      '--',
      '?',
      '.',
      '...',
      '_',
      'unknown',
      'UNK',
      'Missing',
      'not available',
      'unbekannt',
      'inconnu',
    ],
    // Lines below a table.
    ...[
      'Average',
      'AVG',
      'Total',
      'Grand Total',
      'subtotal:',
      'Mean',
      'Std Dev',
      'Mittelwert',
      'Média',
      'Max',
    ],
    ...['true', 'false', '\u200b', '="NULL"', '="0"', '=""', '\u00a0-\u00a0'],
  ])('is none where a word stands for none: %j', (text) => {
    expect(readReference(text)).toMatchObject({ code: 'account-missing' })
  })

  it.each([
    ...[
      '12345.0',
      '12345.00',
      '12345,0',
      '1.2E+08',
      '1,2E+08',
      '1.24E+14',
      '1.2e8',
      '1.2E8',
      "'0012345",
      '12,345',
      '1,234,567',
    ],
  ])('is damaged: %j', (text) => {
    expect(readReference(text)).toMatchObject({ code: 'account-damaged' })
  })

  it.each([
    ['="0012345"', '0012345', 'formula'],
    ['=" 0012345 "', '0012345', 'formula'],
    ['\u200b0012345', '0012345', 'invisible'],
    ['00\u00ad12345\ufeff', '0012345', 'invisible'],
    ['\u202a12340\u202c', '12340', 'invisible'],
    ['AB\u00a012', 'AB 12', 'invisible'],
  ])('is what it was before: %j is %j', (text, reference, how) => {
    expect(readReference(text)).toEqual({ reference, undone: how })
  })

  it.each([
    ['Patient/4711', '4711'],
    ['Patient/4711/_history/2', '4711'],
    ['https://ehr.example/fhir/Patient/4712', '4712'],
    ['https://ehr.example/fhir/Patient/4712/_history/2', '4712'],
    ['http://ehr.example:8080/Patient/a.b-c', 'a.b-c'],
  ])('of FHIR is the id of the patient: %j', (text, reference) => {
    expect(read(text)).toBe(reference)
  })

  it.each([
    ...[
      '#p1',
      'urn:uuid:27de96c6-6910-4f0f-8f10-00ce6090f447',
      'urn:oid:1.2.3',
      '?identifier=7',
      'Patient?identifier=7',
    ],
    ...[
      'https://ehr.example/fhir/Patient?identifier=7',
      'Group/12',
      'Device/7/_history/1',
      'https://ehr.example/fhir/Location/1',
    ],
    ...['patient/p1', 'Patient/', 'Patient/p1#x', 'Patient/p1|2', 'PATIENT/7', 'Patient/p1/_history'],
    ...['https://ehr.example/fhir/Patient/p1?x=1', 'https://ehr.example/fhir/Patient/p1/$everything'],
  ])('leads to nobody by itself: %j', (text) => {
    expect(read(text)).toBe('account-unresolved')
  })

  test('that is undone needs no undoing any more, and reads the same', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const once = undone(text).text
        fc.pre(!once.startsWith('="'))
        expect(undone(once).text).toBe(once)
        if (once !== '') expect(read(once)).toBe(read(text))
      }),
    )
  })
})

describe('long numbers', () => {
  const isRounded = (...references: string[]): boolean => {
    const watch = createRoundedWatch()
    for (const one of references) watch.add(one)
    return watch.isRounded()
  }

  it.each<[boolean, string[]]>([
    [true, ['1234567890123450', '1234567890123460', '1234567890123470']],
    [true, ['123456789012345000']],
    [true, ['12345678901234500', '1234567890123450', 'P-1', '77']],
    // By chance every tenth number ends in a zero; and the same one comes again.
    [false, ['1234567890123450', '1234567890123460']],
    [false, Array.from({ length: 9 }, () => '1234567890123450')],
    // One that is exact shows that all are.
    [false, ['1234567890123450', '1234567890123460', '1234567890123470', '1234567890123471']],
    [false, ['12345678901234560', '123456789012345600']],
    [false, ['123456789012345', '123456789012340', '100000000000000']],
    [false, ['A234567890123450000', '0000000000000000000']],
    [false, []],
  ])('were rounded by a spreadsheet: %s, %j', (rounded, references) => {
    expect(isRounded(...references)).toBe(rounded)
  })
})
