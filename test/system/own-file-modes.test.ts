import { chmodSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  appendOwn,
  assertRoom,
  closeToOthers,
  createRoom,
  freeBytes,
  placeNew,
  wasTaken,
  writeOwn,
} from '../../src/system/own-files.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const MIB = 1024 * 1024

describe('a file that is written', () => {
  it('has the mode that is asked for, and is whole', async () => {
    const path = join(await temporaryFolder(), 'f')
    writeOwn(path, 'one')
    expect(statSync(path).mode & 0o777).toBe(0o600)
    writeOwn(path, 'two', { mode: 0o644 })
    expect([statSync(path).mode & 0o777, readFileSync(path, 'utf8')]).toEqual([0o644, 'two'])
    expect(() => writeOwn(path, 'three', { isNew: true })).toThrow('is there already')
    expect(() => writeOwn(join(path, 'g'), 'x')).toThrow('cannot be written')
    expect(readFileSync(path, 'utf8')).toBe('two')
  })

  it('takes a free name alone', async () => {
    const folder = await temporaryFolder()
    for (const name of ['a', 'b']) writeFileSync(join(folder, name), name)
    expect(() => placeNew(join(folder, 'a'), join(folder, 'b'))).toThrow(
      expect.objectContaining({ code: 'EEXIST' }),
    )
    expect(readFileSync(join(folder, 'b'), 'utf8')).toBe('b')
    placeNew(join(folder, 'a'), join(folder, 'c'))
    expect(readFileSync(join(folder, 'c'), 'utf8')).toBe('a')
    const taken = Object.assign(new Error('x'), { code: 'EEXIST' })
    expect([taken, new Error('y', { cause: taken }), new Error('z'), 'EEXIST'].map(wasTaken)).toEqual([
      ...[true, true, false, false],
    ])
  })

  it('is appended to, through no link of another file', async () => {
    const folder = await temporaryFolder()
    const path = join(folder, 'log')
    appendOwn(path, 'a\n')
    appendOwn(path, 'b\n')
    expect([readFileSync(path, 'utf8'), statSync(path).mode & 0o777]).toEqual(['a\nb\n', 0o600])
    symlinkSync(path, join(folder, 'link'))
    expect(() => appendOwn(join(folder, 'link'), 'c')).toThrow('is a link')
  })

  it('is closed to others where it was open to them', async () => {
    const path = join(await temporaryFolder(), 'f')
    writeFileSync(path, '')
    chmodSync(path, 0o664)
    expect(closeToOthers(path)).toBe(statSync(path).mode - 0o660 + 0o664)
    expect(statSync(path).mode & 0o777).toBe(0o660)
    expect(closeToOthers(path)).toBeUndefined()
    expect(closeToOthers(`${path}-none`)).toBeUndefined()
  })
})

describe('room on a disk', () => {
  it('is needed for a run, which also keeps a reserve for pruning', async () => {
    const home = await temporaryFolder()
    await expect(assertRoom(home, Number.MAX_SAFE_INTEGER)).rejects.toMatchObject({
      code: 'disk-full',
      message: expect.stringContaining('a run begins only with 9007.2 TB'),
      place: { file: home },
    })
    await assertRoom(home, 1)
    expect(statSync(join(home, 'reserve')).size).toBe(8 * MIB)
    const made = statSync(join(home, 'reserve')).mtimeMs
    await assertRoom(home, 1)
    expect(statSync(join(home, 'reserve')).mtimeMs).toBe(made)
  })

  it('is looked at with the first write, and again after each MiB', async () => {
    const folder = await temporaryFolder()
    mkdirSync(join(folder, 'sub'))
    const full = createRoom(folder, Number.MAX_SAFE_INTEGER)
    expect(() => full(1)).toThrow('1 bytes more of an export, and 9007.2 TB must stay free')
    full(1)
    full(MIB - 2)
    expect(() => full(1)).toThrow('disk')
    const free = createRoom(folder, 0)
    for (const bytes of [1, MIB, MIB]) free(bytes)
    expect(() => createRoom(folder, 0)(freeBytes(folder) * 2)).toThrow('disk')
  })
})
