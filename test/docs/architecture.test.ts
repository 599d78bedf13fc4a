/** Answers of docs/architecture.md that name a function and its file. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { page } from './pages.ts'

const answers = [...page('docs/architecture.md').matchAll(/`(\w+)` in `(src\/[^`]+\.ts)`/g)].map(
  ([, name = '', file = '']) => ({ name, file }),
)

test('a sentence of the summary, its figures, reasons and commands have one function each', () => {
  expect(answers.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['asTold', 'gatherStory', 'summaryText', 'leftByRun', 'remedyFor', 'nextSteps']),
  )
})

test.each(answers)('$name is in $file', ({ name, file }) => {
  expect(readFileSync(file, 'utf8')).toMatch(new RegExp(`^export (async )?(function|const) ${name}\\b`, 'm'))
})
