/** Whatever a command is at, it ends when it is asked to: a source, a file or a listing that goes on for ever cannot keep it. */
import { type ChildProcess, execFileSync } from 'node:child_process'
import { mkdir, readdir, readFile, readlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ANN, HEADER, openClinic } from '../cli/clinic.ts'
import { createWorkplace, ended, type Workplace } from '../cli/command-line.ts'
import { gatewaySettings, startReferenceStore } from '../cli/reference-store.ts'
import { BUCKET, type S3Server, startS3Server } from '../extract/sources/s3-server.ts'
import {
  hostKeyFingerprint,
  PASSWORD,
  type SftpServer,
  startSftpServer,
  USER,
} from '../extract/sources/sftp-server.ts'
import { temporaryFolder } from '../temporary-folder.ts'

/** Processor time that a command takes at most from the signal to its end, whatever else the machine does. One that waits takes none: it hangs. */
const SOON_MS = 5_000

async function workplace(environment: Record<string, string> = {}): Promise<Workplace> {
  const store = await startReferenceStore()
  return createWorkplace({ ...gatewaySettings(store.url), ...environment })
}

/** Stops the command once `begun` says that it is at it; killed where it does not end. */
async function stopped(child: ChildProcess, begun: () => boolean | Promise<boolean>) {
  onTestFinished(() => void child.kill('SIGKILL'))
  const end = ended(child)
  let isOver = false
  void end.then(() => {
    isOver = true
  })
  while (!isOver && !(await begun())) await new Promise((resolve) => setTimeout(resolve, 20))
  expect(isOver).toBe(false)
  const before = await processorMs(child)
  child.kill('SIGTERM')
  let took = 0
  while (!isOver) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    took = Math.max(took, (await processorMs(child)) - before)
    if (took > SOON_MS) child.kill('SIGKILL')
  }
  const { code, err } = await end
  return { code, err, took }
}

/** As Linux tells it, in hundredths of a second: the 14th and the 15th field. 0 when it has ended. */
async function processorMs({ pid }: ChildProcess): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  const fields = stat.slice(stat.lastIndexOf(')')).split(' ')
  return 10 * (Number(fields[12] ?? 0) + Number(fields[13] ?? 0))
}

/** Stops a command within this process, which nothing of it may keep from its end. */
async function interrupted(place: Workplace, begun: () => boolean | Promise<boolean>, ...args: string[]) {
  const interrupt = new AbortController()
  let isOver = false
  const end = place.waybillUntil(interrupt.signal, ...args).finally(() => {
    isOver = true
  })
  while (!isOver && !(await begun())) await new Promise((resolve) => setTimeout(resolve, 20))
  expect(isOver).toBe(false)
  const before = process.cpuUsage()
  interrupt.abort()
  const { code, err } = await end
  const { user, system } = process.cpuUsage(before)
  return { code, err, took: (user + system) / 1_000 }
}

const job = (from: string) => `exports: { from: ${from}, match: "*.csv" }\nmapping: acme-onsite\n`

async function atS3(): Promise<{ readonly s3: S3Server; readonly place: Workplace }> {
  const s3 = await startS3Server()
  onTestFinished(() => s3.stop())
  s3.put('in/a.csv', Buffer.from('id\n1\n'))
  const place = await workplace({
    AWS_ACCESS_KEY_ID: 'of-the-tests',
    AWS_SECRET_ACCESS_KEY: 'secret-of-the-tests',
  })
  const from = `{ s3: { endpoint: "${s3.endpoint}", region: test-1, bucket: ${BUCKET}, prefix: in } }`
  await place.job('clinic', job(from))
  return { s3, place }
}

async function atSftp(): Promise<{ readonly sftp: SftpServer; readonly place: Workplace }> {
  const remote = await temporaryFolder()
  await mkdir(join(remote, 'out'))
  await writeFile(join(remote, 'out', 'a.csv'), 'id\n1\n')
  const sftp = await startSftpServer(remote)
  onTestFinished(() => sftp.stop())
  const place = await workplace({ WAYBILL_SFTP_PASSWORD: PASSWORD })
  const address = `host: 127.0.0.1, port: ${sftp.port}, user: ${USER}, folder: out`
  await place.job('clinic', job(`{ sftp: { ${address}, hostKey: "${hostKeyFingerprint(sftp.hostKey)}" } }`))
  return { sftp, place }
}

const INTERRUPTED = { code: 130, took: expect.toSatisfy((ms: number) => ms < SOON_MS) }

test('a listing of S3 that never ends: waybill run, by a signal', async () => {
  const { s3, place } = await atS3()
  s3.nextToken = (page) => `page ${page}`
  const child = place.start('run', 'clinic')
  expect(await stopped(child, () => s3.requests.length > 10)).toMatchObject(INTERRUPTED)
})

test.each([
  ['run', 'clinic', '--dry-run'],
  ['doctor', '--sources'],
])('a listing of S3 that never ends: waybill %s', async (...typed) => {
  const { s3, place } = await atS3()
  s3.nextToken = (page) => `page ${page}`
  expect(await interrupted(place, () => s3.requests.length > 10, ...typed)).toMatchObject(INTERRUPTED)
})

test('a listing of SFTP that never ends', async () => {
  const { sftp, place } = await atSftp()
  let pages = 0
  sftp.listsForEver = true
  sftp.isSilent = (request) => {
    if (request === 'READDIR') pages++
    return false
  }
  expect(await interrupted(place, () => pages > 10, 'run', 'clinic')).toMatchObject(INTERRUPTED)
})

test.each(['SFTP', 'OPENDIR', 'READDIR', 'STAT', 'READ'])(
  'an SFTP server that does not answer %s',
  async (silent) => {
    const { sftp, place } = await atSftp()
    let isAsked = false
    sftp.isSilent = (request) => {
      isAsked ||= request === silent
      return request === silent
    }
    expect(await interrupted(place, () => isAsked, 'run', 'clinic')).toMatchObject(INTERRUPTED)
  },
)

test.each(['GET ', 'GET in/a.csv'])('storage that does not answer %s', async (silent) => {
  const { s3, place } = await atS3()
  s3.isSilent = (request) => request === silent
  const asked = (): boolean => s3.requests.includes(silent)
  expect(await interrupted(place, asked, 'run', 'clinic')).toMatchObject(INTERRUPTED)
})

test('an object that comes a little at a time', async () => {
  const { s3, place } = await atS3()
  s3.trickles = new Map([['in/a.csv', 20_000_000]])
  const asked = (): boolean => s3.requests.includes('GET in/a.csv')
  expect(await interrupted(place, asked, 'run', 'clinic')).toMatchObject(INTERRUPTED)
})

test('storage that does not answer while an export is archived: the export stays for the next run', async () => {
  const s3 = await startS3Server()
  onTestFinished(() => s3.stop())
  s3.put('in/a.csv', Buffer.from(HEADER + ANN))
  s3.isSilent = (request) => request === 'PUT done/a.csv'
  const from = `{ s3: { endpoint: "${s3.endpoint}", region: test-1, bucket: ${BUCKET}, prefix: in } }`
  const { workplace } = await openClinic({
    job: `exports: { from: ${from}, match: "*.csv", mapping: clinic, archive: done }\naccounts: { register: never }\n`,
    environment: { AWS_ACCESS_KEY_ID: 'of-the-tests', AWS_SECRET_ACCESS_KEY: 'secret-of-the-tests' },
  })
  const asked = (): boolean => s3.requests.includes('PUT done/a.csv')
  const { code, err, took } = await interrupted(workplace, asked, 'run', 'clinic')
  expect(took).toBeLessThan(SOON_MS)
  expect([code, err]).toEqual([0, expect.stringContaining('interrupted')])
  expect([...s3.objects.keys()]).toEqual(['in/a.csv'])
})

test('of an object that does not fit beside what must stay free, nothing is fetched', async () => {
  const { s3, place } = await atS3()
  s3.trickles = new Map([['in/a.csv', 1_000_000_000_000_000]])
  const { code, err } = await place.waybill('run', 'clinic')
  expect([code, err]).toEqual([2, expect.stringContaining('(WAYBILL_MIN_FREE)')])
  expect(err).toContain('disk-full')
  expect(s3.requests).not.toContain('GET in/a.csv')
})

test('exports that fail one after the other', async () => {
  const place = await workplace()
  const inbox = join(place.folder, 'inbox')
  await mkdir(inbox)
  const names = Array.from({ length: 3_000 }, (_, at) => join(inbox, `${at}.csv`))
  for (const name of names) await writeFile(name, '')
  await place.job('clinic', job('../inbox'))
  const child = place.start('run', 'clinic')
  let said = ''
  child.stderr.on('data', (text: Buffer) => {
    said += text.toString()
  })
  const failed = (): number => said.split('export-empty').length - 1
  expect(await stopped(child, () => failed() > 20)).toMatchObject(INTERRUPTED)
  expect(failed()).toBeLessThan(names.length)
})

test.each([
  ['a pipe that nobody writes into', (file: string) => void execFileSync('mkfifo', [file])],
  ['a device that never ends', undefined],
])('--file of %s is refused at once', async (_, make) => {
  const place = await workplace()
  await place.job('clinic', job('..'))
  const file = make === undefined ? '/dev/zero' : join(place.folder, 'a.csv')
  make?.(file)
  const child = place.start('run', 'clinic', '--file', file)
  onTestFinished(() => void child.kill('SIGKILL'))
  const { code, err } = await ended(child)
  expect([code, err]).toEqual([2, expect.stringContaining('it is a pipe or a device, not a file')])
})

/** As Linux tells it. A signal that comes before the program has begun ends any process. */
async function hasOpen({ pid }: Pick<ChildProcess, 'pid'>, file: string): Promise<boolean> {
  const folder = `/proc/${pid}/fd`
  const links = (await readdir(folder)).map((name) => readlink(join(folder, name)).catch(() => ''))
  return (await Promise.all(links)).includes(file)
}

test('mapping init of a sample that is wide and long', async () => {
  const place = await workplace()
  const width = 50_000
  const sample = join(place.folder, 'wide.csv')
  await writeFile(sample, `${'a,'.repeat(width)}a\n${`${'1,'.repeat(width)}1\n`.repeat(100)}`)
  const child = place.start('mapping', 'init', sample, '--out', join(place.folder, 'wide.yaml'))
  expect(await stopped(child, () => hasOpen(child, sample))).toMatchObject(INTERRUPTED)
})

test.each(['check', 'preview', 'diff'])('mapping %s of an export that takes long to read', async (action) => {
  const clinic = await openClinic()
  const { folder } = clinic.workplace
  await clinic.deliver('a.csv', HEADER + ANN.repeat(300_000))
  const sample = join(folder, 'inbox/a.csv')
  const given = {
    check: ['clinic', '--export', sample, '--rows', '100000000'],
    preview: ['clinic', sample, '--row', '1000000'],
    diff: ['clinic', 'clinic', sample],
  }[action]
  const typed = ['mapping', action, ...(given ?? [])]
  expect(await interrupted(clinic.workplace, () => hasOpen(process, sample), ...typed)).toMatchObject(
    INTERRUPTED,
  )
})
