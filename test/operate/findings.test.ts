import { chmod, cp, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { checkJobs, checkMappings } from '../../src/operate/check-definitions.ts'
import { checkClock, checkHome, roomOf } from '../../src/operate/check-machine.ts'
import { type Check, exitOf, type Level } from '../../src/operate/finding.ts'
import { readSettings } from '../../src/system/settings.ts'
import { CLINIC } from '../cli/clinic.ts'
import { PROJECT } from '../cli/command-line.ts'
import { hostKeyFingerprint, PASSWORD, startSftpServer, USER } from '../extract/sources/sftp-server.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const NOW = Date.UTC(2026, 2, 2, 7)
const gatewayAt = (ms: number) => ({ date: new Date(ms).toUTCString(), cameAt: NOW })

test.each([
  [0, 'ok'],
  [120_000, 'ok'],
  [-120_000, 'ok'],
  [121_000, 'warning'],
  [-121_000, 'warning'],
])('a clock that is %i ms from the gateway’s is %s', (off, level) => {
  const { level: found, found: words } = checkClock(NOW, undefined, gatewayAt(NOW - off))
  expect(found).toBe(level)
  if (level === 'warning') expect(words).toContain(off > 0 ? '121 s ahead of' : '121 s behind')
})

test('before the latest run is a problem, whatever the gateway says; a date that is none is no other clock', () => {
  expect(checkClock(NOW, NOW + 1, gatewayAt(NOW)).level).toBe('problem')
  expect(checkClock(NOW, NOW, gatewayAt(NOW)).level).toBe('ok')
  expect(checkClock(NOW, undefined, { date: 'soon', cameAt: NOW })).toMatchObject({
    level: 'ok',
    found: expect.stringContaining('no other clock to compare with'),
  })
})

test.each([
  [1024 ** 3, 'ok'],
  [1024 ** 3 - 1, 'warning'],
  [50 * 1024 ** 2, 'warning'],
  [50 * 1024 ** 2 - 1, 'problem'],
])('%i bytes free is %s', (bytes, level) => {
  expect(roomOf(bytes).level).toBe(level)
})

test.each([
  [0o700, 'ok'],
  [0o710, 'warning'],
  [0o740, 'warning'],
  [0o701, 'warning'],
])('a home of mode %o is %s', async (mode, level) => {
  const home = await temporaryFolder()
  await chmod(home, mode)
  expect((await checkHome(home))[0]?.level).toBe(level)
})

test.each([
  [1, []],
  [5, []],
  [6, ['and 1 more']],
  [8, ['and 3 more']],
])('of %i open files, and of as many links, five are named', async (count, rest) => {
  const home = await temporaryFolder()
  await chmod(home, 0o700)
  await mkdir(join(home, 'in'), { mode: 0o700 })
  await writeFile(join(home, 'in/closed'), '', { mode: 0o600 })
  const numbers = Array.from({ length: count }, (_, at) => at)
  for (const at of numbers) {
    await writeFile(join(home, `in/open-${at}`), '')
    await chmod(join(home, `in/open-${at}`), 0o644)
    await symlink(join(home, 'in/closed'), join(home, `in/link-${at}`))
  }
  const [, open, links, room] = await checkHome(home)
  expect(open).toMatchObject({
    level: 'warning',
    found: expect.stringMatching(new RegExp(`^${count} .* open`)),
  })
  expect(links).toMatchObject({
    level: 'warning',
    found: expect.stringMatching(new RegExp(`^${count} .* links`)),
  })
  const named = (details: readonly string[] = [], form: RegExp) => [
    details.filter((one) => form.test(one)).length,
    details.filter((one) => !form.test(one)),
  ]
  expect(named(open?.details, /^in\/open-\d \(mode 0?644\)$/)).toEqual([Math.min(5, count), rest])
  expect(named(links?.details, /^in\/link-\d$/)).toEqual([Math.min(5, count), rest])
  expect(room?.found).toContain('free on its disk')
})

test('a file that is refused is a warning of its job, whose exports are there', async () => {
  const folder = await temporaryFolder()
  const folders = { jobs: folder, mappings: join(folder, 'mappings') }
  await mkdir(join(folder, 'in'))
  await cp(join(PROJECT, 'mappings/catalog'), join(folders.mappings, 'catalog'), { recursive: true })
  await writeFile(join(folders.mappings, 'clinic.yaml'), CLINIC)
  await writeFile(
    join(folder, 'nightly.yaml'),
    'job: nightly\nexports: { from: in, match: "*.csv" }\nmapping: clinic\n',
  )
  await writeFile(join(folder, 'in/a.csv'), 'x')
  await symlink(join(folder, 'in/a.csv'), join(folder, 'in/b.csv'))
  const settings = readSettings({ WAYBILL_GATEWAY_URL: 'built-in' }, folder)
  const findings = await checkJobs(folders, {
    sources: {},
    servers: false,
    now: NOW,
    lastRead: new Map(),
    settings,
  })
  expect(findings.map(({ level, found }) => [level, found.split(':')[0]])).toEqual([
    ['ok', join(folder, 'in/*.csv')],
    ['warning', 'export-refused'],
  ])
  expect(findings[0]?.found).toContain('1 export there')
})

test('exports without their marker wait; an empty folder that the latest run has read from is perhaps not mounted', async () => {
  const folder = await temporaryFolder()
  const folders = { jobs: folder, mappings: join(folder, 'mappings') }
  for (const name of ['in', 'gone']) await mkdir(join(folder, name))
  await cp(join(PROJECT, 'mappings/catalog'), join(folders.mappings, 'catalog'), { recursive: true })
  await writeFile(join(folders.mappings, 'clinic.yaml'), CLINIC)
  const jobOf = (name: string, from: string) =>
    writeFile(
      join(folder, `${name}.yaml`),
      `job: ${name}\nexports: { from: ${from}, match: "*.csv", complete: { marker: "{name}.done" } }\nmapping: clinic\n`,
    )
  await jobOf('full', 'in')
  await jobOf('gone', 'gone')
  await jobOf('new', 'gone')
  for (const name of ['a.csv', 'a.csv.done', 'b.csv', 'c.csv']) await writeFile(join(folder, 'in', name), 'x')
  const settings = readSettings({ WAYBILL_GATEWAY_URL: 'built-in' }, folder)
  const lastRead = new Map([
    ['full', join(folder, 'in/a.csv')],
    ['gone', join(folder, 'gone/a.csv')],
  ])
  const findings = await checkJobs(folders, { sources: {}, servers: false, now: NOW, lastRead, settings })
  expect(findings.map(({ subject, level, found }) => [subject, level, found.replaceAll(folder, '')])).toEqual(
    [
      ['full', 'ok', '/in/*.csv: 1 export there, 2 waiting'],
      ['gone', 'warning', '/gone is empty, and the latest run has read /gone/a.csv'],
      ['new', 'ok', '/gone/*.csv: 0 exports there'],
    ],
  )
})

test.each<[string, boolean, string, Record<string, string>, Level, string]>([
  ['is not looked at, unless servers are', false, 'in', {}, 'ok', 'not checked (--sources checks it)'],
  ['exists', true, 'in', {}, 'ok', 'exists'],
  ['does not exist yet', true, 'other', {}, 'warning', 'does not exist yet'],
  ['lets nobody in', true, 'in', { WAYBILL_SFTP_PASSWORD: 'wrong' }, 'problem', 'source-unreachable'],
])('the folder of a collection that %s', async (_, servers, inFolder, more, level, found) => {
  const root = await temporaryFolder()
  await mkdir(join(root, 'in'))
  const { port, hostKey, stop } = await startSftpServer(root)
  onTestFinished(() => stop())
  const folders = { jobs: root, mappings: root }
  const sftp = `host: 127.0.0.1, port: ${port}, user: ${USER}, folder: ${inFolder}`
  const key = hostKeyFingerprint(hostKey)
  await writeFile(
    join(root, 'collecting.yaml'),
    `job: collecting\npeople: known\ncollect: { what: [biometrics] }\nto: { sftp: { ${sftp}, hostKey: "${key}" }, format: csv }\n`,
  )
  const settings = readSettings({ WAYBILL_GATEWAY_URL: 'built-in' }, root)
  const sources = { sftpPassword: more['WAYBILL_SFTP_PASSWORD'] ?? PASSWORD }
  const findings = await checkJobs(folders, { sources, servers, now: NOW, lastRead: new Map(), settings })
  expect(findings).toMatchObject([{ check: 'job', level, subject: 'collecting' }])
  expect(findings[0]?.found).toContain(found)
})

test('a mapping is as good as its cases; a draft is none before its lines are decided', async () => {
  const mappings = await temporaryFolder()
  const folders = { jobs: mappings, mappings }
  const none = await checkMappings(folders, async () => undefined)
  expect(none).toMatchObject([
    { check: 'mapping', level: 'warning', found: `no mappings in ${mappings}`, remedy: expect.anything() },
  ])
  await cp(join(PROJECT, 'mappings/catalog'), join(mappings, 'catalog'), { recursive: true })
  const decided = { bare: undefined, one: [1, 0], all: [2, 0], failing: [1, 1], some: [3, 2] } as const
  for (const name of Object.keys(decided))
    await writeFile(join(mappings, `${name}.yaml`), CLINIC.replace('clinic', name))
  await writeFile(
    join(mappings, 'draft.yaml'),
    `# DECIDE: who?\n${CLINIC.replace('clinic', 'draft')}# DECIDE: when?\n`,
  )
  await writeFile(join(mappings, 'wrong.yaml'), 'mapping: wrong\n')
  const lines = (`\n${CLINIC}`.match(/\n/g) ?? []).length + 1
  const findings = await checkMappings(folders, async (name) => {
    const [cases, failed] = decided[name as keyof typeof decided] ?? []
    return cases === undefined || failed === undefined ? undefined : { cases, failed }
  })
  expect(
    findings.map(({ subject, level, found, remedy }) => [
      subject,
      level,
      found.replace('well-formed; ', ''),
      remedy,
    ]),
  ).toEqual([
    ['all', 'ok', '2 cases pass', undefined],
    ['bare', 'ok', 'no cases', undefined],
    [
      'draft',
      'warning',
      `a draft with open decisions on line 1, ${lines}: no job runs with it`,
      'waybill mapping check draft',
    ],
    ['failing', 'problem', '1 of 1 case fails', 'waybill mapping test failing'],
    ['one', 'ok', '1 case passes', undefined],
    ['some', 'problem', '2 of 3 cases fail', 'waybill mapping test some'],
    ['wrong', 'problem', expect.any(String), expect.anything()],
  ])
})

const of = (...findings: [Level, Check][]) =>
  exitOf(findings.map(([level, check]) => ({ level, check, found: '' })))

test('2 where something here must be put right, 3 where the gateway or the token alone', () => {
  expect(of(['ok', 'home'], ['warning', 'ledger'])).toBe(0)
  expect(of(['problem', 'gateway'], ['warning', 'token'])).toBe(3)
  expect(of(['problem', 'gateway'], ['problem', 'token'])).toBe(3)
  expect(of(['problem', 'gateway'], ['problem', 'job'])).toBe(2)
})
