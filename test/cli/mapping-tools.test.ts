import { chmod, copyFile, cp, mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ANN, BEN, CLINIC, HEADER } from './clinic.ts'
import { createWorkplace, PROJECT, type Workplace } from './command-line.ts'

const GOLDEN = join(import.meta.dirname, 'golden')
const ACME = 'acme-onsite'

/** A workplace with mappings of its own. */
async function withMappings(): Promise<Workplace & { mappings: string }> {
  const first = await createWorkplace()
  const mappings = join(first.folder, 'mappings')
  await cp(join(PROJECT, 'mappings'), mappings, { recursive: true })
  const workplace = await createWorkplace({ WAYBILL_MAPPINGS: mappings })
  return { ...workplace, mappings }
}

async function change(file: string, found: string, instead: string): Promise<void> {
  const text = await readFile(file, 'utf8')
  expect(text).toContain(found)
  await writeFile(file, text.replace(found, instead))
}

const SAMPLE = `participant_id,first_name,last_name,dob,gender,zip,screened_at,site,no_show,fasting,sbp,dbp,pulse,height_in,weight_lb,bmi,waist_in,tc,hdl,ldl,trig,glucose,a1c,tobacco,dx_diabetes,dx_hypertension,dx_asthma,pcp_name,pcp_npi,pcp_phone,remarks
P-1,Ann,Reed,1979-04-12,F,04884,02/04/2026 09:10,A,N,Y,126,76,81,63.9,158.5,27.3,38.7,196,55,129,60,100,5.7,Y,N,N,N,Dr. Alder,2515070102,,
P-2,Ben,Moor,1990-10-01,M,01001,02/04/2026 09:20,A,N,Y,118,79,,,160,,,,,,,,,N,N,N,N,,,,
P-3,,,,,,02/04/2026 09:30,A,Y,,,,,,,,,,,,,,,,,,,,,,
`

test('mapping test runs the cases, shows what differs, and writes it when told to', async () => {
  const { mappings, waybill } = await withMappings()
  const passed = await waybill('mapping', 'test', ACME)
  expect(passed).toMatchObject({ code: 0, err: '' })
  await change(join(mappings, `${ACME}.yaml`), 'zone: America/New_York', 'zone: America/Chicago')
  await change(join(mappings, `${ACME}.yaml`), 'from: pulse', 'from: pulse, extract: "^8."')
  const failed = await waybill('mapping', 'test')
  expect(failed.code).toBe(1)
  expect(failed.out).toContain('northlab-oru: 7 cases, all as expected')
  // Its cases give the rows of the joined export.
  expect(failed.out).toMatch(/^fhir-care-team: \d+ cases, all as expected$/m)
  const acme = failed.out.slice(failed.out.indexOf(ACME), failed.out.indexOf('fhir-bundle'))
  await expect(acme).toMatchFileSnapshot(join(GOLDEN, 'mapping-test-failed.txt'))

  const json = await waybill('mapping', 'test', ACME, '--json')
  expect(json.code).toBe(1)
  expect(JSON.parse(json.out)).toMatchObject({
    mappings: [
      {
        mapping: ACME,
        updated: false,
        cases: [
          { name: 'a visit with every measurement', passed: false },
          {},
          {},
          {},
          {},
          {},
          {},
          {},
          {},
          {},
        ],
      },
    ],
  })

  expect((await waybill('mapping', 'test', ACME, '--update')).code).toBe(0)
  expect((await waybill('mapping', 'test', ACME)).code).toBe(0)
  expect(await readFile(join(mappings, `${ACME}.cases.yaml`), 'utf8')).toContain(
    'observedAt: 2026-02-04T15:10:00.000Z',
  )
})

test('mapping test tells a mapping that has no cases, and cases that are none', async () => {
  const { mappings, waybill } = await withMappings()
  await copyFile(join(mappings, `${ACME}.yaml`), join(mappings, 'bare.yaml'))
  const all = await waybill('mapping', 'test')
  expect(all.code).toBe(0)
  expect(all.out).toContain('bare: no cases\n')
  const named = await waybill('mapping', 'test', 'bare')
  expect(named.code).toBe(2)
  expect(named.err).toContain('error cases-not-found: bare has no cases')
  await writeFile(join(mappings, 'bare.cases.yaml'), 'cases:\n  - name: one\n    rows: []\n')
  const invalid = await waybill('mapping', 'test', 'bare')
  expect(invalid.code).toBe(2)
  expect(invalid.err).toContain('bare.cases.yaml:2:5 cases[0]: needs one input')
})

test('mapping check looks at all mappings and their cases, whatever is wrong with one', async () => {
  const { mappings, waybill } = await withMappings()
  await writeFile(join(mappings, 'broken.yaml'), 'mapping: broken\nread: { format: csv }\n')
  await change(join(mappings, `${ACME}.cases.yaml`), 'row:', 'rwo:')
  const { code, out, err } = await waybill('mapping', 'check')
  expect(code).toBe(2)
  expect(out).toContain('northlab-oru is well-formed.\n')
  expect(err).toContain('cases[0].rwo: unknown key "rwo"')
  expect(err).toMatch(/broken\.yaml:1:1 row: /)
  const json = await waybill('mapping', 'check', '--json')
  expect(json.code).toBe(2)
  expect(JSON.parse(json.out)).toMatchObject({
    mappings: expect.arrayContaining([
      { mapping: 'northlab-oru', ok: true },
      expect.objectContaining({ mapping: 'broken', ok: false }),
    ]),
  })
})

test('mapping check warns of a rule that says nothing of the mark beside one that does', async () => {
  const { mappings, waybill } = await withMappings()
  await change(
    join(mappings, `${ACME}.yaml`),
    'careTeams:',
    'careTeams:\n  seen: { when: { site: SEEN }, npi: pcp_npi, name: pcp_name }',
  )
  const { code, out } = await waybill('mapping', 'check', ACME)
  expect(code).toBe(0)
  expect(out).toContain('Warning: careTeams.seen and careTeams.pcp read the same NPI')
  expect(JSON.parse((await waybill('mapping', 'check', ACME, '--json')).out)).toMatchObject({
    mappings: [{ ok: true, warnings: [expect.stringContaining('careTeams.seen')] }],
  })
})

test('mapping check tells what is wrong under read beside what is wrong elsewhere', async () => {
  const { mappings, waybill } = await withMappings()
  const file = join(mappings, `${ACME}.yaml`)
  await change(file, 'read: { format: csv }', 'read: { format: csv, delimitr: ";" }')
  await change(file, 'unit: lb', 'unit: firkin')
  const { code, err } = await waybill('mapping', 'check', ACME)
  expect(code).toBe(2)
  expect(err).toContain('2 problems')
  expect(err).toContain(':4:')
  expect(err).toContain('biometrics.body-weight.unit')
})

test('mapping check says how a mapping fits an export', async () => {
  const { mappings, folder, waybill } = await withMappings()
  const sample = join(folder, 'acme.csv')
  await writeFile(sample, SAMPLE)
  const fits = await waybill('mapping', 'check', ACME, '--export', sample)
  expect(fits.code).toBe(0)
  await expect(fits.out).toMatchFileSnapshot(join(GOLDEN, 'mapping-check-export.txt'))
  const two = await waybill('mapping', 'check', ACME, '--export', sample, '--rows', '2', '--json')
  expect(JSON.parse(two.out)).toMatchObject({
    mappings: [{ ok: true, fit: { unread: ['site', 'remarks'], rows: { read: 2, mapped: 2 } } }],
  })
  await change(join(mappings, `${ACME}.yaml`), 'name: pcp_name', 'name: Dr. Alder')
  await change(join(mappings, `${ACME}.yaml`), 'from: sbp', 'from: SBP')
  const lacks = await waybill('mapping', 'check', ACME, '--export', sample)
  expect(lacks.code).toBe(2)
  expect(lacks.err).toMatch(
    /acme-onsite\.yaml:\d+:\d+ biometrics\.systolic-bp\.from: the export has no column "SBP", but "sbp"/,
  )
  expect(lacks.err).toMatch(
    /careTeams\.pcp\.name: the export has no column "Dr\. Alder"; a text .* \{ constant: Dr\. Alder \}/,
  )
  const all = await waybill('mapping', 'check', '--export', sample)
  expect(all.code).toBe(2)
  expect(all.err).toContain('error usage-wrong')
})

test('mapping diff shows which records would change', async () => {
  const { mappings, folder, waybill } = await withMappings()
  const sample = join(folder, 'acme.csv')
  await writeFile(sample, SAMPLE)
  const before = join(folder, 'before.yaml')
  await copyFile(join(mappings, `${ACME}.yaml`), before)
  expect(await waybill('mapping', 'diff', before, ACME, sample)).toEqual({
    code: 0,
    out: 'No difference in the 3 rows of acme.csv.\n',
    err: '',
  })
  const file = join(mappings, `${ACME}.yaml`)
  await change(file, 'weight_lb, unit: lb', 'weight_lb, unit: kg')
  await change(file, 'no_show: Y', 'no_show: never')
  await change(file, 'heart-rate: { from: pulse', 'heart-rate: { from: site')
  await change(file, 'primary: true', 'primary: false')
  const { code, out } = await waybill('mapping', 'diff', before, ACME, sample)
  expect(code).toBe(1)
  await expect(out).toMatchFileSnapshot(join(GOLDEN, 'mapping-diff.txt'))
  const json = await waybill('mapping', 'diff', before, ACME, sample, '--examples', '1', '--json')
  expect(json.code).toBe(1)
  expect(JSON.parse(json.out)).toMatchObject({
    after: ACME,
    rows: { read: 3, different: 3 },
    examples: [{ row: 1 }],
  })
})

/** Three rows: one good, one whose weight has an unknown unit, one without a date. */
const CLINIC_SAMPLE = `${HEADER}${ANN}${BEN.replace('kg', 'parsec')}cat,never,63,5.3,72.5,kg,fine\n`

/** A workplace with the mapping `clinic` and its sample. */
async function withClinic(sample = CLINIC_SAMPLE): Promise<Workplace & { mappings: string }> {
  const workplace = await withMappings()
  await writeFile(join(workplace.mappings, 'clinic.yaml'), CLINIC)
  await writeFile(join(workplace.folder, 'clinic.csv'), sample)
  return workplace
}

const HEALTH_DATA = 'The following is health data of people. Nothing is sent.\n'

test.each<[string, number, readonly string[], string]>([
  ['', 0, ['row 1, line 2: mapped', 'row 2, line 3: mapped', 'row 3, line 4: rejected'], HEALTH_DATA],
  ['--limit 1', 0, ['row 1, line 2: mapped'], HEALTH_DATA],
  ['--row 2', 0, ['row 2, line 3: mapped'], HEALTH_DATA],
  ['--row 4', 2, [], `${HEALTH_DATA}clinic.csv has no row 4.\n`],
])('mapping preview %s', async (args, exit, rows, said) => {
  const { waybill } = await withClinic()
  const { code, out, err } = await waybill(
    ...['mapping', 'preview', 'clinic', 'clinic.csv'],
    ...args.split(' ').filter((word) => word !== ''),
  )
  expect([code, err, [...out.matchAll(/^── (.*) ─+$/gm)].map(([, row]) => row)]).toEqual([exit, said, rows])
  // The fit is of all rows, also of those that are not shown; of one row there is none.
  expect(/^Keys +(.*)$/m.exec(out)?.[1]).toBe(args.startsWith('--row') ? undefined : '2 row keys')
})

test('mapping preview as JSON has the reason of each rejected record and row; as a page, its mapping and export', async () => {
  const { waybill, folder } = await withClinic()
  const preview = (...args: string[]) => waybill('mapping', 'preview', 'clinic', 'clinic.csv', ...args)
  const json = await preview('--json')
  const rows = json.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect([json.code, json.err, rows]).toMatchObject([
    0,
    '',
    [
      { row: 1, line: 2, outcome: 'mapped', rejected: [] },
      { row: 2, line: 3, outcome: 'mapped', rejected: [{ rule: 'body-weight' }] },
      { row: 3, line: 4, outcome: 'rejected', rejected: [], issue: { code: 'date-invalid' } },
    ],
  ])
  expect(rows.map(({ records }) => records.length)).toEqual([3, 2, 0])
  const page = await preview('--html', 'page.html')
  expect([page.code, page.err]).toEqual([0, ''])
  expect(await readFile(join(folder, 'page.html'), 'utf8')).toContain('<title>clinic: clinic.csv</title>')
})

/** The sample with 300 people whose weights are in pounds, though the column of the mapping has kilograms. */
const ODD = `${HEADER}${Array.from({ length: 300 }, (_, at) => `p-${at},2026-03-02,61,5.1,${150 + (at % 50)},kg,fine\n`).join('')}`

test('a suspicious fit ends preview and check with 1, in each form; one row is not judged', async () => {
  const { waybill } = await withClinic(ODD)
  const preview = (...args: string[]) => waybill('mapping', 'preview', 'clinic', 'clinic.csv', ...args)
  const told = /body-weight: the median is 174, usually 45 to 125 kg/
  const plain = await preview('--limit', '1')
  expect([plain.code, plain.out]).toEqual([1, expect.stringMatching(told)])
  expect(plain.out).toMatch(/^Keys +300 row keys$/m)
  for (const form of [['--json'], ['--html', 'page.html']]) {
    const { code, err } = await preview(...form)
    expect([form, code, err]).toEqual([form, 1, expect.stringMatching(told)])
  }
  expect((await preview('--row', '1')).code).toBe(0)
  const check = await waybill('mapping', 'check', 'clinic', '--export', 'clinic.csv', '--json')
  expect([check.code, JSON.parse(check.out)]).toMatchObject([1, { mappings: [{ ok: false }] }])
})

test.each([1, 250, 256, 257, 300, 301])(
  'mapping check reads as many rows as it is asked to: %i',
  async (rows) => {
    const { waybill } = await withClinic(ODD)
    const args = ['--export', 'clinic.csv', '--rows', `${rows}`, '--json']
    const { out } = await waybill('mapping', 'check', 'clinic', ...args)
    expect(JSON.parse(out)).toMatchObject({ mappings: [{ fit: { rows: { read: Math.min(300, rows) } } }] })
  },
)

test('mapping check names one column that nothing reads, and goes through the mappings by name', async () => {
  const { waybill, mappings } = await withClinic()
  for (const name of ['b', 'a', 'a-b'])
    await writeFile(join(mappings, `${name}.yaml`), CLINIC.replace('clinic', name))
  const fits = await waybill('mapping', 'check', 'clinic', '--export', 'clinic.csv')
  expect(fits.out).toContain('Columns not read: remark\n')
  const names = [...(await waybill('mapping', 'check')).out.matchAll(/^(\S+) is well-formed/gm)].map(
    ([, name]) => name,
  )
  expect(names).toEqual(names.toSorted())
  expect(names).toEqual(expect.arrayContaining(['a', 'a-b', 'b', 'clinic']))
})

test('cases are found beside a .yml, keep their mode when they are written, and are refused where they cannot be read', async () => {
  const { waybill, mappings } = await withClinic()
  await writeFile(join(mappings, 'yml.yml'), CLINIC.replace('clinic', 'yml'))
  const cases = join(mappings, 'yml.cases.yaml')
  const row = '{ id: ann, day: 2026-03-02, pulse: "61", a1c: "5.1", weight: "70.5", unit: kg, remark: fine }'
  await writeFile(cases, `cases:\n  - name: one\n    row: ${row}\n`)
  await chmod(cases, 0o640)
  expect((await waybill('mapping', 'test', 'yml')).out).toContain('yml: 1 case, 1 not as expected')
  expect((await waybill('mapping', 'test', 'yml', '--update')).out).toContain('written; review it as a diff')
  expect((await stat(cases)).mode & 0o777).toBe(0o640)
  expect((await waybill('mapping', 'test', 'yml')).out).toContain('yml: 1 case, all as expected')
  await mkdir(join(mappings, 'clinic.cases.yaml'))
  for (const command of ['test', 'check']) {
    const { code, err } = await waybill('mapping', command, 'clinic')
    expect([code, err]).toEqual([2, expect.stringContaining('error cases-not-found: ')])
    expect(err).toContain('clinic.cases.yaml cannot be read')
  }
})

test('mapping check ends with 1 where a line is still to be decided', async () => {
  const { waybill, mappings } = await withClinic()
  await writeFile(join(mappings, 'clinic.yaml'), `${CLINIC}# DECIDE: is this the unit?\n`)
  const line = CLINIC.split('\n').length
  const check = await waybill('mapping', 'check', 'clinic')
  expect([check.code, check.out]).toEqual([1, expect.stringContaining(`Decide on line ${line} (`)])
  const json = await waybill('mapping', 'check', 'clinic', '--json')
  expect([json.code, JSON.parse(json.out)]).toEqual([
    1,
    { mappings: [{ mapping: 'clinic', ok: false, undecided: [line] }] },
  ])
})

test('mapping check of an export without columns lacks none', async () => {
  const { waybill } = await withMappings()
  const sample = join(PROJECT, 'samples/inbox/northlab_oru_20260302.ndjson')
  const { out, err } = await waybill('mapping', 'check', 'northlab-oru', '--export', sample, '--rows', '5')
  expect([err, out]).toEqual(['', expect.stringMatching(/^northlab-oru is well-formed.*\n/)])
  expect(out).toMatch(/^Rows +read 5 = /m)
})

test('mapping diff of one row that differs', async () => {
  const { waybill, mappings } = await withClinic(`${HEADER}${ANN}`)
  await writeFile(join(mappings, 'other.yaml'), CLINIC.replace('clinic', 'other').replace('"pulse"', 'a1c'))
  const { code, out } = await waybill('mapping', 'diff', 'clinic', 'other', 'clinic.csv')
  expect([code, out]).toEqual([1, expect.stringMatching(/^1 of the 1 rows of clinic\.csv differ\.\n/)])
})
