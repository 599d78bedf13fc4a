/** Secrets and exports go where the job says, and safely: whatever the environment, a query or a line of known_hosts says beside it. */
import { createHmac, randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createS3Source } from '../../src/extract/sources/s3.ts'
import { hostKeyCheck } from '../../src/extract/sources/sftp.ts'
import { createEmail } from '../../src/notify/email.ts'
import { examineSettings } from '../../src/system/settings.ts'
import { selfSignedCertificate } from '../gateway/self-signed-certificate.ts'
import { startMailServer } from '../notify/mail-server.ts'
import { MESSAGE } from '../notify/sample-notice.ts'
import { temporaryFolder } from '../temporary-folder.ts'

/** Whatever comes to a server where nothing should. */
async function startListener(): Promise<{ readonly url: string; readonly heard: string[] }> {
  const heard: string[] = []
  const server = createServer((request, response) => {
    heard.push(`${request.method} ${request.url} ${request.headers['x-amz-security-token']}`)
    response.writeHead(403).end()
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => void server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, heard }
}

function withVariables(variables: Readonly<Record<string, string>>): void {
  const before = { ...process.env }
  Object.assign(process.env, variables)
  onTestFinished(() => {
    for (const name of Object.keys(variables)) delete process.env[name]
    Object.assign(process.env, before)
  })
}

test.each(['AWS_ENDPOINT_URL', 'AWS_ENDPOINT_URL_S3'])(
  '%s leads no export and no token elsewhere',
  async (name) => {
    const { url, heard } = await startListener()
    const credentials = {
      AWS_ACCESS_KEY_ID: 'id',
      AWS_SECRET_ACCESS_KEY: 'secret',
      AWS_SESSION_TOKEN: 'token',
    }
    withVariables({ [name]: url, ...credentials })
    // A region that no name server knows.
    const source = await createS3Source({ bucket: 'waybill-test', prefix: '', region: 'nowhere' })
    await expect(source.list()).rejects.toMatchObject({ code: 'source-unreachable' })
    await source.close()
    expect(heard).toEqual([])
  },
)

/** The names of settings that are refused. */
const refused = (environment: Readonly<Record<string, string>>): (string | undefined)[] =>
  examineSettings(environment, '/', 'ignored').findings.map(({ place }) => place.key)

describe('settings that lead secrets over a network in the clear', () => {
  test.each([
    ['AWS_ENDPOINT_URL', 'http://storage.example', false],
    ['AWS_ENDPOINT_URL_STS', 'http://169.254.169.254', false],
    ['AWS_ENDPOINT_URL_STS', 'https://sts.eu-west-1.amazonaws.com', true],
    ['AWS_ENDPOINT_URL', 'http://127.0.0.1:4566', true],
    ['WAYBILL_OTLP_ENDPOINT', 'http://collector.example:4318', true],
  ])('%s=%s: taken %s', (name, value, isTaken) => {
    expect(refused({ [name]: value })).toEqual(isTaken ? [] : [name])
  })

  test.each(['WAYBILL_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS'])(
    'traces with %s: by https, or on loopback',
    (headers) => {
      const to = (endpoint: string) => refused({ WAYBILL_OTLP_ENDPOINT: endpoint, [headers]: 'x-key=secret' })
      expect(to('http://collector.example:4318')).toEqual(['WAYBILL_OTLP_ENDPOINT'])
      expect(to('https://collector.example')).toEqual([])
      expect(to('http://127.0.0.1:4318')).toEqual([])
    },
  )

  test.each(['?tls.rejectUnauthorized=false', '?ignoreTLS=true', '?secure=false', '#x'])(
    'an SMTP address with %s',
    (query) => {
      const from = { WAYBILL_SMTP_FROM: 'a@hospital.example' }
      const found = examineSettings(
        { ...from, WAYBILL_SMTP_URL: `smtps://u:a-secret@mail.example${query}` },
        '/',
        'ignored',
      )
      expect(found.findings.map(({ place }) => place.key)).toEqual(['WAYBILL_SMTP_URL'])
      expect(JSON.stringify(found.findings)).not.toContain('a-secret')
    },
  )
})

test('a mail server whose certificate nobody vouches for gets no password, whatever the address asks for', async () => {
  const { key, cert } = await selfSignedCertificate()
  const logins: unknown[] = []
  const { port } = await startMailServer({
    ...{ secure: true, key, cert },
    onAuth: (login, _session, done) => {
      logins.push(login)
      done(null, { user: 'waybill' })
    },
  })
  const smtpUrl = `smtps://waybill:secret@127.0.0.1:${port}?tls.rejectUnauthorized=false`
  const sent = createEmail({
    smtpUrl,
    from: 'a@hospital.example',
    to: 'b@hospital.example',
    timeoutMs: 60_000,
  }).deliver(MESSAGE)
  await expect(sent).rejects.toThrow('the mail server did not accept the mail')
  expect(logins).toEqual([])
})

const KEY = randomBytes(51)
const NEXT = randomBytes(51)
const line = (hosts: string, key = KEY, mark = ''): string =>
  `${mark}${mark && ' '}${hosts} ssh-ed25519 ${key.toString('base64')} a comment\n`
const hashed = (name: string): string => {
  const salt = randomBytes(20)
  const mac = createHmac('sha1', salt).update(name).digest('base64')
  return `|1|${salt.toString('base64')}|${mac}`
}

async function accepts(known: string, host = 'sftp.vendor.example', port = 22): Promise<boolean> {
  const file = join(await temporaryFolder(), 'known_hosts')
  await writeFile(file, known)
  const check = await hostKeyCheck(file, host, port).catch((error: unknown) => {
    expect(error).toMatchObject({ code: 'source-untrusted' })
    return () => false
  })
  // Nobody has vouched for the other key.
  expect(check(NEXT)).toBe(false)
  return check(KEY)
}

/** sshd(8), SSH_KNOWN_HOSTS FILE FORMAT. */
describe('known_hosts', () => {
  test.each<[string, boolean]>([
    ['sftp.vendor.example', true],
    ['SFTP.Vendor.Example', true],
    ['other.example,sftp.vendor.example', true],
    ['*.vendor.example', true],
    ['sftp?vendor.example', true],
    ['*', true],
    ['*.vendor.example,!sftp.vendor.example', false],
    ['!sftp.vendor.example,*', false],
    ['!other.vendor.example,*.vendor.example', true],
    ['!other.vendor.example', false],
    ['sftp.vendor', false],
    ['sftpxvendor.example', false],
    ['(sftp|other).vendor.example', false],
    ['[sftp.vendor.example]:2222', false],
    [hashed('sftp.vendor.example'), true],
    [hashed('other.example'), false],
  ])('a line for %s', async (hosts, expected) => {
    expect(await accepts(line(hosts))).toBe(expected)
  })

  test.each<[string, boolean]>([
    ['[sftp.vendor.example]:2222', true],
    ['[*.vendor.example]:2222', true],
    ['[sftp.vendor.example]:2223', false],
    ['sftp.vendor.example', false],
    [hashed('[sftp.vendor.example]:2222'), true],
  ])('a line for %s, and port 2222', async (hosts, expected) => {
    expect(await accepts(line(hosts), 'sftp.vendor.example', 2222)).toBe(expected)
  })

  test.each([
    'sftp.vendor.example',
    '*',
    '*.vendor.example',
    '*.example,!other.example',
    hashed('sftp.vendor.example'),
    'SFTP.vendor.example',
  ])('a key that is revoked for %s is accepted on no port, wherever the line stands', async (hosts) => {
    const revoked = line(hosts, KEY, '@revoked')
    expect(await accepts(line('sftp.vendor.example') + revoked)).toBe(false)
    expect(await accepts(`# revoked\n\n${revoked.replaceAll(' ', ' \t')}${line('*')}`)).toBe(false)
    expect(await accepts(revoked + line('[sftp.vendor.example]:2222'), 'sftp.vendor.example', 2222)).toBe(
      false,
    )
  })

  test('a revoked key of another host, or another key of this one, changes nothing', async () => {
    expect(await accepts(line('*', NEXT, '@revoked') + line('sftp.vendor.example'))).toBe(true)
    expect(await accepts(line('other.example', KEY, '@revoked') + line('sftp.vendor.example'))).toBe(true)
  })

  test('the key of a certificate authority is no key of a host', async () => {
    expect(await accepts(line('*', KEY, '@cert-authority'))).toBe(false)
  })
})
