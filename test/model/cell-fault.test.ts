import { expect, test } from 'vitest'
import { cellFault, invalidCell, lostDigits, NOT_COMPUTED } from '../../src/model/cell-fault.ts'

test.each([
  [NOT_COMPUTED, 'cell-not-computed'],
  [invalidCell('2026-02-30'), 'cell-invalid'],
  [lostDigits('1234567890123456'), 'cell-digits-lost'],
  ['#N/A', 'cell-error'],
  ['#DIV/0!', 'cell-error'],
  ['#1', undefined],
  ['# of visits', undefined],
  ['N/A', undefined],
  ['', undefined],
])('%s: %s', (text, code) => {
  expect(cellFault(text)?.code).toBe(code)
})
