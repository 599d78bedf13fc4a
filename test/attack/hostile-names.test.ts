/**
 * What vendors, servers and archives call their files, chosen by somebody who wants to write elsewhere, to type on the operator's terminal,
 * or to stop the job. The good export beside it is run all the same, and nothing is written outside the home.
 */
import { createWriteStream } from 'node:fs'
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ZipFile } from 'yazl'
import { ANN, BEN, type Clinic, GOOD, HEADER, openClinic } from '../cli/clinic.ts'
import { type Ended, summaryOf } from '../cli/command-line.ts'
import { readRejects } from '../cli/run-outputs.ts'
import { BUCKET, startS3Server } from '../extract/sources/s3-server.ts'
import { hostKeyFingerprint, PASSWORD, startSftpServer, USER } from '../extract/sources/sftp-server.ts'

const ROWS = `${HEADER}${ANN}${BEN}`
/** Its rows are rejected: where it is read, a rejects file is written under its name. */
const BAD = `${HEADER}eve,2026-03-02,400,99,73.5,kg,fine\n`

const job = (from: string): string =>
  `exports: { match: "*.csv*", mapping: clinic, members: "*", ${from} }\naccounts: { register: never }\n`

/** Every file of the workplace but the home, with its content. */
async function outside({ workplace: { folder, home } }: Clinic): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isFile() && !path.startsWith(`${home}/`))
      found[relative(folder, path)] = await readFile(path, 'latin1')
  }
  return found
}

/** Of the run's exports, those that failed, with their codes. */
const refusedOf = (ended: Ended): Record<string, string | undefined> =>
  Object.fromEntries(
    summaryOf(ended).exports.flatMap(({ name, error }) => (error === undefined ? [] : [[name, error]])),
  )

async function expectGoodAlone(clinic: Clinic, ended: Ended, refused: readonly string[]): Promise<void> {
  expect(ended.code).toBe(1)
  expect(refusedOf(ended)).toEqual(Object.fromEntries(refused.map((name) => [name, 'export-refused'])))
  expect(summaryOf(ended)).toMatchObject({ state: 'finished', balanced: true, rows: { read: 2 } })
  expect(await clinic.stored()).toEqual(GOOD)
  for (const text of [ended.out, ended.err, ...(await readdir(clinic.workplace.home, { recursive: true }))])
    expect(text.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u)
}

describe('names that lead out of where exports lie', () => {
  const TRAVERSAL = 'a.csv/../../../../inbox/a.csv'

  test('of an SFTP server', async () => {
    const clinic = await openClinic({ environment: { WAYBILL_SFTP_PASSWORD: PASSWORD } })
    const remote = join(clinic.workplace.folder, 'remote')
    await mkdir(join(remote, 'inbox'), { recursive: true })
    await mkdir(join(remote, 'out', 'a.csv'), { recursive: true })
    await writeFile(join(remote, 'out', 'good.csv'), ROWS)
    await writeFile(join(remote, 'inbox', 'a.csv'), BAD)
    await symlink(join(remote, 'inbox', 'a.csv'), join(remote, 'out', 'link.csv'))
    const server = await startSftpServer(remote)
    onTestFinished(() => server.stop())
    server.alsoLists = [
      TRAVERSAL,
      '../inbox/a.csv',
      '/inbox/a.csv',
      'a\0.csv',
      'a\x9b31m.csv',
      'b.csv\n curl x|sh',
    ]
    const key = hostKeyFingerprint(server.hostKey)
    const sftp = `{ host: 127.0.0.1, port: ${server.port}, user: ${USER}, folder: out, hostKey: "${key}" }`
    await clinic.workplace.job('clinic', job(`from: { sftp: ${sftp} }`))
    const before = await outside(clinic)
    await expectGoodAlone(clinic, await clinic.run(), [
      TRAVERSAL,
      '../inbox/a.csv',
      '/inbox/a.csv',
      'a\\u0000.csv',
      'a\\u009b31m.csv',
      'b.csv\\n curl x|sh',
      'link.csv',
    ])
    expect(await outside(clinic)).toEqual(before)
  })

  test('of S3-compatible storage, keys outside the prefix among them', async () => {
    const s3 = await startS3Server()
    onTestFinished(() => s3.stop())
    const foreign = [
      'other/b.csv',
      `in/${TRAVERSAL}`,
      'in/sub/c.csv',
      'in/d\n.csv',
      'in/../e.csv',
      'inside.csv',
    ]
    for (const key of foreign) s3.put(key, Buffer.from(BAD))
    s3.put('in/good.csv', Buffer.from(ROWS))
    s3.alsoLists = foreign
    const place = `{ endpoint: "${s3.endpoint}", region: test-1, bucket: ${BUCKET}, prefix: in }`
    const clinic = await openClinic({
      job: job(`from: { s3: ${place} }, archive: done`),
      environment: { AWS_ACCESS_KEY_ID: 'of-the-tests', AWS_SECRET_ACCESS_KEY: 'secret-of-the-tests' },
    })
    const before = await outside(clinic)
    await expectGoodAlone(clinic, await clinic.run(), [
      'other/b.csv',
      TRAVERSAL,
      'sub/c.csv',
      'd\\n.csv',
      '../e.csv',
      'inside.csv',
    ])
    expect(await outside(clinic)).toEqual(before)
    const fetched = s3.requests.filter((one) => /^GET ./.test(one) && one !== 'GET ')
    expect(fetched).toEqual(['GET in/good.csv'])
    expect([...s3.objects.keys()].sort()).toEqual([...foreign, 'done/good.csv'].sort())
  })

  test('of a folder: control characters, and links, which are not followed', async () => {
    const clinic = await openClinic({ job: job('from: ../inbox, complete: { marker: "{name}.done" }') })
    const secret = join(clinic.workplace.folder, 'secret.txt')
    await writeFile(secret, BAD)
    await symlink(secret, join(clinic.workplace.folder, 'inbox', 'link.csv'))
    await symlink(secret, join(clinic.workplace.folder, 'inbox', 'waits.csv.done'))
    for (const name of ['waits.csv', 'good.csv', 'good.csv.done'])
      await clinic.deliver(name, name === 'waits.csv' ? BAD : ROWS)
    await clinic.deliver('x\x1b]0;title\x07.csv', BAD)
    // No export, by its name: nobody is told.
    await clinic.deliver('Icon\r', 'x')
    const before = await outside(clinic)
    await expectGoodAlone(clinic, await clinic.run(), [
      'link.csv',
      'waits.csv.done',
      'x\\u001b]0;title\\u0007.csv',
    ])
    expect(await outside(clinic)).toEqual(before)
  })

  test('of very many files: the first are told by name, the others counted', async () => {
    const clinic = await openClinic({ job: job('from: ../inbox') })
    for (let n = 0; n < 30; n += 1) await clinic.deliver(`${n}\n.csv`, BAD)
    await clinic.deliver('good.csv', ROWS)
    const ended = await clinic.run()
    expect(Object.keys(refusedOf(ended))).toHaveLength(20)
    expect(ended.err).toContain('10 more files there are refused')
    expect(await clinic.stored()).toEqual(GOOD)
  })

  test('of a member of an archive', async () => {
    const clinic = await openClinic({ job: job('from: ../inbox') })
    const archive = new ZipFile()
    archive.addBuffer(Buffer.from(BAD), 'a\x1b[2J.csv')
    archive.end()
    await pipeline(
      archive.outputStream,
      createWriteStream(join(clinic.workplace.folder, 'inbox', 'x.csv.zip')),
    )
    await clinic.deliver('good.csv', ROWS)
    await expectGoodAlone(clinic, await clinic.run(), ['x.csv.zip'])
  })
})

describe('names that no file of ours can have', () => {
  test('of 250 bytes: the job goes on, with a rejects file that can be corrected', async () => {
    const clinic = await openClinic({ job: job('from: ../inbox, archive: ../done') })
    const names = [`${'a'.repeat(246)}.csv`, `${'ü'.repeat(123)}.csv`]
    for (const name of names) await clinic.deliver(name, `${ROWS}${BAD.slice(HEADER.length)}`)
    const ended = await clinic.run()
    expect(ended).toMatchObject({ code: 1 })
    const summary = summaryOf(ended)
    expect(summary).toMatchObject({ state: 'finished', rows: { read: 6 } })
    expect((await readdir(join(clinic.workplace.folder, 'done'))).sort()).toEqual(names.sort())
    const rejects = summary.exports.map((one) => one.rejects ?? '')
    expect(new Set(rejects).size).toBe(2)
    for (const path of rejects) expect(await readRejects(path)).not.toEqual([])

    const corrected = join(clinic.workplace.folder, 'corrected.csv')
    await writeFile(corrected, (await readFile(rejects[0] ?? '', 'utf8')).replaceAll('400,99', '64,5.4'))
    expect(await clinic.run('--file', corrected)).toMatchObject({ code: 0 })
    expect(await clinic.stored()).toContain('eve heart-rate 64')
  })

  test('that become the same once cleaned: each has its own', async () => {
    const clinic = await openClinic({ job: job('from: ../inbox') })
    for (const [at, name] of ['a\u202eb.csv', 'a\u202db.csv', 'a\u2028b.csv'].entries())
      await clinic.deliver(name, BAD.replace('eve', `eve${at}`))
    const paths = summaryOf(await clinic.run()).exports.map((one) => one.rejects ?? '')
    expect(new Set(paths).size).toBe(3)
    for (const path of paths) {
      expect(path).toMatch(/\/\d-a_b~[0-9a-f]{8}\.rejects\.csv$/)
      expect(await readRejects(path)).toHaveLength(2)
    }
  })
})

test.each([
  ['rejects', '.'],
  ['receipts', '.'],
  ['spool', '.'],
  ['ledger.sqlite', 'new'],
  ['key', 'new'],
])('a link in the place of %s in the home: nothing is written behind it', async (name, target) => {
  const clinic = await openClinic({ job: job('from: ../inbox') })
  const { home, folder } = clinic.workplace
  await mkdir(home, { mode: 0o700 })
  await mkdir(join(folder, 'elsewhere'))
  await symlink(join(folder, 'elsewhere', target), join(home, name))
  await clinic.deliver('a.csv', `${ROWS}${BAD.slice(HEADER.length)}`)
  const ended = await clinic.run()
  expect(ended).toMatchObject({ code: 2 })
  expect(ended.out + ended.err).toMatch(/home-unusable.*is a link/s)
  expect(await readdir(join(folder, 'elsewhere'))).toEqual([])
})
