/** Runs as people name them, and the settling of what one left behind, under the lease of its job. */
import { once } from 'node:events'
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { RunState } from '../../src/ledger/states.ts'
import { WaybillError } from '../../src/model/errors.ts'
import { createRunEvents } from '../../src/run/events.ts'
import {
  type Amending,
  amendRun,
  assertNoneUnfinished,
  assertSameGateway,
  findRun,
  nameRun,
} from '../../src/runs/amend-run.ts'
import { beginExport, beginRun, openChunk, passingLedger, settleChunk } from '../ledger/begun-run.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const DAY = Date.parse('2026-03-05T10:00:00Z')
const RANGE = { from: '2026-01-01', to: '2026-01-31' }
type Start = Parameters<typeof beginRun>[2]

/** Runs that have ended, the newest last. */
async function withRuns(...ids: readonly string[]) {
  const ledger = await passingLedger()
  const run = async (
    id: string,
    start: Start = {},
    state: RunState = 'finished',
    chunks = 0,
    receiptsLength = 0,
  ): Promise<void> => {
    const begun = await beginRun(ledger, id, start)
    if (chunks > 0) {
      const exportRow = await beginExport(begun)
      for (let chunk = 1; chunk <= chunks; chunk++) await openChunk(begun, exportRow, chunk)
      if (receiptsLength > 0) await settleChunk(begun, exportRow, 1, { receiptsLength })
    }
    if (state !== 'running')
      await begun.endRun({ state, endedAt: 10, reason: state === 'finished' ? null : state })
    await ledger.leases.release(begun.lease)
  }
  for (const [at, id] of ids.entries()) await run(id, { startedAt: at })
  return { ledger, run }
}

const A = '20260302T071500Z-aaaa11'
const B = '20260302T071500Z-bbbb22'
const C = '20260303T071500Z-cccc33'
const D = '20250303T071500Z-dddd55'

test.each([
  ['latest', C],
  [A, A],
  ['bbbb22', B],
  ['20260303', C],
  ['2025', D],
])('%s names the run %s', async (name, expected) => {
  const { ledger } = await withRuns(D, A, B, C)
  expect((await nameRun(ledger, name)).id).toBe(expected)
})

test.each([
  ['202', 'there is no run 202'],
  ['dddd44', 'there is no run dddd44'],
  ['20260302', `several runs match 20260302: ${B}, ${A}`],
])('%s names no run: %s', async (name, message) => {
  const { ledger } = await withRuns(A, B, C)
  await expect(nameRun(ledger, name)).rejects.toMatchObject({ code: 'run-not-found', message })
})

test('an id names its run also where the ids of others contain it', async () => {
  const { ledger } = await withRuns('run-1', 'x-run-1')
  expect((await nameRun(ledger, 'run-1')).id).toBe('run-1')
})

test('the latest of no runs is refused with the command that starts one', async () => {
  const { ledger } = await withRuns()
  const refused = { code: 'run-not-found', message: 'there are no runs yet' }
  await expect(nameRun(ledger, 'latest')).rejects.toMatchObject(refused)
})

test('a run whose detail was pruned has a name, and nothing to settle', async () => {
  const { ledger } = await withRuns(A, B)
  expect((await findRun(ledger, A)).id).toBe(A)
  await ledger.pruning.mark(A, new Map(), DAY)
  expect((await nameRun(ledger, A)).id).toBe(A)
  const message = `the detail of run ${A} was pruned on 2026-03-05`
  await expect(findRun(ledger, A)).rejects.toMatchObject({ code: 'run-pruned', message })
})

test('a run of another gateway than that of the settings is refused, with both', async () => {
  const { ledger } = await withRuns(A)
  const run = await nameRun(ledger, A)
  expect(() => assertSameGateway(run, 'gateway')).not.toThrow()
  expect(() => assertSameGateway(run, 'https://other.test')).toThrow(
    `run ${A} used the gateway gateway, but the settings name https://other.test`,
  )
})

test.each<[string, RunState, Start, number, string | undefined, string | undefined]>([
  ['finished', 'finished', {}, 0, undefined, undefined],
  ['unfinished', 'interrupted', {}, 0, undefined, 'run other of the job nightly is not finished'],
  ['the run itself', 'interrupted', {}, 0, 'other', undefined],
  ['of another job', 'interrupted', { job: 'weekly' }, 1, undefined, undefined],
  ['a backfill without an open chunk', 'interrupted', { backfill: RANGE }, 0, undefined, undefined],
  [
    'a backfill with an open chunk',
    'interrupted',
    { backfill: RANGE },
    1,
    undefined,
    'the backfill other of the job nightly has open batches',
  ],
  ['the backfill itself', 'interrupted', { backfill: RANGE }, 1, 'other', undefined],
  ['a finished backfill', 'finished', { backfill: RANGE }, 0, undefined, undefined],
])('beside a run, the other is %s', async (_, state, start, chunks, except, message) => {
  const { ledger, run } = await withRuns(A)
  await run('other', start, state, chunks)
  const asserted = assertNoneUnfinished(ledger, await nameRun(ledger, A), except)
  if (message === undefined) await asserted
  else await expect(asserted).rejects.toMatchObject({ code: 'run-unfinished', message })
})

/** An amendment of run A, as the dependencies of a command make it. */
async function amending(start: Start = {}, state: RunState = 'finished', receiptsLength = 0) {
  const { ledger, run } = await withRuns()
  await run(A, start, state, Math.min(1, receiptsLength), receiptsLength)
  const home = await temporaryFolder()
  const interrupt = new AbortController()
  const named = await nameRun(ledger, A)
  const deps = {
    ...{ ledger, home, owner: 'here:2#boot.2', now: () => 20, isDead: () => false },
    ...{ interrupt: interrupt.signal, events: createRunEvents() },
    sleep: async () => Promise.reject(new Error('waits')),
  }
  const amend = <Result>(
    work: (parts: Amending) => Promise<Result>,
    notWhileItRuns?: (held: string) => WaybillError,
  ): Promise<Result> => amendRun(deps, named, work, notWhileItRuns)
  return { ledger, home, interrupt, amend, named, jobId: named.job_id }
}

const receiptsIn = async (path: string): Promise<unknown[]> => {
  const lines = gunzipSync(await readFile(path))
    .toString()
    .trim()
    .split('\n')
  return lines.map((line) => JSON.parse(line).transactionId)
}

const RECEIPT = { transactionId: 't-1', batchId: null, status: null }

test('each receipt is appended to the file of the run, which is closed behind the work, and the job is free', async () => {
  const { ledger, home, amend, named, jobId } = await amending()
  const path = join(home, named.receipts_path)
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const lengths: (number | undefined)[] = []
  const files = new Set<object>()
  await amend(async ({ receipt, receiptsFile }) => {
    expect(await receipt([])).toEqual({})
    await expect(stat(path)).rejects.toMatchObject({ code: 'ENOENT' })
    for (const transactionId of ['t-1', 't-2'])
      lengths.push((await receipt([{ ...RECEIPT, transactionId }])).receiptsLength)
    for (let times = 0; times < 2; times++) files.add(receiptsFile())
    expect(await ledger.leases.holder(jobId, 20, () => false)).toMatchObject({ run_id: A })
  })
  expect(files.size).toBe(1)
  const lines = gunzipSync(await readFile(path))
    .toString()
    .trim()
    .split('\n')
  expect(lines.map((line) => JSON.parse(line).transactionId)).toEqual(['t-1', 't-2'])
  expect(lengths[1]).toBe((await stat(path)).size)
  expect(await ledger.leases.holder(jobId, 20, () => false)).toBeUndefined()
})

test('a failed amendment frees the job, too', async () => {
  const { ledger, amend, jobId } = await amending()
  await expect(amend(() => Promise.reject(new Error('failed')))).rejects.toThrow('failed')
  expect(await ledger.leases.holder(jobId, 20, () => false)).toBeUndefined()
})

test('the work sees the run as it is under the lease, and refuses one that was pruned meanwhile', async () => {
  const { ledger, amend } = await amending({}, 'interrupted')
  const taken = await beginRunAgain(ledger)
  await taken.endRun({ state: 'failed', endedAt: 15, reason: 'threshold-passed' })
  await ledger.leases.release(taken.lease)
  expect(await amend(async ({ run }) => run.state)).toBe('failed')
  await ledger.pruning.mark(A, new Map(), DAY)
  await expect(amend(async () => {})).rejects.toMatchObject({ code: 'run-pruned' })
})

/** The interrupted run A, taken up again. */
async function beginRunAgain(ledger: Awaited<ReturnType<typeof passingLedger>>) {
  const jobId = await ledger.jobs.id('nightly', 'gateway')
  const asked = { jobId, runId: A, owner: 'here:1#boot.1', now: 10, ttlMs: 1_000, givesWay: false }
  const answer = await ledger.leases.acquire(asked, () => true)
  if (!answer.ok) throw new Error('the lease is held')
  return ledger.runs.resume(answer.lease, await nameRun(ledger, A), 10)
}

test.each([
  ['appended to', ['t-1'], ['t-0', 't-1']],
  ['looked at alone', [], ['t-0']],
])('what stands behind the receipts of the ledger goes, where the file is %s', async (_, more, expected) => {
  const known = gzipSync('{"transactionId":"t-0"}\n')
  const { home, amend, named } = await amending({}, 'finished', known.length)
  const path = join(home, named.receipts_path)
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await writeFile(path, Buffer.concat([known, Buffer.from('half of a receipt')]), { mode: 0o600 })
  await amend(async ({ receipt, receiptsFile }) => {
    receiptsFile()
    for (const transactionId of more) await receipt([{ ...RECEIPT, transactionId }])
  })
  expect(await receiptsIn(path)).toEqual(expected)
})

test('the signal of the work aborts when the lease is lost', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const { ledger, amend, jobId } = await amending()
  const asked = { jobId, runId: 'o', owner: 'here:3#boot.3', now: 20, ttlMs: 60_000, givesWay: false }
  await amend(async ({ signal }) => {
    expect((await ledger.leases.acquire(asked, () => true)).ok).toBe(true)
    const aborted = once(signal, 'abort')
    vi.advanceTimersByTime(60_000)
    await aborted
    expect(signal.reason).toMatchObject({ code: 'lease-lost' })
  })
})

test('the signal of the work aborts when the person interrupts', async () => {
  const { amend, interrupt } = await amending()
  await amend(async ({ signal }) => {
    expect(signal.aborted).toBe(false)
    interrupt.abort(new WaybillError('interrupted', 'by hand'))
    expect([signal.aborted, signal.reason]).toMatchObject([true, { code: 'interrupted' }])
  })
})

const itRuns = (held: string): WaybillError => new WaybillError('run-unfinished', `it runs: ${held}`)

test.each<[string, Start, RunState, string, boolean, string]>([
  ['itself is under way', {}, 'interrupted', A, false, 'run-unfinished'],
  ['is finished, and another is under way', {}, 'finished', 'other', false, 'job-held'],
  // A holder that gives way is about to take up the unfinished backfill.
  ['is an unfinished backfill', { backfill: RANGE }, 'interrupted', 'other', true, 'run-unfinished'],
  ['is a backfill that runs', { backfill: RANGE }, 'running', 'other', true, 'run-unfinished'],
])('an amendment while its run %s', async (_, start, state, runId, givesWay, code) => {
  const { ledger, amend, jobId } = await amending(start, state)
  const asked = { jobId, runId, owner: 'here:1#boot.1', now: 20, ttlMs: 60_000, givesWay }
  expect((await ledger.leases.acquire(asked, () => true)).ok).toBe(true)
  await expect(amend(async () => {}, itRuns)).rejects.toMatchObject({ code })
})

test('an amendment of a finished backfill waits for the one under way', async () => {
  const { ledger, amend, jobId } = await amending({ backfill: RANGE })
  const asked = { jobId, runId: 'o', owner: 'here:1#boot.1', now: 20, ttlMs: 60_000, givesWay: true }
  expect((await ledger.leases.acquire(asked, () => true)).ok).toBe(true)
  await expect(amend(async () => {}, itRuns)).rejects.toThrow('waits')
})
