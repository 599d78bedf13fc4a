/** Situations of processes and machines. */
import { statfsSync, writeFileSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { ANN, BEN, HEADER, JOB } from '../../cli/clinic.ts'
import { ended } from '../../cli/command-line.ts'
import { scheduledNights } from '../../cli/scheduled-nights.ts'
import { PASS } from '../../faults/fault-proxy.ts'
import { mountDisk, NEEDS_MOUNTS } from '../../faults/mounted-disk.ts'
import type { Situation } from '../scene.ts'

/** The disk of the home fills while a run is under way. */
function fullDisk(): Situation {
  let others = ''
  return {
    row: 44,
    name: 'the disk fills during the run',
    requires: NEEDS_MOUNTS,
    options() {
      const disk = mountDisk('24m')?.folder ?? ''
      others = join(disk, 'others')
      return { environment: { WAYBILL_HOME: join(disk, 'home'), WAYBILL_MIN_FREE: '1MiB' } }
    },
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      await scene.run()
      await scene.deliver('b.csv', HEADER + BEN)
      scene.strike(({ method }) => {
        const { bavail, bsize } = statfsSync(join(others, '..'))
        if (method === 'POST' && bavail > 0) writeFileSync(others, Buffer.alloc(bavail * bsize))
        return PASS
      })
      // A process of its own, as in a night: it leaves the lease that it could not release.
      return ended(scene.workplace.start('run', 'clinic'))
    },
    exit: 2,
    need: { cause: 'disk', code: 'disk-full' },
    async end(scene) {
      expect((await scene.type('prune')).code).toBe(0)
      await rm(others)
      expect((await scene.type('run')).code).toBe(0)
      expect(await scene.stored()).toHaveLength(6)
    },
  }
}

export const PROCESSES: readonly Situation[] = [
  {
    row: 42,
    name: 'the run is killed',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      scene.strike(() => ({ do: 'hang' }))
      const running = scene.workplace.start('run', 'clinic')
      await scene.untilAsked()
      running.kill('SIGKILL')
      const killed = await ended(running)
      scene.strike(() => PASS)
      return killed
    },
    exit: null,
    need: { cause: 'run-unfinished', code: 'stopped' },
    async end(scene) {
      expect((await scene.type('run')).code).toBe(0)
    },
  },
  {
    row: 42,
    name: 'a killed run is finished by resume',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      scene.strike(() => ({ do: 'answer', status: 403 }))
      const night = await scene.run()
      scene.strike(() => PASS)
      return night
    },
    exit: 3,
    need: { cause: 'run-unfinished', code: 'gateway-refused-credentials' },
    async end(scene) {
      await scene.deliver('b.csv', HEADER + BEN)
      expect((await scene.look('resume', 'clinic')).code).toBe(0)
      expect(await scene.stored()).toHaveLength(3)
      expect((await scene.look('resume', 'clinic')).err).toContain('error nothing-left')
    },
  },
  {
    row: 45,
    name: 'the ledger was restored from Tuesday',
    ledger: 'file',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      const ended = await scene.run()
      await scene.look('backup', 'saved.sqlite')
      for (const name of await readdir(scene.workplace.home))
        if (name.startsWith('ledger')) await rm(join(scene.workplace.home, name))
      await scene.look('restore', 'saved.sqlite')
      return ended
    },
    exit: 0,
    need: { cause: 'ledger-copy' },
    end: (scene) => scene.type('run'),
  },
  {
    row: 43,
    name: 'the machine restarts, and the schedule goes on by itself',
    night: async (scene) => {
      await scene.job(`${JOB}drift: { fit: off }\nschedule: { cron: "* * * * *", zone: UTC }\n`)
      await scene.deliver('a.csv', HEADER + ANN)
      scene.strike(() => ({ do: 'hang' }))
      const schedule = scene.workplace.startFast('2027-03-01T00:00Z', 60, 'schedule')
      await scene.untilAsked()
      schedule.kill('SIGKILL')
      const killed = await ended(schedule)
      scene.strike(() => PASS)
      return killed
    },
    exit: null,
    need: { cause: 'run-unfinished', code: 'stopped' },
    async end(scene) {
      // No other fire comes meanwhile.
      await scene.job(`${JOB}drift: { fit: off }\nschedule: { cron: "0 12 * * *", zone: UTC }\n`)
      await scheduledNights(scene.workplace).keep('2027-03-02T00:00Z', '2027-03-02T00:10Z')
      expect(await scene.stored()).toHaveLength(3)
    },
  },
  fullDisk(),
]
