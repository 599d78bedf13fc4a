/** Drafts of files with more than one line above their rows: units with other remarks among them, and the three lines of survey tools. */
import { describe, expect, test } from 'vitest'
import { finished } from './finished.ts'

describe('a line of units, of which one cell is no unit', () => {
  const NAMES = 'Member ID,Visit Date,Systolic,Weight,Hypertension'
  const ROWS = ['M-1,2026-03-01,118,180,Y', 'M-2,2026-03-02,131,165,N', 'M-3,2026-03-03,124,210,N']

  test.each(['Y/N', 'ICD-10', 'ft/in', '0/1', '1 = yes', 'MM/DD/YYYY'])('%s', async (remark) => {
    const { text, records, rejected } = await finished(
      'units.csv',
      [NAMES, `,,mmHg,lb,${remark}`, ...ROWS, ''].join('\n'),
    )
    expect(text).toContain('header: { skip: 1 }')
    expect(text).toContain('DECIDE: the record below the header names 2 units and 1 other texts')
    expect(rejected).toEqual([])
    // 180 lb of 0.45359237 kg.
    expect(records).toContain('M-1 body-weight 81.6 kg 2026-03-01T00:00:00.000Z')
    expect(records).toContain('M-1 systolic-bp 118 mm[Hg] 2026-03-01T00:00:00.000Z')
  })

  test('one unit beside one remark, and a unit that begins with a digit', async () => {
    const lone = await finished(
      'lone.csv',
      'Member ID,Visit Date,Weight,Hypertension\n,,lb,Y/N\nM-1,2026-03-01,180,Y\nM-2,2026-03-02,165,N\n',
    )
    expect(lone.text).toContain('header: { skip: 1 }')
    expect(lone.records).toContain('M-1 body-weight 81.6 kg 2026-03-01T00:00:00.000Z')
    const cells = await finished(
      'cells.csv',
      'Member ID,Visit Date,WBC,Weight,Hypertension\n,,10*3/uL,kg,Y/N\nM-1,2026-03-01,5.1,80,Y\nM-2,2026-03-02,6.2,71,N\n',
    )
    expect(cells.text).toContain('header: { skip: 1 }')
    expect(cells.records).toContain('M-1 leukocytes 5.1 10*3/uL 2026-03-01T00:00:00.000Z')
  })

  test('as many remarks as units, a dash, and both pressures in one column', async () => {
    const { text, records, asked } = await finished(
      'many.csv',
      'ID,Date,Height,Weight,BP,Diabetes,A1c\n-,MM/DD/YYYY,ft/in,lb,mmHg,Y/N,%\n1,03/14/2026,5-10,180,120/80,N,5.1\n2,03/15/2026,6-0,200,130/84,Y,6.1\n',
    )
    expect(text).toContain('header: { skip: 1 }')
    expect(asked.join('\n')).toContain('names 3 units and')
    // 70 in of 2.54 cm, 180 lb of 0.45359237 kg.
    expect(records.slice(0, 5).map((record) => record.split(' ').slice(0, 3).join(' '))).toEqual([
      ...[
        '1 body-height 177.8',
        '1 body-weight 81.6',
        '1 systolic-bp 120',
        '1 diastolic-bp 80',
        '1 hba1c 5.1',
      ],
    ])
  })

  test.each([
    [
      'a first row that has units and no values yet',
      'Member ID,Visit Date,Glucose,Glucose Unit,Weight,Weight Unit\nM-1,,,mg/dL,,kg\nM-2,2026-03-02,95,mg/dL,71,kg\n',
    ],
    [
      'a first row of a text that comes again',
      'Member ID,Visit Date,Systolic,Weight,Site\n,,mmHg,lb,North\nM-2,2026-03-02,120,171,North\n',
    ],
    [
      'a first row of a day',
      'Member ID,Visit Date,Systolic,Weight,Site\n,2026-03-01,mmHg,lb,\nM-2,2026-03-02,120,171,North\n',
    ],
  ])('is not taken for it: %s', async (_, content) => {
    const { text } = await finished('rows.csv', content)
    expect(text).not.toContain('skip: 1')
  })
})

describe('the three header lines of a survey tool', () => {
  const quoted = (cells: readonly string[]): string =>
    cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',')
  const HEADER = ['StartDate', 'Status', 'ResponseId', 'member_id', 'Q1', 'Q2_1', 'weight_lb', 'Q4']
  const QUESTIONS = [
    ...['Start Date', 'Response Type', 'Response ID', 'member_id', 'Systolic BP', 'Diastolic BP'],
    ...['Please enter your weight', 'What was your pulse,\nat rest?'],
  ]
  const idOf = (name: string, at: number): string =>
    at === 0 ? '{"ImportId":"startDate","timeZone":"America/Denver"}' : `{"ImportId":"QID${at}_${name}"}`
  const content = [
    ...[HEADER, QUESTIONS, HEADER.map(idOf)],
    ['2026-03-01 09:10:00', 'IP Address', 'R_1', 'M-1', '118', '76', '180', '61'],
    ['2026-03-02 10:20:00', 'IP Address', 'R_2', 'M-2', '131', '84', '165', '70'],
  ]
    .map(quoted)
    .join('\n')

  test('are no rows; a question says what a numbered column is', async () => {
    const { text, asked, records, rejected } = await finished('survey.csv', `${content}\n`)
    expect(text).toContain('header: { skip: 2 }')
    expect(asked.join('\n')).toContain('gives the time zone America/Denver')
    expect(rejected).toEqual([])
    expect(records).toEqual([
      'M-1 systolic-bp 118 mm[Hg] 2026-03-01T09:10:00.000Z',
      'M-1 diastolic-bp 76 mm[Hg] 2026-03-01T09:10:00.000Z',
      'M-1 body-weight 81.6 kg 2026-03-01T09:10:00.000Z',
      'M-2 systolic-bp 131 mm[Hg] 2026-03-02T10:20:00.000Z',
      'M-2 diastolic-bp 84 mm[Hg] 2026-03-02T10:20:00.000Z',
      'M-2 body-weight 74.8 kg 2026-03-02T10:20:00.000Z',
    ])
    // The meaning of a question with unknown words is asked.
    expect(asked.join('\n')).toMatch(/DECIDE: .*pulse.* names heart-rate with unknown words/)
  })

  test('are two without import ids', async () => {
    const [header, questions, , ...rows] = content.split(/\n(?=")/)
    const { text, asked, records, rejected } = await finished(
      'survey.csv',
      [header, questions, ...rows, ''].join('\n'),
    )
    expect(text).toContain('header: { skip: 1 }')
    expect(asked.join('\n')).toContain('DECIDE: the lines below the header come from a survey tool')
    expect(rejected).toEqual([])
    expect(records.filter((record) => record.startsWith('M-1'))).toEqual([
      'M-1 systolic-bp 118 mm[Hg] 2026-03-01T09:10:00.000Z',
      'M-1 diastolic-bp 76 mm[Hg] 2026-03-01T09:10:00.000Z',
      'M-1 body-weight 81.6 kg 2026-03-01T09:10:00.000Z',
    ])
  })

  test('are questions with the kinds of their answers below', async () => {
    const { text, records, rejected } = await finished(
      'monkey.csv',
      [
        'Respondent ID,Start Date,Member ID,Systolic BP,Weight (lb),Do you smoke?',
        ',,Open-Ended Response,Open-Ended Response,Open-Ended Response,Response',
        '118001,2026-03-01,M-1,118,180,Yes',
        '118002,2026-03-02,M-2,131,165,No',
        '',
      ].join('\n'),
    )
    expect(text).toContain('header: { skip: 1 }')
    expect(rejected).toEqual([])
    expect(records).toContain('M-1 body-weight 81.6 kg 2026-03-01T00:00:00.000Z')
    expect(records).toHaveLength(4)
  })

  test.each([
    [
      'a row of refusals',
      'Member ID,Visit Date,Systolic,Weight\nM-1,2026-03-01,refused,not done\nM-2,2026-03-02,120,71\n',
    ],
    [
      'a row without a date, of somebody by name',
      'Last,First,Member ID,Systolic,Weight\nLane,Ann,M-1,not done,not done\nReed,Ben,M-2,120,80\n',
    ],
    [
      'words over one column of numbers',
      'Site,Lane,Systolic\nnorth side,left,refused\nsouth side,right,120\n',
    ],
  ])('are no %s', async (_, rows) => {
    const { text } = await finished('rows.csv', rows)
    expect(text).not.toContain('skip: 1')
  })
})
