/** Forms of dates in tokens: what each reads, and that what is written in a form is read again, as what it was. */
import fc from 'fast-check'
import { DateTime } from 'luxon'
import { describe, expect, it } from 'vitest'
import { compileInstant, formatFault } from '../../src/transform/dates.ts'

const readDate = (text: string, format: string, zone: string | undefined = 'UTC'): string => {
  const instant = compileInstant([format], { zone })(text)
  return instant.ok ? new Date(instant.at).toISOString() : instant.code
}

describe('a form', () => {
  it.each([
    ['04-Feb-26', 'dd-MMM-yy', '2026-02-04T00:00:00.000Z'],
    ['04-FEB-26', 'dd-MMM-yy', '2026-02-04T00:00:00.000Z'],
    ['04-Feb-98', 'dd-MMM-yy', '1998-02-04T00:00:00.000Z'],
    ['Mar 2 2026', 'MMM d yyyy', '2026-03-02T00:00:00.000Z'],
    ['Mar 14 2026 06:55', 'MMM d yyyy HH:mm', '2026-03-14T06:55:00.000Z'],
    ['20260204T0910-0500', "yyyyMMdd'T'HHmmZ", '2026-02-04T14:10:00.000Z'],
    ['20260204T0910+05:30', "yyyyMMdd'T'HHmmZ", '2026-02-04T03:40:00.000Z'],
    ['20260204T0910Z', "yyyyMMdd'T'HHmmZ", '2026-02-04T09:10:00.000Z'],
    ['20260204T0910+5', "yyyyMMdd'T'HHmmZ", '2026-02-04T04:10:00.000Z'],
    ['2026-02-04 09:10Z', 'yyyy-MM-dd HH:mmZZ', '2026-02-04T09:10:00.000Z'],
    ['2026-02-04 0815', 'yyyy-MM-dd HHmm', '2026-02-04T08:15:00.000Z'],
    ['2026-02-04 815', 'yyyy-MM-dd Hmm', '2026-02-04T08:15:00.000Z'],
    ['04/02/2026 08h15', "dd/MM/yyyy HH'h'mm", '2026-02-04T08:15:00.000Z'],
    ['04/02/2026 8H15', "dd/MM/yyyy H'h'mm", '2026-02-04T08:15:00.000Z'],
    // As databases and browsers write them: a day of one digit padded, a narrow space that does not break.
    ['Mar  2 2026  7:10AM', 'MMM d yyyy h:mma', '2026-03-02T07:10:00.000Z'],
    ['3/2/2026 7:10\u202fPM', 'M/d/yyyy h:mm a', '2026-03-02T19:10:00.000Z'],
    ['Wed, 4 Feb 2026 09:10', 'EEE, d MMM yyyy HH:mm', '2026-02-04T09:10:00.000Z'],
    ['March 2, 2026', 'MMMM d, yyyy', '2026-03-02T00:00:00.000Z'],
    ["4 o'clock 02/03/2026", "h 'o''clock' MM/dd/yyyy a", 'date-invalid'],
  ])('%s as %s is %s', (text, format, expected) => {
    expect(readDate(text, format)).toBe(expected)
  })

  it.each([
    // An hour that no clock of twelve shows, or half of the day that the hour denies.
    ['02/04/2026 15:10 AM', 'MM/dd/yyyy h:mm a'],
    ['02/04/2026 13:10 PM', 'MM/dd/yyyy h:mm a'],
    ['02/04/2026 15:10 PM', 'MM/dd/yyyy h:mm a'],
    ['02/04/2026 00:10 PM', 'MM/dd/yyyy hh:mm a'],
    ['02/04/2026 09:10 PM', 'MM/dd/yyyy HH:mm a'],
    ['02/04/2026 21:10 AM', 'MM/dd/yyyy HH:mm a'],
    // Two digits of a year are two.
    ['02/04/126', 'MM/dd/yy'],
    ['02/04/2026', 'MM/dd/yy'],
    ['1260204', 'yyMMdd'],
    ['04-Feb-2026', 'dd-MMM-yy'],
    // Another day of the week, another month, a time behind the day, a short offset.
    ['Tue, 4 Feb 2026', 'EEE, d MMM yyyy'],
    ['02/04/2026 March', 'MM/dd/yyyy MMMM'],
    ['Mar 2 2026 07:10', 'MMM d yyyy'],
    ['Mar2 2026', 'MMM d yyyy'],
    ['20260204T0910EST', "yyyyMMdd'T'HHmmZ"],
    ['20260204T0910', "yyyyMMdd'T'HHmmZ"],
    ['20260204T0910-0560', "yyyyMMdd'T'HHmmZ"],
    ['20260204T0910+1500', "yyyyMMdd'T'HHmmZ"],
    ['30-Feb-26', 'dd-MMM-yy'],
  ])('%s is no %s', (text, format) => {
    expect(readDate(text, format)).toBe('date-invalid')
  })

  it.each(['Mdyyyy', 'dMyyyy', 'yyyy-MM-dd Hm', 'yyyyMd', "d'1'M yyyy", 'yyyy-MM-dd HH:mm:sS', 'dMyy'])(
    '%s does not tell where its numbers end',
    (format) => {
      expect(formatFault(format)).toContain('does not separate its numbers')
    },
  )

  it.each(['Hmm yyyy-MM-dd', 'dMMyyyy', 'yyyyMMddHHmmssSSS', "d'/1'M yyyy", 'MMM d yyyy', 'ddMMMyyyy'])(
    '%s does',
    (format) => {
      expect(formatFault(format)).toBeUndefined()
    },
  )
})

const TOKENS_OF = [
  ...[
    ['yyyy', 'yy'],
    ['MM', 'M', 'MMM', 'MMMM'],
    ['dd', 'd'],
    ['', 'EEE', 'EEEE'],
    ['', 'Z', 'ZZ', 'ZZZ'],
  ],
  ...[
    ['', 'HH', 'H', 'hh', 'h'],
    ['', 'mm', 'm'],
    ['', 'ss', 's'],
    ['', 'SSS', 'S', 'u'],
  ],
]
const between = fc.constantFrom(
  '/',
  '-',
  ' ',
  ':',
  '.',
  '',
  ', ',
  "'T'",
  "'h'",
  "' at '",
  '(',
  '_',
  "'1'",
  "''",
)

/** Any form of a day, with some of a time of day, in any order. */
const forms = fc
  .tuple(
    fc.tuple(...TOKENS_OF.map((tokens) => fc.constantFrom(...tokens))),
    fc.array(between, { minLength: 10, maxLength: 10 }),
    fc.array(fc.nat(), { minLength: 9, maxLength: 9 }),
  )
  .map(([tokens, signs, order]) => {
    const chosen = tokens.filter((token) => token !== '')
    if (chosen.some((token) => token.startsWith('h'))) chosen.push('a')
    return chosen
      .map((token, at) => ({ token, by: order[at] ?? 0 }))
      .sort((a, b) => a.by - b.by)
      .map(({ token }, at) => token + (signs[at] ?? ''))
      .join('')
  })
  .filter((form) => formatFault(form) === undefined)

/** Of the hundred years that two digits of a year mean. */
const instants = fc.integer({ min: Date.UTC(1961, 0, 2), max: Date.UTC(2060, 11, 30) })

describe('law: what is written in a form is read again', () => {
  it('as the same, to what the form tells', () => {
    let carried = 0
    fc.assert(
      fc.property(forms, instants, fc.integer({ min: -14 * 4, max: 14 * 4 }), (form, at, quarters) => {
        const written = DateTime.fromMillis(at, {
          zone: `UTC${quarters < 0 ? '-' : '+'}${Math.trunc(Math.abs(quarters) / 4)}:${String((Math.abs(quarters) % 4) * 15).padStart(2, '0')}`,
          locale: 'en-US',
        })
        const bare = form.replaceAll(/'[^']*'/g, ' ')
        const has = (letter: string): boolean => bare.includes(letter)
        const hasOffset = has('Z')
        const told = written.set({
          hour: has('H') || has('h') ? written.hour : 0,
          minute: has('m') ? written.minute : 0,
          second: has('s') ? written.second : 0,
          millisecond: has('S') || has('u') ? written.millisecond : 0,
        })
        // A fraction stands behind seconds.
        const wall = told.toMillis() + told.offset * 60_000
        if (hasOffset) carried++
        const instant = compileInstant([form], { zone: 'UTC' })(written.toFormat(form))
        expect(instant).toEqual({
          ok: true,
          at: hasOffset ? told.toMillis() : wall,
          offset: hasOffset ? written.offset : 0,
        })
      }),
      { numRuns: 3_000 },
    )
    expect(carried).toBeGreaterThan(300)
  })

  it('and never as another day, whatever is changed in one character of it', () => {
    fc.assert(
      fc.property(
        forms,
        instants,
        fc.nat(),
        fc.constantFrom(...'0123456789 -/:TZap'),
        (form, at, place, sign) => {
          const written = DateTime.fromMillis(at, { zone: 'UTC', locale: 'en-US' }).toFormat(form)
          const where = place % written.length
          const text = written.slice(0, where) + sign + written.slice(where + 1)
          const found = compileInstant([form], { zone: 'UTC' })(text)
          if (!found.ok) return
          const isMidnight = new Date(found.at + found.offset * 60_000).getUTCHours() === 0
          // On a clock of twelve that hour is 12, and may be told as 0.
          if (isMidnight && form.replaceAll(/'[^']*'/g, '').includes('h')) return
          // What is read says what was there: written in the same form it differs in padding and case alone.
          const again = DateTime.fromMillis(found.at + found.offset * 60_000, {
            zone: 'UTC',
            locale: 'en-US',
          }).toFormat(form.replaceAll(/'[^']*'|Z+/g, (piece) => (piece.startsWith('Z') ? '' : piece)))
          const digits = (one: string): string => one.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
          if (
            !form.replaceAll(/'[^']*'/g, '').includes('Z') &&
            !/[MdHhmsSu]/.test(form.replaceAll(/'[^']*'|MM+|dd|HH|hh|mm|ss|SSS/g, ''))
          )
            expect(digits(again)).toBe(digits(text))
        },
      ),
      { numRuns: 2_000 },
    )
  })

  it('as the same in a zone that changes its clocks, or as one that happened twice', () => {
    fc.assert(
      fc.property(forms, instants, fc.constantFrom('America/New_York', 'Europe/Berlin'), (form, at, zone) => {
        const bare = form.replaceAll(/'[^']*'/g, ' ')
        // To the minute, of which no form leaves out more than is asked for.
        fc.pre(/[Hh]/.test(bare) && bare.includes('m') && !bare.includes('Z'))
        const minute = Math.floor(at / 60_000) * 60_000
        const text = DateTime.fromMillis(minute, { zone, locale: 'en-US' }).toFormat(form)
        const instant = compileInstant([form], { zone })(text)
        if (instant.ok) expect(instant.at).toBe(minute)
        else expect(instant.code).toBe('date-doubled-by-daylight-saving')
      }),
      { numRuns: 500 },
    )
  })

  it.each([
    ['ISO', "yyyy-MM-dd'T'HH:mm:ss.SSSZZ"],
    ['ISO', "yyyyMMdd'T'HHmmssZZZ"],
    ['HL7', 'yyyyMMddHHmmss.SSSZZZ'],
    ['HL7', 'yyyyMMddHHmmZZZ'],
    ['EPOCH_MS', 'x'],
  ])('%s, written as %s', (form, as) => {
    fc.assert(
      fc.property(instants, fc.constantFrom('UTC', 'Asia/Kathmandu', 'America/St_Johns'), (at, zone) => {
        const unit = as.includes('SSS') || as === 'x' ? 1 : as.includes('ss') ? 1_000 : 60_000
        const whole = Math.floor(at / unit) * unit
        const text = as === 'x' ? String(whole) : DateTime.fromMillis(whole, { zone }).toFormat(as)
        expect(compileInstant([form])(text)).toMatchObject({ ok: true, at: whole })
      }),
    )
  })
})
