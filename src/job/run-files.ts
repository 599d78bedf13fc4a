/**
 * Rejects and receipts: files of mode 0600 to which settled chunks are appended whole. The ledger keeps the length up to which a file
 * is settled; what a killed process wrote beyond it is cut off before anything is added.
 */
import { statSync } from 'node:fs'
import { mkdir, open, stat, truncate } from 'node:fs/promises'
import { dirname } from 'node:path'
import { WaybillError } from '../errors.ts'

export interface AppendedFile {
  readonly path: string
  /**
   * Appends, syncs, and gives the file's new length.
   * @throws WaybillError `home-unusable` where it cannot be written; what `assertOurs` throws
   */
  append(bytes: Uint8Array): Promise<number>
  readonly length: number
  /** What is another process's by now is left as it is. */
  close(): Promise<void>
}

/**
 * Opens the file at its settled length; nothing is made on the disk before the first append. Where the file is lost, as with a ledger
 * that was restored without it, what follows is written as if nothing had come before.
 * @param assertOurs asked before each change: throws where another process has the run by now, and writes to the file
 */
export function openAppended(
  path: string,
  settledLength: number,
  assertOurs: () => Promise<void>,
): AppendedFile {
  let length = Math.min(settledLength, statSync(path, { throwIfNoEntry: false })?.size ?? 0)
  let handle: Awaited<ReturnType<typeof open>> | undefined
  const write = async (bytes: Uint8Array): Promise<void> => {
    if (handle === undefined) {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      handle = await open(path, length === 0 ? 'w' : 'r+', 0o600)
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
      const { size } = await stat(path).catch(() => ({ size: 0 }))
      if (size <= length) return
      const isOurs = await assertOurs().then(
        () => true,
        () => false,
      )
      if (isOurs) await truncate(path, length)
    },
  }
}

const unwritable = (path: string, cause: unknown): WaybillError =>
  new WaybillError(
    'home-unusable',
    `${path} cannot be written: ${cause instanceof Error ? cause.message : String(cause)}`,
    { place: { file: path }, cause },
  )
