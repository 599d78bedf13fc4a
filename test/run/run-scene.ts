/** A job of its own, its ledger and its inbox, and what a run of it is handed: by a clock that the test moves. */
import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { expect, onTestFinished } from 'vitest'
import { readJob, readMappings } from '../../src/definitions/definition-files.ts'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { createSizeLimits } from '../../src/load/batches.ts'
import { createDispatcher } from '../../src/load/dispatcher.ts'
import { type Arrival, createArrival } from '../../src/run/arrival.ts'
import { createRunEvents, type RunEvent } from '../../src/run/events.ts'
import { findExports } from '../../src/run/find-exports.ts'
import type { PlannedExports, RunPlan, World } from '../../src/run/plan.ts'
import { CLINIC } from '../cli/clinic.ts'
import { PROJECT } from '../cli/command-line.ts'
import { client } from '../gateway/loopback.ts'
import { IDENTITY } from '../load/made-up-entries.ts'
import { createMovedClock } from '../schedule/moved-clock.ts'
import { temporaryFolder } from '../temporary-folder.ts'

export const START = Date.UTC(2026, 2, 2)
const JOB = `job: clinic
exports: { from: ../inbox, match: "*.csv", mapping: clinic }
accounts: { register: never }
submit: { concurrency: 1, readLag: 100ms }
`
const never = new AbortController().signal

/** @param gateway where nothing is sent there need be none */
export async function openRunScene(gateway = 'http://127.0.0.1:9') {
  const folder = await temporaryFolder()
  const at = (...path: string[]): string => join(folder, ...path)
  await Promise.all(['inbox', 'jobs', 'mappings', 'home'].map((name) => mkdir(at(name))))
  await cp(join(PROJECT, 'mappings/catalog'), at('mappings/catalog'), { recursive: true })
  await writeFile(at('mappings/clinic.yaml'), CLINIC)
  await writeFile(at('jobs/clinic.yaml'), JOB)
  const [home, folders] = [at('home'), { jobs: at('jobs'), mappings: at('mappings') }]
  const ledger = await openLedger(join(home, 'ledger.sqlite'))
  onTestFinished(() => ledger.close())
  // Before the first records go to a gateway profiles are read.
  await ledger.installation.meet(gateway, 0)
  const clock = createMovedClock(START)
  /** Time passes by what is waited. */
  const sleep = async (ms: number, signal: AbortSignal): Promise<void> => {
    await turnOfTheLoop()
    signal.throwIfAborted()
    clock.pass(ms)
  }
  const told: RunEvent[] = []
  const job = await readJob(folders, 'clinic')
  const jobId = await ledger.jobs.id('clinic', gateway)
  /** As each process has one of its own. */
  const openArrival = (): Arrival => createArrival(at('spool'), {})
  const hold = async (id: string) => {
    const request = { jobId, runId: id, owner: 'here:1', now: clock.now(), ttlMs: 60_000 }
    const answer = await ledger.leases.acquire(request, () => true)
    return answer.ok ? answer.lease : expect.fail('the job is held')
  }
  /** A plan and its world, new or of the run that is there. */
  const prepare = async (id: string, more: Partial<World> = {}): Promise<[RunPlan, World]> => {
    const arrival = openArrival()
    const lease = await hold(id)
    const resumed = await ledger.runs.find(id)
    const wait = async (): Promise<void> => {}
    const found = await findExports(arrival, job, [], clock.now, { ledger, wait })
    const exports: PlannedExports =
      resumed === undefined
        ? { from: 'found', ...found, mappings: await readMappings(folders, job), acceptDrift: false }
        : { from: 'unfinished', run: resumed }
    return [
      { records: 'send', job, id, resumed, exports, limit: Number.POSITIVE_INFINITY },
      {
        ...{ ledger, gateway: client(gateway), gatewayName: gateway, identity: IDENTITY, folders, home },
        version: '0.1.0',
        dispatcher: createDispatcher({ now: clock.now, random: () => 0, sleep }),
        sizes: createSizeLimits(),
        ...{ minFree: 0, sources: {}, events: createRunEvents((event) => void told.push(event)) },
        ...{ now: clock.now, random: () => 0, sleep, newRunId: () => 'new', owner: 'here:1' },
        ...{ isDead: () => true, interrupt: never, arrival },
        held: { lease, lost: never, stopped: never, release: () => ledger.leases.release(lease) },
        ...more,
      },
    ]
  }
  return {
    ...{ ledger, clock, jobId, openArrival, prepare },
    inbox: at('inbox'),
    saidOf: <Type extends RunEvent['type']>(type: Type): Extract<RunEvent, { type: Type }>[] =>
      told.filter((event): event is Extract<RunEvent, { type: Type }> => event.type === type),
  }
}
