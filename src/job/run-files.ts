/**
 * Rejects and receipts: files of mode 0600 to which settled chunks are appended whole. The ledger keeps the length up to which a file
 * is settled; what a killed process wrote beyond it is cut off before anything is added.
 */
import { lstatSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { WaybillError } from '../model/errors.ts'
import { openOwn } from '../own-files.ts'

export interface AppendedFile {
  readonly path: string
  /**
   * Appends, syncs, and gives the file's new length.
   * @throws WaybillError `home-unusable` where it cannot be written, or a link stands in its place; what `assertOurs` throws
   */
  append(bytes: Uint8Array): Promise<number>
  readonly length: number
  /** What is another process's by now is left as it is. */
  close(): Promise<void>
}

/**
 * Opens the file at its settled length; nothing is made on the disk before the first append. Where the file is lost, as with a ledger
 * that was restored without it, what follows is written as if nothing had come before.
 * @param home in which it must be, without a link on the way
 * @param assertOurs asked before each change: throws where another process has the run by now, and writes to the file
 */
export function openAppended(
  home: string,
  path: string,
  settledLength: number,
  assertOurs: () => Promise<void>,
): AppendedFile {
  let length = Math.min(settledLength, lengthOf(path))
  let handle: FileHandle | undefined
  const write = async (bytes: Uint8Array): Promise<void> => {
    if (handle === undefined) {
      handle = await openOwn(home, path)
      await handle.truncate(length)
    }
    for (let written = 0; written < bytes.length; ) {
      written += (await handle.write(bytes, written, bytes.length - written, length + written)).bytesWritten
    }
    await handle.datasync()
  }
  return {
    path,
    get length() {
      return length
    },
    async append(bytes) {
      if (bytes.length === 0) return length
      await assertOurs()
      await write(bytes).catch((cause) => {
        throw unwritable(path, cause)
      })
      length += bytes.length
      return length
    },
    async close() {
      if (handle !== undefined) return handle.close()
      if (lengthOf(path) <= length) return
      const isOurs = await assertOurs().then(
        () => true,
        () => false,
      )
      if (!isOurs) return
      const left = await openOwn(home, path)
      await left.truncate(length).finally(() => left.close())
    },
  }
}

/** In bytes; of one that cannot be looked at, none: writing says what is wrong with it. */
function lengthOf(path: string): number {
  try {
    return lstatSync(path).size
  } catch {
    return 0
  }
}

const unwritable = (path: string, cause: unknown): WaybillError => {
  if (cause instanceof WaybillError) return cause
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new WaybillError('home-unusable', `${path} cannot be written: ${reason}`, {
    place: { file: path },
    cause,
  })
}
