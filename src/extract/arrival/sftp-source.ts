/** Exports on an SFTP server. One connection, opened with the first question and again when it broke. */
import { posix } from 'node:path'
import { WaybillError } from '../../model/errors.ts'
import { archiveNames, type Delivery, type ExportSource } from './export-source.ts'
import { listingOf } from './listing.ts'
import { receiveFile, withRetries } from './receive-file.ts'
import {
  ANSWER_MS,
  connectSftp,
  type SftpConnection,
  type SftpPlace,
  unreachable,
} from './sftp-connection.ts'

/** @param answerMs what is not answered for so long is asked again, over another connection */
export function createSftpSource(
  place: SftpPlace,
  password: string | undefined,
  answerMs = ANSWER_MS,
): ExportSource {
  const { host, port, user, folder } = place
  const base = `sftp://${user}@${host}:${port}/${folder.replace(/^\.?\/*|\/+$/g, '')}`.replace(/\/$/, '')
  const address = (name: string): string => `${base}/${name}`
  const at = (name: string): string => posix.join(folder, name)
  let connected: Promise<SftpConnection> | undefined

  const connection = (): Promise<SftpConnection> => {
    connected ??= connectSftp(place, password, base, answerMs).catch((error) => {
      connected = undefined
      throw error
    })
    return connected
  }
  const disconnect = async (leave: (connection: SftpConnection) => Promise<void> | void): Promise<void> => {
    const last = await connected?.catch(() => undefined)
    connected = undefined
    if (last !== undefined) await leave(last)
  }
  /** Whatever breaks, the next try has a new connection; what the server refuses stays refused. */
  const afterFailure = async (error: unknown, name: string): Promise<unknown> => {
    const refused = refusal(error, address(name))
    if (refused === undefined) await disconnect((broken) => broken.cut())
    return refused ?? error
  }
  const ask = <Result>(
    name: string,
    question: (server: SftpConnection) => Promise<Result>,
  ): Promise<Result> =>
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
    ask(name, async (server) => {
      const { size, modifyTime } = await server.stat(at(name))
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
      const found = await ask('', (server) => server.list(folder))
      return listingOf(
        found
          .filter(({ type }) => type === '-' || type === 'l')
          .map(({ name, size, modifyTime, type }) => ({
            ...delivery(name, size, modifyTime),
            isLink: type === 'l',
          })),
      )
    },
    async fetch(wanted, file, signal) {
      const { name, bytes } = wanted
      await assertSame(wanted)
      const readFrom = async function* (from: number) {
        const server = await connection()
        try {
          // An empty range is an end before it is a start.
          yield* server.read(at(name), from, bytes - 1)
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
      let moving: string | undefined
      return ask(wanted.name, async (server) => {
        if (!(await server.exists(to))) await server.makeFolder(to)
        for (const name of archiveNames(wanted.name)) {
          const path = posix.join(to, name)
          // SSH_FXP_RENAME fails where the name is taken (draft-ietf-secsh-filexfer-02, 6.5); some servers replace.
          const isTaken = await server.exists(path)
          // A try that was not answered may have moved it.
          const isMoved = isTaken && path === moving && !(await server.exists(at(wanted.name)))
          if (isTaken && !isMoved) continue
          moving = path
          if (!isMoved) await server.rename(at(wanted.name), path)
          return `sftp://${user}@${host}:${port}/${path.replace(/^\//, '')}`
        }
        throw new Error('names never end')
      })
    },
    close: () => disconnect((server) => server.end()),
  }
}

const delivery = (name: string, bytes: number, modifiedAt: number): Delivery => ({
  name,
  bytes,
  modifiedAt,
  version: `${bytes} ${modifiedAt}`,
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
