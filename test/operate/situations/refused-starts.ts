/** Situations in which no run begins. */
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { ANN, BEN, CLINIC, HEADER, JOB } from '../../cli/clinic.ts'
import type { Situation } from '../scene.ts'

export const BROKEN = CLINIC.replace('from: "unit"', 'form: "unit"')

export const REFUSED_STARTS: readonly Situation[] = [
  {
    row: 1,
    name: 'the mapping does not parse',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      await scene.write('mappings/clinic.yaml', BROKEN)
      await scene.run()
      return scene.run()
    },
    exit: 2,
    need: { cause: 'start-refused', code: 'mapping-invalid', times: 2 },
    async end(scene) {
      await scene.write('mappings/clinic.yaml', CLINIC)
      expect((await scene.type('run')).code).toBe(0)
    },
  },
  {
    row: 2,
    name: 'the YAML of the job is broken',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      await scene.run()
      await scene.workplace.job('clinic', 'exports: [')
      return scene.run()
    },
    exit: 2,
    need: { cause: 'start-refused', code: 'job-invalid' },
    async end(scene) {
      // Who is notified the file says no more.
      expect(scene.hook.titles()).toEqual(['waybill.run-refused Waybill: clinic was not run (job-invalid)'])
      await scene.workplace.job('clinic', JOB)
      expect((await scene.type('run')).code).toBe(0)
    },
  },
  {
    row: 3,
    name: 'no export came, and a later one does',
    night: (scene) => scene.run(),
    exit: 2,
    need: { cause: 'start-refused', code: 'exports-none' },
    async end(scene) {
      await scene.deliver('a.csv', HEADER + ANN)
      expect((await scene.type('run')).code).toBe(0)
    },
  },
  {
    row: 3,
    name: 'no export came, and none will',
    night: (scene) => scene.run(),
    exit: 2,
    need: { cause: 'start-refused', code: 'exports-none' },
    async end(scene) {
      expect((await scene.type('acknowledge')).out).toMatch(/^Acknowledged: the refused start of clinic/)
    },
  },
  {
    row: 4,
    name: 'the disk is full before the run',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      scene.workplace.environment['WAYBILL_MIN_FREE'] = '1000GiB'
      return scene.run()
    },
    exit: 2,
    need: { cause: 'disk', code: 'disk-full' },
    async end(scene) {
      expect((await scene.type('prune')).code).toBe(0)
      delete scene.workplace.environment['WAYBILL_MIN_FREE']
      expect((await scene.type('run')).code).toBe(0)
    },
  },
  {
    row: 6,
    name: 'the key is another one',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      await scene.run()
      scene.workplace.environment['WAYBILL_KEY'] = 'another key than before'
      await scene.deliver('b.csv', HEADER + BEN)
      return scene.run()
    },
    exit: 2,
    need: { cause: 'start-refused', code: 'key-differs' },
    async end(scene) {
      scene.workplace.environment['WAYBILL_KEY'] = 'a key that stays the same'
      expect((await scene.type('run')).code).toBe(0)
    },
  },
  {
    row: 7,
    name: 'the ledger is gone, receipts are there',
    ledger: 'file',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      await scene.run()
      await scene.look('backup', 'saved.sqlite')
      for (const name of await readdir(scene.workplace.home))
        if (name.startsWith('ledger')) await rm(join(scene.workplace.home, name))
      return scene.run()
    },
    exit: 2,
    need: { cause: 'ledger', code: 'ledger-missing' },
    async end(scene) {
      expect((await scene.look('restore', 'saved.sqlite')).code).toBe(0)
      // The refused start was due to the loss alone.
      expect((await scene.needs()).map(({ cause }) => cause)).toEqual(['ledger-copy'])
      expect((await scene.type('run')).code).toBe(0)
    },
  },
  {
    row: 8,
    name: 'no gateway is named',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      await scene.run()
      scene.workplace.environment['WAYBILL_GATEWAY_URL'] = ''
      return scene.run()
    },
    exit: 2,
    need: { cause: 'start-refused', code: 'gateway-not-set' },
    async end(scene) {
      scene.workplace.environment['WAYBILL_GATEWAY_URL'] = scene.gateway
      expect((await scene.type('run')).code).toBe(0)
    },
  },
  {
    row: 10,
    name: 'a newer program has written the ledger',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      await scene.run()
      await scene.query("insert into kysely_migration values ('9999-later', '2027-01-01')")
      return scene.run()
    },
    exit: 2,
    need: { cause: 'ledger', code: 'ledger-newer' },
    async end(scene) {
      await scene.query("delete from kysely_migration where name = '9999-later'")
      expect((await scene.type('run')).code).toBe(0)
    },
  },
  {
    row: 5,
    name: 'the ledger cannot be written',
    ledger: 'file',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      await scene.run()
      const ledger = join(scene.workplace.home, 'ledger.sqlite')
      await rename(ledger, `${ledger}.away`)
      await mkdir(ledger)
      return scene.run()
    },
    exit: 2,
    need: { cause: 'ledger', code: 'ledger-unusable' },
    async end(scene) {
      const ledger = join(scene.workplace.home, 'ledger.sqlite')
      await rm(ledger, { recursive: true })
      await rename(`${ledger}.away`, ledger)
      expect((await scene.type('run')).code).toBe(0)
    },
  },
  {
    row: 9,
    name: 'another process runs the job',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      await scene.run()
      const until = Date.now() + 60_000
      await scene.query(`update lease set owner = 'elsewhere:1:1', expires_at = ${until}`)
      return scene.run()
    },
    exit: 5,
    end: async (scene) => scene.query('delete from lease'),
  },
]
