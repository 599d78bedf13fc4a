import { describe, expect, it } from 'vitest'
import { csvMapper, faults, mapped } from './mapping-under-test.ts'

const COLUMNS = ['id', 'day', 'time', 'site', 'v']
const mapper = (observedAt: string): ReturnType<typeof csvMapper> =>
  csvMapper(
    `mapping: m
read: { format: csv }
row: { key: [id], account: { reference: id }, observedAt: ${observedAt}, source: { name: N, type: t } }
biometrics: { bmi: v }
`,
    COLUMNS,
  )
type Cells = Record<string, string>

/** When the record was observed, or why the row was rejected. */
function observed(map: ReturnType<typeof csvMapper>, cells: Cells): string | undefined {
  const outcome = map({ id: '1', v: '22', ...cells })
  if (outcome.outcome === 'rejected') return faults(outcome)[0]
  return mapped(outcome).records.map(({ observedAt }) => new Date(observedAt).toISOString())[0]
}

describe('a date that is a field', () => {
  it('may stand in two columns', () => {
    const map = mapper(
      '{ concat: [day, time], separator: " ", format: [MM/dd/yyyy HH:mm, MM/dd/yyyy], zone: UTC }',
    )
    expect(observed(map, { day: '02/04/2026', time: '09:10' })).toBe('2026-02-04T09:10:00.000Z')
    expect(observed(map, { day: '02/04/2026' })).toBe('2026-02-04T00:00:00.000Z')
    expect(observed(map, { time: '09:10' })).toBe('row: date-invalid day, time')
    expect(observed(map, {})).toBe('row: date-missing day, time')
  })

  it('may be the first of several, or a part of a text', () => {
    const map = mapper('{ firstOf: [day, time], extract: "on ([0-9-]+)", format: yyyy-MM-dd, zone: UTC }')
    expect(observed(map, { time: 'seen on 2026-02-04' })).toBe('2026-02-04T00:00:00.000Z')
    expect(observed(map, { day: 'never' })).toBe('row: value-not-extracted day, time')
  })
})

describe('a zone that is a field', () => {
  const map = mapper(
    '{ from: day, format: [MM/dd/yyyy HH:mm, ISO], zone: { from: site, table: { NY: America/New_York, LA: America/Los_Angeles, X: Mars/Olympus } } }',
  )
  it.each([
    [{ day: '02/04/2026 09:10', site: 'NY' }, '2026-02-04T14:10:00.000Z'],
    [{ day: '02/04/2026 09:10', site: 'LA' }, '2026-02-04T17:10:00.000Z'],
    [{ day: '2026-02-04T09:10Z', site: 'LA' }, '2026-02-04T09:10:00.000Z'],
    [{ day: '03/08/2026 02:30', site: 'NY' }, 'row: date-skipped-by-daylight-saving day'],
    [{ day: '02/04/2026 09:10', site: '' }, 'row: zone-unknown site'],
    [{ day: '02/04/2026 09:10', site: 'X' }, 'row: zone-unknown site'],
    [{ day: '02/04/2026 09:10', site: 'SF' }, 'row: zone-unknown site'],
    [{ day: '', site: '' }, 'row: date-missing day'],
  ])('%j: %s', (cells, expected) => {
    // Twice, as parsers of a zone are kept.
    expect(observed(map, cells)).toBe(expected)
    expect(observed(map, cells)).toBe(expected)
  })

  it('goes along with the rules for daylight saving', () => {
    const ruled = mapper('{ from: day, format: MM/dd/yyyy HH:mm, zone: { from: site }, doubled: later }')
    expect(observed(ruled, { day: '11/01/2026 01:30', site: 'America/New_York' })).toBe(
      '2026-11-01T06:30:00.000Z',
    )
  })
})
