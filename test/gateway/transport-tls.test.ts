import { createServer } from 'node:https'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterEach, describe, expect, it } from 'vitest'
import { CLIENTS, client, failureOf, listen, serveTcp } from './loopback.ts'
import { selfSignedCertificate } from './self-signed-certificate.ts'

const trusted = getCACertificates('default')
afterEach(() => setDefaultCACertificates(trusted))

/** An HTTPS server that answers the first request and cuts off every later one. */
async function serveTls(certificate: { cert: string; key: string }) {
  let requests = 0
  const server = createServer(certificate, (request, response) => {
    requests += 1
    if (requests === 1) request.resume().on('end', () => response.end('{"data":[]}'))
    else request.resume().on('end', () => request.socket.destroy())
  })
  const { url, connections } = await listen(server, () => server.closeAllConnections())
  return { url: url.replace('http:', 'https:'), connections, requests: () => requests }
}

describe.each(CLIENTS)('over TLS, by %s', (_client, create) => {
  it('sends nothing to a host whose certificate is not trusted', async () => {
    const server = await serveTls(selfSignedCertificate())
    const failure = await failureOf(create(client(server.url), '[]'))
    expect(failure).toMatchObject({ class: 'not-sent', cause: { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' } })
    expect(server.connections()).toBe(1)
    expect(server.requests()).toBe(0)
  })

  it('sends nothing to a host whose certificate is made out to another', async () => {
    const certificate = selfSignedCertificate([192, 0, 2, 1])
    setDefaultCACertificates([...trusted, certificate.cert])
    const server = await serveTls(certificate)
    const failure = await failureOf(create(client(server.url), '[]'))
    expect(failure).toMatchObject({ class: 'not-sent', cause: { code: 'ERR_TLS_CERT_ALTNAME_INVALID' } })
    expect(server.requests()).toBe(0)
  })

  it('sends, uses the session again, and calls ambiguous what breaks off in it', async () => {
    const certificate = selfSignedCertificate()
    setDefaultCACertificates([...trusted, certificate.cert])
    const server = await serveTls(certificate)
    const gateway = client(server.url)
    expect((await create(gateway, '[]')).class).toBe('accepted')
    expect((await failureOf(create(gateway, '[]'))).class).toBe('ambiguous')
    expect(server.connections()).toBe(1)
    expect(server.requests()).toBe(2)
    expect((await failureOf(create(gateway, '[]'))).class).toBe('ambiguous')
    expect(server.requests()).toBe(3)
  })

  it.each([
    ['speaks no TLS', 'HTTP/1.1 400 Bad Request\r\n\r\n'],
    ['hangs up', ''],
  ])('sends nothing to a server that %s', async (_, text) => {
    const server = await serveTcp((socket) => socket.once('data', () => socket.end(text)))
    const url = server.url.replace('http:', 'https:')
    expect((await failureOf(create(client(url), '[]'))).class).toBe('not-sent')
  })

  it('sends nothing to a server that does not finish the handshake', async () => {
    const server = await serveTcp((socket) => void socket.resume())
    const gateway = client(server.url.replace('http:', 'https:'), { timeouts: { secureConnect: 40 } })
    const failure = await failureOf(create(gateway, '[]'))
    expect(failure.class).toBe('not-sent')
    expect(failure.message).toContain('time-out of the phase secureConnect')
  })
})
