import { spawnSync } from 'node:child_process'
import { chownSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openPostgres, POSTGRES } from '../../src/ledger/postgres/database.ts'
import { openPostgresLedger } from '../../src/ledger/postgres/open-ledger.ts'
import { NOBODY, startServer } from '../postgres/start-server.ts'
import { temporaryFolder } from '../temporary-folder.ts'

/** Server with a certificate of its own for 127.0.0.1. */
async function serverWithTls() {
  const folder = await temporaryFolder()
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')]
  const asked = ['req', '-x509', '-newkey', 'ed25519', '-nodes', '-days', '2', '-subj', '/CN=ledger']
  const named = ['-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', key, '-out', certificate]
  expect(spawnSync('openssl', [...asked, ...named]).status).toBe(0)
  const { uid, gid } = NOBODY
  if (uid !== undefined) for (const file of [key, certificate]) chownSync(file, uid, gid)
  const server = await startServer(folder, ['ssl=on', `ssl_key_file=${key}`, `ssl_cert_file=${certificate}`])
  onTestFinished(() => void process.kill(server.pid, 'SIGQUIT'))
  return { url: `postgres://postgres@127.0.0.1:${server.port}/postgres`, certificate }
}

test('the ledger travels by TLS, and a certificate of an unknown authority is refused', async () => {
  const { url, certificate } = await serverWithTls()
  const refused = openPostgresLedger({ url: `${url}?sslmode=verify-full` })
  await expect(refused).rejects.toMatchObject({
    code: 'ledger-unusable',
    message: expect.stringContaining('certificate'),
  })
  const database = openPostgres({ url: `${url}?sslmode=verify-full&sslrootcert=${certificate}` }, POSTGRES)
  onTestFinished(() => database.close())
  const [{ ssl } = {}] = await database.statements.all(
    'select ssl from pg_stat_ssl where pid = pg_backend_pid()',
  )
  expect(ssl).toBe(true)
})

test('a server without TLS is refused where TLS is wanted', async () => {
  const server = await startServer(await temporaryFolder())
  onTestFinished(() => void process.kill(server.pid, 'SIGQUIT'))
  const url = `postgres://postgres@127.0.0.1:${server.port}/postgres?sslmode=verify-full`
  await expect(openPostgresLedger({ url })).rejects.toMatchObject({ code: 'ledger-unusable' })
})
