import { gzipSync } from 'node:zlib'
import { stringify } from 'csv-stringify/sync'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openExport } from '../../src/extract/open-export.ts'
import { readDefinition } from '../../src/extract/read-definition.ts'
import { allRows, brief, collect, exportFile } from './export-file.ts'

const ENCODERS = {
  'utf-8': (text: string) => Buffer.from(text),
  'utf-16le': (text: string) => Buffer.from(text, 'utf16le'),
  'utf-16be': (text: string) => Buffer.from(text, 'utf16le').swap16(),
  'windows-1252': (text: string) => Buffer.from(text, 'latin1'),
  'iso-8859-1': (text: string) => Buffer.from(text, 'latin1'),
}

const ASCII = ['a', '1', ' ', ',', ';', '\t', '|', '"', "'", '\\', '#', '\n', '\r', '\r\n']
const cell = fc.string({ unit: fc.constantFrom(...ASCII, 'é', '中', '😀'), maxLength: 6 })

const layout = fc.record({
  delimiter: fc.constantFrom(',', ';', '\t', '|', '^'),
  auto: fc.boolean(),
  quote: fc.constantFrom('"', "'", 'none'),
  escape: fc.constantFrom('doubled', '\\'),
  quoteAll: fc.boolean(),
  end: fc.constantFrom('\n', '\r\n', '\r'),
  encoding: fc.constantFrom(...(Object.keys(ENCODERS) as (keyof typeof ENCODERS)[])),
  mark: fc.boolean(),
  preamble: fc.nat(3),
  units: fc.boolean(),
  comments: fc.boolean(),
  trailer: fc.boolean(),
  lastEnd: fc.boolean(),
  zipped: fc.boolean(),
})
type Layout = typeof layout extends fc.Arbitrary<infer One> ? One : never

const table = fc
  .integer({ min: 2, max: 4 })
  .chain((width) =>
    fc.array(fc.array(cell, { minLength: width, maxLength: width }), { minLength: 1, maxLength: 12 }),
  )

/** Leaves out what the dialect has no way to write. */
function writable(text: string, { auto, quote, delimiter, encoding, comments }: Layout): string {
  const encodable = /windows|iso/.test(encoding) ? text.replace(/[中😀]/gu, '') : text
  const unambiguous = auto ? encodable.replace(/[,;\t|]/g, '') : encodable
  if (quote !== 'none') return unambiguous
  const bare = unambiguous.replaceAll(delimiter, '').replace(/[\r\n]/g, '')
  return comments ? bare.replaceAll('#', '') : bare
}

/** The file as csv-stringify writes it, and the rows that it has with their origins. */
function written(rows: readonly (readonly string[])[], form: Layout) {
  const { delimiter, quote, quoteAll, end } = form
  const bare = quote === 'none'
  const line = (cells: readonly string[]): string =>
    stringify([[...cells]], {
      delimiter,
      quote: bare ? false : quote,
      escape: form.escape === 'doubled' && !bare ? quote : '\\',
      quoted: quoteAll && !bare,
      // A line end of another kind than the file's own ends a line all the same.
      ...(bare ? {} : { quoted_match: /[\r\n]|^#/ }),
      record_delimiter: end,
    })
  const names = (rows[0] ?? []).map((_, at) => `c${at}`)
  let text = form.mark && form.encoding.startsWith('utf') ? '\ufeff' : ''
  for (let at = 0; at < form.preamble; at += 1) text += `Report '"${end}`
  text += line(names)
  if (form.units) text += line(names.map(() => 'mg'))
  const origins = rows.map((cells, at) => {
    if (form.comments) text += `# "'${end}`
    const origin = {
      row: at + 1,
      line: 1 + (text.match(/\r\n|\r|\n/g)?.length ?? 0),
      byteOffset: Buffer.byteLength(text),
    }
    text += line(cells)
    return { kind: 'cells', ...origin, cells }
  })
  if (form.trailer) text += `TRL${delimiter}${rows.length}${end}`
  if (!form.lastEnd) text = text.slice(0, -end.length)
  const bytes = ENCODERS[form.encoding](text)
  return { content: form.zipped ? gzipSync(bytes) : bytes, origins }
}

function definitionOf(form: Layout) {
  const told = form.encoding === 'utf-8' || (form.mark && form.encoding.startsWith('utf'))
  return readDefinition.parse({
    format: 'csv',
    delimiter: form.auto && form.delimiter !== '^' ? 'auto' : form.delimiter,
    quote: form.quote,
    escape: form.quote === 'none' ? 'doubled' : form.escape,
    encoding: told ? 'auto' : form.encoding,
    header: { line: form.preamble + 1, skip: form.units ? 1 : 0 },
    ...(form.comments ? { comment: '#' } : {}),
    ...(form.trailer ? { trailer: { match: '^TRL', count: { cell: 2 } } } : {}),
  })
}

test('any table that csv-stringify writes in any dialect reads back the same, from any row on', async () => {
  await fc.assert(
    fc.asyncProperty(table, layout, fc.nat(), async (raw, form, pick) => {
      const rows = raw.map((cells) => cells.map((text) => writable(text, form)))
      const { content, origins } = written(rows, form)
      const read = definitionOf(form)
      const opened = await openExport(await exportFile(content), read)
      expect(await collect(opened.rows())).toEqual(origins)
      const at = pick % origins.length
      expect(await collect(opened.rows(origins[at]))).toEqual(origins.slice(at))
      if (form.trailer)
        expect(await opened.controlTotal()).toEqual({ stated: rows.length, found: rows.length })
    }),
    { numRuns: 70 },
  )
})

test('any table written with escapes and no quotes reads back the same', async () => {
  const read = readDefinition.parse({ format: 'csv', delimiter: '|', quote: 'none', escape: '\\' })
  await fc.assert(
    fc.asyncProperty(table, fc.constantFrom('\n', '\r\n', '\r'), async (raw, end) => {
      // An escape before CR LF covers both, so that a cell cannot end with CR where lines end with LF.
      const rows = raw.map((cells) => cells.map((text) => text.replace(/\r+$/, '')))
      const lines = rows.map((cells) =>
        cells.map((text) => text.replace(/\r\n|[\r\n|\\]/g, (mark) => `\\${mark}`)).join('|'),
      )
      const names = (rows[0] ?? []).map((_, at) => `c${at}`).join('|')
      const path = await exportFile([names, ...lines, ''].join(end))
      expect((await allRows(path, read)).map(brief)).toEqual(rows)
    }),
    { numRuns: 60 },
  )
})

const piece = fc.constantFrom(...ASCII, 'é', '"a"', '\\"', '\\\n', '#"', ',"', '"\n', '\\', 'sep=;\n', '\0')
const dialect = fc.record({
  delimiter: fc.constantFrom(',', '|'),
  quote: fc.constantFrom('"', 'none'),
  escape: fc.constantFrom('doubled', '\\'),
  comment: fc.constantFrom('#', '//'),
  ragged: fc.constantFrom('reject', 'pad', 'trim'),
  lenient: fc.boolean(),
})

test('whatever the bytes and the dialect, nothing is lost between rows, and they are the same from any row on', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(piece, { maxLength: 40 }), dialect, fc.nat(), async (parts, form, pick) => {
      const { lenient, ...rest } = form
      const quotes = lenient && form.quote !== 'none' ? 'lenient' : 'strict'
      const read = readDefinition.parse({
        ...rest,
        format: 'csv',
        quotes,
        header: 'none',
        columns: ['a', 'b', 'c'],
      })
      const content = `1,2,3\n${parts.join('')}`
      const opened = await openExport(await exportFile(content), read)
      const rows = await collect(opened.rows())
      expect(rows.map((row) => row.row)).toEqual(rows.map((_, at) => at + 1))
      const at = pick % rows.length
      expect(await collect(opened.rows(rows[at]))).toEqual(rows.slice(at))
      for (const row of rows) {
        const before = Buffer.from(content).subarray(0, row.byteOffset).toString()
        expect(row.line).toBe(1 + (before.match(/\r\n|\r|\n/g)?.length ?? 0))
        if (row.kind === 'unreadable' && row.fault !== 'row-too-short' && row.fault !== 'row-too-long')
          expect(row.message).toMatch(/column \d|not closed|does not end/)
      }
    }),
    { numRuns: 70 },
  )
})
