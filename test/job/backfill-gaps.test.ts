import { describe, expect, it } from 'vitest'
import { gapsOf, unmatchedNames } from '../../src/job/backfill-gaps.ts'

const rules = (match: string, more: { marker?: string; manifest?: string; checksum?: string } = {}) => ({
  ...{ match, marker: undefined, manifest: undefined, checksum: undefined },
  ...more,
})
const ACME = rules('acme_{date:yyyyMMdd}.csv*')
const FITS = 'acme_20250228.csv'

describe('names that fit no pattern', () => {
  const NAMES = [
    FITS,
    'acme_20250231.csv',
    'acme_march2025.csv',
    'notes.txt',
    '.DS_Store',
    'acme_20250301.csv.gz',
  ]
  it('are all there are in a folder that was named', () => {
    const left = unmatchedNames([{ rules: ACME, names: NAMES }], true, [])
    expect(left).toEqual(['acme_20250231.csv', 'acme_march2025.csv', 'notes.txt'])
  })

  it('are those at a source of a job that fit but for the date', () => {
    const left = unmatchedNames([{ rules: ACME, names: NAMES }], false, [])
    expect(left).toEqual(['acme_20250231.csv', 'acme_march2025.csv'])
  })

  it('are none that another source of the job takes, and each is told once', () => {
    const listed = [ACME, rules('lab-{date:yyyy-MM-dd}.csv')].map((one) => ({
      rules: one,
      names: [FITS, 'lab-2025-02-28.csv', 'x.csv'],
    }))
    expect(unmatchedNames(listed, true, [])).toEqual(['x.csv'])
  })

  it('are none that lie there for an export: markers, checksums, manifests, files to join', () => {
    const own = rules('acme_{date:yyyyMMdd}.csv', {
      ...{ marker: '{name}.done', checksum: 'sum_{name}', manifest: 'acme_manifest_{date:yyyyMMdd}.csv' },
    })
    const names = [FITS, `${FITS}.done`, `sum_${FITS}`, 'acme_manifest_20250228.csv', 'acme_people.csv']
    expect(unmatchedNames([{ rules: own, names }], true, ['acme_people.csv'])).toEqual([])
    expect(unmatchedNames([{ rules: own, names }], false, [])).toEqual(['acme_people.csv'])
  })
})

describe('a range', () => {
  const gaps = (from: string, to: string, dates: readonly string[], ...matches: readonly string[]) =>
    gapsOf({ from, to }, matches.length === 0 ? [ACME.match] : matches, dates)

  it('has its days without an export told as ranges', () => {
    expect(gaps('2024-02-27', '2024-03-03', ['2024-02-27', '2024-03-01'])).toEqual({
      ...{ unit: 'day', count: 4, of: 6 },
      ranges: [
        { from: '2024-02-28', to: '2024-02-29', count: 2 },
        { from: '2024-03-02', to: '2024-03-03', count: 2 },
      ],
    })
  })

  it('may have an export on each day, or on none', () => {
    expect(gaps('2024-02-28', '2024-02-29', ['2024-02-28', '2024-02-29'])).toMatchObject({
      count: 0,
      ranges: [],
    })
    expect(gaps('2025-01-01', '2025-12-31', [])).toMatchObject({
      ...{ count: 365, of: 365 },
      ranges: [{ from: '2025-01-01', to: '2025-12-31', count: 365 }],
    })
  })

  it('has months where names have no day: those that begin in it', () => {
    expect(gaps('2025-01-02', '2025-05-31', ['2025-03-01'], 'lab_{date:yyyyMM}.csv')).toEqual({
      ...{ unit: 'month', count: 3, of: 4 },
      ranges: [
        { from: '2025-02', to: '2025-02', count: 1 },
        { from: '2025-04', to: '2025-05', count: 2 },
      ],
    })
  })

  it('has days where any pattern of the job has one', () => {
    expect(gaps('2025-01-01', '2025-01-31', [], 'lab_{date:yyyyMM}.csv', ACME.match)).toMatchObject({
      of: 31,
    })
  })
})
