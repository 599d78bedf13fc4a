/** Jobs behind their deadline: the runs that count as done, the fires of the job's own gateway, and the notice. */
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Job } from '../../src/definitions/definition-files.ts'
import type { FireRecord, RunRecord } from '../../src/ledger/ledger.ts'
import { WaybillError } from '../../src/model/errors.ts'
import type { UnsentNotice } from '../../src/notify/notice.ts'
import { createDeadlineWatch, lateJobs } from '../../src/runs/late-jobs.ts'
import type { Teller } from '../../src/runs/teller.ts'
import type { ListedJob } from '../../src/schedule/schedule-parts.ts'
import { readSettings } from '../../src/system/settings.ts'

const at = (time: string): number => Date.parse(`2026-03-02T${time}Z`)
const NOW = at('07:00')
const GATEWAY = 'https://gateway.test'
const SCHEDULE = { cron: '15 2 * * *', zone: 'Etc/UTC', missed: 'once', done: '06:00' } as const

/** A fire whose run the gateway ended. */
const FAILED = { due: at('02:15'), state: 'ended', exit: 3, error: 'gateway-failing', run_id: 'r' }
/** A whole run of the job that a person has typed. */
const WHOLE = {
  ...{ gateway: GATEWAY, state: 'finished', ended_at: at('06:30') },
  ...{ part: null, origin_run: null, backfill: null },
}

/** @param isKnown false for a job that is new to the ledger */
function given(runs: readonly object[], isKnown = true, fires: readonly object[] = [FAILED]) {
  return {
    jobs: {
      known: async (job: string, gateway: string) =>
        `${job} ${gateway}` === `a ${GATEWAY}` ? (isKnown ? 7 : undefined) : 8,
    },
    fires: { latest: async (id: number) => (id === 7 ? (fires as FireRecord[]) : []) },
    runs: {
      list: async (
        _: number,
        { job, states }: { readonly job: string; readonly states: readonly string[] },
      ) => (runs as RunRecord[]).filter(({ state }) => job === 'a' && states.includes(state)),
    },
  } as unknown as Parameters<typeof lateJobs>[1]
}

const settings = readSettings(
  { WAYBILL_GATEWAY_URL: GATEWAY, WAYBILL_API_KEY: 'k', WAYBILL_ACCESS_TOKEN: 't' },
  '/',
)
const jobOf = (name: string, schedule: object | undefined): Job =>
  ({
    definition: { job: name, schedule, notify: [{ command: 'true', on: 'failure' }] },
    file: '/jobs/a.yaml',
  }) as unknown as Job
const listed = (name: string, schedule: typeof SCHEDULE | undefined) => ({
  name,
  job: jobOf(name, schedule),
  schedule,
})
const LATE = { job: 'a', fire: FAILED, by: at('06:00') }

test.each<[string, object, boolean]>([
  ['a whole run by hand', WHOLE, false],
  ['a run that is not finished', { ...WHOLE, state: 'interrupted' }, true],
  ['a run at another gateway', { ...WHOLE, gateway: 'https://other.test' }, true],
  ['a part of a run', { ...WHOLE, part: 'files' }, true],
  ['a rerun', { ...WHOLE, origin_run: 'r' }, true],
  ['a backfill', { ...WHOLE, backfill: '{}' }, true],
])('after a fire that failed, %s', async (_, run, isLate) => {
  const found = await lateJobs(settings, given([run]), [listed('a', SCHEDULE)], NOW)
  expect(found).toEqual(isLate ? [LATE] : [])
})

test('of a folder, jobs without deadline, with a problem, or new to the ledger are not late', async () => {
  const problem = new WaybillError('job-invalid', 'line 3')
  const others: readonly ListedJob<Job>[] = [
    ...[
      listed('none', undefined),
      { name: 'broken', problem },
      { name: 'wrong', job: jobOf('wrong', SCHEDULE), problem },
    ],
    { ...listed('free', undefined), schedule: { ...SCHEDULE, done: undefined } },
  ]
  expect(await lateJobs(settings, given([]), [...others, listed('a', SCHEDULE)], NOW)).toEqual([LATE])
  expect(await lateJobs(settings, given([], false), [listed('a', SCHEDULE)], NOW)).toEqual([])
})

test('the schedule looks again at the next deadline, and notifies the passed one', async () => {
  const told: unknown[] = []
  const teller = {
    async tell(notice: UnsentNotice, targets: readonly unknown[]) {
      await setImmediate()
      told.push([notice, targets.length])
    },
    deliver: async () => void told.push('delivered'),
  } as unknown as Teller
  const watch = createDeadlineWatch(settings, given([]), teller)
  const planAt = (time: number, job = jobOf('a', SCHEDULE)) => watch.planLook(job, time)
  expect(await planAt(at('05:59'))).toEqual({ next: at('06:00'), look: undefined })
  expect(await planAt(NOW, jobOf('a', undefined))).toEqual({ next: undefined, look: undefined })
  const { next, look } = await planAt(NOW)
  expect(next).toBeUndefined()
  await look?.()
  expect(told).toMatchObject([
    [
      {
        kind: 'job-late',
        job: 'a',
        gateway: GATEWAY,
        at: NOW,
        data: { by: '2026-03-02T06:00:00.000Z', run: 'r' },
      },
      1,
    ],
    'delivered',
  ])
  // A look wakes the schedule: another one would follow without end.
  expect(await planAt(NOW + 1)).toEqual({ next: undefined, look: undefined })
})
