/** Exports of a run, one after another: brought, passed over, taken up again, selected from another run. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fingerprint } from '../../src/extract/content.ts'
import { asideContent, NONE_ASIDE } from '../../src/ledger/audit.ts'
import { WaybillError } from '../../src/model/errors.ts'
import {
  exportFault,
  receiveBegun,
  resumeExports,
  startExports,
  startSelected,
} from '../../src/run/exports-of-run.ts'
import { openRun } from '../../src/run/open-run.ts'
import { ANN, BEN, HEADER } from '../cli/clinic.ts'
import { openRunScene } from './run-scene.ts'

test.each([
  ['the remedy of its code', new WaybillError('export-empty', 'no rows'), null],
  ['a remedy of its own', new WaybillError('export-empty', 'no rows', { remedy: 'Ask them.' }), 'Ask them.'],
])('an export that failed keeps %s', (_, error, remedy) => {
  expect(exportFault(error)).toEqual({ reason: 'export-empty', detail: 'no rows', remedy })
})

test('of what an export failed by 500 characters are kept', () => {
  const kept = (length: number) =>
    exportFault(new WaybillError('export-empty', 'x'.repeat(length))).detail.length
  expect([kept(499), kept(500), kept(501)]).toEqual([499, 500, 500])
})

/** A run that is open, over the files of an inbox. */
async function scene(files: Readonly<Record<string, string | Buffer>>) {
  const one = await openRunScene()
  const { inbox, ledger, prepare, openArrival } = one
  const put = (name: string, text: string | Buffer) => writeFile(join(inbox, name), text)
  for (const [name, text] of Object.entries(files)) await put(name, text)
  const open = async (id: string) => {
    const [plan, world] = await prepare(id)
    const run = await openRun(plan, world)
    const { exports, job } = plan
    const memory = {
      ledger,
      job: 'clinic',
      rules: job.definition.drift,
      accept: false,
      mayStop: true,
      whole: true,
      now: 0,
    }
    const start = async (aside = NONE_ASIDE) => {
      if (exports.from !== 'found') expect.fail('the run is not new')
      const steps = []
      const { found, mappings } = exports
      for await (const step of startExports(run, openArrival(), found, mappings, memory, aside))
        steps.push(step)
      return steps
    }
    const resume = async () => {
      if (exports.from !== 'unfinished') expect.fail('the run is new')
      const steps = []
      const all = resumeExports(openArrival(), job.sources, ledger, exports.run, memory)
      for await (const step of all) steps.push(step)
      return steps
    }
    return { run, job, start, resume }
  }
  const exportsOf = async (id: string) =>
    (await ledger.exports.ofRun(id)).map(({ ordinal, name, state, reason }) =>
      [ordinal, name, state, ...(reason === null ? [] : [reason])].join(' '),
    )
  return { ...one, put, open, exportsOf }
}

test('each export has its place, in the ledger before it is read; one that fails leaves the others as they are', async () => {
  const files = {
    'a.csv': HEADER + ANN,
    'b.csv': Buffer.from('1f8b0800000000000000ff', 'hex'),
    'c.csv': HEADER + BEN,
    'd.csv': HEADER + BEN,
  }
  const { open, exportsOf, inbox, saidOf } = await scene(files)
  const { run, start } = await open('run')
  const steps = await start()
  expect(steps.map(({ record: { ordinal, path } }) => [ordinal, path])).toEqual([
    [1, join(inbox, 'a.csv')],
    [3, join(inbox, 'c.csv')],
    [4, join(inbox, 'd.csv')],
  ])
  expect(await exportsOf('run')).toEqual([
    '1 a.csv open',
    '2 b.csv failed export-unreadable',
    '3 c.csv open',
    '4 d.csv open',
  ])
  expect(saidOf('exportFailed').map(({ name, error: { code } }) => [name, code])).toEqual([
    ['b.csv', 'export-unreadable'],
  ])
  // Two files of one content are two exports.
  expect(steps[1]?.record.sha256).toBe(steps[2]?.record.sha256)
  await run.end(undefined)
})

test('an export that a person put aside is passed over and noted; the same content elsewhere, or another one there, is not', async () => {
  const { open, exportsOf, inbox, saidOf } = await scene({
    'a.csv': HEADER + ANN,
    'b.csv': HEADER + BEN,
    'c.csv': HEADER + ANN,
  })
  const { sha256 } = await fingerprint(join(inbox, 'a.csv'))
  const { run, start } = await open('run')
  const content = asideContent({ sha256 })
  await start(new Map(['a.csv', 'b.csv'].map((name) => [join(inbox, name), content])))
  expect(await exportsOf('run')).toEqual(['2 b.csv open', '3 c.csv open'])
  expect(saidOf('exportNoted').map(({ name }) => name)).toEqual(['a.csv'])
  await run.end(undefined)
})

const STOPPED = new WaybillError('interrupted', 'stopped')

test('exports that are open are taken up again, by the mapping that they began with: none that ended', async () => {
  const { open, inbox } = await scene({ 'a.csv': HEADER + ANN, 'b.csv': HEADER + BEN })
  const begun = await open('run')
  const [first = expect.fail('no export'), second] = await begun.start()
  await begun.run.runLedger.endExport(first.record.id, 'finished')
  await begun.run.end(STOPPED)
  const again = await open('run')
  const [step, more] = await again.resume()
  expect(more).toBeUndefined()
  expect(step?.record).toMatchObject({ id: second?.record.id, path: join(inbox, 'b.csv') })
  expect(step?.record.version).toBe(second?.record.version)
  expect(step?.mapping.name).toBe('clinic')
  expect(step?.watch).toBeDefined()
  await again.run.end(undefined)
})

test('an open export whose file is another one by now says which file to put back', async () => {
  const { open, put, inbox } = await scene({ 'a.csv': HEADER + ANN })
  const begun = await open('run')
  await begun.start()
  await begun.run.end(STOPPED)
  const { sha256 } = await fingerprint(join(inbox, 'a.csv'))
  await put('a.csv', HEADER + BEN)
  const again = await open('run')
  await expect(again.resume()).rejects.toMatchObject({
    code: 'export-changed',
    message: expect.stringContaining('at the start of run run'),
    remedy: expect.stringContaining(sha256),
  })
  await put('a.csv', HEADER + ANN)
  expect(await again.resume()).toHaveLength(1)
  await again.run.end(undefined)
})

test('rows of another run are read from its exports, in a decision that stands before anything is read', async () => {
  const { open, ledger, openArrival, exportsOf } = await scene({
    'a.csv': HEADER + ANN,
    'b.csv': HEADER + BEN,
  })
  const before = await open('one')
  const begun = await before.start()
  for (const { record } of begun) await before.run.runLedger.endExport(record.id, 'finished')
  await before.run.end(undefined)
  const arrival = openArrival()
  const chosen = []
  for (const { record, mapping } of begun) {
    const received = await receiveBegun(arrival, before.job.sources, record)
    chosen.push({ record, received: received ?? expect.fail('no file'), mapping })
  }
  const resolution = { run: 'one', decision: 'resend', by: 'Night desk', note: 'lost', at: 7 } as const
  const { run } = await open('two')
  const plan = { from: 'run', chosen, decided: { decisions: [], resolution } } as const
  const steps = []
  for await (const step of startSelected(run, plan)) {
    expect(await ledger.left.resolutions('one')).toMatchObject([resolution])
    steps.push(step)
  }
  expect(await exportsOf('two')).toEqual(['1 a.csv open', '2 b.csv open'])
  for (const [at, { record, watch }] of steps.entries()) {
    const { id, path, version, sha256 } = begun[at]?.record ?? expect.fail('one too many')
    expect(record).toMatchObject({ reading: 'selected', origin_export: id, path, version, sha256 })
    expect(watch).toBeUndefined()
  }
  await run.end(undefined)
})
