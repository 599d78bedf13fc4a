/** What comes out of a delivery, and what is written of it, is bounded as a whole: not a layer, a member or a file by itself. */
import { createWriteStream } from 'node:fs'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { gzipSync } from 'node:zlib'
import { expect, onTestFinished, test, vi } from 'vitest'
import { ZipFile } from 'yazl'
import {
  type ContentLimits,
  DEFAULT_LIMITS,
  detectCompression,
  fingerprint,
  readContent,
} from '../../src/extract/content.ts'
import { createS3Source } from '../../src/extract/sources/s3.ts'
import { type Arrival, createArrival, type ReceivedExport } from '../../src/run/arrival.ts'
import { ANY_RULES } from '../../src/run/found-delivery.ts'
import { freeBytes } from '../../src/system/own-files.ts'
import { BUCKET, startS3Server } from '../extract/sources/s3-server.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const MIB = 1024 ** 2
const HEADER = 'id\n'

async function zipped(members: Readonly<Record<string, Uint8Array>>, compress = true): Promise<string> {
  const file = join(await temporaryFolder(), 'export.zip')
  const archive = new ZipFile()
  for (const [name, content] of Object.entries(members))
    archive.addBuffer(Buffer.from(content), name, { compress })
  archive.end()
  await pipeline(archive.outputStream, createWriteStream(file))
  return file
}

async function arrivalOf(settings: Parameters<typeof createArrival>[1] = {}): Promise<Arrival> {
  const arrival = createArrival(await temporaryFolder(), settings)
  onTestFinished(() => arrival.close(false))
  return arrival
}

const receive = async (
  file: string,
  limits: ContentLimits = DEFAULT_LIMITS,
): Promise<readonly ReceivedExport[]> => {
  const arrival = await arrivalOf()
  return arrival.receive(arrival.named(file, { ...ANY_RULES, limits }))
}

/** The bytes that come out of an export when it is read. */
async function read({ file, limits, version }: ReceivedExport): Promise<number> {
  let bytes = 0
  const compression = await detectCompression(file, limits, version)
  for await (const chunk of readContent(file, compression, 0)) bytes += chunk.length
  return bytes
}

/** Gzip of which so many bytes come out. */
const packed = (bytes: number): Buffer => gzipSync(Buffer.alloc(bytes, 'a row\n'))

test('layers do not multiply: gzip in a zip', async () => {
  const once = packed(100 * MIB)
  const file = await zipped({ 'a.csv': once })
  // What the archive is packed to is a hundredth of the member, and that a thousandth of its content.
  const [one] = await receive(file, { ...DEFAULT_LIMITS, ratio: 2_000 })
  if (one === undefined) expect.fail('nothing came out of it')
  await expect(read(one)).rejects.toMatchObject({ code: 'export-too-large', place: { file } })
})

test('members share what may come out of their archive, also where each is read by itself', async () => {
  const file = await zipped({ 'a.csv': packed(40 * MIB), 'b.csv': packed(40 * MIB) })
  const [a, b] = await receive(file)
  if (a === undefined || b === undefined) expect.fail('two members')
  await read(a)
  // To read it again makes no more of it.
  await read(a)
  await fingerprint(a.file, a.limits.signal, a.version)
  await expect(read(b)).rejects.toMatchObject({ code: 'export-too-large' })
})

test('members that are joined count as well', async () => {
  const rows = Buffer.from(HEADER + '1\n'.repeat(1_000))
  const file = await zipped({ 'a.csv': rows, 'roster.csv': rows })
  const limits = { ...DEFAULT_LIMITS, bytes: rows.length * 1.5 }
  const arrival = await arrivalOf()
  const [one] = await arrival.receive(arrival.named(file, { ...ANY_RULES, members: 'a.csv', limits }))
  await expect(one?.beside('roster.csv')).rejects.toMatchObject({ code: 'export-too-large' })
})

test('a member that is joined with several others is unpacked once', async () => {
  const rows = Buffer.from(HEADER + '1\n'.repeat(1_000))
  const file = await zipped({ 'part-a.csv': rows, 'part-b.csv': rows, 'roster.csv': rows })
  const spool = await temporaryFolder()
  const arrival = createArrival(spool, {})
  onTestFinished(() => arrival.close(false))
  const both = await arrival.receive(arrival.named(file, { ...ANY_RULES, members: 'part-*.csv' }))
  for (const one of both) expect((await one.beside('roster.csv'))?.name).toBe('roster.csv')
  const written = await readdir(spool, { recursive: true, withFileTypes: true })
  expect(written.filter((one) => one.isFile())).toHaveLength(3)
})

test('what is within the limits as a whole is read', async () => {
  const content = packed(10 * MIB)
  const [a, b] = await receive(await zipped({ 'a.csv': content, 'b.csv': content }))
  if (a === undefined || b === undefined) expect.fail('two members')
  expect([await read(a), await read(b)]).toEqual([10 * MIB, 10 * MIB])
})

test('what must stay free stays free while an archive is unpacked', async () => {
  const file = await zipped({ 'a.csv': Buffer.from(HEADER) })
  const settings = { minFree: freeBytes(await temporaryFolder()) * 2 }
  const arrival = await arrivalOf(settings)
  await expect(arrival.receive(arrival.named(file, ANY_RULES))).rejects.toMatchObject({ code: 'disk-full' })
})

test('of an object that is longer than listed no more is fetched than that, and nothing of it stays', async () => {
  const s3 = await startS3Server()
  onTestFinished(() => s3.stop())
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'of-the-tests')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret-of-the-tests')
  onTestFinished(() => void vi.unstubAllEnvs())
  s3.put('in/a.csv', Buffer.from('id\n1\n'))
  const place = { endpoint: s3.endpoint, region: 'test-1', bucket: BUCKET, prefix: 'in' }
  const source = await createS3Source(place)
  onTestFinished(() => source.close())
  const [delivery] = (await source.list()).files
  if (delivery === undefined) expect.fail('not listed')
  s3.trickles = new Map([['in/a.csv', 1_000_000_000]])
  const folder = await temporaryFolder()
  let written = 0
  const room = (bytes: number): void => {
    written += bytes
  }
  await expect(source.fetch(delivery, join(folder, 'a.csv'), { room })).rejects.toMatchObject({
    code: 'export-changed',
  })
  expect(written).toBe(delivery.bytes)
  expect(await readdir(folder)).toEqual([])
})

test('once nothing more is wanted, nothing is received', async () => {
  const reason = new Error('no more')
  const arrival = await arrivalOf({ signal: AbortSignal.abort(reason) })
  const file = join(await temporaryFolder(), 'a.csv')
  await writeFile(file, HEADER)
  await expect(arrival.receive(arrival.named(file, ANY_RULES))).rejects.toBe(reason)
})
