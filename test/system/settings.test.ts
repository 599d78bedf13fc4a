import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { examineSettings, listenAddress } from '../../src/system/settings.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const LOG = '/var/log/waybill.log'
const read = (environment: Record<string, string>) => {
  const { settings, findings } = examineSettings(environment, '/srv')
  return { ...settings, findings: findings.map(({ place, message }) => `${place.key} ${message}`) }
}

describe('the log file', () => {
  test('10 MiB, and five of them, where nothing else is said', () => {
    const maxBytes = 10_485_760
    expect(read({ WAYBILL_LOG_FILE: 'w.log' })).toMatchObject({
      logFile: { path: '/srv/w.log', maxBytes, files: 5 },
      findings: [],
    })
    expect(read({}).logFile).toBeUndefined()
  })

  test.each([
    ['1KiB', '1', 1_024, 1],
    ['512MiB', '30', 536_870_912, 30],
    ['2GiB', '999', 2_147_483_648, 999],
  ])('%s, %s files', (size, files, maxBytes, count) => {
    const environment = { WAYBILL_LOG_FILE: LOG, WAYBILL_LOG_FILE_SIZE: size, WAYBILL_LOG_FILES: files }
    expect(read(environment)).toMatchObject({ logFile: { maxBytes, files: count }, findings: [] })
  })

  test.each([
    ['WAYBILL_LOG_FILE_SIZE', '10MB', 'is "10MB"; write it like 10MiB'],
    ['WAYBILL_LOG_FILE_SIZE', '0MiB', 'is "0MiB"; write it like 10MiB'],
    ['WAYBILL_LOG_FILES', '0', 'is "0"; write it like 5, from 1 to 999'],
    ['WAYBILL_METRICS', '99999', 'is "99999"; write it like 9464 or 0.0.0.0:9464'],
  ])('%s=%s is refused', (name, value, finding) => {
    expect(read({ WAYBILL_LOG_FILE: LOG, [name]: value }).findings).toEqual([`${name} ${finding}`])
  })
})

test.each([
  ['WAYBILL_GATEWY_URL', 'is not a setting of Waybill; did you mean "WAYBILL_GATEWAY_URL"?'],
  ['WAYBILL_QQQQQQ', 'is not a setting of Waybill; the settings are: WAYBILL_GATEWAY_URL'],
])('of a wrong name %s, the nearest setting is named', (name, said) => {
  expect(read({ [name]: 'x' }).findings.join()).toContain(said)
})

test.each([
  ['9464', { host: '127.0.0.1', port: 9464 }],
  ['0', { host: '127.0.0.1', port: 0 }],
  ['0.0.0.0:9464', { host: '0.0.0.0', port: 9464 }],
  ['metrics.example:80', { host: 'metrics.example', port: 80 }],
  ['[::1]:9464', { host: '::1', port: 9464 }],
  ['65536', undefined],
  ['::1:9464', undefined],
  [':9464', undefined],
  ['localhost', undefined],
  ['http://localhost:9464', undefined],
])('%s is listened on as %o', (text, address) => {
  expect(listenAddress(text)).toEqual(address)
})

test.each([
  ['https://user:s3cret@gateway.example/api/', 'https://gateway.example/api'],
  ['https://s3cret@gateway.example', 'https://gateway.example'],
  ['https://gateway.example/api/?key=s3cret#s3cret', 'https://gateway.example/api'],
  ['https://user:s3@cret@gateway.example:8443', 'https://gateway.example:8443'],
])('%s is refused, and its secret goes no further', (WAYBILL_GATEWAY_URL, gatewayUrl) => {
  const given = { WAYBILL_GATEWAY_URL, WAYBILL_API_KEY: 'k', WAYBILL_ACCESS_TOKEN: 't' }
  expect(read(given)).toMatchObject({
    gatewayUrl,
    findings: [
      'WAYBILL_GATEWAY_URL has a user name, password, query or fragment, which is not sent: remove it',
    ],
  })
})

// Standard Webhooks 1.0.0, section "Signature scheme": between 24 and 64 bytes.
test.each([
  [23, false],
  [24, true],
  [64, true],
  [65, false],
])('a webhook secret of %i bytes: %s', (length, isTaken) => {
  const WAYBILL_WEBHOOK_SECRET = `whsec_${Buffer.alloc(length, 's').toString('base64')}`
  const { webhookSecret, findings } = read({ WAYBILL_WEBHOOK_SECRET })
  expect(webhookSecret).toBe(WAYBILL_WEBHOOK_SECRET)
  expect(findings.length === 0).toBe(isTaken)
})

test('what is set in the environment wins over the .env file', async () => {
  const folder = await temporaryFolder()
  await writeFile(join(folder, '.env'), 'WAYBILL_HOME=of-the-file\nWAYBILL_JOBS=jobs-of-the-file\n')
  const { settings, findings } = examineSettings({ WAYBILL_HOME: '/of/the/environment' }, folder)
  expect({ home: settings.home, jobs: settings.jobs, findings }).toEqual({
    home: '/of/the/environment',
    jobs: join(folder, 'jobs-of-the-file'),
    findings: [],
  })
  // A program that opens Waybill gives all of its settings itself.
  expect(examineSettings({}, folder, 'ignored').settings.home).toBe(join(folder, '.waybill'))
})

const CHOICES = 'the parameters are: options, sslmode, sslrootcert, sslcert, sslkey'
test.each([
  ['postgres://waybill@db.example/waybill', undefined],
  ['postgres://waybill@db.example/waybill?sslmode=verify-full&sslrootcert=ca.pem', undefined],
  ['postgres://waybill@127.0.0.1/waybill?sslmode=disable', undefined],
  ['postgres://waybill@[::1]:5433/waybill?options=-c%20search_path%3Dwaybill', undefined],
  ['postgres://waybill@db.example/waybill?sslmode=disable', 'reaches another machine without TLS'],
  ['postgres://waybill@db.example/waybill?sslmode=require', 'has the sslmode require'],
  ['postgres://waybill@db.example/waybill?sslmode=no-verify', 'has the sslmode no-verify'],
  ['postgres://waybill@db.example/waybill?ssl=0', `has ssl; ${CHOICES}`],
  ['postgres://waybill@localhost/waybill?host=db.example', `has host; ${CHOICES}`],
  ['postgres://waybill:s3cret@db.example/waybill', 'has a password'],
  ['https://db.example/waybill', 'is no address of PostgreSQL'],
])('a ledger at %s: %s', (WAYBILL_LEDGER, said) => {
  const { findings } = read({ WAYBILL_LEDGER })
  expect(findings).toEqual(said === undefined ? [] : [expect.stringContaining(said)])
  expect(findings.join()).not.toContain('s3cret')
})

test('a ledger on another machine does without TLS only by a setting of its own', () => {
  const given = { WAYBILL_LEDGER: 'postgres://waybill@db.example/waybill?sslmode=disable' }
  expect(read({ ...given, WAYBILL_LEDGER_UNENCRYPTED: 'false' }).findings).toHaveLength(1)
  expect(read({ ...given, WAYBILL_LEDGER_UNENCRYPTED: 'true' }).findings).toEqual([])
})
