import { chmod, mkdir, readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { PASS } from '../faults/fault-proxy.ts'
import { json, serve } from '../gateway/loopback.ts'
import { ANN, CLINIC, HEADER, openClinic } from './clinic.ts'
import { createWorkplace, type Ended, ended } from './command-line.ts'
import { openFaultyClinic, runInDoubt } from './left-behind.ts'
import { gatewaySettings, startReferenceStore } from './reference-store.ts'

const Told = z.object({
  exit: z.int(),
  findings: z.array(
    z.object({
      check: z.string(),
      level: z.string(),
      subject: z.string().optional(),
      found: z.string(),
      remedy: z.string().optional(),
    }),
  ),
})

/** `level check: found` of what is not ok. */
function trouble({ code, out }: Ended): [number | null, string[]] {
  const { exit, findings } = Told.parse(JSON.parse(out))
  expect(exit).toBe(code)
  for (const { level, remedy } of findings) if (level !== 'ok') expect(remedy).toBeDefined()
  const bad = findings.filter(({ level }) => level !== 'ok')
  return [
    code,
    bad.map(
      ({ check, level, subject, found }) =>
        `${level} ${check}: ${subject === undefined ? '' : `${subject}: `}${found}`,
    ),
  ]
}

/** Room on the disk of the test is none of its business. */
const steady = (text: string, url: string): string =>
  text
    .replaceAll(/\d{8}T\d{6}Z-[0-9a-f]{6}/g, 'RUN')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'INSTANT')
    .replaceAll(/\d+\.\d (GB|TB) free/g, 'N GB free')
    .replaceAll(/intact, [\d.]+ kB, shape [\w-]+/g, 'intact, N kB, shape LATEST')
    .replaceAll(/\/\S*\/waybill-[^/\s]+/g, 'FOLDER')
    .replaceAll(url, 'GATEWAY')

/** Without mappings: their cases take their time. */
const createBare = (environment: Record<string, string>) =>
  createWorkplace({ WAYBILL_MAPPINGS: 'none', ...environment })

test('all is well: one line for each thing looked at, and nothing is changed or stored', async () => {
  const clinic = await openClinic()
  await clinic.deliver('day.csv', `${HEADER}${ANN}`)
  await clinic.run()
  const stored = await clinic.stored()
  const file = join(clinic.workplace.home, 'ledger.sqlite')
  const before = await stat(file)
  const { code, out, err } = await clinic.workplace.waybill('doctor')
  expect({ code, err }).toEqual({ code: 0, err: '' })
  await expect(steady(out, clinic.store.url)).toMatchFileSnapshot('golden/doctor-well.txt')
  const { mtimeMs, size } = await stat(file)
  expect({ mtimeMs, size }).toEqual({ mtimeMs: before.mtimeMs, size: before.size })
  expect(await clinic.stored()).toEqual(stored)
})

test('what is wrong is told together, each with what to do about it', async () => {
  const clinic = await openFaultyClinic()
  const { workplace } = clinic
  await clinic.deliver('day.csv', `${HEADER}${ANN}`)
  await runInDoubt(clinic, 'reset')
  await chmod(workplace.home, 0o755)
  await workplace.job(
    'broken',
    'exports: { from: ../nowhere, match: "*.csv" }\nmapping: clinic\nretries: 3\n',
  )
  await workplace.job('lonely', 'exports: { from: ../nowhere, match: "*.csv" }\nmapping: clinic\n')
  const mappings = join(workplace.folder, 'mappings')
  await writeFile(join(mappings, 'wrong.yaml'), CLINIC.replace('mapping: clinic', 'mapping: wrong\nspeed: 3'))
  await writeFile(
    join(mappings, 'clinic.cases.yaml'),
    'cases:\n  - name: a case that does not hold\n    row: { id: ann, day: "2026-03-02", pulse: "61" }\n    outcome: skipped\n',
  )
  await writeFile(join(workplace.folder, '.env'), 'WAYBILL_LOG_LEVEL=loud\nWAYBILL_KEY=short\n')
  clinic.strike(({ path }) => (path === '/health-profile/biometrics' ? { do: 'answer', status: 401 } : PASS))
  const { code, out, err } = await workplace.waybill('doctor')
  expect({ code, err }).toEqual({ code: 2, err: '' })
  await expect(steady(out, clinic.proxy.url)).toMatchFileSnapshot('golden/doctor-trouble.txt')
})

test('a new installation: what is not there yet is no problem', async () => {
  const { waybill, home } = await createWorkplace()
  const [code, bad] = trouble(await waybill('doctor', '--json'))
  expect(code).toBe(0)
  expect(bad).toEqual([
    `warning home: ${home} does not exist yet; the first run makes it`,
    expect.stringMatching(/^warning job: no jobs in /),
  ])
  await expect(readdir(home)).rejects.toThrow('ENOENT')
})

test('settings without which the gateway cannot be asked: a finding, and the rest is looked at', async () => {
  const { waybill } = await createBare({ WAYBILL_GATEWAY_URL: 'http://gateway.example' })
  const [code, bad] = trouble(await waybill('doctor', '--json'))
  expect(code).toBe(2)
  expect(bad).toContain(
    'problem settings: WAYBILL_GATEWAY_URL: must be https; plain http is for loopback addresses only',
  )
  expect(bad).toContain('warning gateway: not checked: its settings are wrong')
  expect(bad.filter((one) => one.includes('WAYBILL_A'))).toHaveLength(2)
})

test('the gateway alone cannot be had: exit code 3', async () => {
  const store = await startReferenceStore()
  await store.close()
  const { waybill } = await createBare(gatewaySettings(store.url))
  const [code, bad] = trouble(await waybill('doctor', '--json'))
  expect(code).toBe(3)
  expect(bad).toContainEqual(expect.stringMatching(/^problem gateway: \S+ cannot be reached: .*ECONNREFUSED/))
})

test('a key that is refused, and a token command that fails', async () => {
  const store = await startReferenceStore({ apiKeys: ['another'] })
  const { WAYBILL_ACCESS_TOKEN: _none, ...settings } = gatewaySettings(store.url)
  const { waybill } = await createBare({
    ...settings,
    WAYBILL_ACCESS_TOKEN_COMMAND: 'echo secret; exit 7',
  })
  const ended = await waybill('doctor', '--json')
  const [code, bad] = trouble(ended)
  expect(code).toBe(3)
  expect(bad).toContain(`problem gateway: ${store.url} refuses the API key (HTTP 401)`)
  expect(bad).toContain('problem token: WAYBILL_ACCESS_TOKEN_COMMAND failed (exit 7)')
  expect(ended.out).not.toContain('secret')
})

test('a key that is refused says nothing of the token', async () => {
  const store = await startReferenceStore({ apiKeys: ['another'] })
  const { waybill } = await createBare(gatewaySettings(store.url))
  const [code, bad] = trouble(await waybill('doctor', '--json'))
  expect(code).toBe(3)
  expect(bad).toContain('warning token: not checked: key refused')
  expect(bad.filter((one) => one.startsWith('problem token'))).toEqual([])
})

test('a token command is run, and what it prints is tried', async () => {
  const store = await startReferenceStore()
  const { WAYBILL_ACCESS_TOKEN: _none, ...settings } = gatewaySettings(store.url)
  const { waybill } = await createBare({ ...settings, WAYBILL_ACCESS_TOKEN_COMMAND: 'echo token' })
  const { findings } = Told.parse(JSON.parse((await waybill('doctor', '--json')).out))
  expect(findings).toContainEqual({ check: 'token', level: 'ok', found: 'the gateway accepts it' })
})

test('a clock that is off: a warning; one that is before the latest run: a problem', async () => {
  const { url } = await serve(() => ({
    ...json(200, { data: [] }),
    headers: { 'content-type': 'application/json', date: new Date(Date.now() - 600_000).toUTCString() },
  }))
  const clinic = await openClinic({ environment: gatewaySettings(url) })
  const [code, bad] = trouble(await clinic.workplace.waybill('doctor', '--json'))
  expect(code).toBe(0)
  expect(bad).toContainEqual(expect.stringMatching(/^warning clock: (599|600|601) s ahead of the gateway's$/))

  const store = await openClinic()
  await store.deliver('day.csv', `${HEADER}${ANN}`)
  await store.run()
  const database = new DatabaseSync(join(store.workplace.home, 'ledger.sqlite'))
  database.prepare('update run set started_at = ?').run(Date.now() + 3_600_000)
  database.close()
  const [late, found] = trouble(await store.workplace.waybill('doctor', '--json'))
  expect(late).toBe(2)
  expect(found).toContainEqual(
    expect.stringMatching(/^problem clock: .* is before the start of the latest run/),
  )
})

test('a run that is under way is told with its holder; one that was killed, with how to finish it', async () => {
  const clinic = await openFaultyClinic()
  const { workplace } = clinic
  await clinic.deliver('day.csv', `${HEADER}${ANN}`)
  const asked = Promise.withResolvers<void>()
  clinic.strike(({ method }) => {
    if (method !== 'POST') return PASS
    asked.resolve()
    return { do: 'hang' }
  })
  const child = workplace.start('run', 'clinic', '--json')
  const running = ended(child)
  await asked.promise
  const { findings } = Told.parse(JSON.parse((await workplace.waybill('doctor', '--json')).out))
  expect(findings).toContainEqual(
    expect.objectContaining({
      check: 'ledger',
      found: expect.stringMatching(
        new RegExp(`^clinic is running in process \\S+:${child.pid} \\(run \\S+, since `),
      ),
    }),
  )
  child.kill('SIGKILL')
  await running
  const [code, bad] = trouble(await workplace.waybill('doctor', '--json'))
  expect(code).toBe(0)
  expect(bad).toEqual(['warning needs: clinic stopped before the end (stopped)'])
})

test('a ledger that is damaged, or none at all', async () => {
  const clinic = await openClinic()
  const { home } = clinic.workplace
  await mkdir(home)
  clinic.workplace.environment['WAYBILL_KEY'] = 'a key without a ledger'
  await writeFile(join(home, 'ledger.sqlite'), 'this is no database, but it is long enough\n'.repeat(100))
  const [code, bad] = trouble(await clinic.workplace.waybill('doctor', '--json'))
  expect(code).toBe(2)
  expect(bad).toContainEqual(
    expect.stringMatching(/^problem ledger: \S+ cannot be opened: file is not a database$/),
  )
  expect((await clinic.workplace.waybill('doctor')).out).toContain('key       set; nothing to compare with')
})

test('a server is asked with --sources alone', async () => {
  const { waybill, job } = await createWorkplace()
  const source = '{ sftp: { host: 127.0.0.1, port: 1, user: waybill, hostKey: known_hosts } }'
  await job('remote', `exports: { from: ${source}, match: "*.csv", mapping: acme-onsite }\n`)
  const { findings } = Told.parse(JSON.parse((await waybill('doctor', '--json')).out))
  expect(findings.filter(({ check }) => check === 'job')).toEqual([
    {
      check: 'job',
      level: 'ok',
      subject: 'remote',
      found: 'sftp://waybill@127.0.0.1:1/./*.csv: not checked (--sources checks it)',
    },
  ])
  const [code, bad] = trouble(await waybill('doctor', '--sources', '--json'))
  expect(code).toBe(2)
  expect(bad).toContainEqual(
    expect.stringMatching(/^problem job: remote: (source-unreachable|export-unreadable|source-untrusted): /),
  )
})
