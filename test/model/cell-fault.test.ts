import { expect, test } from 'vitest'
import { cellFault, cellMark } from '../../src/model/cell-fault.ts'

test.each([
  [cellMark('NOT-COMPUTED'), 'cell-not-computed'],
  [cellMark('INVALID', '2026-02-30'), 'cell-invalid'],
  [cellMark('DIGITS', '1234567890123456'), 'cell-digits-lost'],
  [cellMark('MERGED'), 'cell-merged'],
  [cellMark('FORMAT', '0.055'), 'cell-format-differs'],
  [cellMark('DAY', '2026-04-02'), 'cell-day-doubtful'],
  ['#TOTAL! 5', undefined],
  ['#N/A', 'cell-error'],
  ['#DIV/0!', 'cell-error'],
  ['#1', undefined],
  ['# of visits', undefined],
  ['N/A', undefined],
  ['', undefined],
])('%s: %s', (text, code) => {
  expect(cellFault(text)?.code).toBe(code)
})
