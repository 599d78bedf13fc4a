import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createApplication } from '../../src/application.ts'
import { logOfRun } from '../../src/runs/listed-runs.ts'
import { readSettings } from '../../src/system/settings.ts'
import { temporaryFolder } from '../temporary-folder.ts'

test('the log of a run is told oldest first, over all files that were put aside, and nothing of other runs', async () => {
  const home = await temporaryFolder()
  const path = join(home, 'waybill.log')
  const settings = readSettings({ WAYBILL_HOME: home, WAYBILL_LOG_FILE: path, WAYBILL_LOG_FILES: '4' }, home)
  const application = createApplication('0', settings, () => {}, new AbortController().signal)
  const ledger = await application.openLedger()
  const jobId = await ledger.jobs.id('job', 'gateway')
  const held = await ledger.leases.acquire(
    { jobId, runId: 'run-1', owner: 'x:1', now: 0, ttlMs: 9 },
    () => true,
  )
  if (!held.ok) return expect.fail('the job is held')
  await ledger.runs.start(held.lease, {
    ...{ id: 'run-1', jobId, startedAt: 0, rejectsPath: 'r', receiptsPath: 'r' },
  })
  await ledger.close()
  const line = (message: string, run = 'run-1'): string =>
    `${JSON.stringify({ timestamp: '2026-03-02T00:00:00.000Z', level: 'info', message, run })}\n`
  await writeFile(`${path}.3`, line('first'))
  await writeFile(`${path}.2`, `${line('second')}run-1 is no line of ours\n`)
  await writeFile(`${path}.1`, line('of run-1, by another', 'run-12'))
  await writeFile(path, line('third') + line('last'))
  const told = await Array.fromAsync(logOfRun(application, 'run-1'))
  expect(told.map(({ message }) => message)).toEqual(['first', 'second', 'third', 'last'])
})
