/** Mistakes that one export alone does not show, told by earlier deliveries: zones, flags near one half, names. */
import { describe, expect, test } from 'vitest'
import { DriftDefinition } from '../../src/definitions/job-definition.ts'
import { driftOf } from '../../src/watch/drift-watch.ts'
import { createProfiler, ExportProfile } from '../../src/watch/export-profile.ts'
import { drawFrom } from '../load/simulated-flow.ts'
import { load, NOW } from '../transform/mapping-under-test.ts'

const mappingOf = (zone: string, flag = 'Y', names = ['first', 'last']): string => `mapping: tried
read: { format: csv }
row:
  key: [id, at]
  account:
    reference: id
    register:
      firstName: ${names[0]}
      lastName: ${names[1]}
      dateOfBirth: { from: born, format: yyyy-MM-dd }
      gender: { constant: OTHER }
      postalCode: zip
  observedAt: { from: at, format: yyyy-MM-dd HH:mm, zone: ${zone} }
  source: { name: Tried, type: screening }
biometrics: { heart-rate: pulse }
conditions: { tobacco-use: { when: { tobacco: ${flag} }, status: active } }
`
const COLUMNS = ['id', 'at', 'first', 'last', 'born', 'zip', 'pulse', 'tobacco']

interface Night {
  readonly rows?: number
  /** Of 2026. */
  readonly month?: number
  /** First hour and hours of a day. */
  readonly open?: readonly [first: number, hours: number]
  readonly tobacco?: number
  /** Rows of one visit. */
  readonly each?: number
}

/** Times lie evenly in the hours that are open; one first name in three is one of ten, as is one last name in ten. */
function night(seed: number, { rows = 200, month = 2, open = [8, 9], tobacco = 0.42, each = 1 }: Night = {}) {
  const chance = drawFrom(seed)
  const two = (part: number): string => String(Math.floor(part)).padStart(2, '0')
  const nameOf = (frequent: number): string =>
    chance() < frequent ? `Frequent${Math.floor(chance() * 10)}` : `Name${Math.floor(chance() * 100_000)}`
  return Array.from({ length: rows }, (_, at) => {
    const minutes = open[0] * 60 + chance() * open[1] * 60
    const cells = [
      ...[
        `${seed}-${at}`,
        `2026-${two(month)}-${two(1 + chance() * 28)} ${two(minutes / 60)}:${two(minutes % 60)}`,
      ],
      ...[nameOf(0.4), nameOf(0.1), '1980-01-01', '12345', '70', chance() < tobacco ? 'Y' : 'N'],
    ]
    return Array.from({ length: each }, () => cells)
  }).flat()
}

function profileOf(mapping: string, rows: readonly (readonly string[])[]): ExportProfile {
  const loaded = load(mapping)
  const map = loaded.compiled.bind(COLUMNS, 'export.csv', NOW)
  const profiler = createProfiler(loaded, COLUMNS)
  for (const [at, cells] of rows.entries()) {
    const row = { row: at + 1, line: at + 2, byteOffset: 0, kind: 'cells' as const, cells }
    profiler.add(row, map(row))
  }
  // As the ledger gives it back.
  return ExportProfile.parse(JSON.parse(JSON.stringify(profiler.profile())))
}

const delivered = (mapping: string, drawn: Night = {}, seeds = [1, 2, 3, 4]) =>
  seeds.map((seed) => ({ profile: profileOf(mapping, night(seed, drawn)), accepted: false }))

const told = (now: ExportProfile, earlier: ReturnType<typeof delivered>, written: object = {}): string[] =>
  driftOf(now, earlier, DriftDefinition.parse(written), { isCsv: true, suspicions: [] })
    .filter(({ message }) => /(?:zone right|other way round|swapped)\?$/.test(message))
    .map(({ measure, level, message }) => `${level} ${measure}: ${message}`)

const HERE = mappingOf('America/New_York')
const times = (hours: string): string[] => [
  `warn values: times of day ${hours} than usual, in the same pattern: is the zone right?`,
]

describe('times of day', () => {
  test.each([
    ['America/New_York', 'America/Chicago', '1 hour later'],
    ['America/Chicago', 'America/New_York', '1 hour earlier'],
    ['Europe/Berlin', 'UTC', '1 hour later'],
    ['UTC', 'Europe/Berlin', '1 hour earlier'],
    ['Europe/Athens', 'UTC', '2 hours later'],
    ['Europe/Moscow', 'UTC', '3 hours later'],
    ['Asia/Kolkata', 'Asia/Dubai', '1.5 hours later'],
    ['Asia/Kolkata', 'UTC', '5.5 hours later'],
    ['Australia/Sydney', 'Australia/Perth', '2 hours later'],
  ])('of %s, read as those of %s, are %s', (right, wrong, hours) => {
    for (const month of [1, 7]) {
      const now = night(9, { month, rows: 1_000 })
      const earlier = delivered(mappingOf(right), { rows: 400 })
      expect(told(profileOf(mappingOf(right), now), earlier)).toEqual([])
      expect(told(profileOf(mappingOf(wrong), now), earlier)).toEqual(times(hours))
    }
  })

  test('that a vendor writes in UTC from some night on are told that night, and no more afterwards', () => {
    const earlier = delivered(HERE)
    const moved: Night = { open: [13, 9] }
    const first = profileOf(HERE, night(5, moved))
    expect(told(first, earlier)).toEqual(times('5 hours later'))
    const second = profileOf(HERE, night(6, moved))
    expect(told(second, [{ profile: first, accepted: false }, ...earlier])).toEqual([])
  })

  test('of UTC move by an hour in summer, which is no mistake; by two it is', () => {
    const earlier = delivered(mappingOf('UTC'), { open: [13, 9] })
    const summer = (first: number): ExportProfile =>
      profileOf(mappingOf('UTC'), night(9, { month: 7, open: [first, 9] }))
    expect(told(summer(12), earlier)).toEqual([])
    expect(told(summer(11), earlier)).toEqual(times('2 hours earlier'))
  })

  test.each<[string, Night]>([
    ['a day that ends at noon', { open: [8, 4] }],
    ['an evening beside which nothing fits', { open: [17, 3] }],
    ['few rows', { rows: 25, open: [9, 9] }],
    ['half an hour', { open: [8.5, 9] }],
    ['all at midnight', { open: [0, 1 / 60] }],
  ])('of %s are no other zone', (_, drawn) => {
    expect(told(profileOf(HERE, night(9, drawn)), delivered(HERE))).toEqual([])
  })

  test('are not told where exports have always been now of the morning, now of the evening', () => {
    const earlier = [6, 12, 9, 15].flatMap((first, at) => delivered(HERE, { open: [first, 4] }, [at + 1]))
    expect(told(profileOf(HERE, night(9, { open: [13, 4] })), earlier)).toEqual([])
  })

  test('of rows of one visit count once', () => {
    const profile = profileOf(HERE, night(1, { rows: 40, each: 10 }))
    expect(profile.clock?.rows.reduce((sum, rows) => sum + rows, 0)).toBe(40)
  })

  test('are never told by chance, over sixty small nights', () => {
    for (let seed = 10; seed < 70; seed++) {
      const sizes = { rows: 20 + (seed % 60), each: 1 + (seed % 4) }
      const earlier = delivered(HERE, sizes, [seed * 10, seed * 10 + 1, seed * 10 + 2])
      const found = told(profileOf(HERE, night(seed, sizes)), earlier)
      // Flags of one visit that stands in several rows are not as many as these.
      const meant = sizes.each === 1 ? found : found.filter((one) => one.includes('times'))
      expect(meant, String(seed)).toEqual([])
    }
  })

  test('need as many deliveries as the job says, and can be switched off', () => {
    const now = profileOf(mappingOf('America/Chicago'), night(9))
    expect(told(now, delivered(HERE), { after: 5 })).toEqual([])
    expect(told(now, delivered(HERE), { values: 'off' })).toEqual([])
    // Profiles of earlier versions have none.
    const old = delivered(HERE).map(({ profile: { clock: _, ...profile } }) => ({ profile, accepted: false }))
    expect(told(now, old)).toEqual([])
  })

  test('are kept as counts by half hour, of twenty or more', () => {
    const { rows = [] } = profileOf(HERE, night(1)).clock ?? {}
    // From 8 to 17 in New York, whose standard time is 5 hours behind UTC.
    const filled = rows.flatMap((count, half) => (count > 0 ? [half / 2] : []))
    expect([filled[0], filled.at(-1), filled.length]).toEqual([13, 21.5, 18])
    expect(profileOf(HERE, night(1, { rows: 19 })).clock).toBeUndefined()
  })
})

describe('a flag near one half', () => {
  const flipped = mappingOf('America/New_York', 'N')
  test.each([
    ['the mapping', flipped, 0.42],
    ['the vendor', HERE, 0.58],
  ])(
    'that %s reads the other way round is told, though it moves by less than `mix` allows',
    (_, mapping, tobacco) => {
      const drawn = { rows: 600, tobacco }
      const earlier = delivered(HERE, { rows: 600 })
      expect(told(profileOf(HERE, night(9, { rows: 600 })), earlier)).toEqual([])
      const [finding, ...others] = told(profileOf(mapping, night(9, drawn)), earlier)
      expect(finding).toMatch(
        /^warn mix: rows with tobacco-use [56]\d\.\d %, usually 4\d\.\d %: is its flag the other way round\?$/,
      )
      expect(others).toEqual([])
    },
  )

  test('is told once, and not where it was never steady, or few rows have it', () => {
    const earlier = delivered(HERE, { rows: 600 })
    const now = profileOf(flipped, night(9, { rows: 600 }))
    expect(told(now, [{ profile: now, accepted: false }, ...earlier])).toEqual([])
    expect(told(now, [...earlier, ...delivered(HERE, { rows: 600, tobacco: 0.55 }, [5])])).toEqual([])
    expect(told(profileOf(flipped, night(9, { rows: 60 })), earlier)).toEqual([])
    expect(told(now, earlier, { mix: 'off' })).toEqual([])
  })
})

describe('names', () => {
  const swapped = mappingOf('America/New_York', 'Y', ['last', 'first'])
  test('that are swapped are told by how many different ones there are, and none is kept', () => {
    const earlier = delivered(HERE, { rows: 600 })
    const rows = night(9, { rows: 600 })
    expect(told(profileOf(HERE, rows), earlier)).toEqual([])
    const now = profileOf(swapped, rows)
    expect(told(now, earlier)).toEqual([
      'warn values: people have as many different first names as last names before, and the reverse: are they swapped?',
    ])
    expect(JSON.stringify([now, earlier])).not.toMatch(/Frequent|Name\d/)
    expect(told(profileOf(swapped, night(9, { rows: 60 })), earlier)).toEqual([])
  })
})
