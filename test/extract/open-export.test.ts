import { createHash } from 'node:crypto'
import { appendFile, rename, stat, utimes, writeFile } from 'node:fs/promises'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { fingerprint } from '../../src/extract/content.ts'
import { lookAt, openExport } from '../../src/extract/open-export.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { allRows, brief, CSV, collect, exportFile } from './export-file.ts'

const table = `a,b\n${Array.from({ length: 30_000 }, (_, at) => `${at},"x\n${at}"`).join('\n')}\n`

test('gzip is known by its bytes, not by its name, and may have several members', async () => {
  const middle = Math.floor(table.length / 2)
  const members = Buffer.concat([gzipSync(table.slice(0, middle)), gzipSync(table.slice(middle))])
  const plain = await allRows(await exportFile(table, 'plain.csv.gz'))
  expect(plain).toHaveLength(30_000)
  expect(await allRows(await exportFile(members, 'zipped.csv'))).toEqual(plain)
})

test('a gzip file that is cut off or damaged is an error, after the rows before it', async () => {
  const zipped = gzipSync(table)
  const cut = await exportFile(zipped.subarray(0, -2000))
  await expect(allRows(cut)).rejects.toMatchObject({ code: 'export-unreadable', place: { file: cut } })
  const damaged = Buffer.from(zipped)
  damaged.writeUInt32LE(0, damaged.length - 8)
  await expect(allRows(await exportFile(damaged))).rejects.toMatchObject({ code: 'export-unreadable' })
})

test('a folder or a missing file is unreadable', async () => {
  const folder = await temporaryFolder()
  await expect(openExport(folder, CSV)).rejects.toMatchObject({ code: 'export-unreadable' })
  await expect(openExport(`${folder}/none.csv`, CSV)).rejects.toMatchObject({ code: 'export-unreadable' })
})

test('rows come as they are asked for, and a reader may leave', async () => {
  const opened = await openExport(await exportFile(table), CSV)
  for await (const block of opened.rows()) {
    expect(block.length).toBeGreaterThan(100)
    expect(block.length).toBeLessThan(1000)
    break
  }
  let rows = 0
  for await (const block of opened.rows()) rows += block.length
  expect(rows).toBe(30_000)
})

test.each([
  ['plain', (text: string) => Buffer.from(text)],
  ['gzip', (text: string) => gzipSync(text)],
])('a checkpoint behind the content is told, one at its end gives no rows (%s)', async (_, pack) => {
  const opened = await openExport(await exportFile(pack('a\n1\n')), CSV)
  expect(await collect(opened.rows({ row: 2, line: 3, byteOffset: 4 }))).toEqual([])
  await expect(collect(opened.rows({ row: 2, line: 3, byteOffset: 5 }))).rejects.toMatchObject({
    code: 'export-changed',
  })
})

/** Writes in place, and puts the time of change back. */
async function forge(path: string, content: string | Buffer): Promise<void> {
  const before = await stat(path, { bigint: true })
  do {
    await writeFile(path, content)
    await utimes(path, 7, 7)
    // The clock of a file system may tick every few milliseconds alone.
  } while ((await stat(path, { bigint: true })).ctimeNs === before.ctimeNs)
}

test.each([
  ['grown', (path: string) => appendFile(path, '2\n')],
  ['touched', (path: string) => utimes(path, 1, 1)],
  ['written to in place', (path: string) => forge(path, 'a\n2\n')],
  [
    'replaced by one of the same size and time',
    async (path: string) => {
      await writeFile(`${path}.new`, 'a\n2\n')
      await utimes(`${path}.new`, 7, 7)
      await rename(`${path}.new`, path)
    },
  ],
])('an export that was %s is noticed', async (_, change) => {
  const path = await exportFile('a\n1\n')
  await utimes(path, 7, 7)
  const opened = await openExport(path, CSV)
  expect((await collect(opened.rows())).map(brief)).toEqual([['1']])
  await opened.assertUnchanged()
  await change(path)
  await expect(opened.assertUnchanged()).rejects.toMatchObject({
    code: 'export-changed',
    place: { file: path },
  })
})

test.each([
  ['plain', (text: string) => Buffer.from(text)],
  ['gzip', (text: string) => gzipSync(text)],
])('what is read is what the SHA-256 was taken of, whatever was put in its place (%s)', async (_, pack) => {
  const path = await exportFile(pack('a\n1\n'))
  const { version } = await lookAt(path)
  const taken = await fingerprint(path, undefined, version)
  const opened = await openExport(path, CSV, undefined, version)
  expect((await collect(opened.rows())).map(brief)).toEqual([['1']])
  await forge(path, pack('a\n2\n'))
  for (const reading of [
    () => collect(opened.rows()),
    () => openExport(path, CSV, undefined, version),
    () => fingerprint(path, undefined, version),
  ])
    await expect(reading()).rejects.toMatchObject({ code: 'export-changed', place: { file: path } })
  expect((await fingerprint(path)).sha256).not.toBe(taken.sha256)
})

/** Digits without a pattern: it is as hard to compress at its end as at its start. */
const even = `a,b\n${Array.from({ length: 100_000 }, (_, at) => `${createHash('md5').update(String(at)).digest('hex')},1`).join('\n')}\n`

const utf16 = (text: string): Buffer => Buffer.from(`\ufeff${text}`, 'utf16le')

test.each([
  ['plain', Buffer.from(even)],
  ['gzip', gzipSync(even)],
  ['Zstandard', zstdCompressSync(even)],
  ['UTF-16', utf16(even)],
  ['UTF-16 in gzip', gzipSync(utf16(even))],
])('the share that stands before a row is that of the file: %s', async (_, content) => {
  const opened = await openExport(await exportFile(content), CSV)
  expect(opened.share(0)).toBe(0)
  const shares: number[] = []
  for await (const block of opened.rows()) {
    const { row = 0, byteOffset = 0 } = block.at(-1) ?? {}
    // The rows are of about the same length.
    expect(Math.abs(opened.share(byteOffset) - row / 100_000)).toBeLessThan(0.08)
    shares.push(opened.share(byteOffset))
  }
  expect(shares.at(-1)).toBeGreaterThan(0.99)
  expect(Math.max(...shares)).toBeLessThanOrEqual(1)
})
