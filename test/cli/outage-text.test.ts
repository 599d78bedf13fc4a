import { expect, test } from 'vitest'
import {
  outageBegins,
  outageChanges,
  outageEnds,
  outageProgress,
  waitsLines,
  waitsText,
} from '../../src/cli/outage-text.ts'

const SINCE = Date.parse('2026-03-02T02:17:05.250Z')
const WHAT = 'create biometrics: POST /health-profile/biometrics failed: ECONNREFUSED, at https://g.example'
const AWAY = {
  ...{
    since: SINCE,
    givesUpAt: SINCE + 1_800_000,
    isOver: false,
    failures: 7,
    isNotable: true,
    ofBatch: false,
  },
  ...{ class: 'not-sent' as const, what: WHAT, pending: 2_500 },
}
const NOTED = {
  ...{ since: '2026-03-02T02:17:05.250Z', givesUpAt: '2026-03-02T02:47:05.250Z' },
  ...{ class: 'not-sent', what: WHAT, pending: 1 },
}

test('the log says since when, why, until when, and how much waits', () => {
  expect(outageBegins(AWAY)).toBe(
    `nothing gets through to the gateway since 2026-03-02T02:17:05Z (not-sent: ${WHAT}); waiting, gives up at 2026-03-02T02:47:05Z; 2,500 records are pending`,
  )
  expect(outageChanges({ ...AWAY, class: 'not-taken', what: 'x was answered 503' })).toBe(
    'still nothing gets through to the gateway, now for another cause (not-taken: x was answered 503)',
  )
  expect(outageEnds({ ...AWAY, pending: 1 }, SINCE + 754_000)).toBe(
    'the gateway answers again, after 12 min 34 s and 7 requests in vain; 1 record is pending',
  )
  // A clock may be set back.
  expect(outageEnds({ ...AWAY, failures: 1 }, SINCE - 1)).toContain('after 0 s and 1 request in vain')
})

test.each([
  [1_800_000, 'waiting for the gateway since 02:17, gives up at 02:47 UTC'],
  [86_399_999, 'waiting for the gateway since 02:17, gives up at 02:17 UTC'],
  [86_400_000, 'waiting for the gateway since 2026-03-02 02:17, gives up at 2026-03-03 02:17 UTC'],
])('progress, with a patience of %i ms', (patience, words) => {
  expect(outageProgress({ since: SINCE, givesUpAt: SINCE + patience })).toBe(words)
})

test('of a run of another process', () => {
  expect(waitsText(NOTED)).toBe(
    `waits for the gateway since 2026-03-02T02:17:05Z, gives up at 2026-03-02T02:47:05Z: nothing gets through (not-sent: ${WHAT}); 1 record is pending`,
  )
  expect(waitsLines(NOTED)).toEqual([
    'Waiting  for the gateway since 2026-03-02T02:17:05Z: nothing gets through (not-sent)',
    `         ${WHAT}`,
    '         gives up at 2026-03-02T02:47:05Z; 1 record is pending. To see whether the gateway can be had',
    '    waybill doctor',
  ])
})
