/** Pruning of a ledger: the runs beside it, the edges of its age, the second job and mapping. */
import { expect, test } from 'vitest'
import type { Exception, Ledger } from '../../src/ledger/ledger.ts'
import { beginExport, beginRun, openChunk, passingLedger, settleChunk } from './begun-run.ts'

const LATER = 3_600_000

const NONE = {
  ...{ chunks: 0, batches: 0, exceptions: 0, decisions: 0, mappings: 0, profiles: 0 },
  ...{ fires: 0, notifications: 0, deliveries: 0, audit: 0, bytes: 0 },
}

const rejected = (row: number): Exception => ({
  ...{ row, line: row + 1, byteOffset: row, kind: null, rule: null, content: null, outcome: 'rejected' },
  ...{ stage: 'transform', code: 'date-invalid', field: null, message: 'm', batchId: null },
})

/** A run that is over. */
async function past(ledger: Ledger, id: string, more: Parameters<typeof beginRun>[2] = {}): Promise<void> {
  const run = await beginRun(ledger, id, more)
  await run.endRun({ state: 'finished', endedAt: 0, reason: null })
  await ledger.leases.release(run.lease)
}

test.each<[string, Parameters<typeof beginRun>[2], number, 'held' | undefined]>([
  ['of its job holds the lease', {}, 0, 'held'],
  ['of its job is running, though its lease has run out', {}, LATER, 'held'],
  ['of another job is running', { job: 'weekly' }, 0, undefined],
])('a run keeps its detail while another one %s', async (_what, other, now, because) => {
  const ledger = await passingLedger()
  await past(ledger, 'run-1')
  await beginRun(ledger, 'run-2', other)
  const fence = because && { by: 'run-2', because }
  expect(await ledger.pruning.fenceOf('run-1', now)).toEqual(fence)
  expect(await ledger.pruning.mark('run-1', new Map(), now)).toEqual(fence)
  expect(await ledger.pruning.removeSome('run-1', now)).toEqual(
    fence === undefined ? expect.anything() : undefined,
  )
})

test('a run keeps its detail until the run that took it up is pruned, too', async () => {
  const ledger = await passingLedger()
  await past(ledger, 'run-1')
  await past(ledger, 'run-2', { origin: { run: 'run-1', selection: 'rejected' } })
  expect(await ledger.pruning.mark('run-1', new Map(), LATER)).toEqual({
    by: 'run-2',
    because: 'referred-to',
  })
  expect((await ledger.runs.find('run-1'))?.pruned_at).toBeNull()
  expect(await ledger.pruning.mark('run-2', new Map(), LATER)).toBeUndefined()
  expect(await ledger.pruning.mark('run-1', new Map(), LATER)).toBeUndefined()
  expect((await ledger.runs.find('run-1'))?.pruned_at).toBe(LATER)
})

test.each([
  ['given-up', [2]],
  ['threshold-passed', []],
])('of a run that failed (%s) the chunks %j stay', async (reason, left) => {
  const ledger = await passingLedger()
  const run = await beginRun(ledger, 'run-1')
  const exportRow = await beginExport(run)
  for (const chunk of [1, 2]) await openChunk(run, exportRow, chunk)
  await settleChunk(run, exportRow, 1, { exceptions: [rejected(10)] })
  const holds = { kind: 'biometric', records: 1, holds: new Uint8Array(), at: 0 }
  const id = await run.beginBatch({ exportRow, chunk: 2, batchId: 'batch', ...holds })
  await run.settleBatch({
    ...{ id, exportRow, chunk: 2, answer: 'refused', status: 400, attempts: 1, accepted: new Uint8Array() },
    ...{ exceptions: [rejected(20)], held: [], at: 0 },
  })
  await run.endRun({ state: 'failed', endedAt: 0, reason })
  await ledger.leases.release(run.lease)
  await ledger.pruning.mark('run-1', new Map(), LATER)
  const gone = 2 - left.length
  const all = { exceptions: gone, batches: gone - 1, chunks: gone }
  expect(await ledger.pruning.detailOf('run-1')).toEqual({ ...NONE, ...all, bytes: expect.any(Number) })
  // Chunks go last, as the rest refers to them.
  for (const removed of [{ ...all, chunks: 0 }, { chunks: gone }, {}])
    expect(await ledger.pruning.removeSome('run-1', LATER)).toEqual({ ...NONE, ...removed })
  expect(await ledger.pruning.detailOf('run-1')).toEqual(NONE)
  expect((await ledger.chunks.ofExport(exportRow)).map(({ number }) => number)).toEqual(left)
  for (const chunk of [1, 2]) {
    const found = [
      await ledger.chunks.exceptions({ exportRow, chunk }),
      await ledger.chunks.batches({ exportRow, chunk }),
    ]
    const kept = left.includes(chunk) ? 1 : 0
    expect(found.map(({ length }) => length)).toEqual([kept, kept])
  }
})

test('fires, notifications and deliveries go by their age: what is exactly as old as asked for stays', async () => {
  const ledger = await passingLedger()
  const jobId = await ledger.jobs.id('nightly', 'gateway')
  const before = 1_000
  await ledger.fires.comeDue(jobId, undefined, { cron: '* * * * *', zone: 'UTC', seenUntil: before }, [
    ...[before - 1, before],
  ])
  for (const fire of await ledger.fires.open(jobId)) await ledger.fires.move(fire, 'skip')
  for (const at of [before - 1, before]) {
    const notice = { kind: 'run-ended', target: 't', address: 'a', notice: '{}' }
    await ledger.notifications.add(jobId, [{ messageId: `m${at}`, subject: `s${at}`, ...notice }], at)
    const claimed = (await ledger.notifications.claim(at, at)) ?? expect.fail('none is due')
    await ledger.notifications.move(claimed, 'deliver', { at })
    const run = await beginRun(ledger, `run-${at}`, { startedAt: at })
    const delivered = { address: `in/${at}`, name: `${at}`, bytes: 1, modifiedAt: at }
    await beginExport(run, { delivered })
    await ledger.leases.release(run.lease)
  }
  const counts = { ...NONE, fires: 1, notifications: 1, deliveries: 1, bytes: expect.any(Number) }
  const kept = { profiles: 0, deliveries: 0, auditSince: 0 }
  expect(await ledger.pruning.leftovers(kept, before, [])).toEqual(counts)
  expect(await ledger.pruning.removeLeftovers(kept, before)).toEqual(counts)
  expect((await ledger.fires.latest(jobId, 9)).map(({ due }) => due)).toEqual([before])
  expect((await ledger.expectations.taken('nightly', 'm', 9)).map(({ name }) => name)).toEqual([`${before}`])
  expect(await ledger.pruning.leftovers(kept, before, [])).toMatchObject({ fires: 0, deliveries: 0 })
})

const KEYS = [
  ['nightly', 'm'],
  ['nightly', 'n'],
  ['weekly', 'm'],
] as const

test('of what exports looked like, the latest of each job and mapping stay', async () => {
  const ledger = await passingLedger()
  for (const [job, mapping] of KEYS) {
    const run = await beginRun(ledger, `${job} ${mapping}`, { job })
    for (const [at, sha256] of ['a', 'b', 'c'].entries()) {
      const exportRow = await beginExport(run, { ordinal: at + 1, sha256 })
      await run.saveProfile(exportRow, { job, mapping, sha256, accepted: false, content: sha256 })
      await run.endExport(exportRow, 'finished')
    }
    await run.endRun({ state: 'finished', endedAt: 0, reason: null })
    await ledger.leases.release(run.lease)
  }
  const kept = { profiles: 2, deliveries: 9, auditSince: 0 }
  expect(await ledger.pruning.removeLeftovers(kept, 0)).toMatchObject({ profiles: KEYS.length })
  for (const [job, mapping] of KEYS) {
    const left = await ledger.profiles.latest({ job, mapping }, 9)
    expect(left.flatMap(({ content }) => (content === '' ? [] : [content]))).toEqual(['c', 'b'])
  }
})

test('of the files that runs began with, the latest of each job and mapping stay', async () => {
  const ledger = await passingLedger()
  let startedAt = 0
  for (const name of ['a', 'b', 'c'])
    for (const [job, mapping] of KEYS) {
      const run = await beginRun(ledger, `${job} ${mapping} ${name}`, { job, startedAt: ++startedAt })
      const delivered = { address: `in/${name}`, name, bytes: 1, modifiedAt: startedAt }
      await beginExport(run, { delivered, mapping: { name: mapping, digest: 'd', content: '{}' } })
      await ledger.leases.release(run.lease)
    }
  const kept = { profiles: 9, deliveries: 2, auditSince: 0 }
  expect(await ledger.pruning.removeLeftovers(kept, 99)).toMatchObject({ deliveries: KEYS.length })
  for (const [job, mapping] of KEYS) {
    const left = await ledger.expectations.taken(job, mapping, 9)
    expect(left.map(({ name }) => name)).toEqual(['c', 'b'])
  }
})
