import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import type { AnswerClass } from '../../src/gateway/gateway-error.ts'
import {
  decide,
  decideAbsent,
  decideLost,
  type FailedRequest,
  isLate,
  type LostBatch,
  ofCredentials,
  type Purpose,
} from '../../src/load/retry-policy.ts'

type Facts = FailedRequest | LostBatch | AbsentRecords

const PATIENCE_MS = 600_000
const half = () => 0.5
const most = () => 1 - Number.EPSILON

const NO_OTHERS: FailedRequest['others'] = {
  throughSinceFirst: false,
  throughSinceLast: false,
  anySinceFirst: false,
  failuresOfOperation: 0,
  areFewFailing: true,
}
const THROUGH = { ...NO_OTHERS, throughSinceFirst: true, anySinceFirst: true }
const request = (fields: Partial<FailedRequest> = {}): FailedRequest => ({
  ...{ class: 'ambiguous', purpose: 'registration', tries: 1, lost: 1 },
  ...{ tokenAgeMs: Number.POSITIVE_INFINITY, retryAfterMs: undefined, heldMs: 0, askedMs: 0 },
  ...{ leftMs: PATIENCE_MS, others: NO_OTHERS, answersNobody: undefined, ...fields },
})
/** Lost so often that it may fail by itself. */
const often = (fields: Partial<FailedRequest> = {}) =>
  request({ tries: 6, lost: 6, others: THROUGH, ...fields })
/** Lost, and the patience would end in the wait. */
const atEnd = (fields: Partial<FailedRequest> = {}) => request({ leftMs: 0, ...fields })
const batch = (fields: Partial<LostBatch> = {}): LostBatch => ({
  ...{ isPage: false, tries: 1, isAnswered: true, leftMs: PATIENCE_MS },
  ...{ isKnownToFail: false, mayBeGivenUp: true, answersNobody: undefined, ...fields },
})
const over = (fields: Partial<LostBatch> = {}) => batch({ leftMs: 0, ...fields })
type AbsentRecords = Parameters<typeof decideAbsent>[0]
const absent = (fields: Partial<AbsentRecords> = {}): AbsentRecords => ({
  ...{ isAccepted: false, status: 500, tries: 3 },
  ...{ isGivenUp: false, othersTaken: true, records: 2, ...fields },
})
const followUp = { purpose: 'follow-up' } as const
const read = { purpose: 'read' } as const

/** Line, step, milliseconds where it waits, facts. */
const CASES: readonly [line: number, step: string, facts: Facts][] = [
  [1, 'stop', request({ class: 'not-allowed' })],
  [1, 'stop', request({ class: 'stale-token', tokenAgeMs: 59_999 })],
  [1, 'stop', request({ class: 'not-allowed', purpose: 'batch', leftMs: -1 })],
  [2, 'renew-token', request({ class: 'stale-token' })],
  [2, 'renew-token', request({ class: 'stale-token', tokenAgeMs: 60_000, leftMs: -1 })],
  [3, 'give-back', request({ class: 'refused' })],
  [3, 'give-back', request({ class: 'too-large', purpose: 'batch' })],
  [3, 'give-back', request({ class: 'refused', retryAfterMs: 1000, leftMs: -1 })],
  [4, 'end', request({ purpose: 'batch', leftMs: -1 })],
  [5, 'give-back', request({ purpose: 'batch' })],
  [5, 'give-back', request({ purpose: 'batch', leftMs: 0, heldMs: 500 })],
  [5, 'give-back', often({ purpose: 'batch', others: { ...THROUGH, throughSinceLast: true } })],
  [6, 'give-up', often({ answersNobody: true })],
  [6, 'give-up', often({ ...read, answersNobody: true })],
  [6, 'give-up', often({ ...followUp, others: NO_OTHERS, answersNobody: true })],
  [6, 'give-up', atEnd({ ...read, answersNobody: true })],
  [6, 'give-up', atEnd({ answersNobody: true })],
  [6, 'give-up', request({ ...read, heldMs: 700, askedMs: 700, leftMs: 300, answersNobody: true })],
  [7, 'give-up', often({ others: { ...THROUGH, throughSinceLast: true } })],
  [7, 'give-up', often({ ...read, others: { ...THROUGH, throughSinceLast: true }, lost: 50 })],
  [7, 'give-up', often({ ...followUp, others: { ...THROUGH, throughSinceLast: true } })],
  [8, 'ask', often()],
  [8, 'ask', often(read)],
  [8, 'ask', often({ ...followUp, others: NO_OTHERS })],
  [8, 'ask', often({ ...followUp, lost: 3, others: { ...NO_OTHERS, failuresOfOperation: 6 } })],
  [9, 'retry 250', request()],
  [9, 'retry 250', request({ class: 'not-sent', purpose: 'batch' })],
  [9, 'retry 0', request({ class: 'not-taken' })],
  [9, 'retry 0', request({ class: 'not-taken', leftMs: -1 })],
  [9, 'retry 8000', often({ others: NO_OTHERS })],
  [9, 'retry 8000', often({ ...read, others: NO_OTHERS })],
  [9, 'retry 8000', often({ answersNobody: false })],
  [9, 'retry 8000', often({ lost: 5 })],
  [9, 'retry 8000', often({ class: 'not-sent' })],
  [
    9,
    'retry 1000',
    request({ ...followUp, tries: 3, lost: 3, others: { ...NO_OTHERS, failuresOfOperation: 5 } }),
  ],
  [
    9,
    'retry 500',
    request({ ...followUp, tries: 2, lost: 2, others: { ...NO_OTHERS, failuresOfOperation: 9 } }),
  ],
  [9, 'retry 30250', request({ class: 'not-taken', retryAfterMs: 30_000 })],
  [9, 'retry 700', request({ class: 'not-taken', retryAfterMs: 30_000, heldMs: 700 })],
  [9, 'retry 700', request({ heldMs: 700, leftMs: 700 })],
  // The hold of the breaker gives way to the end of the patience, that of the gateway does not.
  [9, 'retry 300', request({ heldMs: 700, leftMs: 300 })],
  [9, 'retry 300', request({ class: 'not-taken', heldMs: 700, askedMs: 200, leftMs: 300 })],
  [10, 'give-up', atEnd({ ...read, others: { ...NO_OTHERS, anySinceFirst: true } })],
  [10, 'give-up', atEnd({ ...followUp, others: { ...NO_OTHERS, anySinceFirst: true } })],
  [11, 'ask', atEnd()],
  [11, 'ask', atEnd({ others: THROUGH })],
  [11, 'ask', atEnd(read)],
  [11, 'ask', atEnd(followUp)],
  [12, 'end', atEnd({ answersNobody: false })],
  [12, 'end', atEnd({ ...read, answersNobody: false })],
  [12, 'end', atEnd({ others: { ...NO_OTHERS, areFewFailing: false } })],
  [12, 'end', atEnd({ others: { ...THROUGH, areFewFailing: false } })],
  [12, 'end', atEnd({ class: 'not-sent', answersNobody: true })],
  [12, 'end', request({ class: 'not-taken', purpose: 'batch', heldMs: 700, askedMs: 700, leftMs: 300 })],
  [13, 'give-up', batch({ isPage: true, tries: 3 })],
  [13, 'give-up', over({ isPage: true, tries: 3 })],
  [14, 'halve', over({ answersNobody: true })],
  [14, 'halve', batch({ tries: 3, isKnownToFail: true, answersNobody: true })],
  [15, 'ask', over()],
  [15, 'ask', batch({ tries: 3, isKnownToFail: true })],
  [16, 'end', over({ answersNobody: false })],
  [16, 'end', over({ isAnswered: false })],
  [16, 'end', over({ mayBeGivenUp: false, answersNobody: true })],
  [16, 'end', over({ leftMs: -1, isAnswered: false })],
  [17, 'read 250', batch()],
  [17, 'read 500', batch({ isPage: true, tries: 2 })],
  [17, 'read 500', batch({ tries: 2, isKnownToFail: true })],
  [17, 'read 1000', batch({ tries: 3 })],
  [17, 'read 1000', batch({ tries: 3, isKnownToFail: true, answersNobody: false })],
  [17, 'read 40', batch({ leftMs: 40 })],
  [17, 'read 1', batch({ leftMs: 1 })],
  [18, 'give-up', absent({ isAccepted: true, status: 200, tries: 2 })],
  [18, 'give-up', absent({ isAccepted: true, status: 200, tries: 2, records: 1 })],
  [19, 'halve', absent()],
  [19, 'halve', absent({ isGivenUp: true, status: null, tries: 1, othersTaken: false })],
  [20, 'give-up', absent({ records: 1 })],
  [20, 'give-up', absent({ isGivenUp: true, status: null, tries: 1, othersTaken: false, records: 1 })],
  [21, 'retry 0', absent({ tries: 2 })],
  [21, 'retry 0', absent({ status: 499 })],
  [21, 'retry 0', absent({ status: null })],
  [21, 'retry 0', absent({ othersTaken: false })],
  [21, 'retry 0', absent({ isAccepted: true, status: 200, tries: 1, records: 1 })],
]

const stepOf = (facts: Facts, random = half): string => {
  const step =
    'class' in facts
      ? decide(facts, random)
      : 'isPage' in facts
        ? decideLost(facts, random)
        : decideAbsent(facts)
  return 'waitMs' in step ? `${step.kind} ${Math.round(step.waitMs)}` : step.kind
}

describe('what follows from a failure', () => {
  it.each(CASES)('line %i: %s', (_line, step, facts) => {
    expect(stepOf(facts)).toBe(step)
  })

  it('is the table that the page on delivery shows', async () => {
    const page = await readFile('docs/delivery.md', 'utf8')
    const [, table = ''] = /<!-- retry -->\n([\s\S]*?)<!-- \/retry -->/.exec(page) ?? []
    const told = table.split('\n').flatMap((row) => {
      const [, when = '', step = ''] = row.split('|').map((cell) => cell.trim())
      const [, line] = /^(\d+)\./.exec(when) ?? []
      const steps = [...step.matchAll(/`([a-z-]+)`/g)].map(([, name]) => name)
      return line === undefined ? [] : steps.map((name) => `${line} ${name}`)
    })
    const decided = CASES.map(([line, step]) => `${line} ${step.replace(/ \d+$/, '')}`)
    expect(told.sort()).toEqual([...new Set(decided)].sort())
  })

  it.each<[AnswerClass, Purpose, string]>([
    ['accepted', 'batch', 'give-back'],
    ['accepted-in-part', 'batch', 'give-back'],
    ['refused', 'read', 'give-back'],
    ['too-large', 'follow-up', 'give-back'],
    ['not-allowed', 'read', 'stop'],
    ['stale-token', 'batch', 'renew-token'],
    ['not-sent', 'batch', 'retry 250'],
    ['not-taken', 'batch', 'retry 0'],
    ['ambiguous', 'batch', 'give-back'],
    ['ambiguous', 'follow-up', 'retry 250'],
  ])('the first answer %s to a %s: %s', (kind, purpose, step) => {
    expect(stepOf(request({ class: kind, purpose }))).toBe(step)
  })

  it.each(['not-sent', 'ambiguous'] as const)(
    'waits with full jitter under a bound that doubles up to a minute: %s',
    (kind) => {
      const waits = [1, 2, 3, 7, 8, 50, 5000].map((tries) => stepOf(request({ class: kind, tries }), most))
      expect(waits).toEqual([500, 1000, 2000, 32_000, 60_000, 60_000, 60_000].map((ms) => `retry ${ms}`))
      expect(stepOf(request({ class: kind, tries: 9 }), () => 0)).toBe('retry 0')
    },
  )

  it('waits longer before each further look into the profile', () => {
    expect([1, 2, 3].map((tries) => stepOf(batch({ tries }), most))).toEqual([
      'read 500',
      'read 1000',
      'read 2000',
    ])
  })

  it('halves that fail once more are halved at once', () => {
    const step = decideAbsent(absent())
    expect(step).toEqual({ kind: 'halve', resends: 1 })
    // Sent again once more, a half is at its third try.
    expect(stepOf(absent({ tries: 1 + 1 + 1 }))).toBe('halve')
  })

  it('others go first after three lost tries', () => {
    expect([2, 3].map(isLate)).toEqual([false, true])
  })

  it('says nothing of credentials where the answer does not', () => {
    expect(ofCredentials('refused', 0)).toBeUndefined()
  })
})
