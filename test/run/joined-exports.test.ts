/** Joins to second exports and within documents, through the arrival and the mapping's snapshot, on real files. */

import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ZipFile } from 'yazl'
import type { LoadedMapping } from '../../src/definitions/definition-files.ts'
import { jobSource } from '../../src/definitions/export-definition.ts'
import { openExport } from '../../src/extract/open-export.ts'
import { type Arrival, createArrival, type ReceivedExport } from '../../src/run/arrival.ts'
import { joinExports, rejoin } from '../../src/run/joined-exports.ts'
import { texts, workbookBytes } from '../extract/workbook-file.ts'
import { load, refusalOf } from '../transform/mapping-under-test.ts'
import { joinSample } from './join-sample.ts'

const ROW = (at: string): string =>
  `row: { key: ["${at}Id"], account: { reference: "${at}PATIENT" }, observedAt: { constant: "2026-02-04T00:00:00Z" }, source: { name: N, type: t } }`
const CSV = `mapping: visits
read: { format: csv }
${ROW('')}
joins:
  doctors: { export: "providers*.csv*", read: { format: csv }, key: Id, on: PROVIDER }
careTeams:
  seen: { when: { doctors.NPI: present }, npi: doctors.NPI, name: { concat: [doctors.NAME, doctors.CITY], separator: ", " } }
`
const VISITS = 'Id,PATIENT,PROVIDER\n1,ann,d1\n2,ben,d2\n3,cat,\n4,dan,d9\n'
const PROVIDERS = 'Id,NAME,CITY,NPI,NOTE\nd1,Reed,Hope,1234567893,x\nd2,Lane,,1245319599,y\n,Nobody,,,\n'

let folder: string
let arrival: Arrival
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'joined-'))
  arrival = createArrival(join(folder, 'spool'), {})
})
afterEach(async () => {
  await arrival.close(false)
  await rm(folder, { recursive: true })
})

const deliver = async (name: string, text: string | Buffer): Promise<string> => {
  await writeFile(join(folder, name), text)
  return join(folder, name)
}
type ExportDefinition = Parameters<typeof jobSource>[0]

const source = (more: Partial<ExportDefinition> & { match: string }) =>
  jobSource({ from: '.', mapping: 'visits', ...more }, undefined, folder)
/** The first export that the job finds. */
async function receive(more: Partial<ExportDefinition> & { match: string }): Promise<ReceivedExport> {
  const [found] = (await arrival.look(source(more), Date.now())).complete
  const [received] = found === undefined ? [] : await arrival.receive(found)
  return received ?? expect.fail('found no export')
}
/** `rule npi name` of each record. */
async function records(mapping: LoadedMapping, file: string): Promise<string[]> {
  const opened = await openExport(file, mapping.read)
  const map = mapping.compiled.bind(opened.columns, 'visits', Number.POSITIVE_INFINITY)
  const told: string[] = []
  for await (const block of opened.rows()) {
    for (const row of block) {
      const outcome = map(row)
      if (outcome.outcome !== 'mapped') told.push(outcome.outcome)
      else {
        for (const { rule, evidence } of outcome.records)
          told.push(`${rule} ${evidence.npi} ${evidence.name}`)
        for (const { rule, issue } of outcome.rejected) told.push(`${rule} ${issue.code}`)
      }
    }
  }
  return told
}
const SEEN = ['seen 1234567893 Reed, Hope', 'seen 1245319599 Lane']
/** What came of it, or the error. */
const codeOf = (work: Promise<unknown>): Promise<unknown> => work.catch((error) => error)

it('a workbook is joined as CSV is; a cell without value rejects the record that reads it, in a condition, too', async () => {
  const file = await deliver('visits.csv', VISITS)
  const cell = (at: string, type: string, value: string) => `<c r="${at}" t="${type}"><v>${value}</v></c>`
  const rows =
    texts(1, 'Id', 'NAME', 'CITY', 'NPI') +
    `<row r="2">${cell('A2', 'str', 'd1')}${cell('B2', 'str', 'Reed')}${cell('D2', 'n', '1234567893')}</row>` +
    `<row r="3">${cell('A3', 'str', 'd2')}${cell('B3', 'str', 'Lane')}${cell('D3', 'e', '#N/A')}</row>`
  await deliver('providers.xlsx', await workbookBytes({ sheets: { Doctors: rows } }))
  const mapping = load(
    CSV.replace('providers*.csv*', 'providers*.xlsx').replace(
      'read: { format: csv }, key',
      'read: { format: xlsx }, key',
    ),
  )
  const joined = await joinSample(mapping, file)
  const opened = await openExport(file, joined.read)
  const map = joined.compiled.bind(opened.columns, 'visits', Number.POSITIVE_INFINITY)
  const told: string[] = []
  for await (const block of opened.rows())
    for (const outcome of block.map(map)) {
      if (outcome.outcome !== 'mapped') continue
      told.push(...outcome.records.map(({ rule }) => rule))
      told.push(...outcome.rejected.map(({ rule, issue }) => `${rule} ${issue.code} ${issue.field}`))
    }
  expect(told).toEqual(['seen', 'seen cell-error doctors.NPI'])
})

describe('a second export', () => {
  it('that lies beside the first is found, read by key, and kept as far as the mapping reads it', async () => {
    await deliver('visits.csv', VISITS)
    await deliver('providers.csv', PROVIDERS)
    const one = await receive({ match: 'visits*.csv' })
    const mapping = load(CSV)
    const joined = await joinExports(mapping, one.name, one.beside)
    expect(await records(joined.mapping, one.file)).toEqual(SEEN)
    const [text = ''] = joined.texts.values()
    expect(JSON.parse(text)).toEqual({
      fields: ['.NPI', '.NAME', '.CITY'],
      rows: [
        ['d1', '1234567893', 'Reed', 'Hope'],
        ['d2', '1245319599', 'Lane', ''],
      ],
    })
    expect(joined.mapping.digest).not.toBe(mapping.digest)
    expect(joined.mapping.content).not.toContain('1234567893')
  })

  it('is that of the same date, else the last', async () => {
    const npi = ['1234567893', '1245319599', '1003000126']
    for (const [at, day] of ['20260101', '20260102', '20260103'].entries()) {
      await deliver(`visits_${day}.csv`, 'Id,PATIENT,PROVIDER\n1,ann,d1\n')
      if (at < 2) await deliver(`providers_${day}.csv`, `Id,NAME,CITY,NPI\nd1,Reed,,${npi[at]}\n`)
    }
    const dated = load(CSV.replace('providers*.csv*', 'providers_{date:yyyyMMdd}.csv'))
    const visits = (await arrival.look(source({ match: 'visits_{date:yyyyMMdd}.csv' }), Date.now())).complete
    const of = async (mapping: LoadedMapping, at: number): Promise<unknown> => {
      const found = visits[at] ?? expect.fail('no such delivery')
      const [one] = await arrival.receive(found)
      if (one === undefined) return expect.fail('nothing received')
      return codeOf(joinExports(mapping, one.name, one.beside).then((all) => records(all.mapping, one.file)))
    }
    expect(await of(dated, 0)).toEqual([`seen ${npi[0]} Reed`])
    expect(await of(dated, 1)).toEqual([`seen ${npi[1]} Reed`])
    expect(await of(dated, 2)).toMatchObject({ code: 'export-join-missing' })
    expect(await of(load(CSV), 0)).toEqual([`seen ${npi[1]} Reed`])
  })

  it('comes out of the archive that the first came out of, or lies beside it', async () => {
    const archive = new ZipFile()
    archive.addBuffer(Buffer.from(VISITS), 'out/visits.csv')
    archive.addBuffer(Buffer.from(PROVIDERS), 'more/providers.csv')
    archive.end()
    await pipeline(archive.outputStream, createWriteStream(join(folder, 'both.zip')))
    const inside = await receive({ match: '*.zip', members: 'visits*.csv' })
    expect(
      await records((await joinExports(load(CSV), inside.name, inside.beside)).mapping, inside.file),
    ).toEqual(SEEN)
    await arrival.clearUnpacked()
    const alone = new ZipFile()
    alone.addBuffer(Buffer.from(VISITS), 'visits.csv')
    alone.end()
    await pipeline(alone.outputStream, createWriteStream(join(folder, 'both.zip')))
    const packed = new ZipFile()
    packed.addBuffer(Buffer.from(PROVIDERS), 'p.csv')
    packed.end()
    await pipeline(packed.outputStream, createWriteStream(join(folder, 'providers.csv.zip')))
    const beside = await receive({ match: 'both.zip', members: 'visits*.csv' })
    expect(
      await records((await joinExports(load(CSV), beside.name, beside.beside)).mapping, beside.file),
    ).toEqual(SEEN)
  })

  it('is verified by the checksum file that lies beside it', async () => {
    const md5 = (text: string): string => createHash('md5').update(text).digest('hex')
    await deliver('visits.csv', VISITS)
    await deliver('visits.csv.md5', md5(VISITS))
    await deliver('providers.csv', PROVIDERS)
    const one = await receive({ match: 'visits.csv', verify: { checksum: '{name}.md5' } })
    const joined = (): Promise<unknown> => codeOf(joinExports(load(CSV), one.name, one.beside))
    expect(await joined()).toMatchObject({ texts: { size: 1 } })
    await deliver('providers.csv.md5', md5(PROVIDERS))
    const verified = await receive({ match: 'visits.csv', verify: { checksum: '{name}.md5' } })
    expect(await codeOf(joinExports(load(CSV), one.name, verified.beside))).toMatchObject({
      texts: { size: 1 },
    })
    await deliver('providers.csv', `${PROVIDERS} `)
    expect(await codeOf(joinExports(load(CSV), one.name, verified.beside))).toMatchObject({
      code: 'export-not-as-announced',
    })
  })

  it('is not taken while it is under way', async () => {
    await deliver('visits.csv', VISITS)
    const providers = await deliver('providers.csv', PROVIDERS)
    await utimes(join(folder, 'visits.csv'), 1, 1)
    // By the clock of the test, which may be shifted.
    await utimes(providers, Date.now() / 1_000, Date.now() / 1_000)
    const rules = { match: 'visits.csv', complete: { stableFor: 600_000 } }
    const young = await receive(rules)
    expect(await codeOf(joinExports(load(CSV), young.name, young.beside))).toMatchObject({
      code: 'export-join-missing',
    })
    await utimes(providers, 1, 1)
    const one = await receive(rules)
    expect(await codeOf(joinExports(load(CSV), one.name, one.beside))).toMatchObject({ texts: { size: 1 } })
  })

  it.each([
    [
      'is missing',
      {},
      { code: 'export-join-missing', message: 'There is no providers*.csv* beside visits.csv.' },
    ],
    [
      'has a key twice',
      { 'providers.csv': `${PROVIDERS}d1,Other,,,\n` },
      { code: 'export-join-unusable', place: { line: 5 }, message: expect.stringContaining('same key') },
    ],
    [
      'has a row that cannot be read',
      { 'providers.csv': `${PROVIDERS}d3,Other\n` },
      { code: 'export-join-unusable', place: { line: 5 } },
    ],
    [
      'lacks a column',
      { 'providers.csv': 'Id,NAME,NPI\nd1,Reed,1234567893\n' },
      {
        code: 'columns-missing',
        message: expect.stringContaining('has no column "CITY", which the join doctors'),
      },
    ],
    [
      'has too many rows',
      {
        'providers.csv': `Id,NAME,CITY,NPI\n${Array.from({ length: 200_001 }, (_, at) => `${at},,,\n`).join('')}`,
      },
      { code: 'export-join-unusable', message: expect.stringContaining('200,000 rows') },
    ],
  ])('is refused where it %s; no content is told', async (_what, files, expected) => {
    await deliver('visits.csv', VISITS)
    for (const [name, text] of Object.entries(files)) await deliver(name, text)
    const one = await receive({ match: 'visits.csv' })
    const error = await codeOf(joinExports(load(CSV), one.name, one.beside))
    expect(error).toMatchObject(expected)
    expect(String(error)).not.toMatch(/Reed|Other|d1/)
  })

  it('may have the same row twice, and rows that differ in what is not read', async () => {
    await deliver('visits.csv', VISITS)
    await deliver('providers.csv', `${PROVIDERS}d1,Reed,Hope,1234567893,another note\n`)
    const file = join(folder, 'visits.csv')
    expect(await records(await joinSample(load(CSV), file), file)).toEqual(SEEN)
  })

  it('is not taken for empty where it was not read', () => {
    const { compiled } = load(CSV)
    expect(refusalOf(() => compiled.bind(['Id', 'PATIENT', 'PROVIDER'], 'x.csv', 0)).code).toBe(
      'export-join-missing',
    )
  })

  it('of JSON is a document, a path leads into it, and the key may be any field', async () => {
    const mapping = load(`mapping: teams
read: { format: ndjson, each: { participant: "$.participant[*]" } }
${ROW('$.')}
joins:
  doctors:
    export: "Practitioner*.ndjson"
    read: { format: ndjson }
    key: "$.id"
    on: { from: participant.member.reference, extract: "([^/:]+)$" }
careTeams:
  - when: { participant.member.reference: { matches: "Practitioner/|^urn:" } }
    npi: doctors.identifier[?@.system == 'npi'].value
    name: { concat: ["doctors.name[0].given[0]", "doctors.name[0].family"], separator: " " }
`)
    const doctor = (id: string, npi: string | undefined, family: string): string =>
      `${JSON.stringify({
        id,
        identifier: [
          { system: 'other', value: 1 },
          ...(npi === undefined ? [] : [{ system: 'npi', value: npi }]),
        ],
        name: [{ given: ['Ann', 'B.'], family }],
      })}\n`
    await deliver('Practitioner.1.ndjson', doctor('7', '1234567893', 'Reed') + doctor('8', undefined, 'Lane'))
    const references = [
      'Practitioner/7',
      'https://x.example/fhir/Practitioner/7',
      'urn:uuid:7',
      'Patient/9',
      'Practitioner/8',
    ]
    const participant = references.map((reference) => ({ member: { reference } }))
    const file = await deliver(
      'CareTeam.1.ndjson',
      `${JSON.stringify({ Id: 1, PATIENT: 'ann', participant })}\n`,
    )
    expect(await records(await joinSample(mapping, file), file)).toEqual([
      'care-team-1 1234567893 Ann Reed',
      'care-team-2 1234567893 Ann Reed',
      'care-team-3 1234567893 Ann Reed',
      'care-team-4 npi-missing',
    ])
  })
})

describe('a run that is resumed', () => {
  it('maps with what it was joined with, whatever lies there now; else with what is still the same; else not', async () => {
    const file = await deliver('visits.csv', VISITS)
    await deliver('providers.csv', PROVIDERS)
    const one = await receive({ match: 'visits.csv' })
    const { mapping, texts } = await joinExports(load(CSV), one.name, one.beside)
    for (const [sha256, text] of texts) await arrival.keep(sha256, text)
    const [sha256 = ''] = texts.keys()
    expect((await stat(join(folder, 'spool', 'kept', sha256))).mode & 0o777).toBe(0o600)

    await deliver('providers.csv', PROVIDERS.replace('Reed', 'Wolf'))
    const again = await rejoin(mapping.content, one.name, arrival.kept, one.beside)
    expect([again.digest, await records(again, file)]).toEqual([mapping.digest, SEEN])

    const gone = async (): Promise<undefined> => undefined
    expect(await codeOf(rejoin(mapping.content, one.name, gone, one.beside))).toMatchObject({
      code: 'export-changed',
    })
    const damaged = async (): Promise<string> => '{}'
    await deliver('providers.csv', PROVIDERS)
    expect((await rejoin(mapping.content, one.name, damaged, one.beside)).digest).toBe(mapping.digest)

    await arrival.close(false)
    expect(await readdir(folder)).not.toContain('spool')
  })
})

describe('the kept text', () => {
  it('gives back every row', async () => {
    const cell = fc.string().map((text) => text.replaceAll(/["\r\n,\0]/g, '_').trim())
    const table = fc.uniqueArray(
      fc.tuple(
        cell.filter((key) => key !== ''),
        cell,
      ),
      { selector: ([key]) => key },
    )
    const mapping = load(
      CSV.replace('{ concat: [doctors.NAME, doctors.CITY], separator: ", " }', 'doctors.NAME'),
    )
    await fc.assert(
      fc.asyncProperty(table, async (rows) => {
        const file = await deliver('visits.csv', VISITS)
        await deliver(
          'providers.csv',
          `Id,NAME,NPI\n${rows.map(([key, name]) => `${key},${name},1\n`).join('')}`,
        )
        const one = await receive({ match: 'visits.csv' })
        const joined = await joinExports(mapping, one.name, one.beside)
        const copy = async (sha256: string): Promise<string | undefined> => joined.texts.get(sha256)
        const never = async (): Promise<undefined> => undefined
        const again = await rejoin(joined.mapping.content, one.name, copy, never)
        expect(again.resources.kept).toEqual(joined.mapping.resources.kept)
        expect(again.resources.kept?.get('doctors')?.rows.size).toBe(rows.length)
        expect(await records(again, file)).toEqual(await records(joined.mapping, file))
      }),
      { numRuns: 10 },
    )
  })
})
