import fc from 'fast-check'
import { expect, test } from 'vitest'
import { exitOf, leftByRun } from '../../src/story/balance.ts'
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
