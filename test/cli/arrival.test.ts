/** Exports from where vendors put them, through the real command line, against real servers. */
import type { ChildProcess } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createMessage, encrypt, generateKey, readKey } from 'openpgp'
import { expect, onTestFinished, test } from 'vitest'
import { ZipFile } from 'yazl'
import { BUCKET, startS3Server } from '../extract/sources/s3-server.ts'
import { hostKeyFingerprint, PASSWORD, startSftpServer, USER } from '../extract/sources/sftp-server.ts'
import { answer, PASS } from '../faults/fault-proxy.ts'
import { ANN, BEN, type Clinic, GOOD, HEADER, openClinic } from './clinic.ts'
import { ended, summaryOf } from './command-line.ts'

const job = (exports: string): string =>
  `exports: { match: "*.csv*", mapping: clinic, ${exports} }\naccounts: { register: never }\n`
const inbox = (clinic: Clinic): Promise<string[]> => readdir(join(clinic.workplace.folder, 'inbox'))
const spool = (clinic: Clinic): Promise<string[]> =>
  readdir(join(clinic.workplace.home, 'spool'), { recursive: true }).catch(() => [])
const ROWS = `${HEADER}${ANN}${BEN}`
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

test('what is not as announced is not sent; the others are, and go to the archive', async () => {
  const clinic = await openClinic({
    job: job(
      'from: ../inbox, complete: { manifest: manifest.json }, verify: { checksum: "{name}.sha256" }, archive: ../done',
    ),
  })
  for (const [name, text, digest] of [
    ['good.csv', ROWS, sha256(ROWS)],
    ['damaged.csv', `${ROWS} `, sha256(ROWS)],
    ['short.csv', `${HEADER}${ANN}`, sha256(`${HEADER}${ANN}`)],
    ['unannounced.csv', ROWS, sha256(ROWS)],
  ] as const) {
    await clinic.deliver(name, text)
    await clinic.deliver(`${name}.sha256`, `${digest}  ${name}\n`)
  }
  const files = ['good.csv', 'damaged.csv', 'short.csv'].map((name) => ({ name, rows: 2 }))
  await clinic.deliver('manifest.json', JSON.stringify({ files }))

  const ended = await clinic.run()
  const summary = summaryOf(ended)
  expect(ended.code).toBe(1)
  expect(summary.exports.map(({ name, error }) => [name, error])).toEqual([
    ['damaged.csv', 'export-not-as-announced'],
    ['good.csv', undefined],
    ['short.csv', 'export-not-as-announced'],
  ])
  expect(ended.err).toContain('its number of rows should be 2, but is 1')
  expect(await clinic.stored()).toEqual(GOOD)
  expect((await readdir(join(clinic.workplace.folder, 'done'))).sort()).toEqual([
    'good.csv',
    'good.csv.sha256',
  ])
  expect(await inbox(clinic)).not.toContain('good.csv')
  expect(await inbox(clinic)).toEqual(expect.arrayContaining(['damaged.csv', 'short.csv', 'manifest.json']))
})

test('a run of a part archives nothing', async () => {
  const clinic = await openClinic({ job: job('from: ../inbox, archive: ../done') })
  await clinic.deliver('a.csv', ROWS)
  expect((await clinic.run('--limit', '1')).code).toBe(0)
  expect(await inbox(clinic)).toEqual(['a.csv'])
})

test('every member of an archive is an export, and nothing of it stays on the disk', async () => {
  const clinic = await openClinic({ job: job('from: ../inbox, members: "*.csv", archive: ../done') })
  const archive = new ZipFile()
  archive.addBuffer(Buffer.from(`${HEADER}${ANN}`), 'out/1.csv')
  archive.addBuffer(Buffer.from(`${HEADER}${BEN}`), 'out/2.csv')
  archive.end()
  await pipeline(archive.outputStream, createWriteStream(join(clinic.workplace.folder, 'inbox', 'a.csv.zip')))
  const summary = summaryOf(await clinic.run())
  expect(summary.exports.map(({ name, rows }) => [name, rows])).toEqual([
    ['a.csv.zip!out!1.csv', 1],
    ['a.csv.zip!out!2.csv', 1],
  ])
  expect(await clinic.stored()).toEqual(GOOD)
  expect(await spool(clinic)).toEqual([])
  expect(await inbox(clinic)).toEqual([])
})

test('an archive of which one member cannot be read stays where it is', async () => {
  const clinic = await openClinic({ job: job('from: ../inbox, members: "*.csv", archive: ../done') })
  const archive = new ZipFile()
  archive.addBuffer(Buffer.from(ROWS), '1.csv')
  archive.addBuffer(Buffer.from(HEADER), '2.csv')
  archive.end()
  await pipeline(archive.outputStream, createWriteStream(join(clinic.workplace.folder, 'inbox', 'a.csv.zip')))
  const ended = await clinic.run()
  expect(ended.code).toBe(1)
  expect(summaryOf(ended).exports.map(({ error }) => error)).toEqual([undefined, 'export-empty'])
  expect(await inbox(clinic)).toEqual(['a.csv.zip'])
})

test('from an SFTP server: fetched, sent, archived there, and gone from here', async () => {
  const clinic = await openClinic({ environment: { WAYBILL_SFTP_PASSWORD: PASSWORD } })
  const remote = join(clinic.workplace.folder, 'remote')
  await mkdir(join(remote, 'out'), { recursive: true })
  await writeFile(join(remote, 'out', 'a.csv'), ROWS)
  const server = await startSftpServer(remote)
  onTestFinished(() => server.stop())
  const sftp = `{ host: 127.0.0.1, port: ${server.port}, user: ${USER}, folder: out, hostKey: "${hostKeyFingerprint(server.hostKey)}" }`
  await clinic.workplace.job('clinic', job(`from: { sftp: ${sftp} }, archive: done`))
  const ended = await clinic.run()
  expect([ended.code, ended.err]).toEqual([0, expect.not.stringContaining(PASSWORD)])
  expect(summaryOf(ended).exports.map(({ name }) => name)).toEqual(['a.csv'])
  expect(await clinic.stored()).toEqual(GOOD)
  expect(await readFile(join(remote, 'out', 'done', 'a.csv'), 'utf8')).toBe(ROWS)
  expect(await readdir(join(remote, 'out'))).toEqual(['done'])
  expect(await spool(clinic)).toEqual([])
})

test('a run that was interrupted goes on with what it had fetched', async () => {
  const s3 = await startS3Server()
  onTestFinished(() => s3.stop())
  s3.put('in/a.csv', Buffer.from(ROWS))
  let down = true
  const place = `{ endpoint: "${s3.endpoint}", region: test-1, bucket: ${BUCKET}, prefix: in }`
  const clinic = await openClinic({
    faultOf: () => (down ? answer(403) : PASS),
    job: job(`from: { s3: ${place} }, archive: done`),
    environment: { AWS_ACCESS_KEY_ID: 'of-the-tests', AWS_SECRET_ACCESS_KEY: 'secret-of-the-tests' },
  })
  const first = await clinic.run()
  expect(first.code).toBe(3)
  expect((await spool(clinic)).filter((name) => name.endsWith('a.csv'))).toHaveLength(1)
  const fetches = (): number => s3.requests.filter((request) => request === 'GET in/a.csv').length
  expect(fetches()).toBe(1)

  down = false
  const second = await clinic.run()
  expect([second.code, summaryOf(second).state]).toEqual([0, 'finished'])
  expect(await clinic.stored()).toEqual(GOOD)
  expect(fetches()).toBe(1)
  expect([...s3.objects.keys()]).toEqual(['done/a.csv'])
  expect(await spool(clinic)).toEqual([])
})

test('what a killed run left decrypted is gone with the next, which decrypts anew', async () => {
  const { privateKey, publicKey } = await generateKey({ userIDs: [{ name: 'clinic' }], format: 'armored' })
  let child: ChildProcess | undefined
  let strikes = 1
  const clinic = await openClinic({
    faultOf: () => {
      if (strikes-- > 0) child?.kill('SIGKILL')
      return PASS
    },
    job: job('from: ../inbox, encrypted: pgp'),
    environment: { WAYBILL_PGP_KEY_FILE: 'key.asc' },
  })
  await writeFile(join(clinic.workplace.folder, 'key.asc'), privateKey)
  const message = await createMessage({ binary: Buffer.from(ROWS) })
  const encryptionKeys = await readKey({ armoredKey: publicKey })
  await clinic.deliver('a.csv.pgp', Buffer.from(await encrypt({ message, encryptionKeys, format: 'binary' })))
  await clinic.deliver('clear.csv', ROWS)

  child = clinic.workplace.start('run', 'clinic', '--json')
  await ended(child)
  expect((await spool(clinic)).filter((name) => name.endsWith('a.csv.pgp'))).toHaveLength(1)

  const second = summaryOf(await clinic.run())
  expect(second.resumed?.balanced).toBe(true)
  expect(second.exports.map(({ name, error }) => [name, error])).toEqual([['clear.csv', 'export-untrusted']])
  expect(await clinic.stored()).toEqual(GOOD)
  expect(await spool(clinic)).toEqual([])
})

test('a file dated in the future is run; what waits beside it is listed, by the run and by doctor', async () => {
  const clinic = await openClinic({
    job: job('from: ../inbox, complete: { stableFor: 1s, marker: "{name}.done" }'),
  })
  const ahead = await clinic.deliver('ahead.csv', ROWS)
  await clinic.deliver('ahead.csv.done', '')
  await clinic.deliver('half.csv', HEADER)
  const tomorrow = Date.now() / 1000 + 86_400
  await utimes(ahead, tomorrow, tomorrow)
  const run = await clinic.run()
  expect(summaryOf(run).exports.map(({ name }) => name)).toEqual(['ahead.csv'])
  expect([run.code, await clinic.stored()]).toEqual([0, GOOD])
  expect(run.err).toContain('not taken: half.csv: marker half.csv.done is missing')
  const doctor = (await clinic.workplace.waybill('doctor')).out.replaceAll(/\s+/g, ' ')
  expect(doctor).toContain('1 waiting')
  expect(doctor).toContain('half.csv: marker half.csv.done is missing')
})
