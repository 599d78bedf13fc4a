/**
 * Private copies of what was fetched, decrypted, taken out of an archive, or kept of joined exports: folders of mode 0700, files of mode 0600. Made when they
 * are needed. What was fetched stays until a run has ended well, so that its resumption need not fetch it again; what was decrypted
 * or unpacked is gone with the run, and what a killed process left with the next.
 */
import { hash } from 'node:crypto'
import { constants } from 'node:fs'
import { access, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { assertWithin, makeFolder, openOwn, ownFileName } from '../../own-files.ts'
import type { Delivery, ExportSource } from './export-source.ts'

export interface Spool {
  /** The delivery as a file here: fetched, unless this version of it already lies here whole. */
  fetch(source: ExportSource, delivery: Delivery, signal?: AbortSignal): Promise<string>
  /** Files fetched from an address and still here, whichever version they are. */
  fetched(address: string, name: string): Promise<readonly string[]>
  /** Removes what was fetched from an address. */
  forget(address: string): Promise<void>
  /** Keeps a text under its SHA-256, until everything is removed. */
  keep(sha256: string, text: string): Promise<void>
  /** Undefined where it is gone. */
  kept(sha256: string): Promise<string | undefined>
  /** A path for a new file of that name, in a folder of its own. */
  unpack(name: string): Promise<string>
  /** Removes what was decrypted or unpacked, also by processes that are gone. */
  clearUnpacked(): Promise<void>
  /** Removes everything. */
  clear(): Promise<void>
}

/**
 * @param folder for this job alone; who clears it must hold the job. Its methods throw WaybillError `home-unusable` where a link in it leads
 *   elsewhere.
 */
export function createSpool(folder: string): Spool {
  const fetchedFolder = join(folder, 'fetched')
  const unpackedFolder = join(folder, 'unpacked')
  const keptFolder = join(folder, 'kept')
  return {
    async fetch(source, delivery, signal) {
      const address = digest(source.address(delivery.name))
      const own = join(fetchedFolder, `${address}-${digest(delivery.version)}`)
      const file = join(own, ownFileName(delivery.name))
      assertWithin(folder, file)
      if (await isThere(file)) return file
      return source.fetch(delivery, file, signal)
    },
    async fetched(address, name) {
      const folders = await readdir(fetchedFolder).catch(() => [])
      const files = folders
        .filter((one) => one.startsWith(`${digest(address)}-`))
        .map((one) => join(fetchedFolder, one, ownFileName(name)))
      const there = await Promise.all(files.map(isThere))
      return files.filter((_, at) => there[at])
    },
    async forget(address) {
      const folders = await readdir(fetchedFolder).catch(() => [])
      const own = folders.filter((one) => one.startsWith(`${digest(address)}-`))
      for (const one of own) await rm(join(fetchedFolder, one), { recursive: true, force: true })
    },
    async keep(sha256, text) {
      const file = await openOwn(folder, join(keptFolder, sha256), constants.O_TRUNC)
      try {
        await file.writeFile(text)
        await file.sync()
      } finally {
        await file.close()
      }
    },
    kept: (sha256) => readFile(join(keptFolder, sha256), 'utf8').catch(() => undefined),
    async unpack(name) {
      assertWithin(folder, unpackedFolder)
      makeFolder(unpackedFolder)
      return join(await mkdtemp(join(unpackedFolder, 'x-')), ownFileName(name))
    },
    clearUnpacked: () => rm(unpackedFolder, { recursive: true, force: true }),
    clear: () => rm(folder, { recursive: true, force: true }),
  }
}

const digest = (text: string): string => hash('sha256', text, 'hex').slice(0, 16)

const isThere = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  )
