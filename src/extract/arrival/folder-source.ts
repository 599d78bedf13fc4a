/** Exports in a folder of this machine. They are read where they lie. */
import { constants } from 'node:fs'
import { copyFile, link, mkdir, readdir, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { WaybillError } from '../../errors.ts'
import { unreadable } from '../content.ts'
import { archiveNames, type Delivery, type ExportSource } from './export-source.ts'

export interface FolderPlace {
  readonly folder: string
  readonly archive?: string | undefined
}

export function createFolderSource({ folder, archive = folder }: FolderPlace): ExportSource {
  const address = (name: string): string => join(folder, name)
  const assertSame = async ({ name, version }: Delivery): Promise<void> => {
    if ((await look(folder, name))?.version === version) return
    throw new WaybillError('export-changed', 'The export changed since it was read; it was not archived.', {
      place: { file: address(name) },
    })
  }
  return {
    address,
    async list() {
      const names = await readdir(folder).catch((cause) => {
        throw unreadable(folder, cause)
      })
      return (await Promise.all(names.map((name) => look(folder, name)))).filter((one) => one !== undefined)
    },
    fetch: async ({ name }) => address(name),
    async archive(delivery) {
      await assertSame(delivery)
      await mkdir(archive, { recursive: true })
      for (const name of archiveNames(delivery.name)) {
        const target = join(archive, name)
        if (await moveWithoutOverwriting(address(delivery.name), target)) return target
      }
      throw new Error('names never end')
    },
    close: async () => {},
  }
}

/** Undefined for a folder, and for what is gone by now. */
async function look(folder: string, name: string): Promise<Delivery | undefined> {
  const found = await stat(join(folder, name), { bigint: true }).catch(() => undefined)
  if (found === undefined || !found.isFile()) return undefined
  const { size, mtimeNs, ino } = found
  return {
    name,
    bytes: Number(size),
    modifiedAt: Number(mtimeNs / 1_000_000n),
    version: `${size} ${mtimeNs} ${ino}`,
  }
}

/** False where the name is taken. */
async function moveWithoutOverwriting(from: string, to: string): Promise<boolean> {
  try {
    // A rename would replace what is there; a link does not.
    await link(from, to)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    // Another file system, or one without links.
    if (!['EXDEV', 'EPERM', 'ENOTSUP'].includes(codeOf(error))) throw unreadable(from, error)
    try {
      await copyFile(from, to, constants.COPYFILE_EXCL)
    } catch (cause) {
      if (codeOf(cause) === 'EEXIST') return false
      throw unreadable(from, cause)
    }
  }
  await unlink(from)
  return true
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : ''
