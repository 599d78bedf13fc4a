/**
 * Whole drafts of samples of all shapes, in a golden file: the tests beside this one say what a draft must have, the file shows all that it has,
 * and so whatever a change of the finders changes.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../../../test/temporary-folder.ts'
import { load } from '../../../../test/transform/mapping-under-test.ts'
import { draftCases } from '../../src/draft/draft-cases.ts'
import { draftSample } from '../../src/draft/draft-sample.ts'
import { readSample } from '../../src/draft/read-sample.ts'
import { draftText } from '../../src/draft/write-draft.ts'
import { inventBundles } from '../onboarding/bundles.ts'
import { inventFlatFiles } from '../onboarding/flat-files.ts'
import { inventHl7 } from '../onboarding/hl7-json.ts'
import { inventVendors } from '../onboarding/vendors.ts'
import { vocabulary } from './drafting.ts'

/** Lines of a sample: enough to decide by shares, and few enough to read. */
const LINES = 60
const SEED = 20_261_128

const vendors = (count: number) =>
  inventVendors(count, SEED).map(({ name, csv }): [file: string, content: string] => [
    `${name}.csv`,
    csv.split('\n').slice(0, LINES).join('\n'),
  ])

/** Small samples of what is rare: one line each for the header and the rows. */
const RARE: Readonly<Record<string, readonly string[]>> = {
  'marks.csv': [
    'id;day;weight_kg;hdl',
    '1;02.03.2026;80,5;50.5',
    '2;03.03.2026;71,25;61.5',
    '3;25.03.2026;n/a;44.5',
  ],
  'yes-no.csv': [
    'id,date,Diabetes,Asthma,Smoker,fasting,glucose',
    '1,2026-03-02,Y,N,maybe,Y,90',
    '2,2026-03-02,N,N,no,N,140',
    '3,2026-03-03,N,Y,yes,,99',
  ],
  'readings.csv': [
    'person,seen,sbp 1,sbp 2,sbp 3,dbp 1,dbp 2,bp',
    '1,2026-03-02,118,119,120,76,77,120/80',
    '2,2026-03-03,131,130,129,80,81,131/82',
  ],
  'feet.csv': [
    'Emp ID,Screening Date,Height,Weight,Unit',
    `1,03/25/2026,5'10",170,lb`,
    `2,03/26/2026,6'1",80,kg`,
    `3,03/27/2026,5'2",,`,
  ],
  'long.csv': [
    'pid,collected,code,test,value,unit,range,flag,status,comment',
    ...[
      '1,2026-03-02,4548-4,HbA1c,5.1,%,4-6,N,F,',
      '1,2026-03-02,2093-3,Chol,190,mg/dL,<200,,F,x',
      '2,2026-03-02,X1,Odd,neg,,,,P,',
    ],
    ...[
      '2,2026-03-03,4548-4,HbA1c,<4,%,4-6,L,F,',
      '3,2026-03-03,X2,Other,3,,,,F,',
      '3,2026-03-03,2085-9,HDL,50,mg/dL,,,C,',
    ],
  ],
  'own-codes.csv': [
    'pid,drawn,analyte,result',
    '1,2026-03-02,HDL,50',
    '1,2026-03-02,GLU,90',
    '2,2026-03-02,WBC,6.1',
    '2,2026-03-03,HDL,61',
    '3,2026-03-04,GLU,101',
  ],
  'diagnoses.csv': [
    'mrn,noted,icd10,description',
    '1,2026-03-02,E11.9,Type 2 diabetes',
    '2,2026-03-02,I10,Hypertension',
    '3,2026-03-04,Z99,Other',
  ],
  'roster.csv': [
    'member id,first name,last name,dob,sex,zip,npi,provider',
    '1,Ann,Reed,1980-02-03,F,04884,1234567893,Dr. A',
    '2,Ben,Reed,1981-02-03,M,04885,1245319599,Dr. B',
  ],
  'nobody.csv': ['a,b,,a', '1,2,3,4', '5,6,7,8'],
  'states.csv': [
    'pid,drawn,code,value,unit,state',
    '1,2026-03-02,4548-4,5.1,%,final',
    '2,2026-03-03,4548-4,5.5,%,final',
  ],
  'header.csv': ['id,date,hdl'],
  'epoch.csv': ['id,timestamp,pulse', '1,1772436600000,61', '2,1772523000000,62'],
}

const documents = (...all: readonly object[]): string => all.map((one) => `${JSON.stringify(one)}\n`).join('')
const RARE_JSON: Readonly<Record<string, string>> = {
  'counted.ndjson': documents(
    {
      id: 'a',
      day: '2026-03-02',
      obs: [
        { nr: 1, loinc: '4548-4', value: 5.1, unit: '%' },
        { nr: 2, loinc: '2093-3', value: 190, unit: 'mg/dL' },
      ],
    },
    { id: 'b', day: '2026-03-03', obs: [{ nr: 1, loinc: '4548-4', value: 5.5, unit: '%' }] },
  ),
  'two-lists.ndjson': documents(
    {
      id: 'a',
      at: '2026-03-02T07:15:00Z',
      vitals: [{ name: 'pulse', value: 61 }],
      labs: [{ code: 'HDL', result: '50', units: 'mg/dL', ref: { low: 40 } }],
    },
    {
      id: 'b',
      at: '2026-03-03T07:15:00Z',
      vitals: [],
      labs: [{ code: 'HDL', result: '61', units: 'mg/dL', ref: { low: 40 } }],
    },
  ),
  'single.ndjson': documents({
    id: 'a',
    day: '2026-03-02',
    obs: [{ nr: 7, loinc: '4548-4', value: 5.1, unit: '%' }],
  }),
  'flat.json': JSON.stringify({
    export: {
      rows: [
        { id: 1, date: '2026-03-02', bmi: 24.1 },
        { id: 2, date: '2026-03-03', bmi: null },
      ],
    },
  }),
  'empty.json': '[]',
}

async function samples(): Promise<(readonly [file: string, content: string | Uint8Array])[]> {
  return [
    ...Object.entries(RARE).map(([name, lines]) => [name, `${lines.join('\n')}\n`] as const),
    ...Object.entries(RARE_JSON),
    ...vendors(6),
    ...inventFlatFiles(SEED).map(({ name, content }) => [name, content] as const),
    ...inventHl7(SEED).map(({ name, content }) => [name, content] as const),
    ...inventBundles(SEED).map(({ name, content }) => [name, content] as const),
  ]
}

test('drafts are as the golden file has them', async () => {
  const folder = await temporaryFolder()
  const texts: string[] = []
  for (const [file, content] of await samples()) {
    const path = join(folder, file.replaceAll(/[^\w.-]/g, '_'))
    await writeFile(path, content)
    const read = await readSample(path, vocabulary).catch((error: unknown) => String(error))
    if (typeof read === 'string') {
      texts.push(`=== ${file}\n${read.replaceAll(folder, '')}\n`)
      continue
    }
    const sample = draftSample('tried', file, read, vocabulary)
    const text = draftText(sample.draft, 's.json')
    const cases = sample.draft.found.length === 0 ? '' : draftCases(sample, load(text), 's.json')
    texts.push(`=== ${file}\n${text}--- cases\n${cases}`)
  }
  await expect(texts.join('\n')).toMatchFileSnapshot(join(import.meta.dirname, 'golden/drafts.txt'))
})
