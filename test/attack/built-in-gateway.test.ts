/** The stand-in beside a run listens on loopback, where every user of the machine can knock: it opens to its run alone, and ends with it. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { ENDPOINTS, type Endpoint } from '../../src/gateway/contract/endpoints.ts'
import { connectGateway, startAttached } from '../../src/runs/connect-gateway.ts'
import { readSettings } from '../../src/system/settings.ts'
import { ANN, HEADER, JOB, openClinic } from '../cli/clinic.ts'
import { createWorkplace, ended } from '../cli/command-line.ts'

const GIVEN = { apiKeys: ['the-key'], tokens: ['the-token'], controlSecret: 'the-secret' }
const RIGHT = { 'x-api-key': 'the-key', authorization: 'Bearer the-token' }
const CONTROL = [
  'counts',
  'records?kind=biometric',
  'record?transactionId=a',
  'occurrences?kind=biometric',
  'faults',
].map((path) => `/_reference/${path}`)

test('without the secrets of the run nothing is shown, stored or steered', async () => {
  const gateway = await startAttached(['--open'], GIVEN)
  onTestFinished(() => gateway.stop())
  const statusOf = async (path: string, init: RequestInit = {}): Promise<number> =>
    (await fetch(gateway.url + path, init)).status
  // All of the interface but the upload, whose address is the credential.
  const endpoints: readonly Endpoint[] = Object.values(ENDPOINTS).filter(({ apiKey }) => apiKey)
  for (const { method, path, bearer } of endpoints) {
    const tries: Record<string, string>[] = [
      {},
      { ...RIGHT, 'x-api-key': 'the-keys' },
      { ...RIGHT, 'x-api-key': 'the-kez' },
    ]
    if (bearer === 'required') tries.push({ ...RIGHT, authorization: 'Bearer the-tokem' })
    for (const headers of tries)
      expect([path, await statusOf(path.replace(/\{\w+\}/g, '1'), { method, headers })]).toEqual([path, 401])
  }
  for (const path of [...CONTROL, '/openapi.json', '/_reference/nothing']) {
    for (const headers of [
      RIGHT,
      { ...RIGHT, 'x-control-secret': 'the-secreT' },
      { ...RIGHT, 'x-control-secret': 'the' },
    ])
      expect([path, await statusOf(path, { headers })]).toEqual([path, 401])
  }
  const plan = { method: 'PUT', body: '{"faults":[]}', headers: { 'content-type': 'application/json' } }
  expect(await statusOf('/_reference/faults', plan)).toBe(401)
  expect(await statusOf('/_reference/tokens', { ...plan, method: 'POST' })).toBe(401)
  for (const path of CONTROL)
    expect([path, await statusOf(path, { headers: { 'x-control-secret': 'the-secret' } })]).toEqual([
      path,
      200,
    ])
})

test('a run makes secrets of its own, and no other process can read them off its command line', async () => {
  const { environment, folder } = await createWorkplace()
  const settings = readSettings(environment, folder)
  let secrets = 0
  const connection = await connectGateway(
    'built-in',
    { ...settings, home: folder },
    {
      now: Date.now,
      nextRequestId: () => 'request',
      randomHex: (bytes) => `${++secrets}`.repeat(2 * bytes),
    },
  )
  onTestFinished(() => connection.close())
  expect(secrets).toBe(3)
  expect(await connection.gateway.content.listArticles()).not.toEqual([])
  const [line = ''] = processesWith(join(folder, 'reference-gateway.sqlite')).map(({ line }) => line)
  expect(line).toContain('gateway')
  expect(line).not.toMatch(/([123])\1{63}/)
})

interface Process {
  readonly pid: number
  readonly line: string
}

/** Of this machine, with that text on their command line. */
function processesWith(text: string): Process[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const line = readFileSync(`/proc/${name}/cmdline`, 'utf8')
      return line.includes(text) ? [{ pid: Number(name), line }] : []
    } catch {
      return []
    }
  })
}

test.each([
  ['has just been started', () => true],
  [
    'has opened its store',
    (file: string) => readdirSync(join(file, '..')).includes('reference-gateway.sqlite'),
  ],
])('the run is killed when its gateway %s: the gateway is gone, too', async (_, isTime) => {
  const clinic = await openClinic({ job: JOB, environment: { WAYBILL_GATEWAY_URL: 'built-in' } })
  await clinic.deliver('day.csv', `${HEADER}${ANN}`)
  const file = join(clinic.workplace.home, 'reference-gateway.sqlite')
  const run = clinic.workplace.start('run', 'clinic')
  const over = ended(run)
  const gateway = await vi.waitUntil(() => processesWith(file).find(() => isTime(file)), {
    interval: 2,
    timeout: 60_000,
  })
  onTestFinished(() => {
    for (const { pid } of processesWith(file)) process.kill(pid, 'SIGKILL')
  })
  run.kill('SIGKILL')
  await over
  await vi.waitUntil(() => processesWith(file).every(({ pid }) => pid !== gateway.pid), {
    interval: 20,
    timeout: 60_000,
  })
})
