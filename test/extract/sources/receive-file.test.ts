import { existsSync } from 'node:fs'
import { type FileHandle, open, readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { receiveFile } from '../../../src/extract/sources/receive-file.ts'
import { temporaryFolder } from '../../temporary-folder.ts'

/** The listing of a source. */
const LISTED = 'onetwo'

const receive = async (pieces: readonly string[]): Promise<string> => {
  const file = join(await temporaryFolder(), 'a.csv')
  const read = async function* () {
    for (const piece of pieces) yield Buffer.from(piece)
  }
  return receiveFile(file, LISTED.length, 'sftp://x/a.csv', read).then(
    (received) => readFile(received, 'utf8'),
    async ({ code }: { code: string }) => `${code}, ${(await readdir(dirname(file))).length} files`,
  )
}

test.each([
  [['onetwo'], LISTED],
  [['one', 'two'], LISTED],
  [['one', 'two', ''], LISTED],
  [['one'], 'export-changed, 0 files'],
  [[], 'export-changed, 0 files'],
  [['one', 'tw'], 'export-changed, 0 files'],
  [['onetwo!'], 'export-changed, 0 files'],
  [['one', 'two!'], 'export-changed, 0 files'],
  [['onetwo', '!'], 'export-changed, 0 files'],
  [['one', 'two', '!'], 'export-changed, 0 files'],
  [['onetwothree', 'four'], 'export-changed, 0 files'],
])('what is listed with 6 bytes and comes as %j', async (pieces, received) => {
  expect(await receive(pieces)).toBe(received)
})

test('is on the disk before it has its name', async () => {
  const folder = await temporaryFolder()
  const file = join(folder, 'a.csv')
  const any = await open(folder)
  const handles: FileHandle = Object.getPrototypeOf(any)
  await any.close()
  const synced: boolean[] = []
  const spy = vi.spyOn(handles, 'sync').mockImplementation(async () => void synced.push(existsSync(file)))
  onTestFinished(() => spy.mockRestore())
  const read = async function* () {
    yield Buffer.from(LISTED)
  }
  await receiveFile(file, LISTED.length, 'sftp://x/a.csv', read)
  expect(synced).toEqual([false])
})

test('where there is no room for what is listed, nothing is read', async () => {
  const file = join(await temporaryFolder(), 'a.csv')
  const asked: number[] = []
  const room = (bytes: number): never => {
    asked.push(bytes)
    throw new Error('full')
  }
  const read = (): never => expect.fail('it was read')
  await expect(receiveFile(file, 6, 'sftp://x/a.csv', read, { room })).rejects.toThrow('full')
  expect([asked, await readdir(dirname(file))]).toEqual([[6], []])
})
