/**
 * Receives files over a network: after a broken connection the rest, and whole or not at all. Private copies lie in a spool: folders of mode 0700,
 * files of mode 0600.
 */

import { hash } from 'node:crypto'
import { constants } from 'node:fs'
import { access, type FileHandle, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import pRetry, { AbortError } from 'p-retry'
import { WaybillError } from '../../model/errors.ts'
import { assertWithin, makeFolder, newOwn, openOwn, ownFileName } from '../../system/own-files.ts'
import { exportError } from '../content.ts'
import type { Delivery, ExportSource, Fetching } from './source.ts'

/** Retries after waits of half a second to four, at most doubled by chance. */
const WAITS = { retries: 3, minTimeout: 500, randomize: true } as const

/**
 * @param signal ends the tries at once; aborted with a `WaybillError`, which is thrown
 * @throws at once; other errors after the last try
 */
export function withRetries<Result>(attempt: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
  return pRetry(
    async () => {
      try {
        return await whileWanted(attempt(), signal)
      } catch (error) {
        // A known error: another try would fail alike.
        if (error instanceof WaybillError) throw new AbortError(error)
        throw error
      }
    },
    signal === undefined ? WAITS : { ...WAITS, signal },
  )
}

/** Waits for an answer until the signal is aborted, then rejects with the reason. */
export async function whileWanted<Answer>(answer: Promise<Answer>, signal?: AbortSignal): Promise<Answer> {
  if (signal === undefined) return answer
  const { promise: ended, reject } = Promise.withResolvers<never>()
  const end = (): void => reject(signal.reason)
  signal.addEventListener('abort', end, { once: true })
  if (signal.aborted) end()
  try {
    return await Promise.race([ended, answer])
  } finally {
    signal.removeEventListener('abort', end)
  }
}

/**
 * @param file target, of mode 0600
 * @param read content from an offset on; fails for another version
 * @throws as `read` and `fetching` do; `export-changed` for more or fewer bytes than listed
 */
export async function receiveFile(
  file: string,
  bytes: number,
  address: string,
  read: (from: number) => AsyncIterable<Uint8Array>,
  { signal, room }: Fetching = {},
): Promise<string> {
  return receiveWhole(file, async (out) => {
    room?.(bytes)
    let length = 0
    await withRetries(async () => {
      if (length === bytes) return
      for await (const chunk of read(length)) {
        signal?.throwIfAborted()
        const from = length
        length += chunk.length
        if (length > bytes) break
        await out.writev([chunk], from)
      }
      if (length !== bytes)
        throw exportError(address, `${length} bytes arrived, but ${bytes} were listed.`, {
          code: 'export-changed',
        })
    }, signal)
  })
}

/** Makes a file, of mode 0600, whole or not at all. @returns `file` */
export async function receiveWhole(file: string, write: (out: FileHandle) => Promise<void>): Promise<string> {
  makeFolder(dirname(file))
  const part = `${file}.part`
  // The rest of another process may be of another version.
  await rm(part, { force: true })
  const out = await newOwn(part)
  try {
    await write(out)
    await out.sync()
    await rename(part, file)
    return file
  } finally {
    await out.close()
    await rm(part, { force: true })
  }
}

/** A request without an answer in time. Another connection may bring one. */
class NotAnswered extends Error {
  override readonly name = 'NotAnswered'

  /** @param what `listing in/acme` */
  constructor(what: string, ms: number) {
    super(`${what} was not answered within ${ms / 1000} s`)
  }
}

/** Waits for an answer; ignores a late one. @throws NotAnswered */
export const answered = <Answer>(what: string, ms: number, answer: Promise<Answer>): Promise<Answer> =>
  advancing(what, ms, () => answer)

/** @param begin calls `step` with every step: the limit is that of one step. @throws NotAnswered */
export async function advancing<Answer>(
  what: string,
  ms: number,
  begin: (step: () => void) => Promise<Answer>,
): Promise<Answer> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new NotAnswered(what, ms)), ms)
  })
  try {
    return await Promise.race([begin(() => timer?.refresh()), late])
  } finally {
    clearTimeout(timer)
  }
}

interface Spool {
  /** Fetches a delivery, unless the spool has this version. */
  fetch(source: ExportSource, delivery: Delivery, fetching?: Fetching): Promise<string>
  /** Files from an address, in any version. */
  fetched(address: string, name: string): Promise<readonly string[]>
  /** Removes the files from an address. */
  forget(address: string): Promise<void>
  /** Keeps a text under its SHA-256, until `clear`. */
  keep(sha256: string, text: string): Promise<void>
  kept(sha256: string): Promise<string | undefined>
  /** A path for a new file of that name, in a folder of its own. */
  unpack(name: string): Promise<string>
  /** Removes the files of `unpack`, of any process. */
  clearUnpacked(): Promise<void>
  /** Removes everything. */
  clear(): Promise<void>
}

/** @param folder for one job, held by this process. Methods throw WaybillError `home-unusable` for a link out of the folder. */
export function createSpool(folder: string): Spool {
  const fetchedFolder = join(folder, 'fetched')
  const unpackedFolder = join(folder, 'unpacked')
  const keptFolder = join(folder, 'kept')
  const foldersOf = async (address: string): Promise<string[]> =>
    (await readdir(fetchedFolder).catch(() => []))
      .filter((one) => one.startsWith(`${digest(address)}-`))
      .map((one) => join(fetchedFolder, one))
  return {
    async fetch(source, delivery, fetching) {
      const address = digest(source.address(delivery.name))
      const own = join(fetchedFolder, `${address}-${digest(delivery.version)}`)
      const file = join(own, ownFileName(delivery.name))
      assertWithin(folder, file)
      if (await isThere(file)) return file
      return source.fetch(delivery, file, fetching)
    },
    async fetched(address, name) {
      const files = (await foldersOf(address)).map((one) => join(one, ownFileName(name)))
      const there = await Promise.all(files.map(isThere))
      return files.filter((_, at) => there[at])
    },
    async forget(address) {
      for (const one of await foldersOf(address)) await rm(one, { recursive: true, force: true })
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
