import { writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openExport } from '../../../../src/extract/open-export.ts'
import { corpusPath } from '../../../../test/corpus/corpus-file.ts'
import { NEEDS_CORPUS } from '../../../../test/needed.ts'
import { temporaryFolder } from '../../../../test/temporary-folder.ts'
import { load } from '../../../../test/transform/mapping-under-test.ts'
import { draftCases } from '../../src/draft/draft-cases.ts'
import { draftSample } from '../../src/draft/draft-sample.ts'
import { readSample } from '../../src/draft/read-sample.ts'
import { draftText } from '../../src/draft/write-draft.ts'
import { parseCases, runCases, textReader } from '../../src/run-cases.ts'
import { draftedJson, vocabulary } from './drafting.ts'

const NOW = Date.parse('2026-11-01T00:00:00Z')

/** A path in a folder that is gone after the test. */
async function file(name: string): Promise<string> {
  const folder = await temporaryFolder()
  return join(folder, name)
}

/** Drafts from a sample; the draft is well-formed, fits the sample, and its cases can be run. Values of the first block of rows. */
async function drafted(path: string) {
  const sample = draftSample('tried', basename(path), await readSample(path, vocabulary), vocabulary)
  const text = draftText(sample.draft, 's.json')
  const mapping = load(text)
  const opened = await openExport(path, mapping.read)
  const map = mapping.compiled.bind(opened.columns, basename(path), NOW)
  const records: string[] = []
  for await (const block of opened.rows()) {
    const outcomes = block.map(map)
    for (const one of outcomes)
      if (one.outcome === 'mapped') records.push(...one.records.map(({ rule }) => rule))
    break
  }
  const cases = draftCases(sample, mapping, 's.json')
  const results = await runCases(mapping.compiled, parseCases(cases, 'cases').value, textReader(mapping.read))
  expect(results.length).toBeGreaterThan(0)
  expect(results.flatMap(({ found }) => found).some(({ records: made }) => made !== undefined)).toBe(true)
  return { text, records, cases, written: mapping.definition.biometrics, found: sample.draft.found }
}

test.each([
  [
    'semicolons, decimal commas, windows-1252',
    'id;gewicht;weight_kg\n1;gr\u00f6\u00dfer;80,5\n2;x;71,25\n',
    'latin1',
    ['encoding: windows-1252', 'delimiter: ";"', 'number: { decimal: "," }', 'weight_kg'],
  ],
  [
    'a preamble',
    'Report of\n\nid,sbp,dbp\n1,118,76\n2,120,80\n',
    'utf8',
    ['header: { line: 3 }', 'systolic-bp: sbp'],
  ],
  ['tabs in UTF-16', '\ufeffid\tsbp\n1\t118\n2\t120\n', 'utf16le', ['delimiter: "\\t"', 'systolic-bp: sbp']],
  ['names that stand twice', 'id,sbp,sbp\n1,118,119\n', 'utf8', ['duplicates: number', 'systolic-bp: sbp']],
] as const)('the dialect: %s', async (_, text, encoding, lines) => {
  const sample = await file('sample.csv')
  await writeFile(sample, Buffer.from(text, encoding))
  const draft = await drafted(sample)
  for (const line of lines) expect(draft.text).toContain(line)
  expect(draft.records.length).toBeGreaterThan(0)
})

/** Rows of people in pounds, all of whom would be plausible in kilograms, too. */
const POUNDS = [
  'E1,2026-03-01,120,150',
  'E2,2026-03-01,130,180',
  'E3,2026-03-02,118,140',
  'E4,2026-03-02,140,210',
]
const NAMES = 'Employee ID,Screening Date,Systolic,Weight'

describe('what stands above and below the rows', () => {
  const draftOf = async (lines: readonly string[]) => {
    const path = await file('edges.csv')
    await writeFile(path, `${lines.join('\n')}\n`)
    return drafted(path)
  }

  test('titles, a line of units and a total that counts the rows', async () => {
    const { text, records } = await draftOf([
      ...['Acme Wellness', 'Made 2026-03-03', NAMES, ',,mmHg,lb'],
      ...POUNDS,
      'Total,,4,',
    ])
    expect(text).toContain('header: { line: 3, skip: 1 }')
    expect(text).toContain(String.raw`trailer: { match: "^\"?Total", count: { cell: 3 } }`)
    expect(text).toContain('DECIDE: the file ends with probable totals ("Total")')
    expect(text).toMatch(/body-weight: \{ from: Weight, unit: "?\[?lb/)
    expect(records).toHaveLength(8)
  })

  test('titles that a spreadsheet has padded, units in brackets, totals of other words and widths', async () => {
    const { text, records } = await draftOf([
      ...['Acme Wellness,,,', ',,,', NAMES, ',,(mmHg),[kg]'],
      ...POUNDS,
      'Records: 4',
      'End of report',
    ])
    expect(text).toContain('header: { line: 3, skip: 1 }')
    expect(text).toContain(String.raw`trailer: { match: "^\"?(?:Records|End)", count: { cell: 1 } }`)
    expect(text).toContain('body-weight: Weight')
    expect(records).toHaveLength(8)
  })

  test.each([
    ['a first row of words', [NAMES, 'E0,,,', ...POUNDS]],
    ['a line of units that are none', [NAMES, 'id,date,mmHg,stone age', ...POUNDS]],
    [
      'a person who is called so',
      [NAMES, ...POUNDS, 'Total-7,2026-03-02,118,140', 'Total,2026-03-02,118,140'],
    ],
    [
      'one whose account begins so, among the rows',
      [NAMES, 'Total-7,2026-03-02,118,140', ...POUNDS, 'Total,,5,'],
    ],
  ] as const)('is not taken for it: %s', async (name, lines) => {
    const path = await file('edges.csv')
    await writeFile(path, `${lines.join('\n')}\n`)
    const sample = await readSample(path, vocabulary)
    const text = draftText(draftSample('tried', 'edges.csv', sample, vocabulary).draft, 's.json')
    expect(text).not.toMatch(/skip: 1/)
    if (name !== 'a person who is called so') expect(text).not.toContain('trailer')
    else expect(text).toContain('DECIDE: the file ends with probable totals')
  })
})

test('windows-1252, semicolons and lines above the header are found, also where these lines have no semicolon', async () => {
  for (const above of ['Export der Praxis Müller;\r\n', 'Export\r\n', '']) {
    const path = await file('praxis.csv')
    const rows = [1, 2, 3, 4].map((n) => `P-${n};Jörg ${n};12${n}`)
    await writeFile(path, Buffer.from(`${above}id;name ä;sbp\r\n${rows.join('\r\n')}\r\n`, 'latin1'))
    const { draft } = draftSample('tried', basename(path), await readSample(path, vocabulary), vocabulary)
    const text = draftText(draft, 's.json')
    expect(text).toContain('encoding: windows-1252\n')
    expect(text).toContain('delimiter: ";"\n')
    expect(text.includes('header: { line: 2 }')).toBe(above !== '')
  }
})

test.each([
  [
    'one bad byte among UTF-8',
    Buffer.from('id;name;sbp\n1;M\u00fcller;118\n2;K\u00f6hler;120\n3;J\u00fcrgen;121\n'),
    0xff,
    'row-encoding-invalid',
  ],
  [
    'UTF-8 by its mark, with a NUL',
    Buffer.from('\ufeffid;name;sbp\n1;M\u00fcller;118\n2;Kohler;120\n3;Jurgen;121\n'),
    0,
    'row-encoding-invalid',
  ],
] as const)('%s stays UTF-8, and is asked about', async (_, bytes, bad, fault) => {
  const path = await file('utf8.csv')
  bytes[bytes.lastIndexOf('gen')] = bad
  await writeFile(path, bytes)
  const { draft } = draftSample('tried', basename(path), await readSample(path, vocabulary), vocabulary)
  const text = draftText(draft, 's.json')
  expect(text).not.toContain('encoding:')
  expect(text).toContain(`DECIDE: 1 of 3 rows cannot be read (${fault}), first on line 4`)
})

test('an encoding of one byte a character is asked about, with its letters', async () => {
  const path = await file('cp1250.csv')
  // Windows-1250: B3 is the l with stroke, 9C the s with acute.
  await writeFile(
    path,
    Buffer.concat([
      Buffer.from('id;name;sbp\n1;Pawe'),
      Buffer.of(0xb3, 0x9c),
      Buffer.from(';118\n2;x;120\n'),
    ]),
  )
  const { draft } = draftSample('tried', basename(path), await readSample(path, vocabulary), vocabulary)
  const text = draftText(draft, 's.json')
  expect(text).toContain(
    'DECIDE: the file is not UTF-8. Read as windows-1252, its letters beyond ASCII are: \u00b3 \u0153.',
  )
  const opened = await openExport(path, load(text.replace('windows-1252\n', 'cp1250\n')).read)
  const names: string[] = []
  for await (const block of opened.rows())
    for (const row of block) if (row.kind === 'cells') names.push(row.cells[1] ?? '')
  expect(names).toEqual(['Pawe\u0142\u015b', 'x'])
})

describe('the corpus', NEEDS_CORPUS, () => {
  test('NHANES: what its columns measure, and nothing else', async () => {
    const { written, records } = await drafted(corpusPath('population/nhanes-bioconnector/nhanes.csv'))
    // Every column that is a measurement of the catalog, by the data dictionary; cholesterol is in mmol/L.
    expect(written).toEqual({
      'body-weight': 'Weight',
      'body-height': 'Height',
      bmi: 'BMI',
      'heart-rate': 'Pulse',
      'systolic-bp': 'BPSys',
      'diastolic-bp': 'BPDia',
      testosterone: 'Testosterone',
      'hdl-cholesterol': { from: 'HDLChol', unit: 'mmol/L' },
      'total-cholesterol': { from: 'TotChol', unit: 'mmol/L' },
    })
    expect(records.length).toBeGreaterThan(200)
  })

  test('Synthea: coded observations and conditions', async () => {
    const observations = await drafted(corpusPath('synthea/csv-ohdsi-28pat/observations.csv'))
    expect(observations.written).toEqual([
      { code: { from: 'CODE', system: 'LOINC', unknown: 'skip' }, value: 'VALUE', unit: 'UNITS' },
    ])
    expect(observations.found.length).toBeGreaterThan(40)
    const conditions = await drafted(corpusPath('synthea/csv-ohdsi-28pat/conditions.csv'))
    expect(conditions.text).toContain('system: SNOMED')
    const fhir = await drafted(corpusPath('synthea/ndjson-split-smart-r4/Observation.ndjson'))
    expect(fhir.found).toEqual(
      expect.arrayContaining(['systolic-bp', 'diastolic-bp', 'body-height', 'hba1c']),
    )
  })

  test.each(['mirth-jsonxmlutil', 'hl7-standard', 'redox-hl7-v2', 'hl7-amida', 'simple-hl7'])(
    'one message as %s writes it: five lipids, whose names hold a word that nobody knows',
    async (shape) => {
      const { draft } = draftSample(
        'tried',
        'oru.json',
        await readSample(corpusPath('json-shapes', shape, 'oru.json'), vocabulary),
        vocabulary,
      )
      expect(draft.found).toEqual([])
      const [, asked = ''] =
        /DECIDE: which of these belong in the table\?[^:]*: (.*)\.$/m.exec(draftText(draft, 's.json')) ?? []
      expect(asked.split(', ')).toEqual([
        '"JHDL": hdl-cholesterol',
        '"JTRIG": triglycerides',
        '"JVLDL": vldl-cholesterol',
        '"JLDL": ldl-cholesterol',
        '"JCHO": total-cholesterol',
      ])
    },
  )
})

test.each([
  ['one patient', 'json', 1, true],
  ['two patients', 'json', 2, false],
  ['none', 'json', 0, false],
  ['one patient a line', 'ndjson', 1, true],
] as const)('Bundles of %s: whether they are read whole', async (_, format, patients, whole) => {
  const path = await file(`bundle.${format}`)
  const resources = [
    ...Array.from({ length: patients }, (_, at) => ({ resourceType: 'Patient', id: `p${at}` })),
    ...['o1', 'o2'].map((id) => ({
      ...{ resourceType: 'Observation', id, subject: { reference: 'Patient/p0' }, status: 'final' },
      code: { coding: [{ system: 'http://loinc.org', code: '4548-4' }] },
      ...{ effectiveDateTime: '2026-02-05', valueQuantity: { value: 5.1, code: '%' } },
    })),
  ]
  const entry = resources.map((resource) => ({ resource }))
  const bundle = JSON.stringify({ resourceType: 'Bundle', type: 'collection', entry })
  await writeFile(path, format === 'json' ? bundle : `${bundle}\n${bundle}\n`)
  const sample = await readSample(path, vocabulary)
  const text = draftText(draftSample('tried', basename(path), sample, vocabulary).draft, 's.json')
  expect(text.includes('FHIR Bundles of one patient each, read as mappings/fhir-bundle.yaml does')).toBe(
    whole,
  )
  expect(text.includes('\ncareTeams:\n')).toBe(whole)
})

const OBSERVED = { resourceType: 'Observation', status: 'final', code: { text: 'A1c' }, valueString: '5.1' }
const HELD = { resource: OBSERVED }

test.each([
  ['the resources of a Bundle', { resourceType: 'Bundle', entry: [HELD, HELD] }, '$.entry[*].resource'],
  ['a list of the same name elsewhere', { entry: [HELD, HELD] }, '$.entry[*]'],
  [
    'a longer list of a Bundle',
    { resourceType: 'Bundle', entry: [HELD], results: [OBSERVED, OBSERVED] },
    '$.results[*]',
  ],
])('rows of %s', (_, document, path) => {
  expect(/records: "?(\$[^", }]*)/.exec(draftedJson('json', document).text)?.[1]).toBe(path)
})

test('a Bundle without resources is none of a patient', () => {
  const { text } = draftedJson('json', { resourceType: 'Bundle', entry: [{ request: { method: 'GET' } }] })
  expect(text).not.toContain('FHIR Bundles')
})
