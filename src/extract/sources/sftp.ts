/** Exports on an SFTP server, over one connection: opened with the first request, and again after a failure. */
import { stat } from 'node:fs/promises'
import { posix, resolve } from 'node:path'
import { z } from 'zod'
import { WaybillError } from '../../model/errors.ts'
import { errorCode } from '../../system/own-files.ts'
import { exportError } from '../content.ts'
import { receiveFile, withRetries } from './receive-file.ts'
import { ANSWER_MS, connectSftp, type SftpConnection, sftpDelivery, unreachable } from './sftp-connection.ts'
import {
  archiveNames,
  asideName,
  asidesFirst,
  collectListed,
  type Delivery,
  folderRefused,
  listingOf,
  MAY_NOT_WRITE,
  nameThere,
  notArchived,
  notDelivered,
  type RemotePlace,
  type RemoteSource,
} from './source.ts'

const SftpSettings = z.strictObject({
  host: z.string().min(1),
  port: z.int().min(1).max(65_535).default(22),
  user: z.string().min(1),
  /** On the server; relative to the folder of the login. */
  folder: z.string().min(1).default('.'),
  /** Fingerprint of the host key, or a known_hosts file. */
  hostKey: z
    .string()
    .min(1)
    .refine(
      (text) => !/^(SHA256|MD5):/.test(text) || /^SHA256:[A-Za-z0-9+/]{43}=?$/.test(text),
      'is no fingerprint; it is SHA256: and 43 characters, as `ssh-keygen -l` prints it',
    ),
  /** Path of the private key, relative to the job file. Default: the password */
  keyFile: z.string().min(1).optional(),
})

/** `from` and `to` of a job: a folder on an SFTP server. */
export const SftpWritten = z.strictObject({ sftp: SftpSettings })

/** @param base folder of the job file */
export function sftpPlace(written: SftpPlace, base: string): RemotePlace {
  const { user, host, port, folder, hostKey, keyFile } = written
  const place = {
    ...written,
    hostKey: hostKey.startsWith('SHA256:') ? hostKey : resolve(base, hostKey),
    keyFile: keyFile && resolve(base, keyFile),
  }
  return {
    shown: `sftp://${user}@${host}:${port}/${folder}`,
    open: async ({ sftpPassword }) => createSftpSource(place, sftpPassword),
  }
}

export interface SftpPlace extends z.infer<typeof SftpSettings> {
  /** Folder on the server; relative to `folder`. */
  readonly archive?: string | undefined
}

type Session = ReturnType<typeof openSession>

/** @param answerMs time limit of a request, which is then repeated over another connection */
export function createSftpSource(
  place: SftpPlace,
  password: string | undefined,
  answerMs = ANSWER_MS,
): RemoteSource {
  const { folder } = place
  const session = openSession(place, password, answerMs)
  const { base, address, at, ask } = session
  /** One of several files at once makes their folder. */
  const made = new Map<string, Promise<void>>()
  const makeOnce = (server: SftpConnection, path: string): Promise<void> => {
    const making =
      made.get(path) ??
      server.makeFolder(path).catch((error: unknown) => {
        made.delete(path)
        throw error
      })
    made.set(path, making)
    return making
  }
  return {
    address,
    async list(signal) {
      const found = await ask(
        '',
        async (server) => {
          const { files, add } = collectListed(base)
          for await (const page of server.list(folder, signal)) add(page)
          return asidesFirst(files)
        },
        signal,
      )
      return listingOf(found)
    },
    async fetch(wanted, file, fetching) {
      const { name, bytes } = wanted
      await session.assertSame(wanted, fetching?.signal)
      const readFrom = async function* (from: number) {
        const server = await session.connection()
        try {
          // For an empty file, the range ends before its start.
          yield* server.read(at(nameThere(wanted)), from, bytes - 1)
        } catch (error) {
          throw await session.afterFailure(error, name)
        }
      }
      try {
        await receiveFile(file, bytes, address(name), readFrom, fetching)
      } catch (error) {
        throw unreachable(base, error)
      }
      // Only the time tells that nobody wrote meanwhile.
      await session.assertSame(wanted, fetching?.signal)
      return file
    },
    archive: (wanted) => archive(session, place, wanted),
    async put(name, file) {
      const path = at(name)
      const part = posix.join(posix.dirname(path), `.${posix.basename(path)}.part`)
      try {
        const { size } = await stat(file)
        await ask(name, async (server) => {
          // An unanswered try may have put the file there.
          if ((await server.exists(path)) && (await server.stat(path)).size === size) return
          await makeOnce(server, posix.dirname(path))
          await server.write(file, part)
          const came = (await server.stat(part)).size
          if (came !== size) throw new Error(`${came} of ${size} bytes arrived`)
          await server.rename(part, path)
        })
      } catch (error) {
        throw notDelivered(address(name), error)
      }
    },
    close: session.close,
  }
}

/** One connection, opened with the first request, and again after a failure. */
function openSession(place: SftpPlace, password: string | undefined, answerMs: number) {
  const { host, port, user, folder } = place
  const base = `sftp://${user}@${host}:${port}/${folder.replace(/^\.?\/*|\/+$/g, '')}`.replace(/\/$/, '')
  const address = (name: string): string => `${base}/${name}`
  const at = (name: string): string => posix.join(folder, name)
  let connected: Promise<SftpConnection> | undefined
  /** True when `connected` is resolved. */
  let isOpen = false
  let isClosed = false
  const connection = async (): Promise<SftpConnection> => {
    // Nobody would close the connection of another try.
    if (isClosed) throw unreachable(base, 'it was closed while it was asked')
    connected ??= connectSftp(place, password, base, answerMs).then(
      (server) => {
        isOpen = true
        return server
      },
      (error) => {
        connected = undefined
        throw error
      },
    )
    return connected
  }
  const disconnect = async (leave: (connection: SftpConnection) => Promise<void> | void): Promise<void> => {
    const last = await connected?.catch(() => undefined)
    connected = undefined
    isOpen = false
    if (last !== undefined) await leave(last)
  }
  /** Cuts the connection, so that the next try has a new one. Not for a refusal by the server. */
  const afterFailure = async (error: unknown, name: string): Promise<unknown> => {
    const refused = refusal(error, name === '' ? undefined : address(name), base)
    if (refused === undefined) await disconnect((broken) => broken.cut())
    return refused ?? error
  }
  const ask = <Result>(
    name: string,
    question: (server: SftpConnection) => Promise<Result>,
    signal?: AbortSignal,
  ): Promise<Result> =>
    withRetries(async () => {
      try {
        return await question(await connection())
      } catch (error) {
        throw await afterFailure(error, name)
      }
    }, signal).catch((error: unknown) => {
      throw unreachable(base, error)
    })
  return {
    base,
    address,
    at,
    connection,
    afterFailure,
    ask,
    async assertSame(wanted: Delivery, signal?: AbortSignal): Promise<void> {
      const { version } = await ask(wanted.name, (server) => lookAt(server, at(nameThere(wanted))), signal)
      if (version !== wanted.version) throw changed(address(wanted.name))
    },
    async close(): Promise<void> {
      isClosed = true
      // A connection that is still being opened is cut.
      if (isOpen) await disconnect((server) => server.end())
      else void disconnect((server) => server.cut())
    },
  }
}

async function lookAt(server: SftpConnection, path: string): Promise<Delivery> {
  const { size, modifyTime } = await server.stat(path)
  return sftpDelivery(path, size, modifyTime)
}

const changed = (file: string): WaybillError =>
  exportError(file, 'The export on the server changed since it was listed.', { code: 'export-changed' })

/** Moves an export aside, compares the file with the listed one, and moves the file to the archive. */
async function archive(session: Session, place: SftpPlace, wanted: Delivery): Promise<string> {
  const { address, at, ask } = session
  const { host, port, user, folder } = place
  await session.assertSame(wanted)
  const target = posix.resolve('/', folder, place.archive ?? '.')
  const to = folder.startsWith('/') ? target : target.slice(1)
  const own = at(wanted.name)
  const aside = at(asideName(wanted.name))
  const archived = (path: string): string => `sftp://${user}@${host}:${port}/${path.replace(/^\//, '')}`
  let isTried = wanted.isAside === true
  let moving: string | undefined
  const move = async (server: SftpConnection): Promise<string> => {
    await server.makeFolder(to).catch(refuseArchive(to))
    const isAside = await server.exists(aside)
    // A try that was not answered may have moved the file.
    if (!isAside && moving !== undefined) return archived(moving)
    // An older file that was left aside is archived first.
    if (isAside && !isTried) throw changed(address(wanted.name))
    isTried = true
    if (!isAside) await server.rename(own, aside).catch(refuseArchive(folder))
    if ((await lookAt(server, aside)).version !== wanted.version) throw changed(address(wanted.name))
    for (const name of archiveNames(wanted.name)) {
      const path = posix.join(to, name)
      // SSH_FXP_RENAME fails if the name is taken (draft-ietf-secsh-filexfer-02, 6.5); some servers replace.
      if (await server.exists(path)) continue
      moving = path
      await server.rename(aside, path).catch(refuseArchive(to))
      return archived(path)
    }
    throw new Error('names never end')
  }
  /** Gives the file its name back. If a newer file has the name, the file stays aside, where the next listing finds it. */
  const putBack = async (server: SftpConnection): Promise<void> => {
    if ((await server.exists(aside)) && !(await server.exists(own))) await server.rename(aside, own)
  }
  try {
    return await ask(wanted.name, move)
  } catch (error) {
    const isAway = error instanceof WaybillError && error.code === 'source-unreachable'
    if (isTried && !isAway) await ask(wanted.name, putBack).catch(() => undefined)
    throw error
  }
}

const refuseArchive = (archive: string) => (error: unknown) => {
  throw /^(EACCES|3)$/.test(errorCode(error)) ? notArchived(archive, MAY_NOT_WRITE, error) : error
}

/** A refusal that another try would get as well. @param file undefined: the folder */
function refusal(error: unknown, file: string | undefined, folder: string): WaybillError | undefined {
  if (error instanceof WaybillError) return error
  // Names of ssh2-sftp-client for SSH_FX_NO_SUCH_FILE and SSH_FX_PERMISSION_DENIED; streams give their numbers.
  const why = { ENOENT: 'is missing', EACCES: 'may not be read', 2: 'is missing', 3: 'may not be read' }
  const known = Object.entries(why).find(([code]) => code === errorCode(error))?.[1]
  if (known === undefined) return undefined
  if (file === undefined) return folderRefused(folder, known, error)
  return exportError(file, `The export ${known}.`, { cause: error })
}
