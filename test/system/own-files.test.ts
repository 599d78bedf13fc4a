/** Files of our own: what others call things never decides where they lie. */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, test } from 'vitest'
import {
  assertWithin,
  cutToBytes,
  makeFolder,
  openOwn,
  ownFileName,
  writeOwn,
} from '../../src/system/own-files.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'waybill-own-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

const name = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme', minLength: 100, maxLength: 400 }),
  fc.constantFrom('', '.', '..', '../x', 'a/../../b', 'a\0b', 'a\nb', 'a\u202eb', '\ud800', 'ü'.repeat(300)),
)

describe('a name of our own', () => {
  it('is one file in one folder, whatever it was made from, and is short enough for any file system', () => {
    fc.assert(
      fc.property(name, (given) => {
        const made = ownFileName(given, '.rejects.csv')
        expect(basename(made)).toBe(made)
        expect(Buffer.byteLength(made)).toBeLessThanOrEqual(200)
        expect(made).toMatch(/^[^\p{C}/\\]+\.rejects\.csv$/u)
        expect(['.', '..']).not.toContain(ownFileName(given))
        expect(Buffer.from(made).toString()).toBe(made)
      }),
    )
  })

  it('is that of no other, also where what is left of both is the same', () => {
    fc.assert(
      fc.property(name, name, (one, other) => {
        fc.pre(one !== other)
        expect(ownFileName(one)).not.toBe(ownFileName(other))
      }),
    )
    const alike = ['a/b', 'a\\b', 'a\nb', 'a\u202eb', 'a_b', `${'a'.repeat(400)}1`, `${'a'.repeat(400)}2`]
    expect(new Set(alike.map((one) => ownFileName(one))).size).toBe(alike.length)
  })

  it('stays as it is where it can', () => {
    expect(ownFileName('1-acme 2026 (ü).csv', '.rejects.csv')).toBe('1-acme 2026 (ü).csv.rejects.csv')
  })

  test('a text is cut between characters', () => {
    expect([cutToBytes('aü', 2), cutToBytes('aü', 3), cutToBytes('😀', 3)]).toEqual(['a', 'aü', ''])
  })
})

describe('a folder of our own', () => {
  it('is made with all above it; one that is there stays', () => {
    const path = join(folder, 'a', 'b', 'c')
    makeFolder(path)
    makeFolder(path)
    expect(statSync(path).mode & 0o777).toBe(0o700)
  })

  it.each(['/proc/x', '/proc/x/y/z'])('%s cannot be made, and that is said at once', (path) => {
    expect(() => makeFolder(path)).toThrow('no folder can be made in /proc')
  })

  it('is not made where a file stands', () => {
    writeFileSync(join(folder, 'file'), '')
    expect(() => makeFolder(join(folder, 'file'))).toThrow('EEXIST')
    expect(() => makeFolder(join(folder, 'file', 'x'))).toThrow('ENOTDIR')
  })
})

test('a file is written though a process of the same number was killed while it wrote it', () => {
  const file = join(folder, 'file')
  writeFileSync(`${file}.${process.pid}.part`, 'half')
  writeOwn(file, 'whole')
  expect([readFileSync(file, 'utf8'), readdirSync(folder)]).toEqual(['whole', ['file']])
})

describe('a path within the home', () => {
  it.each(['..', '../x', 'a/../../x', '/etc'])('is not %s', (path) => {
    expect(() => assertWithin(folder, path.startsWith('/') ? path : `${folder}/${path}`)).toThrow(
      expect.objectContaining({ code: 'home-unusable' }),
    )
  })

  it('may begin with dots, and need not be there', () => {
    expect(assertWithin(folder, join(folder, '..a', 'b'))).toBeUndefined()
    expect(assertWithin(folder, folder)).toBeUndefined()
  })

  it('leads through no link, at its end and on its way', async () => {
    const outside = join(folder, 'outside')
    const home = join(folder, 'home')
    mkdirSync(outside)
    mkdirSync(home)
    writeFileSync(join(outside, 'precious'), 'as it was')
    symlinkSync(outside, join(home, 'rejects'))
    symlinkSync(join(outside, 'precious'), join(home, 'file'))
    symlinkSync(join(outside, 'new'), join(home, 'dangling'))
    for (const path of ['rejects/precious', 'rejects/run/new', 'file', 'dangling'])
      await expect(openOwn(home, join(home, path))).rejects.toMatchObject({ code: 'home-unusable' })
    expect(readFileSync(join(outside, 'precious'), 'utf8')).toBe('as it was')
    // The home itself may be one: its operator has made it.
    symlinkSync(home, join(folder, 'link'))
    await (await openOwn(join(folder, 'link'), join(folder, 'link', 'own', 'a'))).close()
    expect(statSync(join(home, 'own', 'a')).mode & 0o777).toBe(0o600)
  })

  it('that may not be looked at is said to be so', () => {
    const loop = join(folder, 'loop')
    symlinkSync(loop, loop)
    expect(() => assertWithin(loop, join(loop, 'ledger.sqlite'))).toThrow(
      expect.objectContaining({
        code: 'home-unusable',
        message: expect.stringContaining('may not be looked at by this user (ELOOP)'),
      }),
    )
  })

  it('is closed to others where it was open to them', async () => {
    const path = join(folder, 'loose')
    writeFileSync(path, '', { mode: 0o666 })
    await (await openOwn(folder, path)).close()
    expect(statSync(path).mode & 0o777).toBe(0o600)
  })
})

describe('a file that must be new', () => {
  it('is told as taken before anything is written aside, as on a full disk', () => {
    const path = join(folder, 'key')
    writeOwn(path, 'first', { isNew: true })
    // Nothing can be written aside where a folder stands.
    mkdirSync(`${path}.${process.pid}.part`)
    expect(() => writeOwn(path, 'second', { isNew: true })).toThrow(
      `${path} is there already; nothing was written`,
    )
    expect(readFileSync(path, 'utf8')).toBe('first')
    expect(readdirSync(folder)).toEqual(['key', `key.${process.pid}.part`])
  })
})
