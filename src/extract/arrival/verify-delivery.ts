/** Compares a file that was delivered with what was announced of it: the whole of it is read before anything is sent. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { WaybillError } from '../../model/errors.ts'
import { unreadable } from '../content.ts'
import type { Checksum } from './checksum-file.ts'

/** @throws WaybillError `export-not-as-announced` */
export function notAsAnnounced(
  address: string,
  what: string,
  announced: string | number,
  came: string | number,
): WaybillError {
  return new WaybillError(
    'export-not-as-announced',
    `The export is not as announced: ${what} should be ${announced}, and is ${came}.`,
    { place: { file: address } },
  )
}

/** @throws WaybillError `export-not-as-announced`, `export-unreadable` */
export async function verifySize(address: string, file: string, bytes: number): Promise<void> {
  const { size } = await stat(file).catch((cause) => {
    throw unreadable(address, cause)
  })
  if (size !== bytes) throw notAsAnnounced(address, 'its size in bytes', bytes, size)
}

/**
 * @param signal aborted, with a `WaybillError`, when it is to end before
 * @throws WaybillError `export-not-as-announced`, `export-unreadable`; what the signal is aborted with
 */
export async function verifyChecksum(
  address: string,
  file: string,
  { algorithm, digest }: Checksum,
  signal?: AbortSignal,
): Promise<void> {
  const hash = createHash(algorithm)
  try {
    for await (const chunk of createReadStream(file, { highWaterMark: 256 * 1024 })) {
      signal?.throwIfAborted()
      hash.update(chunk)
    }
  } catch (cause) {
    throw cause instanceof WaybillError ? cause : unreadable(address, cause)
  }
  const came = hash.digest('hex')
  if (came !== digest) throw notAsAnnounced(address, `its ${algorithm.toUpperCase()}`, digest, came)
}
