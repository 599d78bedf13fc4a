import { cp, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { generateSamples } from '../../samples/generate.ts'
import { createWorkplace, PROJECT, type Workplace } from './command-line.ts'

const GOLDEN = join(import.meta.dirname, 'golden')
const Mapping = z.looseObject({ biometrics: z.unknown().optional() })
const Result = z.object({ mapping: z.string(), cases: z.string().optional(), found: z.array(z.string()) })

/** Drafts from a sample; then the draft must be well-formed, make records of the sample, and pass its own cases. */
async function drafted({ waybill, folder }: Workplace, sample: string, name: string) {
  const file = join(folder, `${name}.yaml`)
  const init = await waybill('mapping', 'init', sample, '--out', file, '--json')
  expect(init.err).toBe('')
  expect(init.code).toBe(0)
  const check = await waybill('mapping', 'check', file, '--export', sample)
  // It fits; what the draft asks is still to be decided.
  expect(check.code, check.out + check.err).toBe(1)
  expect(check.out).toContain(`is well-formed and fits ${basename(sample)}.`)
  const preview = await waybill('mapping', 'preview', file, sample, '--limit', '50', '--json')
  const records = preview.out
    .trim()
    .split('\n')
    .flatMap((line) => z.looseObject({ records: z.array(z.unknown()) }).parse(JSON.parse(line)).records)
  const cases = await waybill('mapping', 'test', file)
  expect(cases.code, cases.out).toBe(0)
  const text = await readFile(file, 'utf8')
  return {
    ...Result.parse(JSON.parse(init.out)),
    text,
    records,
    written: Mapping.parse(parse(text)).biometrics,
  }
}

test('the draft of the wide sample and its cases', async () => {
  const workplace = await createWorkplace()
  await generateSamples({ out: workplace.folder, participants: 300, messages: 40 })
  const sample = join(workplace.folder, 'acme_screening_20260302.csv')
  const { text, written, records, cases = '' } = await drafted(workplace, sample, 'acme')
  // By hand, from the header: sbp, dbp, pulse, height_in, weight_lb, bmi, waist_in, tc, hdl, ldl, trig, glucose, a1c.
  expect(Object.keys(written as object).sort()).toEqual(
    [
      ...[
        'systolic-bp',
        'diastolic-bp',
        'heart-rate',
        'body-height',
        'body-weight',
        'bmi',
        'waist-circumference',
      ],
      ...[
        'total-cholesterol',
        'hdl-cholesterol',
        'ldl-cholesterol',
        'triglycerides',
        'glucose-fasting',
        'glucose',
        'hba1c',
      ],
    ].sort(),
  )
  expect(records.length).toBeGreaterThan(200)
  // Ids, long names and dates of birth of the sample stand in neither file.
  const source = (await readFile(sample, 'utf8')).split('\n').slice(1, 200)
  const persons = source.flatMap((line) => line.split(',').slice(0, 4)).filter((cell) => cell.length > 7)
  const both = text + (await readFile(cases, 'utf8'))
  expect(persons.length).toBeGreaterThan(200)
  expect(persons.filter((cell) => both.includes(cell))).toEqual([])
  const steady = (one: string): string => one.replace(/^# yaml-language-server.*\n/, '')
  await expect(steady(text)).toMatchFileSnapshot(join(GOLDEN, 'mapping-init-acme.yaml'))
  await expect(steady(await readFile(cases, 'utf8'))).toMatchFileSnapshot(
    join(GOLDEN, 'mapping-init-acme.cases.yaml'),
  )
})

test('it overwrites nothing, and leaves no half of a draft', async () => {
  const { waybill, folder } = await createWorkplace()
  const sample = join(folder, 'a.csv')
  await writeFile(sample, 'id,sbp\n1,118\n2,120\n')
  await writeFile(join(folder, 'mine.yaml'), 'mine')
  const again = await waybill('mapping', 'init', sample, '--out', 'mine.yaml')
  expect(again.code).toBe(2)
  expect(again.err).toContain('mine.yaml is there already; nothing was written')
  expect(await readFile(join(folder, 'mine.yaml'), 'utf8')).toBe('mine')
  await writeFile(join(folder, 'other.cases.yaml'), 'mine')
  expect((await waybill('mapping', 'init', sample, '--out', 'other.yaml')).code).toBe(2)
  await expect(readFile(join(folder, 'other.yaml'), 'utf8')).rejects.toThrow('ENOENT')
})

test('of what it does not know it leaves a skeleton, and says so', async () => {
  const { waybill, folder } = await createWorkplace()
  await writeFile(join(folder, 'x.csv'), 'colour,shape\nred,round\nblue,square\n')
  const { code, out } = await waybill('mapping', 'init', 'x.csv', '--out', 'x.yaml')
  expect(code).toBe(0)
  expect(out).toContain('Nothing in x.csv was recognised.')
})

test('until its lines are decided, a draft is no mapping to run: the check, the doctor and each run say which', async () => {
  const workplace = await createWorkplace()
  const { folder, environment } = workplace
  const mappings = join(folder, 'mappings')
  await cp(join(PROJECT, 'mappings/catalog'), join(mappings, 'catalog'), { recursive: true })
  environment['WAYBILL_MAPPINGS'] = mappings
  const waybill = workplace.waybill
  await writeFile(join(folder, 'a.csv'), 'patient id,birthday,sbp\n1,1950-01-02,118\n2,1961-03-04,120\n')
  expect((await waybill('mapping', 'init', 'a.csv', '--name', 'drafted')).code).toBe(0)
  const file = join(mappings, 'drafted.yaml')
  const draft = await readFile(file, 'utf8')
  const lines = draft.split('\n')
  const asked = lines.flatMap((line, at) => (/DECIDE:|1900-01-01/.test(line) ? [at + 1] : []))
  expect(asked).toHaveLength(3)

  const check = await waybill('mapping', 'check', 'drafted', '--json')
  expect(check.code).toBe(1)
  expect(JSON.parse(check.out)).toEqual({ mappings: [{ mapping: 'drafted', ok: false, undecided: asked }] })

  await workplace.job('nightly', 'exports:\n  - { from: .., match: "a.csv", mapping: drafted }\n')
  for (const how of [['--dry-run'], []]) {
    const run = await waybill('run', 'nightly', ...how)
    expect(run.code, run.out).toBe(2)
    expect(run.err).toContain('mapping-invalid')
    for (const line of asked) expect(run.err).toContain(`drafted.yaml:${line}`)
  }
  const doctor = await waybill('doctor')
  expect(doctor.out).toContain(`open decisions on line ${asked.join(', ')}`)

  // The word alone is not the decision: the placeholder must go, too.
  await writeFile(file, draft.replaceAll('DECIDE:', ''))
  expect(JSON.parse((await waybill('mapping', 'check', 'drafted', '--json')).out)).toMatchObject({
    mappings: [{ undecided: asked.filter((line) => lines[line - 1]?.includes('constant')) }],
  })
  await writeFile(file, draft.replaceAll('DECIDE:', '').replace('1900-01-01', '2026-02-03'))
  expect((await waybill('mapping', 'check', 'drafted')).code).toBe(0)
  expect((await waybill('run', 'nightly', '--dry-run')).code).toBe(0)
})

test('several samples are judged together, beside what the mappings of the folder say', async () => {
  const { waybill, folder, environment } = await createWorkplace()
  const mappings = join(folder, 'mappings')
  await cp(join(PROJECT, 'mappings/catalog'), join(mappings, 'catalog'), { recursive: true })
  environment['WAYBILL_MAPPINGS'] = mappings
  await writeFile(
    join(mappings, 'first.yaml'),
    [
      'mapping: first\nread: { format: csv }\nrow:\n  key: [mrn, seen]\n  account: { reference: mrn }',
      '  observedAt: { from: seen, format: dd/MM/yyyy, zone: America/Denver }',
      '  source: { name: First, type: screening }\nbiometrics:\n  body-weight: { from: wt, unit: lb }\n',
    ].join('\n'),
  )
  await writeFile(join(mappings, 'broken.yaml'), 'mapping: [')
  // What is still open elsewhere decides nothing here.
  const undecided = (await readFile(join(mappings, 'first.yaml'), 'utf8')).replace(
    'mapping: first',
    'mapping: open',
  )
  await writeFile(
    join(mappings, 'before.yaml'),
    `${undecided.replace('unit: lb', 'unit: kg')}# DECIDE: is it so?\n`,
  )
  await writeFile(join(folder, 'a.csv'), 'mrn,seen,wt\n1,03/04/2026,122\n')
  await writeFile(join(folder, 'b.csv'), 'mrn,seen,wt,sbp\n2,05/04/2026,124,118\n')
  const init = await waybill('mapping', 'init', 'a.csv', 'b.csv', '--name', 'second')
  expect([init.code, init.err]).toEqual([0, ''])
  expect(init.out).toMatch(/check \S*second\.yaml --export a\.csv\n.*check \S*second\.yaml --export b\.csv\n/)
  const text = await readFile(join(mappings, 'second.yaml'), 'utf8')
  const says = '# DECIDE: first.yaml has this line for the same headings. Is it right here?'
  expect(text).toContain(`{ from: seen, format: dd/MM/yyyy, zone: America/Denver } ${says}`)
  expect(text).toContain(`body-weight: { from: wt, unit: lb } ${says}`)
  expect(text).toContain('DECIDE: b.csv differs from a.csv: only it has sbp.')
  expect(text).not.toContain('before.yaml')
  expect((await waybill('mapping', 'test', 'second')).code).toBe(0)
})

test.each([
  ['Acme_Export_202603.csv', [], 'acme-export'],
  ['a__b.2026.csv', [], 'a-b'],
  ['12345.csv', [], '12345'],
  ['20260302.csv', [], 'draft'],
  ['x.csv', ['--out', 'of-file.yml'], 'of-file'],
  ['x.csv', ['--name', 'given', '--out', 'of-file.yaml'], 'given'],
])('the draft of %s with %j has the name %s', async (file, more, name) => {
  const { waybill, folder } = await createWorkplace({ WAYBILL_MAPPINGS: 'drafts' })
  await cp(join(PROJECT, 'mappings/catalog'), join(folder, 'drafts/catalog'), { recursive: true })
  await writeFile(join(folder, file), 'id,sbp\n1,118\n2,120\n')
  const { code, out, err } = await waybill('mapping', 'init', file, ...more, '--json')
  expect([code, err, JSON.parse(out)]).toMatchObject([0, '', { name }])
})

test('a draft of two samples has what stands in either, and names the commands for each', async () => {
  const { waybill, folder } = await createWorkplace()
  await writeFile(join(folder, 'a.csv'), 'patient id,birthday,sbp\n1,1950-01-02,118\n2,1961-03-04,120\n')
  await writeFile(join(folder, 'b.csv'), 'patient id,birthday,dbp\n1,1950-01-02,78\n2,1961-03-04,80\n')
  const { code, out } = await waybill('mapping', 'init', 'a.csv', 'b.csv', '--out', 'x.yaml')
  expect([code, out]).toEqual([
    0,
    expect.stringMatching(/^Drafted x\.yaml: 2 of the catalog found \(.*\)\.\n/),
  ])
  const asked = (await readFile(join(folder, 'x.yaml'), 'utf8')).match(/DECIDE:|1900-01-01/g) ?? []
  expect(out).toContain(`\n${asked.length} lines say DECIDE: decide first. x.cases.yaml has cases`)
  expect(out.slice(out.indexOf('Next:'))).toBe(
    [
      'Next:',
      '  waybill mapping check x.yaml --export a.csv',
      '  waybill mapping check x.yaml --export b.csv',
      '  waybill mapping preview x.yaml a.csv',
      '  waybill mapping test x.yaml',
      '',
    ].join('\n'),
  )
})

test('a skeleton has no cases, and none are told', async () => {
  const { waybill, folder } = await createWorkplace()
  await writeFile(join(folder, 'x.csv'), 'colour,shape\nred,round\nblue,square\n')
  const { code, out } = await waybill('mapping', 'init', 'x.csv', '--out', 'x.yaml', '--json')
  expect([code, Object.keys(JSON.parse(out))]).toEqual([0, ['mapping', 'name', 'found', 'decide']])
  await expect(readFile(join(folder, 'x.cases.yaml'))).rejects.toThrow('ENOENT')
})

test.each<[string, string | Uint8Array, string, string]>([
  ['empty.csv', '', 'export-empty', 'Ask the vendor'],
  [
    'cut.xlsx',
    Buffer.from('PK\u0003\u0004cut off'),
    'export-unreadable',
    'See that the file has arrived whole',
  ],
  ['odd.csv', 'id,"sbp\n1,2\n', 'export-unreadable', 'If it is CSV or JSON in an unusual form'],
])('a sample that cannot be read is refused with what helps: %s', async (file, content, code, remedy) => {
  const { waybill, folder } = await createWorkplace()
  await writeFile(join(folder, file), content)
  const refused = await waybill('mapping', 'init', file, '--out', 'x.yaml')
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining(`error ${code}: `)])
  expect(refused.err).toContain(`What to do: ${remedy}`)
})

test('one line to decide is told as one', async () => {
  const { waybill, folder } = await createWorkplace()
  const rows = '1,2026-01-02T10:00:00Z,118\n2,2026-03-24T11:00:00Z,120\n'
  await writeFile(join(folder, 'a.csv'), `patient id,screened,sbp\n${rows}`)
  // In a folder that is not there yet.
  const { code, out } = await waybill('mapping', 'init', 'a.csv', '--out', 'new/x.yaml')
  expect([code, out]).toEqual([0, expect.stringContaining('\n1 line says DECIDE: decide first.')])
  expect(out).toContain(': 1 of the catalog found (systolic-bp).\n')
})
