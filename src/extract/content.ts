/**
 * The decoded content of an export: the file's bytes, decompressed where they are gzip (RFC 1952) or Zstandard (RFC 8878). And whether
 * the file is still the one that it was. How far it is read at most, and the SHA-256 that is its identity.
 */

import { createHash } from 'node:crypto'
import { type BigIntStats, constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import { createGunzip, createZstdDecompress } from 'node:zlib'
import { filesExhausted, reasonOf, WaybillError } from '../model/errors.ts'
import { n } from '../shown-text.ts'
import { ByteWindow } from './framing.ts'

const CHUNK_BYTES = 128 * 1024
const BOM = Buffer.from('\ufeff')

export interface Compression {
  readonly kind: 'plain' | 'gzip' | 'zstd'
  readonly limits: ContentLimits
  /** That of the file: each reading is of this one. */
  readonly version: string
  readonly reading: Reading
}

/** How far the latest reading of a file has come, in bytes. */
interface Reading {
  /** Of the file, */
  file: number
  /** of the content that they became, */
  content: number
  /** and of UTF-8, where the content is another encoding. */
  decoded?: number | undefined
}

/** RFC 1952, 2.3.1; RFC 8878, 3.1.1. */
const MAGIC = [
  ['gzip', Buffer.of(0x1f, 0x8b)],
  ['zstd', Buffer.of(0x28, 0xb5, 0x2f, 0xfd)],
] as const

/** `export-unreadable` for a failure of the file system or of the decompression, `files-exhausted` for one that is not the file's. */
export function unreadable(path: string, cause: unknown, remedy = remedyFor(cause)): WaybillError {
  const reason = reasonOf(cause)
  const exhausted = filesExhausted(cause)
  if (exhausted !== undefined) return exhausted
  return new WaybillError('export-unreadable', `The export cannot be read: ${reason}`, {
    place: { file: path },
    ...(remedy === undefined ? {} : { remedy }),
    cause,
  })
}

/** Undefined of an error of the file system: for that, the code says what to do. */
const remedyFor = (cause: unknown): string | undefined =>
  cause instanceof Error && 'syscall' in cause
    ? undefined
    : 'See that the file has arrived whole; else ask the vendor for one without this fault.'

/**
 * Goes by the magic bytes, never by the name: vendors deliver `.csv` that is gzip and `.gz` that is not.
 * @param of the version that the file must be; undefined: the one that it is now
 * @throws WaybillError `export-changed`; an error of the file system
 */
export async function detectCompression(
  path: string,
  limits: ContentLimits,
  of?: string,
): Promise<Compression> {
  const { handle, version } = await openVersion(path, of)
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(4), 0, 4, 0)
    const start = buffer.subarray(0, bytesRead)
    const known = MAGIC.find(([, magic]) => start.subarray(0, magic.length).equals(magic))
    return { kind: known?.[0] ?? 'plain', limits, version, reading: { file: 0, content: 0 } }
  } finally {
    await handle.close()
  }
}

/**
 * The decoded content from an offset on, in chunks that are read as they are asked for.
 * A plain file is read from there; a compressed one is decompressed from its start and what stands before is dropped.
 * @throws WaybillError `export-unreadable` (also for a damaged or cut-off compressed file), `export-too-large`, `export-changed` where the
 *   content ends before the offset; what the limits are aborted with
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
    throw cause instanceof WaybillError ? cause : unreadable(path, cause)
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
  // Who reads sees every failure: a pipeline that fails destroys its last stream with the error.
  const content = pipeline(source, decompress, () => {})
  Object.assign(reading, { file: 0, content: 0, decoded: undefined } satisfies Reading)
  const counted = async function* (): AsyncGenerator<Buffer> {
    for await (const chunk of bounded(path, content as AsyncIterable<Buffer>, limits, bytes)) {
      reading.content += chunk.length
      // It works ahead: what it has ready is not read yet.
      const ahead = reading.content / (reading.content + decompress.readableLength)
      reading.file = decompress.bytesWritten * ahead
      yield chunk
    }
  }
  yield* behind(path, counted(), from)
}

/**
 * The share of a file, from 0 to 1, that stands before an offset of its content. Of a compressed file, or one in another encoding than
 * UTF-8, it is reckoned by what the latest reading has made of its bytes.
 */
export function shareBefore(byteOffset: number, fileBytes: number, { reading }: Compression): number {
  const made = reading.decoded ?? reading.content
  return fileBytes === 0 || made === 0 ? 0 : Math.min(1, (byteOffset * reading.file) / made / fileBytes)
}

/** Content that was brought into UTF-8, counted for `shareBefore`. */
export async function* countDecoded(
  { reading }: Compression,
  content: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const chunk of content) {
    bytes += chunk.length
    reading.decoded = bytes
    yield chunk
  }
}

/**
 * Content that can only be read from its start, without what stands before an offset.
 * @throws WaybillError `export-changed` where it ends before the offset
 */
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

/** Content up to so many bytes. */
export async function* upTo(content: AsyncIterable<Buffer>, bytes: number): AsyncGenerator<Buffer> {
  let left = bytes
  for await (const chunk of content) {
    if (left > 0) yield chunk.length <= left ? chunk : chunk.subarray(0, left)
    left -= chunk.length
    if (left <= 0) return
  }
}

/**
 * Offset of the first byte that is text: behind a byte order mark.
 * @throws WaybillError `export-empty` where there is none
 */
export async function textStart(path: string, content: AsyncIterable<Buffer>): Promise<number> {
  const window = new ByteWindow(content, 0)
  while (!window.ended && window.bytes.length <= BOM.length) await window.refill(0)
  await window.close()
  const start = window.bytes.subarray(0, BOM.length).equals(BOM) ? BOM.length : 0
  if (window.bytes.length > start) return start
  throw new WaybillError('export-empty', 'The export is empty.', { place: { file: path } })
}

function tooShort(path: string, from: number): WaybillError {
  return new WaybillError(
    'export-changed',
    `Reading should go on at byte ${from}, but the content ends before it.`,
    { place: { file: path } },
  )
}

/**
 * Differs whenever the file is another one, or has been written to. The time of its last change of any kind (POSIX `st_ctim`) is part of
 * it: unlike that of its content, nobody can put it back.
 */
export const versionOf = ({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string =>
  `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`

/** Refuses a pipe, which can be read once only, and a device, which may never end. @throws WaybillError `export-unreadable` */
export function assertFile(path: string, found: Pick<BigIntStats, 'isFile' | 'isDirectory'>): void {
  if (!found.isFile() && !found.isDirectory())
    throw unreadable(path, new Error('it is a pipe or a device, not a file'), 'Name a file.')
}

/**
 * Opens a file to read.
 * @param version which it must be; undefined: whichever it is
 * @throws WaybillError `export-changed`, `export-unreadable` (a pipe); an error of the file system
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

/** @throws WaybillError `export-changed` */
export function assertVersion(path: string, found: string, version: string): void {
  if (found === version) return
  throw new WaybillError('export-changed', 'The export changed after it was opened.', {
    place: { file: path },
  })
}

/** The ratio is judged from here on: a small file of repeated lines compresses beyond any bound and harms nobody. */
const HARMLESS_BYTES = 64 * 1024 ** 2

export interface ContentLimits {
  /** Unpacked bytes of a delivery at most. */
  readonly bytes: number
  /** Unpacked bytes of a delivery at most, as a multiple of its size. */
  readonly ratio: number
  /** Aborted, with a `WaybillError`, when what is being read is not wanted any more: reading ends with that between one piece and the next. */
  readonly signal?: AbortSignal | undefined
  /** Counter of the delivery, for a file that is part of one. */
  readonly whole?: CountPart | undefined
}

/** Starts to count the unpacked bytes of a file. @returns counts a chunk: call it with the length, before the chunk is used */
type CountPart = (file: string) => (length: number) => void

/** DEFLATE reaches 1,032 on zeros; exports of repeated codes stay below 100. */
export const DEFAULT_LIMITS: ContentLimits = { bytes: 10 * 1024 ** 3, ratio: 200 }

/**
 * Counts the unpacked bytes of a delivery, over all layers and members. A file that is read several times counts once, by its longest
 * reading.
 * @param address of the delivery
 * @param packedBytes its size
 * @throws WaybillError `export-too-large`; what the limits are aborted with
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
      throw new WaybillError('export-too-large', `The export was refused: ${limit} come out of it.`, {
        place: { file: address },
      })
    }
  }
}

/** Counts the unpacked bytes of a file, towards its delivery if there is one. */
export const countAgainst = (file: string, limits: ContentLimits, packedBytes: number) =>
  (limits.whole ?? countWhole(file, limits, packedBytes))(file)

/** The content as it is, as long as it is within the limits. @throws WaybillError `export-too-large` */
export async function* bounded(
  path: string,
  content: AsyncIterable<Buffer>,
  limits: ContentLimits,
  packedBytes: number,
): AsyncGenerator<Buffer> {
  const count = countAgainst(path, limits, packedBytes)
  for await (const chunk of content) {
    count(chunk.length)
    yield chunk
  }
}

/** Large enough that the hash, not the reading, takes the time. One buffer serves the whole file, whatever its size. */
const READ_BYTES = 256 * 1024

export interface Fingerprint {
  /** 64 hex digits in lower case, as `sha256sum` prints them. */
  readonly sha256: string
  /** Size of the file as delivered. */
  readonly bytes: number
  /** The first 16 digits of `sha256`: what transaction ids begin with. */
  readonly exportId: string
}

/**
 * Reads the whole file once.
 * @param signal aborted, with a `WaybillError`, when it is to end before
 * @param version which the file must be; undefined: whichever it is
 * @throws WaybillError `export-changed`, `export-unreadable`; what the signal is aborted with
 */
export async function fingerprint(
  path: string,
  signal?: AbortSignal,
  version?: string,
): Promise<Fingerprint> {
  const hash = createHash('sha256')
  let bytes = 0
  try {
    const { handle: file } = await openVersion(path, version)
    try {
      const buffer = Buffer.allocUnsafeSlow(READ_BYTES)
      for (;;) {
        signal?.throwIfAborted()
        const { bytesRead } = await file.read(buffer, 0, READ_BYTES)
        if (bytesRead === 0) break
        hash.update(buffer.subarray(0, bytesRead))
        bytes += bytesRead
      }
    } finally {
      await file.close()
    }
  } catch (cause) {
    throw cause instanceof WaybillError ? cause : unreadable(path, cause)
  }
  const sha256 = hash.digest('hex')
  return { sha256, bytes, exportId: sha256.slice(0, 16) }
}
