/** Situations of exports: late, small, drifted, unreadable, or all at once. */
import { chmod, mkdir, rm, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { createMessage, encrypt, generateKey, readKey } from 'openpgp'
import { expect, onTestFinished } from 'vitest'
import { ANN, BEN, HEADER, JOB } from '../../cli/clinic.ts'
import { hostKeyFingerprint, PASSWORD, startSftpServer, USER } from '../../extract/sources/sftp-server.ts'
import { people, type Scene, type Situation } from '../scene.ts'

const GARBAGE = Buffer.from([0xff, 0xfe, 0, 1, 2, 3])

/** A file that only the holder of another key can read. */
async function foreign(text: string): Promise<Buffer> {
  const { publicKey } = await generateKey({ type: 'ecc', userIDs: [{ name: 'another' }] })
  const message = await createMessage({ binary: Buffer.from(text) })
  const encryptionKeys = await readKey({ armoredKey: publicKey })
  return Buffer.from(await encrypt({ message, encryptionKeys, format: 'binary' }))
}

/** Writes the key of the job, and names it in the settings. */
async function takeKey({ write, workplace }: Scene): Promise<void> {
  const { privateKey } = await generateKey({ type: 'ecc', userIDs: [{ name: 'ours' }] })
  await write('key.asc', privateKey)
  await chmod(join(workplace.folder, 'key.asc'), 0o600)
  workplace.environment['WAYBILL_PGP_KEY_FILE'] = join(workplace.folder, 'key.asc')
}

/** The job names a host key, and the server has another one. */
function changedHostKey(): Situation {
  const jobOf = (port: number, key: string): string =>
    `exports: { from: { sftp: { host: 127.0.0.1, port: ${port}, user: ${USER}, folder: inbox, hostKey: "${key}" } }, match: "*.csv", mapping: clinic }
accounts: { register: never }
drift: { fit: off }
`
  let corrected = ''
  return {
    row: 21,
    name: 'the host key of the server has changed',
    options: { environment: { WAYBILL_SFTP_PASSWORD: PASSWORD } },
    night: async (scene) => {
      const server = await startSftpServer(scene.workplace.folder)
      onTestFinished(() => server.stop())
      corrected = jobOf(server.port, hostKeyFingerprint(server.hostKey))
      await scene.deliver('a.csv', HEADER + ANN)
      await scene.job(jobOf(server.port, `SHA256:${'A'.repeat(43)}`))
      return scene.run()
    },
    exit: 2,
    need: { cause: 'start-refused', code: 'source-untrusted' },
    async end(scene) {
      await scene.job(corrected)
      expect((await scene.type('run')).code).toBe(0)
    },
  }
}

export const EXPORTS: readonly Situation[] = [
  {
    row: 12,
    name: 'an export with a tenth of the usual rows, and the job stops at that',
    options: { job: 'drift: { rows: { stop: 50% }, fit: off }\n' },
    night: async (scene) => {
      for (const day of ['a', 'b', 'c', 'd', 'e']) {
        await scene.deliver(`${day}.csv`, people(day, 60))
        expect((await scene.run()).code).toBe(0)
      }
      await scene.deliver('f.csv', people('f', 6))
      return scene.run()
    },
    exit: 1,
    need: { cause: 'export-failed', code: 'export-drifted' },
    async end(scene) {
      expect((await scene.type('run clinic --accept-drift')).code).toBe(0)
    },
  },
  {
    row: 13,
    name: 'a column was renamed, and the vendor sends the file anew',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      await scene.run()
      await scene.deliver('b.csv', (HEADER + BEN).replace('pulse', 'puls'))
      return scene.run()
    },
    exit: 1,
    need: { cause: 'export-failed', code: 'columns-missing' },
    async end(scene) {
      await scene.deliver('b.csv', HEADER + BEN)
      expect((await scene.type('run clinic')).code).toBe(0)
    },
  },
  {
    row: 14,
    name: 'garbage instead of CSV, and a good file of its name',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      await scene.deliver('b.csv', GARBAGE)
      return scene.run()
    },
    exit: 1,
    need: { cause: 'export-failed' },
    async end(scene) {
      await scene.deliver('b.csv', HEADER + BEN)
      expect((await scene.type('run')).code).toBe(0)
    },
  },
  {
    row: 14,
    name: 'garbage instead of CSV, accepted',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      await scene.deliver('b.csv', GARBAGE)
      return scene.run()
    },
    exit: 1,
    need: { cause: 'export-failed' },
    end: (scene) => scene.type('acknowledge'),
  },
  {
    row: 16,
    name: 'an export that is cut in the middle',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      await scene.run()
      await scene.deliver('b.csv', (HEADER + BEN).slice(0, -1))
      return scene.run()
    },
    exit: 1,
    need: { cause: 'export-failed', code: 'export-cut' },
    async end(scene) {
      expect((await scene.type('run clinic --accept-end')).code).toBe(0)
    },
  },
  {
    row: 20,
    name: 'the server of the source is away',
    options: {
      job: '',
      whole: 'exports: { from: "sftp://somebody@127.0.0.1:1/out", match: "*.csv", mapping: clinic }\n',
      environment: { WAYBILL_SFTP_PASSWORD: 'none' },
    },
    night: (scene) => scene.run(),
    exit: 2,
    need: { cause: 'start-refused' },
    async end(scene) {
      await scene.workplace.job('clinic', JOB)
      await scene.deliver('a.csv', HEADER + ANN)
      expect((await scene.type('run')).code).toBe(0)
    },
  },
  {
    row: 25,
    name: 'an unreadable file that was put aside lies there for a month',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      await scene.deliver('b.csv', GARBAGE)
      return scene.run()
    },
    exit: 1,
    need: { cause: 'export-failed' },
    async end(scene) {
      expect((await scene.type('put-aside')).code).toBe(0)
      for (const days of [1, 15, 30]) expect((await scene.later(days, 'run', 'clinic')).code).toBe(0)
      await scene.look('backup', 'saved.sqlite')
    },
  },
  {
    row: 11,
    name: 'an export is late',
    options: {
      job: '',
      whole: `exports: { from: ../inbox, match: "*.csv", mapping: clinic, expect: { by: "0 0 * * *", zone: UTC } }
accounts: { register: never }
drift: { fit: off }
`,
    },
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      await scene.run()
      for (const days of [0, 1, 2]) await scene.later(days, 'expect', 'clinic')
      return scene.later(2, 'run', 'clinic')
    },
    exit: 0,
    need: { cause: 'export-late', code: 'export-late' },
    async end(scene) {
      const arrival = scene.now() / 1000
      await utimes(await scene.deliver('b.csv', HEADER + BEN), arrival, arrival)
      expect((await scene.type('run clinic')).code).toBe(0)
    },
  },
  {
    row: 15,
    name: 'an export is encrypted for another key, and comes again',
    night: async (scene) => {
      await takeKey(scene)
      await scene.deliver('a.csv', HEADER + ANN)
      await scene.deliver('b.csv', await foreign(HEADER + BEN))
      return scene.run()
    },
    exit: 1,
    need: { cause: 'export-failed' },
    async end(scene) {
      await scene.deliver('b.csv', HEADER + BEN)
      expect((await scene.type('run clinic')).code).toBe(0)
    },
  },
  {
    row: 17,
    name: 'the time of a file lies in the future',
    night: async (scene) => {
      const future = Date.now() / 1000 + 7 * 86_400
      await utimes(await scene.deliver('a.csv', HEADER + ANN), future, future)
      return scene.run()
    },
    exit: 0,
    end: async (scene) => expect(await scene.stored()).toHaveLength(3),
  },
  {
    row: 18,
    name: 'a file is still being written',
    options: {
      job: '',
      whole: `exports: { from: ../inbox, match: "*.csv", mapping: clinic, complete: { marker: "{name}.done" } }
accounts: { register: never }
drift: { fit: off }
`,
    },
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      await scene.deliver('a.csv.done', '')
      await scene.deliver('b.csv', HEADER)
      const ended = await scene.run()
      expect(await scene.needs()).toEqual([])
      await scene.later(1, 'run', 'clinic')
      return ended
    },
    exit: 0,
    need: { cause: 'export-waiting' },
    async end(scene) {
      expect(await scene.stored()).toHaveLength(3)
      await scene.deliver('b.csv', HEADER + BEN)
      await scene.deliver('b.csv.done', '')
      expect((await scene.type('run')).code).toBe(0)
      expect(await scene.stored()).toHaveLength(6)
    },
  },
  {
    row: 19,
    name: 'the archive cannot be written to',
    options: {
      job: '',
      whole: `exports: { from: ../inbox, match: "*.csv", mapping: clinic, archive: ../done }
accounts: { register: never }
drift: { fit: off }
`,
    },
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      await scene.write('done', 'no folder')
      return scene.run()
    },
    exit: 1,
    need: { cause: 'export-unarchived' },
    async end(scene) {
      await rm(join(scene.workplace.folder, 'done'))
      await mkdir(join(scene.workplace.folder, 'done'))
      expect((await scene.type('run clinic')).code).toBe(0)
    },
  },
  changedHostKey(),
  {
    row: 22,
    name: 'the same file is delivered again',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      await scene.run()
      await scene.deliver('a.csv', HEADER + ANN)
      await scene.deliver('copy.csv', HEADER + ANN)
      return scene.run()
    },
    exit: 0,
    end: async (scene) => expect(await scene.stored()).toHaveLength(3),
  },
  {
    row: 23,
    name: 'a corrected file comes under the same name',
    night: async (scene) => {
      await scene.deliver('a.csv', HEADER + ANN)
      await scene.run()
      await scene.deliver('a.csv', HEADER + ANN.replace('61', '62'))
      return scene.run()
    },
    exit: 0,
    end: async (scene) => expect(await scene.stored()).toContain('ann heart-rate 62'),
  },
  {
    row: 24,
    name: 'three nights arrive at once, in any order',
    options: {
      job: '',
      whole: `exports: { from: ../inbox, match: "day_{date:yyyyMMdd}.csv", mapping: clinic }
accounts: { register: never }
drift: { fit: off }
`,
    },
    night: async (scene) => {
      for (const day of [3, 1, 2])
        await scene.deliver(`day_2026030${day}.csv`, HEADER + ANN.replace('03-02', `03-0${day}`))
      return scene.run()
    },
    exit: 0,
    end: async (scene) => expect(await scene.stored()).toHaveLength(9),
  },
]
