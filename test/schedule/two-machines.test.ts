import { expect, onTestFinished, test } from 'vitest'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { openPostgresLedger } from '../../src/ledger/postgres/open-ledger.ts'
import { runSchedule } from '../../src/schedule/run-schedule.ts'
import { emptySchema } from '../postgres/server.ts'

const HOUR = 3_600_000
const START = Date.parse('2026-03-02T00:30:00Z')
const HOURS = 12
const JOBS = ['one', 'other', 'third']

/** A clock that goes on once all sleep. */
function sharedClock(sleepers: number) {
  let time = START
  const asleep = new Set<{ readonly until: number; readonly wake: () => void }>()
  return {
    now: () => time,
    sleep: (ms: number, signal: AbortSignal): Promise<void> =>
      new Promise((resolve, reject) => {
        const sleeper = { until: time + ms, wake: resolve }
        const wakeUp = (): void => {
          asleep.delete(sleeper)
          reject(signal.reason)
        }
        if (signal.aborted) return wakeUp()
        signal.addEventListener('abort', wakeUp)
        asleep.add(sleeper)
        if (asleep.size < sleepers) return
        time = Math.min(...[...asleep].map(({ until }) => until))
        for (const one of [...asleep]) if (one.until <= time && asleep.delete(one)) one.wake()
      }),
  }
}

test('two schedules on one ledger begin each fire once', async () => {
  const url = await emptySchema()
  const clock = sharedClock(2)
  const begun: string[] = []
  const end = new AbortController()
  const keep = (ledger: Ledger, owner: string): Promise<void> =>
    runSchedule<string>({
      ledger,
      gatewayOf: () => 'gateway',
      now: clock.now,
      async sleep(ms, signal) {
        if (clock.now() > START + HOURS * HOUR) end.abort()
        await clock.sleep(ms, signal)
      },
      interrupt: end.signal,
      owner,
      isDead: () => false,
      rereadMs: HOUR / 4,
      readJobs: async () =>
        JOBS.map((name) => ({
          name,
          job: name,
          schedule: { cron: '0 * * * *', zone: 'UTC', missed: 'once' as const },
        })),
      async run(job, _onRun, { due }) {
        begun.push(`${job} ${new Date(due).toISOString()} ${owner}`)
        return { run: `run-${begun.length}`, exit: 0 }
      },
      planLook: async () => ({ next: undefined, look: undefined }),
      events: {
        scheduled: () => {},
        unscheduled: () => {},
        broken: () => {},
        begun: () => {},
        recovered: () => {},
        abandoned: () => {},
        ended: () => {},
        gaveUp: () => {},
        missed: () => {},
        skipped: () => {},
        trouble: (_, error) => expect.fail(String(error)),
      },
    })
  const ledgers = await Promise.all([1, 2].map(() => openPostgresLedger({ url })))
  for (const ledger of ledgers) onTestFinished(() => ledger.close())
  await Promise.all(ledgers.map((ledger, at) => keep(ledger, `machine-${at}:1`)))

  const wanted = JOBS.flatMap((job) =>
    Array.from(
      { length: HOURS },
      (_, at) => `${job} ${new Date(START + at * HOUR + HOUR / 2).toISOString()}`,
    ),
  )
  const fires = begun.map((one) => one.replace(/ machine.*/, ''))
  expect(fires.toSorted()).toEqual(wanted.toSorted())
})
