import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openExport } from '../../src/extract/open-export.ts'
import { readJson } from '../../src/extract/open-json.ts'
import { CORPUS, NEEDS_CORPUS } from '../needed.ts'
import { allRows, brief, exportFile, NDJSON, numberSource, rowsOf } from './export-file.ts'

const MIB = 1024 * 1024

test('a row is a line, with its origin', async () => {
  const lines = ['\ufeff{"a":"é"}', '', ' \t', '[1]', 'null']
  const rows = await rowsOf(lines.join('\r\n'), NDJSON)
  const at = (line: number) => Buffer.byteLength(lines.slice(0, line).join('\r\n')) + 2
  expect(rows).toEqual([
    { kind: 'json', row: 1, line: 1, byteOffset: 3, value: { a: 'é' }, text: '{"a":"é"}' },
    { kind: 'json', row: 2, line: 4, byteOffset: at(3), value: ['1'], text: '[1]' },
    { kind: 'json', row: 3, line: 5, byteOffset: at(4), value: null, text: 'null' },
  ])
})

test('a number stays the text that stood there; text, true and null stay what they are', async () => {
  const line = '{"v":5.10,"id":12345678901234567890,"e":-1.0E+2,"s":"5.10 \\"7\\\\","t":[true,null,0]}'
  expect((await rowsOf(line, NDJSON)).map(brief)).toEqual([
    { v: '5.10', id: '12345678901234567890', e: '-1.0E+2', s: '5.10 "7\\', t: [true, null, '0'] },
  ])
})

test('__proto__ is a key like any other', async () => {
  const [row] = await rowsOf('{"__proto__":{"polluted":1}}', NDJSON)
  const value = row?.kind === 'json' ? row.value : undefined
  expect(Object.keys(value ?? {})).toEqual(['__proto__'])
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
  expect('polluted' in {}).toBe(false)
})

test('a key named twice is refused, also deep down', async () => {
  const rows = await rowsOf('{"a":1,"a":1}\n{"a":[{"b":1,"b":2}]}\n{"a":{"b":1},"b":":"}\n', NDJSON)
  expect(rows.map(brief)).toEqual(['row-json-invalid', 'row-json-invalid', { a: { b: '1' }, b: ':' }])
})

test.each([
  ['{"a":SECRET}', 6],
  ['{"a":1 "SECRET":2}', 8],
  ['{"a":"SECRET', 6],
  ['{"a":01}', 7],
  ['{"SECRET":1,}', 13],
  ['{1:2}', 2],
  ['["SECRET\u0001"]', 2],
  ['[1,2', 5],
  ['{"a":1}}', 8],
  ['[1}', 3],
])('%j is told to break off at a column', async (line, column) => {
  const [row, next] = await rowsOf(`${line}\n{"a":1}\n`, NDJSON)
  expect(row).toMatchObject({
    fault: 'row-json-invalid',
    message: `not JSON: it breaks off at column ${column}`,
  })
  expect(row).toMatchObject({ text: line, row: 1 })
  expect(next).toMatchObject({ value: { a: '1' }, row: 2, line: 2 })
})

test('a last line that is cut off is said to be', async () => {
  const [row] = await rowsOf('{"a":', NDJSON)
  expect(row).toMatchObject({ message: expect.stringMatching(/last line.*cut off/) })
})

test('bytes that are not UTF-8, and NUL', async () => {
  const rows = await rowsOf(Buffer.from('{"a":"\u00e9"}\n\0\n"\0"\n1\n', 'latin1'), NDJSON)
  expect(rows.map(brief)).toEqual(['row-encoding-invalid', 'row-json-invalid', 'row-json-invalid', '1'])
})

test('a line of 16 MiB is read, a longer one passed over', async () => {
  const line = (bytes: number) => `"${'x'.repeat(bytes - 2)}"`
  const path = await exportFile(gzipSync(`${line(16 * MIB)}\n${line(40 * MIB)}\n1\n`, { level: 1 }))
  const rows = await allRows(path, NDJSON)
  expect(rows.map((row) => (row.kind === 'json' ? row.text.length : brief(row)))).toEqual([
    16 * MIB,
    'row-too-large',
    1,
  ])
  expect(rows[2]).toMatchObject({ row: 3, line: 3, byteOffset: 56 * MIB + 2 })
})

test('nesting deeper than the stack does not end the reading', async () => {
  const deep = '['.repeat(200_000)
  const rows = await rowsOf(`${deep}\n${deep}${']'.repeat(200_000)}\n1\n`, NDJSON)
  expect(rows.map((row) => row.kind)).toEqual(['unreadable', 'unreadable', 'json'])
})

test('an empty file is refused', async () => {
  await expect(openExport(await exportFile(''), NDJSON)).rejects.toMatchObject({ code: 'export-empty' })
})

test('accepts what JSON.parse accepts and nothing else, with the same value but for numbers', () => {
  const near = fc
    .tuple(
      fc.json(),
      fc.nat(),
      fc.constantFrom('', '"', ':', ',', '1', '-', '.', 'e', '0', '{', ']', '\\', ' '),
    )
    .map(
      ([text, at, put]) => text.slice(0, at % (text.length + 1)) + put + text.slice(at % (text.length + 1)),
    )
  const tokens = fc
    .array(
      fc.constantFrom('1', '-0.5e1', '"a"', '"\\""', ':', ',', '{', '}', '[', ']', ' ', 'true', '01', '1.'),
      {
        maxLength: 9,
      },
    )
    .map((parts) => parts.join(''))
  fc.assert(
    fc.property(fc.oneof(fc.json(), near, tokens), (text) => {
      const reading = readJson(text)
      let expected: unknown
      try {
        expected = JSON.parse(text, numberSource)
      } catch {
        expect(reading).toHaveProperty('problem', expect.stringMatching(/^not JSON/))
        return
      }
      if ('value' in reading) expect(reading.value).toEqual(expected)
      else expect(reading.problem).toBe('an object names a key twice')
    }),
    { numRuns: 2_000 },
  )
})

test('from any row on, the rows are the same', async () => {
  const line = fc.oneof(fc.json(), fc.constantFrom('', ' ', '{', '1\r', '"\u2028"'))
  await fc.assert(
    fc.asyncProperty(fc.array(line, { minLength: 1, maxLength: 20 }), fc.nat(), async (lines, pick) => {
      const path = await exportFile(`\ufeff${lines.join('\n')}x`)
      const rows = await allRows(path, NDJSON)
      const at = pick % rows.length
      expect(await allRows(path, NDJSON, rows[at])).toEqual(rows.slice(at))
    }),
    { numRuns: 100 },
  )
})

describe('corpus', NEEDS_CORPUS, () => {
  const suite = join(CORPUS ?? '', 'json-datetime/JSONTestSuite/test_parsing')
  // One document a line: a line feed within a document, or no document, is another question.
  const documents = (CORPUS === undefined ? [] : readdirSync(suite)).filter((name) => {
    const content = readFileSync(join(suite, name), 'latin1')
    return (
      name.endsWith('.json') && !content.trimEnd().includes('\n') && /[^\s\u00ef\u00bb\u00bf]/.test(content)
    )
  })
  // RFC 8259 lets a key occur twice; Waybill does not, since one of the values would be lost.
  const twice = ['y_object_duplicated_key.json', 'y_object_duplicated_key_and_value.json']

  test('JSONTestSuite has its verdicts', async () => {
    const verdicts = { y: 0, n: 0, i: 0 }
    for (const name of documents) {
      const rows = await allRows(join(suite, name), NDJSON)
      const kind = name.charAt(0)
      expect(rows, name).toHaveLength(1)
      if (kind === 'y' || kind === 'n') {
        const accepted = kind === 'y' && !twice.includes(name)
        expect(rows[0]?.kind, name).toBe(accepted ? 'json' : 'unreadable')
        verdicts[kind] += 1
      } else verdicts.i += 1
    }
    expect(verdicts.y).toBeGreaterThan(80)
    expect(verdicts.n).toBeGreaterThan(160)
    expect(verdicts.i).toBeGreaterThan(25)
  })

  test('FHIR observations come whole, with numbers as text', async () => {
    const path = join(CORPUS ?? '', 'synthea/ndjson-split-smart-r4/Observation.ndjson')
    const rows = await allRows(path, NDJSON)
    expect(rows).toHaveLength(2655)
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
    for (const [at, row] of rows.entries())
      expect(row.kind === 'json' && row.value).toEqual(JSON.parse(lines[at] ?? '', numberSource))
  })
})
