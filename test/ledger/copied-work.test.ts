/** Jobs that a copied ledger is behind with: until each has finished a run since the copy was first used. */
import { expect, test } from 'vitest'
import { beginRun, passingLedger } from './begun-run.ts'

const [TAKEN, USED] = [1_000, 2_000]

test.each<[string, boolean, number, 'finished' | 'failed' | 'interrupted', boolean]>([
  ['finished before the copy was taken', false, TAKEN - 1, 'finished', true],
  ['finished a run that began as it was taken, and nobody used it yet', false, TAKEN, 'finished', false],
  ['finished between its making and its first use', true, USED - 1, 'finished', true],
  ['finished a run that began with its first use', true, USED, 'finished', false],
  ['failed since', true, USED + 1, 'failed', true],
  ['was interrupted since', true, USED + 1, 'interrupted', true],
])('a job that %s', async (_what, isUsed, startedAt, state, isBehind) => {
  const ledger = await passingLedger()
  await ledger.installation.noteBehind(TAKEN)
  if (isUsed) await ledger.installation.suspicion(USED)
  const ran = async (id: string, job: string, at: number, end: typeof state) => {
    const run = await beginRun(ledger, id, { job, startedAt: at })
    await run.endRun({ state: end, endedAt: at, reason: null })
    await ledger.leases.release(run.lease)
  }
  await ran('run-1', 'nightly', startedAt, state)
  await ran('run-2', 'another', USED + 5, 'finished')
  await ran('run-3', 'third', 1, 'finished')
  // A job that never ran is behind with nothing.
  await ledger.jobs.id('never', 'gateway')
  const jobs = isBehind ? ['nightly', 'third'] : ['third']
  expect((await ledger.overview.openWork(USED + 9)).copy).toEqual({ takenAt: TAKEN, jobs })
})

test('an original is behind with nothing', async () => {
  const ledger = await passingLedger()
  await beginRun(ledger, 'run-1')
  expect((await ledger.overview.openWork(0)).copy).toBeUndefined()
})
