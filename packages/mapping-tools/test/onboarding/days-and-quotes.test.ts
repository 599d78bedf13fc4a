/** Drafts of files whose dates are written in rarer forms, and whose heights have quotes. */
import { describe, expect, it } from 'vitest'
import { finished } from './finished.ts'

const BLOOD_PRESSURE = `Date,Time,Systolic (mmHg),Diastolic (mmHg),Pulse (bpm),Symptoms,Consumed,TruRead,Notes
Mar 14 2026,06:55,121,79,63,-,-,-,-
Mar 13 2026,21:02,133,84,71,-,-,-,-
Mar 2 2026,07:10,118,75,60,-,-,-,-
Mar 1 2026,19:30,-,-,-,-,-,-,cuff slipped

"Date","Time","Weight (lb)"
"Mar 2 2026","07:12","171.5"
`

it('of a monitor at home: day and time in two columns, MMM d yyyy HH:mm', async () => {
  const { text, records, asked } = await finished('home.csv', BLOOD_PRESSURE)
  expect(text).toContain(
    'observedAt: { concat: [Date, Time], separator: " ", format: "MMM d yyyy HH:mm", zone: UTC }',
  )
  expect(records.slice(0, 3)).toEqual([
    '06:55 systolic-bp 121 mm[Hg] 2026-03-14T06:55:00.000Z',
    '06:55 diastolic-bp 79 mm[Hg] 2026-03-14T06:55:00.000Z',
    '06:55 heart-rate 63 /min 2026-03-14T06:55:00.000Z',
  ])
  expect(records).toHaveLength(9)
  expect(asked.join('\n')).toContain('which time zone?')
})

const heights = (quote: (feet: number, inches: number) => string, delimiter = ','): string =>
  [
    [
      'Member ID',
      'Screening Date',
      'First Name',
      'Last Name',
      'DOB',
      'Gender',
      'ZIP',
      'Height',
      'Weight (lbs)',
    ],
    ...Array.from({ length: 24 }, (_, at) => [
      ...[
        `M${at}`,
        `02/${String(at + 1).padStart(2, '0')}/2026`,
        `N${at}`,
        `L${at}`,
        '04/12/1979',
        'F',
        '04880',
      ],
      ...[quote(5, at % 12), String(150 + at)],
    ]),
  ]
    .map((cells) => cells.join(delimiter))
    .join('\n')

describe('heights in feet and inches', () => {
  it.each([
    [',', (feet: number, inches: number) => `${feet}' ${inches}"`],
    [',', (feet: number, inches: number) => `${feet}'${inches}"`],
    [';', (feet: number, inches: number) => `${feet}' ${inches}"`],
    ['\t', (feet: number, inches: number) => `${feet} ft ${inches}"`],
  ])('with quotes that are text, between %j: lenient', async (delimiter, quote) => {
    const { text, records, rejected } = await finished('heights.csv', `${heights(quote, delimiter)}\n`)
    expect(text).toMatch(/^ {2}quotes: lenient$/m)
    if (delimiter !== ',') expect(text).toContain(`delimiter: ${JSON.stringify(delimiter)}`)
    expect(text).toContain('body-height: { from: Height, form: feet-and-inches }')
    expect(rejected).toEqual([])
    // 60 in and 65 in, 2.54 cm each; 150 lb of 0.45359237 kg.
    expect(records).toContain('M0 body-height 152.4 cm 2026-02-01T00:00:00.000Z')
    expect(records).toContain('M5 body-height 165.1 cm 2026-02-06T00:00:00.000Z')
    expect(records).toContain('M0 body-weight 68.0 kg 2026-02-01T00:00:00.000Z')
    expect(records).toHaveLength(48)
  })

  it('behind titles, too', async () => {
    const { text, records } = await finished(
      'titled.csv',
      `Screening report,,,,,,,,\n${heights((feet, inches) => `${feet}' ${inches}"`)}\n`,
    )
    expect(text).toContain('  quotes: lenient\n  header: { line: 2 }\n')
    expect(records).toHaveLength(48)
  })

  it('that RFC 4180 quotes need nothing', async () => {
    const { text, records } = await finished(
      'plain.csv',
      `${heights((feet, inches) => `"${feet}' ${inches}"""`)}\n`,
    )
    expect(text).not.toContain('lenient')
    expect(records).toHaveLength(48)
  })
})

describe('one column of dates', () => {
  const draft = (cells: readonly string[], name = 'Collected'): ReturnType<typeof finished> =>
    finished(
      'dated.csv',
      `Patient ID,${name},Pulse (bpm)\n${cells.map((cell, at) => `P-${at},${cell},6${at % 10}\n`).join('')}`,
    )

  it.each([
    ['dd-MMM-yy', ['04-Feb-26', '15-JAN-26', '28-Feb-26'], '2026-02-04T00:00:00.000Z'],
    ['MMM d yyyy', ['Feb 4 2026', 'Jan 15 2026', 'Feb 28 2026'], '2026-02-04T00:00:00.000Z'],
    [
      'MMM d yyyy h:mm a',
      ['Feb 4 2026 9:10 AM', 'Jan 15 2026 1:05 PM', 'Feb 28 2026 12:10 PM'],
      '2026-02-04T09:10:00.000Z',
    ],
    ['ISO', ['20260204T0910-0500', '20260115T1305-0500', '20260228T1210-0500'], '2026-02-04T14:10:00.000Z'],
    ['ISO', ['20260204T0910Z', '20260115T1305Z', '20260228T1210Z'], '2026-02-04T09:10:00.000Z'],
    ['yyyyMMdd HHmm', ['20260204 0910', '20260115 1305', '20260228 1210'], '2026-02-04T09:10:00.000Z'],
    [
      'yyyy-MM-dd HHmm',
      ['2026-02-04 0910', '2026-01-15 1305', '2026-02-28 1210'],
      '2026-02-04T09:10:00.000Z',
    ],
    [
      "dd/MM/yyyy HH'h'mm",
      ['04/02/2026 09h10', '15/01/2026 13h05', '28/02/2026 12h10'],
      '2026-02-04T09:10:00.000Z',
    ],
  ])('%s of %j', async (form, cells, first) => {
    const { text, records, rejected } = await draft(cells)
    const written = /[',:]/.test(form) ? JSON.stringify(form) : form
    expect(text).toContain(`format: ${written}`)
    expect(records[0]).toBe(`P-0 heart-rate 60 /min ${first}`)
    expect([records.length, rejected]).toEqual([3, []])
    const offset = /[Z]$|-0500$/.test(cells[0] ?? '')
    expect(text.includes('Every time has an offset')).toBe(offset)
    if (/[Hh]/.test(form)) expect(text).not.toContain('Days begin at midnight there')
  })

  it('asks about days before 1990, which would be rejected', async () => {
    const { asked, rejected } = await draft(['02/13/2026', '05/14/1985', '01/01/1900', '02/20/2026'])
    expect(asked.join('\n')).toContain('2 different dates before 1990 would be rejected')
    expect(rejected).toEqual(['row: date-too-early', 'row: date-too-early'])
  })
})

describe('a time of day beside its day', () => {
  it.each([
    ['HHmm', '0815', '08:15'],
    ['Hmm', '815', '08:15'],
    ["HH'h'mm", '08h15', '08:15'],
    ["H'h'mm", '8H15', '08:15'],
  ])('%s', async (form, cell, shown) => {
    const late = { HHmm: '1305', Hmm: '1305', "HH'h'mm": '13h05', "H'h'mm": '13H05' }[form]
    const { text, records } = await finished(
      'timed.csv',
      `Patient ID,Date,Time,Pulse (bpm)\nP-1,2026-02-13,${cell},61\nP-2,2026-02-14,${late},62\n`,
    )
    expect(text).toContain(`yyyy-MM-dd ${form}`)
    expect(records).toEqual([
      `P-1 heart-rate 61 /min 2026-02-13T${shown}:00.000Z`,
      'P-2 heart-rate 62 /min 2026-02-14T13:05:00.000Z',
    ])
  })
})

it('of birth dates with two digits of the year: the century is asked', async () => {
  const rows = ['04/13/79', '05/14/45', '06/15/02', '07/16/88'].map(
    (dob, at) => `P-${at},Ann${at},Reed${at},${dob},F,04884,02/1${at + 3}/2026,6${at}`,
  )
  const { text, asked, registered } = await finished(
    'births.csv',
    `Patient ID,First Name,Last Name,DOB,Gender,ZIP,Visit Date,Pulse (bpm)\n${rows.join('\n')}\n`,
  )
  expect(text).toContain('dateOfBirth: { from: DOB, format: MM/dd/yy, century: 1926 }')
  expect(asked.join('\n')).toContain('Is 26 1926, and 25 2025?')
  expect(registered.join('\n')).toContain('1979-04-13')
  expect(registered.join('\n')).toContain('1945-05-14')
  expect(registered.join('\n')).toContain('2002-06-15')
})
