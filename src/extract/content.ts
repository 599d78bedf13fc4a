/**
 * Decoded content of an export: the bytes of the file, decompressed where they are gzip (RFC 1952) or Zstandard (RFC 8878). Version, limits
 * and SHA-256 of the file.
 */

import { createHash } from 'node:crypto'
import { type BigIntStats, constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import { crc32, createGunzip, createZstdDecompress } from 'node:zlib'
import { type ErrorCode, type ErrorDetails, filesExhausted, reasonOf, WaybillError } from '../model/errors.ts'
import { n } from '../system/shown-text.ts'
import { readStart } from './framing.ts'

const CHUNK_BYTES = 128 * 1024
const BOM = Buffer.from('\ufeff')

export interface Compression {
  readonly kind: 'plain' | 'gzip' | 'zstd'
  readonly limits: ContentLimits
  /** Version of the file; each reading is of this version. */
  readonly version: string
  readonly reading: Reading
}

/** Progress of the latest reading, in bytes. */
interface Reading {
  file: number
  content: number
  /** UTF-8 that was made of content in another encoding. */
  decoded?: number | undefined
}

/** RFC 1952, 2.3.1; RFC 8878, 3.1.1. */
const MAGIC = [
  ['gzip', Buffer.of(0x1f, 0x8b)],
  ['zstd', Buffer.of(0x28, 0xb5, 0x2f, 0xfd)],
] as const

/** Error about an export: `export-unreadable`, unless the details have another code. */
export function exportError(
  file: string,
  message: string,
  details: Omit<ErrorDetails, 'place'> & { readonly code?: ErrorCode; readonly line?: number } = {},
): WaybillError {
  const { code = 'export-unreadable', line, ...others } = details
  return new WaybillError(code, message, { ...others, place: line === undefined ? { file } : { file, line } })
}

/**
 * Error for a failure of the file system or of a decompression: `export-unreadable`, or `files-exhausted`. A `WaybillError` is returned as
 * it is.
 */
export function unreadable(path: string, cause: unknown, remedy = remedyFor(cause)): WaybillError {
  if (cause instanceof WaybillError) return cause
  const exhausted = filesExhausted(cause)
  if (exhausted !== undefined) return exhausted
  return new WaybillError('export-unreadable', `The export cannot be read: ${reasonOf(cause)}`, {
    place: { file: path },
    ...(remedy === undefined ? {} : { remedy }),
    cause,
  })
}

/** Undefined for an error of the file system: the error code has a remedy for that. */
const remedyFor = (cause: unknown): string | undefined =>
  cause instanceof Error && 'syscall' in cause
    ? undefined
    : 'See that the file has arrived whole; else ask the vendor for one without this fault.'

/**
 * Detects compression by the first bytes: vendors deliver `.csv` that is gzip and `.gz` that is not.
 * @param of required version of the file; undefined: the present one
 * @throws `export-changed`; an error of the file system
 */
export async function detectCompression(
  path: string,
  limits: ContentLimits,
  of?: string,
): Promise<Compression> {
  const { head, version } = await readHead(path, 4, of)
  const known = MAGIC.find(([, magic]) => head.subarray(0, magic.length).equals(magic))
  return { kind: known?.[0] ?? 'plain', limits, version, reading: { file: 0, content: 0 } }
}

/** Reads the first bytes of a file. @throws as `openVersion`; an error of the file system */
export async function readHead(
  path: string,
  bytes: number,
  of?: string,
): Promise<{ readonly head: Buffer; readonly version: string }> {
  const { handle, version } = await openVersion(path, of)
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(bytes), 0, bytes, 0)
    return { head: buffer.subarray(0, bytesRead), version }
  } finally {
    await handle.close()
  }
}

/**
 * The decoded content from an offset on, read as it is consumed. Compressed content is decompressed from the start.
 * @throws `export-unreadable` (also for a damaged or cut-off compressed file), `export-too-large`, `export-changed` where the
 *   content ends before the offset; the reason of an aborted signal
 */
export async function* readContent(
  path: string,
  compression: Compression,
  from: number,
): AsyncGenerator<Buffer> {
  try {
    yield* compression.kind === 'plain'
      ? readPlain(path, compression, from)
      : readCompressed(path, compression, from)
  } catch (cause) {
    throw unreadable(path, cause)
  }
}

async function* readPlain(
  path: string,
  { limits, version, reading }: Compression,
  from: number,
): AsyncGenerator<Buffer> {
  const { handle, bytes } = await openVersion(path, version)
  if (from > bytes) {
    await handle.close()
    throw tooShort(path, from)
  }
  Object.assign(reading, { file: from, content: from, decoded: undefined } satisfies Reading)
  for await (const chunk of handle.createReadStream({ start: from, highWaterMark: CHUNK_BYTES })) {
    limits.signal?.throwIfAborted()
    reading.file += chunk.length
    reading.content += chunk.length
    yield chunk
  }
}

async function* readCompressed(
  path: string,
  { kind, limits, version, reading }: Compression,
  from: number,
): AsyncGenerator<Buffer> {
  const { handle, bytes } = await openVersion(path, version)
  const source = handle.createReadStream({ highWaterMark: CHUNK_BYTES })
  const options = { chunkSize: CHUNK_BYTES }
  const decompress = kind === 'gzip' ? createGunzip(options) : createZstdDecompress(options)
  // A pipeline that fails destroys its last stream with the error: the reader gets it.
  const content: AsyncIterable<Buffer> = pipeline(source, decompress, () => {})
  Object.assign(reading, { file: 0, content: 0, decoded: undefined } satisfies Reading)
  const counted = async function* (): AsyncGenerator<Buffer> {
    const count = countAgainst(path, limits, bytes)
    for await (const chunk of content) {
      count(chunk.length)
      reading.content += chunk.length
      // The decompressor works ahead of the reader.
      const ahead = reading.content / (reading.content + decompress.readableLength)
      reading.file = decompress.bytesWritten * ahead
      yield chunk
    }
  }
  yield* behind(path, counted(), from)
}

/** Drops the bytes before an offset. @throws `export-changed` where the content ends before the offset */
export async function* behind(
  path: string,
  content: AsyncIterable<Buffer>,
  from: number,
): AsyncGenerator<Buffer> {
  let ahead = from
  for await (const chunk of content) {
    const dropped = Math.min(ahead, chunk.length)
    ahead -= dropped
    if (dropped < chunk.length) yield dropped === 0 ? chunk : chunk.subarray(dropped)
  }
  if (ahead > 0) throw tooShort(path, from)
}

/** Offset of the first byte behind a byte order mark. @throws `export-empty` */
export async function textStart(path: string, content: AsyncIterable<Buffer>): Promise<number> {
  const { bytes } = await readStart(content, BOM.length + 1)
  const start = bytes.subarray(0, BOM.length).equals(BOM) ? BOM.length : 0
  if (bytes.length > start) return start
  throw exportError(path, 'The export is empty.', { code: 'export-empty' })
}

const tooShort = (path: string, from: number): WaybillError =>
  exportError(path, `Reading should go on at byte ${from}, but the content ends before it.`, {
    code: 'export-changed',
  })

/** Version of a file. Includes `st_ctim` (POSIX): unlike the modification time, nobody can set this time back. */
export const versionOf = ({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string =>
  `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`

/** Refuses a pipe, which can be read only once, and a device, which may never end. @throws `export-unreadable` */
export function assertFile(path: string, found: Pick<BigIntStats, 'isFile' | 'isDirectory'>): void {
  if (!found.isFile() && !found.isDirectory())
    throw unreadable(path, new Error('it is a pipe or a device, not a file'), 'Name a file.')
}

/**
 * Opens a file to read.
 * @param version required; undefined: any
 * @throws `export-changed`, `export-unreadable` (a pipe); an error of the file system
 */
export async function openVersion(
  path: string,
  version?: string,
): Promise<{ readonly handle: FileHandle; readonly version: string; readonly bytes: number }> {
  // Without O_NONBLOCK, opening a pipe waits for a writer, in a thread that keeps even an exiting process alive.
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const found = await handle.stat({ bigint: true })
    assertFile(path, found)
    if (version !== undefined) assertVersion(path, versionOf(found), version)
    return { handle, version: versionOf(found), bytes: Number(found.size) }
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** @throws `export-changed` */
export function assertVersion(path: string, found: string, version: string): void {
  if (found !== version)
    throw exportError(path, 'The export changed after it was opened.', { code: 'export-changed' })
}

/** Bytes without a limit by ratio: a small file of repeated lines harms nobody. */
const HARMLESS_BYTES = 64 * 1024 ** 2

export interface ContentLimits {
  readonly bytes: number
  /** Most unpacked bytes of a delivery, as a multiple of its size. */
  readonly ratio: number
  /** Ends reading between two chunks; aborted with a `WaybillError`, which is thrown. */
  readonly signal?: AbortSignal | undefined
  /** Counter of the delivery, for a file that is part of one. */
  readonly whole?: CountPart | undefined
}

/** Counts the unpacked bytes of a file. @returns a function of the length of each chunk, to call before its use */
type CountPart = (file: string) => (length: number) => void

/** DEFLATE reaches 1,032 on zeros; exports of repeated codes stay below 100. */
export const DEFAULT_LIMITS: ContentLimits = { bytes: 10 * 1024 ** 3, ratio: 200 }

/**
 * Counts the unpacked bytes of a delivery, over all layers and members, each by its longest reading.
 * @param address of the delivery
 * @param packedBytes size of the delivery
 * @throws `export-too-large`; the reason of an aborted signal
 */
export function countWhole(
  address: string,
  { bytes, ratio, signal }: ContentLimits,
  packedBytes: number,
): CountPart {
  const byRatio = Math.max(HARMLESS_BYTES, ratio * packedBytes)
  const most = Math.min(bytes, byRatio)
  const longest = new Map<string, number>()
  let total = 0
  return (file) => {
    let read = 0
    return (length) => {
      signal?.throwIfAborted()
      read += length
      const before = longest.get(file) ?? 0
      if (read <= before) return
      longest.set(file, read)
      total += read - before
      if (total <= most) return
      const limit =
        most === bytes
          ? `more than ${n(bytes)} bytes`
          : `more than ${ratio} times its ${n(packedBytes)} bytes`
      throw exportError(address, `The export was refused: ${limit} come out of it.`, {
        code: 'export-too-large',
      })
    }
  }
}

/** Counts the unpacked bytes of a file, towards its delivery if there is one. */
export const countAgainst = (file: string, limits: ContentLimits, packedBytes: number) =>
  (limits.whole ?? countWhole(file, limits, packedBytes))(file)

/**
 * Compares the content of a member of an archive with its CRC-32.
 * @param count is called with the length of each chunk before its use
 * @throws Error with the message `damaged`; errors of `count`
 */
export async function* withCrc(
  content: AsyncIterable<Buffer>,
  stated: number,
  count: (length: number) => void,
  damaged: string,
): AsyncGenerator<Buffer> {
  let crc = 0
  for await (const chunk of content) {
    count(chunk.length)
    crc = crc32(chunk, crc)
    yield chunk
  }
  if (crc !== stated) throw new Error(damaged)
}

/** Large enough that the hash, not the reading, takes the time. One buffer serves the whole file. */
const READ_BYTES = 256 * 1024

interface Fingerprint {
  /** 64 hex digits in lower case, as `sha256sum` prints them. */
  readonly sha256: string
  /** Size of the file as delivered. */
  readonly bytes: number
  readonly exportId: string
}

/** Reads a whole file for its SHA-256. @throws as `digestOf`, `export-unreadable` */
export async function fingerprint(
  path: string,
  signal?: AbortSignal,
  version?: string,
): Promise<Fingerprint> {
  const { digest: sha256, bytes } = await digestOf(path, 'sha256', signal, version).catch((cause) => {
    throw unreadable(path, cause)
  })
  return { sha256, bytes, exportId: sha256.slice(0, 16) }
}

/**
 * Hashes a whole file.
 * @param signal ends the reading; aborted with a `WaybillError`
 * @param version required; undefined: any
 * @throws as `openVersion`; an error of the file system; the reason of an aborted signal
 */
export async function digestOf(
  path: string,
  algorithm: string,
  signal?: AbortSignal,
  version?: string,
): Promise<{ readonly digest: string; readonly bytes: number }> {
  const { handle } = await openVersion(path, version)
  try {
    const hash = createHash(algorithm)
    const buffer = Buffer.allocUnsafeSlow(READ_BYTES)
    let bytes = 0
    for (;;) {
      signal?.throwIfAborted()
      const { bytesRead } = await handle.read(buffer, 0, READ_BYTES)
      if (bytesRead === 0) return { digest: hash.digest('hex'), bytes }
      hash.update(buffer.subarray(0, bytesRead))
      bytes += bytesRead
    }
  } finally {
    await handle.close()
  }
}
