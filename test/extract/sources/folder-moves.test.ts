/** Files of a folder on their way to the archive: replaced meanwhile, left aside, and on a disk of its own. */
import { linkSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createFolderSource } from '../../../src/extract/sources/folder.ts'
import { needing } from '../../needed.ts'
import { temporaryFolder } from '../../temporary-folder.ts'

const FOUND_AT = new Date('2026-03-01T04:00:00.123Z')

async function folderWith(...names: readonly string[]) {
  const folder = await temporaryFolder()
  for (const name of names) {
    await writeFile(join(folder, name), `of ${name}`)
    await utimes(join(folder, name), FOUND_AT, FOUND_AT)
  }
  return folder
}

const namesIn = async (folder: string): Promise<string[]> => (await readdir(folder)).sort()

async function listed(source: ReturnType<typeof createFolderSource>) {
  return (await source.list()).files[0] ?? expect.fail('a file is listed')
}

test('a file that is another one by now is neither read nor moved', async () => {
  const folder = await folderWith('a.csv')
  const source = createFolderSource({ folder, archive: join(folder, 'done') })
  const found = await listed(source)
  await writeFile(join(folder, 'a.csv'), 'another text')
  const failure = { code: 'export-changed' }
  await expect(source.fetch(found, '')).rejects.toMatchObject(failure)
  await expect(source.archive(found)).rejects.toMatchObject(failure)
  expect(await readFile(join(folder, 'a.csv'), 'utf8')).toBe('another text')
})

test('a file that a killed process left aside is listed first, under its name, and archived beside the newer one', async () => {
  const folder = await folderWith('.wb-b.csv', 'a.csv', 'b.csv')
  const source = createFolderSource({ folder, archive: join(folder, 'done') })
  const { files } = await source.list()
  expect(files.map(({ name, isAside = false }) => [name, isAside])).toEqual([
    ['b.csv', true],
    ['a.csv', false],
    ['b.csv', false],
  ])
  const [aside, , newer] = files
  if (aside === undefined || newer === undefined) throw new Error('three are listed')
  expect(await source.fetch(aside, '')).toBe(join(folder, '.wb-b.csv'))
  // The name is taken as long as the older file waits under it.
  await expect(source.archive(newer)).rejects.toThrow('must be archived first')
  expect(await namesIn(folder)).toEqual(['.wb-b.csv', 'a.csv', 'b.csv', 'done'])
  expect(await source.archive(aside)).toBe(join(folder, 'done/b.csv'))
  expect(await source.archive(newer)).toBe(join(folder, 'done/b.csv.1'))
  expect(await readFile(join(folder, 'done/b.csv'), 'utf8')).toBe('of .wb-b.csv')
})

test('a file that cannot be moved has its name again; if a newer one has that, it waits aside', async () => {
  const folder = await folderWith('a.csv')
  const archive = join(folder, 'done')
  // A folder for each name that the archive could give.
  await mkdir(join(archive, 'a.csv'), { recursive: true })
  const source = createFolderSource({ folder, archive })
  const found = await listed(source)
  await rename(archive, `${archive}-moved`)
  await writeFile(archive, 'no folder')
  await expect(source.archive(found)).rejects.toThrow()
  expect(await namesIn(folder)).toEqual(['a.csv', 'done', 'done-moved'])
})

/** A folder on another file system than the temporary ones, if the machine has one. */
function elsewhere(): string | undefined {
  const here = statSync(tmpdir()).dev
  return ['/dev/shm', '/tmp', import.meta.dirname].find((folder) => {
    try {
      return statSync(folder).dev !== here
    } catch {
      return false
    }
  })
}

const OTHER_DISK = elsewhere()

async function archiveElsewhere(): Promise<string> {
  const archive = mkdtempSync(join(OTHER_DISK ?? '', 'waybill-test-'))
  onTestFinished(() => rmSync(archive, { recursive: true }))
  return archive
}

const NEEDS_OTHER_DISK = needing(OTHER_DISK !== undefined, 'a second file system')

test('on another disk it is copied with its time, and then gone', NEEDS_OTHER_DISK, async () => {
  const folder = await folderWith('a.csv')
  const archive = await archiveElsewhere()
  const source = createFolderSource({ folder, archive })
  const timeOf = async (path: string) => (await stat(path, { bigint: true })).mtimeMs
  const time = await timeOf(join(folder, 'a.csv'))
  expect(await source.archive(await listed(source))).toBe(join(archive, 'a.csv'))
  expect(await readFile(join(archive, 'a.csv'), 'utf8')).toBe('of a.csv')
  expect(await timeOf(join(archive, 'a.csv'))).toBe(time)
  expect([await namesIn(folder), await namesIn(archive)]).toEqual([[], ['a.csv']])
})

test(
  'on another disk a copy that a killed process finished is the archived file',
  NEEDS_OTHER_DISK,
  async () => {
    const folder = await folderWith('.wb-a.csv', '.wb-b.csv')
    const archive = await archiveElsewhere()
    for (const [name, text] of [
      ['a.csv', 'of .wb-a.csv'],
      ['b.csv', 'of .wb-x.csv'],
    ] as const) {
      await writeFile(join(archive, name), text)
      await utimes(join(archive, name), FOUND_AT, FOUND_AT)
    }
    const source = createFolderSource({ folder, archive })
    expect(await source.archive(await listed(source))).toBe(join(archive, 'a.csv'))
    expect(await source.archive(await listed(source))).toBe(join(archive, 'b.csv.1'))
    expect([await namesIn(folder), await namesIn(archive)]).toEqual([[], ['a.csv', 'b.csv', 'b.csv.1']])
  },
)

test(
  'on another disk a file that is written to while it is copied stays, under its name',
  NEEDS_OTHER_DISK,
  async () => {
    const folder = await temporaryFolder()
    const path = join(folder, 'a.csv')
    await writeFile(path, Buffer.alloc(32 * 1024 ** 2))
    const archive = await archiveElsewhere()
    const source = createFolderSource({ folder, archive })
    const found = await listed(source)
    const archived = source.archive(found)
    const writing = (async () => {
      while ((await readdir(archive)).length === 0) await stat(folder)
      // The time of the inode's change is part of the version.
      linkSync(join(folder, '.wb-a.csv'), join(folder, 'other'))
    })()
    await expect(archived).rejects.toMatchObject({ code: 'export-changed' })
    await writing
    await rm(join(folder, 'other'))
    expect([await namesIn(folder), await namesIn(archive)]).toEqual([['a.csv'], []])
  },
)
