/** Drafts beside mappings that were finished before: what they say of the same headings is proposed, and asked. */
import { describe, expect, test } from 'vitest'
import { load } from '../../../../test/transform/mapping-under-test.ts'
import { decidedCodes, type EarlierMapping, withDecided } from '../../src/draft/decided-before.ts'
import { draftSample } from '../../src/draft/draft-sample.ts'
import { draftText } from '../../src/draft/write-draft.ts'
import { vocabulary } from './drafting.ts'

const earlier = (file: string, text: string, tables?: Record<string, string>): EarlierMapping => {
  const { compiled, resources } = load(text, tables)
  return { file, text, reads: compiled.reads, tables: resources.tables }
}

/** The draft's text, which is a mapping. */
function drafted(csv: string, ...mappings: readonly EarlierMapping[]): string {
  const [header = '', ...lines] = csv.trim().split('\n')
  const table = {
    ...{ read: { format: 'csv' }, notes: [] },
    columns: header.split(',').map((name) => ({ path: name, name })),
    rows: lines.map((line) => line.split(',')),
  }
  const known = { ...vocabulary, decided: decidedCodes(mappings) }
  const sample = draftSample('tried', 'tried.csv', { kind: 'table', table }, known)
  const text = draftText(withDecided(sample, mappings).draft, 's.json')
  load(text)
  return text
}

const WIDE = `
mapping: acme
read: { format: csv }
row:
  key: [Badge, Seen]
  account:
    reference: Badge
    register:
      firstName: Given
      lastName: Surname
      dateOfBirth: { from: Born, format: dd/MM/yyyy }
      gender: { from: Sex, table: { A: FEMALE, B: MALE } }
      postalCode: Zip
  observedAt: { from: Seen, format: dd/MM/yyyy, zone: America/Denver }
  source: { name: Acme, type: screening }
  skipWhen: { Visit: [Cancelled] }
biometrics:
  body-weight: { from: Wt, unit: lb }
  systolic-bp: Pressure 1
  hba1c: HbA1c
conditions:
  asthma: { when: { Q7: [ja] }, status: active }
`
const ROWS = `
Badge,Seen,Given,Surname,Born,Sex,Zip,Visit,Wt,Pressure 1,HbA1c,Q7
B-1,03/04/2026,Ann,Reed,03/04/1980,A,01001,done,122,118,5.1,ja
B-1,04/04/2026,Ann,Reed,03/04/1980,A,01001,Cancelled,124,131,5.2,nein
B-2,05/04/2026,Ben,Reed,05/06/1981,B,01002,done,125,124,5.4,nein
`
const SAYS = 'DECIDE: acme.yaml has this line for the same headings. Is it right here?'

describe('a wide mapping of the same headings', () => {
  const text = drafted(ROWS, earlier('acme.yaml', WIDE))

  test.each([
    ['the key', '  key: [ Badge, Seen ]'],
    ['the person', '    reference: Badge'],
    [
      'the day, its form and the zone',
      '  observedAt: { from: Seen, format: dd/MM/yyyy, zone: America/Denver }',
    ],
    ['rows to leave out', '  skipWhen: { Visit: [ Cancelled ] }'],
    ['a unit of which values do not tell', '  body-weight: { from: Wt, unit: lb }'],
    ['a measurement by a heading that nobody knows', '  systolic-bp: Pressure 1'],
    ['a condition', '  asthma: { when: { Q7: [ ja ] }, status: active }'],
  ])('%s', (_, line) => {
    expect(text).toContain(`${line} # ${SAYS}\n`)
  })

  test('registration, of which the draft alone knows a part', () => {
    expect(text).toContain(
      [
        `    register: # ${SAYS}`,
        ...['      firstName: Given', '      lastName: Surname'],
        '      dateOfBirth: { from: Born, format: dd/MM/yyyy }',
        ...['      gender: { from: Sex, table: { A: FEMALE, B: MALE } }', '      postalCode: Zip\n'],
      ].join('\n'),
    )
    expect(text).not.toContain('would be needed')
  })

  test('the sexes, where the draft knows all but these', () => {
    const known = drafted(
      ROWS.replace('Born', 'DOB'),
      earlier(
        'acme.yaml',
        WIDE.replace('Born', 'DOB').replace('dd/MM/yyyy }\n      gender', 'MM/dd/yyyy }\n      gender'),
      ),
    )
    expect(known).toContain(`  register: # ${SAYS}`)
    expect(known).toContain('gender: { from: Sex, table: { A: FEMALE, B: MALE } }\n')
    expect(known).toContain('dateOfBirth: { from: DOB, format: MM/dd/yyyy }\n')
  })

  test('what the sample tells for certain is not asked again', () => {
    expect(text).toMatch(/^ {2}hba1c: HbA1c$/m)
  })

  test('what was in the place of an answer is gone', () => {
    expect(text).not.toContain('kg or lb')
    expect(text).not.toContain(
      'month first or day first? The sample has no number above 12; ask the vendor\n  observedAt',
    )
    expect(text.match(/^ {2}observedAt:/gm)).toHaveLength(1)
    expect(text).not.toContain('Not mapped')
  })

  test('without such a mapping it is asked as ever', () => {
    const alone = drafted(ROWS)
    expect(alone).toContain('kg or lb')
    expect(alone).not.toContain('acme.yaml')
  })
})

describe('what an earlier mapping says is not taken', () => {
  test('where the dates of the sample are of other forms', () => {
    const text = drafted(ROWS.replaceAll(/(\d\d)\/(\d\d)\/2026/g, '2026-$2-$1'), earlier('acme.yaml', WIDE))
    expect(text).not.toContain('America/Denver')
    expect(text).toContain('1900-01-01')
  })

  test('where it reads a column that is not there', () => {
    const text = drafted(ROWS.replace('Wt,', 'Gewicht,'), earlier('acme.yaml', WIDE))
    expect(text).not.toContain('unit: lb')
  })

  test('where it shares one heading alone', () => {
    expect(drafted('id,Wt,sbp\n1,122,118\n2,124,120', earlier('acme.yaml', WIDE))).not.toContain('acme.yaml')
  })

  test('where the sample is certain of something else; it is asked when nothing reads the column', () => {
    const text = drafted(
      ROWS.replace('Pressure 1', 'Pressure 1,Systolic').replaceAll(/(?<=,)(1[123]\d)(?=,5)/g, '$1,$1'),
      earlier('acme.yaml', WIDE),
    )
    expect(text).toMatch(/^ {2}systolic-bp: Systolic$/m)
    expect(text).toContain(`# ${SAYS} systolic-bp: Pressure 1`)
  })
})

test('rows to leave out that nothing of the sample tells of are those of the mapping with the most headings alone', () => {
  const nearest = WIDE.replace('mapping: acme', 'mapping: near').replace(/ {2}skipWhen: .*\n/, '')
  const other = WIDE.replace('{ Visit: [Cancelled] }', '{ Visit: [X] }').replace(/ {2}hba1c: HbA1c\n/, '')
  const rows = ROWS.replace('Cancelled', 'done')
  expect(drafted(rows, earlier('near.yaml', nearest), earlier('other.yaml', other))).not.toContain('skipWhen')
  expect(drafted(rows, earlier('other.yaml', other))).toContain(
    'skipWhen: { Visit: [ X ] } # DECIDE: other.yaml',
  )
})

test('of two mappings, the one with more of the headings is asked first', () => {
  const other = WIDE.replace('mapping: acme', 'mapping: other')
    .replace('unit: lb', 'unit: kg')
    .replace(/ {2}hba1c: HbA1c\nconditions:\n.*\n/, '')
  const text = drafted(ROWS, earlier('other.yaml', other), earlier('acme.yaml', WIDE))
  expect(text).toContain(`body-weight: { from: Wt, unit: lb } # ${SAYS}`)
})

describe('a mapping of codes of the same column', () => {
  const LONG = `
mapping: lab
read: { format: csv }
row:
  key: [mrn, day, test]
  account: { reference: mrn }
  observedAt: { from: day, format: yyyy-MM-dd, zone: America/Denver }
  source: { name: Lab, type: laboratory }
biometrics:
  - code: { from: test, unknown: skip, table: TABLE }
    value: value
    unit: { from: test, table: { K77: lb, HDL: mg/dL } }
`
  const rows = 'mrn,day,test,value\nM-1,2026-02-04,HDL,50\nM-1,2026-02-04,K77,122\nM-2,2026-02-05,K77,124'

  test.each([
    ['inline', '{ HDL: hdl-cholesterol, K77: body-weight }', {}],
    ['of a file', 'own-codes', { 'own-codes': 'code,key\nHDL,hdl-cholesterol\nK77,body-weight\n' }],
  ] as const)('%s', (_, table, tables) => {
    const text = drafted(rows, earlier('lab.yaml', LONG.replace('TABLE', table), tables))
    expect(text).toContain('table: { "HDL": hdl-cholesterol, "K77": body-weight }')
    expect(text).toContain('DECIDE: "K77": as lab.yaml does. Is it right here?')
    expect(text).toContain('"K77": lb # DECIDE: lab.yaml has this unit. Is it right here?')
    expect(text).toContain('zone: America/Denver')
  })
})

describe('a question is answered by its key and its columns', () => {
  test('two readings of the pressures in one column, in several forms', () => {
    const both = WIDE.replace(
      '  systolic-bp: Pressure 1\n',
      '  systolic-bp: { from: BP, split: { by: /, take: 1 } }\n  diastolic-bp: { from: BP, split: { by: /, take: 2 } }\n',
    )
    const rows = ROWS.replace('Pressure 1', 'BP')
      .replace('122,118', '122,120/80')
      .replace('124,131', '124,13x8')
      .replace('125,124', '125,118/79')
    expect(drafted(rows)).toContain('holds both pressures in several forms')
    const text = drafted(rows, earlier('acme.yaml', both))
    expect(text).not.toContain('several forms')
    expect(text).toContain(`  systolic-bp: { from: BP, split: { by: /, take: 1 } } # ${SAYS}`)
    expect(text).toContain(`  diastolic-bp: { from: BP, split: { by: /, take: 2 } } # ${SAYS}`)
  })

  test('a key that rows share, though the person is certain', () => {
    const known = (text: string): string => text.replaceAll('Badge', 'Employee ID')
    const rows = known(ROWS).replaceAll(/0[345]\/04\/2026/g, '03/04/2026')
    expect(drafted(rows)).toContain('share their key')
    const text = drafted(rows, earlier('acme.yaml', known(WIDE)))
    expect(text).not.toContain('share their key')
    expect(text).toContain(`  key: [ Employee ID, Seen ] # ${SAYS}`)
    expect(text).toMatch(/^ {4}reference: Employee ID$/m)
  })

  test('nobody who could be registered', () => {
    const mapping = WIDE.replaceAll(/Given|Surname|Born|Sex|Zip/g, (column) => `${column}x`)
    const rows = ROWS.replace('Given,Surname,Born,Sex,Zip', 'Givenx,Surnamex,Bornx,Sexx,Zipx')
    const text = drafted(rows, earlier('acme.yaml', mapping))
    expect(text).toContain(`    register: # ${SAYS}`)
    expect(text).not.toContain('This export has no names')
  })
})
