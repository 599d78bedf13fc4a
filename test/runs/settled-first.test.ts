/** Work in flight that a dead process of the job's other run left: settled before anything else of the job is sent, or nothing else is. */
import { existsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { RunKind } from '../../src/ledger/ledger.ts'
import { WaybillError } from '../../src/model/errors.ts'
import { type SourceSettings, spoolFolder } from '../../src/run/arrival.ts'
import { findExports } from '../../src/run/find-exports.ts'
import { carryOut, type Holding, whileHeld } from '../../src/runs/take-up.ts'
import type { JobEnd } from '../../src/story/run-story.ts'
import { HEADER } from '../cli/clinic.ts'
import { openChunk } from '../ledger/begun-run.ts'
import { openRunScene } from '../run/run-scene.ts'

const STOPPED = new WaybillError('interrupted', 'its process has died')
/** Of nobody: nothing of it is sent. */
const ROW = ',2026-03-02,61,5.1,70.5,kg,fine\n'

/**
 * A run of the job that is of the given kind and not finished, of a file of three rows at a server of files.
 * @param open its first row is under way
 */
async function leave(kind: RunKind, open = true) {
  const scene = await openRunScene()
  const { ledger, jobId } = scene
  const file = join(scene.inbox, 'day.csv')
  await writeFile(file, HEADER + ROW.repeat(3))
  const [plan, world] = await scene.prepare('left')
  /** Sources that were opened, and their state. */
  const sources: ('open' | 'closed')[] = []
  const waits: ((signal: AbortSignal | undefined) => Promise<unknown>)[] = []
  const [source] = plan.job.sources
  if (source === undefined || plan.exports.from !== 'found') return expect.fail('no source')
  const place: typeof source.place = {
    ...source.place,
    async open(settings: SourceSettings) {
      const at = sources.push('open') - 1
      const opened = await source.place.open(settings)
      await waits.shift()?.(settings.signal)
      const close = async (): Promise<void> => {
        await turnOfTheLoop()
        await opened.close()
        sources[at] = 'closed'
      }
      return { ...opened, address: (name) => `sftp://vendor/${name}`, close }
    },
  }
  const job = { ...plan.job, sources: [{ ...source, place }] }
  const wait = async (): Promise<void> => {}
  const arrival = scene.openArrival()
  const found = await findExports(arrival, job, [], world.now, { ledger, wait })
  const turn = async (): Promise<never> => {
    throw STOPPED
  }
  const backfill = { from: '2026-03-01', to: '2026-03-02' }
  const begun = { ...plan, job, exports: { ...plan.exports, ...found } }
  await carryOut({ ...begun, ...(kind === 'backfill' && { backfill }) }, { ...world, arrival, turn })
  const [record] = await ledger.exports.ofRun('left')
  if (open) await openChunk(ledger.runs.amend(world.held.lease), record?.id ?? 0, 1)
  await world.held.release()
  sources.length = 0
  const states = async (): Promise<string[]> =>
    (await ledger.chunks.ofRun('left')).map(({ number, state }) => `${number} ${state}`)
  const spooled = join(spoolFolder(world.home, jobId, kind), 'fetched.csv')
  await mkdir(spoolFolder(world.home, jobId, kind), { recursive: true })
  await writeFile(spooled, 'a')
  return { ...scene, ...{ job, world, file, states, sources, waits, spooled } }
}

const ENDED = { exit: 0 } as unknown as JobEnd

test.each<[string, boolean, RunKind]>([
  ['a backfill', true, 'ordinary'],
  ['an ordinary run', false, 'backfill'],
])(
  'before %s begins, the row under way is settled, no other is begun, and the other run goes on later',
  async (_, givesWay, other) => {
    const { job, world, ledger, states, sources, saidOf, spooled, jobId } = await leave(other)
    let begun: unknown
    const work = async ({ runId }: Holding): Promise<JobEnd> => {
      begun = { runId, states: await states(), sources: [...sources] }
      return ENDED
    }
    expect(await whileHeld(world, job, givesWay, work)).toBe(ENDED)
    expect(begun).toEqual({ runId: 'new', states: ['1 settled'], sources: ['closed'] })
    expect(saidOf('runStarted').at(-1)).toMatchObject({ id: 'left', resumed: true, settledOnly: true })
    const left = await ledger.runs.find('left')
    expect(left).toMatchObject({ state: 'interrupted', reason: 'gave-way' })
    expect((await ledger.runs.unfinished(jobId, other))?.id).toBe('left')
    // What was fetched is needed by the process that resumes the run.
    expect(existsSync(spooled)).toBe(true)
    expect(await ledger.leases.holder(jobId, 0, () => false)).toBeUndefined()
  },
)

test('an unfinished run with nothing under way is left alone: its file is not looked for', async () => {
  const { job, world, ledger, file, sources, saidOf } = await leave('ordinary', false)
  await rm(file)
  expect(await whileHeld(world, job, true, async () => ENDED)).toBe(ENDED)
  expect([sources, saidOf('runStarted').length]).toEqual([[], 1])
  expect(await ledger.runs.find('left')).toMatchObject({ state: 'interrupted', reason: 'interrupted' })
})

test('an unfinished run of the own kind is left to the work', async () => {
  const { job, world, states } = await leave('ordinary')
  let begun: unknown
  const work = async (): Promise<JobEnd> => {
    begun = await states()
    return ENDED
  }
  expect(await whileHeld(world, job, false, work)).toBe(ENDED)
  expect(begun).toEqual(['1 open'])
})

test('where the row under way cannot be settled, nothing else begins, and the end says why', async () => {
  const { job, world, ledger, file, states, sources, spooled, jobId } = await leave('ordinary')
  await rm(file)
  const end = await whileHeld(world, job, true, () => expect.fail('began'))
  expect(end).toMatchObject({ exit: 2, error: { code: 'export-changed' }, summary: { run: 'left' } })
  expect([await states(), sources, existsSync(spooled)]).toEqual([['1 open'], ['closed'], true])
  expect(await ledger.leases.holder(jobId, 0, () => false)).toBeUndefined()
})

test.each<[string, RunKind]>([
  ['to settle a backfill', 'backfill'],
  ['for its own work', 'ordinary'],
])('who loses the job stops fetching, %s', async (_, kind) => {
  const { job, world, ledger, waits, jobId } = await leave(kind)
  const losing = { ...world, ledger: { ...ledger, leases: { ...ledger.leases, lastsMs: 4 } } }
  let reason: unknown
  waits.push(async (signal) => {
    const asked = { jobId, runId: 'other', owner: 'there:3', now: world.now(), ttlMs: 60_000 }
    await ledger.leases.acquire(asked, () => true)
    await new Promise((lost) => signal?.addEventListener('abort', lost))
    reason = signal?.reason
  })
  const work = async ({ arrival }: Holding): Promise<JobEnd> => {
    for (const one of job.sources) await arrival.look(one, world.now())
    return ENDED
  }
  await whileHeld(losing, job, false, work).catch(() => {})
  expect(reason).toMatchObject({ code: 'lease-lost' })
})
