/** The identity of an export: the SHA-256 of the file as it was delivered, compressed or not. */
import { createHash } from 'node:crypto'
import { WaybillError } from '../model/errors.ts'
import { openVersion, unreadable } from './content.ts'

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
