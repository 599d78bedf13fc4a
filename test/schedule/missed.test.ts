import { describe, expect, it } from 'vitest'
import { comeDue, decide, type Hindrance } from '../../src/schedule/fires.ts'

const MISSED_AT_MOST = 1_000

const HOUR = 3_600_000
const hourly = { cron: '0 * * * *', zone: 'Etc/UTC' }
const daily = { cron: '30 0 * * *', zone: 'Etc/UTC' }

describe('what has come due', () => {
  it('nothing, when a job is seen for the first time', () => {
    expect(comeDue(undefined, hourly, 10 * HOUR)).toEqual({
      timetable: { ...hourly, seenUntil: 10 * HOUR },
      fires: [],
    })
    expect(comeDue(undefined, undefined, 10 * HOUR)).toBeUndefined()
  })

  it('each instant since it was looked at, up to and with now', () => {
    const known = { ...hourly, seenUntil: 10 * HOUR }
    expect(comeDue(known, hourly, 11 * HOUR - 1)).toBeUndefined()
    expect(comeDue(known, hourly, 12 * HOUR)).toEqual({
      timetable: { ...hourly, seenUntil: 12 * HOUR },
      fires: [11 * HOUR, 12 * HOUR],
    })
  })

  it('by what was known, where the job has changed or cannot be read', () => {
    const known = { ...hourly, seenUntil: 10 * HOUR }
    expect(comeDue(known, daily, 11.2 * HOUR)).toEqual({
      timetable: { ...daily, seenUntil: 11.2 * HOUR },
      fires: [11 * HOUR],
    })
    const elsewhere = { ...hourly, zone: 'Asia/Kolkata' }
    expect(comeDue(known, elsewhere, 11.2 * HOUR)).toEqual({
      timetable: { ...elsewhere, seenUntil: 11.2 * HOUR },
      fires: [11 * HOUR],
    })
    expect(comeDue(known, undefined, 11.2 * HOUR)).toEqual({
      timetable: { ...hourly, seenUntil: 11 * HOUR },
      fires: [11 * HOUR],
    })
  })

  it('of a long absence the newest', () => {
    const fires = comeDue({ ...hourly, seenUntil: 0 }, hourly, 2000 * HOUR)?.fires ?? []
    expect([fires.length, fires[0], fires.at(-1)]).toEqual([
      MISSED_AT_MOST,
      (2001 - MISSED_AT_MOST) * HOUR,
      2000 * HOUR,
    ])
  })

  it('once more where the clock was set back, to be known by its instant', () => {
    expect(comeDue({ ...hourly, seenUntil: 12 * HOUR }, hourly, 10 * HOUR)).toEqual({
      timetable: { ...hourly, seenUntil: 10 * HOUR },
      fires: [],
    })
  })
})

describe('what becomes of open fires', () => {
  const due = (hour: number) => ({ due: hour * HOUR, state: 'due' as const })
  const missed = (hour: number) => ({ due: hour * HOUR, state: 'missed' as const })
  const interrupted = (hour: number) => ({ due: hour * HOUR, state: 'interrupted' as const })
  const held: Hindrance = { reason: 'job-held', detail: 'here:1' }
  const busy: Hindrance = { reason: 'earlier-first', detail: null }
  const down: Hindrance = { reason: 'not-scheduled', detail: null }

  it('at its time a fire begins, whatever the policy', () => {
    for (const policy of ['once', 'all', 'skip'] as const) {
      const { begin, missed, skipped } = decide([due(5)], policy, 5 * HOUR + 59_999, undefined)
      expect([begin, missed, skipped]).toEqual([{ fire: due(5), late: false }, [], []])
    }
  })

  it('a minute later it was missed', () => {
    const now = 5 * HOUR + 60_000
    expect(decide([due(5)], 'skip', now, undefined)).toMatchObject({ skipped: [{ fire: due(5), why: down }] })
    expect(decide([due(5)], 'once', now, undefined).begin).toEqual({ fire: due(5), late: true, why: down })
  })

  it('once: the newest runs for all of them', () => {
    const {
      begin,
      missed: left,
      skipped,
    } = decide([missed(3), due(4), due(5)], 'once', 5.5 * HOUR, undefined)
    expect(begin).toEqual({ fire: due(5), late: true, why: down })
    expect(left).toEqual([])
    expect(skipped).toMatchObject([
      { fire: missed(3), by: 5 * HOUR },
      { fire: due(4), why: down, by: 5 * HOUR },
    ])
  })

  it('once: where the next is due by then, that is the one', () => {
    const decision = decide([missed(3), due(5)], 'once', 5 * HOUR, undefined)
    expect(decision.begin).toEqual({ fire: due(5), late: false })
    expect(decision.skipped).toMatchObject([{ fire: missed(3), by: 5 * HOUR }])
  })

  it('all: one after the other, oldest first', () => {
    const decision = decide([missed(3), due(4), due(5)], 'all', 5 * HOUR, undefined)
    expect(decision).toMatchObject({ begin: { fire: missed(3), late: true }, skipped: [] })
    expect(decision.missed).toEqual([
      { fire: due(4), why: down },
      { fire: due(5), why: busy },
    ])
  })

  it('skip: only what is due now', () => {
    const decision = decide([missed(3), due(4), due(5)], 'skip', 5 * HOUR, undefined)
    expect(decision.begin).toEqual({ fire: due(5), late: false })
    expect(decision.skipped.map(({ fire }) => fire)).toEqual([missed(3), due(4)])
  })

  it('what was interrupted goes on first, whatever the policy, and what is due then was missed', () => {
    for (const policy of ['once', 'all', 'skip'] as const) {
      const { begin, missed, skipped } = decide([interrupted(3), due(5)], policy, 5 * HOUR, undefined)
      expect(begin).toEqual({ fire: interrupted(3), late: false })
      const told = policy === 'skip' ? [skipped, missed] : [missed, skipped]
      expect(told).toMatchObject([[{ fire: due(5), why: busy }], []])
    }
  })

  it('nothing begins while the job is held, and what is due then was missed', () => {
    for (const policy of ['once', 'all'] as const) {
      expect(decide([interrupted(2), missed(3), due(5)], policy, 5 * HOUR, held)).toEqual({
        missed: [{ fire: due(5), why: held }],
        skipped: [],
      })
    }
    expect(decide([due(5)], 'skip', 5 * HOUR, held)).toMatchObject({
      missed: [],
      skipped: [{ fire: due(5), why: held }],
    })
  })

  it('while the file is wrong nothing is decided but that it was missed', () => {
    const broken: Hindrance = { reason: 'job-invalid', detail: 'jobs/a.yaml: 1 problem' }
    expect(decide([missed(3), due(5)], undefined, 5 * HOUR, broken)).toEqual({
      missed: [{ fire: due(5), why: broken }],
      skipped: [],
    })
  })
})
