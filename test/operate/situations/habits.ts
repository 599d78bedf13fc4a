/** Situations that somebody forgot. */
import { expect } from 'vitest'
import { ANN, HEADER } from '../../cli/clinic.ts'
import { PASS } from '../../faults/fault-proxy.ts'
import { type Situation, wrong } from '../scene.ts'

export const HABITS: readonly Situation[] = [
  {
    row: 47,
    name: 'a backfill was interrupted and forgotten',
    options: {
      job: '',
      whole:
        'exports: { from: ../inbox, match: "day_{date:yyyyMMdd}.csv", mapping: clinic }\naccounts: { register: never }\n',
    },
    night: async (scene) => {
      await scene.deliver('day_20260102.csv', HEADER + ANN)
      scene.strike(() => ({ do: 'answer', status: 403 }))
      const night = await scene.look('backfill', 'clinic', '--from', '2026-01-01', '--to', '2026-01-05')
      scene.strike(() => PASS)
      return night
    },
    exit: 3,
    need: { cause: 'backfill-unfinished', code: 'gateway-refused-credentials' },
    async end(scene) {
      expect((await scene.look('resume', 'clinic', '--backfill')).code).toBe(0)
    },
  },
  {
    row: 48,
    name: 'a job was paused long ago',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      const ended = await scene.run()
      await scene.look('pause', 'clinic', '--note', 'the vendor is moving')
      expect(await scene.needs()).toEqual([])
      await scene.later(8, 'runs')
      return ended
    },
    exit: 0,
    need: { cause: 'paused' },
    end: (scene) => scene.type('unpause'),
  },
  {
    row: 49,
    name: 'notices are not delivered',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN + wrong('cid'))
      scene.hook.answer(500)
      const ended = await scene.run()
      await scene.look('acknowledge', '--reason', 'unit-unknown')
      await scene.later(1, 'runs')
      return ended
    },
    exit: 1,
    need: { cause: 'notice-undelivered' },
    async end(scene) {
      expect((await scene.type('notify')).code).toBe(1)
      scene.hook.answer(204)
      const sent = await scene.type('notify')
      expect([sent.code, sent.out]).toEqual([0, expect.stringContaining('1 notice of before')])
    },
  },
]
