import { beforeEach, describe, expect, it } from 'vitest'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { illegal, ledgerScene, NOW, type OpenLedger } from './scene.ts'

export function firesSuite(open: OpenLedger): void {
  describe('fires', () => {
    const scene = ledgerScene(open)
    let ledger: Ledger
    let jobId: number
    beforeEach(() => {
      ledger = scene.ledger
      jobId = scene.jobId
    })

    it('remembers fires, each written down once and moved by one process', async () => {
      const { fires } = ledger
      const hourly = { cron: '0 * * * *', zone: 'Etc/UTC' }
      const from = { ...hourly, seenUntil: NOW }
      expect(await fires.timetable(jobId)).toBeUndefined()
      expect(await fires.comeDue(jobId, undefined, from, [])).toBe(true)
      expect(await fires.comeDue(jobId, undefined, from, [NOW + 1])).toBe(false)
      const to = { ...hourly, cron: '5 * * * *', seenUntil: NOW + 3 }
      expect(await fires.comeDue(jobId, from, to, [NOW + 1, NOW + 2, NOW + 3])).toBe(true)
      expect(await fires.comeDue(jobId, from, to, [NOW + 4])).toBe(false)
      expect(await fires.comeDue(jobId, { ...to, zone: 'Asia/Tokyo' }, to, [NOW + 4])).toBe(false)
      expect(await fires.comeDue(jobId, { ...to, cron: '6 * * * *' }, to, [NOW + 4])).toBe(false)
      expect(await fires.timetable(jobId)).toEqual(to)
      // The clock was set back: an instant that is known is not due again.
      expect(await fires.comeDue(jobId, to, { ...to, seenUntil: NOW }, [NOW + 2])).toBe(true)
      const [first, second, third] = await fires.open(jobId)
      if (first === undefined || second === undefined || third === undefined) throw new Error('not due')
      expect([first.due, second.due, third.due]).toEqual([NOW + 1, NOW + 2, NOW + 3])
      expect(first).toMatchObject({ state: 'due', owner: null, run_id: null, made_up_by: null, reason: null })

      const begin = (owner: string) => fires.move(first, 'begin', { owner, begun_at: NOW + 5 })
      const begun = await begin('here:1')
      expect(begun).toMatchObject({ state: 'running', owner: 'here:1', begun_at: NOW + 5 })
      expect(await begin('there:2')).toBeUndefined()
      if (begun === undefined) throw new Error('not begun')
      await fires.noteRun(begun, 'run-1')
      const taken = await fires.move(begun, 'interrupt')
      expect(taken).toMatchObject({ state: 'interrupted', run_id: 'run-1' })
      if (taken === undefined) throw new Error('not taken')
      // Who had it before has nothing to say of it, not only once another one goes on with it.
      expect(await fires.move(begun, 'end', { exit: 0 })).toBeUndefined()
      await fires.noteRun(begun, 'run-9')
      expect((await fires.open(jobId))[0]).toMatchObject({ state: 'interrupted', run_id: 'run-1' })
      // In the millisecond in which it was begun first.
      const resumed = await fires.move(taken, 'resume', { owner: 'there:2', begun_at: NOW + 5 })
      // Whose fire it was before has nothing more to say of it.
      expect(await fires.move(begun, 'end', { exit: 0 })).toBeUndefined()
      await fires.noteRun(begun, 'run-9')
      if (resumed === undefined) throw new Error('not resumed')
      const end = { exit: 1, error: 'interrupted', ended_at: NOW + 7 }
      expect(await fires.move(resumed, 'end', end)).toMatchObject({ state: 'ended', run_id: 'run-1', ...end })
      const why = { reason: 'job-held', detail: 'there:2' }
      expect(await fires.move(second, 'miss', why)).toMatchObject({ state: 'missed', ...why })
      await expect(fires.move(third, 'end')).rejects.toMatchObject(illegal)

      const other = await ledger.jobs.id('other', 'gateway')
      expect(await fires.latest(other, 5)).toEqual([])
      expect((await fires.latest(jobId, 2)).map(({ due }) => due)).toEqual([NOW + 3, NOW + 2])
      await fires.forget(jobId, 'unscheduled', NOW + 8)
      expect(await fires.timetable(jobId)).toBeUndefined()
      expect(await fires.open(jobId)).toEqual([])
      const states = (await fires.latest(jobId, 5)).map(({ state, reason }) => `${state} ${reason}`)
      expect(states).toEqual(['skipped unscheduled', 'skipped unscheduled', 'ended null'])
    })

    it('skips what a job that left the schedule has open; what is running ends by itself', async () => {
      const { fires } = ledger
      const hourly = { cron: '0 * * * *', zone: 'Etc/UTC', seenUntil: NOW + 5 }
      await fires.comeDue(jobId, undefined, hourly, [1, 2, 3, 4, 5])
      const moves = [[], ['miss'], ['begin'], ['begin', 'interrupt'], ['begin', 'end']] as const
      for (const [at, fire] of (await fires.open(jobId)).entries()) {
        let now = fire
        for (const event of moves[at] ?? []) now = (await fires.move(now, event)) ?? expect.fail('not moved')
      }
      await fires.forget(jobId, 'unscheduled', NOW + 8)
      const said = (await fires.latest(jobId, 9)).map(({ due, state, reason, ended_at }) => [
        ...[due, state, reason, ended_at],
      ])
      const skipped = ['skipped', 'unscheduled', NOW + 8]
      expect(said).toEqual([
        [5, 'ended', null, null],
        [4, ...skipped],
        [3, 'running', null, null],
        [2, ...skipped],
        [1, ...skipped],
      ])
    })
  })
}
