/** Several samples of one vendor make one draft, which says where they differ. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../../../test/temporary-folder.ts'
import { refusalOf } from '../../../../test/transform/mapping-under-test.ts'
import { draftSample } from '../../src/draft/draft-sample.ts'
import { joinSamples, type NamedSample } from '../../src/draft/join-samples.ts'
import { readSample } from '../../src/draft/read-sample.ts'
import { draftText } from '../../src/draft/write-draft.ts'
import { vocabulary } from './drafting.ts'

async function drafted(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await temporaryFolder()
  const samples: NamedSample[] = []
  for (const [file, content] of Object.entries(files)) {
    await writeFile(join(folder, file), content)
    samples.push({ file, sample: await readSample(join(folder, file), vocabulary) })
  }
  const [first, ...others] = samples
  if (first === undefined) return ''
  const sample = joinSamples([first, ...others])
  return draftText(draftSample('tried', Object.keys(files).join(', '), sample, vocabulary).draft, 's.json')
}

const A = 'Member ID,Visit Date,Weight\nM-1,03/04/2026,122\nM-2,04/04/2026,124\n'

test('forms, units and words are those of all of them', async () => {
  const text = await drafted({
    'a.csv': A,
    'b.csv': 'Member ID,Visit Date,Weight\nM-3,13/04/2026,80\nM-4,14/04/2026,71\nM-5,15/04/2026,64\n',
  })
  expect(text).toContain('Drafted from a.csv, b.csv: a row is a visit; 5 rows were sampled.')
  // The first file alone tells neither day from month, nor pounds from kilograms.
  expect(text).toContain('observedAt: { from: Visit Date, format: dd/MM/yyyy, zone: UTC }')
  expect(text).not.toContain('month first or day first')
  expect(text).not.toMatch(/differs|read otherwise/)
  expect(await drafted({ 'a.csv': A })).toContain('month first or day first')
})

test('where headers differ, it says so by file', async () => {
  const text = await drafted({
    'a.csv': A,
    'b.csv': 'Member ID,Visit Date,Site,Systolic\nM-3,13/04/2026,North,118\nM-4,14/04/2026,South,120\n',
    'c.csv': A,
  })
  expect(text).toContain(
    'DECIDE: b.csv differs from a.csv: it lacks Weight; only it has Site, Systolic. A column that a rule reads must be in each file.',
  )
  expect(text).toContain('DECIDE: c.csv differs from a.csv: it lacks Site, Systolic.')
  expect(text).toContain('systolic-bp: Systolic')
})

test('where they are read in two ways, or have other units below the header, it says so by file', async () => {
  const text = await drafted({
    'a.csv': 'Member ID,Visit Date,Weight\n,,lb\nM-1,03/14/2026,180\n',
    'b.csv': 'Member ID;Visit Date;Weight\n;;kg\nM-3;03/15/2026;80\n',
  })
  expect(text).toMatch(/DECIDE: b\.csv needs another read block \(delimiter: ";"\)/)
  expect(text).toContain('DECIDE: b.csv differs from a.csv: the line below the header differs for Weight.')
})

test('JSON documents, and lines of JSON', async () => {
  const row = (id: string, sbp: string) => ({ id, sbp, visit_date: '2026-02-04' })
  const text = await drafted({
    'a.json': JSON.stringify({ people: [row('1', '118'), row('2', '120')] }),
    'b.json': JSON.stringify({ people: row('3', '131') }),
  })
  expect(text).toContain('records: "$.people[*]"')
  expect(text).toContain('3 rows were sampled')
  const lines = await drafted({
    'a.ndjson': `${JSON.stringify(row('1', '118'))}\n`,
    'b.ndjson': `${JSON.stringify({ ...row('2', '120'), dbp: '76' })}\n`,
  })
  expect(lines).toContain('diastolic-bp: $.dbp')
})

test('samples of two kinds are refused', async () => {
  const folder = await temporaryFolder()
  await writeFile(join(folder, 'a.csv'), A)
  await writeFile(join(folder, 'b.json'), JSON.stringify({ people: [{ id: '1' }] }))
  const [one, other] = await Promise.all(
    ['a.csv', 'b.json'].map(async (file) => ({
      ...{ file, sample: await readSample(join(folder, file), vocabulary) },
    })),
  )
  if (one === undefined || other === undefined) return expect.fail('two were read')
  const { code, message } = refusalOf(() => joinSamples([one, other]))
  expect([code, message]).toEqual([
    'usage-wrong',
    'b.json is of another form than a.csv, but a mapping reads only one form',
  ])
})
