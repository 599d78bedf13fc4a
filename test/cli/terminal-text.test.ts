/** An error for a terminal: its place once, its findings, and the next step. */
import { expect, test } from 'vitest'
import { describeError } from '../../src/cli/terminal-text.ts'
import { WaybillError } from '../../src/model/errors.ts'

const place = { file: 'jobs/nightly.yaml' }

test.each([
  ['a place that the message does not name', 'the job is wrong', ['  at jobs/nightly.yaml']],
  ['a place that the message names', 'jobs/nightly.yaml is wrong', []],
])('%s is told once', (_, message, lines) => {
  expect(describeError(new WaybillError('job-invalid', message, { place, remedy: 'Correct it.' }))).toEqual([
    '',
    `error job-invalid: ${message}`,
    ...lines,
    '  What to do: Correct it.',
  ])
})

test('findings are told with their places, an error without a place has none', () => {
  const findings = [{ place: { ...place, line: 3 }, message: 'is no number' }]
  const lines = describeError(
    new WaybillError('job-invalid', 'it is wrong', { findings, remedy: 'Correct it.' }),
  )
  expect(lines.slice(1)).toEqual([
    'error job-invalid: it is wrong',
    expect.stringMatching(/^ {2}jobs\/nightly\.yaml.*3.*: is no number$/),
    '  What to do: Correct it.',
  ])
})
