import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { carriesOffset, compileDay, compileInstant, dayText, formatFault } from '../../src/transform/dates.ts'
import { isZone } from '../../src/transform/zones.ts'

type InstantOptions = NonNullable<Parameters<typeof compileInstant>[1]>

const NEW_YORK = 'America/New_York'
const BERLIN = 'Europe/Berlin'

/** The instant in ISO form, or the code of why there is none. */
function readDate(
  text: string,
  formats: string | readonly string[],
  zone?: string,
  more: InstantOptions = {},
): string {
  const instant = compileInstant([formats].flat(), { ...more, zone })(text)
  return instant.ok ? new Date(instant.at).toISOString() : instant.code
}

describe('forms in tokens', () => {
  it.each([
    ['02/04/2026 09:10', 'MM/dd/yyyy HH:mm', NEW_YORK, '2026-02-04T14:10:00.000Z'],
    ['07/04/2026 09:10', 'MM/dd/yyyy HH:mm', NEW_YORK, '2026-07-04T13:10:00.000Z'],
    ['2/4/2026 9:10 PM', 'M/d/yyyy h:mm a', NEW_YORK, '2026-02-05T02:10:00.000Z'],
    ['12:00 am 02/04/2026', 'hh:mm a MM/dd/yyyy', NEW_YORK, '2026-02-04T05:00:00.000Z'],
    ['04.02.2026', 'dd.MM.yyyy', BERLIN, '2026-02-03T23:00:00.000Z'],
    ['04-Feb-2026', 'dd-MMM-yyyy', 'UTC', '2026-02-04T00:00:00.000Z'],
    ['02/04/26', 'MM/dd/yy', 'UTC', '2026-02-04T00:00:00.000Z'],
    ['20260204091059', 'yyyyMMddHHmmss', 'UTC', '2026-02-04T09:10:59.000Z'],
    ['2026-02-04T09:10', "yyyy-MM-dd'T'HH:mm", 'UTC', '2026-02-04T09:10:00.000Z'],
    ['2026-02-04 09:10 -05:00', 'yyyy-MM-dd HH:mm ZZ', undefined, '2026-02-04T14:10:00.000Z'],
    ['2026-02-04 09:10 -0330', 'yyyy-MM-dd HH:mm ZZZ', undefined, '2026-02-04T12:40:00.000Z'],
    ['02/29/2024', 'MM/dd/yyyy', 'UTC', '2024-02-29T00:00:00.000Z'],
    ['02/29/2000', 'MM/dd/yyyy', 'UTC', '2000-02-29T00:00:00.000Z'],
    ['02/29/2023', 'MM/dd/yyyy', 'UTC', 'date-invalid'],
    ['02/29/1900', 'MM/dd/yyyy', 'UTC', 'date-invalid'],
    ['13/45/2026', 'MM/dd/yyyy', 'UTC', 'date-invalid'],
    ['2/4/2026', 'MM/dd/yyyy', 'UTC', 'date-invalid'],
    ['02/04/2026 09:10', 'MM/dd/yyyy', 'UTC', 'date-invalid'],
    ['02/04/2026 24:30', 'MM/dd/yyyy HH:mm', 'UTC', 'date-invalid'],
    ['02/04/2026 09:60', 'MM/dd/yyyy HH:mm', 'UTC', 'date-invalid'],
    ['', 'MM/dd/yyyy', 'UTC', 'date-invalid'],
    ['2026-02-04 09:10 +99:00', 'yyyy-MM-dd HH:mm ZZ', undefined, 'date-invalid'],
  ])('%j as %s in %s is %s', (text, format, zone, expected) => {
    expect(readDate(text, format, zone)).toBe(expected)
  })

  it('are tried in order, and a daylight-saving fault of one that fits is final', () => {
    const formats = ['MM/dd/yyyy', 'dd/MM/yyyy']
    expect(readDate('02/03/2026', formats, 'UTC')).toBe('date-ambiguous')
    expect(readDate('02/25/2026', formats, 'UTC')).toBe('2026-02-25T00:00:00.000Z')
    expect(readDate('25/03/2026', formats, 'UTC')).toBe('2026-03-25T00:00:00.000Z')
    expect(readDate('03/08/2026 02:30', ['MM/dd/yyyy HH:mm', 'dd/MM/yyyy HH:mm'], NEW_YORK)).toBe(
      'date-skipped-by-daylight-saving',
    )
  })

  it('remember what they read: twice the same', () => {
    const parse = compileInstant(['MM/dd/yyyy'], { zone: NEW_YORK })
    expect(parse('02/04/2026')).toEqual(parse('02/04/2026'))
    expect(parse('nonsense')).toEqual(parse('nonsense'))
  })
})

describe('daylight saving', () => {
  it.each([
    // New York: 8 March 2026 at 2:00 forward, 1 November 2026 at 2:00 back.
    ['2026-03-08 01:59', NEW_YORK, '2026-03-08T06:59:00.000Z'],
    ['2026-03-08 02:00', NEW_YORK, 'date-skipped-by-daylight-saving'],
    ['2026-03-08 02:59', NEW_YORK, 'date-skipped-by-daylight-saving'],
    ['2026-03-08 03:00', NEW_YORK, '2026-03-08T07:00:00.000Z'],
    ['2026-11-01 00:59', NEW_YORK, '2026-11-01T04:59:00.000Z'],
    ['2026-11-01 01:00', NEW_YORK, 'date-doubled-by-daylight-saving'],
    ['2026-11-01 01:59', NEW_YORK, 'date-doubled-by-daylight-saving'],
    ['2026-11-01 02:00', NEW_YORK, '2026-11-01T07:00:00.000Z'],
    // Berlin: 29 March 2026 at 2:00 forward, 25 October 2026 at 3:00 back.
    ['2026-03-29 01:59', BERLIN, '2026-03-29T00:59:00.000Z'],
    ['2026-03-29 02:30', BERLIN, 'date-skipped-by-daylight-saving'],
    ['2026-03-29 03:00', BERLIN, '2026-03-29T01:00:00.000Z'],
    ['2026-10-25 01:59', BERLIN, '2026-10-24T23:59:00.000Z'],
    ['2026-10-25 02:30', BERLIN, 'date-doubled-by-daylight-saving'],
    ['2026-10-25 03:00', BERLIN, '2026-10-25T02:00:00.000Z'],
    // Lord Howe: half an hour. Apia: a whole day, 30 December 2011, was left out.
    ['2026-10-04 02:15', 'Australia/Lord_Howe', 'date-skipped-by-daylight-saving'],
    ['2026-04-05 01:45', 'Australia/Lord_Howe', 'date-doubled-by-daylight-saving'],
    ['2011-12-30 10:00', 'Pacific/Apia', 'date-skipped-by-daylight-saving'],
    ['2011-12-31 10:00', 'Pacific/Apia', '2011-12-30T20:00:00.000Z'],
  ])('%s in %s', (text, zone, expected) => {
    expect(readDate(text, 'yyyy-MM-dd HH:mm', zone)).toBe(expected)
    expect(readDate(text.replace(' ', 'T'), 'ISO', zone)).toBe(expected)
    expect(readDate(text.replaceAll(/\D/g, ''), 'HL7', zone)).toBe(expected)
  })

  it('does not touch a time that tells its offset', () => {
    expect(readDate('2026-11-01T01:30-04:00', 'ISO', NEW_YORK)).toBe('2026-11-01T05:30:00.000Z')
    expect(readDate('2026-11-01T01:30-05:00', 'ISO', NEW_YORK)).toBe('2026-11-01T06:30:00.000Z')
    expect(readDate('202603080230-0500', 'HL7', NEW_YORK)).toBe('2026-03-08T07:30:00.000Z')
  })
})

describe('daylight saving by rule', () => {
  it.each([
    ['2026-03-08 02:30', NEW_YORK, { skipped: 'forward' }, '2026-03-08T07:30:00.000Z'],
    ['2026-03-08 02:30', NEW_YORK, { skipped: 'backward' }, '2026-03-08T06:30:00.000Z'],
    ['2026-03-08 02:30', NEW_YORK, { skipped: 'reject' }, 'date-skipped-by-daylight-saving'],
    ['2026-03-08 02:30', NEW_YORK, { doubled: 'later' }, 'date-skipped-by-daylight-saving'],
    ['2026-11-01 01:30', NEW_YORK, { doubled: 'earlier' }, '2026-11-01T05:30:00.000Z'],
    ['2026-11-01 01:30', NEW_YORK, { doubled: 'later' }, '2026-11-01T06:30:00.000Z'],
    ['2026-11-01 01:30', NEW_YORK, { doubled: 'reject' }, 'date-doubled-by-daylight-saving'],
    ['2026-11-01 01:30', NEW_YORK, { skipped: 'forward' }, 'date-doubled-by-daylight-saving'],
    ['2026-10-04 02:15', 'Australia/Lord_Howe', { skipped: 'forward' }, '2026-10-03T15:45:00.000Z'],
    ['2026-04-05 01:45', 'Australia/Lord_Howe', { doubled: 'later' }, '2026-04-04T15:15:00.000Z'],
    // A whole day was left out: forward is the same time on the day after, backward on the day before.
    ['2011-12-30 10:00', 'Pacific/Apia', { skipped: 'forward' }, '2011-12-30T20:00:00.000Z'],
    ['2011-12-30 10:00', 'Pacific/Apia', { skipped: 'backward' }, '2011-12-29T20:00:00.000Z'],
    ['2026-07-04 09:10', NEW_YORK, { skipped: 'forward', doubled: 'later' }, '2026-07-04T13:10:00.000Z'],
  ] as const)('%s in %s with %j is %s', (text, zone, more, expected) => {
    expect(readDate(text, 'yyyy-MM-dd HH:mm', zone, more)).toBe(expected)
  })
})

it.each([
  // Minutes east of UTC, as clocks of the place show them at the instant that was chosen.
  ['2026-03-08 02:30', { skipped: 'forward' }, -240],
  ['2026-03-08 02:30', { skipped: 'backward' }, -300],
  ['2026-11-01 01:30', { doubled: 'earlier' }, -240],
  ['2026-11-01 01:30', { doubled: 'later' }, -300],
  ['2026-03-08 01:30', {}, -300],
  ['2026-03-08 03:30', {}, -240],
] as const)('%s in New York with %j has the offset %i', (text, more, offset) => {
  expect(compileInstant(['yyyy-MM-dd HH:mm'], { zone: NEW_YORK, ...more })(text)).toMatchObject({ offset })
})

describe('a year or a month alone', () => {
  it.each([
    ['2026', 'HL7', '2026-01-01T05:00:00.000Z'],
    ['202607', 'HL7', '2026-07-01T04:00:00.000Z'],
    ['2026+0100', 'HL7', '2025-12-31T23:00:00.000Z'],
    ['20260704', 'HL7', '2026-07-04T04:00:00.000Z'],
    ['2026', 'ISO', '2026-01-01T05:00:00.000Z'],
    ['2026-07', 'ISO', '2026-07-01T04:00:00.000Z'],
    ['2026-07-04', 'ISO', '2026-07-04T04:00:00.000Z'],
    ['2026-13', 'ISO', 'date-invalid'],
    ['202613', 'HL7', 'date-invalid'],
    ['202607', 'ISO', 'date-invalid'],
    ['20260', 'HL7', 'date-invalid'],
  ])('%s as %s is its first instant where that is asked for: %s', (text, form, expected) => {
    expect(readDate(text, form, NEW_YORK, { partial: 'start' })).toBe(expected)
    if (text.length < 8) expect(readDate(text, form, NEW_YORK, { partial: 'reject' })).toBe('date-invalid')
  })
})

describe('HL7 v2 TS', () => {
  it.each([
    ['2026-02-23T05:00:00.000Z', '20260223'],
    ['2026-02-23T12:00:00.000Z', '2026022307'],
    ['2026-02-23T12:16:00.000Z', '202602230716'],
    ['2026-02-23T12:16:05.000Z', '20260223071605'],
    ['2026-02-23T12:16:05.100Z', '20260223071605.1'],
    ['2026-02-23T12:16:05.029Z', '20260223071605.029'],
    ['2026-02-23T12:16:05.999Z', '20260223071605.9999'],
    ['2026-02-23T06:16:05.000Z', '20260223071605+0100'],
    ['2026-02-23T10:46:05.000Z', '20260223071605-0330'],
    ['2026-02-23T07:46:05.000Z', '20260223071605-0030'],
    ['2026-02-23T01:31:05.000Z', '20260223071605+0545'],
    ['2026-02-23T00:00:00.000Z', '20260223+0000'],
    ['2024-02-29T05:00:00.000Z', '20240229'],
    ['date-invalid', '20260229', '2026', '202602', '2026022324', '202602230760', '20260223071660'],
    ['date-invalid', '20260223071605.', '20260223071605+01', '20260223071605+0175', '20260223071605+9900'],
    ['date-invalid', '""'],
  ])('%s: %j', (expected, ...inputs) => {
    for (const input of inputs) expect(readDate(input, 'HL7', NEW_YORK), input).toBe(expected)
  })

  it('keeps each millisecond', () => {
    for (let ms = 0; ms < 1000; ms++) {
      const fraction = String(ms).padStart(3, '0')
      expect(readDate(`20260223071605.${fraction}+0000`, 'HL7', 'UTC')).toBe(
        `2026-02-23T07:16:05.${fraction}Z`,
      )
    }
  })
})

describe('ISO 8601', () => {
  it.each([
    ['2026-02-23T05:00:00.000Z', '2026-02-23', '20260223'],
    ['2026-02-23T12:16:00.000Z', '2026-02-23T07:16', '2026-02-23T07:16-05'],
    ['2026-02-23T12:00:00.000Z', '2026-02-23T07'],
    ['2026-02-23T12:16:05.000Z', '20260223T071605'],
    ['2026-02-23T07:16:05.000Z', '2026-02-23T07:16:05Z'],
    ['2026-02-23T07:16:05.123Z', '2026-02-23T07:16:05.123456Z'],
    ['2026-02-23T06:16:05.000Z', '2026-02-23T07:16:05+01:00'],
    ['2026-02-23T10:46:05.000Z', '2026-02-23T07:16:05-03:30'],
    ['2026-02-23T07:46:05.000Z', '2026-02-23T07:16:05-0030'],
    ['date-invalid', '07:16', 'T07:16', '2026', '2026-02', '+002026-02-23'],
    ['date-invalid', '2026-02-23T07:16[Europe/Berlin]', '2026-02-23 07:16', '2026-02-30'],
    ['date-invalid', '2026-02-23T07:16:60Z', '2026-02-23T07:16+99:00', '2026-02-23T07:16+01:75'],
    ['date-invalid', '2026-02-23T', '2026-02-23Z'],
  ])('%s: %j', (expected, ...inputs) => {
    for (const input of inputs) expect(readDate(input, 'ISO', NEW_YORK), input).toBe(expected)
  })
})

describe('EPOCH_MS', () => {
  it.each([
    ['1970-01-01T00:00:00.000Z', '0'],
    ['1969-12-31T23:59:59.999Z', '-1'],
    ['2026-02-23T07:16:05.000Z', '1771830965000'],
    ['date-invalid', '1.5', '1e12', '9999999999999999', ''],
  ])('%s: %j', (expected, ...inputs) => {
    for (const input of inputs) expect(readDate(input, 'EPOCH_MS'), input).toBe(expected)
  })
})

describe('calendar dates', () => {
  it.each([
    ['1980-05-01', ['yyyy-MM-dd'], '1980-05-01'],
    ['05/01/1980', ['yyyy-MM-dd', 'MM/dd/yyyy'], '1980-05-01'],
    ['19800501', ['HL7'], '1980-05-01'],
    // The day is the one that was written, east or west of Greenwich.
    ['1980-05-01T00:00:00+02:00', ['ISO'], '1980-05-01'],
    ['1980-05-01T23:30:00-05:00', ['ISO'], '1980-05-01'],
    ['19800501000000+0545', ['HL7'], '1980-05-01'],
    ['1980-05-01 00:00 +0200', ['yyyy-MM-dd HH:mm ZZZ'], '1980-05-01'],
    ['1980-02-30', ['yyyy-MM-dd'], undefined],
    ['999999999999999', ['EPOCH_MS'], undefined],
    ['', ['yyyy-MM-dd'], undefined],
  ])('%s as %j is %s', (text, formats, expected) => {
    expect(dayText(compileDay({ format: formats })(text))).toBe(expected)
  })
})

describe('a form', () => {
  it.each([
    ...['ISO', 'HL7', 'EPOCH_MS', 'MM/dd/yyyy HH:mm', "d.M.yy 'at' h:mm a"],
    ...['EEE, d MMM yyyy HH:mm:ss.SSS ZZZ', 'yyyyMMddHHmm'],
  ])('%s can be used', (format) => {
    expect(formatFault(format)).toBeUndefined()
  })

  it.each([
    ['MM/DD/YYYY', 'no token'],
    ['yyyy-MM-ddTHH:mm', 'no token'],
    ['iso', 'no token'],
    ['yyyy-MM-dd HH:mm z', 'no token'],
    ['HH:mm', 'year, month and day'],
    ['MM/dd', 'year, month and day'],
    ['yyyy-MM', 'year, month and day'],
    ['', 'year, month and day'],
    ['MM/dd/yyyy hh:mm', 'half of the day'],
    ["yyyy-MM-dd 'at HH:mm", 'quote'],
  ])('%j is refused', (format, part) => {
    expect(formatFault(format)).toContain(part)
  })

  it.each([
    ['EPOCH_MS', true],
    ['yyyy-MM-dd HH:mm ZZ', true],
    ["yyyy-MM-dd'Z'", false],
    ['ISO', false],
    ['HL7', false],
    ['MM/dd/yyyy', false],
  ])('%s tells the offset: %s', (format, carries) => {
    expect(carriesOffset(format)).toBe(carries)
  })

  it('has an IANA zone', () => {
    expect([NEW_YORK, 'UTC', 'Pacific/Apia'].map(isZone)).toEqual([true, true, true])
    expect(['New York', '', 'Mars/Olympus', 'EST5EDT4'].map(isZone)).toEqual([false, false, false, false])
  })
})

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

describe('laws', () => {
  /** Wall-clock time by another road: Intl. */
  const wall = (at: number, zone: string): string => {
    const parts = new Intl.DateTimeFormat('en-CA', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
    }).formatToParts(at)
    const of = (type: string): string => parts.find((part) => part.type === type)?.value ?? ''
    return `${of('year')}-${of('month')}-${of('day')} ${of('hour')}:${of('minute')}`
  }
  const minutes = fc.integer({ min: Date.UTC(1975, 0) / 60_000, max: Date.UTC(2037, 0) / 60_000 })

  it.each([NEW_YORK, BERLIN, 'Asia/Kathmandu', 'Australia/Lord_Howe'])(
    'a wall-clock time in %s leads back to its instant, or happened twice',
    (zone) => {
      const parse = compileInstant(['yyyy-MM-dd HH:mm'], { zone })
      fc.assert(
        fc.property(minutes, (minute) => {
          const at = minute * 60_000
          const text = wall(at, zone)
          const twice = [-60, -30, 30, 60].some((shift) => wall(at + shift * 60_000, zone) === text)
          const instant = parse(text)
          if (twice) expect(instant).toEqual({ ok: false, code: 'date-doubled-by-daylight-saving' })
          else expect(instant).toMatchObject({ ok: true, at })
        }),
        { numRuns: 300 },
      )
    },
  )

  it('by rule, every wall-clock time of every zone is an instant, and one that shows it unless it was skipped', () => {
    const zones = Intl.supportedValuesOf('timeZone').filter(isZone)
    const rules = fc.record({
      skipped: fc.constantFrom('forward' as const, 'backward' as const),
      doubled: fc.constantFrom('earlier' as const, 'later' as const),
    })
    fc.assert(
      fc.property(minutes, fc.constantFrom(...zones), rules, (minute, zone, more) => {
        const text = new Date(minute * 60_000).toISOString().slice(0, 16).replace('T', ' ')
        const strict = compileInstant(['yyyy-MM-dd HH:mm'], { zone })(text)
        const instant = compileInstant(['yyyy-MM-dd HH:mm'], { ...more, zone })(text)
        if (!instant.ok) return expect.fail(`${text} in ${zone}`)
        if (strict.ok) expect(instant).toEqual(strict)
        const shown = wall(instant.at, zone)
        if (strict.ok || strict.code === 'date-doubled-by-daylight-saving') expect(shown).toBe(text)
        else expect(shown > text).toBe(more.skipped === 'forward')
      }),
      { numRuns: 500 },
    )
  })

  it('in the hours around a change the rules give the two instants that there are', () => {
    const around = fc.integer({ min: -180, max: 180 })
    // The minutes at which the clocks of New York and Berlin change in 2026.
    const changes = fc.constantFrom(
      [NEW_YORK, Date.UTC(2026, 2, 8, 2)],
      [NEW_YORK, Date.UTC(2026, 10, 1, 1)],
      [BERLIN, Date.UTC(2026, 2, 29, 2)],
      [BERLIN, Date.UTC(2026, 9, 25, 2)],
    ) as fc.Arbitrary<[string, number]>
    fc.assert(
      fc.property(changes, around, ([zone, change], shift) => {
        const text = new Date(change + shift * 60_000).toISOString().slice(0, 16).replace('T', ' ')
        const at = (more: InstantOptions): number =>
          Date.parse(readDate(text, 'yyyy-MM-dd HH:mm', zone, more))
        const strict = readDate(text, 'yyyy-MM-dd HH:mm', zone)
        const early = at({ skipped: 'backward', doubled: 'earlier' })
        const late = at({ skipped: 'forward', doubled: 'later' })
        expect(late - early).toBe(strict.startsWith('date-') ? 3_600_000 : 0)
      }),
    )
  })

  it('any text is a date or is not; a date is a whole number of milliseconds', () => {
    const parsers = [
      ...['ISO', 'HL7', 'EPOCH_MS', 'EXCEL', 'EXCEL_1904', 'MM/dd/yyyy HH:mm', 'yyyy-MM-dd ZZ'],
    ].map((format) => compileInstant([format], { zone: 'Africa/Monrovia' }))
    const digits = fc.stringMatching(/^[0-9:TZ+.\- /]{0,24}$/)
    fc.assert(
      fc.property(fc.oneof(digits, fc.string({ unit: 'binary' })), (text) => {
        for (const parse of parsers) {
          const instant = parse(text)
          if (instant.ok) expect(Number.isInteger(instant.at)).toBe(true)
        }
      }),
      { numRuns: 500 },
    )
  })
})
