import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readSynonyms } from '../../src/definitions/catalog-files.ts'
import {
  type DefinitionFolders,
  definitionsIn,
  readDecidedMapping,
  readJob,
  readMapping,
  readMappings,
} from '../../src/definitions/definition-files.ts'
import {
  assertTellable,
  chooseGateway,
  gatewayNameOf,
  NO_GATEWAY,
  readGatewayName,
  readTargets,
  targetsOf,
} from '../../src/definitions/jobs.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const ROW =
  'row: { key: [id], account: { reference: id }, observedAt: { from: at, format: ISO, zone: UTC }, source: { name: N, type: t } }'
const mapping = (rules: string, read = '{ format: csv }'): string =>
  `mapping: m\nread: ${read}\n${ROW}\n${rules}\n`
const REQUESTS = (authorization: string): string => `mapping: m
read: { format: csv }
row: { key: [id], account: { reference: id } }
medicalRecords:
  first:
    reference: id
    patient: { firstName: f, lastName: l, dob: b }
    request: { requestType: a, requestSubType: b, datesOfService: { start: s, end: e } }
  second:
    reference: id
    patient: { firstName: f, lastName: l, dob: b }
    request: { requestType: a, requestSubType: b, datesOfService: { start: s, end: e } }
${authorization}`

async function folders(files: Readonly<Record<string, string>>): Promise<DefinitionFolders> {
  const home = await temporaryFolder()
  const made = { jobs: join(home, 'jobs'), mappings: join(home, 'mappings') }
  for (const folder of [made.jobs, made.mappings, join(made.mappings, 'tables')]) await mkdir(folder)
  for (const [file, text] of Object.entries(files)) await writeFile(join(home, file), text)
  return made
}
const JOB = 'job: j\nexports: { from: in, match: "*" }\nmapping: m\n'

describe('mappings of a job', () => {
  const ofJob = async (files: Readonly<Record<string, string>>) => {
    const where = await folders(files)
    return await readMappings(where, await readJob(where, 'j'))
  }

  it('are read once each, all of them', async () => {
    const read = await ofJob({
      'jobs/j.yaml': `job: j\nexports:\n${['m', 'n', 'm'].map((name) => `  - { from: in, match: "*", mapping: ${name} }\n`).join('')}`,
      'mappings/m.yaml': mapping('biometrics: { bmi: b }'),
      'mappings/n.yml': mapping('biometrics: { hba1c: b }').replace('mapping: m', 'mapping: n'),
    })
    expect(
      [...read].map(([name, { definition }]) => [name, Object.keys(definition.biometrics ?? {})]),
    ).toEqual([
      ['m', ['bmi']],
      ['n', ['hba1c']],
    ])
  })

  it('with authorizations need a folder for them, and others do not', async () => {
    const withFile = REQUESTS('    authorization: { file: pdf }')
    await expect(ofJob({ 'jobs/j.yaml': JOB, 'mappings/m.yaml': withFile })).rejects.toMatchObject({
      code: 'job-invalid',
      findings: [{ message: expect.stringContaining('m.yaml names authorizations') }],
    })
    expect((await ofJob({ 'jobs/j.yaml': JOB, 'mappings/m.yaml': REQUESTS('') })).size).toBe(1)
    const withFolder = `${JOB}medicalRecords: { authorizations: f }\n`
    expect((await ofJob({ 'jobs/j.yaml': withFolder, 'mappings/m.yaml': withFile })).size).toBe(1)
    const collects = `job: j\npeople: { exports: { from: in, match: "*" }, mapping: m }\ncollect: { what: [biometrics] }\nto: { folder: o }\n`
    expect((await ofJob({ 'jobs/j.yaml': collects, 'mappings/m.yaml': withFile })).size).toBe(1)
  })

  it('are refused while a line is undecided, with the line; to be looked at they are read', async () => {
    const where = await folders({
      'mappings/m.yaml': mapping('biometrics: { bmi: b } # DECIDE: which column?'),
    })
    await expect(readDecidedMapping(where, 'm')).rejects.toMatchObject({
      code: 'mapping-invalid',
      findings: [{ place: { line: 4 } }],
      remedy: expect.stringContaining('waybill mapping check m'),
    })
    expect((await readMapping(where, 'm')).undecided).toEqual([4])
  })

  it('name the place of a problem in how they read, and in their catalog', async () => {
    const where = await folders({
      'mappings/m.yaml': mapping('biometrics: { bmi: b }', '{ format: csv, header: maybe }'),
      'mappings/n.yaml': `${mapping('biometrics: { bmi: b }')}catalog:\n  biometrics:\n    mine: { name: M, loinc: 12345-5, unit: nonsense, range: [1, 2], decimals: 1 }\n`,
    })
    await expect(readMapping(where, 'm')).rejects.toMatchObject({
      findings: [{ place: { line: 2, key: 'read.header' } }],
    })
    await expect(readMapping(where, 'n')).rejects.toMatchObject({
      findings: [{ place: { line: 7, key: 'catalog.biometrics.mine.unit' } }],
    })
  })

  it('look values up in tables of two columns; one of three is for joins', async () => {
    const rule = 'biometrics:\n  - { code: { from: c, table: codes }, value: v, unit: u }'
    const of = (table: string) =>
      folders({ 'mappings/m.yaml': mapping(rule), 'mappings/tables/codes.csv': table })
    expect(
      (await readMapping(await of('from,to\nA,bmi\n'), 'm')).resources.tables.get('codes')?.get('A'),
    ).toBe('bmi')
    expect((await readMapping(await of('from,to\n'), 'm')).resources.tables.get('codes')?.size).toBe(0)
    await expect(readMapping(await of('from,to,more\nA,bmi,x\n'), 'm')).rejects.toMatchObject({
      findings: [{ message: expect.stringContaining('codes') }],
    })
    await expect(readMapping(await of('from,to\nA,bmi\nA,hba1c\n'), 'm')).rejects.toMatchObject({
      code: 'catalog-invalid',
      message: 'tables/codes.csv has two lines for "A"',
    })
    await expect(readMapping(await of('from,to\n"A,bmi\n'), 'm')).rejects.toMatchObject({
      code: 'catalog-invalid',
      message: expect.stringMatching(/^tables\/codes.csv cannot be read as CSV: /),
    })
  })

  it('have the names of vendors for their entries', async () => {
    const names = await readSynonyms((await folders({})).mappings.replace(/mappings$/, 'elsewhere')).catch(
      () => undefined,
    )
    const shipped = names ?? (await readSynonyms('mappings'))
    expect(shipped.length).toBeGreaterThan(100)
    expect(shipped).toContainEqual(expect.arrayContaining(['hba1c']))
    expect(shipped).not.toContainEqual(expect.arrayContaining(['key']))
  })
})

it('definitions of a folder are its YAML files but cases', async () => {
  const { mappings, jobs } = await folders({
    ...{ 'mappings/a.yaml': '', 'mappings/b.yml': '', 'mappings/a.cases.yaml': '', 'mappings/c.txt': '' },
  })
  expect((await definitionsIn(mappings)).sort()).toEqual(['a', 'b'])
  expect(await definitionsIn(`${jobs}/none`)).toEqual([])
})

describe('a definition that is not found', () => {
  it('is told with those that are there, with where it was looked for, and with a folder that is gone', async () => {
    const where = await folders({ 'jobs/j.yaml': JOB })
    await expect(readJob(where, 'x')).rejects.toMatchObject({
      code: 'job-not-found',
      message: expect.stringMatching(/looked for .*x\.yaml, .*x\.yml\); .*has: j$/),
    })
    await expect(readMapping(where, 'x')).rejects.toMatchObject({
      message: expect.stringMatching(/ has none$/),
    })
    await expect(readMapping(where, 'sub/x.yaml')).rejects.toMatchObject({ code: 'mapping-not-found' })
    const gone = { jobs: `${where.jobs}/gone`, mappings: `${where.mappings}/gone` }
    await expect(readJob(gone, 'x')).rejects.toMatchObject({
      message: expect.stringMatching(/the folder .* cannot be read$/),
      remedy: expect.stringContaining('WAYBILL_JOBS'),
    })
    await expect(readMapping(gone, 'x')).rejects.toMatchObject({
      remedy: expect.stringContaining('WAYBILL_MAPPINGS'),
    })
    await expect(readJob(gone, 'x.yaml')).rejects.toMatchObject({
      message: expect.stringContaining('has none'),
    })
  })
})

const URL_1 = 'https://one.example'
const URL_2 = 'https://two.example'
const SETTINGS = {
  gatewayUrl: undefined,
  apiKey: undefined,
  accessToken: undefined,
  accessTokenCommand: undefined,
}
const jobAt = async (gateway: string) => {
  const where = await folders({ 'jobs/j.yaml': `${JOB}${gateway}` })
  return await readJob(where, 'j')
}

describe('the gateway of a job', () => {
  it('is that of the job, or of the settings; the two agree', async () => {
    const [none, one] = [await jobAt(''), await jobAt(`gateway: ${URL_1}\n`)]
    const known = { apiKey: 'k', accessToken: 't' }
    expect(chooseGateway({ ...SETTINGS, gatewayUrl: URL_2 }, none)).toBe(URL_2)
    expect(chooseGateway({ ...SETTINGS, gatewayUrl: URL_1 }, one)).toBe(URL_1)
    expect(chooseGateway({ ...SETTINGS, ...known }, one)).toBe(URL_1)
    expect(chooseGateway(SETTINGS, await jobAt('gateway: built-in\n'))).toBe('built-in')
    expect(() => chooseGateway(SETTINGS, none)).toThrow(expect.objectContaining({ code: 'gateway-not-set' }))
    expect(() => chooseGateway({ ...SETTINGS, gatewayUrl: URL_2 }, one)).toThrow(
      expect.objectContaining({ code: 'gateway-differs', message: expect.stringContaining(URL_2) }),
    )
  })

  it('needs its credentials: the settings name each that is missing', async () => {
    const one = await jobAt(`gateway: ${URL_1}\n`)
    const missing = (settings: object): string[] => {
      try {
        chooseGateway({ ...SETTINGS, ...settings }, one)
        return []
      } catch (error) {
        return (error as { findings: { place: { key: string } }[] }).findings.map(({ place }) => place.key)
      }
    }
    expect(missing({}).length).toBeGreaterThan(1)
    expect(missing({ apiKey: 'k' })).toHaveLength(missing({}).length - 1)
    expect(missing({ apiKey: 'k', accessTokenCommand: 'c' })).toEqual([])
  })

  it('has a name without being reached', async () => {
    expect(gatewayNameOf({ gatewayUrl: URL_2 }, { gateway: URL_1 })).toBe(URL_1)
    expect(gatewayNameOf({ gatewayUrl: URL_2 }, { gateway: undefined })).toBe(URL_2)
    expect(gatewayNameOf({ gatewayUrl: undefined })).toBe(NO_GATEWAY)
    const { jobs } = await folders({
      'jobs/a.yaml': `gateway: ${URL_1}\nwrong: true\n`,
      'jobs/b.yml': `gateway: ${URL_1}/\n`,
      'jobs/c.yaml': 'gateway: [1]\n',
    })
    const names = ['a', 'b', 'c', 'none'].map((job) => readGatewayName({ gatewayUrl: URL_2, jobs }, job))
    expect(await Promise.all(names)).toEqual([URL_1, URL_1, URL_2, URL_2])
  })
})

describe('whom a job notifies', () => {
  const notify = 'notify:\n  - { email: [a@b.example, c@d.example] }\n  - { command: ./page }\n'

  it('is read where the rest of the job is invalid, each target with the folder of the job', async () => {
    const { jobs } = await folders({ 'jobs/j.yml': `wrong: true\n${notify}`, 'jobs/k.yaml': JOB })
    expect(await readTargets({ jobs }, 'j')).toEqual([
      { email: 'a@b.example', on: 'failure', folder: jobs },
      { email: 'c@d.example', on: 'failure', folder: jobs },
      { command: './page', on: 'failure', folder: jobs },
    ])
    expect(await readTargets({ jobs }, 'k')).toEqual([])
    expect(await readTargets({ jobs }, 'none')).toBeUndefined()
  })

  it('is nobody where another user could have written the file', async () => {
    const { jobs } = await folders({ 'jobs/j.yaml': notify })
    await chmod(join(jobs, 'j.yaml'), 0o666)
    expect(await readTargets({ jobs }, 'j')).toBeUndefined()
  })

  it('needs settings, told at the key of the job file', async () => {
    const where = await folders({ 'jobs/j.yaml': `${JOB}${notify}` })
    const job = await readJob(where, 'j')
    expect(targetsOf(job).map(({ folder }) => folder)).toEqual([where.jobs, where.jobs, where.jobs])
    const settings = {
      webhookSecret: undefined,
      smtpUrl: undefined,
      smtpFrom: undefined,
      commandEnvironment: {},
    }
    expect(() => assertTellable(settings, job)).toThrow(
      expect.objectContaining({
        code: 'settings-invalid',
        place: expect.objectContaining({ key: 'notify' }),
      }),
    )
    assertTellable({ ...settings, smtpUrl: 'smtp://x', smtpFrom: 'a@b.example' }, job)
  })
})
