import fc from 'fast-check'
import { expect, test } from 'vitest'
import { noCounts } from '../../src/model/balance.ts'
import { exitOf, leftByRun, mostLeftFirst } from '../../src/story/balance.ts'
import { runNotice } from '../../src/story/notices.ts'
import { verdictOf } from '../../src/story/report/report-page.ts'
import { exportWith, kinds, made, rows, summaryWith } from './report/sample-facts.ts'

test('exit code, title of the notice and verdict of the report agree on what a finished run left behind', () => {
  const few = fc.oneof(fc.constant(0), fc.nat(3))
  fc.assert(
    fc.property(few, few, few, few, few, few, (row, rejected, inDoubt, marks, deletions, failed) => {
      const summary = summaryWith({
        rows: rows(9, 0, row),
        records: kinds({ condition: made({ accepted: 9, rejected, inDoubt }) }),
        primaryCare: { marked: 0, unmarked: 0, owed: marks },
        careTeams: { replaced: 0, removed: 0, owed: marks + deletions, unjudged: 0 },
        exports: [
          exportWith(0),
          ...Array.from({ length: failed }, (_, at) => exportWith(at + 1, { error: 'export-empty' })),
        ],
      })
      const isLeft = row + rejected + inDoubt + marks + deletions + failed > 0
      const exit = exitOf(summary)
      const { title } = runNotice({ summary, exit, reasons: [], next: [], at: 0 })
      expect(Object.values(leftByRun(summary)).some((count) => count > 0)).toBe(isLeft)
      expect(exit).toBe(isLeft ? 1 : 0)
      expect(title.endsWith('finished: all accounted for')).toBe(!isLeft)
      expect(verdictOf(summary).level).toBe(isLeft ? 'left' : 'well')
    }),
  )
})

test('exports with the most left behind come first: unusable ones, then by number, else in their order', () => {
  const left = (name: string, rejected: number, error?: string) => {
    const counts = { ...noCounts(), rows: { ...noCounts().rows, read: 9, mapped: 9 - rejected, rejected } }
    return { name, counts, ...(error === undefined ? {} : { error }) }
  }
  const [none, few, many] = [left('none', 0), left('few', 2), left('many', 5)]
  const [broken, empty] = [left('broken', 0, 'export-unreadable'), left('empty', 0, 'export-empty')]
  const alike = left('alike', 2)
  const names = (exports: Parameters<typeof mostLeftFirst<typeof none>>[0]): string[] =>
    mostLeftFirst(exports).map(({ name }) => name)
  expect(names([none, few, broken, many, empty, alike])).toEqual([
    ...['broken', 'empty', 'many', 'few', 'alike', 'none'],
  ])
  expect(names([empty, alike, broken, few])).toEqual(['empty', 'broken', 'alike', 'few'])
})
