/** What a run does for the second of several: exports, people, listeners, bodies, places. */
import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { ZipFile } from 'yazl'
import { ExportDefinition, jobSource } from '../../src/definitions/export-definition.ts'
import { fingerprint } from '../../src/extract/content.ts'
import { WaybillError } from '../../src/model/errors.ts'
import { createArrival } from '../../src/run/arrival.ts'
import { sourcesIn } from '../../src/run/backfill-range.ts'
import { writeBodies } from '../../src/run/collection-files.ts'
import { createRunEvents } from '../../src/run/events.ts'
import { bringExports, divideByContents, receiveBegun } from '../../src/run/exports-of-run.ts'
import { joinAndKeep } from '../../src/run/joined-exports.ts'
import { carryOut } from '../../src/runs/take-up.ts'
import { HEADER } from '../cli/clinic.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { load } from '../transform/mapping-under-test.ts'
import { openRunScene } from './run-scene.ts'

const ROW = 'ann,2026-03-02,61,5.1,70.5,kg,fine\n'

test('an event is prepared where any listener takes it, and told to each that does', () => {
  const told: string[] = []
  const events = createRunEvents({ runStarted: () => void told.push('one') }, {}).with({
    exportFailed: () => void told.push('two'),
  })
  expect(
    ['runStarted', 'exportFailed', 'exportNoted'].map((type) => events.has(type as 'runStarted')),
  ).toEqual([true, true, false])
  events.emit({ type: 'exportFailed', name: 'a', error: new WaybillError('export-empty', 'no') })
  expect(told).toEqual(['two'])
  expect(createRunEvents({}, () => {}).has('exportNoted')).toBe(true)
  expect(createRunEvents().has('exportNoted')).toBe(false)
})

test('exports of another folder are those of every source of the job, as they are', async () => {
  const folder = await temporaryFolder()
  const source = (match: string) =>
    jobSource(
      ExportDefinition.parse({
        ...{ from: 'inbox', match, mapping: 'm', archive: 'archive' },
        complete: { stableFor: '1m', marker: '{name}.done' },
        verify: { checksum: '{name}.sha256' },
      }),
      undefined,
      folder,
    )
  const elsewhere = join(folder, 'elsewhere')
  const found = sourcesIn([source('a*'), source('b*')], elsewhere)
  for (const [at, match] of ['a*', 'b*'].entries()) {
    const { place, ...rules } = found[at] ?? expect.fail('a source is gone')
    expect(place).toMatchObject({ shown: elsewhere, local: { archive: undefined } })
    expect(rules).toMatchObject({ from: elsewhere, match, mapping: 'm', stableForMs: 0, archived: false })
    expect([rules.marker, rules.manifest, rules.checksum]).toEqual([undefined, undefined, undefined])
  }
})

const JOINED = `mapping: visits
read: { format: csv }
row: { key: [Id], account: { reference: PATIENT }, observedAt: { constant: "2026-02-04T00:00:00Z" }, source: { name: N, type: t } }
joins:
  doctors: { export: "doctors.csv", read: { format: csv }, key: Id, on: A }
  places: { export: "places.csv", read: { format: csv }, key: Id, on: B }
careTeams:
  seen: { when: { doctors.NPI: present }, npi: doctors.NPI, name: places.NAME }
`

test('the texts of every join are kept before anything is read', async () => {
  const folder = await temporaryFolder()
  await writeFile(join(folder, 'visits.csv'), 'Id,PATIENT,A,B\n1,ann,d1,p1\n')
  await writeFile(join(folder, 'doctors.csv'), 'Id,NPI\nd1,1234567893\n')
  await writeFile(join(folder, 'places.csv'), 'Id,NAME\np1,Hope\n')
  const kept: string[] = []
  const keep = async (_sha256: string, text: string): Promise<void> => {
    await turnOfTheLoop()
    kept.push(text)
  }
  const arrival = createArrival(join(folder, 'spool'), {})
  onTestFinished(() => arrival.close(false))
  const definition = ExportDefinition.parse({ from: '.', match: 'visits.csv', mapping: 'visits' })
  const [found] = (await arrival.look(jobSource(definition, undefined, folder), Date.now())).complete
  const [received] = await arrival.receive(found ?? expect.fail('found no export'))
  await joinAndKeep({ keep }, load(JOINED), received ?? expect.fail('received no export'))
  expect(kept.map((text) => /1234567893|Hope/.exec(text)?.[0])).toEqual(['1234567893', 'Hope'])
})

test('each export that fails is told by its name, once, wherever it fails', async () => {
  const { ledger, prepare, saidOf, inbox } = await openRunScene()
  // By its columns, by its bytes, and for want of a row.
  await writeFile(join(inbox, 'a.csv'), 'no,such,columns\n1,2,3\n')
  await writeFile(join(inbox, 'b.csv'), Buffer.from('1f8b0800000000000000ff', 'hex'))
  await writeFile(join(inbox, 'c.csv'), HEADER)
  const { error } = await carryOut(...(await prepare('run')))
  expect(error).toBeUndefined()
  const exports = await ledger.exports.ofRun('run')
  expect(exports.map(({ ordinal, name, state }) => `${ordinal} ${name} ${state}`)).toEqual([
    ...['1 a.csv failed', '2 b.csv failed', '3 c.csv failed'],
  ])
  expect(saidOf('exportFailed').map(({ name, error: { code } }) => [name, code])).toEqual(
    exports.map(({ name, reason }) => [name, reason]),
  )
})

test('what a run has begun is not brought again, and what follows is counted on', async () => {
  const { prepare, inbox, openArrival } = await openRunScene()
  for (const name of ['a.csv', 'b.csv', 'c.csv']) await writeFile(join(inbox, name), HEADER + ROW)
  const [{ exports }] = await prepare('run')
  if (exports.from !== 'found') expect.fail('the run is not new')
  const begun = [
    { mapping: 'clinic', path: join(inbox, 'x.csv'), ordinal: 1 },
    { mapping: 'clinic', path: join(inbox, 'b.csv'), ordinal: 4 },
  ]
  const brought: string[] = []
  const events = createRunEvents()
  const all = bringExports(events, openArrival(), exports.found, exports.mappings, undefined, begun)
  for await (const { start } of all) brought.push(`${start.ordinal} ${start.name}`)
  expect(brought).toEqual(['5 a.csv', '6 c.csv'])
})

test('the file that a run began with is found where it lies by now, and no other of its name', async () => {
  const folder = await temporaryFolder()
  const paths = ['inbox/a.csv', 'moved/a.csv', 'archive/a.csv'].map((path) => join(folder, path))
  for (const name of ['inbox', 'moved', 'archive']) await mkdir(join(folder, name))
  const [path = '', moved = '', archived = ''] = paths
  const definition = { from: 'inbox', match: '*', mapping: 'm', archive: 'archive' }
  const sources = [jobSource(ExportDefinition.parse(definition), undefined, folder)]
  await writeFile(path, 'another\n')
  await writeFile(archived, 'the one\n')
  const { sha256 } = await fingerprint(archived)
  /** As each process looks anew. */
  const fileOf = async (known: string | null, wanted = sha256) => {
    const arrival = createArrival(join(folder, 'spool'), {})
    const found = await receiveBegun(arrival, sources, { path, sha256: wanted, archived: known })
    await arrival.close(false)
    return found?.file
  }
  expect(await fileOf(null)).toBe(archived)
  await writeFile(moved, 'the one\n')
  expect(await fileOf(moved)).toBe(moved)
  await writeFile(path, 'the one\n')
  expect(await fileOf(moved)).toBe(path)
  expect(await fileOf(moved, 'none')).toBeUndefined()
})

test('a delivery is done once all that it holds was taken under its name', async () => {
  const folder = await temporaryFolder()
  const at = (name: string): string => join(folder, name)
  await writeFile(at('a.csv'), 'one')
  await writeFile(at('b.csv'), 'one')
  const zip = new ZipFile()
  for (const name of ['1.csv', '2.csv']) zip.addBuffer(Buffer.from(name), name)
  zip.end()
  await pipeline(zip.outputStream, createWriteStream(at('c.zip')))
  const arrival = createArrival(join(folder, 'spool'), {})
  onTestFinished(() => arrival.close(false))
  const definition = ExportDefinition.parse({ from: '.', match: '*.*', members: '*.csv', mapping: 'm' })
  const { complete } = await arrival.look(jobSource(definition, undefined, folder), Date.now())
  const found = complete.map((one) => ({ ...one, mapping: 'm' }))
  const of = (text: string): string => createHash('sha256').update(text).digest('hex')
  const taken = [
    { path: at('a.csv'), sha256: of('one') },
    { path: `${at('c.zip')}!1.csv`, sha256: of('1.csv') },
  ]
  const divided = async (more: typeof taken = []) => {
    const { others, done } = await divideByContents(arrival, found, [...taken, ...more])
    return [done.map(({ delivery }) => delivery.name), others.map(({ delivery }) => delivery.name)]
  }
  expect(await divided()).toEqual([['a.csv'], ['b.csv', 'c.zip']])
  const rest = { path: `${at('c.zip')}!2.csv`, sha256: of('2.csv') }
  expect(await divided([rest])).toEqual([['a.csv', 'c.zip'], ['b.csv']])
  const { done } = await divideByContents(arrival, found, [...taken, rest])
  expect(done.map(({ hashes }) => hashes)).toEqual([[of('one')], [of('1.csv'), of('2.csv')]])
})

test('the body of each article is a file of its own, written anew in a second try', async () => {
  const folder = await temporaryFolder()
  const write = async (articles: readonly object[]) => {
    const lines = articles.map((one) => `${JSON.stringify(one)}\n`).join('')
    await writeFile(join(folder, 'articles.ndjson'), lines)
    return writeBodies(folder)
  }
  expect(await writeBodies(folder)).toEqual([])
  await write([{ id: 1, body: 'much longer' }])
  const written = await write([{ id: 1, body: 'short' }, { id: 'none' }, { id: 'two', body: '' }])
  expect(written.map(({ name, bytes }) => [name, bytes])).toEqual([
    ['bodies/1.html', 5],
    ['bodies/two.html', 0],
  ])
  expect(await readFile(join(folder, 'bodies/1.html'), 'utf8')).toBe('short')
})
