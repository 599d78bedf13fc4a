import { describe, expect, it } from 'vitest'
import { fittedTable } from '../../src/cli/plain-table.ts'

const HEAD = ['count', 'reason', 'message']
const WORDS =
  'no answer came, and the profile cannot tell whether the record was stored anywhere at all, ever'
const ROWS = [['12', 'in-doubt', WORDS]]
const linesOf = (columns: number | undefined): string[] => fittedTable(HEAD, ROWS, 1, columns).split('\n')

describe('a table with words', () => {
  it('is as wide as they are where there is no terminal', () => {
    const [, line = '', ...rest] = linesOf(undefined)
    expect(line.trim()).toBe(`12   in-doubt   ${WORDS}`)
    expect(rest).toEqual([])
  })

  it('is no wider than the terminal, and loses no word', () => {
    const lines = linesOf(60)
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(60)
    expect(lines.slice(1).join(' ').replaceAll(/\s+/g, ' ').trim()).toBe(`12 in-doubt ${WORDS}`)
  })

  it('does not break words apart in a terminal that is narrower than the other columns', () => {
    expect(linesOf(10).join('\n')).toContain('tell whether the')
  })
})
