/** The plan of a backfill, by files that lie there and by what the ledger knows of earlier runs. */
import { hash } from 'node:crypto'
import { cp, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readJob } from '../../src/definitions/definition-files.ts'
import { fingerprint } from '../../src/extract/content.ts'
import type { BackfillRange } from '../../src/ledger/ledger.ts'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { noCounts } from '../../src/model/balance.ts'
import { createArrival } from '../../src/run/arrival.ts'
import { type BackfillPlan, planBackfill } from '../../src/runs/backfill-plan.ts'
import { CLINIC, HEADER } from '../cli/clinic.ts'
import { PROJECT } from '../cli/command-line.ts'
import { beginExport, openChunk, settleChunk } from '../ledger/begun-run.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const RANGE: BackfillRange = { from: '2026-01-01', to: '2026-01-03' }
const KEYS = { keyFile: undefined, passphraseFile: undefined, verifyKeyFile: undefined }

/** Three days, with 2, 3 and 4 rows. */
async function openInbox() {
  const folder = await temporaryFolder()
  const [jobs, mappings, inbox] = ['jobs', 'mappings', 'inbox'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ]
  await Promise.all([jobs, inbox].map((one) => mkdir(one)))
  await cp(join(PROJECT, 'mappings/catalog'), join(mappings, 'catalog'), { recursive: true })
  await writeFile(join(mappings, 'clinic.yaml'), CLINIC)
  const exports = 'exports: { from: ../inbox, match: "clinic_{date:yyyyMMdd}.csv" }'
  await writeFile(join(jobs, 'clinic.yaml'), `job: clinic\n${exports}\nmapping: clinic\n`)
  for (const day of [1, 2, 3]) {
    const rows = Array.from({ length: day + 1 }, (_, at) => `p${at},2026-01-0${day},61,5.1,70.5,kg,\n`)
    await writeFile(join(inbox, `clinic_2026010${day}.csv`), HEADER + rows.join(''))
  }
  const ledger = await openLedger(':memory:')
  onTestFinished(() => ledger.close())
  const job = await readJob({ jobs, mappings }, 'clinic')
  const jobId = await ledger.jobs.id('clinic', 'gateway')
  return {
    inbox,
    ledger,
    async begin(id: string, backfill?: BackfillRange) {
      const answer = await ledger.leases.acquire(
        { jobId, runId: id, owner: 'here:1', now: 0, ttlMs: 60_000 },
        () => true,
      )
      if (!answer.ok) return expect.fail('the job is held')
      const start = { id, jobId, startedAt: 0, rejectsPath: id, receiptsPath: id }
      const run = await ledger.runs.start(answer.lease, backfill ? { ...start, backfill } : start)
      return { run, release: () => ledger.leases.release(answer.lease) }
    },
    plan: (range: BackfillRange): Promise<BackfillPlan> =>
      planBackfill(
        {
          ...{ folders: { jobs, mappings }, home: folder, ledger, gateway: 'gateway', now: () => 0 },
          ...{ arrival: createArrival(join(folder, 'spool'), KEYS), onExport: () => {} },
        },
        job,
        range,
      ),
  }
}

interface Reading {
  readonly rows?: number
  readonly job?: string
  readonly gateway?: string
  readonly sha256?: string
  readonly reading?: 'whole' | 'selected'
  readonly state?: 'finished' | 'failed' | undefined
}
interface Before extends Reading {
  readonly before?: Reading
}

const exportOf = (name: string, path: string, ordinal = 1) => ({
  ...{ ordinal, exportId: 'e', name, path, sha256: hash('sha256', name), bytes: 1 },
  mapping: { name: 'clinic', digest: 'd', content: '{}' },
})

test('how long it takes goes by every request of earlier runs, those that read profiles, too', async () => {
  const { begin, plan } = await openInbox()
  const { run, release } = await begin('run-1')
  const { id: exportRow } = await run.addExport(exportOf('before.csv', '/before.csv'))
  await run.openChunk(exportRow, { number: 0, firstRow: 1, firstLine: 2, byteOffset: 0, rows: 10 })
  const counts = noCounts()
  Object.assign(counts.rows, { read: 10, mapped: 10 })
  Object.assign(counts.records.biometric, { made: 30, accepted: 30 })
  run.tallies.requests = { sent: 10, retried: 5, readBack: 30 }
  await run.settleChunk({
    ...{ exportRow, chunk: 0, counts: JSON.stringify(counts), receiptsLength: 0, rejectsLength: 0 },
    ...{ delivered: [], held: [], exceptions: [], at: 1_000, tallies: {} },
    arrival: 1,
  })
  await run.endExport(exportRow, 'finished')
  await run.endRun({ state: 'finished', endedAt: 1_000, reason: null })
  await release()
  // 40 requests of ten rows: four for each of nine, at two a second.
  expect((await plan({ ...RANGE, rate: 2 })).estimate).toMatchObject({ seconds: 18, limitedByRate: true })
})

test('what an unfinished backfill of the range is through with is told apart from what is left to read', async () => {
  const { inbox, begin, plan } = await openInbox()
  const { run, release } = await begin('run-1', RANGE)
  for (const day of [1, 2]) {
    const name = `clinic_2026010${day}.csv`
    const { id } = await run.addExport(exportOf(name, join(inbox, name), day))
    await run.endExport(id, 'finished')
  }
  await run.endRun({ state: 'interrupted', endedAt: 1_000, reason: 'interrupted' })
  await release()
  const { rows, exports, unfinished } = await plan(RANGE)
  expect(rows).toBe(9)
  expect(exports.map(({ rows: own, done }) => [own, done])).toEqual([
    [2, true],
    [3, true],
    [4, undefined],
  ])
  expect(unfinished).toEqual({ run: 'run-1', exports: 2, rows: 5 })
  expect((await plan({ ...RANGE, to: '2026-01-02' })).unfinished).toBeUndefined()
})

// The export of the first day has two rows.
test.each<[string, Before, boolean]>([
  ['read whole', {}, true],
  ['read whole, and more of it', { rows: 3 }, true],
  ['read in part, by a limit', { rows: 1 }, false],
  ['not read to the end', { state: undefined }, false],
  ['not readable', { state: 'failed' }, false],
  ['taken up by selected rows', { reading: 'selected' }, false],
  ['read by another job', { job: 'other' }, false],
  ['sent to another gateway', { gateway: 'elsewhere' }, false],
  ['another content', { sha256: 'f'.repeat(64) }, false],
  ['read whole by the second of two readings', { before: { rows: 1 } }, true],
])('an export was delivered before, or not: %s', async (_, { before, ...reading }, isDelivered) => {
  const { inbox, ledger, plan } = await openInbox()
  const { sha256, exportId } = await fingerprint(join(inbox, 'clinic_20260101.csv'))
  for (const [at, one] of [...(before === undefined ? [] : [before]), reading].entries()) {
    const { rows = 2, job = 'clinic', gateway = 'gateway', ...rest } = one
    const jobId = await ledger.jobs.id(job, gateway)
    const asked = { jobId, runId: `run-${at}`, owner: 'here:1', now: 0, ttlMs: 60_000 }
    const answer = await ledger.leases.acquire(asked, () => true)
    if (!answer.ok) return expect.fail('the job is held')
    const start = { id: `run-${at}`, jobId, startedAt: 0, rejectsPath: 'r', receiptsPath: 'r' }
    const run = await ledger.runs.start(answer.lease, start)
    const same = { exportId, sha256: rest.sha256 ?? sha256, reading: rest.reading ?? 'whole' } as const
    const exportRow = await beginExport(run, same)
    const counts = noCounts()
    await openChunk(run, exportRow, 1, rows)
    Object.assign(counts.rows, { read: rows, mapped: rows })
    await settleChunk(run, exportRow, 1, { counts: JSON.stringify(counts) })
    const state = 'state' in rest ? rest.state : 'finished'
    if (state !== undefined) await run.endExport(exportRow, state)
    await run.endRun({ state: 'finished', endedAt: 1, reason: null })
    await ledger.leases.release(answer.lease)
  }
  const { exports } = await plan(RANGE)
  expect(exports.map(({ deliveredBefore }) => deliveredBefore)).toEqual([isDelivered, false, false])
})
