import { existsSync } from 'node:fs'
import { type FileHandle, open, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createFolderSource } from '../../../src/extract/sources/folder.ts'
import {
  advancing,
  createSpool,
  receiveFile,
  receiveWhole,
} from '../../../src/extract/sources/receive-file.ts'
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

test('a file is made though a killed process has left a part of it', async () => {
  const file = join(await temporaryFolder(), 'a.csv')
  await writeFile(`${file}.part`, 'of another version')
  await receiveWhole(file, (out) => out.writeFile('whole'))
  expect([await readFile(file, 'utf8'), await readdir(dirname(file))]).toEqual(['whole', ['a.csv']])
})

test('the limit of an answer is that of a step, not of all of them', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const steps: (() => void)[] = []
  const { promise, resolve } = Promise.withResolvers<string>()
  const slow = advancing('listing in', 1_000, (step) => {
    steps.push(step)
    return promise
  })
  for (let passed = 0; passed < 5; passed++) {
    vi.advanceTimersByTime(999)
    for (const step of steps) step()
  }
  resolve('listed')
  expect(await slow).toBe('listed')
  const late = advancing('listing in', 1_000, () => new Promise<never>(() => {}))
  const refused = expect(late).rejects.toThrow('listing in was not answered within 1 s')
  vi.advanceTimersByTime(1_000)
  await refused
})

test('files from an address are forgotten in every version, and those of another address stay', async () => {
  const folder = await temporaryFolder()
  const spool = createSpool(join(folder, 'spool'))
  const source = {
    ...createFolderSource({ folder }),
    fetch: (_: unknown, file: string) => receiveWhole(file, (out) => out.writeFile('x')),
  }
  const delivery = (name: string, version: string) => ({ name, bytes: 1, modifiedAt: 0, version })
  for (const [name, version] of [
    ['a.csv', '1'],
    ['a.csv', '2'],
    ['b.csv', '1'],
  ] as const)
    await spool.fetch(source, delivery(name, version))
  const count = async (name: string) => (await spool.fetched(join(folder, name), name)).length
  expect([await count('a.csv'), await count('b.csv')]).toEqual([2, 1])
  await spool.forget(join(folder, 'a.csv'))
  expect([await count('a.csv'), await count('b.csv')]).toEqual([0, 1])
})
