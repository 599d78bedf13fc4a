/**
 * Private copies of what was fetched, decrypted, taken out of an archive, or kept of joined exports: folders of mode 0700, files of mode 0600. Made when they
 * are needed. What was fetched stays until a run has ended well, so that its resumption need not fetch it again; what was decrypted
 * or unpacked is gone with the run, and what a killed process left with the next.
 */
import { hash } from 'node:crypto'
import { access, mkdir, mkdtemp, open, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Delivery, ExportSource } from './export-source.ts'

/** In characters: a name is 255 bytes at most on common file systems, a character up to four. */
const LONGEST_NAME = 60

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

/** @param folder for this job alone; who clears it must hold the job */
export function createSpool(folder: string): Spool {
  const fetchedFolder = join(folder, 'fetched')
  const unpackedFolder = join(folder, 'unpacked')
  const keptFolder = join(folder, 'kept')
  return {
    async fetch(source, delivery, signal) {
      const address = digest(source.address(delivery.name))
      const own = join(fetchedFolder, `${address}-${digest(delivery.version)}`)
      const file = join(own, fileName(delivery.name))
      if (await isThere(file)) return file
      return source.fetch(delivery, file, signal)
    },
    async fetched(address, name) {
      const folders = await readdir(fetchedFolder).catch(() => [])
      const files = folders
        .filter((one) => one.startsWith(`${digest(address)}-`))
        .map((one) => join(fetchedFolder, one, fileName(name)))
      const there = await Promise.all(files.map(isThere))
      return files.filter((_, at) => there[at])
    },
    async forget(address) {
      const folders = await readdir(fetchedFolder).catch(() => [])
      const own = folders.filter((one) => one.startsWith(`${digest(address)}-`))
      for (const one of own) await rm(join(fetchedFolder, one), { recursive: true, force: true })
    },
    async keep(sha256, text) {
      await mkdir(keptFolder, { recursive: true, mode: 0o700 })
      const file = await open(join(keptFolder, sha256), 'w', 0o600)
      try {
        await file.writeFile(text)
        await file.sync()
      } finally {
        await file.close()
      }
    },
    kept: (sha256) => readFile(join(keptFolder, sha256), 'utf8').catch(() => undefined),
    async unpack(name) {
      await mkdir(unpackedFolder, { recursive: true, mode: 0o700 })
      return join(await mkdtemp(join(unpackedFolder, 'x-')), fileName(name))
    },
    clearUnpacked: () => rm(unpackedFolder, { recursive: true, force: true }),
    clear: () => rm(folder, { recursive: true, force: true }),
  }
}

const digest = (text: string): string => hash('sha256', text, 'hex').slice(0, 16)

/** A name from elsewhere is no path here, whatever stands in it. */
const fileName = (name: string): string =>
  name
    .replaceAll('/', '!')
    .replace(/\p{Cc}/gu, '_')
    .replace(/^\.+$/, '_')
    .slice(-LONGEST_NAME)

const isThere = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  )
