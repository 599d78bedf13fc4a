/** Situations of a ledger in PostgreSQL. */
import { expect } from 'vitest'
import { ANN, BEN, HEADER } from '../../cli/clinic.ts'
import type { Scene, Situation } from '../scene.ts'

const AWAY = 'postgres://waybill@127.0.0.1:1/ledger'

/** Schema of the ledger. */
const schemaOf = ({ workplace }: Scene): string =>
  /search_path%3D(\w+)/.exec(workplace.environment['WAYBILL_LEDGER'] ?? '')?.[1] ?? expect.fail('no schema')

export const SERVER: readonly Situation[] = [
  {
    row: 5,
    name: 'the database is away',
    ledger: 'postgres',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      await scene.run()
      await scene.deliver('b.csv', HEADER + BEN)
      const address = scene.workplace.environment['WAYBILL_LEDGER'] ?? ''
      await scene.write('address', address)
      scene.workplace.environment['WAYBILL_LEDGER'] = AWAY
      return scene.run()
    },
    exit: 2,
    need: { cause: 'ledger', code: 'ledger-unusable' },
    async end(scene) {
      scene.workplace.environment['WAYBILL_LEDGER'] = await scene.read('address')
      expect((await scene.type('run')).code).toBe(0)
      expect(await scene.stored()).toHaveLength(6)
    },
  },
  {
    row: 7,
    name: 'the tables of the ledger are gone, receipts are there, and the database is restored',
    ledger: 'postgres',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      await scene.run()
      const schema = schemaOf(scene)
      await scene.query(`alter schema ${schema} rename to ${schema}_saved; create schema ${schema}`)
      return scene.run()
    },
    exit: 2,
    need: { cause: 'ledger', code: 'ledger-missing' },
    async end(scene) {
      const schema = schemaOf(scene)
      await scene.query(`drop schema ${schema} cascade; alter schema ${schema}_saved rename to ${schema}`)
      expect((await scene.type('run')).code).toBe(0)
      expect(await scene.stored()).toHaveLength(3)
    },
  },
]
