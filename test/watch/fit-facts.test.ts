import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RIGHT_WIDE, rowsOf, TABLES } from '../../packages/mapping-tools/test/onboarding/mistakes.ts'
import { createFit, HashSample, hashOf } from '../../src/watch/fit-facts.ts'
import { createFitWatch } from '../../src/watch/judge-fit.ts'
import { load, NOW } from '../transform/mapping-under-test.ts'

const WEIGHTS = `mapping: m
read: { format: csv }
row: { key: [id], account: { reference: person }, observedAt: { from: day, format: yyyy-MM-dd, zone: UTC }, source: { name: N, type: t } }
biometrics: { body-weight: weight }
`
const COLUMNS = ['id', 'person', 'day', 'weight']

function factsOf(rows: Iterable<readonly string[]>, zone = 'UTC') {
  const { compiled, definition, resources } = load(WEIGHTS.replace('zone: UTC', `zone: ${zone}`))
  const map = compiled.bind(COLUMNS, 'export', NOW)
  const fit = createFit(definition, resources.catalog.biometrics)
  for (const cells of rows) fit.add(map({ row: 1, line: 1, byteOffset: 0, kind: 'cells', cells }))
  return fit.facts()
}

describe('the values of a rule', () => {
  it('have quantiles within half a percent, also where they are rejected', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 9_999 }), { minLength: 1, maxLength: 300 }),
        (tenths) => {
          const values = tenths.map((one) => one / 10)
          const { rules } = factsOf(
            values.map((value, at) => [`${at}`, `p${at}`, '2026-02-03', String(value)]),
          )
          const sorted = values.toSorted((a, b) => a - b)
          const spread = rules[0]?.values
          expect(spread).toMatchObject({ count: values.length, min: sorted[0], max: sorted.at(-1) })
          for (const [share, found] of [
            [0.25, spread?.q1],
            [0.5, spread?.median],
            [0.75, spread?.q3],
          ] as const) {
            // A quantile lies at or between the two values beside its rank.
            const rank = share * (sorted.length - 1)
            expect(found).toBeGreaterThanOrEqual((sorted[Math.floor(rank)] ?? 0) * 0.995)
            expect(found).toBeLessThanOrEqual((sorted[Math.ceil(rank)] ?? 0) * 1.005)
          }
          const implausible = values.filter((value) => value < 0.5 || value > 450).length
          expect(rules[0]).toMatchObject({
            made: values.length - implausible,
            rejected: implausible === 0 ? {} : { 'value-out-of-range': implausible },
            unusual: values.filter((value) => value < 45 || value > 125).length,
          })
        },
      ),
      { numRuns: 30 },
    )
  })

  it('are usual up to both ends of what is usual: 45 and 125 kg', () => {
    const unusual = (...values: string[]) =>
      factsOf(values.map((value, at) => [`${at}`, `p${at}`, '2026-02-03', value])).rules[0]?.unusual
    expect([unusual('45', '125'), unusual('44.9'), unusual('125.1')]).toEqual([0, 1, 1])
  })

  it('are not put out by a number that is beyond all measure', () => {
    const rows = ['1e300', '-1e300', '1e-300', ...Array.from({ length: 40 }, () => '80')]
    const { rules } = factsOf(rows.map((value, at) => [`${at}`, `p${at}`, '2026-02-03', value]))
    expect(rules[0]?.values?.median).toBeCloseTo(80, 0)
  })
})

describe('rows by key and people', () => {
  it('are counted where they are few, and estimated where they are many', () => {
    const few = factsOf(
      Array.from({ length: 900 }, (_, at) => [
        `${at % 450}`,
        `p${at % 90}`,
        '2026-02-03',
        `${60 + at / 100}`,
      ]),
    )
    expect(few.keys).toEqual({ different: 450, rows: 900, replaced: 450 })
    expect(few.people.different).toBe(90)
    const many = factsOf(
      Array.from({ length: 40_000 }, (_, at) => [`k${at}`, `p${at % 10_000}`, '2026-02-03', '80']),
    )
    expect(many.keys.different / 40_000).toBeGreaterThan(0.85)
    expect(many.keys.different / 40_000).toBeLessThan(1.15)
    expect(many.people.different / 10_000).toBeGreaterThan(0.85)
    expect(many.people.different / 10_000).toBeLessThan(1.15)
    expect(many.keys.rows).toBeLessThanOrEqual(1_000)
  })

  it('the same row again replaces nothing', () => {
    const { keys } = factsOf(
      Array.from({ length: 60 }, (_, at) => [`${at % 30}`, 'p', '2026-02-03', `${60 + (at % 30)}`]),
    )
    expect(keys).toEqual({ different: 30, rows: 60, replaced: 0 })
  })

  it('a sample keeps all that is seen of an item, or nothing, and no more than it may', () => {
    const sample = new HashSample<{ rows: number }>()
    for (let turn = 0; turn < 3; turn++)
      for (let at = 0; at < 20_000; at++) {
        const item = sample.of(hashOf(`item ${at}`), () => ({ rows: 0 }))
        if (item !== undefined) item.rows++
      }
    expect(sample.kept.size).toBeLessThanOrEqual(1_000)
    expect([...sample.kept.values()].filter(({ rows }) => rows !== 3)).toEqual([])
  })
})

it.each(['UTC', 'Europe/Berlin'])(
  'dates are told by day and time of day in the zone of the mapping: %s',
  (zone) => {
    const { dates } = factsOf(
      ['2026-01-05', '2026-01-12', '2026-02-13', '2026-02-28'].map((day, at) => [`${at}`, 'p', day, '80']),
      zone,
    )
    expect(dates).toMatchObject({
      rows: 4,
      days: 4,
      months: 2,
      firstTwelve: 2,
      midnight: 4,
      night: 0,
      span: 54,
    })
    expect([dates.first, dates.last]).toEqual([Date.parse('2026-01-05'), Date.parse('2026-02-28')])
  },
)

it('of no rows there is no first date and no last, of one they are the same', () => {
  expect(factsOf([]).dates).toMatchObject({ rows: 0, first: undefined, last: undefined, span: 0 })
  const at = Date.parse('2026-02-03')
  expect(factsOf([['1', 'p', '2026-02-03', '80']]).dates).toMatchObject({ rows: 1, first: at, last: at })
})

// FNV-1a of the empty text, of `a` and of `foobar` (its authors' vectors), finished as by murmur3.
it.each([
  ['', 0x811c9dc5],
  ['a', 0xe40c292c],
  ['foobar', 0xbf9cf968],
])('the hash of %j is that of its algorithms', (text, fnv) => {
  const mask = 0xffff_ffffn
  let hash = BigInt(fnv)
  for (const [shift, factor] of [
    [16n, 0x85eb_ca6bn],
    [13n, 0xc2b2_ae35n],
    [16n, 1n],
  ] as const)
    hash = ((hash ^ (hash >> shift)) * factor) & mask
  expect(hashOf(text)).toBe(Number(hash))
})

it('no cell is told, whatever the mapping takes for the gender', () => {
  const { wide } = rowsOf(1)
  const mapping = load(RIGHT_WIDE.replace('{ from: sex, table: { F: FEMALE, M: MALE } }', 'last'), TABLES)
  const map = mapping.compiled.bind(Object.keys(wide[0] ?? {}), 'export', NOW)
  const watch = createFitWatch(mapping)
  for (const row of wide)
    watch.add(map({ row: 1, line: 1, byteOffset: 0, kind: 'cells', cells: Object.values(row) }))
  const report = watch.report()
  expect(JSON.stringify(report)).not.toMatch(/Family|Given|M10|V1/)
  expect(report.suspicions.map(({ finding }) => finding)).toContain('one-sex')
})

/** Found of so many rows of different people, the first of which have what is given. */
function findingsOf(rows: number, odd: number, cells: (at: number) => readonly string[]): string[] {
  const mapping = load(WEIGHTS)
  const map = mapping.compiled.bind(COLUMNS, 'export', NOW)
  const watch = createFitWatch(mapping, COLUMNS)
  for (let at = 0; at < rows; at++) {
    const usual = [`${at}`, `p${at}`, `2026-02-${10 + (at % 19)}`, String(60 + (at % 40))]
    watch.add(map({ row: 1, line: 1, byteOffset: 0, kind: 'cells', cells: at < odd ? cells(at) : usual }))
  }
  return watch.report().suspicions.map(({ finding }) => finding)
}

it.each([
  [200, 10, true],
  [201, 10, false],
  [180, 9, false],
])('of %i records %i that lie in the future are odd: %s', (rows, odd, isOdd) => {
  const found = findingsOf(rows, odd, (at) => [`${at}`, `p${at}`, '2099-02-03', '70'])
  expect(found.includes('dates-in-future')).toBe(isOdd)
})

it.each([
  // The first of those that share a key replaces nothing.
  [100, 21, true],
  [100, 20, false],
  [20, 5, true],
  [19, 5, false],
])('of %i rows %i that share a key are odd: %s', (rows, odd, isOdd) => {
  const found = findingsOf(rows, odd, (at) => ['same', `p${at}`, '2026-02-03', `${70 + (at % 20)}`])
  expect(found.includes('key-shared')).toBe(isOdd)
})

it.each([
  ['2025-02-03', 365, true],
  ['2025-02-02', 366, false],
])('who was born on %s, %i days from 2026-02-03, is a newborn: %s', (born, _days, isNewborn) => {
  const { compiled, definition, resources } = load(
    WEIGHTS.replace(
      'reference: person',
      'reference: person, register: { firstName: person, lastName: person, gender: { from: id }, postalCode: id, dateOfBirth: { from: born, format: yyyy-MM-dd } }',
    ),
  )
  const map = compiled.bind([...COLUMNS, 'born'], 'export', NOW)
  const fit = createFit(definition, resources.catalog.biometrics)
  const cells = ['1', 'ann', '2026-02-03', '70', born]
  fit.add(map({ row: 1, line: 1, byteOffset: 0, kind: 'cells', cells }))
  expect(fit.facts().dates).toMatchObject({ newborn: Number(isNewborn) })
})
