/** Columns that say something of a whole row: drafts read them or ask, and the check tells of those that a mapping neither reads nor ignores. */
import { describe, expect, it, test } from 'vitest'
import { unreadBeside } from '../../../../src/watch/doubtful-columns.ts'
import { load } from '../../../../test/transform/mapping-under-test.ts'
import { vocabulary } from '../draft/drafting.ts'
import { finished } from './finished.ts'

const lines = (...rows: readonly string[]): string => `${rows.join('\n')}\n`
const visits = (columns: string, ...cells: readonly string[]): string =>
  lines(
    `Member ID,Visit Date,${columns},Systolic`,
    ...cells.map((cell, at) => `M-${at + 1},2026-03-0${at + 1},${cell},${118 + at}`),
  )
const results = (columns: string, ...cells: readonly string[]): string =>
  lines(
    `PatientID,CollectionDate,LOINC,${columns}`,
    ...cells.map((cell, at) => `100${at},2026-03-14 08:00,${cell}`),
  )

describe('a table of results', () => {
  test.each(['Operator', 'Comparator', 'op', 'Sign', 'Result Prefix'])(
    '%s: a column of signs stands in front of the value',
    async (heading) => {
      const { records, rejected, asked } = await finished(
        'results.csv',
        results(
          `${heading},Result,Units`,
          '2345-7,,95,mg/dL',
          '30522-7,<,0.5,mg/L',
          '30522-7,=,2.5,mg/L',
          '2276-4,>,1500,ng/mL',
        ),
      )
      expect(records.map((one) => one.split(' ').slice(1, 3).join(' '))).toEqual([
        'glucose 95',
        'c-reactive-protein-hs 2.5',
      ])
      expect(rejected).toEqual([
        'c-reactive-protein-hs-1: value-with-comparator',
        'ferritin-1: value-with-comparator',
      ])
      expect(asked.join()).toContain(`is ${heading} its sign?`)
    },
  )

  test.each([
    'Flag',
    'Comment',
    'Result Comment',
    'Abnormal Flag',
    'Specimen Quality',
    'Hemolyzed',
    'Fasting',
    'Bemerkung',
    'Reading No',
  ])('%s: asked about', async (heading) => {
    const { asked } = await finished(
      'results.csv',
      results(`Result,Units,${heading}`, '2345-7,95,mg/dL,', '2823-3,7.1,mmol/L,HEM', '2823-3,4.1,mmol/L,ok'),
    )
    expect(asked.join('\n')).toMatch(/ignore: \[.*\] # DECIDE: does one of these change/)
    expect(asked.join('\n')).toContain(heading)
  })

  it('leaves out what was entered in error, once it is said', async () => {
    const { asked } = await finished(
      'results.csv',
      results('Result,Units,entered_in_error', '2345-7,95,mg/dL,N', '2345-7,195,mg/dL,Y'),
    )
    expect(asked.join()).toContain('skipWhen: { entered_in_error: ["Y"] }')
  })
})

describe('a table of visits', () => {
  test.each([
    ['Result Status', 'Final', 'Preliminary'],
    ['State of Result', 'final', 'preliminary'],
    ['Specimen Quality', 'ok', 'hemolyzed'],
    ['Comments', '', 'not fasting'],
    ['BP Position', 'sitting', 'standing'],
  ])('%s: asked about', async (heading, one, other) => {
    const { asked } = await finished('visits.csv', visits(heading, one, other, one))
    expect(asked.join('\n')).toContain(`ignore: [${heading}] # DECIDE`)
  })

  test.each([
    ['Weight Source', 'measured', 'self-reported'],
    ['Weight Method', 'scale', 'estimated'],
    ['Weight Type', 'actual', 'stated'],
  ])('%s: how a value came to be is asked about', async (heading, one, other) => {
    const { asked } = await finished(
      'visits.csv',
      visits(`Weight (kg),${heading}`, `80,${one}`, `81,${other}`),
    )
    expect(asked.join()).toContain(`${heading}: `)
  })

  it('reads AM and PM of another column', async () => {
    const { records, rejected } = await finished(
      'visits.csv',
      visits('Visit Time,AM/PM', '10:00,AM', '02:30,PM', '12:10,AM'),
    )
    expect(rejected).toEqual([])
    expect(records.map((one) => one.split(' ').at(-1))).toEqual([
      ...['2026-03-01T10:00:00.000Z', '2026-03-02T14:30:00.000Z', '2026-03-03T00:10:00.000Z'],
    ])
  })

  it('reads AM and PM behind day and time', async () => {
    const { records } = await finished(
      'visits.csv',
      lines(
        'Member ID,Visit Date,Half,Systolic',
        'M-1,03/14/2026 2:30,pm,118',
        'M-2,03/15/2026 10:00,am,119',
      ),
    )
    expect(records.map((one) => one.split(' ').at(-1))).toEqual([
      ...['2026-03-14T14:30:00.000Z', '2026-03-15T10:00:00.000Z'],
    ])
  })

  it('reads offsets and zones of another column', async () => {
    const at = (heading: string, ...cells: readonly string[]) =>
      finished('visits.csv', visits(`Time,${heading}`, ...cells)).then(({ records }) =>
        records.map((one) => one.split(' ').at(-1)),
      )
    expect(await at('UTC Offset', '10:00,-05:00', '10:00,+02:00')).toEqual([
      ...['2026-03-01T15:00:00.000Z', '2026-03-02T08:00:00.000Z'],
    ])
    expect(await at('Site Zone', '10:00,America/New_York', '10:00,America/Denver')).toEqual([
      ...['2026-03-01T15:00:00.000Z', '2026-03-02T17:00:00.000Z'],
    ])
  })

  it('asks about short names of zones', async () => {
    const { asked } = await finished('visits.csv', visits('Time,Clinic', '10:00,EST', '10:00,MST'))
    expect(asked.join('\n')).toContain('Clinic: part of the time of a row?')
  })

  test.each([
    ['Relationship', 'Self', 'Spouse'],
    ['Covered As', 'Subscriber', 'Dependent'],
    ['Suffix', '01', '02'],
    ['Person Code', '00', '01'],
  ])('%s: several people of one id are asked about', async (heading, one, other) => {
    const { asked } = await finished('visits.csv', visits(heading, one, other))
    expect(asked.join('\n')).toContain(`${heading}: several people with one reference?`)
  })

  test.each([
    ['Measurement System', 'Metric', 'Imperial'],
    ['Site Setting', 'US', 'metric'],
  ])('%s: the units of a row are asked about', async (heading, one, other) => {
    const { asked } = await finished('visits.csv', visits(`Weight,${heading}`, `80,${one}`, `180,${other}`))
    expect(asked.join('\n')).toContain(`${heading}: the units of a row?`)
  })

  it('asks whether 5.11 is in feet with decimals, and does not where no inches can be meant', async () => {
    const heights = (...cells: readonly string[]) => finished('visits.csv', visits('Height (ft)', ...cells))
    const { asked, records } = await heights('5.11', '6', '5.6')
    expect(asked.join('\n')).toContain('feet with decimals')
    expect(records.join()).not.toContain('body-height')
    expect((await heights('5.75', '6.0', '5.5')).records.map((one) => one.split(' ')[2])).toContain('175.3')
    const answered = await finished('visits.csv', visits('Height (ft)', '5.11', '6', '5.6'), (text) => {
      const rule = /feet and inches\? (body-height: .*)$/m.exec(text)?.[1] ?? ''
      return text.replace('biometrics:\n', () => `biometrics:\n  ${rule}\n`)
    })
    expect(answered.records.filter((one) => one.includes('height')).map((one) => one.split(' ')[2])).toEqual([
      '180.3',
      '167.6',
    ])
    expect(answered.rejected).toEqual(['body-height: value-not-feet-and-inches'])
  })
})

test('of JSON, whose columns nothing can ignore, the draft asks as well', async () => {
  const rows = [1, 2].map((at) => ({
    ...{ member_id: `M-${at}`, visit_date: `2026-03-0${at}`, systolic: 118, comment: 'x' },
  }))
  const { asked, records } = await finished('visits.ndjson', lines(...rows.map((row) => JSON.stringify(row))))
  expect(records).toHaveLength(2)
  expect(asked.join('\n')).toMatch(
    /comment: does one of these change the meaning of the values of a row, or void them\?/,
  )
})

test('the check tells of a column of the row that is neither read nor ignored', () => {
  const of = (block: string, columns: readonly string[], row = ''): string[] => {
    const { definition } = load(`mapping: m
read: { format: csv }
row: { key: [id], account: { reference: id }, observedAt: { constant: "2026-02-04T09:10:00Z" }, source: { name: N, type: t }${row} }
${block}
`)
    return unreadBeside(definition, columns, vocabulary).map(({ message }) => message.split('"')[1] ?? '')
  }
  const long = 'biometrics: [{ code: { from: loinc, system: LOINC }, value: result, unit: units }]'
  const told = ['operator', 'result_flag', 'Comment', 'time_zone', 'AM/PM', 'Relationship', 'Unit System']
  expect(of(long, [...told, 'site', 'ordered_by', 'state', 'Name Prefix', 'Reason'])).toEqual(told)
  // A remark on a visit is asked about by drafts alone.
  expect(of('biometrics: { glucose: glucose }', told)).toEqual(told.filter((one) => one !== 'Comment'))
  expect(of(long, told, `, ignore: [${told.map((one) => JSON.stringify(one)).join(', ')}]`)).toEqual([])
  expect(of('conditions: { asthma: { when: { a: Y } } }', ['Comment', 'Relationship'])).toEqual([
    'Relationship',
  ])
})
