/**
 * Deliveries that come while an earlier one of the same name is moved to the archive: renamed over it, appended to it, or a link in its place.
 * What was not read is never removed, and a killed process leaves nothing that is lost or there twice.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  closeSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createFolderSource } from '../../src/extract/sources/folder.ts'
import { createSftpSource } from '../../src/extract/sources/sftp.ts'
import type { Delivery, ExportSource } from '../../src/extract/sources/source.ts'
import { hostKeyFingerprint, PASSWORD, startSftpServer, USER } from '../extract/sources/sftp-server.ts'
import { mountDisk, NEEDS_MOUNTS } from '../faults/mounted-disk.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const READ = 'id,a1c\nann,5.1\n'
const UNREAD = 'id,a1c\nben,5.2\n'
/** Takes long enough to be copied that something can come meanwhile. */
const LARGE = Buffer.alloc(64 * 1024 ** 2, 'ann,5.1\n')

async function inbox(): Promise<{ folder: string; file: string; archive: string }> {
  const root = await temporaryFolder()
  const folder = join(root, 'inbox')
  mkdirSync(folder)
  return { folder, file: join(folder, 'a.csv'), archive: join(root, 'done') }
}

/** An archive on a file system of its own. */
function elsewhere(): string {
  const disk = mountDisk('400m') ?? expect.fail('no disk')
  return join(disk.folder, 'done')
}

const listed = async (source: ExportSource): Promise<Delivery> =>
  (await source.list()).files.find(({ name }) => name === 'a.csv') ?? expect.fail('a.csv is not listed')

/** The content of every file below, by name; what is there as a link is not. */
const contents = (folder: string): Record<string, string> =>
  Object.fromEntries(
    (existsSync(folder) ? readdirSync(folder, { withFileTypes: true }) : [])
      .filter((one) => one.isFile())
      .map(({ name }) => [name, readFileSync(join(folder, name), 'utf8')]),
  )

/** Lets what is under way on other threads end, and nothing else of this one happen. */
const standStill = (): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 30)

/** Until something begins to appear in the folder. */
async function begun(folder: string): Promise<void> {
  while (!existsSync(folder) || readdirSync(folder).length === 0)
    await new Promise((resolve) => setImmediate(resolve))
}

describe('a folder, between the last look at a file and its being moved,', () => {
  it.each([
    ['renamed over it', (file: string) => renameSync(`${file}.tmp`, file)],
    [
      'put in its place as a link',
      (file: string) => {
        rmSync(file)
        symlinkSync(`${file}.tmp`, file)
      },
    ],
    ['appended', (file: string) => appendFileSync(file, UNREAD)],
  ])('keeps a delivery that is %s', async (_, deliver) => {
    const { folder, file, archive } = await inbox()
    const source = createFolderSource({ folder, archive })
    writeFileSync(file, READ)
    const read = await listed(source)
    writeFileSync(`${file}.tmp`, UNREAD)
    const moving = source.archive(read)
    standStill()
    deliver(file)
    await expect(moving).rejects.toMatchObject({ code: 'export-changed' })
    expect(readFileSync(file, 'utf8')).toContain(UNREAD)
    expect(contents(archive)).toEqual({})
    expect(readdirSync(folder).filter((name) => name.startsWith('.'))).toEqual([])
  })
})

describe('a folder whose archive lies on another file system', NEEDS_MOUNTS, () => {
  it('keeps a delivery that is renamed over one that is being copied', async () => {
    const { folder, file } = await inbox()
    const archive = elsewhere()
    const source = createFolderSource({ folder, archive })
    writeFileSync(file, LARGE)
    const read = await listed(source)
    writeFileSync(`${file}.tmp`, UNREAD)
    const moving = source.archive(read)
    await begun(archive)
    renameSync(`${file}.tmp`, file)
    expect(await moving).toBe(join(archive, 'a.csv'))
    expect(contents(folder)).toEqual({ 'a.csv': UNREAD })
    expect(readdirSync(archive)).toEqual(['a.csv'])
    expect(readFileSync(join(archive, 'a.csv')).equals(LARGE)).toBe(true)
  })

  it('keeps what is appended to one that is being copied, and a delivery that came beside', async () => {
    const { folder, file } = await inbox()
    const archive = elsewhere()
    const source = createFolderSource({ folder, archive })
    writeFileSync(file, LARGE)
    const writer = openSync(file, 'a')
    const read = await listed(source)
    const moving = source.archive(read)
    await begun(archive)
    writeSync(writer, UNREAD)
    closeSync(writer)
    writeFileSync(`${file}.tmp`, READ)
    renameSync(`${file}.tmp`, file)
    await expect(moving).rejects.toMatchObject({ code: 'export-changed' })
    expect(readdirSync(archive)).toEqual([])
    // Both are there for the next run, the older one first.
    const next = (await source.list()).files
    const texts = await Promise.all(
      next.map(async (one) => readFileSync(await source.fetch(one, ''), 'utf8')),
    )
    expect(next.map(({ name }) => name)).toEqual(['a.csv', 'a.csv'])
    expect(texts[0]?.endsWith(UNREAD)).toBe(true)
    expect(texts[1]).toBe(READ)
    for (const one of next) await source.archive(one)
    expect(readdirSync(archive).sort()).toEqual(['a.csv', 'a.csv.1'])
    expect(readFileSync(join(archive, 'a.csv.1'), 'utf8')).toBe(READ)
    expect(readdirSync(folder)).toEqual([])
  })

  it('archives what a killed process had in hand once, and what has come since', async () => {
    const { folder, file } = await inbox()
    const archive = elsewhere()
    writeFileSync(file, LARGE)
    const child = fork(join(import.meta.dirname, 'archive-in-a-process.ts'), [folder, archive])
    onTestFinished(() => void child.kill('SIGKILL'))
    await once(child, 'message')
    child.send('go')
    await begun(archive)
    child.kill('SIGKILL')
    await once(child, 'exit')
    writeFileSync(file, UNREAD)
    const source = createFolderSource({ folder, archive })
    for (const one of (await source.list()).files) {
      expect(one.name).toBe('a.csv')
      await source.archive(one)
    }
    const sizes = readdirSync(archive).map((name) => statSync(join(archive, name)).size)
    expect(sizes.sort((a, b) => a - b)).toEqual([UNREAD.length, LARGE.length])
    expect(readdirSync(folder)).toEqual([])
  })

  it('archives once what a process that was killed before it removed the file had copied', async () => {
    const { folder, file } = await inbox()
    const archive = elsewhere()
    const source = createFolderSource({ folder, archive })
    writeFileSync(file, READ)
    const saved = join(folder, '..', 'saved')
    renameSync(file, saved)
    // The same file, twice: as a kill leaves it.
    linkSync(saved, file)
    await source.archive(await listed(source))
    linkSync(saved, file)
    expect(await source.archive(await listed(source))).toBe(join(archive, 'a.csv'))
    expect(contents(archive)).toEqual({ 'a.csv': READ })
    // The same bytes of another time are another delivery.
    writeFileSync(file, READ)
    expect(await source.archive(await listed(source))).toBe(join(archive, 'a.csv.1'))
  })
})

describe('an SFTP server', () => {
  async function sftp() {
    const places = await inbox()
    const server = await startSftpServer(join(places.folder, '..'))
    onTestFinished(() => server.stop())
    const source = createSftpSource(
      {
        ...{ host: '127.0.0.1', port: server.port, user: USER, folder: 'inbox', archive: '../done' },
        hostKey: hostKeyFingerprint(server.hostKey),
      },
      PASSWORD,
    )
    onTestFinished(() => source.close())
    return { ...places, server, source }
  }

  it('keeps a delivery that is put in its place after the last look, and a newer one still', async () => {
    const { file, folder, archive, server, source } = await sftp()
    writeFileSync(file, READ)
    const read = await listed(source)
    server.onRename = () => {
      server.onRename = undefined
      writeFileSync(file, `${UNREAD}${READ}`)
    }
    await expect(source.archive(read)).rejects.toMatchObject({ code: 'export-changed' })
    expect(contents(archive)).toEqual({})
    expect(contents(folder)).toEqual({ 'a.csv': `${UNREAD}${READ}` })

    const second = await listed(source)
    let renames = 0
    server.onRename = () => {
      renames += 1
      if (renames === 1) writeFileSync(file, UNREAD.repeat(3))
      // What is to go back finds a newer one there.
      if (renames === 2) writeFileSync(file, UNREAD.repeat(4))
    }
    await expect(source.archive(second)).rejects.toMatchObject({ code: 'export-changed' })
    server.onRename = undefined
    const next = (await source.list()).files
    expect(next.map(({ name, bytes }) => [name, bytes])).toEqual([
      ['a.csv', UNREAD.length * 3],
      ['a.csv', UNREAD.length * 4],
    ])
    for (const one of next) {
      const copy = await source.fetch(one, join(await temporaryFolder(), 'copy'))
      expect(statSync(copy).size).toBe(one.bytes)
      await source.archive(one)
    }
    expect(contents(archive)).toEqual({ 'a.csv': UNREAD.repeat(3), 'a.csv.1': UNREAD.repeat(4) })
    expect(readdirSync(folder)).toEqual([])
  })
})
