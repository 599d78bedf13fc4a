/** How far a file is read: what keeps a decompression bomb from filling time or disk, and who reads from reading on in vain. */

import { WaybillError } from '../model/errors.ts'
import { n } from '../shown-text.ts'

/** The ratio is judged from here on: a small file of repeated lines compresses beyond any bound and harms nobody. */
const HARMLESS_BYTES = 64 * 1024 ** 2

export interface ContentLimits {
  /** Bytes that may come out of one file. */
  readonly bytes: number
  /** How many times its own size may come out of a file. */
  readonly ratio: number
  /** Aborted, with a `WaybillError`, when what is being read is not wanted any more: reading ends with that between one piece and the next. */
  readonly signal?: AbortSignal | undefined
}

/** DEFLATE reaches 1,032 on zeros; exports of repeated codes stay below 100. */
export const DEFAULT_LIMITS: ContentLimits = { bytes: 10 * 1024 ** 3, ratio: 200 }

/**
 * Counts what comes out of a file.
 * @param packedBytes size of the file that it comes out of
 * @returns to be told the length of every chunk before it is used
 * @throws WaybillError `export-too-large`; what the limits are aborted with
 */
export function countAgainst(
  path: string,
  { bytes, ratio, signal }: ContentLimits,
  packedBytes: number,
): (length: number) => void {
  const byRatio = Math.max(HARMLESS_BYTES, ratio * packedBytes)
  const most = Math.min(bytes, byRatio)
  let total = 0
  return (length) => {
    signal?.throwIfAborted()
    total += length
    if (total <= most) return
    const limit =
      most === bytes ? `more than ${n(bytes)} bytes` : `more than ${ratio} times its ${n(packedBytes)} bytes`
    throw new WaybillError('export-too-large', `The export was refused: ${limit} come out of it.`, {
      place: { file: path },
    })
  }
}

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
