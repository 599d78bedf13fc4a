import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { openExport } from '../../src/extract/open-export.ts'
import { readDefinition } from '../../src/extract/read-definition.ts'
import { brief, collect, exportFile } from './export-file.ts'

const open = async (content: string | Uint8Array, trailer: object, read: object = {}) =>
  openExport(await exportFile(content), readDefinition.parse({ format: 'csv', ...read, trailer }))

const rowsOf = async (content: string | Uint8Array, trailer: object) =>
  (await collect((await open(content, trailer)).rows())).map(brief)

test.each([
  ['lines', { lines: 2 }],
  ['a match', { match: '^TRL|^END' }],
])('the last lines by %s are no rows', async (_, trailer) => {
  for (const end of ['', '\n', '\r\n\r\n', '\n \n'])
    expect(await rowsOf(`a,b\n1,2\nTRL,1\nEND${end}`, trailer)).toEqual([['1', '2']])
})

test('what matches before the end is a row', async () => {
  expect(await rowsOf('a\nTRL\n1\nTRL\nTRL\n', { match: '^TRL$' })).toEqual([['TRL'], ['1']])
})

test.each([
  ['plain', (text: string) => Buffer.from(text)],
  ['gzip', (text: string) => gzipSync(text)],
  ['UTF-16', (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le')],
])('is found at the end of a long file and its count compared (%s)', async (_, pack) => {
  const text = `a,b\n${'é,"x\ny"\n'.repeat(40_000)}TRL,0040000\n`
  const opened = await open(pack(text), { match: '^TRL', count: { cell: 2 } })
  expect(await opened.controlTotal()).toEqual({ stated: 40_000, found: 40_000 })
  const rows = await collect(opened.rows())
  expect(rows).toHaveLength(40_000)
  expect(await collect(opened.rows(rows[39_998]))).toEqual(rows.slice(39_998))
})

test('unreadable rows count, header and units do not', async () => {
  const content = 'a,b\nmg,mm\n1\n1,"2\nTotal: 2 rows\n'
  const read = { header: { skip: 1 } }
  const opened = await open(content, { lines: 1, count: { cell: 1 } }, read)
  expect(await opened.controlTotal()).toEqual({ stated: 2, found: 2 })
  const cut = await open('a,b\nmg,mm\nTotal: 5\n', { lines: 1, count: { cell: 1 } }, read)
  expect(await cut.controlTotal()).toEqual({ stated: 5, found: 0 })
  const less = await open('a\nTotal: 5\n', { lines: 1, count: { cell: 1 } }, read)
  expect(await less.controlTotal()).toEqual({ stated: 5, found: 0 })
})

test.each(['"TRL",2', '"TRL,2', 'TR"L,2', '"TRL"x,2'])(
  'its count is read though its quotes are %s',
  async (line) => {
    const opened = await open(`a,b\n1,2\n3,4\n${line}\n`, { lines: 1, count: { cell: 2 } })
    expect(await opened.controlTotal()).toEqual({ stated: 2, found: 2 })
  },
)

test('without a count there is nothing to compare', async () => {
  expect(await (await open('a\n1\nT\n', { lines: 1 })).controlTotal()).toBeUndefined()
})

describe('is an error', () => {
  test.each([
    ['that is not there', 'a\n1\n', { match: '^TRL' }, /cut off/],
    ['of more lines than there are', 'a\n1\n', { lines: 3 }, /cut off/],
    ['longer than its bound', `a\n${'TRL\n'.repeat(20_000)}`, { match: '^TRL' }, /64 KiB/],
    ['cut apart by its bound', `a\n${'TRL12\n'.repeat(20_000)}`, { match: '^TRL' }, /64 KiB/],
    ['without its number', 'a\n1\nTRL,x\n', { lines: 1, count: { cell: 2 } }, /cell 2/],
    ['with two numbers', 'a\n1\nTRL,1 2\n', { lines: 1, count: { cell: 2 } }, /cell 2/],
    ['without its cell', 'a\n1\nTRL\n', { lines: 1, count: { cell: 2 } }, /cell 2/],
  ])('a trailer %s', async (_, content, trailer, message) => {
    await expect(open(content, trailer)).rejects.toMatchObject({
      code: 'export-unreadable',
      message: expect.stringMatching(message),
    })
  })

  test('a file that is nothing but a trailer', async () => {
    await expect(open('TRL\n', { lines: 1 })).rejects.toMatchObject({ code: 'export-empty' })
  })
})

describe('the last lines by their number', () => {
  // A file without its trailer: the last person's row stands there.
  test('are no trailer where they are a row', async () => {
    await expect(
      open('id,day,sbp\n1,2026-02-04,120\n2,2026-02-04,118\n', { lines: 1 }),
    ).rejects.toMatchObject({
      code: 'export-unreadable',
      message: expect.stringContaining('the cells of a row, and no trailer'),
    })
  })

  test.each(['Total,,240', 'TRL|2026-02-04|2', 'TRL,2026-02-04', 'Exported 02/04/2026'])(
    'are one: %s',
    async (line) => {
      expect(await rowsOf(`id,day,sbp\n1,2026-02-04,120\n${line}\n`, { lines: 1 })).toEqual([
        ['1', '2026-02-04', '120'],
      ])
    },
  )

  test('are one by their words, whatever stands in them', async () => {
    expect(await rowsOf('id,day,sbp\n1,2026-02-04,120\nTRL,2026-02-04,1\n', { match: '^TRL' })).toHaveLength(
      1,
    )
  })
})
