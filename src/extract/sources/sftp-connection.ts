/** Connection to an SFTP server. The host key is checked, and each request has a time limit. */
import { constants } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createConnection, type Socket } from 'node:net'
import { posix } from 'node:path'
import type { FileEntryWithStats, SFTPWrapper } from 'ssh2'
import type Client from 'ssh2-sftp-client'
import { reasonOf, WaybillError } from '../../model/errors.ts'
import { errorCode } from '../../system/own-files.ts'
import { hostKeyCheck } from './host-key.ts'
import { advancing, answered, eachAnswered } from './receive-file.ts'
import type { Delivery, ListedFile } from './source.ts'

interface SftpLogin {
  readonly host: string
  readonly port: number
  readonly user: string
  /** Fingerprint of the host key, or the path of a known_hosts file. */
  readonly hostKey: string
  /** Path of the private key. Default: the password */
  readonly keyFile?: string | undefined
}

/** From the first packet to the login. */
const LOGIN_MS = 20_000
/** A server without an answer for three times as long is gone. */
const KEEP_ALIVE_MS = 15_000
/** Time limit of a request on a connection that is alive. */
export const ANSWER_MS = 60_000
const GOOD_BYE_MS = 2_000

/** All reject with `NotAnswered`, or an error of ssh2-sftp-client. */
export interface SftpConnection {
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

/** @throws WaybillError `source-untrusted`, `source-unreachable`; NotAnswered or any other error where another try may help */
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
 * @throws WaybillError `source-untrusted`, `source-unreachable`; NotAnswered or any other error where another try may help
 */
export async function connectSftp(
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

/** A file or a link, by the line of `ls -l`, or else by attributes: the protocol leaves the form of the line to the server. */
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
export const unreachable = (base: string, cause: unknown): WaybillError =>
  cause instanceof WaybillError
    ? cause
    : new WaybillError('source-unreachable', `${base} cannot be reached: ${reasonOf(cause)}`, { cause })

/** A file of the server. Servers keep no versions: size and time are one. */
export const sftpDelivery = (name: string, bytes: number, modifiedAt: number): Delivery => ({
  name,
  bytes,
  modifiedAt,
  version: `${bytes} ${modifiedAt}`,
})
