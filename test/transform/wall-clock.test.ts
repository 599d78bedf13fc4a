/** Forms of digits against luxon, which reads all others: the same instants, and the same texts refused. */
import fc from 'fast-check'
import { DateTime } from 'luxon'
import { describe, expect, it } from 'vitest'
import { compileDigits, compileInstant, formatFault, type Instant } from '../../src/transform/dates.ts'

const ZONES = [
  'UTC',
  'America/New_York',
  'Europe/Berlin',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Pacific/Apia',
]
const DAY = 86_400_000

const COMMON = [
  ...[
    'MM/dd/yyyy HH:mm',
    'MM/dd/yyyy',
    'M/d/yyyy H:mm',
    'yyyyMMdd',
    'yyyy-MM-dd',
    'yyyyMMddHHmm',
    'dd.MM.yyyy',
  ],
  ...[
    'yyyy-MM-dd HH:mm:ss',
    "yyyy-MM-dd'T'HH:mm:ss.SSS",
    "d.M.yyyy 'at' H:m:s",
    'HH:mm dd/MM/yyyy',
    "yyyy'y'MMdd",
  ],
]
const composed = fc
  .tuple(
    fc.shuffledSubarray(
      [
        ...['yyyy', 'MM', 'dd', 'HH', 'mm', 'ss', 'SSS'],
        ...['M', 'd', 'H', 'm', 's', 'yy', 'S', 'MMM', 'a', 'ZZ'],
      ],
      { minLength: 3 },
    ),
    fc.array(
      fc.constantFrom('/', '-', ' ', ':', '.', '', "'T'", "'1'", "' h '", "'é'", '+', '(', '_', '\t'),
      {
        minLength: 18,
        maxLength: 18,
      },
    ),
  )
  .map(([tokens, between]) => tokens.map((token, at) => token + (between[at] ?? '')).join(''))
  .filter((format) => formatFault(format) === undefined)
const formats = fc.oneof(fc.constantFrom(...COMMON), composed)

/** Any day of the years 0 to 9999, days of our time, and the hours around changes of clocks. */
const instants = fc.oneof(
  fc.integer({ min: Date.UTC(0) - 1900 * 365.2425 * DAY, max: Date.UTC(9999, 11, 31) }),
  fc.integer({ min: Date.UTC(1970, 0), max: Date.UTC(2040, 0) }),
  fc
    .tuple(
      fc.constantFrom(...[Date.UTC(2026, 2, 8, 7), Date.UTC(2026, 10, 1, 6), Date.UTC(2026, 2, 29, 1)]),
      fc.integer({ min: -DAY / 4, max: DAY / 4 }),
    )
    .map(([change, away]) => change + away),
  fc.constantFrom(Date.UTC(2011, 11, 30, 10), Date.UTC(2026, 9, 3, 15, 45), Date.UTC(2024, 1, 29)),
)

/** A text as it was written, or with something wrong in it. */
const damaged = (text: string): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constant(text) },
    fc
      .tuple(
        fc.nat(text.length),
        fc.nat(2),
        fc.constantFrom('', '0', '9', '3', '24', '60', ' ', '/', 'T', 't', '٣', '-'),
      )
      .map(([at, gone, put]) => text.slice(0, at) + put + text.slice(at + gone)),
  )

/** What luxon alone says: the time that it finds, if that shows what was written and was shown once. */
function judged(wall: DateTime, zone: string): Instant {
  if (!wall.isValid) return { ok: false, code: 'date-invalid' }
  const at = wall.setZone(zone, { keepLocalTime: true })
  if (at.toFormat('yyyy MM dd HH mm') !== wall.toFormat('yyyy MM dd HH mm'))
    return { ok: false, code: 'date-skipped-by-daylight-saving' }
  if (at.getPossibleOffsets().length > 1) return { ok: false, code: 'date-doubled-by-daylight-saving' }
  return { ok: true, at: at.toMillis(), offset: at.offset }
}

describe('a form of digits', () => {
  it.each(COMMON)('%s is read without luxon', (format) => {
    expect(compileDigits(format)).toBeDefined()
  })

  it.each([
    ...[
      'Hmm yyyy-MM-dd',
      "d'1'MM yyyy",
      'MM/dd/yy',
      'dd MMM yyyy',
      'yyyy-MM-dd ZZ',
      'M/d/yyyy h:mm a',
      'EXCEL',
    ],
    ...['yyyy-MM', 'MM/dd MM/yyyy', "yyyy-MM-dd ''", 'yyyy-MM-dd\u00a0HH', "yyyy-MM-dd'µ'"],
  ])('%s is left to luxon', (format) => {
    expect(compileDigits(format)).toBeUndefined()
  })

  it.each([
    ['02/29/2000 00:00', 'MM/dd/yyyy HH:mm'],
    ['02/29/1900 00:00', 'MM/dd/yyyy HH:mm'],
    ['12/31/2026 24:00', 'MM/dd/yyyy HH:mm'],
    ['12/31/2026 24:01', 'MM/dd/yyyy HH:mm'],
    ['2026-12-31t23:59', "yyyy-MM-dd'T'HH:mm"],
    ['2026-12-31T23:59', "yyyy-MM-dd't'HH:mm"],
    ['0000-01-01', 'yyyy-MM-dd'],
    ['0099-12-31', 'yyyy-MM-dd'],
    ['2026-00-10', 'yyyy-MM-dd'],
    ['2026-01-00', 'yyyy-MM-dd'],
    ['', 'yyyy-MM-dd'],
  ])('%s as %s is what luxon says', (text, format) => {
    const wall = DateTime.fromFormat(text, format, { zone: 'UTC', locale: 'en-US' })
    expect(compileDigits(format)?.(text)).toBe(wall.toMillis())
  })

  it('gives what luxon gives, of any text in any zone', () => {
    const written = fc
      .tuple(formats, instants)
      .chain(([format, at]) =>
        fc.tuple(
          fc.constant(format),
          damaged(DateTime.fromMillis(at, { zone: 'UTC', locale: 'en-US' }).toFormat(format)),
        ),
      )
    let read = 0
    fc.assert(
      fc.property(written, fc.constantFrom(...ZONES), ([format, text], zone) => {
        const digits = compileDigits(format)
        if (digits === undefined) return
        const wall = DateTime.fromFormat(text, format, { zone: 'UTC', locale: 'en-US' })
        expect(digits(text)).toBe(wall.toMillis())
        expect(compileInstant([format], { zone })(text)).toEqual(judged(wall, zone))
        read++
      }),
      { numRuns: 2_000 },
    )
    expect(read).toBeGreaterThan(500)
  })
})

describe('an ISO text', () => {
  /** ISO 8601, extended: a day, or a day with a time and an offset. */
  const WHOLE = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:[.,]\d{1,30})?)?(?:Z|[+-]\d\d:?[0-5]\d)?)?$/
  const shapes = fc.constantFrom(
    ...['yyyy-MM-dd', "yyyy-MM-dd'T'HH:mm", "yyyy-MM-dd'T'HH:mm:ss", "yyyy-MM-dd'T'HH:mm:ss.SSS"],
    ...["yyyy-MM-dd'T'HH:mm:ss,u", "yyyyMMdd'T'HHmm", "yyyy-MM-dd'T'HH"],
  )
  const offsets = fc.constantFrom(
    '',
    'Z',
    '+01:00',
    '-0330',
    '-00:30',
    '+00:00',
    '-00:00',
    '+14:00',
    '+14:01',
    '+01',
  )

  it.each([
    '2026-02-23T07:16:05.9999Z',
    '2026-02-23T07:16:05,0019',
    '2026-12-31T24:00',
    '2026-12-31T24:00:00.5',
  ])('%s is what luxon says', (text) => {
    const at = DateTime.fromISO(text, { setZone: true, zone: 'UTC' }).toMillis()
    expect(compileInstant(['ISO'])(text)).toMatchObject(Number.isNaN(at) ? { ok: false } : { ok: true, at })
  })

  it('gives what luxon gives, with and without an offset', () => {
    const written = fc
      .tuple(shapes, instants, offsets)
      .chain(([shape, at, offset]) =>
        damaged(DateTime.fromMillis(at, { zone: 'UTC' }).toFormat(shape) + offset),
      )
    let read = 0
    fc.assert(
      fc.property(written, (text) => {
        if (!WHOLE.test(text)) return
        const wall = DateTime.fromISO(text, { setZone: true, zone: 'UTC' })
        const isRead = wall.isValid && Math.abs(wall.offset) <= 14 * 60
        expect(compileInstant(['ISO'])(text)).toEqual(
          isRead
            ? { ok: true, at: wall.toMillis(), offset: wall.offset }
            : { ok: false, code: 'date-invalid' },
        )
        read++
      }),
      { numRuns: 2_000 },
    )
    expect(read).toBeGreaterThan(500)
  })
})
