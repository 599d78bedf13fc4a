/** Collections that go to an SFTP server or into a bucket. */
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { BUCKET, type S3Server, startS3Server } from '../extract/sources/s3-server.ts'
import {
  hostKeyFingerprint,
  PASSWORD,
  type SftpServer,
  startSftpServer,
  USER,
} from '../extract/sources/sftp-server.ts'
import { PASS, startFaultProxy } from '../faults/fault-proxy.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { type Clinic, openClinic, REGISTERED_ROW } from './clinic.ts'
import { gatewaySettings, startReferenceStore } from './reference-store.ts'

/** Of two people, with a file a kind; and how often the gateway is asked. */
async function openCollecting(to: string, settings: Record<string, string>) {
  const store = await startReferenceStore()
  let asked = 0
  const proxy = await startFaultProxy(store.url, ({ method }) => {
    if (method === 'GET') asked++
    return PASS
  })
  const clinic = await openClinic({
    mapping: `mapping: clinic\n${REGISTERED_ROW}biometrics: { heart-rate: pulse }\n`,
    job: 'exports: { from: ../inbox, match: "*.csv" }\nmapping: clinic\n',
    store,
  })
  Object.assign(clinic.workplace.environment, gatewaySettings(proxy.url), settings)
  await clinic.deliver(
    'day.csv',
    'id,day,first,last,born,gender,zip,pulse\nann,2026-03-02,A,B,1980-02-03,FEMALE,04884,61\nben,2026-03-02,A,B,1980-02-03,FEMALE,04884,62\n',
  )
  expect((await clinic.run()).code).toBe(0)
  await clinic.workplace.job(
    'collecting',
    `people: known\ncollect: { what: [biometrics, conditions] }\nto: { ${to}, format: csv }\n`,
  )
  const collect = async () => {
    const { code, out, err } = await clinic.workplace.waybill('run', 'collecting', '--json')
    return { code, err, ...JSON.parse(out) }
  }
  return { ...clinic, collect, asked: () => asked }
}

const aside = ({ workplace }: Clinic): string => join(workplace.home, 'undelivered')

async function openSftp() {
  const root = await temporaryFolder()
  await mkdir(join(root, 'in'))
  const server = await startSftpServer(root)
  onTestFinished(() => server.stop())
  const to = ({ port, hostKey }: SftpServer): string =>
    `sftp: { host: 127.0.0.1, port: ${port}, user: ${USER}, folder: in, hostKey: "${hostKeyFingerprint(hostKey)}" }`
  const clinic = await openCollecting(to(server), { WAYBILL_SFTP_PASSWORD: PASSWORD })
  return { ...clinic, server, root, to, at: (...path: string[]) => join(root, 'in', ...path) }
}

const FILES = ['biometrics.csv', 'conditions.csv', 'manifest.json']

it('goes on with the delivery after SIGKILL: nobody is asked again, no file is half, and none is left here', async () => {
  const opened = await openSftp()
  const { workplace, server, at, asked } = opened
  const arrived: string[] = []
  let full = (): void => {}
  const seen = new Promise<void>((resolve) => {
    full = resolve
  })
  server.onWrite = (path) => {
    arrived.push(path)
    if (path.includes('manifest')) full()
  }
  // The last file is written and has not its name yet.
  server.isSilent = (request) => request === 'RENAME' && arrived.some((path) => path.includes('manifest'))
  const child = workplace.start('run', 'collecting', '--json')
  await seen
  child.kill('SIGKILL')
  await once(child, 'exit')
  server.isSilent = undefined
  const [run = ''] = readdirSync(at())
  expect(readdirSync(at(run)).sort()).toEqual(['.manifest.json.part', 'biometrics.csv', 'conditions.csv'])
  expect(readdirSync(aside(opened))).toEqual([run])
  for (const name of FILES) expect(statSync(join(aside(opened), run, name)).mode & 0o777).toBe(0o600)
  const [before, came] = [asked(), arrived.length]

  const end = await opened.collect()
  expect(end).toMatchObject({
    ...{ code: 0, run, balanced: true, people: { asked: 2, collected: 2, pending: 0 } },
    collection: { isWhole: true, folder: `sftp://${USER}@127.0.0.1:${server.port}/in/${run}` },
  })
  expect([asked() - before, arrived.slice(came)]).toEqual([0, [`in/${run}/.manifest.json.part`]])
  expect(readdirSync(at(run)).sort()).toEqual(FILES)
  const manifest = JSON.parse(readFileSync(at(run, 'manifest.json'), 'utf8'))
  expect(manifest.files.map(({ bytes }: { bytes: number }) => bytes)).toEqual(
    FILES.slice(0, 2).map((name) => statSync(at(run, name)).size),
  )
  expect(readdirSync(aside(opened))).toEqual([])
})

it('ends with 6 where nothing is taken, shows where it lies, and delivers it with the next run', async () => {
  const opened = await openSftp()
  const { workplace, at, asked } = opened
  workplace.environment['WAYBILL_SFTP_PASSWORD'] = 'no-longer-that'
  const refused = await opened.collect()
  expect(refused).toMatchObject({
    ...{ code: 6, exit: 6, state: 'interrupted', reason: 'collection-not-delivered', balanced: true },
    detail: expect.stringMatching(/\.csv was not delivered: .*authentication/),
    ...{ people: { collected: 2 }, collection: { isWhole: false } },
  })
  expect(refused.detail).not.toContain('no-longer-that')
  const looked = async (...options: string[]): Promise<string> => {
    const { out } = await workplace.waybill('doctor', ...options)
    return out.split('\n').find((line) => line.includes('collects to sftp://')) ?? out
  }
  expect(await looked()).toMatch(/ok .*: not checked \(--sources checks it\)/)
  expect((await workplace.waybill('doctor', '--sources')).out).toMatch(
    /problem +job +collecting: source-\w+: .*authentication/,
  )
  const shown = await workplace.waybill('show', 'latest')
  expect(shown.out).toContain(join('home', 'undelivered'))
  workplace.environment['WAYBILL_SFTP_PASSWORD'] = PASSWORD
  expect(await looked('--sources')).toMatch(/ok .*: exists/)
  const before = asked()
  const end = await opened.collect()
  expect([end.code, end.run, asked() - before]).toEqual([0, refused.run, 0])
  expect(readdirSync(at(end.run)).sort()).toEqual(FILES)
  expect(readdirSync(aside(opened))).toEqual([])
  rmSync(at(), { recursive: true })
  expect(await looked('--sources')).toMatch(/warning .*: does not exist yet/)
})

it('given up, leaves nothing of it here', async () => {
  const opened = await openSftp()
  opened.workplace.environment['WAYBILL_SFTP_PASSWORD'] = 'no-longer-that'
  const { run } = await opened.collect()
  expect(existsSync(join(aside(opened), run, 'biometrics.csv'))).toBe(true)
  const { code } = await opened.workplace.waybill('resolve', run, '--give-up')
  expect([code, readdirSync(aside(opened))]).toEqual([0, []])
  expect(readdirSync(join(opened.workplace.home, 'spool'))).toEqual([])
})

it('goes into a bucket below the prefix, the manifest last; what is there already is not put there again', async () => {
  const s3 = await startS3Server()
  onTestFinished(() => s3.stop())
  const opened = await openCollecting(
    `s3: { endpoint: "${s3.endpoint}", region: test-1, bucket: ${BUCKET}, prefix: out/waybill }`,
    { AWS_ACCESS_KEY_ID: 'tests', AWS_SECRET_ACCESS_KEY: 'secret-of-the-tests' },
  )
  // The manifest is refused.
  s3.onPut = (key) => (key.endsWith('manifest.json') ? 'refuse' : undefined)
  const refused = await opened.collect()
  expect([refused.code, keysOf(s3)]).toEqual([
    6,
    FILES.slice(0, 2).map((name) => `out/waybill/${refused.run}/${name}`),
  ])
  s3.onPut = undefined
  const [before, asked] = [s3.requests.length, opened.asked()]
  const end = await opened.collect()
  expect(end).toMatchObject({
    ...{ code: 0, run: refused.run },
    collection: { isWhole: true, folder: `s3://${BUCKET}/out/waybill/${refused.run}` },
  })
  expect(keysOf(s3)).toEqual(FILES.map((name) => `out/waybill/${refused.run}/${name}`))
  expect(s3.requests.slice(before).filter((one) => one.startsWith('PUT'))).toHaveLength(1)
  expect([opened.asked() - asked, readdirSync(aside(opened))]).toEqual([0, []])
})

const keysOf = ({ objects }: S3Server): string[] => [...objects.keys()].sort()

it.each([
  ['sftp: { host: h, user: u }', 'to.sftp.hostKey: is missing'],
  ['folder: x, s3: { bucket: b, region: r }', 'to.s3: unknown key'],
  ['format: csv', 'to.folder: is missing'],
])('refuses a job with to: { %s }', async (to, said) => {
  const { workplace } = await openClinic()
  await workplace.job('wrong', `people: known\ncollect: { what: [biometrics] }\nto: { ${to} }\n`)
  const { code, err } = await workplace.waybill('run', 'wrong')
  expect([code, err]).toEqual([2, expect.stringContaining(said)])
})
