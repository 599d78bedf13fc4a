import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { openExport } from '../../src/extract/open-export.ts'
import { readDefinition } from '../../src/extract/read-definition.ts'
import { allRows, brief, exportFile, rowsOf } from './export-file.ts'

const csv = (encoding: string) => readDefinition.parse({ format: 'csv', encoding })
const utf16be = (text: string): Buffer => Buffer.from(text, 'utf16le').swap16()
const utf16le = (text: string): Buffer => Buffer.from(text, 'utf16le')

const TEXT = 'id,name\r\n1,Zoë €\r\n2,"😀\n中国人"\r\n'
const ROWS = [
  ['1', 'Zoë €'],
  ['2', '😀\n中国人'],
]

describe('UTF-16', () => {
  test.each([
    ['utf-16le', 'by its mark', utf16le(`\ufeff${TEXT}`), 'auto'],
    ['utf-16be', 'by its mark', utf16be(`\ufeff${TEXT}`), 'auto'],
    ['utf-16le', 'by its NULs', utf16le(TEXT), 'auto'],
    ['utf-16be', 'by its NULs', utf16be(TEXT), 'auto'],
    ['utf-16le', 'as given', utf16le(TEXT), 'utf-16le'],
    ['utf-16be', 'as given, with its mark', utf16be(`\ufeff${TEXT}`), 'utf-16be'],
    ['utf-16le', 'packed', gzipSync(utf16le(`\ufeff${TEXT}`)), 'auto'],
  ])('%s %s', async (_, __, content, encoding) => {
    const path = await exportFile(content)
    expect((await openExport(path, csv(encoding))).columns).toEqual(['id', 'name'])
    expect((await allRows(path, csv(encoding))).map(brief)).toEqual(ROWS)
  })

  test.each([
    ['utf-16le', utf16le],
    ['utf-16be', utf16be],
  ])('%s: characters across the borders of what is read at once', async (encoding, pack) => {
    const lines = Array.from({ length: 40_000 }, (_, at) => `${'x'.repeat(at % 7)}😀,${at}`)
    const path = await exportFile(pack(`a,b\n${lines.join('\n')}`))
    const rows = await allRows(path, csv(encoding))
    expect(rows.map(brief)).toEqual(lines.map((line) => line.split(',')))
    expect(await allRows(path, csv(encoding), rows[39_000])).toEqual(rows.slice(39_000))
    // In the text as UTF-8: what was read before it, in bytes.
    expect(rows[39_000]?.byteOffset).toBe(Buffer.byteLength(`a,b\n${lines.slice(0, 39_000).join('\n')}\n`))
  })

  test.each([
    ['utf-16le', utf16le],
    ['utf-16be', utf16be],
  ])('%s: a pair of surrogates that lies across such a border', async (encoding, pack) => {
    // Six bytes, then pairs of four: 128 KiB ends within one.
    const [row] = await rowsOf(pack(`ab\n${'😀'.repeat(40_000)}`), csv(encoding))
    expect(row).toMatchObject({ cells: ['😀'.repeat(40_000)] })
  })

  test('a lone surrogate and half a unit reject their rows', async () => {
    const content = Buffer.concat([utf16le('a,b\n1,\ud800x\n2,\udc00\n\ud83d\ude00,4\n5,6'), Buffer.of(0x37)])
    const rows = await rowsOf(content, csv('utf-16le'))
    expect(rows).toMatchObject([
      {
        fault: 'row-encoding-invalid',
        line: 2,
        message: expect.stringMatching(/UTF-16LE.*\(column 3\)/),
        text: '1,\ufffdx',
      },
      { fault: 'row-encoding-invalid', line: 3 },
      { cells: ['😀', '4'] },
      { fault: 'row-encoding-invalid', line: 5 },
    ])
    expect(await rowsOf(utf16be('a\n\ud83d'), csv('utf-16be'))).toMatchObject([
      { fault: 'row-encoding-invalid' },
    ])
  })
})

/** The Unicode Consortium's table of windows-1252, 80 to 9F; 0: undefined. */
const WINDOWS_1252 = [
  ...[
    0x20ac, 0, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0,
    0x017d, 0,
  ],
  ...[
    0, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0,
    0x017e,
  ],
  0x0178,
]

describe('encodings of one byte', () => {
  test.each([
    ['windows-1252', (byte: number) => (byte < 0xa0 ? WINDOWS_1252[byte - 0x80] : byte) ?? 0],
    ['iso-8859-1', (byte: number) => (byte < 0xa0 ? 0 : byte)],
  ])('%s: every byte beyond ASCII is its character, or rejects its row', async (encoding, codeOf) => {
    const bytes = Array.from({ length: 128 }, (_, at) => 0x80 + at)
    const content = Buffer.concat([
      Buffer.from('a,b\n'),
      ...bytes.map((byte) => Buffer.of(byte, 0x2c, 0x78, 0x0a)),
    ])
    const rows = await rowsOf(content, csv(encoding))
    expect(rows.map(brief)).toEqual(
      bytes.map((byte) => {
        const code = codeOf(byte)
        return code === 0 ? 'row-encoding-invalid' : [String.fromCodePoint(code), 'x']
      }),
    )
  })

  test('undefined bytes are told by line and column, and windows-1252 is named where Latin-1 was said', async () => {
    const content = Buffer.from('a,b\nx,é\x81\n', 'latin1')
    expect(await rowsOf(content, csv('windows-1252'))).toMatchObject([
      { line: 2, text: 'x,é\ufffd', message: expect.stringMatching(/windows-1252.*\(column 4\)/) },
    ])
    expect(await rowsOf(content, csv('iso-8859-1'))).toMatchObject([
      { message: expect.stringMatching(/may be windows-1252.*\(column 4\)/) },
    ])
  })

  test('resumes at the same row, at whatever byte it was', async () => {
    const path = await exportFile(Buffer.from(`a,b\n${'é,"ü\n"\n'.repeat(50_000)}`, 'latin1'))
    const rows = await allRows(path, csv('windows-1252'))
    expect(rows).toHaveLength(50_000)
    expect(await allRows(path, csv('windows-1252'), rows[49_000])).toEqual(rows.slice(49_000))
  })
})

describe('what is not UTF-8', () => {
  const row = (read: string, content: Buffer) => rowsOf(content, csv(read))

  test('is never guessed: auto says what to do', async () => {
    const [only] = await row('auto', Buffer.from('a,b\n1,\xe9\n', 'latin1'))
    expect(only).toMatchObject({ message: expect.stringContaining('`encoding: windows-1252`') })
  })

  test('is damage where the file is known to be UTF-8', async () => {
    const damaged = Buffer.concat([
      Buffer.from(`a,é\n${'1,é\n'.repeat(30_000)}`),
      Buffer.of(0xe9, 0x2c, 0x31, 0x0a),
    ])
    for (const read of ['auto', 'utf-8'])
      expect((await row(read, damaged)).at(-1)).toMatchObject({
        fault: 'row-encoding-invalid',
        message: 'the row is not valid UTF-8; export the file as UTF-8 (column 1)',
      })
  })

  test('is told with its column, behind replacement characters that are in the text itself', async () => {
    const content = Buffer.concat([Buffer.from('a\n\ufffd😀\ufffd'), Buffer.of(0xef, 0xbf, 0x0a)])
    const [only] = await row('utf-8', content)
    expect(only).toMatchObject({ message: expect.stringMatching(/\(column 5\)$/) })
  })

  test('a NUL or two are damage, not UTF-16', async () => {
    expect((await row('auto', Buffer.from('a,b\n\0,1\n'))).map(brief)).toEqual(['row-encoding-invalid'])
  })
})

test.each([
  ['utf-16le', utf16le('\ufeffa\n1\n'), 'utf-8'],
  ['utf-8', Buffer.from('\ufeffa\n1\n'), 'windows-1252'],
  ['utf-32', Buffer.from([0xff, 0xfe, 0, 0, 0x61, 0, 0, 0]), 'auto'],
])('the mark of %s contradicts what was said', async (marked, content, encoding) => {
  const path = await exportFile(content)
  await expect(openExport(path, csv(encoding))).rejects.toMatchObject({
    code: 'export-unreadable',
    message: `The export begins with the byte order mark of ${marked}.`,
    place: { file: path },
  })
})

describe('an encoding with one byte a character', () => {
  test.each([
    ['windows-1252', 'id,name\n1,Zoë\n'],
    ['iso-8859-1', 'id,name\n1,García\n'],
    ['windows-1251', 'id,name\n1,Иванов\n'],
    ['iso-8859-7', 'id,name\n1,Μαρία\n'],
  ])('%s of a file that is UTF-8 is refused: its names would be garbled', async (encoding, text) => {
    const path = await exportFile(Buffer.from(text))
    await expect(openExport(path, csv(encoding))).rejects.toMatchObject({
      code: 'export-unreadable',
      message: expect.stringContaining(`is UTF-8. Read as ${encoding}`),
    })
  })

  test('of lines that are UTF-8 behind the head rejects these lines', async () => {
    const ascii = Array.from({ length: 20_000 }, (_, at) => `${at},Ann`)
    // Each begins a byte later: whole characters, and such that what is read at once divides.
    const foreign = Array.from({ length: 9_000 }, (_, at) => `${'x'.repeat(at % 7)}é,José`)
    const path = await exportFile(Buffer.from(`id,name\n${[...ascii, ...foreign].join('\n')}\nlast,Ann\n`))
    const rows = await allRows(path, csv('windows-1252'))
    expect(rows.slice(0, 20_000).map(brief)).toEqual(ascii.map((line) => line.split(',')))
    expect(rows.slice(20_000, -1).every((row) => brief(row) === 'row-encoding-invalid')).toBe(true)
    expect(rows.at(-1)).toMatchObject({ cells: ['last', 'Ann'] })
  })

  test.each([
    ['windows-1252', Buffer.from('id,name\n1,\x93IRM\xc3\x94\n', 'latin1'), '“IRMÃ”'],
    ['windows-1252', Buffer.from('id,name\n1,Zo\xeb\n', 'latin1'), 'Zoë'],
    ['windows-1252', Buffer.from('id,name\n1,CAF\xc9\x92S\n', 'latin1'), 'CAFÉ’S'],
    ['windows-1252', Buffer.from('id,name\n1,\x93JOS\xc9\x94\n', 'latin1'), '“JOSÉ”'],
    ['windows-1252', Buffer.from('id,name\n1,S\xc3O PAULO\n', 'latin1'), 'SÃO PAULO'],
    ['iso-8859-1', Buffer.from('id,name\n1,Ann\n'), 'Ann'],
    ['windows-1251', Buffer.from([...Buffer.from('id,name\n1,'), 0xc8, 0xe2, 0xe0, 0xed, 10]), 'Иван'],
  ])('%s is read as given: %j', async (encoding, content, name) => {
    expect(await rowsOf(content, csv(encoding))).toMatchObject([{ cells: ['1', name] }])
  })
})
