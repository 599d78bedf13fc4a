import { expect, it } from 'vitest'
import { type Assessment, expectationNotices } from '../../src/expect/expectation-text.ts'

const DUE = Date.UTC(2026, 2, 2, 6, 30)
const DAY = 86_400_000

/** Of exports the first has come in time, the others an hour late. @param taken when a run has taken each of those */
function lateBy(...taken: readonly (number | undefined)[]): Assessment {
  const file = { name: 'a.csv', bytes: 9, modifiedAt: DUE - 1 }
  const assessment: unknown = {
    watched: {
      key: { job: 'nightly', mapping: 'm', source: 'inbox/*.csv', timetable: 't' },
      expect: { by: '30 1 * * *', zone: 'America/New_York', count: 2, size: undefined },
    },
    deadline: { previous: DUE - DAY, due: DUE, next: DUE + DAY },
    at: DUE + 3_600_000,
    state: 'late',
    arrived: [
      file,
      ...taken.map((takenAt) => ({ ...file, name: 'b.csv', modifiedAt: DUE + 3_000_000, takenAt })),
    ],
    ...{ small: [], waiting: [], latestDates: [], known: null },
  }
  return assessment as Assessment
}

it.each([
  ['has been taken by a run is looked at', [DUE + 3_100_000], 'waybill runs --job nightly'],
  ['has not been taken is run', [undefined], 'waybill run nightly'],
  ['has been taken in part is run', [DUE + 3_100_000, undefined], 'waybill run nightly'],
])('what came late and %s', (_, taken, command) => {
  const [notice] = expectationNotices(lateBy(...taken), 'g')
  expect(notice?.next.at(-1)).toBe(`    ${command}`)
})
