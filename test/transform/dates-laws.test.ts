import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileInstant, type InstantOptions, isZone } from '../../src/transform/dates.ts'
import { BERLIN, NEW_YORK, readDate } from './dates-under-test.ts'

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
      'ISO',
      'HL7',
      'EPOCH_MS',
      'EXCEL',
      'EXCEL_1904',
      'MM/dd/yyyy HH:mm',
      'yyyy-MM-dd ZZ',
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
