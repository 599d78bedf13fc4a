/** Files of a collection over two processes of its run: what is settled is not lost, and it is whole when its manifest is there. */
import { appendFile, type FileHandle, mkdir, open, readdir, readFile, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import type { RemotePlace } from '../../src/extract/sources/source.ts'
import {
  type Collection,
  type Destination,
  forgetCollection,
  openCollection,
} from '../../src/run/collection-files.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const HEADS = new Map([
  ['biometrics.csv', 'code,value\n'],
  ['conditions.csv', 'code,status\n'],
  ['gone.ndjson', ''],
])
const noted = (text: string, lines: number) => new Map([['biometrics.csv', { text, lines }]])

const openIn = (folder: string, before?: Collection, destination?: Destination) =>
  openCollection(folder, 'run-1', HEADS, before, async () => {}, destination)

const Manifest = z.object({
  what: z.string(),
  files: z.array(z.object({ name: z.string(), lines: z.int(), bytes: z.int(), sha256: z.string() })),
})
const manifestIn = async (folder: string) =>
  Manifest.parse(JSON.parse(await readFile(join(folder, 'run-1/manifest.json'), 'utf8')))

test('lines of all chunks and processes add up, and a file in which nothing stands is there', async () => {
  const folder = await temporaryFolder()
  const first = openIn(folder)
  await first.append(noted('a,1\nb,2\n', 2))
  const settled = await first.append(noted('c,3\n', 1))
  // Written, and not settled.
  await first.append(noted('d,4\n', 1))
  const second = openIn(folder, settled)
  await second.append(noted('e,5\n', 1))
  expect(await second.publish({ what: 'it' })).toMatchObject({ folder: join(folder, 'run-1'), isWhole: true })
  const text = await readFile(join(folder, 'run-1/biometrics.csv'), 'utf8')
  expect(text).toBe('code,value\na,1\nb,2\nc,3\ne,5\n')
  expect(await readFile(join(folder, 'run-1/conditions.csv'), 'utf8')).toBe('code,status\n')
  expect(await manifestIn(folder)).toMatchObject({
    what: 'it',
    files: [
      { name: 'biometrics.csv', lines: 4, bytes: text.length },
      { name: 'conditions.csv', lines: 0, bytes: 12 },
      { name: 'gone.ndjson', lines: 0, bytes: 0 },
    ],
  })
})

test.each([
  ['is as long as it was settled', 0, undefined],
  ['was cut', -1, 'collection-lost'],
  ['has more behind that', 1, undefined],
])('a file that %s', async (_what, more, code) => {
  const folder = await temporaryFolder()
  const settled = await openIn(folder).append(noted('a,1\n', 1))
  const path = join(folder, '.run-1.part/biometrics.csv')
  const length = settled.files['biometrics.csv']?.bytes ?? 0
  if (more > 0) await appendFile(path, 'x'.repeat(more))
  else await truncate(path, length + more)
  const appended = openIn(folder, settled).append(noted('b,2\n', 1))
  if (code !== undefined) return expect(appended).rejects.toMatchObject({ code })
  await appended
  expect(await readFile(path, 'utf8')).toBe('code,value\na,1\nb,2\n')
})

test('what is published already is not written anew', async () => {
  const folder = await temporaryFolder()
  const first = openIn(folder)
  const settled = await first.append(noted('a,1\n', 1))
  await first.publish({ what: 'first' })
  await openIn(folder, settled).publish({ what: 'second' })
  expect((await manifestIn(folder)).what).toBe('first')
})

/** Names of files as they are put there. @param refused the one that is not taken */
function elsewhere(refused?: string) {
  const put: string[] = []
  const never = async (): Promise<never> => expect.fail('a collection is put there, and nothing else')
  const place: RemotePlace = {
    shown: 'sftp://there/in/',
    open: async () => ({
      ...{ address: (name) => `sftp://there/in/${name}`, list: never, fetch: never, archive: never },
      async put(name) {
        if (name === refused) throw new Error('refused')
        put.push(name)
      },
      close: async () => {},
    }),
  }
  const signal = new AbortController().signal
  return { put, destination: { place, secrets: {}, signal, assertHeld: async () => {} } }
}

test('elsewhere the manifest comes last, once all others are there', async () => {
  const folder = await temporaryFolder()
  const { put, destination } = elsewhere()
  const files = openIn(folder, undefined, destination)
  await files.append(noted('a,1\n', 1))
  expect(await files.publish({ what: 'it' })).toMatchObject({
    folder: 'sftp://there/in/run-1',
    aside: folder,
  })
  expect(put.toSorted()).toEqual([...HEADS.keys(), 'manifest.json'].map((name) => `run-1/${name}`).toSorted())
  expect(put.at(-1)).toBe('run-1/manifest.json')
})

test('elsewhere there is no manifest where a file was not taken, and a later process delivers all', async () => {
  const folder = await temporaryFolder()
  const { put, destination } = elsewhere('run-1/conditions.csv')
  const files = openIn(folder, undefined, destination)
  const settled = await files.append(noted('a,1\n', 1))
  await expect(files.publish({ what: 'it' })).rejects.toThrow('refused')
  expect(put).not.toContain('run-1/manifest.json')
  const again = elsewhere()
  await openIn(folder, settled, again.destination).publish({ what: 'it' })
  expect(again.put).toHaveLength(4)
  const delivered = elsewhere()
  await openIn(folder, { ...settled, isWhole: true }, delivered.destination).publish({ what: 'it' })
  expect(delivered.put).toEqual([])
})

test('a manifest is on the disk before its folder has its name, and the name before it is said', async () => {
  const folder = await temporaryFolder()
  const done: string[] = []
  const any = await open(folder)
  const handles: FileHandle = Object.getPrototypeOf(any)
  await any.close()
  const real = handles.sync
  const spy = vi.spyOn(handles, 'sync').mockImplementation(async function (this: FileHandle) {
    await Reflect.apply(real, this, [])
    const isThere = await readFile(join(folder, 'run-1/manifest.json')).then(
      () => true,
      () => false,
    )
    done.push(isThere ? 'under its name' : 'aside')
  })
  onTestFinished(() => spy.mockRestore())
  const files = openIn(folder)
  await files.append(noted('a,1\n', 1))
  done.length = 0
  await files.publish({ what: 'it' })
  expect(done.slice(-2)).toEqual(['aside', 'under its name'])
})

test('of a run that will not be finished, the files set aside are forgotten, and those of others stay', async () => {
  const folder = await temporaryFolder()
  const [own, other] = [openIn(folder), openCollection(folder, 'run-2', HEADS, undefined, async () => {})]
  const settled = await own.append(noted('a,1\n', 1))
  await other.append(noted('b,2\n', 1))
  forgetCollection(settled, 'run-1')
  expect(await readdir(folder)).toEqual(['.run-2.part'])
  // Of a collection for a server, all lies aside.
  const aside = join(folder, 'aside')
  for (const name of ['.run-1.part', 'run-1', '.run-2.part'])
    await mkdir(join(aside, name), { recursive: true })
  forgetCollection({ ...settled, aside }, 'run-1')
  expect(await readdir(aside)).toEqual(['.run-2.part'])
})
