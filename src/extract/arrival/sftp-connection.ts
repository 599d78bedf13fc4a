/** A connection to an SFTP server: every question has a limit to how long its answer is waited for. */
import { readFile } from 'node:fs/promises'
import { createConnection } from 'node:net'
import Client from 'ssh2-sftp-client'
import { WaybillError } from '../../model/errors.ts'
import { hostKeyCheck } from './host-key.ts'
import { answered, eachAnswered } from './time-limit.ts'

/** From the first packet to the login. */
const LOGIN_MS = 20_000
/** A server that answers nothing for so long, three times, is gone. */
const KEEP_ALIVE_MS = 15_000
/** A server that keeps the connection alive, and does not answer what it is asked for so long, is as good as gone. */
export const ANSWER_MS = 60_000
/** A listing is many answers. */
const LISTING = 5
const GOOD_BYE_MS = 2_000

export interface SftpPlace {
  readonly host: string
  readonly port: number
  readonly user: string
  /** On the server; relative to where the login leads. */
  readonly folder: string
  /** `SHA256:…`, or the path of a known_hosts file. */
  readonly hostKey: string
  /** Path of the private key; without it the password is used. */
  readonly keyFile?: string | undefined
  /** Folder on the server; relative to `folder`. */
  readonly archive?: string | undefined
}

/** All reject with `NotAnswered`, or what ssh2-sftp-client makes of the server's answer. */
export interface SftpConnection {
  list(folder: string): Promise<Client.FileInfo[]>
  stat(path: string): Promise<Client.FileStats>
  exists(path: string): Promise<boolean>
  makeFolder(path: string): Promise<void>
  rename(from: string, to: string): Promise<void>
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
  const client = new Client('waybill', { error: silent, end: silent, close: silent })
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
  try {
    await answered('connecting', answerMs, connecting)
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
  return {
    list: (folder) => answered(`listing ${folder}`, LISTING * answerMs, client.list(folder)),
    stat: (path) => timely(`looking at ${path}`, client.stat(path)),
    exists: async (path) => (await timely(`looking at ${path}`, client.exists(path))) !== false,
    async makeFolder(path) {
      await timely(`making the folder ${path}`, client.mkdir(path, true))
    },
    async rename(from, to) {
      await timely(`moving ${from}`, client.rename(from, to))
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

const readKey = (file: string): Promise<Buffer> =>
  readFile(file).catch((cause) => {
    throw new WaybillError('source-unreachable', 'The key file cannot be read.', { place: { file }, cause })
  })

export const unreachable = (base: string, cause: unknown): WaybillError =>
  new WaybillError(
    'source-unreachable',
    `${base} cannot be reached: ${cause instanceof Error ? cause.message : String(cause)}`,
    { cause },
  )
