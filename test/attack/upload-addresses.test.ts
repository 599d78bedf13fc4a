/** Addresses for authorizations that a gateway should not give: the document goes to the gateway's own site, or where the job says. */
import { describe, expect, test } from 'vitest'
import { JobDefinition } from '../../src/definitions/job-definition.ts'
import { parseUploadAddress } from '../../src/gateway/connection-settings.ts'
import { client, serve } from '../gateway/loopback.ts'

const PDF = Buffer.from('%PDF-1.7\n%%EOF\n')
const BASE = new URL('https://gateway.example.org/api')
const ALLOWED = ['store.example.net', '127.0.0.1', 'localhost']

describe('a gateway elsewhere', () => {
  test.each([
    'https://gateway.example.org/upload/1?signature=x',
    'https://gateway.example.org:8443/upload',
    'https://GATEWAY.example.org./upload',
    'https://files.gateway.example.org/upload',
    'https://store.example.net/bucket/1',
  ])('may give %s', (address) => {
    expect(parseUploadAddress(address, BASE, ALLOWED).href).toContain('/')
  })

  test.each([
    'no address',
    'http://gateway.example.org/upload',
    'ftp://gateway.example.org/upload',
    'file:///etc/passwd',
    'https://user@gateway.example.org/upload',
    'https://:secret@gateway.example.org/upload',
    'https://elsewhere.example.com/upload',
    'https://example.org/upload',
    'https://other.example.org/upload',
    'https://evilgateway.example.org/upload',
    'https://gateway.example.org.evil.example/upload',
    'https://sub.store.example.net/upload',
    'https://127.0.0.1/upload',
    'https://127.1/upload',
    'https://2130706433/upload',
    'https://0.0.0.0/upload',
    'https://localhost/upload',
    'https://localhost./upload',
    'https://any.localhost/upload',
    'https://[::1]/upload',
    'https://[::]/upload',
    'https://[::ffff:127.0.0.1]/upload',
    'https://[fe80::1]/upload',
    'https://[::ffff:169.254.169.254]/latest/meta-data',
    'https://169.254.169.254/latest/meta-data',
    'http://127.0.0.1:9200/index',
  ])('may not give %s, whatever the job allows', (address) => {
    expect(() => parseUploadAddress(address, BASE, ALLOWED)).toThrow('upload address')
  })
})

test('a gateway on this machine may give its own, and none elsewhere', () => {
  const here = new URL('http://127.0.0.1:8080')
  for (const address of [
    'http://127.0.0.1:8081/upload',
    'http://localhost:8080/upload',
    'https://[::1]/upload',
  ])
    expect(parseUploadAddress(address, here, []).href).toBe(address)
  for (const address of [
    'http://169.254.169.254/',
    'https://store.example.net/',
    'http://0.0.0.0:8080/',
    'http://u:p@127.0.0.1:8081/',
  ])
    expect(() => parseUploadAddress(address, here, [])).toThrow('upload address')
})

test.each([
  ['store.example.net', true],
  ['169.254.169.254', false],
  ['127.0.0.1', false],
  ['localhost', false],
])('a job may allow %s: %s', (host, allowed) => {
  const found = JobDefinition.safeParse({ medicalRecords: { authorizations: 'a', uploadHosts: [host] } })
  const places = found.error?.issues.map(({ path }) => path.join('.'))
  expect(places?.includes('medicalRecords.uploadHosts.0')).toBe(!allowed)
})

test('the client sends a document nowhere else, and says neither address nor host', async () => {
  const server = await serve(() => ({ status: 200 }))
  const { medicalRecords } = client(server.url)
  const address = 'https://quixotine.example.com/upload?signature=zephyrwell'
  const failed = await medicalRecords.uploadAuthorization(address, PDF).catch((error: unknown) => error)
  expect(failed).toMatchObject({ name: 'WaybillError', code: 'usage-wrong' })
  expect(String(failed)).not.toMatch(/quixotine|zephyrwell/)
  await medicalRecords.uploadAuthorization(`${server.url}/upload`, PDF)
  expect(server.seen.map(({ url }) => url)).toEqual(['/upload'])
})
