import { expect, test } from 'vitest'
import { MAPPING_VIEWS } from '../../src/cli/mapping-views.ts'

test('a changed line is shown with three lines before and behind it', () => {
  const lines = Array.from({ length: 20 }, (_, at) => `line ${at}`)
  const changed = lines.with(10, 'another')
  const text = (all: readonly string[]): string => `${all.join('\n')}\n`
  const shown = MAPPING_VIEWS.changes(text(lines), text(changed)).map(({ side, text: line }) => side + line)
  expect(shown.filter((line) => line.startsWith(' '))).toEqual(
    [7, 8, 9, 11, 12, 13].map((at) => ` line ${at}`),
  )
  expect(shown.filter((line) => !line.startsWith(' ')).sort()).toEqual(['+another', '-line 10'])
  expect(MAPPING_VIEWS.changes(text(lines), text(lines))).toEqual([])
})
