/** Exports on an SFTP server, over one connection: opened with the first request, and again after a failure. */

import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { constants } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { createConnection, type Socket } from 'node:net'
import { posix, resolve } from 'node:path'
import type { FileEntryWithStats, SFTPWrapper } from 'ssh2'
import type Client from 'ssh2-sftp-client'
import { z } from 'zod'
import { reasonOf, WaybillError } from '../../model/errors.ts'
import { readObeyed } from '../../system/obeyed-files.ts'
import { errorCode } from '../../system/own-files.ts'
import { exportError } from '../content.ts'
import { advancing, answered, receiveFile, withRetries } from './receive-file.ts'
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

interface SftpPlace extends z.infer<typeof SftpSettings> {
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
  /** Gives the file its name back, unless a newer file has the name: the next listing finds it aside. */
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

interface SftpLogin {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly hostKey: string
  readonly keyFile?: string | undefined
}

/** From the first packet to the login. */
const LOGIN_MS = 20_000
/** A server without an answer for three times as long is gone. */
const KEEP_ALIVE_MS = 15_000
/** Time limit of a request on a connection that is alive. */
const ANSWER_MS = 60_000
const GOOD_BYE_MS = 2_000

/** All reject with `NotAnswered`, or an error of ssh2-sftp-client. */
interface SftpConnection {
  /** Files and links, a page for each answer. */
  list(folder: string, signal?: AbortSignal): AsyncIterable<readonly ListedFile[]>
  stat(path: string): Promise<Client.FileStats>
  exists(path: string): Promise<boolean>
  makeFolder(path: string): Promise<void>
  rename(from: string, to: string): Promise<void>
  /** Replaces a file, readable only by its owner as far as the server supports that. */
  write(file: string, path: string): Promise<void>
  read(path: string, from: number, last: number): AsyncIterable<Uint8Array>
  /** Waits for a moment. Never rejects. */
  end(): Promise<void>
  /** At once; open requests fail. */
  cut(): void
}

/** Client after its login. */
interface LoggedIn {
  readonly client: Client
  readonly channel: SFTPWrapper
  readonly sock: Socket
}

const silent = (): void => {}

/** @throws `source-untrusted`, `source-unreachable`; NotAnswered or any other error where another try may help */
async function logIn(
  { host, port, user, hostKey, keyFile }: SftpLogin,
  password: string | undefined,
  base: string,
  answerMs: number,
): Promise<LoggedIn> {
  const isHostKey = await hostKeyCheck(hostKey, host, port)
  const credentials =
    keyFile === undefined ? { password: password ?? '' } : { privateKey: await readKey(keyFile) }
  if (keyFile === undefined && password === undefined)
    throw new WaybillError('source-unreachable', `There is neither key nor password for ${base}.`, {
      remedy: 'Name a `keyFile` in the job, or set WAYBILL_SFTP_PASSWORD.',
    })
  let trusted = true
  // Only jobs that use the client load it. Its events need no listener: a request fails.
  const { default: SftpClient } = await import('ssh2-sftp-client')
  const client = new SftpClient('waybill', { error: silent, end: silent, close: silent })
  // Without noDelay, each small request waits for the acknowledgement of the previous one, which servers delay.
  const sock = createConnection({ host, port, noDelay: true })
  const connecting = client.connect({
    host,
    port,
    sock,
    username: user,
    ...credentials,
    readyTimeout: LOGIN_MS,
    keepaliveInterval: KEEP_ALIVE_MS,
    hostVerifier: (key: Buffer) => {
      trusted = isHostKey(key)
      return trusted
    },
  })
  try {
    return { client, channel: await answered('connecting', answerMs, connecting), sock }
  } catch (error) {
    sock.destroy()
    if (!trusted)
      throw new WaybillError('source-untrusted', `${base} presents another host key than the job pins.`, {
        cause: error,
      })
    if (error instanceof Error && /authentication/i.test(error.message)) throw unreachable(base, error)
    throw error
  }
}

/**
 * @param base address for errors
 * @throws `source-untrusted`, `source-unreachable`; NotAnswered or any other error where another try may help
 */
async function connectSftp(
  login: SftpLogin,
  password: string | undefined,
  base: string,
  answerMs: number,
): Promise<SftpConnection> {
  const { client, channel, sock } = await logIn(login, password, base, answerMs)
  const timely = <Answer>(what: string, answer: Promise<Answer>): Promise<Answer> =>
    answered(what, answerMs, answer)
  const exists = async (path: string): Promise<boolean> =>
    (await timely(`looking at ${path}`, client.exists(path))) !== false
  /** Makes a missing folder and the folders above. The recursive mkdir of the client fails at a link to a folder. */
  const makeFolder = async (path: string): Promise<void> => {
    if (await exists(path)) return
    const above = posix.dirname(path)
    if (above !== path) await makeFolder(above)
    await timely(`making the folder ${path}`, client.mkdir(path)).catch(async (error: unknown) => {
      // Another delivery made it meanwhile.
      if (!(await exists(path))) throw error
    })
  }
  return {
    list: (folder, signal) => listPages(channel, folder, answerMs, signal),
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
      // The reader gets every error except errors of closing, which need no listener.
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

/** Kinds by type in the mode; a mode without a type is that of a file. */
const KINDS: ReadonlyMap<number, string> = new Map([
  [constants.S_IFREG, '-'],
  [constants.S_IFLNK, 'l'],
  [0, '-'],
])

/** A file or a link, by the line of `ls -l`, else by attributes: the form of the line is the server's. */
function listedFile({ filename, longname, attrs }: FileEntryWithStats): ListedFile[] {
  const shown = /^([-bcdlps])[-rwxsStT]{9}/.exec(longname)?.[1]
  const kind = shown ?? KINDS.get(attrs.mode & constants.S_IFMT)
  if (kind !== '-' && kind !== 'l') return []
  return [{ ...sftpDelivery(filename, attrs.size, attrs.mtime * 1000), isLink: kind === 'l' }]
}

/** Lists a folder page by page: the listing of ssh2 has no bound. */
async function* listPages(
  channel: SFTPWrapper,
  folder: string,
  answerMs: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<readonly ListedFile[]> {
  const asked = <Answer>(
    ask: (answered: (error: Error | null | undefined, answer: Answer) => void) => void,
  ): Promise<Answer> => {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    ask((error, answer) => (error ? reject(error) : resolve(answer)))
    return answered(`listing ${folder}`, answerMs, promise)
  }
  const handle = await asked<Buffer>((answered) => channel.opendir(folder, answered))
  for (;;) {
    signal?.throwIfAborted()
    const page = await asked<FileEntryWithStats[]>((answered) => channel.readdir(handle, answered)).catch(
      (error: unknown) => {
        // SSH_FX_EOF
        if (errorCode(error) === '1') return undefined
        throw error
      },
    )
    if (page === undefined) break
    yield page.flatMap(listedFile)
  }
  // No answer is needed: the connection ends with the run.
  channel.close(handle, () => {})
}

const readKey = (file: string): Promise<Buffer> =>
  readFile(file).catch((cause) => {
    throw new WaybillError('source-unreachable', 'The key file cannot be read.', { place: { file }, cause })
  })

/** `source-unreachable`; a `WaybillError` is returned as it is. */
const unreachable = (base: string, cause: unknown): WaybillError =>
  cause instanceof WaybillError
    ? cause
    : new WaybillError('source-unreachable', `${base} cannot be reached: ${reasonOf(cause)}`, { cause })

/** A file of the server. Servers keep no versions: size and time are one. */
const sftpDelivery = (name: string, bytes: number, modifiedAt: number): Delivery => ({
  name,
  bytes,
  modifiedAt,
  version: `${bytes} ${modifiedAt}`,
})

/** @returns `SHA256:…`, as `ssh-keygen -l` prints it */
function hostKeyFingerprint(key: Uint8Array): string {
  return `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`
}

/**
 * @param pinned a fingerprint, or the path of a known_hosts file
 * @throws `source-untrusted` for a file that cannot be read or does not know the host
 */
export async function hostKeyCheck(
  pinned: string,
  host: string,
  port: number,
): Promise<(key: Uint8Array) => boolean> {
  if (pinned.startsWith('SHA256:')) {
    const expected = pinned.replace(/=+$/, '')
    return (key) => equal(Buffer.from(hostKeyFingerprint(key)), Buffer.from(expected))
  }
  const text = await readObeyed(pinned).catch((cause) => {
    if (cause instanceof WaybillError) throw cause
    throw new WaybillError('source-untrusted', 'The known_hosts file cannot be read.', {
      place: { file: pinned },
      remedy: 'Name a known_hosts file in `hostKey`, or the fingerprint of the server, SHA256:….',
      cause,
    })
  })
  const bare = host.toLowerCase()
  const name = port === 22 ? bare : `[${bare}]:${port}`
  const lines = text.split(/\r?\n/).flatMap((line) => readLine(line))
  // A key is revoked on each port of the host.
  const revoked = lines.filter(
    ({ mark, hosts }) => mark === '@revoked' && (isFor(hosts, name) || isFor(hosts, bare)),
  )
  const known = lines.filter(({ mark, hosts }) => mark === undefined && isFor(hosts, name))
  if (known.length === 0)
    throw new WaybillError('source-untrusted', `The known_hosts file does not know ${name}.`, {
      place: { file: pinned },
      remedy: 'Add its key (`ssh-keyscan`), after its operator has confirmed the fingerprint.',
    })
  return (key) => known.some((line) => equal(line.key, key)) && !revoked.some((line) => equal(line.key, key))
}

interface KnownHost {
  readonly mark: string | undefined
  readonly hosts: string
  readonly key: Uint8Array
}

function readLine(line: string): KnownHost[] {
  const fields = line.trim().split(/\s+/)
  const mark = fields[0]?.startsWith('@') ? fields.shift() : undefined
  const [hosts = '', type = '', key = ''] = fields
  return hosts === '' || hosts.startsWith('#') || type === '' || key === ''
    ? []
    : [{ mark, hosts, key: Buffer.from(key, 'base64') }]
}

/**
 * Matches a name with patterns divided by commas, or with one hashed name: `|1|salt|HMAC-SHA1 of the name`. In a pattern, `*` is any run of
 * characters and `?` any character. A pattern behind `!` excludes the names that match.
 */
function isFor(hosts: string, name: string): boolean {
  const [, version, salt = '', hashed = ''] = hosts.split('|')
  if (version !== '1') {
    const matching = hosts
      .toLowerCase()
      .split(',')
      .filter((one) => matches(one.replace(/^!/, ''), name))
    return matching.length > 0 && !matching.some((one) => one.startsWith('!'))
  }
  const mac = createHmac('sha1', Buffer.from(salt, 'base64')).update(name).digest()
  return equal(mac, Buffer.from(hashed, 'base64'))
}

const matches = (pattern: string, name: string): boolean => {
  const source = pattern
    .replace(/[\\^$.+()[\]{}|]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.')
  return new RegExp(`^${source}$`).test(name)
}

const equal = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && timingSafeEqual(a, b)

/** Limits the wait for each chunk, not the time of its use. @throws NotAnswered */
async function* eachAnswered<Chunk>(
  what: (at: number) => string,
  ms: number,
  chunks: AsyncIterable<Chunk>,
): AsyncGenerator<Chunk> {
  const iterator = chunks[Symbol.asyncIterator]()
  let isWaiting = false
  try {
    for (let at = 0; ; at += 1) {
      isWaiting = true
      const { done, value } = await answered(what(at), ms, iterator.next())
      isWaiting = false
      if (done === true) return
      yield value
    }
  } finally {
    const ending = iterator.return?.()
    // Without an answer, none comes to the end either.
    if (isWaiting) ending?.catch(() => undefined)
    else await ending
  }
}
