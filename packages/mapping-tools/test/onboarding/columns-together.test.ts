/** Drafts judge columns of one value together: glucose and who had fasted, first and second readings, a sign behind its value. */
import { describe, expect, test } from 'vitest'
import { draftedMapping, notes, rules } from '../draft/drafting.ts'
import { finished } from './finished.ts'

const table = (header: string, ...cells: readonly string[]): string =>
  [
    `Member ID,Visit Date,${header}`,
    ...cells.map((cell, at) => `M-${at + 1},2026-03-0${at + 1},${cell}`),
    '',
  ].join('\n')

describe('glucose and a column of fasting', () => {
  test.each([
    ['Fasting Status', 'Fasting', 'Non-Fasting', 'Unknown'],
    ['fasting', 'Y', 'N', 'not asked'],
    ['Fasted', 'Yes', 'random', 'U'],
    ['glucose_fasting', 'Y', 'N', 'U'],
    ['Nüchtern', 'nüchtern', 'nicht nüchtern', 'unklar'],
  ])('%s: %s, %s and %s', async (header, yes, no, other) => {
    const { asked, records } = await finished(
      'fasting.csv',
      table(`Glucose,${header}`, `90,${yes}`, `131,${no}`, `95,${other}`, '96,'),
    )
    expect(records.map((record) => record.split(' ').slice(0, 3).join(' '))).toEqual([
      'M-1 glucose-fasting 90',
      'M-2 glucose 131',
      'M-4 glucose 96',
    ])
    expect(asked.join('\n')).toContain('fasting, or not? Their rows have no glucose')
  })

  test.each([
    ['F and NF', ['90,F', '131,NF'], '["…"]'],
    ['codes', ['90,1', '131,2'], '["…"]'],
    ['hours', ['90,12', '131,2'], '{ ">=": 8 }'],
  ])('texts of which none is known to say so: %s', (_, cells, when) => {
    const drafted = draftedMapping(table('Glucose,Fasting', ...cells))
    expect(rules(drafted)).toEqual(['glucose: { from: Glucose }'])
    expect(notes(drafted).join('\n')).toMatch(/DECIDE: which texts of Fasting mean fasting/)
    expect(notes(drafted).join('\n')).toContain(
      `glucose-fasting: { from: Glucose, when: { Fasting: ${when} } }`,
    )
  })

  test('a longer text is counted, and not shown', () => {
    const { text } = draftedMapping(table('Glucose,Fasting', '90,Y', '95,ate an apple', '131,N'))
    expect(text).toContain('DECIDE: 1 longer text')
    expect(text).not.toContain('apple')
  })
})

describe('first and second readings', () => {
  test('of both pressures in one column', () => {
    const drafted = draftedMapping(table('BP 1,BP 2', '118/76,120/78', '131/84,128/82'))
    expect(rules(drafted)).toEqual([
      'systolic-bp: { from: BP 1, split: { by: /, take: 1 } }',
      'diastolic-bp: { from: BP 1, split: { by: /, take: 2 } }',
    ])
    expect(notes(drafted)).toContain(
      'DECIDE: one more reading of both pressures: systolic-bp-2: { from: BP 2, split: { by: /, take: 1 }, catalog: systolic-bp }; diastolic-bp-2: { from: BP 2, split: { by: /, take: 2 }, catalog: diastolic-bp }',
    )
  })

  test.each(['SBP 1,SBP 2', '1st SBP,2nd SBP', 'First Systolic,Second Systolic', 'sbp_first,sbp_second'])(
    '%s: the second is asked, with the mean',
    (header) => {
      const [first = '', second = ''] = header.split(',')
      const drafted = draftedMapping(table(header, '118,120', '131,128'))
      expect(rules(drafted).map((rule) => rule.replaceAll('"', ''))).toEqual([`systolic-bp: ${first}`])
      expect(notes(drafted).join('\n')).toContain(`$number(\`${first}\`), $number(\`${second}\`)`)
    },
  )

  test('the proposed mean is one, also of a single reading', async () => {
    const { records, rejected } = await finished(
      'readings.csv',
      table('SBP 1,SBP 2', '118,121', '131,', '124,126'),
      (text) => {
        const mean = /instead of the first: systolic-bp: (\{.*\})$/m.exec(text)?.[1] ?? ''
        return text.replace(/^ {2}systolic-bp: .*$/m, () => `  systolic-bp: ${mean}`)
      },
    )
    expect(rejected).toEqual([])
    expect(records.map((record) => record.split(' ')[2])).toEqual(['119.5', '131', '125'])
  })

  test('of three, each has a name of its own', () => {
    const told = notes(draftedMapping(table('sbp1,sbp2,sbp3', '118,120,121', '131,128,127'))).join('\n')
    expect(told).toContain('systolic-bp-2: { from: sbp2')
    expect(told).toContain('systolic-bp-3: { from: sbp3')
  })

  test('a later one alone is no first', () => {
    const drafted = draftedMapping(table('2nd SBP', '118', '131'))
    expect(rules(drafted)).toEqual([])
    expect(notes(drafted).join('\n')).toContain('is a later reading, and there is no first')
  })
})

test('a column of signs that has no name of a value belongs to the one before it', async () => {
  const { records, rejected, asked } = await finished(
    'signs.csv',
    table('PSA,Sign,Ferritin,Sign', '0.1,<,90,=', '1.2,=,95,='),
  )
  expect(records.map((record) => record.split(' ').slice(0, 3).join(' '))).toEqual([
    'M-1 ferritin 90',
    'M-2 psa 1.2',
    'M-2 ferritin 95',
  ])
  expect(rejected).toEqual(['psa: value-with-comparator'])
  expect(asked.join('\n')).toContain('DECIDE: is Sign its sign?')
})
