/** Actions that the schedule page offers for a job, by what the job is doing. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { schedulePage } from '../../src/console/schedule-page.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { openLedger } from '../../src/ledger/sqlite/open-ledger.ts'
import { readSettings } from '../../src/system/settings.ts'
import { openClinic } from '../cli/clinic.ts'
import { beginRun } from '../ledger/begun-run.ts'

const NOW = Date.parse('2026-03-02T12:00:00Z')
const EXPORTS = 'exports: { from: ../inbox, match: "*.csv", mapping: clinic'
const SCHEDULE = 'schedule: { cron: "0 2 * * *", zone: Etc/UTC }'

/** Actions on the page, with a job and a ledger in which something has happened. */
async function actionsOf(job: string, happened: (ledger: Ledger) => Promise<unknown>): Promise<string[]> {
  const { workplace } = await openClinic({ job })
  const { folder, home, environment } = workplace
  await mkdir(home, { recursive: true, mode: 0o700 })
  const open = () => openLedger(join(home, 'ledger.sqlite'))
  const ledger = await open()
  await happened(ledger)
  await ledger.close()
  const read = readSettings({ ...environment, WAYBILL_GATEWAY_URL: 'built-in' }, folder)
  const settings = { ...read, home, gatewayUrl: 'gateway' }
  const application = { settings, now: () => NOW, isDead: () => false, openLedger: open }
  const viewer = { mayAct: true, maySeeValues: false }
  const { body } = await schedulePage(
    application as unknown as Parameters<typeof schedulePage>[0],
    viewer as unknown as Parameters<typeof schedulePage>[1],
  )
  return [...body.matchAll(/\/do\/(\w+)\?/g)].map(([, action = '']) => action).toSorted()
}

const runs = (ledger: Ledger) => beginRun(ledger, 'run-1', { job: 'clinic', startedAt: NOW - 1 })
const paused = async (ledger: Ledger) =>
  ledger.pauses.begin(await ledger.jobs.id('clinic', 'gateway'), {
    ...{ by: 'ann', note: null, at: NOW - 1, until: null },
  })
const nothing = async () => {}

test.each<[string, string, (ledger: Ledger) => Promise<unknown>, readonly string[]]>([
  ['is idle', `${EXPORTS} }\n${SCHEDULE}\n`, nothing, ['count', 'notify', 'pause', 'run']],
  ['is run', `${EXPORTS} }\n${SCHEDULE}\n`, runs, ['notify', 'pause', 'stop']],
  ['is paused', `${EXPORTS} }\n${SCHEDULE}\n`, paused, ['count', 'notify', 'run', 'unpause']],
  ['is invalid', `${EXPORTS} \n${SCHEDULE}\n`, nothing, ['pause']],
  ['has no schedule', `${EXPORTS} }\n`, nothing, ['count', 'notify', 'run']],
  [
    'expects exports',
    `${EXPORTS}, expect: { by: "0 3 * * *", zone: Etc/UTC } }\n${SCHEDULE}\n`,
    nothing,
    ['count', 'expect', 'notify', 'pause', 'run'],
  ],
])('of a job that %s', async (_, job, happened, actions) => {
  expect(await actionsOf(job, happened)).toEqual(actions)
})
