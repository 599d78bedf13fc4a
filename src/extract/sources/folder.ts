/** Exports in a folder of this machine. They are read where they lie. */
import { hash } from 'node:crypto'
import { constants } from 'node:fs'
import { copyFile, link, lstat, open, opendir, rename, rm, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { filesExhausted, reasonOf, WaybillError } from '../../model/errors.ts'
import { makeFolder, newOwn } from '../../own-files.ts'
import { fingerprint, versionOf } from '../content.ts'
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
    new WaybillError('export-changed', 'The export changed since it was found.', {
      place: { file: address(name) },
    })
  const assertSame = async (delivery: Delivery): Promise<void> => {
    if ((await look(folder, nameThere(delivery)))?.version !== delivery.version) throw changed(delivery)
  }
  /** @returns the path by which nobody but Waybill knows the file, which is the one that was read */
  const setAside = async (delivery: Delivery): Promise<string> => {
    await assertSame(delivery)
    const from = address(delivery.name)
    const aside = address(asideName(delivery.name))
    if (delivery.isAside) return aside
    if (await isThere(aside)) throw new Error(`${aside} is to be archived first`)
    await rename(from, aside)
    if (isSameFile((await look(folder, asideName(delivery.name)))?.version, delivery.version)) return aside
    await putBack(aside, from)
    throw changed(delivery)
  }
  return {
    address,
    async list(signal) {
      const listed = collectListed(folder)
      const add = async (names: readonly string[]): Promise<void> => {
        signal?.throwIfAborted()
        const found = await Promise.all(names.map((name) => look(folder, name)))
        listed.add(found.filter((one) => one !== undefined))
      }
      let names: string[] = []
      try {
        for await (const { name } of await opendir(folder, { bufferSize: LOOKED_AT_ONCE })) {
          names.push(name)
          if (names.length < LOOKED_AT_ONCE) continue
          await add(names)
          names = []
        }
      } catch (cause) {
        if (cause instanceof WaybillError) throw cause
        const why = REFUSALS[codeOf(cause)] ?? `cannot be read (${codeOf(cause)})`
        throw filesExhausted(cause) ?? folderRefused(folder, why, cause)
      }
      await add(names)
      return listingOf(asidesFirst(listed.files))
    },
    async fetch(delivery) {
      // One that was named and not listed is what it is: it may be a link, too.
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

/** Files of a folder. */
const LOOKED_AT_ONCE = 1_000

/** Undefined for a folder, and for what is gone by now. */
async function look(folder: string, name: string): Promise<ListedFile | undefined> {
  const found = await lstat(join(folder, name), { bigint: true }).catch(() => undefined)
  // A name that is not UTF-8 comes with characters in the place of others, by which nothing is found.
  if (found === undefined)
    return name.includes('\ufffd') ? { name, bytes: 0, modifiedAt: 0, version: '' } : undefined
  const isLink = found.isSymbolicLink()
  if (!found.isFile() && !isLink) return undefined
  const modifiedAt = Number(found.mtimeNs / 1_000_000n)
  return { name, bytes: Number(found.size), modifiedAt, version: versionOf(found), isLink }
}

const UNWRITABLE = ['EACCES', 'EPERM', 'EROFS']

function refusedBy(archive: string, cause: unknown): WaybillError {
  const code = codeOf(cause)
  const why = UNWRITABLE.includes(code) ? `${MAY_NOT_WRITE} (${code})` : code || reasonOf(cause)
  return filesExhausted(cause) ?? notArchived(archive, why, cause)
}

/** A rename changes the last part, the time of the inode's change. */
const isSameFile = (version = '', before: string): boolean =>
  version.replace(/ \d+$/, '') === before.replace(/ \d+$/, '')

/** Where a newer file has the name, or there are no links, it stays aside: the next listing has it from there. */
async function putBack(aside: string, path: string): Promise<void> {
  const isBack = await link(aside, path).then(
    () => true,
    () => false,
  )
  if (isBack) await unlink(aside)
}

/**
 * @param changed thrown where the file was written to meanwhile
 * @returns the path in the archive
 * @throws an error of the file system
 */
async function moveInto(archive: string, name: string, aside: string, changed: Error): Promise<string> {
  let from = aside
  for (const archived of archiveNames(name)) {
    const target = join(archive, archived)
    const isTaken = await placeAt(from, target).catch(async (error: unknown) => {
      if (codeOf(error) !== 'EXDEV') throw error
      from = await copyTo(archive, aside, changed)
      return placeAt(from, target)
    })
    if (isTaken && !(await isCopy(aside, target))) continue
    if (from !== aside) {
      await rm(from, { force: true })
      await syncFolder(archive)
    }
    await rm(aside, { force: true })
    return target
  }
  throw new Error('names never end')
}

/** Never over what is there. @returns whether the name is taken @throws an error of the file system: `EXDEV` for another file system */
async function placeAt(from: string, to: string): Promise<boolean> {
  try {
    // A rename would replace what is there; a link does not.
    await link(from, to)
    return false
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return true
    // No links here, or not to a file of another user.
    if (!['EPERM', 'ENOTSUP'].includes(codeOf(error))) throw error
  }
  const reserved = await newOwn(to).catch((error: unknown) => {
    if (codeOf(error) !== 'EEXIST') throw error
  })
  await reserved?.close()
  if (reserved !== undefined) await rename(from, to)
  return reserved === undefined
}

/** A whole copy on the disk of the archive, under a name of its own. */
async function copyTo(archive: string, path: string, changed: Error): Promise<string> {
  const part = join(archive, `.${hash('sha256', path, 'hex').slice(0, 16)}.part`)
  const before = await lstat(path, { bigint: true })
  await rm(part, { force: true })
  try {
    await copyFile(path, part, constants.COPYFILE_EXCL)
    const copy = await open(part)
    try {
      await copy.utimes(Number(before.atimeMs) / 1000, Number(before.mtimeMs) / 1000)
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

/** What was copied is to be there after a power cut, too, before the original is removed. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path)
  await folder.sync().finally(() => folder.close())
}

/** Whether a process that was killed has put the file there before. */
async function isCopy(path: string, there: string): Promise<boolean> {
  const [one, other] = [await lstat(path), await lstat(there)]
  if (one.dev === other.dev) return one.ino === other.ino
  // The time of a copy is set in milliseconds.
  if (one.size !== other.size || Math.trunc(one.mtimeMs) !== Math.trunc(other.mtimeMs)) return false
  return (await fingerprint(path)).sha256 === (await fingerprint(there)).sha256
}

const isThere = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    () => false,
  )

const REFUSALS: Readonly<Record<string, string>> = {
  ENOENT: 'is missing',
  ENOTDIR: 'is a file',
  EACCES: 'may not be read by this user',
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : ''
