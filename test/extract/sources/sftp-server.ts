/** An SFTP server over a folder, on loopback. */
import { hash } from 'node:crypto'
import { once } from 'node:events'
import {
  chmod,
  constants,
  type FileHandle,
  lstat,
  mkdir,
  open,
  readdir,
  rename,
  stat,
} from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import ssh2, { type AuthContext, type Connection, type FileEntry, type SFTPWrapper } from 'ssh2'

// Node sees no names in it.
const { Server, utils } = ssh2
const { STATUS_CODE } = utils.sftp

export interface SftpServer {
  readonly port: number
  /** Public host key, as it goes over the wire. */
  readonly hostKey: Buffer
  /** Private key of the user, in OpenSSH form. */
  readonly userKey: string
  /** Called after so many bytes of a file were read; may change files or cut the connection. */
  onRead: ((path: string, offset: number, cut: () => void) => Promise<void>) | undefined
  /** Called after so many bytes of a file were written; may cut the connection. */
  onWrite: ((path: string, offset: number, cut: () => void) => void) | undefined
  /** Called before a file is renamed; may change files. Paths as the client names them. */
  onRename: ((from: string, to: string) => void) | undefined
  /** How a listing shows a file to people, where not as `ls -l` does. */
  longname: ((filename: string) => string) | undefined
  /** Whether a request is never answered (`STAT`, `READ`; `SFTP`: that for the subsystem); the connection stays. */
  isSilent: ((request: string) => boolean) | undefined
  /** Names that every listing has besides, as those of plain files. */
  alsoLists: readonly string[]
  /** Whether the listing of a folder begins again where it ends. */
  listsForEver: boolean
  connections: number
  /** Whether the user may not do it (`RENAME`, `MKDIR`). */
  denies?: (request: string) => boolean
  stop(): Promise<void>
}

export const USER = 'vendor'
export const PASSWORD = 'secret-of-the-vendor'

/** As `ssh-keygen -l` prints it. */
export const hostKeyFingerprint = (key: Uint8Array): string =>
  `SHA256:${hash('sha256', key, 'base64').replace(/=+$/, '')}`

export async function startSftpServer(root: string): Promise<SftpServer> {
  const host = generateKeys()
  const user = generateKeys()
  const open = new Set<Connection>()
  const server = new Server({ hostKeys: [host.private] }, (client) => {
    open.add(client)
    started.connections += 1
    client.on('error', () => {})
    client.on('close', () => open.delete(client))
    client.on('authentication', (context) => authenticate(context, user.public))
    client.on('ready', () =>
      client.on('session', (accept) =>
        accept().on('sftp', (acceptSftp) => {
          if (!started.isSilent?.('SFTP')) serve(acceptSftp(), root, started, () => client.end())
        }),
      ),
    )
  })
  // Otherwise each answer waits 40 ms for an acknowledgement that the other side delays.
  const listener = createServer({ noDelay: true }, (socket) => server.injectSocket(socket))
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const address = listener.address()
  const started: SftpServer = {
    port: typeof address === 'object' && address !== null && 'port' in address ? Number(address.port) : 0,
    hostKey: publicKey(host.public),
    userKey: user.private,
    onRead: undefined,
    onWrite: undefined,
    onRename: undefined,
    longname: undefined,
    isSilent: undefined,
    alsoLists: [],
    listsForEver: false,
    connections: 0,
    async stop() {
      for (const client of open) client.end()
      listener.close()
    },
  }
  return started
}

/** ssh2 writes some of the keys that it makes so that it cannot read them: those are made anew. */
function generateKeys(): ReturnType<typeof utils.generateKeyPairSync> {
  for (;;) {
    const pair = utils.generateKeyPairSync('ed25519')
    if (![pair.private, pair.public].some((text) => utils.parseKey(text) instanceof Error)) return pair
  }
}

function publicKey(text: string): Buffer {
  const key = utils.parseKey(text)
  if (key instanceof Error) throw key
  return (Array.isArray(key) ? key[0] : key).getPublicSSH()
}

function authenticate(context: AuthContext, key: string): void {
  if (context.username === USER && isProven(context, key)) context.accept()
  else context.reject(['password', 'publickey'])
}

/** A key without a signature is a question whether it would be taken (RFC 4252, 7). */
function isProven(context: AuthContext, key: string): boolean {
  if (context.method === 'password') return context.password === PASSWORD
  if (context.method !== 'publickey' || !context.key.data.equals(publicKey(key))) return false
  if (context.signature === undefined) return true
  const parsed = utils.parseKey(key)
  const one = Array.isArray(parsed) ? parsed[0] : parsed
  return (
    !(one instanceof Error) &&
    context.blob !== undefined &&
    one.verify(context.blob, context.signature) === true
  )
}

function serve(sftp: SFTPWrapper, root: string, server: SftpServer, cut: () => void): void {
  const files = new Map<string, { path: string; handle?: FileHandle; names?: string[] }>()
  let next = 0
  sftp.on('close', () => {
    for (const { handle } of files.values()) handle?.close().catch(() => {})
    files.clear()
  })
  const at = (path: string): string => join(root, join('/', path))
  const answer = (request: string, id: number, work: () => Promise<void>): void => {
    if (server.isSilent?.(request)) return
    if (server.denies?.(request)) return void sftp.status(id, STATUS_CODE.PERMISSION_DENIED)
    work().catch((error: NodeJS.ErrnoException) => {
      sftp.status(id, error.code === 'ENOENT' ? STATUS_CODE.NO_SUCH_FILE : STATUS_CODE.FAILURE)
    })
  }
  const keep = (entry: { path: string; handle?: FileHandle; names?: string[] }): Buffer => {
    const id = String(next++)
    files.set(id, entry)
    return Buffer.from(id)
  }
  const attributes = async (path: string, look = stat) => {
    const { mode, uid, gid, size, atimeMs, mtimeMs } = await look(at(path))
    return { mode, uid, gid, size, atime: Math.floor(atimeMs / 1000), mtime: Math.floor(mtimeMs / 1000) }
  }
  const look = (id: number, path: string): void =>
    answer('STAT', id, async () => sftp.attrs(id, await attributes(path)))

  sftp.on('STAT', look)
  sftp.on('LSTAT', (id, path) =>
    answer('STAT', id, async () => sftp.attrs(id, await attributes(path, lstat))),
  )
  sftp.on('FSTAT', (id, handle) => look(id, files.get(handle.toString())?.path ?? ''))
  sftp.on('REALPATH', (id, path) => {
    const filename = join('/', path)
    sftp.name(id, [
      { filename, longname: filename, attrs: { mode: 0, uid: 0, gid: 0, size: 0, atime: 0, mtime: 0 } },
    ])
  })
  sftp.on('OPEN', (id, path, flags) =>
    answer('OPEN', id, async () => {
      const handle = await open(at(path), utils.sftp.flagsToString(flags) ?? 'r')
      sftp.handle(id, keep({ path, handle }))
    }),
  )
  sftp.on('WRITE', (id, handle, offset, data) =>
    answer('WRITE', id, async () => {
      const file = files.get(handle.toString())
      await file?.handle?.write(data, 0, data.length, offset)
      server.onWrite?.(file?.path ?? '', offset, cut)
      sftp.status(id, STATUS_CODE.OK)
    }),
  )
  sftp.on('FSETSTAT', (id, handle, { mode }) =>
    answer('FSETSTAT', id, async () => {
      if (mode !== undefined) await chmod(at(files.get(handle.toString())?.path ?? ''), mode)
      sftp.status(id, STATUS_CODE.OK)
    }),
  )
  sftp.on('READ', (id, handle, offset, length) =>
    answer('READ', id, async () => {
      const file = files.get(handle.toString())
      await server.onRead?.(file?.path ?? '', offset, cut)
      const { bytesRead, buffer } = (await file?.handle?.read(Buffer.alloc(length), 0, length, offset)) ?? {
        bytesRead: 0,
        buffer: Buffer.alloc(0),
      }
      if (bytesRead === 0) sftp.status(id, STATUS_CODE.EOF)
      else sftp.data(id, buffer.subarray(0, bytesRead))
    }),
  )
  sftp.on('OPENDIR', (id, path) =>
    answer('OPENDIR', id, async () =>
      sftp.handle(id, keep({ path, names: [...(await readdir(at(path))), ...server.alsoLists] })),
    ),
  )
  sftp.on('READDIR', (id, handle) =>
    answer('READDIR', id, async () => {
      const folder = files.get(handle.toString())
      const names = folder?.names?.splice(0, 2) ?? []
      if (server.listsForEver) folder?.names?.push(...names)
      if (names.length === 0) return sftp.status(id, STATUS_CODE.EOF) as unknown as undefined
      const entries: FileEntry[] = []
      for (const filename of names) {
        const path = join(folder?.path ?? '', filename)
        const isListed = server.alsoLists.includes(filename)
        // As OpenSSH does, of a link and not of what it leads to.
        const attrs = await attributes(path, lstat).catch((error) => {
          if (isListed) return { mode: 0o100600, uid: 0, gid: 0, size: 1, atime: 0, mtime: 0 }
          throw error
        })
        const kind =
          { [constants.S_IFLNK]: 'l', [constants.S_IFDIR]: 'd' }[attrs.mode & constants.S_IFMT] ?? '-'
        entries.push({
          filename,
          longname:
            server.longname?.(filename) ?? `${kind}rw------- 1 0 0 ${attrs.size} Jan 1 00:00 ${filename}`,
          attrs,
        })
      }
      sftp.name(id, entries)
    }),
  )
  sftp.on('RENAME', (id, from, to) =>
    answer('RENAME', id, async () => {
      server.onRename?.(from, to)
      // As OpenSSH does: the new name must not be taken.
      if (await stat(at(to)).catch(() => undefined)) return void sftp.status(id, STATUS_CODE.FAILURE)
      await rename(at(from), at(to))
      sftp.status(id, STATUS_CODE.OK)
    }),
  )
  sftp.on('MKDIR', (id, path) =>
    answer('MKDIR', id, async () => {
      await mkdir(at(path))
      sftp.status(id, STATUS_CODE.OK)
    }),
  )
  sftp.on('CLOSE', (id, handle) =>
    answer('CLOSE', id, async () => {
      await files.get(handle.toString())?.handle?.close()
      files.delete(handle.toString())
      sftp.status(id, STATUS_CODE.OK)
    }),
  )
}
