import { copyFile, cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
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
