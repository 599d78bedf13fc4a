import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Delivery, ExportSource } from '../../src/extract/sources/source.ts'

export interface OpenedSource {
  readonly source: ExportSource
  /** Puts a file there, as a vendor does; another content replaces the file. */
  put(name: string, content: Uint8Array): Promise<void>
  /** Removes a file there. */
  remove(name: string): Promise<void>
  /** A file below the place, which is none of it. */
  putBelow(folder: string, name: string): Promise<void>
  /** Has files listed whose names are not those of one file in the place, and links. @returns how each is told of, sorted */
  putHostile(): Promise<readonly string[]>
  /** What the archive holds, by name. */
  archived(): Promise<Record<string, string>>
  cleanup(): Promise<void>
}

const ROWS = Buffer.from('id,a1c\nann,5.1\n')

/** What every source of exports does, wherever it is. */
export function exportSourceConformance(name: string, open: () => Promise<OpenedSource>): void {
  describe(`${name} as a source of exports`, () => {
    let opened: OpenedSource
    let source: ExportSource
    let here: string
    beforeEach(async () => {
      opened = await open()
      source = opened.source
      here = await mkdtemp(join(tmpdir(), 'waybill-source-'))
    })
    afterEach(async () => {
      await source.close()
      await opened.cleanup()
      await rm(here, { recursive: true })
    })
    const listed = async (wanted: string): Promise<Delivery> => {
      const found = (await source.list()).files.find((one) => one.name === wanted)
      if (found === undefined) throw new Error(`${wanted} is not listed`)
      return found
    }
    const fetched = async (delivery: Delivery): Promise<Buffer> =>
      readFile(await source.fetch(delivery, join(here, 'folder', 'file')))

    it('lists files with size and time, and nothing of what lies below', async () => {
      // Files have the time of the machine, which the clock of the tests may be ahead of.
      const machine = join(here, 'written-now')
      await writeFile(machine, '')
      const times = [Date.now(), (await stat(machine)).mtimeMs]
      expect((await source.list()).files).toEqual([])
      for (const one of ['b c.csv', 'a.csv', 'ü+%.csv', 'd.csv', 'e.csv']) await opened.put(one, ROWS)
      await opened.putBelow('below', 'f.csv')
      const found = (await source.list()).files.toSorted((a, b) => (a.name < b.name ? -1 : 1))
      expect(found.map(({ name, bytes }) => [name, bytes])).toEqual(
        ['a.csv', 'b c.csv', 'd.csv', 'e.csv', 'ü+%.csv'].map((one) => [one, ROWS.length]),
      )
      for (const { modifiedAt } of found) {
        expect(modifiedAt).toBeGreaterThan(Math.min(...times) - 2000)
        expect(modifiedAt).toBeLessThan(Math.max(...times) + 60_000)
      }
    })

    it('refuses names that lead elsewhere or hold control characters, and links; the others are listed', async () => {
      await opened.put('a.csv', ROWS)
      const hostile = await opened.putHostile()
      const { files, refused } = await source.list()
      expect(files.map((one) => one.name)).toEqual(['a.csv'])
      expect(refused.map(({ shown }) => shown).sort()).toEqual(hostile)
      for (const { error } of refused) expect(error.code).toBe('export-refused')
    })

    it('archives under a name of 250 characters, whatever is there already', async () => {
      const long = `${'ü'.repeat(123)}.csv`
      for (const text of ['first', 'second']) {
        await opened.put(long, Buffer.from(text))
        await source.archive(await listed(long))
      }
      const names = Object.keys(await opened.archived()).sort()
      expect(names).toEqual([`${'ü'.repeat(120)}.1`, long])
    })

    it('fetches a file as it is, of any size, to a file of its own', async () => {
      const large = Buffer.alloc(3_000_001, 'line of an export\n')
      for (const [one, content] of [
        ['empty.csv', Buffer.alloc(0)],
        ['ü+%.csv', ROWS],
        ['large.csv', large],
      ] as const) {
        await opened.put(one, content)
        expect((await fetched(await listed(one))).equals(content)).toBe(true)
      }
    })

    it('keeps what it copies from others', async () => {
      await opened.put('a.csv', ROWS)
      const path = join(here, 'folder', 'file')
      if ((await source.fetch(await listed('a.csv'), path)) !== path) return
      expect((await stat(path)).mode & 0o777).toBe(0o600)
      expect((await stat(join(here, 'folder'))).mode & 0o777).toBe(0o700)
    })

    it('gives another version for another content', async () => {
      await opened.put('a.csv', ROWS)
      const { version } = await listed('a.csv')
      expect((await listed('a.csv')).version).toBe(version)
      await opened.put('a.csv', Buffer.concat([ROWS, ROWS]))
      expect((await listed('a.csv')).version).not.toBe(version)
    })

    it('archives without overwriting', async () => {
      for (const text of ['first', 'second', 'third']) {
        await opened.put('a.csv', Buffer.from(text))
        const address = await source.archive(await listed('a.csv'))
        expect(address).not.toBe(source.address('a.csv'))
      }
      expect(await opened.archived()).toEqual({ 'a.csv': 'first', 'a.csv.1': 'second', 'a.csv.2': 'third' })
      expect((await source.list()).files).toEqual([])
    })

    it('does not archive what was not read', async () => {
      await opened.put('a.csv', ROWS)
      const read = await listed('a.csv')
      await opened.put('a.csv', Buffer.from('new and unread'))
      await expect(source.archive(read)).rejects.toMatchObject({ code: 'export-changed' })
      expect(await opened.archived()).toEqual({})
      expect((await listed('a.csv')).bytes).toBe('new and unread'.length)
    })

    it('tells of a file that is gone', async () => {
      await opened.put('a.csv', ROWS)
      const delivery = await listed('a.csv')
      await opened.remove('a.csv')
      await expect(source.archive(delivery)).rejects.toMatchObject({
        code: expect.stringMatching(/^export-(changed|unreadable)$/),
      })
    })

    it('has addresses without credentials, one for each name', () => {
      expect(source.address('a.csv')).toMatch(/a\.csv$/)
      expect(source.address('a.csv')).not.toBe(source.address('b.csv'))
      expect(source.address('a.csv')).not.toContain('secret')
    })
  })
}
