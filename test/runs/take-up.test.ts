/** Runs taken up again: exports that are looked for before anything begins, and the lease and files held meanwhile. */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type Job, readJob } from '../../src/definitions/definition-files.ts'
import type { JobSource } from '../../src/definitions/export-definition.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { WaybillError } from '../../src/model/errors.ts'
import { type Arrival, spoolFolder } from '../../src/run/arrival.ts'
import { createRunEvents, type RunDependencies } from '../../src/run/events.ts'
import { carryOut, type Holding, rerunJob, takeUp, whileHeld } from '../../src/runs/take-up.ts'
import type { JobEnd } from '../../src/story/run-story.ts'
import { CLINIC, HEADER } from '../cli/clinic.ts'
import { beginExport, beginRun, passingLedger } from '../ledger/begun-run.ts'
import { openRunScene } from '../run/run-scene.ts'
import { temporaryFolder } from '../temporary-folder.ts'

/** Owner of the lease of `beginRun`. */
const GONE = 'here:1#boot.1'

const STOPPED = new WaybillError('interrupted', 'a person has stopped it')

interface Installed {
  readonly deps: RunDependencies
  readonly job: Job
  readonly home: string
  readonly looked: string[]
  readonly interrupt: () => void
}

/** @param parts of the job @param stopAt number of the export at which a person stops the look */
async function install(ledger: Ledger, parts = 1, stopAt?: number): Promise<Installed> {
  const home = await temporaryFolder()
  const folders = { jobs: join(home, 'jobs'), mappings: join(home, 'mappings') }
  for (const folder of [...Object.values(folders), join(home, 'in')]) await mkdir(folder)
  const job = 'job: nightly\nexports: { from: ../in, match: "*.csv", mapping: clinic }\n'
  await writeFile(join(folders.jobs, 'nightly.yaml'), job)
  await writeFile(join(folders.mappings, 'clinic.yaml'), CLINIC)
  const looked: string[] = []
  const interrupt = new AbortController()
  const read = await readJob(folders, 'nightly')
  const deps = {
    ...{ ledger, home, folders, gatewayName: 'gateway', sources: { sftpPassword: 'secret' } },
    ...{
      now: () => 9,
      sleep: async () => {},
      owner: 'here:2#boot.1',
      isDead: (owner: string) => owner === GONE,
    },
    ...{ interrupt: interrupt.signal, newRunId: () => 'run-2' },
    events: createRunEvents({
      lookingAgain(one) {
        looked.push(`${one.run} ${one.number} of ${one.of}`)
        if (one.number === stopAt) interrupt.abort(STOPPED)
      },
    }),
  } as unknown as RunDependencies
  return {
    ...{ deps, home, looked },
    job: { ...read, definition: { ...read.definition, parts } },
    interrupt: () => interrupt.abort(STOPPED),
  }
}

const ended = (error?: WaybillError): JobEnd => ({ error }) as unknown as JobEnd
const FAILED = new WaybillError('gateway-failing', 'away')

test.each<[string, boolean, () => JobEnd, boolean]>([
  ['a run that has ended', false, () => ended(), false],
  ['a backfill that has ended', true, () => ended(), false],
  ['a run that stopped early', false, () => ended(FAILED), true],
  ['a backfill that stopped early', true, () => ended(FAILED), true],
  [
    'a run that broke off',
    false,
    () => {
      throw FAILED
    },
    true,
  ],
])(
  '%s holds the job to its end, and keeps its fetched files only to be resumed',
  async (_, isBackfill, end, isKept) => {
    const ledger = await passingLedger()
    const order: string[] = []
    const watched = {
      ...ledger,
      leases: {
        ...ledger.leases,
        async release(...given: Parameters<Ledger['leases']['release']>) {
          await setImmediate()
          await ledger.leases.release(...given)
          order.push('released')
        },
      },
    }
    const { deps, job, home } = await install(watched)
    const jobId = await ledger.jobs.id('nightly', 'gateway')
    const spooled = (kind: 'ordinary' | 'backfill'): string =>
      join(spoolFolder(home, jobId, kind), 'fetched.csv')
    const work = async ({ arrival, runId }: Holding): Promise<JobEnd> => {
      await openSource(arrival, () => order.push('closed'))
      for (const kind of ['ordinary', 'backfill'] as const) {
        await mkdir(spoolFolder(home, jobId, kind), { recursive: true })
        await writeFile(spooled(kind), 'a')
      }
      order.push(`${runId} held by ${(await ledger.leases.holder(jobId, 9, () => false))?.owner}`)
      return end()
    }
    await whileHeld(deps, job, isBackfill, work).catch((error: unknown) => expect(error).toBe(FAILED))
    expect(order).toEqual(['run-2 held by here:2#boot.1', 'closed', 'released'])
    const [own, other] = isBackfill
      ? (['backfill', 'ordinary'] as const)
      : (['ordinary', 'backfill'] as const)
    expect([existsSync(spooled(own)), existsSync(spooled(other))]).toEqual([isKept, true])
  },
)

/** Opens a source without files. @returns the settings that it gets */
async function openSource(arrival: Arrival, onClose: () => void = () => {}): Promise<unknown> {
  let settings: unknown
  const place = {
    async open(given: unknown) {
      settings = given
      return { close: async () => setImmediate().then(onClose) }
    },
  }
  await arrival.look({ place } as unknown as JobSource, 9).catch(() => {})
  return settings
}

test('an interruption stops the sources of a run, which have the settings of the process', async () => {
  const { deps, job, interrupt } = await install(await passingLedger())
  const work = async ({ arrival }: Holding): Promise<JobEnd> => {
    const settings = await openSource(arrival)
    expect(settings).toMatchObject({ sftpPassword: 'secret', signal: { aborted: false } })
    interrupt()
    expect(settings).toMatchObject({ signal: { aborted: true } })
    return ended()
  }
  await whileHeld(deps, job, false, work)
})

test.each([
  [1, false, true],
  [2, false, false],
  [2, true, true],
])('a job with %s parts, its ledger shared by machines: %s; begins: %s', async (parts, isShared, begins) => {
  const ledger = await passingLedger()
  const { deps, job } = await install(isShared ? { ...ledger, paces: {} as never } : ledger, parts)
  const end = whileHeld(deps, job, false, async () => ended())
  if (begins) await end
  else await expect(end).rejects.toMatchObject({ code: 'usage-wrong' })
})

const TEXT = `${HEADER}ann,2026-03-02,,,,,\n`
const SHA256 = createHash('sha256').update(TEXT).digest('hex')

/** A run with two exports, of which the first is left behind. */
async function beginLeft(unfinished = false, stopAt?: number) {
  const ledger = await passingLedger()
  const installed = await install(ledger, 1, stopAt)
  const begun = await beginRun(ledger, 'run-1')
  const mapping = { name: 'clinic', digest: 'd', content: '{}' }
  for (const [at, name] of ['a.csv', 'b.csv'].entries()) {
    const path = join(installed.home, 'in', name)
    await writeFile(path, TEXT)
    await beginExport(begun, { ordinal: at + 1, exportId: name, name, path, sha256: SHA256, mapping })
  }
  if (!unfinished) await begun.endRun({ state: 'finished', endedAt: 1, reason: null })
  return { ...installed, ledger, run: (await ledger.runs.find('run-1')) ?? expect.fail('no run') }
}

test.each<[string, (left: Awaited<ReturnType<typeof beginLeft>>) => unknown, object, number]>([
  ['nothing left', () => 'none', { code: 'nothing-left' }, 2],
  [
    'an export that is gone',
    ({ home }) => rm(join(home, 'in/a.csv')),
    { code: 'export-gone', remedy: expect.stringContaining(SHA256) },
    1,
  ],
  [
    'an export with other content',
    ({ home }) => writeFile(join(home, 'in/a.csv'), HEADER),
    { code: 'export-gone' },
    1,
  ],
])('a run that meets %s is not taken up: no other run begins', async (_, meet, expected, looks) => {
  const left = await beginLeft()
  const { deps, job, run, ledger, looked } = left
  const taking = {
    ...({ run, selection: 'left-behind', mapping: 'today' } as const),
    // As the export is looked for, under the lease.
    concerned: async ([first]: readonly { readonly id: number }[]) =>
      new Set((await meet(left)) === 'none' || first === undefined ? [] : [first.id]),
  }
  await expect(takeUp(deps, job, taking)).rejects.toMatchObject(expected)
  expect(looked).toEqual(['run-1 1 of 2', 'run-1 2 of 2'].slice(0, looks))
  expect((await ledger.runs.list(9)).map(({ id }) => id)).toEqual(['run-1'])
})

test.each([1, 2])('a person stops the look at export %i of 2: no other run begins', async (stopAt) => {
  const { deps, job, run, ledger } = await beginLeft(false, stopAt)
  const concerned = async ([first]: readonly { readonly id: number }[]) => new Set(first && [first.id])
  const taking = { run, selection: 'left-behind', mapping: 'today', concerned } as const
  const remedy = 'Nothing was changed. Repeat the command.'
  await expect(takeUp(deps, job, taking)).rejects.toMatchObject({ code: 'interrupted', remedy })
  expect((await ledger.runs.list(9)).map(({ id }) => id)).toEqual(['run-1'])
})

test.each<[string, boolean, string, string]>([
  ['beside an unfinished one of the job', true, 'gateway', 'run-unfinished'],
  ['by a process with another gateway', false, 'other', 'gateway-differs'],
])('a run %s is refused before any export is looked for', async (_, unfinished, gatewayName, code) => {
  const { deps, job, run } = await beginLeft(unfinished)
  const concerned = () => expect.fail('looked')
  const taking = { run, selection: 'left-behind', mapping: 'today', concerned } as const
  await expect(takeUp({ ...deps, gatewayName }, job, taking)).rejects.toMatchObject({ code })
})

/** Of nobody, and without a value: with anybody's name it is mapped, and nothing of it is sent. */
const OF_NOBODY = ',2026-03-02,,,,,\n'

test.each<[string, 'today' | 'kept', object]>([
  ['the mapping that it has by now, wherever that lies', 'today', { read: 2, mapped: 2, rejected: 0 }],
  ['the mapping that it had', 'kept', { read: 2, mapped: 0, rejected: 2 }],
])('a run taken up reads the exports that are meant, and no other, by %s', async (_, mapping, rows) => {
  const { ledger, inbox, prepare } = await openRunScene()
  for (const name of ['a.csv', 'b.csv', 'c.csv']) await writeFile(join(inbox, name), HEADER + OF_NOBODY)
  const [plan, world] = await prepare('left')
  await carryOut(plan, world)
  await world.held.release()
  const elsewhere = join(world.folders.jobs, 'clinic.yaml')
  await rm(join(world.folders.mappings, 'clinic.yaml'))
  await writeFile(elsewhere, CLINIC.replace('reference: "id"', 'reference: "day"'))
  const [source = expect.fail('no source')] = plan.job.sources
  const job = { ...plan.job, sources: ['other', elsewhere].map((name) => ({ ...source, mapping: name })) }
  const run = (await ledger.runs.find('left')) ?? expect.fail('no run')
  const taking = {
    ...({ run, selection: 'left-behind', mapping } as const),
    concerned: async (all: readonly { readonly id: number; readonly name: string }[]) =>
      new Set(all.flatMap(({ id, name }) => (name === 'a.csv' ? [] : [id]))),
  }
  const end = await takeUp(world, job, taking)
  expect(end).toMatchObject({ summary: { run: 'new', origin: { run: 'left' }, rows } })
  expect((await ledger.exports.ofRun('new')).map(({ name }) => name)).toEqual(['b.csv', 'c.csv'])
})

test('a rerun takes the exports with rows left behind alone, and refuses a run that has none', async () => {
  const { ledger, inbox, prepare } = await openRunScene()
  await writeFile(join(inbox, 'a.csv'), `${HEADER}ann,2026-03-02,,,,,\n`)
  await writeFile(join(inbox, 'b.csv'), HEADER + OF_NOBODY)
  const [plan, world] = await prepare('left')
  await carryOut(plan, world)
  await world.held.release()
  const run = (await ledger.runs.find('left')) ?? expect.fail('no run')
  const end = await rerunJob(world, plan.job, run, 'left-behind')
  expect(end).toMatchObject({ exit: 1, summary: { run: 'new', rows: { read: 1, rejected: 1 } } })
  expect((await ledger.exports.ofRun('new')).map(({ name }) => name)).toEqual(['b.csv'])
  const again = rerunJob(world, plan.job, run, 'in-doubt')
  await expect(again).rejects.toMatchObject({ code: 'nothing-left' })
})
