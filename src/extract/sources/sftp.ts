/**
 * Exports on an SFTP server. One connection, opened with the first question and again when it broke. Every question has a limit to how
 * long its answer is waited for, and the key of the server is checked.
 */
import { readFile, stat } from 'node:fs/promises'
import { createConnection } from 'node:net'
import { posix, resolve } from 'node:path'
import pLimit from 'p-limit'
import type { FileEntryWithStats, SFTPWrapper } from 'ssh2'
import type Client from 'ssh2-sftp-client'
import { z } from 'zod'
import { reasonOf, WaybillError } from '../../model/errors.ts'
import { hostKeyCheck } from './host-key.ts'
import { advancing, answered, eachAnswered, receiveFile, withRetries } from './receive-file.ts'
import {
  archiveNames,
  asideName,
  asidesFirst,
  collectListed,
  type Delivery,
  folderRefused,
  type ListedFile,
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
  /** On the server; relative to where the login leads. */
  folder: z.string().min(1).default('.'),
  /** The fingerprint of the server's key, or a known_hosts file. There is no connection without. */
  hostKey: z
    .string()
    .min(1)
    .refine(
      (text) => !/^(SHA256|MD5):/.test(text) || /^SHA256:[A-Za-z0-9+/]{43}=?$/.test(text),
      'is no fingerprint; it is SHA256: and 43 characters, as `ssh-keygen -l` prints it',
    ),
  /** Path of the private key, relative to the job file; without it the password is used. */
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

/** @param answerMs what is not answered for so long is asked again, over another connection */
export function createSftpSource(
  place: SftpPlace,
  password: string | undefined,
  answerMs = ANSWER_MS,
): RemoteSource {
  const { host, port, user, folder } = place
  const base = `sftp://${user}@${host}:${port}/${folder.replace(/^\.?\/*|\/+$/g, '')}`.replace(/\/$/, '')
  const address = (name: string): string => `${base}/${name}`
  const at = (name: string): string => posix.join(folder, name)
  let connected: Promise<SftpConnection> | undefined
  /** Whether `connected` is resolved. */
  let isOpen = false

  let isClosed = false
  const connection = async (): Promise<SftpConnection> => {
    // Somebody has given up what is asked here, and closed: the next try would hold a connection that nobody closes.
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
  /** Whatever breaks, the next try has a new connection; what the server refuses stays refused. */
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
      throw error instanceof WaybillError ? error : unreachable(base, error)
    })
  /** Of several files at once, one makes their folder. */
  const made = new Map<string, Promise<void>>()
  const makeOnce = (server: SftpConnection, path: string): Promise<void> => {
    const making =
      made.get(path) ??
      server
        .exists(path)
        .then((isThere) => (isThere ? undefined : server.makeFolder(path)))
        .catch((error: unknown) => {
          made.delete(path)
          throw error
        })
    made.set(path, making)
    return making
  }
  const lookAt = async (server: SftpConnection, path: string): Promise<Delivery> => {
    const { size, modifyTime } = await server.stat(path)
    return delivery(path, size, modifyTime)
  }
  const changed = ({ name }: Delivery): WaybillError =>
    new WaybillError('export-changed', 'The export on the server is not the one that was listed.', {
      place: { file: address(name) },
    })
  const assertSame = async (wanted: Delivery, signal?: AbortSignal): Promise<void> => {
    const look = (server: SftpConnection): Promise<Delivery> => lookAt(server, at(nameThere(wanted)))
    const { version } = await ask(wanted.name, look, signal)
    if (version !== wanted.version) throw changed(wanted)
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
      await assertSame(wanted, fetching?.signal)
      const readFrom = async function* (from: number) {
        const server = await connection()
        try {
          // An empty range is an end before it is a start.
          yield* server.read(at(nameThere(wanted)), from, bytes - 1)
        } catch (error) {
          throw await afterFailure(error, name)
        }
      }
      try {
        await receiveFile(file, bytes, address(name), readFrom, fetching)
      } catch (error) {
        throw error instanceof WaybillError ? error : unreachable(base, error)
      }
      // A server keeps no versions: only the time tells that nobody wrote meanwhile.
      await assertSame(wanted, fetching?.signal)
      return file
    },
    async archive(wanted) {
      await assertSame(wanted)
      const target = posix.resolve('/', folder, place.archive ?? '.')
      const to = folder.startsWith('/') ? target : target.slice(1)
      const own = at(wanted.name)
      const aside = at(asideName(wanted.name))
      let isTried = wanted.isAside === true
      let moving: string | undefined
      const move = async (server: SftpConnection): Promise<string> => {
        if (!(await server.exists(to))) await server.makeFolder(to).catch(refuseArchive(to))
        // A try that was not answered may have moved it.
        const isAside = await server.exists(aside)
        const isArchived = moving !== undefined && !isAside
        // One that was left aside is archived first.
        if (isAside && !isTried) throw changed(wanted)
        isTried = true
        if (!isAside && !isArchived) await server.rename(own, aside).catch(refuseArchive(folder))
        if (!isArchived && (await lookAt(server, aside)).version !== wanted.version) throw changed(wanted)
        for (const name of archiveNames(wanted.name)) {
          const path = posix.join(to, name)
          // SSH_FXP_RENAME fails where the name is taken (draft-ietf-secsh-filexfer-02, 6.5); some servers replace.
          const isTaken = await server.exists(path)
          const isMoved = isTaken && path === moving && isArchived
          if (isTaken && !isMoved) continue
          moving = path
          if (!isMoved) await server.rename(aside, path).catch(refuseArchive(to))
          return `sftp://${user}@${host}:${port}/${path.replace(/^\//, '')}`
        }
        throw new Error('names never end')
      }
      /** Where a newer one has its name, it stays aside: the next listing has it from there. */
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
    },
    async put(name, file) {
      const path = at(name)
      const part = posix.join(posix.dirname(path), `.${posix.basename(path)}.part`)
      try {
        const { size } = await stat(file)
        await ask(name, async (server) => {
          // A try that was not answered may have put it there.
          if ((await server.exists(path)) && (await server.stat(path)).size === size) return
          await makeOnce(server, posix.dirname(path))
          await server.write(file, part)
          const came = (await server.stat(part)).size
          if (came !== size) throw new Error(`${came} of ${size} bytes came there`)
          await server.rename(part, path)
        })
      } catch (error) {
        throw notDelivered(address(name), error)
      }
    },
    async close() {
      isClosed = true
      // A server that has not answered yet need not be waited for.
      if (isOpen) await disconnect((server) => server.end())
      else void disconnect((server) => server.cut())
    },
  }
}

const delivery = (name: string, bytes: number, modifiedAt: number): Delivery => ({
  name,
  bytes,
  modifiedAt,
  version: `${bytes} ${modifiedAt}`,
})

const refuseArchive = (archive: string) => (error: unknown) => {
  const isDenied = error instanceof Error && 'code' in error && /^(EACCES|3)$/.test(String(error.code))
  throw isDenied ? notArchived(archive, MAY_NOT_WRITE, error) : error
}

/** What another try would find as well. @param file undefined: it was said of the folder */
function refusal(error: unknown, file: string | undefined, folder: string): WaybillError | undefined {
  if (error instanceof WaybillError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  // As ssh2-sftp-client names SSH_FX_NO_SUCH_FILE and SSH_FX_PERMISSION_DENIED; streams give their numbers.
  const why = { ENOENT: 'is missing', EACCES: 'may not be read', 2: 'is missing', 3: 'may not be read' }
  const known = Object.entries(why).find(([one]) => one === code)?.[1]
  if (known === undefined) return undefined
  if (file === undefined) return folderRefused(folder, known, error)
  return new WaybillError('export-unreadable', `The export ${known}.`, {
    place: { file },
    cause: error,
  })
}

/** From the first packet to the login. */
const LOGIN_MS = 20_000
/** A server that answers nothing for so long, three times, is gone. */
const KEEP_ALIVE_MS = 15_000
/** A server that keeps the connection alive, and does not answer what it is asked for so long, is as good as gone. */
export const ANSWER_MS = 60_000
const GOOD_BYE_MS = 2_000

/** All reject with `NotAnswered`, or what ssh2-sftp-client makes of the server's answer. */
export interface SftpConnection {
  /** Files and links, a page for each answer. */
  list(folder: string, signal?: AbortSignal): AsyncIterable<readonly ListedFile[]>
  stat(path: string): Promise<Client.FileStats>
  exists(path: string): Promise<boolean>
  makeFolder(path: string): Promise<void>
  rename(from: string, to: string): Promise<void>
  /** Over what is there. For its owner alone, as far as the server does that. */
  write(file: string, path: string): Promise<void>
  /** From a byte on to the last one. */
  read(path: string, from: number, last: number): AsyncIterable<Uint8Array>
  /** Takes leave, for a moment. Never rejects. */
  end(): Promise<void>
  /** At once; what was not answered by then fails. */
  cut(): void
}

/**
 * @param base names the place in errors
 * @throws WaybillError `source-untrusted`, `source-unreachable`; NotAnswered or any other error where another try may help
 */
export async function connectSftp(
  { host, port, user, hostKey, keyFile }: SftpPlace,
  password: string | undefined,
  base: string,
  answerMs: number,
): Promise<SftpConnection> {
  const isHostKey = await hostKeyCheck(hostKey, host, port)
  const credentials =
    keyFile === undefined ? { password: password ?? '' } : { privateKey: await readKey(keyFile) }
  if (keyFile === undefined && password === undefined)
    throw new WaybillError('source-unreachable', `There is neither key nor password for ${base}.`, {
      remedy: 'Name a `keyFile` in the job, or set WAYBILL_SFTP_PASSWORD.',
    })
  let trusted = true
  const silent = (): void => {}
  // Events that nobody asked about are told by the question that fails.
  // The client is loaded where a job uses it, and only there.
  const { default: SftpClient } = await import('ssh2-sftp-client')
  const client = new SftpClient('waybill', { error: silent, end: silent, close: silent })
  // Questions are small: without it each waits for the acknowledgement of the one before, which servers delay.
  const sock = createConnection({ host, port, noDelay: true })
  const connecting = client.connect({
    ...{ host, port, sock, username: user, ...credentials },
    readyTimeout: LOGIN_MS,
    keepaliveInterval: KEEP_ALIVE_MS,
    hostVerifier: (key: Buffer) => {
      trusted = isHostKey(key)
      return trusted
    },
  })
  let channel: SFTPWrapper
  try {
    channel = await answered('connecting', answerMs, connecting)
  } catch (error) {
    sock.destroy()
    if (!trusted)
      throw new WaybillError('source-untrusted', `${base} shows another host key than the job pins.`, {
        cause: error,
      })
    if (error instanceof Error && /authentication/i.test(error.message)) throw unreachable(base, error)
    throw error
  }
  const timely = <Answer>(what: string, answer: Promise<Answer>): Promise<Answer> =>
    answered(what, answerMs, answer)
  /** False where nothing is there, or the server does not say what it is. */
  const kindOf = (path: string): Promise<Client.FileInfo['type'] | false> =>
    timely(`looking at ${path}`, client.exists(path))
  const exists = async (path: string): Promise<boolean> => (await kindOf(path)) !== false
  /** With those above it, of which each may be a link: the client's own way of doing so takes links for files. */
  const makeFolder = async (path: string): Promise<void> => {
    const above = posix.dirname(path)
    if (above !== path && !(await exists(above))) await makeFolder(above)
    await timely(`making the folder ${path}`, client.mkdir(path)).catch(async (error: unknown) => {
      // Another file has had it made meanwhile.
      if (!(await exists(path))) throw error
    })
  }
  return {
    async *list(folder, signal) {
      const limit = pLimit(LOOKS_AT_ONCE)
      for await (const page of listPages(channel, folder, answerMs, signal)) {
        const kinds = page.map((one) =>
          limit(async () => kindShown(one) ?? (await kindOf(posix.join(folder, one.filename)))),
        )
        yield (await Promise.all(kinds)).flatMap((kind, at) => listedFile(page[at], kind))
      }
    },
    stat: (path) => timely(`looking at ${path}`, client.stat(path)),
    exists,
    makeFolder,
    async rename(from, to) {
      await timely(`moving ${from}`, client.rename(from, to))
    },
    async write(file, path) {
      await advancing(`writing ${path}`, answerMs, (step) =>
        client.fastPut(file, path, { mode: 0o600, step }),
      )
    },
    read(path, from, last) {
      const content = client.createReadStream(path, { start: from, end: last })
      // Who reads is told of what fails meanwhile; that a file which was read was not closed is of no matter, and comes when nobody listens.
      content.on('error', silent)
      const what = (chunk: number): string => `${chunk === 0 ? 'opening and reading' : 'reading'} ${path}`
      return eachAnswered(what, answerMs, content)
    },
    async end() {
      await answered('the good-bye', GOOD_BYE_MS, client.end()).catch(() => undefined)
      sock.destroy()
    },
    cut: () => sock.destroy(),
  }
}

/** By the line of `ls -l`, kind and rights first; undefined where it has another form, as it may in version 3 of the protocol. */
const kindShown = ({ longname }: FileEntryWithStats): string | undefined =>
  /^[-bcdlps][-rwxsStT]{9}/.test(longname) ? longname.slice(0, 1) : undefined

/** None for what is neither a file nor a link. */
function listedFile(entry: FileEntryWithStats | undefined, kind: string | false): ListedFile[] {
  if (entry === undefined || (kind !== '-' && kind !== 'l' && kind !== false)) return []
  const { size, mtime } = entry.attrs
  return [{ ...delivery(entry.filename, size, mtime * 1000), isLink: kind === 'l' }]
}

const LOOKS_AT_ONCE = 8

/** What ssh2 lists at once it lists to the end, however far that is. */
async function* listPages(
  channel: SFTPWrapper,
  folder: string,
  answerMs: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<readonly FileEntryWithStats[]> {
  const asked = <Answer>(
    ask: (told: (error: Error | null | undefined, answer: Answer) => void) => void,
  ): Promise<Answer> => {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    ask((error, answer) => (error ? reject(error) : resolve(answer)))
    return answered(`listing ${folder}`, answerMs, promise)
  }
  const handle = await asked<Buffer>((told) => channel.opendir(folder, told))
  for (;;) {
    signal?.throwIfAborted()
    const page = await asked<FileEntryWithStats[]>((told) => channel.readdir(handle, told)).catch(
      (error: unknown) => {
        // SSH_FX_EOF
        if (error instanceof Error && 'code' in error && error.code === 1) return undefined
        throw error
      },
    )
    if (page === undefined) break
    yield page
  }
  // That it was not closed is of no matter: the connection ends with the run.
  channel.close(handle, () => {})
}

const readKey = (file: string): Promise<Buffer> =>
  readFile(file).catch((cause) => {
    throw new WaybillError('source-unreachable', 'The key file cannot be read.', { place: { file }, cause })
  })

export const unreachable = (base: string, cause: unknown): WaybillError =>
  new WaybillError('source-unreachable', `${base} cannot be reached: ${reasonOf(cause)}`, { cause })
