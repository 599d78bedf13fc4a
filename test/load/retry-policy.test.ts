import { describe, expect, it } from 'vitest'
import type { AnswerClass } from '../../src/gateway/gateway-error.ts'
import {
  decide,
  type Failure,
  type Purpose,
  TRIES_OF_ONE,
  waitBeforeReadBack,
} from '../../src/load/retry-policy.ts'

/** For each class: a write that must not be repeated, one that may; then the same with the token renewed already. */
const TABLE: Record<AnswerClass, readonly [string, string, string, string]> = {
  accepted: ['give-back', 'give-back', 'give-back', 'give-back'],
  'accepted-in-part': ['give-back', 'give-back', 'give-back', 'give-back'],
  ambiguous: ['give-back', 'retry', 'give-back', 'retry'],
  'not-sent': ['retry', 'retry', 'retry', 'retry'],
  'not-taken': ['retry', 'retry', 'retry', 'retry'],
  refused: ['give-back', 'give-back', 'give-back', 'give-back'],
  'too-large': ['give-back', 'give-back', 'give-back', 'give-back'],
  'stale-token': ['renew-token', 'renew-token', 'stop', 'stop'],
  'not-allowed': ['stop', 'stop', 'stop', 'stop'],
}
const most = () => 1 - Number.EPSILON
const failure = (fields: Partial<Failure>): Failure => ({
  class: 'ambiguous',
  attempt: 1,
  ambiguous: 1,
  purpose: 'registration',
  tokenRenewed: false,
  othersSinceFirst: false,
  othersSinceLast: false,
  ...fields,
})

describe('the retry policy', () => {
  it.each(Object.entries(TABLE) as [AnswerClass, readonly string[]][])('%s', (kind, expected) => {
    const decided = [false, true].flatMap((tokenRenewed) =>
      (['batch', 'registration'] as const).map(
        (purpose) => decide(failure({ class: kind, purpose, tokenRenewed }), Math.random).kind,
      ),
    )
    expect(decided).toEqual(expected)
  })

  it.each<[Purpose, boolean, boolean, string]>([
    ['registration', false, false, 'retry'],
    ['registration', true, false, 'ask'],
    ['registration', true, true, 'give-back'],
    ['read', false, false, 'retry'],
    ['read', true, false, 'ask'],
    ['read', true, true, 'give-back'],
    ['follow-up', false, false, 'ask'],
    ['follow-up', true, false, 'ask'],
    ['follow-up', true, true, 'give-back'],
    ['batch', true, true, 'give-back'],
  ])(
    'of a %s that failed often; others since the first time %s, since the last %s: %s',
    (purpose, ...rest) => {
      const [othersSinceFirst, othersSinceLast, expected] = rest
      const others = { purpose, othersSinceFirst, othersSinceLast }
      const decided = (ambiguous: number) => decide(failure({ ...others, ambiguous }), Math.random).kind
      expect([TRIES_OF_ONE, 50].map(decided)).toEqual([expected, expected])
      if (purpose !== 'batch') expect([1, TRIES_OF_ONE - 1].map(decided)).toEqual(['retry', 'retry'])
    },
  )

  const waitOf = (kind: AnswerClass, attempt: number, random: () => number) => {
    const decision = decide(failure({ class: kind, attempt }), random)
    return decision.kind === 'retry' ? decision.waitMs : undefined
  }

  it.each(['not-sent', 'ambiguous'] as const)(
    'waits with full jitter under a bound that doubles up to a minute: %s',
    (kind) => {
      expect(
        [1, 2, 3, 7, 8, 50, 5000].map((attempt) => Math.round(waitOf(kind, attempt, most) ?? Number.NaN)),
      ).toEqual([500, 1000, 2000, 32_000, 60_000, 60_000, 60_000])
      expect(waitOf(kind, 9, () => 0)).toBe(0)
    },
  )

  it('leaves the wait for what was not taken to the hold of all', () => {
    expect(waitOf('not-taken', 5, most)).toBe(0)
  })

  it('waits longer before each further look into the profile', () => {
    expect([1, 2, 3].map((attempt) => Math.round(waitBeforeReadBack(attempt, most)))).toEqual([
      500, 1000, 2000,
    ])
  })
})
