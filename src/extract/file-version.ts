/** Whether a file is still the one that it was, without reading it. */
import type { BigIntStats } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { WaybillError } from '../model/errors.ts'

/**
 * Differs whenever the file is another one, or has been written to. The time of its last change of any kind (POSIX `st_ctim`) is part of
 * it: unlike that of its content, nobody can put it back.
 */
export const versionOf = ({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string =>
  `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`

/**
 * Opens a file to read.
 * @param version which it must be; undefined: whichever it is
 * @throws WaybillError `export-changed`; an error of the file system
 */
export async function openVersion(
  path: string,
  version?: string,
): Promise<{ readonly handle: FileHandle; readonly version: string; readonly bytes: number }> {
  const handle = await open(path)
  try {
    const found = await handle.stat({ bigint: true })
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
