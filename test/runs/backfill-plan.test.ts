import { describe, expect, it } from 'vitest'
import { estimate, gapsOf, unmatchedNames } from '../../src/runs/backfill-plan.ts'

type PastRun = Parameters<typeof estimate>[1][number]

const run = (fields: Partial<PastRun> = {}): PastRun => ({
  ...{ rows: 1_000, made: 5_000, unchanged: 0, requests: 200, durationMs: 10_000 },
  ...fields,
})

it.each([
  ['the rows of a run by its time', [run()], undefined, 6_000, 60, 100, false],
  ['two runs together', [run(), run({ durationMs: 30_000 })], undefined, 6_000, 120, 50, false],
  // Half of its rows took no time to speak of.
  ['without what was delivered before', [run({ unchanged: 2_500 })], undefined, 6_000, 120, 50, false],
  [
    'leaving out runs that sent nothing',
    [run(), run({ unchanged: 5_000 })],
    undefined,
    6_000,
    60,
    100,
    false,
  ],
  // A fifth of a request each, at 4 a second.
  ['a rate below what it would need', [run()], 4, 6_000, 300, 100, true],
  ['a rate above it', [run()], 40, 6_000, 60, 100, false],
  ['nothing to send', [run()], 4, 0, 0, 100, false],
] as const)('is made of %s', (_of, past, rate, rows, seconds, rowsPerSecond, limitedByRate) => {
  expect(estimate({ fresh: rows, known: 0 }, past, rate)).toMatchObject({
    seconds,
    rowsPerSecond,
    limitedByRate,
  })
})

it.each([
  ['no run', []],
  ['a run that sent nothing', [run({ unchanged: 5_000 })]],
  ['a run that made nothing', [run({ made: 0 })]],
  ['a run whose clock stood', [run({ durationMs: 0 })]],
])('is not made of %s', (_of, past) => {
  expect(estimate({ fresh: 6_000, known: 0 }, past, 5)).toBeUndefined()
})

/** A thousand rows in two seconds, of which nothing was sent. */
const again = run({ unchanged: 5_000, requests: 0, durationMs: 2_000 })

it.each([
  ['as fast as a run that sent nothing', { fresh: 0, known: 10_000 }, [run(), again], undefined, 20],
  ['where nothing was ever sent', { fresh: 0, known: 10_000 }, [again], undefined, 20],
  ['in addition to new ones', { fresh: 6_000, known: 10_000 }, [run(), again], undefined, 60 + 20],
  ['in addition to the requests of new ones', { fresh: 6_000, known: 10_000 }, [run(), again], 4, 300 + 20],
  ['no slower than rows of runs that sent', { fresh: 0, known: 10_000 }, [run()], undefined, 100],
  // Half of its rows in one second, so the others in nine.
  [
    'apart from the new ones of the same run',
    { fresh: 5_000, known: 0 },
    [run({ unchanged: 2_500 }), again],
    undefined,
    90,
  ],
] as const)('of known rows is told: %s', (_what, rows, past, rate, seconds) => {
  expect(estimate(rows, past, rate)?.seconds).toBeCloseTo(seconds, 6)
})

// Rows of a run of which 95 of 100 records were known are read, and not sent: 500 a second, else the 100 of both runs by their time.
it.each([
  ['all of them', [run(), again], 500, 2],
  ['95 of 100', [run(), run({ ...again, unchanged: 4_750 })], 500, 2],
  ['fewer', [run(), run({ ...again, unchanged: 4_749 })], 2_000 / 12, 2],
  ['none of them', [run()], 100, 1],
  ['those of no run that counts', [run(), run({ rows: 0 })], 100, 1],
  ['all that was ever read', [again], 500, 1],
] as const)('speed of known rows, by runs that knew %s', (_, past, perSecond, runs) => {
  const found = estimate({ fresh: 0, known: 10_000 }, past, undefined)
  expect(found?.knownRowsPerSecond).toBeCloseTo(perSecond, 6)
  expect([found?.runs, found?.limitedByRate]).toEqual([runs, false])
})

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
