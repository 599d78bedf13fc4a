/** A number of JSON may have an exponent, which loses nothing. A text that looks so was damaged, and so was a cell of CSV. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readJson } from '../../src/extract/open-json.ts'
import type { RowOutcome } from '../../src/model/entry.ts'
import { Exponents } from '../../src/transform/numbers.ts'
import { csvRules, faults, load, mapped, NOW, ORIGIN, wires } from './mapping-under-test.ts'

/** Maps a document as extract reads it. */
function documents(rules: string, row = '', number = ''): (text: string) => RowOutcome {
  const map = load(`mapping: m
read: { format: ndjson, each: { obx: "$.obx[*]" } }
row: { key: [$.id], account: { reference: ${row === '' ? '$.pid' : row} }, observedAt: { constant: "2026-02-04T09:10:00Z" }, source: { name: N, type: t }${number} }
${rules}
`).compiled.bind(undefined, 'export.ndjson', NOW)
  return (text) => {
    const read = readJson(text)
    if ('problem' in read) return expect.fail(read.problem)
    return map({ ...ORIGIN, kind: 'json', value: read.value, text })
  }
}
const HEIGHT = 'biometrics: { body-weight: $.v }'
const map = documents(HEIGHT)
const withValue = (v: string): string => `{"id":"a","pid":"P-1","v":${v}}`
const sent = (outcome: RowOutcome): string | undefined => mapped(outcome).records[0]?.value

it.each([
  ['1E399', `1${'0'.repeat(399)}`],
  ['1E400', undefined],
  ['1E-401', `0.${'0'.repeat(400)}1`],
  ['1E-402', undefined],
])('%s is told in digits as far as a double reaches', (written, digits) => {
  const exponents = new Exponents()
  exponents.begin(`[${written}]`)
  expect(exponents.plain(written)).toBe(digits)
})

describe('a number of JSON with an exponent', () => {
  it.each([
    ['1.2E+2', '120'],
    ['12000E-2', '120'],
    ['9.5e1', '95'],
    ['1E2', '100'],
    ['1.205e2', '120.5'],
    ['1.23456e2', '123.456'],
    ['0.12E3', '120'],
    ['0.0012e+05', '120'],
    ['7.05E0', '7.05'],
    ['7.10E-0', '7.1'],
    ['700e-1', '70'],
    ['0.5e1', '5'],
    ['123456789012345678901234567890e-28', '12.345678901234567890123456789'],
  ])('%s is %s', (written, expected) => {
    expect(sent(map(withValue(written)))).toBe(expected)
  })

  it('is as large as it says, however large', () => {
    for (const written of ['1E+9', '1E400', '1e-400', '-1.2E+2', '1E99999999999', '1e-99999999999'])
      expect(faults(map(withValue(written)))).toEqual([
        expect.stringMatching(/^body-weight: value-(?:out-of-range|in-scientific-notation) /),
      ])
  })

  it('is the same value as JSON.parse has of it', () => {
    const token = fc
      .tuple(
        fc.nat({ max: 10 ** 9 }),
        fc.option(fc.stringMatching(/^\d{1,12}$/)),
        fc.constantFrom('e', 'E'),
        fc.integer({ min: -30, max: 30 }),
        fc.boolean(),
      )
      .map(
        ([whole, fraction, e, exponent, plus]) =>
          `${whole}${fraction === null ? '' : `.${fraction}`}${e}${plus && exponent >= 0 ? '+' : ''}${exponent}`,
      )
    const anything = documents(HEIGHT, '', ', checks: { plausible-range: off }')
    fc.assert(
      fc.property(token, (written) => {
        const value = sent(anything(withValue(written))) ?? ''
        expect(value).toMatch(/^(?:0|[1-9]\d*)(?:\.\d*[1-9])?$/)
        expect(Number(value)).toBe(JSON.parse(written))
      }),
    )
  })

  it('is read in a level, in a condition, and of a rule that reads it through others', () => {
    const rules = `biometrics:
  - { code: { from: obx.code, system: LOINC }, value: { firstOf: [obx.n, obx.v] }, unit: { constant: "mm[Hg]" }, when: { obx.v: { ">": 100, "<": 130 } } }`
    const outcome = documents(rules)(
      '{"id":"a","pid":"P-1","obx":[{"code":"8480-6","v":1.2E+2},{"code":"8480-6","v":9.5E+1},{"code":"8462-4","v":1.01e+2}]}',
    )
    expect(mapped(outcome).records.map(({ rule, value }) => `${rule} ${value}`)).toEqual([
      'systolic-bp-1 120',
      'diastolic-bp-1 101',
    ])
  })

  it('is read where numbers have a decimal comma: JSON has a point', () => {
    const german = documents('biometrics: { body-weight: { from: $.v, number: { decimal: "," } } }')
    expect(sent(german(withValue('1.205E+2')))).toBe('120.5')
  })

  it('has a point, whatever the marks of the texts beside it', () => {
    const german = documents('biometrics: { ferritin: { from: $.v, number: { decimal: ",", group: "." } } }')
    expect(sent(german(withValue('1.234')))).toBe('1.234')
    expect(sent(german(withValue('12.5')))).toBe('12.5')
    expect(sent(german(withValue('"1.234"')))).toBe('1234')
    expect(sent(german(withValue('"12,5"')))).toBe('12.5')
    expect(faults(german(withValue('"12.5"')))).toEqual(['ferritin: value-not-a-number $.v'])
    // The mapping reads texts: the number, or the text beside it.
    expect(faults(german(withValue('1.234,"w":"1.234"')))).toEqual(['ferritin: value-not-a-number $.v'])
    expect(sent(german(withValue('"5.000"')))).toBe('5000')
  })

  it('is no such number in the next row', () => {
    expect(sent(map(withValue('1.2E+2')))).toBe('120')
    expect(faults(map(withValue('"1.2E+2"')))).toEqual(['body-weight: value-in-scientific-notation $.v'])
  })
})

describe('what only looks like one', () => {
  it.each([
    withValue('"1.2E+2"'),
    '{"note":"v: 1.2E+2, \\" 1.2E+2","id":"a","pid":"P-1","v":"1.2E+2"}',
    '{"1.2E+2":1,"id":"a","pid":"P-1","v":"1.2E+2"}',
    // Another number of the same document.
    '{"w":1.2E+3,"x":-1.2E+2,"y":11.2E+2,"z":1.2E+22,"id":"a","pid":"P-1","v":"1.2E+2"}',
  ])('as a text of JSON is damaged: %s', (text) => {
    expect(faults(map(text))).toEqual(['body-weight: value-in-scientific-notation $.v'])
  })

  it('as a cell of CSV is damaged', () => {
    const cells = csvRules(['id', 'v'], 'biometrics: { body-weight: v }')
    for (const v of ['1.2E+2', '12000E-2', '9.5e1'])
      expect(faults(cells({ id: 'P-1', v }))).toEqual(['body-weight: value-in-scientific-notation v'])
  })

  it('as a reference or a key is damaged, also as a number: its digits may be lost', () => {
    expect(faults(map('{"id":"a","pid":1.2E+08,"v":70}'))).toEqual(['row: account-damaged $.pid'])
    expect(faults(map('{"id":1.24E+14,"pid":"P-1","v":70}'))).toEqual(['row: key-damaged $.id'])
  })
})

it('reaches the wire as a number', () => {
  expect(wires(map(withValue('1.2E+2')))).toMatchObject([{ value: 120 }])
})
