/** Rules of files that runs name by themselves: those of their folder, of a pattern that fits, or none. */
import { describe, expect, it, test } from 'vitest'
import type { JobSource } from '../../src/definitions/export-definition.ts'
import { DEFAULT_LIMITS } from '../../src/extract/content.ts'
import { ANY_RULES, chooseBeside, isAnnounced, rulesOf } from '../../src/run/found-delivery.ts'

const source = (from: string, match: string, stableForMs: number): JobSource =>
  ({
    ...{ from, match, members: '*.csv', encrypted: true, limits: { ...DEFAULT_LIMITS, files: stableForMs } },
    ...{ checksum: '{name}.sha256', marker: '{name}.done', stableForMs },
  }) as unknown as JobSource
const SOURCES = [
  source('/in', 'labs_*.csv', 1),
  source('/in', 'vitals_*.csv', 2),
  source('/other', 'x_*.csv', 3),
  source('/other', 'vitals_*.csv', 4),
]
const reading = (at: number) => ({
  ...ANY_RULES,
  match: SOURCES[at]?.match ?? '',
  limits: SOURCES[at]?.limits ?? DEFAULT_LIMITS,
})

test.each([
  ['of its folder and its pattern', '/in', 'labs_1.csv', SOURCES[0]],
  ['of the second of its folder', '/in', 'vitals_1.csv', SOURCES[1]],
  ['of its folder, not of an earlier one with its pattern', '/other', 'vitals_1.csv', SOURCES[3]],
  ['of the first of its folder, where no pattern fits', '/in', 'x_1.csv', SOURCES[0]],
  [
    'for reading alone, of the first with its pattern, in another folder',
    '/archive',
    'vitals_1.csv',
    reading(1),
  ],
  ['for reading alone, of the third', '/archive', 'x_1.csv', reading(2)],
  ['of no source', '/archive', 'unknown.csv', ANY_RULES],
])('rules are those %s', (_what, folder, name, rules) => {
  expect(rulesOf(SOURCES, folder, name)).toEqual(rules)
})

const CHECKSUM = { name: 'a.sha256', bytes: 64, modifiedAt: 0, version: '' }

test.each([
  [undefined, {}, false],
  [CHECKSUM, {}, true],
  [undefined, { bytes: 0 }, true],
  [undefined, { sha256: 'aa' }, true],
  [undefined, { rows: 0 }, true],
  [CHECKSUM, { bytes: 1, sha256: 'aa', rows: 1 }, true],
])(
  'with the checksum file %j and %j in the manifest an export is announced: %s',
  (checksum, said, expected) => {
    expect(isAnnounced({ checksum }, said)).toBe(expected)
  },
)

describe('of the files beside an export', () => {
  const choose = (names: readonly string[], pattern: string, name: string, exportPattern: string) =>
    chooseBeside(
      names.map((one) => ({ name: one })),
      pattern,
      name,
      exportPattern,
    )?.name
  const DATED = ['people_20260301.csv', 'people_20260303.csv', 'people_20260302.csv']

  it.each([
    ['that of its date', 'labs_20260302.csv', 'labs_{date:yyyyMMdd}.csv', 'people_20260302.csv'],
    ['none where none has its date', 'labs_20260304.csv', 'labs_{date:yyyyMMdd}.csv', undefined],
    ['the last by date where it has none', 'labs.csv', 'labs*.csv', 'people_20260303.csv'],
  ])('is chosen %s', (_what, name, exportPattern, expected) => {
    expect(choose(DATED, 'people_{date:yyyyMMdd}.csv', name, exportPattern)).toBe(expected)
  })

  it('is chosen the last by name where files have no date, but never the export itself', () => {
    const names = ['people_b.csv', 'people_c.csv', 'people_a.csv']
    expect(choose(names, 'people_*.csv', 'labs_20260302.csv', 'labs_{date:yyyyMMdd}.csv')).toBe(
      'people_c.csv',
    )
    expect(choose(names, 'people_*.csv', 'people_c.csv', 'people_*.csv')).toBe('people_b.csv')
    expect(choose(['people_c.csv'], 'people_*.csv', 'people_c.csv', 'people_*.csv')).toBeUndefined()
  })
})
