import { describe, expect, it } from 'vitest'
import { classifyStatus, classifyTransportFailure, parseRetryAfter } from '../../src/gateway/gateway-error.ts'

describe('the class of a status', () => {
  it.each([
    [204, 'accepted'],
    [301, 'not-allowed'],
    [304, 'not-allowed'],
    [308, 'not-allowed'],
    [415, 'refused'],
    [501, 'ambiguous'],
    [599, 'ambiguous'],
  ] as const)('%i without Retry-After is %s', (status, expected) => {
    expect(classifyStatus(status, false)).toBe(expected)
  })

  it('turns with Retry-After for 503 alone', () => {
    const changed = Array.from({ length: 400 }, (_, index) => index + 200).filter(
      (status) => classifyStatus(status, true) !== classifyStatus(status, false),
    )
    expect(changed).toEqual([503])
    expect(classifyStatus(503, true)).toBe('not-taken')
  })

  it('is not sent only where no connection was established', () => {
    expect(classifyTransportFailure({ connected: false })).toBe('not-sent')
    expect(classifyTransportFailure({ connected: true })).toBe('ambiguous')
  })
})

describe('Retry-After', () => {
  const now = Date.UTC(1994, 10, 6, 8, 49, 0)

  it.each([
    ['0', 0],
    ['120', 120_000],
    [' 7 ', 7_000],
    // The same instant in the three forms of RFC 9110 section 5.6.7.
    ['Sun, 06 Nov 1994 08:49:37 GMT', 37_000],
    ['Sunday, 06-Nov-94 08:49:37 GMT', 37_000],
    ['Sun Nov  6 08:49:37 1994', 37_000],
    // In the past: at once.
    ['Sun, 06 Nov 1994 08:48:00 GMT', 0],
  ])('%s', (header, milliseconds) => {
    expect(parseRetryAfter(header, now)).toBe(milliseconds)
  })

  it('reads a two-digit year as the nearest that is not more than 50 years ahead', () => {
    const in2026 = Date.UTC(2026, 0, 1)
    expect(parseRetryAfter('Thursday, 01-Jan-26 00:01:00 GMT', in2026)).toBe(60_000)
    expect(parseRetryAfter('Saturday, 01-Jan-94 00:01:00 GMT', in2026)).toBe(0)
  })

  it('stays a number that a timer can compare, however long', () => {
    expect(parseRetryAfter('9'.repeat(400), now)).toBe(Number.MAX_SAFE_INTEGER)
  })

  it.each([undefined, '', '-5', '1.5', '5s', 'soon', '2024-01-01', 'Sun, 99 Foo 1994 08:49:37 GMT', '0x10'])(
    'is nothing for %s',
    (header) => {
      expect(parseRetryAfter(header, now)).toBeUndefined()
    },
  )
})
