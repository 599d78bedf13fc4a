/**
 * Storage that answers a request with something else than was asked for: a whole object for a part, another version, half of each; and that
 * deletes whatever lies under a name by the time it is asked. What was not listed is not taken, and what was not read is not deleted.
 */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createS3Source } from '../../src/extract/sources/s3.ts'
import type { Delivery } from '../../src/extract/sources/source.ts'
import { BUCKET, type S3Server, startS3Server } from '../extract/sources/s3-server.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const BYTES = 900_000
/** The object that was listed, and another one of its size. */
const READ = Buffer.alloc(BYTES, 'ann,5.1\n')
const OTHER = Buffer.alloc(BYTES, 'ben,5.2\n')
const BROKEN_AT = 300_000
const CRC32C_OF_READ = '/IZdtw=='
const CRC64_OF_READ = 'O1eSII7lyic='
const tagOf = (body: Uint8Array): string => `"${createHash('md5').update(body).digest('hex')}"`

beforeEach(() => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'of-the-tests')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret-of-the-tests')
})
afterEach(() => {
  vi.unstubAllEnvs()
})

async function open(prepare: (server: S3Server) => void = () => {}) {
  const server = await startS3Server()
  prepare(server)
  onTestFinished(() => server.stop())
  const source = await createS3Source({
    ...{ endpoint: server.endpoint, region: 'test-1', bucket: BUCKET, prefix: 'in', archive: 'done' },
  })
  onTestFinished(() => source.close())
  const listed = async (): Promise<Delivery> =>
    (await source.list()).files.find(({ name }) => name === 'a.csv') ?? expect.fail('a.csv is not listed')
  return { server, source, listed }
}

/** @returns the code of the error, where there is one; nothing is left at the file then */
async function fetchedFrom(
  { server, source, listed }: Awaited<ReturnType<typeof open>>,
  onGet: S3Server['onGet'],
): Promise<unknown> {
  server.put('in/a.csv', READ)
  const delivery = await listed()
  server.onGet = onGet
  const file = join(await temporaryFolder(), 'file')
  const code = await source.fetch(delivery, file).then(
    () => undefined,
    (error) => error.code,
  )
  if (code === undefined) expect((await readFile(file)).equals(READ)).toBe(true)
  else expect(existsSync(file)).toBe(false)
  return code
}

describe('an object is not taken', () => {
  const range = (from: number, bytes = BYTES): string => `bytes ${from}-${bytes - 1}/${bytes}`
  const rest = (from: number, body = OTHER) => ({ body: body.subarray(from) })

  it.each<[string, (from: number) => object]>([
    ['with the whole object for its rest', () => ({ status: 200, body: READ })],
    [
      'with the first bytes of the object for its rest',
      (from) => ({ status: 200, body: READ.subarray(0, BYTES - from) }),
    ],
    ['with the rest of another version', (from) => ({ ...rest(from), headers: { etag: tagOf(OTHER) } })],
    [
      'with another place of it',
      (from) => ({ ...rest(from, READ), headers: { 'content-range': range(from - 1) } }),
    ],
    [
      'with the rest of a longer one',
      (from) => ({ ...rest(from, READ), headers: { 'content-range': range(from, BYTES + 1) } }),
    ],
    ['without the place', (from) => ({ ...rest(from, READ), headers: { 'content-range': '' } })],
    ['without a tag', (from) => ({ ...rest(from, READ), headers: { etag: '' } })],
  ])('when a request that goes on behind a broken answer is answered %s', async (_, lie) => {
    const code = await fetchedFrom(await open(), (_key, from) =>
      from === 0 ? { breakAfter: BROKEN_AT } : { lie: lie(from) },
    )
    expect(code).toBe('export-changed')
  })

  it.each<[string, object]>([
    ['another version of its size', { body: OTHER, headers: { etag: tagOf(OTHER) } }],
    ['a part that nobody asked for', { status: 206, headers: { 'content-range': range(0) } }],
  ])('when it is answered with %s', async (_, lie) => {
    expect(await fetchedFrom(await open(), () => ({ lie }))).toBe('export-changed')
  })

  const base64 = (digits: string): string => Buffer.from(digits, 'hex').toString('base64')
  const SUMS: [string, (body: Uint8Array) => Record<string, string>][] = [
    ['SHA-256', (body) => ({ 'x-amz-checksum-sha256': createHash('sha256').update(body).digest('base64') })],
    ['SHA-1', (body) => ({ 'x-amz-checksum-sha1': createHash('sha1').update(body).digest('base64') })],
    ['CRC-32', (body) => ({ 'x-amz-checksum-crc32': base64(crc32(body).toString(16).padStart(8, '0')) })],
    // Of READ, by an implementation of its own: polynomials 0x1EDC6F41 and 0xAD93D23594C93659, reflected.
    ['CRC-32C', () => ({ 'x-amz-checksum-crc32c': CRC32C_OF_READ })],
    ['CRC-64/NVME', () => ({ 'x-amz-checksum-crc64nvme': CRC64_OF_READ })],
  ]
  it.each(SUMS)(
    'when the storage has another %s of it than came, in one answer or in two',
    async (_, checksum) => {
      const opened = await open((server) => {
        server.checksum = checksum
      })
      const half = Buffer.concat([READ.subarray(0, BROKEN_AT), OTHER.subarray(BROKEN_AT)])
      expect(await fetchedFrom(opened, () => ({ lie: { body: half } }))).toBe('export-changed')
      const inTwo: S3Server['onGet'] = (_key, from) =>
        from === 0 ? { breakAfter: BROKEN_AT } : { lie: rest(from) }
      expect(await fetchedFrom(opened, inTwo)).toBe('export-changed')
      // And is, when it is the same.
      expect(await fetchedFrom(opened, undefined)).toBeUndefined()
      expect(
        await fetchedFrom(opened, (_key, from) => (from === 0 ? { breakAfter: BROKEN_AT } : undefined)),
      ).toBeUndefined()
    },
  )

  it('but is where the storage has a checksum of its parts alone, or none', async () => {
    const opened = await open()
    expect(await fetchedFrom(opened, undefined)).toBeUndefined()
    opened.server.checksum = () => ({
      ...{ 'x-amz-checksum-sha256': `${createHash('sha256').update('parts').digest('base64')}-2` },
      'x-amz-checksum-type': 'COMPOSITE',
    })
    expect(await fetchedFrom(opened, undefined)).toBeUndefined()
  })
})

describe('an object that is put in its place while the one before is archived', () => {
  const UNREAD = Buffer.from('new and unread')
  const keys = ({ objects }: S3Server): Record<string, string> =>
    Object.fromEntries([...objects].map(([key, { body }]) => [key, body.toString()]))
  const ONE = Buffer.from('read')

  /** Puts another one there when the storage is about to delete it. */
  const replacing = (server: S3Server): void => {
    server.onDelete = (key) => {
      if (key === 'in/a.csv') {
        server.onDelete = undefined
        server.put(key, UNREAD)
      }
      return undefined
    }
  }

  it('stays, as the storage compares before it deletes', async () => {
    const { server, source, listed } = await open()
    server.put('in/a.csv', ONE)
    const delivery = await listed()
    replacing(server)
    await expect(source.archive(delivery)).rejects.toMatchObject({ code: 'export-changed' })
    expect(keys(server)).toEqual({ 'in/a.csv': 'new and unread', 'done/a.csv': 'read' })
    expect(await source.archive(await listed())).toBe(`s3://${BUCKET}/done/a.csv.1`)
    expect(keys(server)).toEqual({ 'done/a.csv': 'read', 'done/a.csv.1': 'new and unread' })
  })

  it('stays with the one before where the storage deletes without comparing', async () => {
    const { server, source, listed } = await open((one) => {
      one.compares = false
    })
    server.put('in/a.csv', ONE)
    replacing(server)
    const held = { code: 'export-unreadable', remedy: expect.stringContaining('archive') }
    for (let night = 0; night < 2; night++)
      await expect(source.archive(await listed())).rejects.toMatchObject(held)
    expect(keys(server)).toEqual({ 'in/a.csv': 'read' })
  })

  it('is archived where the deletion is done and not answered', async () => {
    const { server, source, listed } = await open()
    server.put('in/a.csv', ONE)
    server.onDelete = (key) => (key === 'in/a.csv' ? 'unanswered' : undefined)
    expect(await source.archive(await listed())).toBe(`s3://${BUCKET}/done/a.csv`)
    expect(keys(server)).toEqual({ 'done/a.csv': 'read' })
  })

  it('is archived once, whatever a process that was killed before the deletion had copied', async () => {
    const { server, source, listed } = await open()
    server.put('in/a.csv', ONE)
    server.put('done/a.csv', ONE)
    expect(await source.archive(await listed())).toBe(`s3://${BUCKET}/done/a.csv`)
    expect(keys(server)).toEqual({ 'done/a.csv': 'read' })
  })
})
