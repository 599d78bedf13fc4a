import { renameSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { createFolderSource } from '../../../src/extract/sources/folder.ts'
import { createS3Source } from '../../../src/extract/sources/s3.ts'
import { createSftpSource } from '../../../src/extract/sources/sftp.ts'
import { collectListed } from '../../../src/extract/sources/source.ts'
import { exportSourceConformance, type OpenedSource } from '../../conformance/export-source.ts'
import { holdLimit } from '../../handed-timers.ts'
import { temporaryFolder } from '../../temporary-folder.ts'
import { BUCKET, type S3Server, startS3Server } from './s3-server.ts'
import { hostKeyFingerprint, PASSWORD, startSftpServer, USER } from './sftp-server.ts'

type SftpPlace = Parameters<typeof createSftpSource>[0]

beforeEach(() => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'of-the-tests')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret-of-the-tests')
})
afterEach(() => {
  vi.unstubAllEnvs()
})

const target = async (): Promise<string> => join(await temporaryFolder(), 'file')

/** A folder with files, and how the archive is read back. */
async function inFolder(): Promise<Omit<OpenedSource, 'source'> & { folder: string }> {
  const folder = join(await temporaryFolder(), 'inbox')
  await mkdir(folder)
  return {
    folder,
    put: (name, content) => writeFile(join(folder, name), content),
    remove: (name) => rm(join(folder, name)),
    async putBelow(below, name) {
      await mkdir(join(folder, below))
      await writeFile(join(folder, below, name), 'x')
    },
    async putHostile() {
      for (const name of ['a\nb.csv', '\x9b2J.csv', 'a\x7f.csv']) await writeFile(join(folder, name), 'x')
      await writeFile(Buffer.from(`${folder}/caf\xe9.csv`, 'latin1'), 'x')
      await symlink(join(folder, 'a.csv'), join(folder, 'link.csv'))
      return ['\\u009b2J.csv', 'a\\nb.csv', 'a\\u007f.csv', 'caf\ufffd.csv', 'link.csv']
    },
    async archived() {
      const names = await readdir(join(folder, 'done')).catch(() => [])
      return Object.fromEntries(
        await Promise.all(
          names.map(async (name) => [name, await readFile(join(folder, 'done', name), 'utf8')]),
        ),
      )
    },
    cleanup: async () => {},
  }
}

exportSourceConformance('a folder', async () => {
  const files = await inFolder()
  return {
    ...files,
    source: createFolderSource({ folder: files.folder, archive: join(files.folder, 'done') }),
  }
})

it('an export that cannot be moved into the archive stays, and is said to be that: it was read', async () => {
  const { folder } = await inFolder()
  for (const name of ['a.csv', 'done']) await writeFile(join(folder, name), 'x')
  const archive = join(folder, 'done')
  const source = createFolderSource({ folder, archive })
  const delivery = (await source.list()).files.find(({ name }) => name === 'a.csv')
  await expect(source.archive(delivery ?? expect.fail('not listed'))).rejects.toMatchObject({
    message: 'The export cannot be moved into the archive: EEXIST',
    place: { file: archive },
    remedy: expect.stringContaining('`archive`'),
  })
  expect(await readFile(join(folder, 'a.csv'), 'utf8')).toBe('x')
})

it('a folder of more than a thousand files has all of them', async () => {
  const { folder } = await inFolder()
  const names = Array.from({ length: 2_001 }, (_, at) => `${String(at).padStart(4, '0')}.csv`)
  await Promise.all(names.map((name) => writeFile(join(folder, name), '')))
  const { files } = await createFolderSource({ folder }).list()
  expect(files.map(({ name }) => name).toSorted()).toEqual(names)
})

it.each([
  ['of the same time, as a killed process leaves it, is that export', 0, 1],
  ['of another time is another export', 1, 2],
])('a file of the same content in the archive %s', async (_, later, count) => {
  const { folder } = await inFolder()
  const archive = join(folder, 'done')
  await mkdir(archive)
  // Seconds in the middle of a millisecond: a fraction is not exact.
  const at = (Date.parse('2026-03-02T02:00:00Z') + 0.5) / 1000
  for (const [path, time] of [
    [join(folder, 'a.csv'), at],
    [join(archive, 'a.csv'), at + later / 1000],
  ] as const) {
    await writeFile(path, 'x')
    await utimes(path, time, time)
  }
  const source = createFolderSource({ folder, archive })
  const [delivery] = (await source.list()).files
  await source.archive(delivery ?? expect.fail('not listed'))
  expect([(await readdir(archive)).length, await readdir(folder)]).toEqual([count, ['done']])
})

it.each([
  ['missing', 'is missing', async () => {}],
  ['a file', 'is a file', (folder: string) => writeFile(folder, '')],
])('a folder that is %s is told as the folder, with what to do', async (_, said, make) => {
  const folder = join(await temporaryFolder(), 'nowhere')
  await make(folder)
  await expect(createFolderSource({ folder }).list()).rejects.toMatchObject({
    message: `the exports folder ${folder} ${said}`,
    remedy: expect.stringContaining('make the folder'),
    place: { file: folder },
  })
})

it('a folder that the SFTP server does not have is told as the folder', async () => {
  const { source, place } = await sftp({ folder: 'nowhere' })
  onTestFinished(() => source.close())
  await expect(source.list()).rejects.toMatchObject({
    code: 'export-unreadable',
    message: `the exports folder sftp://${USER}@127.0.0.1:${place.port}/nowhere is missing`,
  })
})

async function sftp(fields: Partial<SftpPlace> = {}, password: string | undefined = PASSWORD) {
  const files = await inFolder()
  const server = await startSftpServer(join(files.folder, '..'))
  onTestFinished(() => server.stop())
  const place = {
    host: '127.0.0.1',
    port: server.port,
    user: USER,
    folder: 'inbox',
    hostKey: hostKeyFingerprint(server.hostKey),
    archive: 'done',
    ...fields,
  }
  return {
    ...files,
    async putHostile() {
      server.alsoLists = ['../a.csv', '/etc/a.csv', 'a.csv/../../../b.csv', 'a\0b.csv', 'a\x1b[2J.csv']
      await symlink(join(files.folder, 'a.csv'), join(files.folder, 'link.csv'))
      return [
        '../a.csv',
        '/etc/a.csv',
        'a.csv/../../../b.csv',
        'a\\u0000b.csv',
        'a\\u001b[2J.csv',
        'link.csv',
      ]
    },
    server,
    place,
    source: createSftpSource(place, password),
  }
}

exportSourceConformance('an SFTP server', () => sftp())

async function s3() {
  const server = await startS3Server()
  const { endpoint } = server
  const source = await createS3Source({
    endpoint,
    region: 'test-1',
    bucket: BUCKET,
    prefix: 'in/acme',
    archive: 'done',
  })
  return {
    server,
    source,
    put: async (name: string, content: Uint8Array) => server.put(`in/acme/${name}`, content),
    remove: async (name: string) => void server.objects.delete(`in/acme/${name}`),
    putBelow: async (folder: string, name: string) =>
      server.put(`in/acme/${folder}/${name}`, Buffer.from('x')),
    async putHostile() {
      server.alsoLists = ['in/b.csv', 'in/acme/../b.csv', 'in/acme/c/b.csv', 'in/acme/..', 'in/acme/a\nb.csv']
      return ['..', '../b.csv', 'a\\nb.csv', 'c/b.csv', 'in/b.csv']
    },
    archived: async () =>
      Object.fromEntries(
        [...server.objects].flatMap(([key, { body }]) =>
          key.startsWith('done/') ? [[key.slice('done/'.length), body.toString()]] : [],
        ),
      ),
    cleanup: () => server.stop(),
  }
}

exportSourceConformance('S3-compatible storage', s3)

const CONTENT = Buffer.alloc(900_000, 'a row of an export\n')

describe('an SFTP server', () => {
  it('is known by the fingerprint of its key, and not talked to under another', async () => {
    const { source, server } = await sftp({ hostKey: `SHA256:${'A'.repeat(43)}` })
    await expect(source.list()).rejects.toMatchObject({ code: 'source-untrusted' })
    expect(server.connections).toBe(1)
  })

  it('is known by known_hosts, in clear and hashed, unless its key is revoked', async () => {
    const { server, place } = await sftp()
    const { createHmac } = await import('node:crypto')
    const name = `[127.0.0.1]:${server.port}`
    const key = `ssh-ed25519 ${server.hostKey.toString('base64')}`
    const salt = Buffer.from('twenty bytes of salt')
    const hashed = `|1|${salt.toString('base64')}|${createHmac('sha1', salt).update(name).digest('base64')}`
    const other = `ssh-ed25519 ${Buffer.from('another key').toString('base64')}`
    const cases = [
      [`# comment\nelse.example,${name} ${key} remark\n`, undefined],
      [`${hashed} ${key}\n`, undefined],
      [`${name} ${other}\n`, 'source-untrusted'],
      [`else.example ${key}\n`, 'source-untrusted'],
      [`${name} ${key}\n@revoked ${name} ${key}\n`, 'source-untrusted'],
    ] as const
    for (const [text, code] of cases) {
      const hostKey = join(await temporaryFolder(), 'known_hosts')
      await writeFile(hostKey, text)
      const source = createSftpSource({ ...place, hostKey }, PASSWORD)
      if (code === undefined) expect((await source.list()).files).toEqual([])
      else await expect(source.list()).rejects.toMatchObject({ code })
      await source.close()
    }
  })

  it('takes a key from a file in place of a password', async () => {
    const { server, place, put } = await sftp()
    const keyFile = join(await temporaryFolder(), 'id')
    await writeFile(keyFile, server.userKey)
    await put('a.csv', CONTENT)
    const source = createSftpSource({ ...place, keyFile }, undefined)
    expect((await source.list()).files.map(({ name }) => name)).toEqual(['a.csv'])
    await source.close()
  })

  it.each([['wrong'], [undefined]])('is asked once with the password %s', async (password) => {
    const { place, server } = await sftp()
    const source = createSftpSource(place, password)
    const failure = await source.list().catch((error: Error) => error)
    expect(failure).toMatchObject({ code: 'source-unreachable' })
    expect(String(failure)).not.toContain(password ?? PASSWORD)
    expect(server.connections).toBe(password === undefined ? 0 : 1)
  })

  it('is connected to again when it cuts a transfer, which goes on where it was', async () => {
    const { source, server, put } = await sftp()
    await put('a.csv', CONTENT)
    const [delivery] = (await source.list()).files
    if (delivery === undefined) throw new Error('it is listed')
    let cuts = 0
    let reread = 0
    server.onRead = async (_, offset, cut) => {
      if (cuts === 1 && offset < 64_000) reread += 1
      if (offset > 400_000 && cuts === 0) {
        cuts += 1
        cut()
      }
    }
    const file = await target()
    await source.fetch(delivery, file)
    expect((await readFile(file)).equals(CONTENT)).toBe(true)
    expect([cuts, reread, server.connections]).toEqual([1, 0, 2])
    await source.close()
  })

  it('changing a file while it is read gives no file', async () => {
    const { source, server, put } = await sftp()
    await put('a.csv', CONTENT)
    const [delivery] = (await source.list()).files
    if (delivery === undefined) throw new Error('it is listed')
    server.onRead = async (_, offset) => {
      server.onRead = undefined
      if (offset >= 0) await put('a.csv', Buffer.concat([CONTENT, CONTENT]))
    }
    await expect(source.fetch(delivery, await target())).rejects.toMatchObject({ code: 'export-changed' })
    await source.close()
  })

  /** Limits of answers: each source has its own, which names it. */
  let answerMs = 60_000

  /** A server that takes every connection, and does not answer the first of the requests that are named, whose limit then ends; with a file there. */
  const silentOn = async (...requests: readonly string[]) => {
    const { server, place, put, folder } = await sftp()
    await put('a.csv', CONTENT)
    const listing = createSftpSource(place, PASSWORD)
    const [delivery] = (await listing.list()).files
    if (delivery === undefined) throw new Error('it is listed')
    // The next question finds a server that has nothing under way.
    await listing.close()
    answerMs += 1
    const endLimit = holdLimit(answerMs)
    const source = createSftpSource(place, PASSWORD, answerMs)
    onTestFinished(() => source.close())
    const left = [...requests]
    server.isSilent = (request) => {
      const at = left.indexOf(request)
      if (at < 0) return false
      left.splice(at, 1)
      endLimit()
      return true
    }
    const before = server.connections
    return { source, delivery, server, folder, endLimit, connections: () => server.connections - before }
  }

  it('that keeps the connection and does not answer is connected to again, whatever it was asked', async () => {
    const list = ['SFTP', 'OPENDIR', 'READDIR'].map(async (request) => {
      const { source, connections } = await silentOn(request)
      expect((await source.list()).files.map(({ name }) => name)).toEqual(['a.csv'])
      return connections()
    })
    const fetch = ['STAT', 'OPEN', 'READ'].map(async (request) => {
      const { source, delivery, connections } = await silentOn(request)
      const file = await target()
      await source.fetch(delivery, file)
      expect((await readFile(file)).equals(CONTENT)).toBe(true)
      return connections()
    })
    const { source, delivery, connections } = await silentOn('RENAME')
    expect(await source.archive(delivery)).toMatch(/done\/a\.csv$/)
    expect([...(await Promise.all([...list, ...fetch])), connections()]).toEqual([2, 2, 2, 2, 2, 2, 2])
  })

  it('that shows files to people in a form of its own is asked what they are', async () => {
    const { source, server, folder } = await sftp()
    for (const name of ['a.csv', 'b.csv']) await writeFile(join(folder, name), CONTENT)
    await mkdir(join(folder, 'c.csv'))
    await symlink(join(folder, 'a.csv'), join(folder, 'd.csv'))
    for (const longname of [
      (name: string) => `${name};900000;2026-03-02`,
      () => '',
      () => '10-03-26 01:00AM',
    ]) {
      server.longname = longname
      const { files, refused } = await source.list()
      expect(files.map(({ name, bytes }) => [name, bytes]).sort()).toEqual([
        ['a.csv', CONTENT.length],
        ['b.csv', CONTENT.length],
      ])
      expect(refused.map(({ shown }) => shown)).toEqual(['d.csv'])
    }
  })

  it('that has not answered when it is closed is not connected to again', async () => {
    const { server, place } = await sftp()
    const source = createSftpSource(place, PASSWORD)
    server.isSilent = (request) => {
      if (request === 'READDIR') void source.close()
      return request === 'READDIR'
    }
    await expect(source.list()).rejects.toMatchObject({ code: 'source-unreachable' })
    expect(server.connections).toBe(1)
  })

  it('that never says that a file is closed ends nothing by that', async () => {
    const { source, delivery, server, connections } = await silentOn('CLOSE')
    const file = await target()
    await source.fetch(delivery, file)
    expect((await readFile(file)).equals(CONTENT)).toBe(true)
    // What is open then fails in ssh2, where nobody waits for it: an exception that nobody catches fails the test.
    await source.close()
    await server.stop()
    expect(connections()).toBe(1)
  })

  it('that moves a file to the archive and does not say so is asked where it is', async () => {
    const { source, delivery, server, folder, endLimit } = await silentOn()
    const moves = [
      ['a.csv', '.wb-a.csv'],
      ['.wb-a.csv', 'done/a.csv'],
    ] as const
    let moved = 0
    server.isSilent = (request) => {
      const move = request === 'RENAME' ? moves[moved] : undefined
      if (move === undefined) return false
      renameSync(join(folder, move[0]), join(folder, move[1]))
      moved += 1
      endLimit()
      return true
    }
    expect(await source.archive(delivery)).toMatch(/done\/a\.csv$/)
    expect([moved, await readdir(join(folder, 'done'))]).toEqual([2, ['a.csv']])
  })

  it('that is not there, or answers nothing that it is asked, is unreachable; the error says what was asked', async () => {
    const four = (request: string): string[] => [request, request, request, request]
    const silent = await Promise.all([silentOn(...four('STAT')), silentOn(...four('READ'))])
    const { place, server } = await sftp()
    await server.stop()
    const gone = createSftpSource(place, PASSWORD).list()
    const fetched = silent.map(async ({ source, delivery }) => source.fetch(delivery, await target()))
    const failures = await Promise.all(
      [gone, ...fetched].map((asked) =>
        asked.then(
          () => undefined,
          (error: unknown) => error,
        ),
      ),
    )
    const said = [
      /ECONNREFUSED/,
      /: looking at inbox\/a\.csv was not answered within 60\.\d+ s$/,
      /: opening and reading inbox\/a\.csv was not answered within 60\.\d+ s$/,
    ]
    expect(failures).toEqual(
      said.map((words) =>
        expect.objectContaining({ code: 'source-unreachable', message: expect.stringMatching(words) }),
      ),
    )
    expect(silent.map(({ connections }) => connections())).toEqual([4, 4])
  })
})

describe('S3-compatible storage', () => {
  const open = async (): Promise<Awaited<ReturnType<typeof s3>> & { server: S3Server }> => {
    const opened = await s3()
    onTestFinished(opened.cleanup)
    return opened
  }
  const onlyDelivery = async ({ source }: Pick<OpenedSource, 'source'>) => {
    const [delivery] = (await source.list()).files
    if (delivery === undefined) throw new Error('it is listed')
    return delivery
  }

  it('breaking off is read on from there', async () => {
    const opened = await open()
    await opened.put('a.csv', CONTENT)
    const froms: number[] = []
    opened.server.onGet = (_, from) => {
      froms.push(from)
      return froms.length === 1 ? { breakAfter: 300_000 } : undefined
    }
    const file = join(await temporaryFolder(), 'file')
    await opened.source.fetch(await onlyDelivery(opened), file)
    expect((await readFile(file)).equals(CONTENT)).toBe(true)
    expect(froms).toHaveLength(2)
    expect(froms[1]).toBeGreaterThan(100_000)
  })

  it('falling silent is read on from there', async () => {
    const opened = await open()
    const { endpoint } = opened.server
    await opened.put('a.csv', CONTENT)
    const froms: number[] = []
    opened.server.onGet = (_, from) => {
      froms.push(from)
      return froms.length === 1 ? { breakAfter: 300_000, goesSilent: true } : undefined
    }
    const place = { endpoint, region: 'test-1', bucket: BUCKET, prefix: 'in/acme' }
    const source = await createS3Source(place, 600)
    onTestFinished(() => source.close())
    const file = join(await temporaryFolder(), 'file')
    await source.fetch(await onlyDelivery({ source }), file)
    expect((await readFile(file)).equals(CONTENT)).toBe(true)
    // On a busy machine the rest may fall silent, too.
    expect(froms[1]).toBeGreaterThan(0)
  })

  it('that says nothing is asked four times in all, whatever it is asked', async () => {
    const opened = await open()
    const { server } = opened
    const { endpoint } = server
    const source = await createS3Source(
      { endpoint, region: 'test-1', bucket: BUCKET, prefix: 'in/acme' },
      300,
    )
    onTestFinished(() => source.close())
    await opened.put('a.csv', CONTENT)
    const delivery = await onlyDelivery(opened)
    const file = await target()
    await writeFile(file, CONTENT)
    server.requests.splice(0)
    server.isSilent = () => true
    // The waits between two tries pass quickly.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const passing = setInterval(() => void vi.advanceTimersByTimeAsync(50), 5)
    onTestFinished(() => {
      clearInterval(passing)
      vi.useRealTimers()
    })
    const ended = await Promise.allSettled([
      source.list(),
      source.fetch(delivery, await target()),
      source.archive(delivery),
      source.put('b.csv', file),
    ])
    expect(ended.map((one) => one.status === 'rejected' && one.reason.message)).toEqual([
      expect.stringMatching(/gave an unexpected answer \(listing\): .*300 ms/),
      expect.stringMatching(/gave an unexpected answer \(reading a\.csv\): .*300 ms/),
      expect.stringMatching(/gave an unexpected answer \(archiving a\.csv\): .*300 ms/),
      expect.stringMatching(/b\.csv was not delivered: .*300 ms/),
    ])
    const times = Object.values(Object.groupBy(server.requests, (one) => one)).map((same) => same?.length)
    expect(times).toEqual([4, 4, 4, 4])
  })

  it('changing an object while it is read gives no file', async () => {
    const opened = await open()
    await opened.put('a.csv', CONTENT)
    const delivery = await onlyDelivery(opened)
    opened.server.onGet = (_, from) => {
      if (from > 0) opened.server.put('in/acme/a.csv', Buffer.alloc(900_000, 'x'))
      return from === 0 ? { breakAfter: 300_000 } : undefined
    }
    const folder = await temporaryFolder()
    await expect(opened.source.fetch(delivery, join(folder, 'file'))).rejects.toMatchObject({
      code: 'export-changed',
    })
    expect(await readdir(folder)).not.toContain('file')
  })

  it('refusing is told once, without the secret', async () => {
    const opened = await open()
    const source = await createS3Source({
      endpoint: opened.server.endpoint,
      region: 'test-1',
      bucket: 'other',
      prefix: '',
    })
    const failure = await source.list().catch((error: Error) => error)
    expect(failure).toMatchObject({ code: 'source-unreachable' })
    expect(String(failure)).not.toContain('secret-of-the-tests')
    expect(opened.server.requests).toHaveLength(1)
  })
})

it('a listing of S3 whose continuation token comes again ends with that', async () => {
  const { server, source } = await s3()
  onTestFinished(() => source.close())
  server.put('in/acme/a.csv', Buffer.from('x'))
  server.nextToken = (page) => `page ${page % 3}`
  await expect(source.list()).rejects.toMatchObject({
    code: 'source-unreachable',
    message: expect.stringContaining('a continuation token came twice'),
  })
  expect(server.requests.filter((one) => one === 'GET ')).toHaveLength(4)
})

it('a listing has so many files and pages, and no more', () => {
  const page = [{ name: 'a.csv', bytes: 1, modifiedAt: 0, version: '1' }]
  const files = collectListed('in/acme', 3)
  for (let at = 0; at < 3; at++) files.add(page)
  expect(files.files).toHaveLength(3)
  expect(() => files.add(page)).toThrow(
    expect.objectContaining({
      code: 'export-unreadable',
      message: 'The listing of in/acme has more than 3 files.',
      remedy: expect.stringContaining('archive'),
    }),
  )
  const pages = collectListed('in/acme')
  expect(() => {
    for (;;) pages.add([])
  }).toThrow(expect.objectContaining({ message: 'The listing of in/acme has more than 50,000 pages.' }))
})
