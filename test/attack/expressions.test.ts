/** An expression that does not end, or makes too much of a row, costs that record, and neither the run nor the process. */
import { describe, expect, test } from 'vitest'
import { compileField } from '../../src/transform/compile-field.ts'
import { csvNames } from '../../src/transform/scope.ts'
import { ANN, HEADER, openClinic } from '../cli/clinic.ts'
import { ended, summaryOf } from '../cli/command-line.ts'
import { contextUnderTest } from '../transform/mapping-under-test.ts'

const ATTACKS = {
  'a tail call without end': '($f := function($n) { $f($n + 1) }; $f(0))',
  'a recursion without end': '($f := function($n) { 1 + $f($n + 1) }; $f(0))',
  'ten million numbers': '$count([1..10000000])',
  'lists of ten million numbers':
    '$count([[1..9999999], [1..9999999], [1..9999999], [1..9999999], [1..9999999]])',
  'ten million calls without a step': '$count($map([1..9999999], $string))',
  'a list that doubles': '$count($reduce([1..60], function($all, $n) { $append($all, $all) }, [1]))',
  'a list compared with itself': '$count($distinct([1..90000]))',
  'a large list looked through often': '($all := [1..90000]; $count([1..90000][$ in $all]))',
  'a padded text': '$length($pad("x", 300000000))',
  'a padded text by a partial call': '($wide := $pad(?, 300000000); $length($wide("x")))',
  'a text that doubles':
    '($f := function($s, $n) { $n = 0 ? $s : $f($s & $s, $n - 1) }; $length($uppercase($f("ab", 28))))',
  'a wide join': '$length($join([1..30000].($string($)), $pad("", 30000, "x")))',
  'a long replacement': '$length($replace($pad("", 90000, "x"), "x", $pad("", 90000, "y")))',
  'a tree of shared branches, as text':
    '$length($string($reduce([1..60], function($t, $n) { {"a": $t, "b": $t} }, {})))',
  'a tree of shared branches, looked through':
    '$count($reduce([1..60], function($t, $n) { {"a": $t, "b": $t} }, {}).**)',
  'a tree that grows as it is transformed':
    '($g := function($t, $n) { $n = 0 ? $t : $g($t ~> |**|{"c": $t, "d": $t}|, $n - 1) }; $length($string($g({"a": {}}, 12))))',
  'lists of lists, in a tail call':
    '($all := [1..90000]; $count($map($all, function($x) { $zip($all, $all, $all) })))',
  'a large regular expression': '$contains($pad("", 200000, "ab"), /(.?){40}(a|b|ab)*c/)',
  'many matches': '$count($match($pad("", 900000, "a"), /a/))',
  'a long picture': '$parseInteger($pad("", 2000000, "one hundred "), "w")',
} as const

describe('one expression', () => {
  test.each(Object.entries(ATTACKS))('%s', (_, expression) => {
    const context = contextUnderTest({}, csvNames(['a'], new Set()))
    const field = compileField(context, { expression }, ['value'])
    expect(context.findings).toEqual([])
    expect(field.read(['x'])).toMatchObject({ code: 'expression-too-costly' })
  })

  test('a function costs the same, however large what it was made within', () => {
    const cells = Array.from({ length: 2_000 }, (_, at) => `c${at}`)
    const context = contextUnderTest({}, csvNames(cells, new Set()))
    const expression = '$sum($map([1..4000], function($n) { ($same := function($m) { $m }; $same($n)) }))'
    expect(compileField(context, { expression }, ['value']).read(cells)).toBe('8002000')
  })

  test('a regular expression that backtracks elsewhere takes its time here once', () => {
    const context = contextUnderTest({}, csvNames(['a'], new Set()))
    const expression = '$contains(a, /^(a+)+$/)'
    const text = compileField(context, { expression }, ['value']).read([`${'a'.repeat(100_000)}b`])
    expect(text).toBe('false')
  })

  test('a transformation that puts a tree into itself fails', () => {
    const context = contextUnderTest({}, csvNames(['a'], new Set()))
    const expression = '$string({"a": {}} ~> |$|{"self": $}|)'
    expect(compileField(context, { expression }, ['value']).read(['x'])).toHaveProperty('code')
  })

  test('the bound holds for each row anew, and is the same for the same row', () => {
    const context = contextUnderTest({}, csvNames(['a'], new Set()))
    const field = compileField(context, { expression: '$count([1..$number(a)].($string($)))' }, ['value'])
    const texts = [10_000, 60_000, 10_000, 60_000].map((n) => field.read([String(n)]))
    expect(texts[0]).toBe('10000')
    const tooCostly = expect.objectContaining({ code: 'expression-too-costly' })
    expect(texts).toEqual([texts[0], tooCostly, texts[0], texts[1]])
  })
})

test('all of them in one export: with a quarter of a gigabyte the run ends, and the rest of the row is sent', async () => {
  const rules = Object.values(ATTACKS).map(
    (expression) =>
      `  - { code: { expression: "'8867-4'", system: LOINC }, value: { expression: ${JSON.stringify(expression)} }, unit: { constant: /min } }\n`,
  )
  const mapping = `mapping: clinic
read: { format: csv }
row:
  key: [id, day]
  account: { reference: id, type: partnerAccountId }
  observedAt: { from: day, format: yyyy-MM-dd, zone: America/New_York }
  source: { name: Clinic, type: screening, sendingSystem: clinic }
biometrics:
  - { code: { expression: "'4548-4'", system: LOINC }, value: a1c, unit: { constant: "%" } }
${rules.join('')}`
  const { workplace, deliver, stored } = await openClinic({ mapping })
  workplace.environment['NODE_OPTIONS'] = '--max-old-space-size=256'
  await deliver('a.csv', `${HEADER}${ANN}`)
  const end = await ended(workplace.start('run', 'clinic', '--json'))
  expect(end.code, end.err).toBe(1)
  const { rows, records } = summaryOf(end)
  expect({ rows, rejected: records.biometric?.rejected }).toMatchObject({
    rows: { mapped: 1 },
    rejected: rules.length,
  })
  expect(await stored()).toEqual(['ann hba1c 5.1'])
})
