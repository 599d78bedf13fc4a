/** Deadlines of scheduled jobs: when they are, by the published days on which clocks are changed, and which fires are done. */
import { describe, expect, it } from 'vitest'
import type { FireRecord } from '../../src/ledger/ledger.ts'
import { lateFire, nextDeadline } from '../../src/schedule/deadlines.ts'
import type { JobSchedule } from '../../src/schedule/schedule-parts.ts'

const at = (time: string): number => Date.parse(time.length === 6 ? `2026-03-02T${time}` : time)
const NIGHTLY: JobSchedule = { cron: '15 2 * * *', zone: 'Etc/UTC', missed: 'once', done: '06:00' }
const NEW_YORK: JobSchedule = { ...NIGHTLY, zone: 'America/New_York' }
const fire = (due: string, state: FireRecord['state'], more: Partial<FireRecord> = {}): FireRecord => ({
  ...{ job_id: 1, due: at(due), state, owner: null, run_id: null, begun_at: null, ended_at: null },
  ...{ exit: null, error: null, reason: null, detail: null, made_up_by: null, retry_at: null },
  ...more,
})

it.each([
  [NIGHTLY, '02:15Z', '06:00Z'],
  [NIGHTLY, '06:00Z', '2026-03-03T06:00Z'],
  [NIGHTLY, '22:00Z', '2026-03-03T06:00Z'],
  // Clocks of New York are five hours behind UTC in winter, four from 8 March to 1 November 2026.
  [NEW_YORK, '2026-03-07T07:15Z', '2026-03-07T11:00Z'],
  [NEW_YORK, '2026-03-08T07:00Z', '2026-03-08T10:00Z'],
  [NEW_YORK, '2026-11-01T07:15Z', '2026-11-01T11:00Z'],
  [{ ...NIGHTLY, done: undefined }, '02:15Z', undefined],
])('%j: the deadline of the fire of %s is %s', (schedule, due, by) => {
  expect(nextDeadline(schedule, [{ due: at(due) }], at(due))).toBe(by === undefined ? undefined : at(by))
})

describe('at the deadline', () => {
  it.each([
    ['running', fire('02:15Z', 'running', { run_id: 'r' }), true],
    ['about to start', fire('02:15Z', 'due'), true],
    ['held by another process', fire('02:15Z', 'missed', { reason: 'job-held' }), true],
    ['interrupted', fire('02:15Z', 'interrupted', { exit: 130 }), true],
    ['between two tries', fire('02:15Z', 'retrying', { exit: 3 }), true],
    ['ended as the gateway was away', fire('02:15Z', 'ended', { exit: 3 }), true],
    ['ended by its threshold', fire('02:15Z', 'ended', { exit: 4 }), true],
    ['refused before it began', fire('02:15Z', 'ended', { exit: 2 }), true],
    ['done', fire('02:15Z', 'ended', { exit: 0 }), false],
    ['done, with rejects', fire('02:15Z', 'ended', { exit: 1 }), false],
    ['without exports', fire('02:15Z', 'ended', { error: 'exports-none' }), false],
    ['paused', fire('02:15Z', 'missed', { reason: 'paused' }), false],
    ['skipped, as the job says', fire('02:15Z', 'skipped', { reason: 'not-scheduled' }), false],
  ])('a fire that is %s: late is %3$s', (_, one, isLate) => {
    const late = lateFire(NIGHTLY, [one], [], at('06:00Z'))
    expect(late).toEqual(isLate ? { fire: one, by: at('06:00Z') } : undefined)
    expect(lateFire(NIGHTLY, [one], [], at('06:00Z') - 1)).toBeUndefined()
  })

  it.each([
    ['a run by hand that has finished since', '03:00Z', false],
    ['a run that had finished before', '02:15Z', true],
  ])('of a fire that has failed, %s counts', (_, ended, isLate) => {
    const failed = fire('02:15Z', 'ended', { exit: 3 })
    expect(lateFire(NIGHTLY, [failed], [{ ended_at: at(ended) }], at('07:00Z')) !== undefined).toBe(isLate)
  })

  it('a run that has finished does not stand for a fire that is still running', () => {
    const running = fire('02:15Z', 'running')
    expect(lateFire(NIGHTLY, [running], [{ ended_at: at('02:20Z') }], at('07:00Z'))).toMatchObject({
      fire: running,
    })
  })

  it('a fire that another one makes up for is as late as that one', () => {
    const late = fire('2026-03-01T02:15Z', 'skipped', { made_up_by: at('02:15Z') })
    const running = fire('02:15Z', 'running', { made_up_by: at('02:15Z') })
    const ended = fire('02:15Z', 'ended', { exit: 0, made_up_by: at('02:15Z') })
    expect(lateFire(NIGHTLY, [running, late], [], at('05:00Z'))).toMatchObject({ fire: late })
    expect(lateFire(NIGHTLY, [ended, late], [], at('05:00Z'))).toBeUndefined()
  })

  it('the newest fire with a passed deadline alone counts', () => {
    const before = fire('2026-03-01T02:15Z', 'ended', { exit: 3 })
    const done = fire('02:15Z', 'ended', { exit: 0 })
    const next = fire('2026-03-03T02:15Z', 'running')
    expect(lateFire(NIGHTLY, [next, done, before], [], at('2026-03-03T05:00Z'))).toBeUndefined()
    expect(nextDeadline(NIGHTLY, [next, done, before], at('2026-03-03T05:00Z'))).toBe(at('2026-03-03T06:00Z'))
    expect(nextDeadline(NIGHTLY, [done], at('2026-03-03T05:00Z'))).toBeUndefined()
  })
})
