/** Times of the digest, and its words. */
import { expect, it, test } from 'vitest'
import { digestNotice } from '../../src/needs/digest.ts'
import type { Need } from '../../src/needs/need.ts'
import { digestTimes } from '../../src/runs/digests.ts'

const NEW_YORK = { digest: '07:00', zone: 'America/New_York' }
const at = (text: string): number => Date.parse(text)

// New York: 07:00 is 12:00 UTC in winter and 11:00 in summer; clocks go ahead on 8 March 2026.
it.each([
  ['2026-03-07T12:00:00Z', '2026-03-07T12:00Z', '2026-03-06T12:00Z', '2026-03-08T11:00Z'],
  ['2026-03-07T13:00:00Z', '2026-03-07T12:00Z', '2026-03-06T12:00Z', '2026-03-08T11:00Z'],
  ['2026-03-08T11:30:00Z', '2026-03-08T11:00Z', '2026-03-07T12:00Z', '2026-03-09T11:00Z'],
  // An hour late is the latest.
  ['2026-03-07T13:00:00.001Z', undefined, undefined, '2026-03-08T11:00Z'],
  ['2026-03-07T11:59:59.999Z', undefined, undefined, '2026-03-07T12:00Z'],
])('at %s: due %s, before %s, next %s', (now, due, before, next) => {
  expect(digestTimes(NEW_YORK, at(now))).toEqual({
    due: due && at(due),
    before: before && at(before),
    next: at(next),
  })
})

const need = (job: string): Need => ({
  cause: 'run-failed',
  jobs: [job],
  what: `${job} failed`,
  since: 0,
  runs: [],
  times: 1,
  exports: [],
  steps: [],
})
const about = { job: 'a', gateway: 'gateway', at: 1 }
const title = (failed: readonly string[], needs: readonly Need[]): string =>
  digestNotice(about, { due: 1, since: 0, failed, needs }).title

test('it counts jobs that failed, those that ended by themselves, and needs', () => {
  expect(title(['a', 'b', 'c', 'd'], [need('d')])).toBe(
    'Waybill: 4 failed, 3 ended by themselves since, 1 needs you: d failed',
  )
  expect(title(['a', 'b'], [])).toBe('Waybill: 2 failed, 2 ended by themselves since, nothing needs you')
  expect(title([], [need('d'), need('e')])).toBe(
    'Waybill: 0 failed, 0 ended by themselves since, 2 need you: d failed',
  )
  expect(title([], [])).toBe('Waybill: nothing failed, nothing needs you')
})

test('it is for who wants failures where something needs somebody alone', () => {
  const notice = (needs: readonly Need[]) => digestNotice(about, { due: 1, since: 0, failed: ['a'], needs })
  expect([notice([]).failure, notice([need('a')]).failure]).toEqual([false, true])
  expect(notice(Array.from({ length: 12 }, (_, n) => need(`j${n}`))).text.at(-1)).toBe('         and 2 more')
})
