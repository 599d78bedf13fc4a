/** Credentials that are refused: what is said names the one that is to be replaced. And commands in hints, typed as the program was started. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ANN, HEADER, openClinic } from '../cli/clinic.ts'
import { createWorkplace, PROJECT } from '../cli/command-line.ts'
import { gatewaySettings, startReferenceStore } from '../cli/reference-store.ts'
import { answer, PASS } from '../faults/fault-proxy.ts'
import { json, serve } from '../gateway/loopback.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const KEY = 'the API key (WAYBILL_API_KEY)'
const TOKEN = 'the access token (WAYBILL_ACCESS_TOKEN)'

test.each([
  ['401 to a token', 401, (path: string) => path.startsWith('/health-profile'), TOKEN],
  ['403 to a token', 403, (path: string) => path.startsWith('/health-profile'), TOKEN],
  ['401 to a key', 401, () => true, KEY],
  ['403 to a key', 403, () => true, KEY],
])('%s', async (_, status, isRefused, named) => {
  const clinic = await openClinic({ faultOf: ({ path }) => (isRefused(path) ? answer(status) : PASS) })
  await clinic.deliver('a.csv', `${HEADER}${ANN}`)
  const { code, out } = await clinic.run()
  expect([code, JSON.parse(out).error]).toMatchObject([
    3,
    { code: 'gateway-refused-credentials', message: expect.stringContaining(`: it refuses ${named}`) },
  ])
})

test('an erasure and a look at profiles name the one that is refused, too', async () => {
  let isRefused = false
  const clinic = await openClinic({
    faultOf: ({ path }) => (isRefused && path.startsWith('/health-profile') ? answer(403) : PASS),
  })
  await clinic.deliver('a.csv', `${HEADER}${ANN}`)
  expect((await clinic.run()).code).toBe(0)
  isRefused = true
  const looked = await clinic.workplace.waybill('reconcile', 'latest', '--verify', '--json')
  expect([looked.code, looked.out]).toEqual([3, expect.stringContaining(`it refuses ${TOKEN}`)])

  const store = await startReferenceStore({ apiKeys: ['another'] })
  const { waybill, folder } = await createWorkplace(gatewaySettings(store.url))
  await writeFile(join(folder, 'ids.csv'), 'partnerAccountId\nann\n')
  const erased = await waybill('accounts', 'erase', '--file', 'ids.csv', '--yes', '--json')
  expect([erased.code, erased.out]).toEqual([3, expect.stringContaining(`it refuses ${KEY}`)])
})

test('a key of the requester that is refused ends a check with 3', async () => {
  const { url } = await serve(({ url: path, headers }) =>
    path.startsWith('/medical-records') && headers['x-api-key'] !== 'another'
      ? json(401, { code: 401, message: 'no', errors: [] })
      : json(200, { code: 200, data: [], errors: [] }),
  )
  const credentials = { WAYBILL_API_KEY: 'key', WAYBILL_ACCESS_TOKEN: 'token' }
  const { waybill } = await createWorkplace({ ...credentials, WAYBILL_REQUESTER_API_KEY: 'wrong' })
  const { code, err } = await waybill('gateway', '--check', url)
  expect([code, err]).toEqual([3, expect.stringContaining('the gateway refused the key of the requester')])
  // Who has no such key may have no requester.
  const without = await createWorkplace(credentials)
  expect((await without.waybill('gateway', '--check', url)).code).not.toBe(3)
})

test('the manifest of the package says which Node it needs, and an install by an older npm goes on', async () => {
  expect(JSON.parse(readFileSync(join(PROJECT, 'package.json'), 'utf8'))).toMatchObject({
    engines: { node: '>=24' },
  })
  expect(readFileSync(join(PROJECT, '.npmrc'), 'utf8')).not.toContain('engine-strict')
})

const NPX = { npm_command: 'exec', npm_lifecycle_event: 'npx' }

test('hints name commands as they are to be typed', async () => {
  const plain = await createWorkplace()
  const byNpx = await createWorkplace(NPX)
  const missing = ['show', 'no-run'] as const
  expect((await plain.waybill(...missing)).err).toContain('`waybill run JOB`')
  const { err } = await byNpx.waybill(...missing)
  expect(err).toContain('`npx waybill run JOB`')
  expect(err).not.toContain('`waybill')
  expect((await byNpx.waybill('run', '--help')).out).toContain('\n  npx waybill run nightly-screenings')
  // What programs read is the same for all.
  const [one, other] = [await plain.waybill(...missing, '--json'), await byNpx.waybill(...missing, '--json')]
  expect(other.out.replace(byNpx.home, plain.home)).toBe(one.out)
  // Started otherwise by npm: `npm run`, or a program that npx has started.
  const byScript = await createWorkplace({ npm_command: 'run-script', npm_lifecycle_event: 'night' })
  expect((await byScript.waybill(...missing)).err).toContain('`waybill run JOB`')
})

test('warnings of a run name commands so, too', async () => {
  const clinic = await openClinic({ environment: NPX })
  await clinic.deliver('a.csv', `${HEADER}${ANN}`)
  expect((await clinic.run()).err).toContain('(npx waybill restore FILE;')
})

test('npx tells what it starts that it does', async () => {
  const folder = await temporaryFolder()
  await writeFile(join(folder, 'package.json'), '{"name":"said","version":"1.0.0","private":true}')
  await cp(join(PROJECT, '.npmrc'), join(folder, '.npmrc'))
  const told = execFileSync('npx', ['--offline', '-c', 'env'], { cwd: folder, encoding: 'utf8' })
  for (const [name, value] of Object.entries(NPX)) expect(told).toContain(`${name}=${value}`)
})
