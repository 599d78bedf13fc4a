/** Answers of docs/architecture.md that name a function and its file. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { page, sections, tableRows } from './pages.ts'

const text = page('docs/architecture.md')
const ANSWER = /`(\w+)` in `(src\/[^`]+\.ts)`/g
const answersIn = (markdown: string) =>
  [...markdown.matchAll(ANSWER)].map(([, name = '', file = '']) => ({ name, file }))
const answers = answersIn(text)
const questions = new Map(
  tableRows(sections(text, 2).get('Questions') ?? '').map(([question = '', answer = '']) => [
    question,
    answersIn(answer),
  ]),
)

describe('docs/architecture.md', () => {
  test.each([
    'where `Retry-After` is honoured',
    'where retries are decided',
    'what decides that a record is not sent',
    'what may have been sent when a process dies',
    'where a sentence of the summary comes from',
    'how a new source is added',
    'how a record kind is added',
  ])('answers %s with a function', (question) => {
    expect(questions.get(question) ?? []).not.toEqual([])
  })

  test('names a function for each step of a row', () => {
    const steps = tableRows(sections(text, 2).get('The way of a row') ?? '')
    expect(steps.length).toBeGreaterThan(9)
    for (const [step = '', answer = ''] of steps) expect(answersIn(answer), step).not.toEqual([])
  })

  test.each(answers)('$name is in $file', ({ name, file }) => {
    expect(readFileSync(file, 'utf8')).toMatch(
      new RegExp(`^(export )?(async )?(function\\*?|const) ${name}\\b`, 'm'),
    )
  })
})
