import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { readDefinition } from '../../src/extract/read-definition.ts'
import { allRows, brief, exportFile, rowsOf } from './export-file.ts'

const DOCUMENT = readDefinition.parse({ format: 'json' })
const MIB = 1024 * 1024

test('a file is one row, with its origin, and is read whole from wherever', async () => {
  const path = await exportFile('\ufeff \n {"id":\n 12345678901234567890, "v": 5.10}\n\n')
  const rows = await allRows(path, DOCUMENT)
  expect(rows).toEqual([
    {
      kind: 'json',
      row: 1,
      line: 2,
      byteOffset: 6,
      value: { id: '12345678901234567890', v: '5.10' },
      text: '{"id":\n 12345678901234567890, "v": 5.10}',
    },
  ])
  expect(await allRows(path, DOCUMENT, rows[0])).toEqual(rows)
})

test.each([
  ['{"a":1,\n "é": SECRET}', 'breaks off at line 2, column 8'],
  ['{"a":1}\n{"a":2}', 'breaks off at line 2, column 1'],
  ['{"a":1', 'breaks off at line 1, column 7'],
  [' \n ', 'breaks off at line 2, column 2'],
  ['{"a":1,"a":2}', 'names a key twice'],
])('%j is rejected with its place', async (content, message) => {
  const [row, ...others] = await rowsOf(content, DOCUMENT)
  expect(others).toEqual([])
  expect(row).toMatchObject({ row: 1, fault: 'row-json-invalid', message: expect.stringContaining(message) })
  expect(row?.kind === 'unreadable' && row.message).not.toContain('SECRET')
})

test('bytes that are not UTF-8 are refused, UTF-16 is read', async () => {
  expect((await rowsOf(Buffer.from('{"a":"\u00e9"}', 'latin1'), DOCUMENT)).map(brief)).toEqual([
    'row-encoding-invalid',
  ])
  expect((await rowsOf(Buffer.from('\ufeff{"a":"\u00e9"}', 'utf16le'), DOCUMENT)).map(brief)).toEqual([
    { a: 'é' },
  ])
})

test('a document of 16 MiB is read, a larger one is one rejected row', async () => {
  const text = (bytes: number) => `"${'x'.repeat(bytes - 2)}"`
  expect((await rowsOf(text(16 * MIB), DOCUMENT)).map((row) => row.kind)).toEqual(['json'])
  const rows = await rowsOf(gzipSync(text(17 * MIB), { level: 1 }), DOCUMENT)
  expect(rows.map(brief)).toEqual(['row-too-large'])
})
