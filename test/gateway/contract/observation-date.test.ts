import { beforeAll, describe, expect, it, vi } from 'vitest'
import { EpochMs, EpochMsText, epochMsOf, IsoInstant } from '../../../src/gateway/contract/shared-objects.ts'

// On a machine in UTC, a date that is read in the machine's zone would not show.
beforeAll(() => {
  vi.stubEnv('TZ', 'America/New_York')
})

const AT = Date.UTC(2024, 2, 1, 14, 5, 0, 7)

describe('the forms that are sent', () => {
  it.each([
    [IsoInstant, '2024-03-01T14:05:00.007Z', true],
    [IsoInstant, '2024-02-29T00:00:00.000Z', true],
    [IsoInstant, '2023-02-29T00:00:00.000Z', false],
    [IsoInstant, '2024-03-01T14:05:00Z', false],
    [IsoInstant, '2024-03-01T14:05:00.0070Z', false],
    [IsoInstant, '2024-03-01T14:05:00.007+01:00', false],
    [IsoInstant, '2024-03-01T14:05:00.007', false],
    [IsoInstant, AT, false],
    [EpochMs, AT, true],
    [EpochMs, -1, true],
    [EpochMs, 1.5, false],
    [EpochMs, String(AT), false],
    [EpochMsText, String(AT), true],
    [EpochMsText, '-1', true],
    [EpochMsText, AT, false],
    [EpochMsText, '', false],
    [EpochMsText, '1.5', false],
    [EpochMsText, '2024-03-01T14:05:00.007Z', false],
  ])('case %#: %j', (schema, value, valid) => {
    expect(schema.safeParse(value).success).toBe(valid)
  })
})

describe('epochMsOf reads every form', () => {
  it.each([
    ['2024-03-01T14:05:00.007Z', AT],
    ['2024-03-01T15:05:00.007+01:00', AT],
    ['2024-03-01T14:05:00.007', AT],
    ['2024-03-01', Date.UTC(2024, 2, 1)],
    [AT, AT],
    [String(AT), AT],
    ['-1', -1],
    ['0', 0],
    ['', undefined],
    ['yesterday', undefined],
    ['2024-13-01T00:00:00Z', undefined],
    [Number.NaN, undefined],
  ])('%j is %j', (instant, expected) => {
    expect(epochMsOf(instant)).toBe(expected)
  })
})
