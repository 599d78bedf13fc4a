import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  type DefinitionFolders,
  loadMapping,
  readJob,
  readMapping,
} from '../../src/definitions/definition-files.ts'

const ROOT = join(import.meta.dirname, '../..')
let home: string
let folders: DefinitionFolders

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'definitions-'))
  folders = { jobs: join(home, 'jobs'), mappings: join(home, 'mappings') }
  await cp(join(ROOT, 'jobs'), folders.jobs, { recursive: true })
  await cp(join(ROOT, 'mappings'), folders.mappings, { recursive: true })
})
afterEach(() => rm(home, { recursive: true }))

describe('jobs', () => {
  it('are found by name or by path, their folders relative to the file', async () => {
    const byName = await readJob(folders, 'nightly-screenings')
    const byPath = await readJob(folders, join(folders.jobs, 'nightly-screenings.yaml'))
    expect(JSON.stringify(byPath)).toBe(JSON.stringify(byName))
    expect(byName.sources.map(({ from, mapping }) => [from, mapping])).toEqual([
      [join(home, 'samples/inbox'), 'acme-onsite'],
      [join(home, 'samples/inbox'), 'northlab-oru'],
    ])
  })

  it('name a catalog file relative to their own', async () => {
    await writeFile(
      join(folders.jobs, 'weekly.yaml'),
      'job: weekly\nexports: { from: ., match: "*" }\nmapping: nhanes\ncatalog: ../acme-catalog.yaml\n',
    )
    expect((await readJob(folders, 'weekly')).catalog).toBe(join(home, 'acme-catalog.yaml'))
    expect((await readJob(folders, 'nightly-screenings')).catalog).toBeUndefined()
  })

  it('that are not there are refused with those that are', async () => {
    await expect(readJob(folders, 'weekly')).rejects.toMatchObject({
      code: 'job-not-found',
      message: expect.stringContaining('nightly-screenings'),
    })
  })

  it('that cannot be read are told from those that are not there', async () => {
    await mkdir(join(folders.jobs, 'weekly.yaml'))
    await expect(readJob(folders, 'weekly')).rejects.toMatchObject({
      code: 'job-invalid',
      message: 'the job "weekly" cannot be read: EISDIR',
      place: { file: expect.stringMatching(/weekly\.yaml$/) },
    })
  })

  it('are named as their file is', async () => {
    await writeFile(
      join(folders.jobs, 'weekly.yaml'),
      'job: monthly\nexports: { from: ., match: "*" }\nmapping: nhanes\n',
    )
    await expect(readJob(folders, 'weekly')).rejects.toMatchObject({
      code: 'job-invalid',
      findings: [{ place: { line: 1, key: 'job' } }],
    })
  })
})

describe('mappings', () => {
  it.each(['acme-onsite', 'northlab-oru', 'nhanes', 'synthea-conditions', 'synthea-observations'])(
    '%s compiles',
    async (name) => {
      expect((await readMapping(folders, name)).name).toBe(name)
    },
  )

  it('are their content: loaded again from it they are the same, and any change is another digest', async () => {
    const read = await readMapping(folders, 'northlab-oru')
    expect(loadMapping(read.content)).toMatchObject({
      name: read.name,
      digest: read.digest,
      read: { format: 'ndjson' },
    })
    await writeFile(join(folders.mappings, 'tables/lab-codes.csv'), 'code,key\nNL-CHOL,hba1c\n')
    expect((await readMapping(folders, 'northlab-oru')).digest).not.toBe(read.digest)
  })

  it('that are not there are refused with those that are', async () => {
    await expect(readMapping(folders, 'acme')).rejects.toMatchObject({
      code: 'mapping-not-found',
      message: expect.stringContaining('acme-onsite'),
    })
  })

  it.each([
    [
      'catalog/biometrics.yaml',
      'bmi: { name: B, loinc: 39156-4, unit: kg/m2, range: [7, 130], decimals: 1 }',
      'bmi.loinc',
    ],
    [
      'catalog/biometrics.yaml',
      'bmi: { name: B, loinc: 39156-5, unit: kgm2, range: [7, 130], decimals: 1 }',
      'bmi.unit',
    ],
    [
      'catalog/biometrics.yaml',
      'bmi: { name: B, loinc: 39156-5, unit: kg/m2, range: [130, 7], decimals: 1 }',
      'bmi.range',
    ],
    ['catalog/conditions.yaml', 'a: { name: A, icd10: I10, snomed: "38341004" }', 'a.snomed'],
  ])('%s with %s is refused at %s', async (file, text, key) => {
    await writeFile(join(folders.mappings, file), text)
    await expect(readMapping(folders, 'acme-onsite')).rejects.toMatchObject({
      code: 'catalog-invalid',
      findings: [{ place: { file, line: 1, key } }],
    })
  })

  it('join a table of the tables folder by key; a change of it is another mapping', async () => {
    await writeFile(join(folders.mappings, 'tables/providers.csv'), 'Id,NPI,Name\n7,1234567893,Dr. Reed\n')
    await writeFile(
      join(folders.mappings, 'visits.yaml'),
      `mapping: visits
read: { format: csv }
row: { key: [id], account: { reference: id }, observedAt: { constant: "2026-02-04T00:00:00Z" }, source: { name: N, type: t } }
joins: { doctors: { table: providers, key: Id, on: doctor } }
careTeams: { pcp: { npi: doctors.NPI, name: doctors.Name } }
`,
    )
    const before = await readMapping(folders, 'visits')
    const map = before.compiled.bind(['id', 'doctor'], 'x.csv', Number.POSITIVE_INFINITY)
    expect(map({ row: 1, line: 2, byteOffset: 0, kind: 'cells', cells: ['1', '7'] })).toMatchObject({
      records: [{ rule: 'pcp', evidence: { npi: '1234567893', name: 'Dr. Reed' } }],
    })
    await writeFile(join(folders.mappings, 'tables/providers.csv'), 'Id,NPI,Name\n7,1234567893,Dr. Lane\n')
    expect((await readMapping(folders, 'visits')).digest).not.toBe(before.digest)
  })

  it('tell what is wrong with how they read a joined export', async () => {
    await writeFile(
      join(folders.mappings, 'visits.yaml'),
      `mapping: visits
read: { format: csv }
row: { key: [id], account: { reference: id }, observedAt: { constant: "2026-02-04T00:00:00Z" }, source: { name: N, type: t } }
joins: { doctors: { export: "p*.csv", read: { format: csv, delimeter: ";" }, key: Id, on: doctor } }
careTeams: { pcp: { npi: doctors.NPI, name: doctors.Name } }
`,
    )
    await expect(readMapping(folders, 'visits')).rejects.toMatchObject({
      code: 'mapping-invalid',
      findings: [
        {
          place: { line: 4, key: 'joins.doctors.read.delimeter' },
          message: 'unknown key "delimeter"; did you mean "delimiter"?',
        },
      ],
    })
  })

  it('with a code twice in a table are refused', async () => {
    await writeFile(join(folders.mappings, 'tables/lab-codes.csv'), 'code,key\nNL-CHOL,hba1c\nNL-CHOL,bmi\n')
    await expect(readMapping(folders, 'northlab-oru')).rejects.toMatchObject({
      code: 'catalog-invalid',
      message: 'tables/lab-codes.csv has two lines for "NL-CHOL"',
    })
  })

  describe('with a catalog file of the job', () => {
    const extended = async (text: string) => {
      const file = join(home, 'acme-catalog.yaml')
      await writeFile(file, text)
      return readMapping(folders, 'acme-onsite', file)
    }

    it('have it laid over the shipped one, and keep it in their content', async () => {
      const shipped = await readMapping(folders, 'acme-onsite')
      const read = await extended('biometrics: { heart-rate: { range: [30, 250] } }\n')
      const rangeOf = ({ resources }: typeof read) => resources.catalog.biometrics.get('heart-rate')?.range
      expect([rangeOf(shipped), rangeOf(read)]).toEqual([
        [20, 300],
        [30, 250],
      ])
      expect(read.digest).not.toBe(shipped.digest)
      await rm(join(home, 'acme-catalog.yaml'))
      const again = loadMapping(read.content)
      expect([rangeOf(again), again.digest]).toEqual([[30, 250], read.digest])
    })

    it('are refused with its line, or where it is not there', async () => {
      await expect(
        extended('biometrics:\n  heart-rate: { unit: bpm }\n  zinc: { name: Z }\n'),
      ).rejects.toMatchObject({
        code: 'catalog-invalid',
        place: { file: expect.stringContaining('acme-catalog.yaml') },
        findings: [
          { place: { line: 2, key: 'biometrics.heart-rate.unit' } },
          { place: { line: 3, key: 'biometrics.zinc' } },
        ],
      })
      await expect(readMapping(folders, 'acme-onsite', join(home, 'none.yaml'))).rejects.toMatchObject({
        code: 'catalog-invalid',
        message: expect.stringContaining('none.yaml is not there'),
      })
    })
  })

  it('without a catalog are refused', async () => {
    await rm(join(folders.mappings, 'catalog/conditions.yaml'))
    await expect(readMapping(folders, 'nhanes')).rejects.toMatchObject({
      code: 'catalog-invalid',
      message: expect.stringContaining('conditions.yaml'),
    })
  })
})
