import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openAppended as openAs } from '../../src/job/run-files.ts'

let folder: string
let path: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'waybill-files-'))
  path = join(folder, 'run', 'rejects.csv')
})
afterEach(() => rm(folder, { recursive: true }))
const openAppended = (file: string, settledLength: number) =>
  openAs(folder, file, settledLength, async () => {})
const text = () => readFile(path, 'utf8')

it('makes nothing before there is something to write, then a file that its owner alone may read', async () => {
  const file = openAppended(path, 0)
  expect(await file.append(new Uint8Array())).toBe(0)
  await expect(stat(path)).rejects.toThrow('ENOENT')
  expect(await file.append(Buffer.from('ab'))).toBe(2)
  expect(await file.append(Buffer.from('cde'))).toBe(5)
  expect(file.length).toBe(5)
  await file.close()
  expect(await text()).toBe('abcde')
  expect((await stat(path)).mode & 0o777).toBe(0o600)
  expect((await stat(join(folder, 'run'))).mode & 0o777).toBe(0o700)
})

it.each([
  [3, 'abcX'],
  [0, 'X'],
])('goes on at the settled length %d, and cuts off what lies beyond', async (settled, expected) => {
  const before = openAppended(path, 0)
  await before.append(Buffer.from('abcTORN'))
  await before.close()
  const after = openAppended(path, settled)
  expect(await after.append(Buffer.from('X'))).toBe(settled + 1)
  await after.close()
  expect(await text()).toBe(expected)
})

it('cuts off what lies beyond also where nothing is added', async () => {
  const before = openAppended(path, 0)
  await before.append(Buffer.from('abcTORN'))
  await before.close()
  await openAppended(path, 3).close()
  expect(await text()).toBe('abc')
})

it('leaves a settled file as it is, and minds none that is not there', async () => {
  await openAppended(path, 0).close()
  await expect(stat(path)).rejects.toThrow('ENOENT')
  const whole = join(folder, 'whole')
  await writeFile(whole, 'abc')
  await openAppended(whole, 3).close()
  expect(await readFile(whole, 'utf8')).toBe('abc')
})

it('begins anew where the file was lost', async () => {
  const file = openAppended(path, 5)
  expect(file.length).toBe(0)
  expect(await file.append(Buffer.from('ab'))).toBe(2)
  await file.close()
  expect(await text()).toBe('ab')
})

it.each(['beforehand', 'never'])(
  'is left alone by a process whose run another has taken over; it has written %s',
  async (when) => {
    let lost = false
    const file = openAs(folder, path, 0, async () => {
      if (lost) throw new Error('taken over')
    })
    if (when === 'beforehand') await file.append(Buffer.from('ab'))
    lost = true
    const theirs = openAppended(path, file.length)
    await theirs.append(Buffer.from('of the other one'))
    await expect(file.append(Buffer.from('late'))).rejects.toThrow('taken over')
    await file.close()
    await theirs.close()
    expect(await text()).toBe(`${when === 'never' ? '' : 'ab'}of the other one`)
  },
)
