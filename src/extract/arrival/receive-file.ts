/** Writes a file that comes over a network: on with what has come when a connection breaks, and whole or not at all. */
import { open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import pRetry, { AbortError } from 'p-retry'
import { WaybillError } from '../../model/errors.ts'
import { makeFolder } from '../../own-files.ts'

/** Tries after the first one, with growing waits of half a second to four, doubled at most by chance. */
const WAITS = { retries: 3, minTimeout: 500, randomize: true } as const

/** @throws WaybillError at once; anything else when the tries are used up */
export function withRetries<Result>(attempt: () => Promise<Result>): Promise<Result> {
  return pRetry(async () => {
    try {
      return await attempt()
    } catch (error) {
      // It is known what is wrong: another try finds the same.
      if (error instanceof WaybillError) throw new AbortError(error)
      throw error
    }
  }, WAITS)
}

/**
 * @param file is there, of mode 0600, when this resolves
 * @param read the content from an offset on; fails where it is not the version that was asked for
 * @param signal aborted, with a `WaybillError`, when it is not wanted any more; thrown as it is
 * @throws WaybillError as `read` does; `export-changed` where more or less came than there should be
 */
export async function receiveFile(
  file: string,
  bytes: number,
  address: string,
  read: (from: number) => AsyncIterable<Uint8Array>,
  signal?: AbortSignal,
): Promise<string> {
  makeFolder(dirname(file))
  const part = `${file}.part`
  // What another process left of it may be of another version.
  await rm(part, { force: true })
  const out = await open(part, 'wx', 0o600)
  try {
    let length = 0
    await withRetries(async () => {
      if (length === bytes) return
      for await (const chunk of read(length)) {
        signal?.throwIfAborted()
        if (length + chunk.length > bytes) break
        await out.writev([chunk], length)
        length += chunk.length
      }
      if (length !== bytes)
        throw new WaybillError('export-changed', `${length} bytes came where ${bytes} were listed.`, {
          place: { file: address },
        })
    })
    await out.sync()
  } finally {
    await out.close()
  }
  await rename(part, file)
  return file
}
