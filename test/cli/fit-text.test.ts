import { expect, test } from 'vitest'
import { SMALL } from '../../packages/mapping-tools/test/cases-under-test.ts'
import { fitLines } from '../../src/cli/fit-text.ts'
import { createFit } from '../../src/watch/fit-facts.ts'
import { csvMapper, load } from '../transform/mapping-under-test.ts'

test.each([
  ['all were looked at, and some gave no record', 1_900, false],
  ['all of the first, and there are no more', 2_000, false],
  ['not all were looked at', 2_100, true],
])('whether rows were sampled: %s', (_, rows, sampled) => {
  const { compiled, definition } = load(SMALL)
  const map = csvMapper(
    SMALL,
    compiled.reads.map(({ name }) => name),
  )
  const fit = createFit(definition, new Map())
  for (let at = 0; at < rows; at++)
    fit.add(map({ id: `P-${at}`, day: '2026-01-02', pulse: at % 2 === 0 ? '60' : 'slow' }))
  const told = fitLines({ facts: fit.facts(), suspicions: [] }).join('\n')
  expect(told.includes('the first 2,000, then each 23rd')).toBe(sampled)
})

test('the ten most frequent conditions have their share of the rows that were mapped', () => {
  const fit = createFit(load(SMALL).definition, new Map())
  const facts = fit.facts()
  const [template] = facts.rules
  if (template === undefined) throw new Error('the mapping has rules')
  const rules = Array.from({ length: 12 }, (_, at) => {
    return { ...template, rule: `c${at + 1}`, kind: 'condition' as const, made: at + 1, values: undefined }
  })
  const rows = { ...facts.rows, read: 400, mapped: 200 }
  const line = fitLines({ facts: { ...facts, rules, rows }, suspicions: [] }).find((one) =>
    one.startsWith('Have'),
  )
  // A condition that nobody has is no share.
  const none = [{ ...template, rule: 'c0', kind: 'condition' as const, made: 0, values: undefined }]
  expect(fitLines({ facts: { ...facts, rules: none, rows }, suspicions: [] }).join()).not.toContain('Have')
  const shares = ['6.0', '5.5', '5.0', '4.5', '4.0', '3.5', '3.0', '2.5', '2.0', '1.5']
  expect(line).toBe(`Have     ${shares.map((share, at) => `c${12 - at} ${share} %`).join(', ')}`)
})

test('people who cannot be registered are told also where nobody else can be', () => {
  const facts = createFit(load(SMALL).definition, new Map()).facts()
  const people = { ...facts.people, registered: 0, incomplete: { 'postal-code-missing': 3 } }
  const told = fitLines({ facts: { ...facts, people }, suspicions: [] })
  expect(told.find((line) => line.startsWith('People'))).toContain('incomplete: postal-code-missing 3')
  // Of rows that were all left out, none was sampled.
  const rows = { ...facts.rows, read: 5_000, skipped: 5_000 }
  expect(fitLines({ facts: { ...facts, rows }, suspicions: [] }).join()).not.toContain('Sample')
})
