/** All words about an expectation: on a terminal, as JSON and in notices, with none, one and two of everything. */
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { stringify } from 'yaml'
import {
  type Assessment,
  assessmentJson,
  assessmentLines,
  expectationNotices,
  smallNotice,
} from '../../src/expect/expectation-text.ts'
import { WaybillError } from '../../src/model/errors.ts'

const DUE = Date.UTC(2026, 2, 2, 6, 30)
const DAY = 86_400_000
const HOUR = 3_600_000

const inTime = { name: 'a.csv', bytes: 1, modifiedAt: DUE, takenAt: undefined }
const late = { name: 'b.csv', bytes: 1_234, modifiedAt: DUE + 1, takenAt: undefined }
const small = [
  { name: 'a.csv', bytes: 1, modifiedAt: DUE, usual: 3 },
  { name: 'b.csv', bytes: 1_234, modifiedAt: DUE + 1, usual: 9_999.6 },
]
const waiting = [
  { delivery: { name: 'c.csv' }, lacks: ['rest', 'marker'] },
  { delivery: { name: 'd.csv' }, lacks: ['manifest'] },
]

function assessed(count: number, more: object): Assessment {
  const assessment: unknown = {
    watched: {
      key: { job: 'nightly', mapping: 'm', source: 'inbox/*.csv', timetable: 't' },
      expect: { by: '30 1 * * *', zone: 'America/New_York', count, size: 0.5 },
      source: { stableForMs: 60_000, marker: '{name}.done' },
    },
    deadline: { previous: DUE - DAY, due: DUE, next: DUE + DAY },
    at: DUE + HOUR,
    ...{ state: 'arrived', arrived: [], small: [], waiting: [], latestDates: [], known: null },
    ...more,
  }
  return assessment as Assessment
}

it('says what has come, what is missing and what to type', async () => {
  const cases: Readonly<Record<string, Assessment>> = {
    'all in time': assessed(1, { arrived: [inTime] }),
    'one of two': assessed(2, { state: 'missing', arrived: [inTime], latestDates: ['2026-03-01'] }),
    'none of one': assessed(1, { state: 'missing' }),
    'none of three, two wait': assessed(3, {
      ...{ state: 'missing', waiting, latestDates: ['2026-02-28', '2026-03-01'] },
    }),
    'late, and small': assessed(2, { state: 'late', arrived: [inTime, late], small }),
    'late, and read': assessed(2, { state: 'late', arrived: [inTime, { ...late, takenAt: DUE + 2 }] }),
    'not reached': assessed(1, {
      state: 'unreachable',
      error: new WaybillError('source-unreachable', 'the server h does not answer'),
    }),
  }
  const said = Object.fromEntries(
    Object.entries(cases).map(([name, one]) => [
      name,
      {
        lines: assessmentLines(one),
        json: assessmentJson(one),
        // Each notice carries lines and JSON again.
        notices: expectationNotices(one, 'https://gateway.example').map(({ text, data, ...notice }) => ({
          ...notice,
          isTextLines: JSON.stringify(text) === JSON.stringify(assessmentLines(one)),
          isDataJson: JSON.stringify(data) === JSON.stringify(assessmentJson(one)),
        })),
      },
    ]),
  )
  const atRun = small.map((one) =>
    smallNotice({ job: 'nightly', gateway: 'g', at: DUE }, 'run-1', {
      ...one,
      source: 'inbox/*.csv',
      mapping: 'm',
    }),
  )
  await expect(stringify({ ...said, 'at a run': atRun })).toMatchFileSnapshot(
    join(import.meta.dirname, 'golden/expectation-words.yaml'),
  )
})
