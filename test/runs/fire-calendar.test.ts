/** The calendar of a job's fires: four weeks back and two ahead, by the days of its zone. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { FireRecord } from '../../src/ledger/ledger.ts'
import type { Application } from '../../src/runs/application.ts'
import type { ExplainedJob } from '../../src/runs/expectations.ts'
import { readFireCalendars } from '../../src/runs/fire-calendar.ts'
import { readSettings } from '../../src/system/settings.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const GATEWAY = 'https://of-the-job.test'
const NOW = Date.parse('2026-03-20T12:00Z')

const fire = (due: string, fields: Partial<FireRecord> = {}): FireRecord => ({
  ...{ job_id: 7, due: Date.parse(due), state: 'ended', exit: 0, error: null, reason: null, detail: null },
  ...{ owner: null, run_id: null, begun_at: null, ended_at: null, made_up_by: null, retry_at: null },
  ...fields,
})

/** @param stored in the ledger @param seen by the explanation, which adds fires that no schedule has seen */
async function calendarOf(stored: readonly FireRecord[], job: Partial<ExplainedJob>, known = true) {
  const jobs = await temporaryFolder()
  await writeFile(join(jobs, 'a.yaml'), `job: a\ngateway: ${GATEWAY}\n`)
  const settings = readSettings(
    {
      WAYBILL_JOBS: jobs,
      WAYBILL_HOME: jobs,
      WAYBILL_LEDGER: 'postgres://db/w',
      WAYBILL_KEY: 'k'.repeat(64),
    },
    jobs,
  )
  let isOpen = true
  const ledger = {
    jobs: {
      known: async (name: string, gateway: string) =>
        known && name === 'a' && gateway === GATEWAY ? 7 : undefined,
    },
    fires: { latest: async (id: number, limit: number) => (id === 7 ? stored.slice(0, limit) : []) },
    async close() {
      isOpen = false
    },
  }
  const application = { settings, now: () => NOW, openLedger: async () => ledger } as unknown as Application
  const explained = {
    job: 'a',
    schedule: undefined,
    zone: 'Etc/UTC',
    last: [],
    ...job,
  } as unknown as ExplainedJob
  const calendars = await readFireCalendars(application, [explained])
  expect(isOpen).toBe(false)
  return calendars.get('a')
}

test.each<[string, Partial<FireRecord>, string]>([
  ['skipped', { state: 'skipped' }, 'missed'],
  ['missed', { state: 'missed' }, 'missed'],
  ['about to start', { state: 'due' }, 'open'],
  ['under way', { state: 'running' }, 'open'],
  ['interrupted', { state: 'interrupted', exit: 130 }, 'open'],
  ['between two tries', { state: 'retrying', exit: 3 }, 'open'],
  ['done', {}, 'well'],
  ['without exports', { exit: null, error: 'exports-none' }, 'well'],
  ['with records left behind', { exit: 1 }, 'left'],
  ['stopped by its gateway', { exit: 3, error: 'gateway-failing' }, 'failed'],
])('a fire that is %s', async (_, fields, result) => {
  const due = '2026-03-20T02:15Z'
  const calendar = await calendarOf([fire(due, fields)], {})
  expect(calendar?.fires).toEqual([{ date: '2026-03-20', due: Date.parse(due), result }])
})

// Auckland is 13 hours ahead of UTC in March 2026: its 20 March ended at 11:00 UTC, its 21 March is today.
test('days are those of the zone, from four weeks ago to two weeks ahead, both included', async () => {
  const zone = 'Pacific/Auckland'
  const schedule = { cron: '30 0 * * *', zone, missed: 'once' } as const
  const first = '2026-02-21T11:00Z'
  const outside = fire('2026-02-21T10:59Z')
  const calendar = await calendarOf([fire('2026-03-18T11:30Z'), fire(first), outside], { zone, schedule })
  const { from, to, fires = [] } = calendar ?? {}
  expect([from, to]).toEqual(['2026-02-22', '2026-04-04'])
  expect(fires.slice(0, 3)).toEqual([
    { date: '2026-02-22', due: Date.parse(first), result: 'well' },
    { date: '2026-03-19', due: Date.parse('2026-03-18T11:30Z'), result: 'well' },
    { date: '2026-03-22', due: Date.parse('2026-03-21T11:30Z'), result: 'next' },
  ])
  expect(fires.map(({ date }) => date).slice(2)).toEqual(
    Array.from({ length: 14 }, (_, day) => new Date(Date.UTC(2026, 2, 22 + day)).toISOString().slice(0, 10)),
  )
})

test('fires that no schedule has seen stand beside those of the ledger, each once', async () => {
  const seen = fire('2026-03-19T02:15Z')
  const unseen = fire('2026-03-18T02:15Z', { state: 'missed' })
  const calendar = await calendarOf([seen], { last: [{ ...seen, state: 'missed' }, unseen] })
  expect(calendar?.fires.map(({ date, result }) => [date, result])).toEqual([
    ['2026-03-18', 'missed'],
    ['2026-03-19', 'well'],
  ])
})

test('a job for each minute has as many fires ahead as four weeks have hours', async () => {
  const schedule = { cron: '* * * * *', zone: 'Etc/UTC', missed: 'once' } as const
  expect((await calendarOf([], { schedule }))?.fires).toHaveLength(28 * 24)
})

test('a job without fires, and one that the ledger does not know, have no calendar', async () => {
  expect(await calendarOf([], {})).toBeUndefined()
  expect(await calendarOf([fire('2026-03-19T02:15Z')], {}, false)).toBeUndefined()
})
