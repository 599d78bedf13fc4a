/** What is put on an SFTP server, and into a bucket: whole or not there, once, whatever breaks meanwhile. */
import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createS3Source } from '../../../src/extract/sources/s3.ts'
import { createSftpSource } from '../../../src/extract/sources/sftp.ts'
import type { RemoteSource } from '../../../src/extract/sources/source.ts'
import { temporaryFolder } from '../../temporary-folder.ts'
import { BUCKET, startS3Server } from './s3-server.ts'
import { hostKeyFingerprint, PASSWORD, startSftpServer, USER } from './sftp-server.ts'

const CONTENT = Buffer.alloc(3_000_001, 'a line of a collection\n')

interface Opened {
  readonly source: RemoteSource
  /** What is there, by name; what is under way is not. */
  there(): Promise<Record<string, Buffer>>
  /** Cuts the connection in the middle of the next so many writings. */
  cut(times: number): void
  /** How often the content of a file has begun to come. */
  begun(): number
}

async function sftp(answerMs?: number) {
  const root = await temporaryFolder()
  await mkdir(join(root, 'in'))
  const server = await startSftpServer(root)
  onTestFinished(() => server.stop())
  const place = {
    ...{ host: '127.0.0.1', port: server.port, user: USER, folder: 'in' },
    hostKey: hostKeyFingerprint(server.hostKey),
  }
  const source = createSftpSource(place, PASSWORD, answerMs)
  onTestFinished(() => source.close())
  let left = 0
  let cutLast = 0
  let begun = 0
  server.onWrite = (path, offset, cut) => {
    // It never stands there half.
    expect(existsSync(join(root, path.replace(/\/\.(.+)\.part$/, '/$1')))).toBe(false)
    if (offset === 0) begun++
    // Others that were under way are written, too.
    if (offset > 1_000_000 && left > 0 && cutLast !== server.connections) {
      left--
      cutLast = server.connections
      cut()
    }
  }
  const opened: Opened = {
    source,
    async there() {
      const all = await readdir(join(root, 'in'), { recursive: true, withFileTypes: true })
      const files = all.filter((one) => one.isFile() && !one.name.endsWith('.part'))
      const paths = files.map((one) => join(one.parentPath, one.name))
      return Object.fromEntries(
        await Promise.all(
          paths.map(async (path) => [path.slice(root.length + 4), await readFile(path)] as const),
        ),
      )
    },
    cut: (times) => {
      left = times
    },
    begun: () => begun,
  }
  return { ...opened, server, root }
}

async function s3(): Promise<Opened> {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'tests')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret-of-the-tests')
  const server = await startS3Server()
  onTestFinished(() => server.stop())
  const source = await createS3Source({
    ...{ endpoint: server.endpoint, region: 'test-1', bucket: BUCKET, prefix: 'in' },
  })
  onTestFinished(() => source.close())
  let left = 0
  let begun = 0
  server.onPut = (_, bytes) => {
    if (bytes === 0) begun++
    if (bytes < 1_000_000 || left === 0) return undefined
    left--
    return 'cut'
  }
  return {
    source,
    there: async () =>
      Object.fromEntries([...server.objects].map(([key, { body }]) => [key.slice('in/'.length), body])),
    cut: (times) => {
      left = times
    },
    begun: () => begun,
  }
}

afterEach(() => {
  vi.unstubAllEnvs()
})

describe.each([
  ['an SFTP server', sftp],
  ['S3-compatible storage', s3],
])('%s', (_, open) => {
  let large: string
  beforeEach(async () => {
    large = join(await temporaryFolder(), 'large')
    await writeFile(large, CONTENT)
  })

  it('takes files of any size, in folders, and none of them twice', async () => {
    const { source, there, begun } = await open()
    const empty = join(await temporaryFolder(), 'empty')
    await writeFile(empty, '')
    const files = [
      ['run/people.ndjson', large],
      ['run/bodies/a b%+ü.html', empty],
    ] as const
    await Promise.all(files.map(([name, file]) => source.put(name, file)))
    const before = begun()
    await Promise.all(files.map(([name, file]) => source.put(name, file)))
    expect(begun()).toBe(before)
    const found = await there()
    expect(Object.keys(found).sort()).toEqual(files.map(([name]) => name).toSorted())
    expect(found['run/people.ndjson']?.equals(CONTENT)).toBe(true)
  })

  it('cutting the connection is sent the file again, and never has a half one', async () => {
    const { source, there, cut, begun } = await open()
    cut(2)
    await source.put('run/people.ndjson', large)
    expect((await there())['run/people.ndjson']?.equals(CONTENT)).toBe(true)
    expect(begun()).toBe(3)
  })
})

it('what cuts it again and again, or has another file under the name, has not taken the file, and keeps what it has', async () => {
  const file = join(await temporaryFolder(), 'file')
  await writeFile(file, CONTENT)
  const put = async ({ source, there }: Opened): Promise<string[]> => {
    await expect(source.put('run/people.ndjson', file)).rejects.toMatchObject({
      code: 'collection-not-delivered',
      message: expect.stringMatching(/run\/people\.ndjson was not delivered: /),
    })
    return Object.values(await there()).map(String)
  }
  const opened = [await sftp(), await s3()]
  for (const { cut } of opened) cut(4)
  const taken = await sftp()
  await mkdir(join(taken.root, 'in/run'))
  await writeFile(join(taken.root, 'in/run/people.ndjson'), 'of somebody else')
  expect(await Promise.all([...opened, taken].map(put))).toEqual([[], [], ['of somebody else']])
  // Another time they take it.
  for (const { source, there } of opened) {
    await source.put('run/people.ndjson', file)
    expect(Object.keys(await there())).toEqual(['run/people.ndjson'])
  }
})

it('on an SFTP server a file is for its owner alone', async () => {
  const { source, root } = await sftp()
  const own = join(await temporaryFolder(), 'own')
  await writeFile(own, 'of this run')
  await source.put('run/people.ndjson', own)
  expect((await stat(join(root, 'in/run/people.ndjson'))).mode & 0o777).toBe(0o600)
})

it('an SFTP server whose folder is a link takes files into it, and makes folders below', async () => {
  const { server, root } = await sftp()
  await mkdir(join(root, 'disk'))
  await symlink(join(root, 'disk'), join(root, 'link'))
  const own = join(await temporaryFolder(), 'own')
  await writeFile(own, 'of this run')
  for (const folder of ['link', 'link/new/below']) {
    const source = createSftpSource(
      {
        ...{ host: '127.0.0.1', port: server.port, user: USER, folder },
        hostKey: hostKeyFingerprint(server.hostKey),
      },
      PASSWORD,
    )
    onTestFinished(() => source.close())
    await source.put('run/people.ndjson', own)
    expect(await readFile(join(root, folder, 'run/people.ndjson'), 'utf8')).toBe('of this run')
  }
})

it.each(['WRITE', 'RENAME'])(
  'an SFTP server that does not answer %s is asked again over another connection',
  async (what) => {
    const { source, there, server } = await sftp(600)
    const own = join(await temporaryFolder(), 'own')
    await writeFile(own, CONTENT)
    let silent = 1
    server.isSilent = (request) => request === what && silent-- > 0
    await source.put('people.ndjson', own)
    expect((await there())['people.ndjson']?.equals(CONTENT)).toBe(true)
    // On a busy machine other answers may come too late, too.
    expect(server.connections).toBeGreaterThan(1)
  },
)
