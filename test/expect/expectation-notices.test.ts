import { expect, it } from 'vitest'
import type { Assessment } from '../../src/expect/assess.ts'
import { expectationNotices } from '../../src/expect/expectation-text.ts'

const DUE = Date.UTC(2026, 2, 2, 6, 30)
const DAY = 86_400_000

/** Of two exports the first has come in time, the second an hour late. @param takenAt when a run has taken the second */
function lateBy(takenAt: number | undefined): Assessment {
  const file = { name: 'a.csv', bytes: 9, modifiedAt: DUE - 1 }
  const assessment: unknown = {
    watched: {
      key: { job: 'nightly', mapping: 'm', source: 'inbox/*.csv', timetable: 't' },
      expect: { by: '30 1 * * *', zone: 'America/New_York', count: 2, size: undefined },
    },
    deadline: { previous: DUE - DAY, due: DUE, next: DUE + DAY },
    at: DUE + 3_600_000,
    state: 'late',
    arrived: [file, { ...file, name: 'b.csv', modifiedAt: DUE + 3_000_000, takenAt }],
    ...{ small: [], waiting: [], latestDates: [], known: null },
  }
  return assessment as Assessment
}

it.each([
  ['has been taken by a run is looked at', DUE + 3_100_000, 'waybill runs --job nightly'],
  ['has not been taken is run', undefined, 'waybill run nightly'],
])('what came late and %s', (_, takenAt, command) => {
  const [notice] = expectationNotices(lateBy(takenAt), 'g')
  expect(notice?.next.at(-1)).toBe(`    ${command}`)
})
