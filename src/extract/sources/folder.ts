/** Exports in a folder of this machine. They are read where they lie. */
import { constants } from 'node:fs'
import { copyFile, link, lstat, readdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { filesExhausted, WaybillError } from '../../model/errors.ts'
import { makeFolder } from '../../own-files.ts'
import { versionOf } from '../content.ts'
import {
  archiveNames,
  type Delivery,
  type ExportSource,
  folderRefused,
  type ListedFile,
  listingOf,
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
  const assertSame = async ({ name, version }: Delivery): Promise<void> => {
    if ((await look(folder, name))?.version === version) return
    throw new WaybillError('export-changed', 'The export changed since it was found.', {
      place: { file: address(name) },
    })
  }
  return {
    address,
    async list() {
      const names = await readdir(folder).catch((cause) => {
        const why = REFUSALS[codeOf(cause)] ?? `cannot be read (${codeOf(cause)})`
        throw filesExhausted(cause) ?? folderRefused(folder, why, cause)
      })
      const found = await Promise.all(names.map((name) => look(folder, name)))
      return listingOf(found.filter((one) => one !== undefined))
    },
    async fetch(delivery) {
      // One that was named and not listed is what it is: it may be a link, too.
      if (delivery.version !== '') await assertSame(delivery)
      return address(delivery.name)
    },
    async archive(delivery) {
      await assertSame(delivery)
      try {
        makeFolder(archive)
        for (const name of archiveNames(delivery.name)) {
          const target = join(archive, name)
          if (await moveWithoutOverwriting(address(delivery.name), target)) return target
        }
      } catch (cause) {
        throw notArchived(archive, cause)
      }
      throw new Error('names never end')
    },
    close: async () => {},
  }
}

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

/** What was read stays where it lies. */
function notArchived(archive: string, cause: unknown): WaybillError {
  const reason = codeOf(cause) || (cause instanceof Error ? cause.message : String(cause))
  const remedy =
    'Correct `archive` in the job, or let this user write into both folders: the next run reads the export again, sends only what is new in it, and archives it.'
  return (
    filesExhausted(cause) ??
    new WaybillError('export-unreadable', `The export cannot be moved into the archive: ${reason}`, {
      place: { file: archive },
      cause,
      remedy,
    })
  )
}

/** False where the name is taken. @throws an error of the file system */
async function moveWithoutOverwriting(from: string, to: string): Promise<boolean> {
  try {
    // A rename would replace what is there; a link does not.
    await link(from, to)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    // Another file system, or one without links.
    if (!['EXDEV', 'EPERM', 'ENOTSUP'].includes(codeOf(error))) throw error
    try {
      await copyFile(from, to, constants.COPYFILE_EXCL)
    } catch (cause) {
      if (codeOf(cause) === 'EEXIST') return false
      throw cause
    }
  }
  await unlink(from)
  return true
}

const REFUSALS: Readonly<Record<string, string>> = {
  ENOENT: 'is missing',
  ENOTDIR: 'is a file',
  EACCES: 'may not be read by this user',
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : ''
