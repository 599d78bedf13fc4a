/** How a run ends is told, whatever has become of the ledger meanwhile; and what is told is true. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createApplication } from '../../src/application.ts'
import type { Job } from '../../src/definitions/definition-files.ts'
import type { Target } from '../../src/definitions/notify-definition.ts'
import { noTallies } from '../../src/ledger/ledger.ts'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { WaybillError } from '../../src/model/errors.ts'
import { createRunEvents, type RunDependencies } from '../../src/run/events.ts'
import { begin, runFollowed } from '../../src/runs/begin.ts'
import { tellDeadRun } from '../../src/runs/run-notices.ts'
import { createTeller } from '../../src/runs/teller.ts'
import { gatherStory } from '../../src/story/facts.ts'
import type { JobEnd } from '../../src/story/run-story.ts'
import { readSettings } from '../../src/system/settings.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { SECRET, startHookServer } from '../notify/hook-server.ts'
import { UNSENT } from '../notify/sample-notice.ts'
import { temporaryFolder } from '../temporary-folder.ts'

async function install() {
  const folder = await temporaryFolder()
  await mkdir(join(folder, 'jobs'))
  const ledger = await openLedger(join(folder, 'ledger.sqlite'))
  const hook = await startHookServer()
  const lines: string[] = []
  let ids = 0
  const context = {
    settings: readSettings({ WAYBILL_WEBHOOK_SECRET: SECRET }, folder),
    logger: createLogger(
      { level: 'warn', form: 'text', print: (line) => lines.push(line) },
      undefined,
      Date.now,
    ),
    now: Date.now,
    sleep: async () => {},
    randomHex: () => String(++ids),
    owner: 'night-host:7',
    isDead: () => false,
    version: '0.0.0',
  }
  const target: Target = { webhook: `${hook.url}/`, on: 'failure', folder }
  return { folder, ledger, hook, lines, context, target }
}

/** No metrics of the last run. */
const UNCOUNTED = { tell: [], counts: () => false }

test('a run that ends as the ledger is gone is told, and not as one that was never begun', async () => {
  const { folder, ledger, hook, context, target } = await install()
  const teller = createTeller(context, ledger)
  const failure = new WaybillError('ledger-unusable', 'the ledger is damaged')
  const deps = {
    ...{ ledger, gatewayName: 'gateway', home: folder, now: Date.now, isDead: () => false },
    events: createRunEvents(),
  } as unknown as RunDependencies
  const job = {
    definition: { job: 'nightly', notify: [target] },
    file: join(folder, 'jobs/nightly.yaml'),
  } as unknown as Job
  const work = async (told: RunDependencies): Promise<JobEnd> => {
    const begun = { job: 'nightly', gateway: 'gateway', resumed: false, tallies: noTallies() }
    told.events.emit({ type: 'runStarted', id: 'run-1', ...begun })
    await ledger.close()
    throw failure
  }
  await expect(runFollowed(context, { teller, deps, job, refusals: true, ...UNCOUNTED, work })).rejects.toBe(
    failure,
  )
  expect(hook.titles()).toEqual(['waybill.run-stopped Waybill: nightly was stopped (ledger-unusable)'])
  const [told] = hook.received()
  expect(told?.data.details).toEqual({
    ...{ run: 'run-1', error: 'ledger-unusable', exit: 2 },
    ...{ host: 'night-host', home: context.settings.home },
  })
})

test('a strangely small export is told while the run is on', async () => {
  const { folder, ledger, hook, context, target } = await install()
  onTestFinished(() => ledger.close())
  const teller = createTeller(context, ledger, new Map([['nightly', [target]]]))
  const small = { name: 'a.csv', bytes: 12, modifiedAt: Date.UTC(2026, 2, 2, 6), usual: 100 }
  const deps = {
    ...{ ledger, gatewayName: 'gateway', home: folder, now: Date.now, isDead: () => false },
    events: createRunEvents(),
  } as unknown as RunDependencies
  const file = join(folder, 'jobs/nightly.yaml')
  const job = { definition: { job: 'nightly', notify: [target] }, file } as unknown as Job
  const over = new WaybillError('exports-none', 'what the run was waiting for has come')
  const work = async (told: RunDependencies): Promise<JobEnd> => {
    told.events.emit({ type: 'exportSmall', ...small, source: '/inbox/*.csv', mapping: 'm' })
    await vi.waitFor(() => expect(hook.titles()).toHaveLength(1), { timeout: 60_000 })
    throw over
  }
  await expect(runFollowed(context, { teller, deps, job, refusals: false, ...UNCOUNTED, work })).rejects.toBe(
    over,
  )
  expect(hook.titles()).toEqual(['waybill.export-small Waybill: nightly: a.csv has 12 % of the usual size'])
})

test.each([
  ['interrupted', ['waybill.run-stopped Waybill: nightly was stopped (interrupted)']],
  ['lease-lost', []],
] as const)('how a run ends is told by whoever has it by then: %s', async (code, titles) => {
  const { folder, ledger, hook, context, target } = await install()
  onTestFinished(() => ledger.close())
  const teller = createTeller(context, ledger, new Map([['nightly', [target]]]))
  const jobId = await ledger.jobs.id('nightly', 'gateway')
  const request = { jobId, runId: 'run-1', owner: 'here:1', now: Date.now(), ttlMs: 60_000 }
  const answer = await ledger.leases.acquire(request, () => false)
  if (!answer.ok) return expect.fail('held')
  const start = { id: 'run-1', jobId, startedAt: Date.now(), rejectsPath: 'r', receiptsPath: 'r' }
  await ledger.runs.start(answer.lease, start)
  const deps = {
    ...{ ledger, gatewayName: 'gateway', home: folder, now: Date.now, isDead: () => false },
    events: createRunEvents(),
  } as unknown as RunDependencies
  const file = join(folder, 'jobs/nightly.yaml')
  const job = { definition: { job: 'nightly', notify: [target] }, file } as unknown as Job
  const error = new WaybillError(code, 'it was stopped')
  const work = async (): Promise<JobEnd> => ({
    ...(await gatherStory({ ledger, home: folder }, 'run-1')),
    exit: error.exit,
    error,
  })
  await runFollowed(context, { teller, deps, job, refusals: true, ...UNCOUNTED, work })
  await teller.deliver()
  expect(hook.titles()).toEqual(titles)
})

test.each(['ends', 'takes up'])('a run that another process %s just then is not dead', async (how) => {
  const { ledger, hook, context, target } = await install()
  onTestFinished(() => ledger.close())
  const jobId = await ledger.jobs.id('nightly', 'gateway')
  const request = { jobId, runId: 'run-1', owner: 'there:1', now: Date.now(), ttlMs: 60_000 }
  const answer = await ledger.leases.acquire(request, () => false)
  if (!answer.ok) return expect.fail('held')
  const start = {
    id: 'run-1',
    jobId,
    startedAt: Date.now(),
    rejectsPath: 'rejects',
    receiptsPath: 'receipts',
  }
  const run = await ledger.runs.start(answer.lease, start)
  const end = async (state: 'finished' | 'interrupted'): Promise<void> => {
    await run.endRun({ state, endedAt: Date.now(), reason: null })
    await ledger.leases.release(answer.lease)
  }
  if (how === 'takes up') await end('interrupted')
  const moved = {
    ends: () => end('finished'),
    async 'takes up'() {
      const [record] = await ledger.runs.list(1)
      const again = await ledger.leases.acquire(request, () => false)
      if (!again.ok || record === undefined) return expect.fail('held')
      await ledger.runs.resume(again.lease, record, Date.now())
    },
  }[how]
  let asked = false
  const once = async (): Promise<void> => {
    if (!asked) await moved?.()
    asked = true
  }
  const between: typeof ledger = {
    ...ledger,
    runs: {
      ...ledger.runs,
      async unfinished(...given) {
        if (how === 'takes up') await once()
        const found = await ledger.runs.unfinished(...given)
        if (how === 'ends') await once()
        return found
      },
    },
  }
  const deps = { ledger: between, gatewayName: 'gateway', now: Date.now, isDead: () => false }
  const teller = createTeller(context, ledger, new Map([['nightly', [target]]]))
  await tellDeadRun(teller, deps, 'nightly', [target], true)
  await teller.deliver()
  expect(hook.titles()).toEqual([])
})

test('a job that is run by the path of its file is told to whom that names, though the jobs folder has one of its name', async () => {
  const { folder, ledger, hook, lines, context, target } = await install()
  onTestFinished(() => ledger.close())
  await writeFile(join(folder, 'jobs/nightly.yaml'), 'job: nightly\nnotify: { command: "true" }\n')
  const teller = createTeller(context, ledger, new Map([['nightly', [target]]]))
  await teller.tell({ ...UNSENT, job: 'nightly' }, [target])
  await teller.deliver()
  expect(lines).toEqual([])
  expect(hook.received()).toHaveLength(1)
})

test('what a run throws is told before it is thrown', async () => {
  const { folder, ledger, hook, target } = await install()
  await ledger.close()
  const settings = readSettings({ WAYBILL_WEBHOOK_SECRET: SECRET, WAYBILL_HOME: folder }, folder)
  const application = createApplication('0', settings, () => {}, new AbortController().signal)
  const job = { definition: { job: 'nightly', notify: [target] }, file: 'x' } as unknown as Job
  const failure = new WaybillError('mapping-invalid', 'the mapping has 1 problem')
  const work = (): Promise<JobEnd> => Promise.reject(failure)
  const beginning = { job, gateway: 'built-in', refusals: true, work }
  await expect(begin(application, { listener: {} }, beginning)).rejects.toBe(failure)
  expect(hook.titles()).toEqual(['waybill.run-refused Waybill: nightly was not run (mapping-invalid)'])
})
