/** Sources of the metrics of the last run: the ledger, by job and gateway. */
import { expect, onTestFinished, test } from 'vitest'
import type { Exception } from '../../src/ledger/ledger.ts'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { noCounts } from '../../src/model/balance.ts'
import { EXIT } from '../../src/model/errors.ts'
import { latestEnd } from '../../src/runs/last-run.ts'
import type { LastRun } from '../../src/telemetry/last-run-metrics.ts'

type Left = Pick<Exception, 'outcome' | 'stage' | 'code' | 'rule'>
const left = (outcome: Left['outcome'], stage: string, code: string, rule: string): Left => ({
  ...{ outcome, stage, code, rule },
})

/** `gauge labels` and its number. */
const numbersOf = ({ samples }: LastRun): Record<string, number> =>
  Object.fromEntries(
    samples.map(([gauge, labels, number]) => [[gauge, ...Object.values(labels)].join(' '), number]),
  )

/** The last run by its times, in milliseconds. */
const ended = (at: number, cleanAt: number, exit: number) => ({
  last_run_timestamp_seconds: at / 1000,
  last_clean_run_timestamp_seconds: cleanAt / 1000,
  last_run_exit_code: exit,
})

async function openJob() {
  const ledger = await openLedger(':memory:')
  onTestFinished(() => ledger.close())
  return {
    /** A fire that ended at that time without a run. */
    async refusedFire(endedAt: number) {
      const jobId = await ledger.jobs.id('job', 'gateway')
      const timetable = { cron: '* * * * *', zone: 'UTC', seenUntil: endedAt }
      const before = await ledger.fires.timetable(jobId)
      await ledger.fires.comeDue(jobId, before, timetable, [endedAt])
      const fire = (await ledger.fires.open(jobId))[0] ?? expect.fail('no fire is due')
      const begun = await ledger.fires.move(fire, 'begin', { owner: 'x:1', begun_at: endedAt })
      if (begun === undefined) return expect.fail('it is not running')
      await ledger.fires.move(begun, 'end', { ended_at: endedAt, exit: EXIT.wrongUse })
    },
    lastRun: async (gatewayName = 'gateway') => {
      const known = await latestEnd({ ledger, gatewayName, home: '/nowhere', now: () => 0 }, 'job')
      return known && numbersOf(await known.read())
    },
    /** A run that has ended. @param exceptions of its only chunk, one a row */
    async run(id: string, endedAt: number, exceptions: readonly Left[] = [], gateway = 'gateway') {
      const jobId = await ledger.jobs.id('job', gateway)
      const asked = { jobId, runId: id, owner: 'x:1', now: endedAt, ttlMs: 9 }
      const held = await ledger.leases.acquire(asked, () => true)
      if (!held.ok) return expect.fail('the job is held')
      const start = { id, jobId, startedAt: endedAt - 10, rejectsPath: id, receiptsPath: id }
      const run = await ledger.runs.start(held.lease, start)
      const { id: exportRow } = await run.addExport({
        ...{ ordinal: 1, exportId: 'e', name: `${id}.csv`, path: `/${id}.csv`, sha256: id, bytes: 1 },
        mapping: { name: 'm', digest: 'd', content: '{}' },
      })
      await run.openChunk(exportRow, { number: 0, firstRow: 1, firstLine: 2, byteOffset: 0, rows: 9 })
      const counts = noCounts()
      const count = (outcome: Left['outcome']): number =>
        exceptions.filter((one) => one.outcome === outcome).length
      const [rejected, inDoubt] = [count('rejected'), count('in-doubt')]
      Object.assign(counts.rows, { read: 9, mapped: 9 })
      Object.assign(counts.records.biometric, {
        made: 9,
        rejected,
        inDoubt,
        accepted: 9 - rejected - inDoubt,
      })
      await run.settleChunk({
        ...{ exportRow, chunk: 0, counts: JSON.stringify(counts), receiptsLength: 0, rejectsLength: 0 },
        ...{
          delivered: [],
          held: [],
          tallies: {},
          at: endedAt,
          arrival: endedAt,
        },
        exceptions: exceptions.map((one, at) => ({
          ...{
            ...one,
            row: at + 1,
            line: at + 2,
            byteOffset: 0,
            kind: 'biometric',
            content: '9c41d2aa00000000',
          },
          ...{ field: null, message: 'words', batchId: null },
        })),
      })
      await run.endExport(exportRow, 'finished')
      await run.endRun({ state: 'finished', endedAt, reason: null })
      await ledger.leases.release(held.lease)
    },
  }
}

test('rejects are counted by stage and code, over rules; what is in doubt or warned of is none', async () => {
  const { run, lastRun } = await openJob()
  await run('run-1', 100, [
    left('rejected', 'transform', 'value-out-of-range', 'a1c'),
    left('rejected', 'transform', 'value-out-of-range', 'bmi'),
    left('rejected', 'load', 'refused', 'a1c'),
    left('in-doubt', 'load', 'no-answer', 'a1c'),
    left('warning', 'transform', 'value-out-of-range', 'a1c'),
  ])
  const numbers = (await lastRun()) ?? {}
  const ofRejects = Object.entries(numbers).filter(([name]) => name.startsWith('last_run_rejects '))
  expect(Object.fromEntries(ofRejects)).toEqual({
    'last_run_rejects load refused': 1,
    'last_run_rejects transform value-out-of-range': 2,
  })
  expect(numbers).toMatchObject({
    'last_run_records biometric accepted': 5,
    'last_run_records biometric rejected': 3,
    'last_run_records biometric unchanged': 0,
    'last_run_records biometric in-doubt': 1,
    'last_run_records biometric pending': 0,
  })
})

test('the last clean end is that of the newest run that left nothing behind, at this gateway', async () => {
  const { run, lastRun } = await openJob()
  expect(await lastRun()).toBeUndefined()
  const bad = [left('rejected', 'load', 'refused', 'a1c')]
  await run('run-1', 100)
  await run('run-2', 200)
  await run('run-3', 300, bad)
  await run('run-4', 400, [], 'another')
  expect(await lastRun()).toMatchObject(ended(300, 200, 1))
  expect(await lastRun('another')).toMatchObject(ended(400, 400, 0))
  await run('run-5', 500)
  expect(await lastRun()).toMatchObject(ended(500, 500, 0))
})

test('a fire that could not be run is the last run where it ended later than every run', async () => {
  const { run, refusedFire, lastRun } = await openJob()
  await refusedFire(90)
  expect(await lastRun()).toMatchObject({
    ...ended(90, 0, EXIT.wrongUse),
    last_run_duration_seconds: 0,
  })
  await run('run-1', 100)
  expect(await lastRun()).toMatchObject({
    ...ended(100, 100, EXIT.ok),
    'last_run_rows mapped': 9,
  })
  await refusedFire(100)
  expect(await lastRun()).toMatchObject({
    ...ended(100, 100, EXIT.ok),
    'last_run_rows mapped': 9,
  })
  await refusedFire(101)
  expect(await lastRun()).toMatchObject(ended(101, 100, EXIT.wrongUse))
})
