/** Drafts ask about rows of visits that did not happen, tests and previews, in whatever column these stand. */
import { expect, test } from 'vitest'
import { finished } from './finished.ts'

/** The line that asks, and what becomes of the rows once it is answered with yes. */
async function answered(name: string, content: string) {
  const { asked, records } = await finished(name, content, (text) => {
    const condition = /skipWhen: (\{.*\})$/m.exec(text)?.[1]
    return condition === undefined ? text : text.replace(/^row:$/m, `row:\n  skipWhen: ${condition}`)
  })
  const question = asked.filter((line) => line.includes('Leave these rows out?')).join('\n')
  return { question, records, people: [...new Set(records.map((record) => record.split(' ')[0]))] }
}

const wide = (header: string, ...cells: readonly string[]): string =>
  [
    `Member ID,Visit Date,${header},Systolic`,
    ...cells.map((cell, at) => `M-${at + 1},2026-03-0${at + 1},${cell},12${at}`),
    '',
  ].join('\n')

test.each([
  ['Visit Status', ['Completed', 'Cancelled', 'No Show', 'Completed'], ['M-1', 'M-4']],
  ['Outcome', ['done', 'no-show', 'CANCELED', 'NoShow'], ['M-1']],
  ['Notes', ['', 'Cancelled by patient', 'felt well', 'no show - called twice'], ['M-1', 'M-3']],
  ['Remark', ['', '', 'No Show', ''], ['M-1', 'M-2', 'M-4']],
  ['Distribution', ['anonymous', 'preview', 'anonymous', 'Survey Preview'], ['M-1', 'M-3']],
  ['Last Name', ['Reed', 'TEST', 'Tester', 'Test Patient'], ['M-1', 'M-3']],
  ['Badge', ['B-1', 'TEST-001', 'B-3', 'test 2'], ['M-1', 'M-3']],
  ['Bemerkung', ['', 'storniert', 'nicht erschienen', 'ok'], ['M-1', 'M-4']],
  ['is_test', ['N', 'Y', 'N', 'N'], ['M-1', 'M-3', 'M-4']],
] as const)('%s: %j', async (header, cells, kept) => {
  const { question, people } = await answered('visits.csv', wide(header, ...cells))
  expect(question).toContain('DECIDE: rows that are probably not visits')
  expect(question).toContain(`${cells.length - kept.length} by ${header}`)
  expect(people).toEqual(kept)
  // Text typed beside it is not shown.
  expect(question).not.toMatch(/patient"|called|TEST-001/)
})

test('in two columns, either tells', async () => {
  const { question, people } = await answered(
    'visits.csv',
    wide('Status,Site', 'Completed,North', 'Cancelled,North', 'Completed,Test', 'Completed,South'),
  )
  expect(question).toContain('skipWhen: { any: [{ Status: ["Cancelled"] }, { Site: ["Test"] }] }')
  expect(people).toEqual(['M-1', 'M-4'])
})

test('of rows that are one finding each, too, but not by the names of tests and the states of results', async () => {
  const rows = [
    'M-1,2026-03-01,HDL,51,mg/dL,final,Completed',
    'M-2,2026-03-02,Sodium,140,mmol/L,cancelled,Completed',
    'M-3,2026-03-03,Sodium,141,mmol/L,final,No Show',
    'M-3,2026-03-03,Test,1,mmol/L,final,Completed',
  ]
  const header = 'Member ID,Visit Date,Test,Value,Unit,Status,Visit State'
  const { question } = await answered('long.csv', [header, ...rows, ''].join('\n'))
  expect(question).toContain('1 by Visit State.')
  expect(question).toContain('skipWhen: { Visit State: ["No Show"] }')
})

test.each([
  ['Site', ['North', 'South', 'Testville', 'Protest']],
  ['Panel', ['Stress test', 'Test strip', 'testosterone', 'contest']],
  ['Note', ['cancer screening', 'preventive', 'shows up', 'avoided']],
  ['Kind', ['test', 'test', 'test', 'test']],
])('is not asked: %s with %j', async (header, cells) => {
  expect((await answered('visits.csv', wide(header, ...cells))).question).toBe('')
})
