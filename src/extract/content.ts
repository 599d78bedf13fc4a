/** The decoded content of an export: the file's bytes, decompressed where they are gzip (RFC 1952). */
import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { WaybillError } from '../errors.ts'

const CHUNK_BYTES = 128 * 1024

export type Encoding = 'plain' | 'gzip'

/** `export-unreadable` for a failure of the file system or of the decompression. */
export function unreadable(path: string, cause: unknown): WaybillError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new WaybillError('export-unreadable', `The export cannot be read: ${reason}`, {
    place: { file: path },
    cause,
  })
}

/** Goes by the magic bytes, never by the name: vendors deliver `.csv` that is gzip and `.gz` that is not. */
export async function detectEncoding(path: string): Promise<Encoding> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(2), 0, 2, 0)
    return bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b ? 'gzip' : 'plain'
  } finally {
    await file.close()
  }
}

/**
 * The decoded content from an offset on, in chunks that are read as they are asked for.
 * A plain file is read from there; a gzip file is decompressed from its start and what stands before is dropped.
 * @throws WaybillError `export-unreadable` (also for a damaged or cut-off gzip file), `export-changed` where the content
 *   ends before the offset
 */
export async function* readContent(path: string, encoding: Encoding, from: number): AsyncGenerator<Buffer> {
  try {
    yield* encoding === 'gzip' ? readCompressed(path, from) : readPlain(path, from)
  } catch (cause) {
    throw cause instanceof WaybillError ? cause : unreadable(path, cause)
  }
}

async function* readPlain(path: string, from: number): AsyncGenerator<Buffer> {
  if (from > (await stat(path)).size) throw tooShort(path, from)
  yield* createReadStream(path, { start: from, highWaterMark: CHUNK_BYTES })
}

async function* readCompressed(path: string, from: number): AsyncGenerator<Buffer> {
  const source = createReadStream(path, { highWaterMark: CHUNK_BYTES })
  // The loop below sees every failure: a pipeline that fails destroys its last stream with the error.
  const content = pipeline(source, createGunzip({ chunkSize: CHUNK_BYTES }), () => {})
  let ahead = from
  for await (const chunk of content as AsyncIterable<Buffer>) {
    const dropped = Math.min(ahead, chunk.length)
    ahead -= dropped
    if (dropped < chunk.length) yield dropped === 0 ? chunk : chunk.subarray(dropped)
  }
  if (ahead > 0) throw tooShort(path, from)
}

function tooShort(path: string, from: number): WaybillError {
  return new WaybillError(
    'export-changed',
    `Reading should go on at byte ${from}, but the content ends before it.`,
    { place: { file: path } },
  )
}
