import { describe, expect, it } from 'vitest'
import { parseBaseUrl, resolvePath } from '../../src/gateway/connection-settings.ts'
import { client, echoing, serve } from './loopback.ts'

describe('the address of the gateway', () => {
  it.each([
    'https://gateway.example',
    'https://gateway.example:8443/api/v1/',
    'http://localhost:8080',
    'http://127.0.0.1',
    'http://127.9.9.9:1',
    'http://[::1]:8080',
  ])('may be %s', (text) => {
    expect(parseBaseUrl(text)).toBeInstanceOf(URL)
  })

  it.each([
    ['http://gateway.example', 'plain http'],
    ['http://192.168.0.9:8080', 'plain http'],
    ['http://localhost.gateway.example', 'plain http'],
    ['http://127.0.0.1.gateway.example', 'plain http'],
    ['http://0.0.0.0', 'plain http'],
    ['ftp://gateway.example', 'neither https nor http'],
    ['gateway.example', 'not a URL'],
    ['', 'not a URL'],
    ['https://user:secret@gateway.example', 'user name or a password'],
    ['https://gateway.example/?key=secret', 'query or a fragment'],
    ['https://gateway.example/#here', 'query or a fragment'],
  ])('may not be %s', (text, reason) => {
    expect(() => parseBaseUrl(text)).toThrow(
      expect.objectContaining({ code: 'settings-invalid', message: expect.stringContaining(reason) }),
    )
    expect(() => parseBaseUrl(text)).not.toThrow('secret')
  })

  it('keeps its own path in front of those of the interface', () => {
    for (const text of ['https://gateway.example/api/v1', 'https://gateway.example/api/v1/']) {
      expect(resolvePath(parseBaseUrl(text), '/account').href).toBe('https://gateway.example/api/v1/account')
    }
  })

  it('is checked, with the key, before anything is sent', () => {
    expect(() => client('http://gateway.example')).toThrow(
      expect.objectContaining({ code: 'settings-invalid' }),
    )
    expect(() => client('https://gateway.example', { apiKey: 'two\nlines' })).toThrow(
      expect.objectContaining({ code: 'settings-invalid', place: { key: 'WAYBILL_API_KEY' } }),
    )
  })

  it('is where requests go', async () => {
    const server = await serve(() => echoing('a'))
    await client(`${server.url}/api/v1`).biometrics.sendBulk('[]', 1)
    expect(server.seen[0]?.url).toBe('/api/v1/health-profile/biometrics/bulk')
  })
})
