/** Exports on an SFTP server. One connection, opened with the first question and again when it broke. */

import { readFile } from 'node:fs/promises'
import { createConnection } from 'node:net'
import { posix } from 'node:path'
import Client from 'ssh2-sftp-client'
import { WaybillError } from '../../errors.ts'
import { archiveNames, type Delivery, type ExportSource } from './export-source.ts'
import { hostKeyCheck } from './host-key.ts'
import { receiveFile, withRetries } from './receive-file.ts'

const CONNECT_MS = 20_000
/** A server that answers nothing for so long, three times, is gone. */
const KEEP_ALIVE_MS = 15_000

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

export function createSftpSource(place: SftpPlace, password: string | undefined): ExportSource {
  const { host, port, user, folder } = place
  const base = `sftp://${user}@${host}:${port}/${folder.replace(/^\.?\/*|\/+$/g, '')}`.replace(/\/$/, '')
  const address = (name: string): string => `${base}/${name}`
  const at = (name: string): string => posix.join(folder, name)
  let connected: Promise<Client> | undefined

  const connection = (): Promise<Client> => {
    connected ??= connect(place, password, base).catch((error) => {
      connected = undefined
      throw error
    })
    return connected
  }
  const disconnect = async (): Promise<void> => {
    const client = await connected?.catch(() => undefined)
    connected = undefined
    await client?.end().catch(() => undefined)
  }
  /** Whatever breaks, the next try has a new connection; what the server refuses stays refused. */
  const afterFailure = async (error: unknown, name: string): Promise<unknown> => {
    const refused = refusal(error, address(name))
    if (refused === undefined) await disconnect()
    return refused ?? error
  }
  const ask = <Result>(name: string, question: (client: Client) => Promise<Result>): Promise<Result> =>
    withRetries(async () => {
      try {
        return await question(await connection())
      } catch (error) {
        throw await afterFailure(error, name)
      }
    }).catch((error: unknown) => {
      throw error instanceof WaybillError ? error : unreachable(base, error)
    })
  const look = (name: string): Promise<Delivery> =>
    ask(name, async (client) => {
      const { size, modifyTime } = await client.stat(at(name))
      return delivery(name, size, modifyTime)
    })
  const assertSame = async ({ name, version }: Delivery): Promise<void> => {
    if ((await look(name)).version === version) return
    throw new WaybillError('export-changed', 'The export on the server is not the one that was listed.', {
      place: { file: address(name) },
    })
  }

  return {
    address,
    async list() {
      const found = await ask('', (client) => client.list(folder))
      return found
        .filter(({ type }) => type === '-')
        .map(({ name, size, modifyTime }) => delivery(name, size, modifyTime))
    },
    async fetch(wanted, file, signal) {
      const { name, bytes } = wanted
      await assertSame(wanted)
      const readFrom = async function* (from: number) {
        const client = await connection()
        try {
          // An empty range is an end before it is a start.
          yield* client.createReadStream(at(name), { start: from, end: bytes - 1 })
        } catch (error) {
          throw await afterFailure(error, name)
        }
      }
      try {
        await receiveFile(file, bytes, address(name), readFrom, signal)
      } catch (error) {
        throw error instanceof WaybillError ? error : unreachable(base, error)
      }
      // A server keeps no versions: only the time tells that nobody wrote meanwhile.
      await assertSame(wanted)
      return file
    },
    async archive(wanted) {
      await assertSame(wanted)
      const target = posix.resolve('/', folder, place.archive ?? '.')
      const to = folder.startsWith('/') ? target : target.slice(1)
      return ask(wanted.name, async (client) => {
        if ((await client.exists(to)) === false) await client.mkdir(to, true)
        for (const name of archiveNames(wanted.name)) {
          const path = posix.join(to, name)
          // SSH_FXP_RENAME fails where the name is taken (draft-ietf-secsh-filexfer-02, 6.5); some servers replace.
          if ((await client.exists(path)) !== false) continue
          await client.rename(at(wanted.name), path)
          return `sftp://${user}@${host}:${port}/${path.replace(/^\//, '')}`
        }
        throw new Error('names never end')
      })
    },
    close: disconnect,
  }
}

const delivery = (name: string, bytes: number, modifiedAt: number): Delivery => ({
  name,
  bytes,
  modifiedAt,
  version: `${bytes} ${modifiedAt}`,
})

async function connect(place: SftpPlace, password: string | undefined, base: string): Promise<Client> {
  const { host, port, user: username, hostKey, keyFile } = place
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
  try {
    await client.connect({
      host,
      port,
      // Questions are small: without it each waits for the acknowledgement of the one before, which servers delay.
      sock: createConnection({ host, port, noDelay: true }),
      username,
      ...credentials,
      readyTimeout: CONNECT_MS,
      keepaliveInterval: KEEP_ALIVE_MS,
      hostVerifier: (key: Buffer) => {
        trusted = isHostKey(key)
        return trusted
      },
    })
    return client
  } catch (error) {
    await client.end().catch(() => undefined)
    if (!trusted)
      throw new WaybillError('source-untrusted', `${base} shows another host key than the job pins.`, {
        cause: error,
      })
    if (error instanceof Error && /authentication/i.test(error.message)) throw unreachable(base, error)
    throw error
  }
}

const readKey = (file: string): Promise<Buffer> =>
  readFile(file).catch((cause) => {
    throw new WaybillError('source-unreachable', 'The key file cannot be read.', { place: { file }, cause })
  })

/** What another try would find as well. */
function refusal(error: unknown, file: string): WaybillError | undefined {
  if (error instanceof WaybillError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  // As ssh2-sftp-client names SSH_FX_NO_SUCH_FILE and SSH_FX_PERMISSION_DENIED; streams give their numbers.
  const why = {
    ENOENT: 'it is not there',
    EACCES: 'it may not be read',
    2: 'it is not there',
    3: 'it may not be read',
  }
  const known = Object.entries(why).find(([one]) => one === code)?.[1]
  if (known === undefined) return undefined
  return new WaybillError('export-unreadable', `The export cannot be read: ${known}.`, {
    place: { file },
    cause: error,
  })
}

const unreachable = (base: string, cause: unknown): WaybillError =>
  new WaybillError(
    'source-unreachable',
    `${base} cannot be reached: ${cause instanceof Error ? cause.message : String(cause)}`,
    { cause },
  )
