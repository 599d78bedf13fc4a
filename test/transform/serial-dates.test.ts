import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { carriesOffset } from '../../src/transform/dates.ts'
import { NEW_YORK, readDate } from './dates-under-test.ts'

describe('serial dates of spreadsheets', () => {
  it.each([
    // 4 February 2026 is day 46057 where 1 January 1900 is day 1, and 1462 days less where 1 January 1904 is day 0.
    ['46057', 'EXCEL', '2026-02-04T00:00:00.000Z'],
    ['44595', 'EXCEL_1904', '2026-02-04T00:00:00.000Z'],
    ['46057.5', 'EXCEL', '2026-02-04T12:00:00.000Z'],
    ['46057.3819444444', 'EXCEL', '2026-02-04T09:10:00.000Z'],
    ['61', 'EXCEL', '1900-03-01T00:00:00.000Z'],
    ['60', 'EXCEL', 'date-invalid'],
    ['1', 'EXCEL', 'date-invalid'],
    ['0', 'EXCEL_1904', '1904-01-01T00:00:00.000Z'],
    ['2958465', 'EXCEL', '9999-12-31T00:00:00.000Z'],
    ['2958466', 'EXCEL', 'date-invalid'],
    ['-1', 'EXCEL', 'date-invalid'],
    ['46057.', 'EXCEL', 'date-invalid'],
    ['4.6057E4', 'EXCEL', 'date-invalid'],
    ['46057', 'ISO', 'date-invalid'],
    ['46057', 'yyyy-MM-dd', 'date-invalid'],
  ])('%s as %s is %s', (text, form, expected) => {
    expect(readDate(text, form, 'UTC')).toBe(expected)
  })

  it('are local times', () => {
    expect(readDate('46057.5', 'EXCEL', NEW_YORK)).toBe('2026-02-04T17:00:00.000Z')
    expect(readDate('46089.1041666667', 'EXCEL', NEW_YORK)).toBe('date-skipped-by-daylight-saving')
    expect(carriesOffset('EXCEL')).toBe(false)
  })

  it('lead back to their day and minute', () => {
    fc.assert(
      fc.property(fc.integer({ min: 61, max: 2_958_465 }), fc.nat(1439), (day, minute) => {
        const serial = minute === 0 ? String(day) : (day + minute / 1440).toFixed(10)
        const at = Date.UTC(1899, 11, 30) + day * 86_400_000 + minute * 60_000
        expect(readDate(serial, 'EXCEL')).toBe(new Date(at).toISOString())
      }),
    )
  })
})
