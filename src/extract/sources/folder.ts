/** Exports in a folder of this machine, which are read in place. */
import { hash } from 'node:crypto'
import { constants } from 'node:fs'
import { copyFile, link, lstat, open, readdir, rename, rm, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { filesExhausted, reasonOf, WaybillError } from '../../model/errors.ts'
import { errorCode, makeFolder, placeNew, wasTaken } from '../../system/own-files.ts'
import { exportError, fingerprint, versionOf } from '../content.ts'
import {
  archiveNames,
  asideName,
  asidesFirst,
  collectListed,
  type Delivery,
  type ExportSource,
  folderRefused,
  type ListedFile,
  listingOf,
  MAY_NOT_WRITE,
  nameThere,
  notArchived,
  type SourcePlace,
} from './source.ts'

/** `from` of a job: a folder, relative to the job file. */
export const FolderWritten = z.string().min(1)

export const folderPlace = (place: FolderPlace): SourcePlace => ({
  shown: place.folder,
  local: { archive: place.archive },
  open: async () => createFolderSource(place),
})

interface FolderPlace {
  readonly folder: string
  readonly archive?: string | undefined
}

export function createFolderSource({ folder, archive = folder }: FolderPlace): ExportSource {
  const address = (name: string): string => join(folder, name)
  const changed = ({ name }: Delivery): WaybillError =>
    exportError(address(name), 'The export changed since it was found.', { code: 'export-changed' })
  const assertSame = async (delivery: Delivery): Promise<void> => {
    if ((await look(folder, nameThere(delivery)))?.version !== delivery.version) throw changed(delivery)
  }
  /** Renames the file and compares it again: a delivery may have replaced the file meanwhile. @returns the path */
  const setAside = async (delivery: Delivery): Promise<string> => {
    await assertSame(delivery)
    const from = address(delivery.name)
    const aside = address(asideName(delivery.name))
    if (delivery.isAside) return aside
    if ((await lstat(aside).catch(() => undefined)) !== undefined)
      throw new Error(`${aside} must be archived first`)
    await rename(from, aside)
    if (isSameFile((await look(folder, asideName(delivery.name)))?.version, delivery.version)) return aside
    await putBack(aside, from)
    throw changed(delivery)
  }
  return {
    address,
    async list(signal) {
      const names = await readdir(folder).catch((cause) => {
        const why = REFUSALS[errorCode(cause)] ?? `cannot be read (${errorCode(cause)})`
        throw filesExhausted(cause) ?? folderRefused(folder, why, cause)
      })
      const listed = collectListed(folder)
      for (let at = 0; at < names.length; at += LOOKED_AT_ONCE) {
        signal?.throwIfAborted()
        const found = await Promise.all(
          names.slice(at, at + LOOKED_AT_ONCE).map((name) => look(folder, name)),
        )
        listed.add(found.filter((one) => one !== undefined))
      }
      return listingOf(asidesFirst(listed.files))
    },
    async fetch(delivery) {
      // A file that was named, not listed, has no version, and may be a link.
      if (delivery.version !== '') await assertSame(delivery)
      return address(nameThere(delivery))
    },
    async archive(delivery) {
      try {
        makeFolder(archive)
        const aside = await setAside(delivery)
        try {
          return await moveInto(archive, delivery.name, aside, changed(delivery))
        } catch (error) {
          await putBack(aside, address(delivery.name))
          throw error
        }
      } catch (cause) {
        throw cause instanceof WaybillError ? cause : refusedBy(archive, cause)
      }
    },
    close: async () => {},
  }
}

/** Files whose attributes are read at once. */
const LOOKED_AT_ONCE = 1_000

/** Undefined for a folder, and for a missing file. */
async function look(folder: string, name: string): Promise<ListedFile | undefined> {
  const found = await lstat(join(folder, name), { bigint: true }).catch(() => undefined)
  // A name that is not UTF-8 comes with replacement characters, and finds nothing.
  if (found === undefined)
    return name.includes('\ufffd') ? { name, bytes: 0, modifiedAt: 0, version: '' } : undefined
  const isLink = found.isSymbolicLink()
  if (!found.isFile() && !isLink) return undefined
  const modifiedAt = Number(found.mtimeNs / 1_000_000n)
  return { name, bytes: Number(found.size), modifiedAt, version: versionOf(found), isLink }
}

const UNWRITABLE = ['EACCES', 'EPERM', 'EROFS']

function refusedBy(archive: string, cause: unknown): WaybillError {
  const code = errorCode(cause)
  const why = UNWRITABLE.includes(code) ? `${MAY_NOT_WRITE} (${code})` : code || reasonOf(cause)
  return filesExhausted(cause) ?? notArchived(archive, why, cause)
}

/** Compares versions without the last part, the time of the inode's change: a rename sets it. */
const isSameFile = (version = '', before: string): boolean =>
  version.replace(/ \d+$/, '') === before.replace(/ \d+$/, '')

/** Gives a file its name back, unless a newer file has the name: the next listing finds it aside. */
async function putBack(aside: string, path: string): Promise<void> {
  // A rename would replace the newer file; a link does not.
  const isBack = await link(aside, path).then(
    () => true,
    () => false,
  )
  if (isBack) await unlink(aside)
}

/**
 * Moves a file to the archive; to another file system, by a copy.
 * @param changed thrown if the file is written to while it is copied
 * @returns the path in the archive
 * @throws an error of the file system
 */
async function moveInto(archive: string, name: string, aside: string, changed: Error): Promise<string> {
  try {
    return await placeIn(archive, name, aside)
  } catch (error) {
    if (errorCode(error) !== 'EXDEV') throw error
    const target = await placeIn(archive, name, await copyTo(archive, aside, changed))
    await syncFolder(archive)
    await rm(aside, { force: true })
    return target
  }
}

/** Moves a file to a name that is free in the archive, on one file system. */
async function placeIn(archive: string, name: string, from: string): Promise<string> {
  for (const archived of archiveNames(name)) {
    const target = join(archive, archived)
    try {
      placeNew(from, target)
    } catch (error) {
      if (!wasTaken(error)) throw error
      if (!(await isCopy(from, target))) continue
    }
    await rm(from, { force: true })
    return target
  }
  throw new Error('names never end')
}

/** Copies a file to the disk of the archive, under a name of ours. */
async function copyTo(archive: string, path: string, changed: Error): Promise<string> {
  const part = join(archive, `.${hash('sha256', path, 'hex').slice(0, 16)}.part`)
  const before = await lstat(path, { bigint: true })
  await rm(part, { force: true })
  try {
    await copyFile(path, part, constants.COPYFILE_EXCL)
    const copy = await open(part)
    try {
      await copy.utimes(secondsOf(before.atimeMs), secondsOf(before.mtimeMs))
      await copy.sync()
    } finally {
      await copy.close()
    }
    if (versionOf(await lstat(path, { bigint: true })) !== versionOf(before)) throw changed
    return part
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
}

/** Seconds in the middle of a millisecond: a little less would be of the millisecond before. */
const secondsOf = (ms: bigint): number => (Number(ms) + 0.5) / 1000

/** Makes a copy survive a power cut, before the original is removed. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path)
  await folder.sync().finally(() => folder.close())
}

/** Recognises a copy that a killed process left: equal bytes, equal time in milliseconds. */
async function isCopy(path: string, there: string): Promise<boolean> {
  const [one, other] = [await lstat(path, { bigint: true }), await lstat(there, { bigint: true })]
  if (one.size !== other.size || one.mtimeMs !== other.mtimeMs) return false
  return (await fingerprint(path)).sha256 === (await fingerprint(there)).sha256
}

const REFUSALS: Readonly<Record<string, string>> = {
  ENOENT: 'is missing',
  ENOTDIR: 'is a file',
  EACCES: 'may not be read by this user',
}
