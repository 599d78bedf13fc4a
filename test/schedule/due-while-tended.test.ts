/** Fires that come due while the schedule is awake, between looking at a job and going to sleep. */
import { expect, it } from 'vitest'
import { install, MINUTE, short } from './schedule-under-test.ts'

it.each(['skip', 'once', 'all'] as const)(
  'is begun at once, and is no missed one; missed: %s',
  async (missed) => {
    const { clock, job, start, runs, records } = await install('2026-03-02T00:58:59.990Z')
    job('hourly', { cron: '0 * * * *', zone: 'Etc/UTC', missed })
    let takes = 0
    const process = start('here:1', MINUTE, () => clock.pass(takes))
    await clock.moveTo(Date.parse('2026-03-02T00:59:30Z'))
    // A wake-up 10 ms before the fire, in which the ledger takes 20.
    takes = 20
    await clock.moveTo(Date.parse('2026-03-02T01:30:00Z'))
    await process.stop()
    expect(runs).toHaveLength(1)
    const [fire] = await records('hourly')
    expect(fire).toMatchObject({ state: 'ended', reason: null, made_up_by: null })
    expect(short(fire?.due ?? 0)).toBe('2026-03-02T01:00Z')
    expect((fire?.begun_at ?? Number.NaN) - (fire?.due ?? 0)).toBeLessThan(1_000)
  },
)
