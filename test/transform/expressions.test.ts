import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileField } from '../../src/transform/compile-field.ts'
import { compileJoins } from '../../src/transform/joins.ts'
import { csvNames } from '../../src/transform/scope.ts'
import {
  contextUnderTest,
  csvRules,
  faults,
  findings,
  HEAD,
  jsonRules,
  mapped,
} from './mapping-under-test.ts'

const COLUMNS = ['id', 'a', 'b', 'note']
/** Text of the expression of a row of CSV, or why there is none. */
function read(expression: string, cells: Readonly<Record<string, string>> = {}): string {
  const context = contextUnderTest({ emptyWhen: ['ND'] }, csvNames(COLUMNS, new Set()))
  const field = compileField(context, { expression }, ['value'])
  expect(context.findings).toEqual([])
  const text = field.read(COLUMNS.map((column) => cells[column] ?? ''))
  return typeof text === 'string' ? text : text.code
}

describe('an expression over a row of CSV', () => {
  it.each([
    ['$number(a) + $number(b)', { a: '1.5', b: ' 2 ' }, '3.5'],
    ['a & "/" & b', { a: '120', b: '80' }, '120/80'],
    ['$uppercase(note)', { note: ' yes ' }, 'YES'],
    ['a', { a: '5.10' }, '5.10'],
    ['$number(a)', { a: '5.10' }, '5.1'],
    ['0.1 + 0.2', {}, '0.3'],
    ['$number(a) / 3', { a: '1' }, '0.333333333333333'],
    ['a = "Y"', { a: 'Y' }, 'true'],
    ['a = "Y"', {}, 'false'],
    ['nothing', {}, ''],
    ['$number(a) * 2', {}, ''],
    ['$number(a) * 2', { a: 'ND' }, ''],
    ['$exists(a) ? a : "none"', {}, 'none'],
    ['a', { a: 'ND' }, ''],
    ['null', {}, ''],
    ['$replace(note, /[^0-9]/, "")', { note: '(555) 010-0' }, '5550100'],
    ['$match(note, /([a-z]+)=(\\d+)/i)[1].groups[1]', { note: 'HR=61 bp=120' }, '120'],
    ['$split(note, /, */)[1]', { note: 'x,  y' }, 'y'],
    ['$contains(note, /^b/m)', { note: 'a\nb' }, 'true'],
  ] as const)('%s of %j is %j', (expression, cells, expected) => {
    expect(read(expression, cells)).toBe(expected)
  })

  // JSONata gives a calculation without an operand no result, and the other operand would be lost in silence.
  it.each([
    ['$number(a) * 16 + $number(b)', { a: '180' }, 'expression-failed'],
    ['$number(a) * 16 + $number(b)', { b: '4' }, 'expression-failed'],
    ['$number(a) * 16 + $number(b)', {}, ''],
    ['$round($number(a) - $number(b), 1)', { a: '1' }, 'expression-failed'],
    ['$number(a) / $power($number(b), 2)', { a: '80' }, 'expression-failed'],
    ['$number(a) * 14 + $number(b ? b : "0")', { a: '11' }, '154'],
    ['$number(a) * 14 + $number(b ? b : "0")', { b: '3' }, 'expression-failed'],
    ['$number(a) * 14 + $number(b ? b : "0")', {}, ''],
    // A unit beside an empty value is no operand.
    ['$number(a) * (note = "in" ? 2.54 : 1)', { note: 'in' }, ''],
    ['$average([$number(a), $number(b)])', { a: '60' }, '60'],
    ['$number(a) > 5 ? a', { a: '4' }, ''],
  ] as const)('a calculation without an operand: %s of %j is %j', (expression, cells, expected) => {
    expect(read(expression, cells)).toBe(expected)
  })

  it.each(['[a, b]', '{ "a": a }', '$', 'function($x) { $x }', '$uppercase'])(
    '%s is no single value',
    (expression) => expect(read(expression)).toBe('field-not-scalar'),
  )

  it.each([
    ['a * 2', 'a text is no number'],
    ['$number(note)', 'nor is this one'],
    ['1 / 0', 'no number at all'],
    ['$error("stop")', 'it says so itself'],
  ])('%s fails: %s', (expression) => {
    expect(read(expression, { a: '1', note: 'x' })).toBe('expression-failed')
  })

  it('is bounded anew for each row', () => {
    const context = contextUnderTest({}, csvNames(COLUMNS, new Set()))
    const field = compileField(context, { expression: '$sum([1..600].($ + $number($$.a)))' }, ['value'])
    for (let row = 0; row < 60; row++)
      expect(field.read(['', '1', '', ''])).toBe(String((600 * 601) / 2 + 600))
  })

  it.each([
    ...['__proto__.x', 'constructor', 'toString', '$lookup($, "constructor")'],
    ...['$string.constructor', '$lookup($string, "implementation")', '$process', '$globalThis'],
  ])('%s leads nowhere', (expression) => expect(['', 'expression-failed']).toContain(read(expression)))

  it('changes nothing', () => {
    const cells = ['1', '2', '3', '4']
    const context = contextUnderTest({}, csvNames(COLUMNS, new Set()))
    const polluting = '($ ~> |$|{"a": "9", "__proto__": {"seen": true}}|).a'
    compileField(context, { expression: polluting }, ['value']).read(cells)
    expect([cells, {}]).toEqual([['1', '2', '3', '4'], expect.not.objectContaining({ seen: true })])
  })

  it('gives a cell as it is, whatever it is', () => {
    const word = fc.string().filter((text) => text.trim() !== 'ND')
    fc.assert(fc.property(word, (text) => read('a', { a: text }) === text.trim()))
  })

  it('is a field like others: a value, a part, with steps behind it; a fault is told without the cell', () => {
    const map = csvRules(
      COLUMNS,
      `biometrics:
  bmi: { expression: "$number(a) / $power($number(b), 2)", extract: "^[0-9]+[.]?[0-9]?" }
  heart-rate: { firstOf: [note, { expression: a }] }`,
    )
    const good = mapped(map({ id: '1', a: '80', b: '1.9' }))
    expect(good.records.map(({ rule, evidence }) => [rule, evidence.value])).toEqual([
      ['bmi', '22.1'],
      ['heart-rate', '80'],
    ])
    const bad = map({ id: '1', a: 'eighty', note: '60' })
    expect(faults(bad)).toEqual(['bmi: expression-failed $number(a) / $power($number(b), 2)'])
    expect(JSON.stringify(mapped(bad).rejected)).not.toContain('eighty')
  })
})

describe('an expression over a document', () => {
  const map = jsonRules(
    '{ order: "$.orders[*]", obx: "order.obx[*]" }',
    `biometrics:
  - code: { expression: "$obx.coding[system='L'][0].code", system: LOINC }
    value: { expression: "$obx.value ? $obx.value : $sum($order.values.$number()) & ''" }
    unit: { constant: /min }
conditions:
  asthma: { when: { $.sick: "true" }, status: { expression: "$count(orders) > 1 ? 'active' : 'resolved'" } }`,
  )
  const obx = (value: string | null) => ({
    coding: [
      { system: 'X', code: 'x' },
      { system: 'L', code: '8867-4' },
      { system: 'L', code: '1-1' },
    ],
    value,
  })

  it('sees it as $, and each level by its name; it is read once for each element of the deepest level it names', () => {
    const outcome = mapped(
      map({ id: '1', sick: true, orders: [{ obx: [obx('61.0'), obx(null)], values: ['30', '32.5'] }] }),
    )
    expect(
      outcome.records.map(({ rule, text }) => [
        rule,
        /"value":([^,]*)|"status":("\w+")/.exec(text)?.slice(1).join(''),
      ]),
    ).toEqual([
      ['asthma', '"resolved"'],
      ['heart-rate-1', '61.0'],
      ['heart-rate-2', '62.5'],
    ])
  })
})

describe('an expression is refused', () => {
  const of = (expression: string): string[] =>
    findings(`${HEAD}biometrics:\n  bmi: { expression: ${JSON.stringify(expression)} }`)

  it.each<readonly [string, readonly string[]]>([
    ['a b', ['5 biometrics.bmi.expression: is no expression: Syntax error: "b", at character 3']],
    ['$match(a, /(?=b)/)', ['5 biometrics.bmi.expression: is no expression: error parsing regexp']],
    ...['now', 'millis', 'toMillis', 'random', 'shuffle', 'eval', '__evaluate_entry'].map(
      (name) => [`$${name}(a)`, [`5 biometrics.bmi.expression: $${name} is unknown`]] as const,
    ),
    ['$map([1], $random)', ['5 biometrics.bmi.expression: $random is unknown']],
  ])('%s', (expression, expected) => {
    const told = of(expression)
    expect(told).toHaveLength(expected.length)
    for (const [at, start] of expected.entries()) expect(told[at]?.startsWith(start), told[at]).toBe(true)
  })

  it('where it names a join', () => {
    const context = contextUnderTest()
    compileJoins(
      context,
      { doctors: { within: '$.x[*]', key: '$.id', on: '$.doctor', missing: 'empty' } },
      [],
    )
    compileField(context, { expression: '$doctors.name' }, ['value'])
    expect(context.findings.map(({ message }) => message)).toEqual([expect.stringContaining('is a join')])
  })

  it('beside another source', () => {
    expect(findings(`${HEAD}biometrics:\n  bmi: { from: a, expression: a }`)).toEqual([
      '5 biometrics.bmi.expression: excludes from: a field is read from one of them',
    ])
  })
})
