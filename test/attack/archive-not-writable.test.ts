/** An archive that may not be written to is told as that, at each kind of source: not as a server that does not answer, nor as an export that may not be read. */
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createS3Source } from '../../src/extract/sources/s3.ts'
import { createSftpSource } from '../../src/extract/sources/sftp.ts'
import type { ExportSource } from '../../src/extract/sources/source.ts'
import { openClinic } from '../cli/clinic.ts'
import { hostKeyFingerprint, PASSWORD, startSftpServer, USER } from '../extract/sources/sftp-server.ts'
import { temporaryFolder } from '../temporary-folder.ts'

async function expectRefused(source: ExportSource, archive: string): Promise<void> {
  const [delivery] = (await source.list()).files
  await expect(source.archive(delivery ?? expect.fail('not listed'))).rejects.toMatchObject({
    code: 'export-unreadable',
    message: 'The export cannot be moved into the archive: this user may not write there',
    place: { file: archive },
    remedy: expect.stringContaining('`archive`'),
  })
}

test.each([
  // The export is renamed in its own folder first.
  ['RENAME', '.'],
  ['MKDIR', 'done'],
])('an SFTP server that denies %s', async (denied, place) => {
  const folder = await temporaryFolder()
  await writeFile(join(folder, 'a.csv'), 'x')
  const server = await startSftpServer(folder)
  onTestFinished(() => server.stop())
  server.denies = (request) => request === denied
  const hostKey = hostKeyFingerprint(server.hostKey)
  const at = { host: '127.0.0.1', port: server.port, user: USER, folder: '.', hostKey, archive: 'done' }
  const source = createSftpSource(at, PASSWORD)
  onTestFinished(() => source.close())
  await expectRefused(source, place)
})

test('a bucket that takes no object under the prefix of the archive', async () => {
  const listing = `<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>in/a.csv</Key><Size>1</Size><ETag>"e"</ETag><LastModified>2026-03-02T00:00:00.000Z</LastModified></Contents></ListBucketResult>`
  const server = createServer((request, response) => {
    request.resume()
    const isListing = request.method === 'GET'
    if (isListing) response.writeHead(200, { 'content-type': 'application/xml' }).end(listing)
    else if (request.method === 'HEAD' && request.url?.includes('/done/')) response.writeHead(404).end()
    else if (request.method === 'HEAD') response.writeHead(200, { etag: '"e"', 'content-length': 1 }).end()
    else response.writeHead(403).end('<Error><Code>AccessDenied</Code></Error>')
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  onTestFinished(() => void server.close())
  const before = { ...process.env }
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'secret' })
  onTestFinished(() => {
    for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY']) delete process.env[name]
    Object.assign(process.env, before)
  })
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const source = await createS3Source({
    endpoint,
    region: 'test-1',
    bucket: 'b',
    prefix: 'in',
    archive: 'done',
  })
  onTestFinished(() => source.close())
  await expectRefused(source, 's3://b/done/')
})

test('the doctor finds a folder that cannot be one', async () => {
  const clinic = await openClinic({
    job: 'exports: { from: ../inbox, match: "*.csv", mapping: clinic, archive: ../taken/done }\naccounts: { register: never }\n',
  })
  await writeFile(join(clinic.workplace.folder, 'taken'), '')
  const { out } = await clinic.workplace.waybill('doctor')
  expect(out).toMatch(
    /^warning +job +clinic: exports cannot be moved into the archive \S+taken\/done: \S+ ENOTDIR/m,
  )
})
