import { expect, test } from 'vitest'
import { SMALL } from '../../packages/mapping-tools/test/cases-under-test.ts'
import { fitLines } from '../../src/cli/fit-text.ts'
import { createFit } from '../../src/watch/fit-facts.ts'
import { csvMapper, load } from '../transform/mapping-under-test.ts'

test.each([
  ['all were looked at, and some gave no record', 1_900, false],
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
