/** The metrics of last runs in a schedule are what the ledger knows, over a restart and whatever is done beside the schedule. */
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { watchJobs } from '../../src/runs/schedule-metrics.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const NIGHT = Date.parse('2026-03-02T07:15:00Z')
const DAY = 86_400_000

async function install() {
  const folder = await temporaryFolder()
  const ledger = await openLedger(join(folder, 'ledger.sqlite'))
  onTestFinished(() => ledger.close())
  const jobId = await ledger.jobs.id('nightly', 'gateway')
  const deps = { ledger, gatewayOf: () => 'gateway', home: folder, now: () => NIGHT + DAY }
  const logger = createLogger(
    { level: 'warn', form: 'text', print: (line) => expect.fail(line) },
    undefined,
    Date.now,
  )
  return {
    ledger,
    /** A schedule that has just been started. */
    start() {
      const metrics = createMetrics('1')
      const watched = watchJobs({ logger }, deps, metrics)
      return async (...names: string[]): Promise<string[]> => {
        await watched.listed(names.map((name) => ({ name })))
        const lines = (await metrics.text()).split('\n')
        return lines.filter((line) => /^waybill_last_run_(exit_code|timestamp)/.test(line))
      }
    },
    /** @param at when it ended */
    async run(id: string, at: number, reason: string | null): Promise<void> {
      const asked = { jobId, runId: id, owner: 'here:1', now: at, ttlMs: 1 }
      const answer = await ledger.leases.acquire(asked, () => true)
      if (!answer.ok) return expect.fail('held')
      const begun = {
        id,
        jobId,
        startedAt: at - 1_000,
        rejectsPath: `rejects/${id}`,
        receiptsPath: `receipts/${id}`,
      }
      const run = await ledger.runs.start(answer.lease, begun)
      const state = reason === null ? 'finished' : 'failed'
      await run.endRun({ state, endedAt: at, reason })
    },
    /** A fire whose run was refused. */
    async refused(due: number): Promise<void> {
      const timetable = { cron: '15 2 * * *', zone: 'America/New_York', seenUntil: due }
      await ledger.fires.comeDue(jobId, await ledger.fires.timetable(jobId), timetable, [due])
      const [fire = expect.fail('not due')] = await ledger.fires.open(jobId)
      const begun = await ledger.fires.move(fire, 'begin', { owner: 'here:1', begun_at: due })
      if (begun !== undefined)
        await ledger.fires.move(begun, 'end', { ended_at: due + 5_000, exit: 2, error: 'mapping-not-found' })
    },
  }
}

const lines = (exit: number, at: number): string[] => [
  `waybill_last_run_timestamp_seconds{job="nightly"} ${at / 1_000}`,
  `waybill_last_run_exit_code{job="nightly"} ${exit}`,
]

test('what a schedule could not run is known to the next one, until it could', async () => {
  const { start, run, refused } = await install()
  await run('run-1', NIGHT - DAY, null)
  expect(await start()('nightly')).toEqual(lines(0, NIGHT - DAY))
  await refused(NIGHT)
  expect(await start()('nightly')).toEqual(lines(2, NIGHT + 5_000))
  await run('run-2', NIGHT + 60_000, null)
  expect(await start()('nightly')).toEqual(lines(0, NIGHT + 60_000))
})

test('what is run beside the schedule is seen', async () => {
  const { start, run } = await install()
  await run('run-1', NIGHT, 'threshold-passed')
  const look = start()
  expect(await look('nightly')).toEqual(lines(4, NIGHT))
  await run('run-2', NIGHT + 60_000, null)
  expect(await look('nightly')).toEqual(lines(0, NIGHT + 60_000))
})

test('of a job that is gone nothing is told: no alert says for ever that its run is late', async () => {
  const { start, run } = await install()
  await run('run-1', NIGHT, null)
  const look = start()
  // One that has never run has a series all the same: an alert on its age holds.
  const never = 'waybill_last_run_timestamp_seconds{job="other"} 0'
  expect((await look('nightly', 'other')).toSorted()).toEqual([...lines(0, NIGHT), never].toSorted())
  expect(await look('other')).toEqual([never])
  expect((await look('other', 'nightly')).toSorted()).toEqual([...lines(0, NIGHT), never].toSorted())
})
