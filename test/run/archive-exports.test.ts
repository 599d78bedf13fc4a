/** Exports that are moved away after a run, and where the ledger says that they lie. */
import { existsSync } from 'node:fs'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ExportDefinition, jobSource } from '../../src/definitions/export-definition.ts'
import { WaybillError } from '../../src/model/errors.ts'
import { archiveResumed, archiveRun } from '../../src/run/archive-exports.ts'
import { createArrival } from '../../src/run/arrival.ts'
import { createRunEvents, type RunEvent } from '../../src/run/events.ts'
import { summarise } from '../../src/story/facts.ts'
import { BUILT_IN } from '../../src/system/settings.ts'
import { beginExport, beginRun, passingLedger } from '../ledger/begun-run.ts'
import { fault } from '../ledger/export-fault.ts'
import { temporaryFolder } from '../temporary-folder.ts'

type Archiving = Parameters<typeof archiveRun>[0]

type End = 'finished' | 'failed' | undefined

/** A run over these files of an inbox. @param files name → how the export ended, or each member of an archive */
async function ran(files: Readonly<Record<string, End | Readonly<Record<string, End>>>>) {
  const home = await temporaryFolder()
  const inbox = join(home, 'inbox')
  await mkdir(inbox)
  const definition = { from: 'inbox', match: '*', mapping: 'm', archive: 'archive' }
  const source = jobSource(ExportDefinition.parse(definition), undefined, home)
  const arrival = createArrival(join(home, 'spool'), {})
  const ledger = await passingLedger()
  const runLedger = await beginRun(ledger, 'run-1')
  let ordinal = 0
  const add = async (path: string, sha256: string, end: End): Promise<void> => {
    const exportRow = await beginExport(runLedger, { ordinal: ++ordinal, path: join(inbox, path), sha256 })
    if (end !== undefined)
      await runLedger.endExport(exportRow, end, end === 'failed' ? fault('export-empty') : undefined)
  }
  for (const [name, ends] of Object.entries(files)) {
    await writeFile(join(inbox, name), 'x')
    if (typeof ends !== 'object') await add(name, name, ends)
    else for (const [member, end] of Object.entries(ends)) await add(`${name}!${member}`, member, end)
  }
  const events: RunEvent[] = []
  const archiving: Archiving = {
    ...{ gatewayName: 'gateway', arrival, ledger, runLedger },
    events: createRunEvents((event) => void events.push(event)),
    interrupt: new AbortController().signal,
  }
  const found = (await arrival.look(source, Date.now())).complete.map((one) => ({ ...one, mapping: 'm' }))
  const summary = await summarise(ledger, home, 'run-1')
  return {
    ...{ ledger, archiving, found, summary, events },
    inbox: async () => (await readdir(inbox)).toSorted(),
    /** Where the ledger says that the exports lie, from the archive. */
    archived: async () => {
      const at = (await ledger.exports.ofRun('run-1')).map(({ archived }) => archived)
      for (const path of at) if (path !== null) expect(existsSync(path.replace(/!.*/, ''))).toBe(true)
      return at.map((path) => path?.replace(join(home, 'archive/'), '') ?? null)
    },
  }
}

test('what is finished goes to the archive, what failed or is open stays; an archive goes as a whole', async () => {
  const { archiving, found, summary, inbox, archived } = await ran({
    ...{ 'a.csv': 'finished', 'b.csv': 'failed', 'c.csv': undefined, 'd.csv': 'finished' },
    ...{ 'e.zip': { 'x.csv': 'finished', 'y/z.csv': 'finished' } },
    ...{ 'f.zip': { 'u.csv': 'finished', 'v.csv': 'failed' }, 'g.zip': {} },
  })
  await archiveRun(archiving, summary, found)
  // Of the last one nothing is written down: nobody has read it.
  expect(await inbox()).toEqual(['b.csv', 'c.csv', 'f.zip', 'g.zip'])
  expect(await archived()).toEqual([
    ...['a.csv', null, null, 'd.csv', 'e.zip!x.csv', 'e.zip!y/z.csv', null, null],
  ])
})

test('a delivery goes though one failed whose name begins like its own', async () => {
  const { archiving, found, summary, inbox, archived } = await ran({
    ...{ 'a.csv': 'finished', 'a.csv.2': 'failed', 'a.csv.zip': { 'x.csv': 'failed' } },
  })
  await archiveRun(archiving, summary, found)
  expect(await inbox()).toEqual(['a.csv.2', 'a.csv.zip'])
  expect(await archived()).toEqual(['a.csv', null, null])
})

test.each([
  ['refuses', false, ['a.csv']],
  ['is left by an interruption', true, []],
])('an archive that %s is told, and noted for a person only if it refuses', async (_, isLeft, noted) => {
  const { ledger, archiving, found, summary, events } = await ran({ 'a.csv': 'finished' })
  const interrupt = new AbortController()
  const archive = async () => {
    const error = new WaybillError('export-unreadable', 'it may not be written', { remedy: 'Open it.' })
    if (isLeft) interrupt.abort(error)
    throw error
  }
  const arrival = { ...archiving.arrival, archive }
  await archiveRun({ ...archiving, arrival, interrupt: interrupt.signal }, summary, found)
  expect(events).toMatchObject([{ type: 'exportNotArchived', name: 'a.csv' }])
  const matters = [...(await ledger.runs.openMatters()).values()]
  expect(matters.flatMap(({ unarchived }) => unarchived.map(({ name }) => name))).toEqual(noted)
})

test('who has lost the job to another process while halted moves nothing away: the other one may read it', async () => {
  const { ledger, archiving, found, summary, inbox, archived, events } = await ran({ 'a.csv': 'finished' })
  const [run] = await ledger.runs.list(1)
  const jobId = run?.job_id ?? expect.fail('no run')
  await ledger.leases.acquire({ jobId, runId: 'run-2', owner: 'there:2', now: 1, ttlMs: 60_000 }, () => true)
  await archiveRun(archiving, summary, found)
  expect([await inbox(), await archived()]).toEqual([['a.csv'], [null]])
  expect(events).toMatchObject([{ type: 'exportNotArchived', error: { code: 'lease-lost' } }])
})

test('of a run that was resumed a delivery goes once all that it holds is finished, by content', async () => {
  const { archiving, found, summary, inbox } = await ran({
    ...{ 'a.csv': 'finished', 'b.csv': 'failed' },
    ...{ 'e.zip': { 'x.csv': 'finished', 'y.csv': 'finished' } },
    ...{ 'f.zip': { 'u.csv': 'finished', 'v.csv': 'failed' } },
  })
  const hashes: Readonly<Record<string, readonly string[]>> = {
    ...{ 'a.csv': ['a.csv'], 'b.csv': ['b.csv'], 'e.zip': ['x.csv', 'y.csv'], 'f.zip': ['u.csv', 'v.csv'] },
  }
  const done = found.map((one) => ({ ...one, hashes: hashes[one.delivery.name] ?? [] }))
  await archiveResumed(archiving, summary, done)
  expect(await inbox()).toEqual(['b.csv', 'f.zip'])
})

test.each<[string, Partial<Archiving>]>([
  ['went to the stand-in', { gatewayName: BUILT_IN }],
  ['was interrupted', { interrupt: AbortSignal.abort(new WaybillError('interrupted', 'm')) }],
])('a run that %s moves nothing away', async (_what, change) => {
  const { archiving, found, summary, inbox, events } = await ran({ 'a.csv': 'finished', 'b.csv': 'finished' })
  await archiveRun({ ...archiving, ...change }, summary, found)
  expect(await inbox()).toEqual(['a.csv', 'b.csv'])
  expect(events).toEqual([])
})

test('a run that does not balance moves nothing away, nor what is not to be archived', async () => {
  const { archiving, found, summary, inbox } = await ran({ 'a.csv': 'finished', 'b.csv': 'finished' })
  await archiveRun(archiving, { ...summary, balanced: false }, found)
  expect(await inbox()).toEqual(['a.csv', 'b.csv'])
  const some = found.map((one) => ({ ...one, archived: one.delivery.name !== 'a.csv' }))
  await archiveRun(archiving, summary, some)
  expect(await inbox()).toEqual(['a.csv'])
})

test('an export that an unfinished run to another gateway has open stays, and is told; the others go', async () => {
  const { ledger, archiving, found, summary, inbox, archived, events } = await ran({
    ...{ 'a.csv': 'finished', 'b.csv': 'finished', 'c.zip': { 'x.csv': 'finished' } },
  })
  const jobId = await ledger.jobs.id('nightly', 'another')
  const request = { jobId, runId: 'run-2', owner: 'here:1', now: 0, ttlMs: 60_000 }
  const held = await ledger.leases.acquire(request, () => true)
  if (!held.ok) throw new Error('the lease is held')
  const start = { id: 'run-2', jobId, startedAt: 0, rejectsPath: 'r', receiptsPath: 'r' }
  const other = await ledger.runs.start(held.lease, start)
  const [a, , c] = await ledger.exports.ofRun('run-1')
  for (const [at, one] of [a, c].entries())
    await beginExport(other, { ordinal: at + 1, path: one?.path ?? '' })
  await archiveRun(archiving, summary, found)
  expect(await inbox()).toEqual(['a.csv', 'c.zip'])
  expect(await archived()).toEqual([null, 'b.csv', null])
  expect(events).toMatchObject([
    { type: 'exportNotArchived', name: 'a.csv', error: { code: 'run-unfinished' } },
    { type: 'exportNotArchived', name: 'c.zip', error: { code: 'run-unfinished' } },
  ])
})
