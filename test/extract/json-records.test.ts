import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openExport } from '../../src/extract/open-export.ts'
import { readDefinition } from '../../src/extract/read-definition.ts'
import type { Row } from '../../src/model/row.ts'
import { processorMs } from '../processor-time.ts'
import { brief, collect, exportFile, numberSource, rowsOf } from './export-file.ts'

const MIB = 1024 * 1024

const list = (records: string, context?: Record<string, string>) =>
  readDefinition.parse({ format: 'json', records, ...(context === undefined ? {} : { context }) })

const TOP = list('$[*]')

describe('the elements of a list', () => {
  test.each([
    ['$[*]', '[{"a":1},[2],"x",null,-0]', [{ a: '1' }, ['2'], 'x', null, '-0']],
    [
      '$.data.results[*]',
      '{"n":1,"data":{"x":[{"results":[9]}],"results":[1,2],"y":[3]},"results":[4]}',
      ['1', '2'],
    ],
    ['$.entry[*].resource', '{"entry":[{"resource":{"id":1}},{"resource":[]}]}', [{ id: '1' }, []]],
    ["$['a b']['[*]'][*]['c'].d", '{"a b":{"[*]":[{"c":{"d":"e"}}]}}', ['e']],
    ['$.\\u0061[*]'.replace('\\u0061', 'a'), '{"\\u0061":[1]}', ['1']],
    ['$[*]', ' [ ] ', []],
    ['$.a[*]', '{"a":[]}', []],
    // Converters write a lone element without its list, and none as null.
    ['$.a[*]', '{"a":{"v":1}, "b":2}', [{ v: '1' }]],
    ['$.a[*]', '{"a":null}', []],
    // Documents one after another.
    ['$[*]', '[1][2] [] \n[3]\n', ['1', '2', '3']],
    ['$.a[*]', '{"a":[1,2]}{"a":{"v":3}}\n{"b":0,"a":[4]}', ['1', '2', { v: '3' }, '4']],
    ['$', '{"a":1}{"a":2}\n\n3 [4]"5"', [{ a: '1' }, { a: '2' }, '3', ['4'], '5']],
  ])('%s of %s', async (records, content, expected) => {
    expect((await rowsOf(content, list(records))).map(brief)).toEqual(expected)
  })

  test('have row, line and byte offset, and their text as it came', async () => {
    const content = '\ufeff{"note":"é\\n",\n "rows": [\n  {"a": "é"}, {"b":\n 2}\n ,3]}'
    const at = (part: string) => Buffer.byteLength(content.slice(0, content.indexOf(part)))
    expect(await rowsOf(content, list('$.rows[*]'))).toEqual([
      { kind: 'json', row: 1, line: 3, byteOffset: at('{"a"'), value: { a: 'é' }, text: '{"a": "é"}' },
      { kind: 'json', row: 2, line: 3, byteOffset: at('{"b"'), value: { b: '2' }, text: '{"b":\n 2}' },
      { kind: 'json', row: 3, line: 5, byteOffset: at('3]}'), value: '3', text: '3' },
    ])
  })

  test('keep every number as it was written', async () => {
    const numbers = [
      '5.10',
      '12345678901234567890',
      '1E400',
      '-0',
      '-0.0e-0',
      '1e5',
      '0.1000000000000000055511151231257827',
    ]
    expect((await rowsOf(`[${numbers.join(' , ')},{"v":[${numbers.join()}]}]`, TOP)).map(brief)).toEqual([
      ...numbers,
      { v: numbers },
    ])
  })

  test('in UTF-16, known by its mark or its NULs', async () => {
    const content = '[{"name":"Zoë 中 😀","v":5.10},{"v":2}]'
    for (const text of [content, `\ufeff${content}`]) {
      const little = Buffer.from(text, 'utf16le')
      for (const bytes of [little, Buffer.from(little).swap16()])
        expect((await rowsOf(bytes, TOP)).map(brief)).toEqual([{ name: 'Zoë 中 😀', v: '5.10' }, { v: '2' }])
    }
  })
})

describe('the context', () => {
  const context = { sentAt: '$.meta.sentAt', lab: '$.data.lab', all: '$.meta' }

  test('is read of what stands before the list, and is there from any row on', async () => {
    const content = '{"meta":{"sentAt":"2026-01-31","n":[1.0]},"data":{"lab":7,"rows":[1,2,3],"z":0},"y":[]}'
    const opened = await openExport(await exportFile(content), list('$.data.rows[*]', context))
    const rows = await collect(opened.rows())
    const expected = { sentAt: '2026-01-31', lab: '7', all: { sentAt: '2026-01-31', n: ['1.0'] } }
    expect(rows.map((row) => row.kind === 'json' && row.context)).toEqual([expected, expected, expected])
    expect(await collect(opened.rows(rows[1]))).toEqual(rows.slice(1))
  })

  test.each([
    ['{"rows":[1],"sentAt":"SECRET"}', /no sentAt \(\$\.sentAt\)/],
    ['{"other":1,"rows":[1]}', /no sentAt \(\$\.sentAt\)/],
    ['{"sentAt":1,"sentAt":2,"rows":[1]}', /has "sentAt" twice/],
    [`{"sentAt":"${'x'.repeat(2 * MIB)}","rows":[1]}`, /longer than 1024 KiB/],
  ])('is refused where %.40s', async (content, message) => {
    const opening = openExport(await exportFile(content), list('$.rows[*]', { sentAt: '$.sentAt' }))
    await expect(opening).rejects.toMatchObject({
      code: 'export-unreadable',
      message: expect.stringMatching(message),
    })
    await expect(opening).rejects.not.toMatchObject({ message: expect.stringMatching(/SECRET/) })
  })

  test('holds for a file of one document', async () => {
    const rows = await rowsOf('{"s":1,"rows":[1]}{"s":2,"rows":[2]}', list('$.rows[*]', { s: '$.s' }))
    expect(rows.map(brief)).toEqual(['1', 'rest-unreadable'])
    expect(rows[1]).toMatchObject({ message: expect.stringMatching(/second document.*line 1, column 19/) })
  })
})

test.each([
  ['$[*]', '{"data":[1],"meta":"SECRET"}', 'the document is an object with "data", "meta"', 1, 1],
  ['$[*]', ' \n "SECRET"', 'the document is a single value, not a list', 2, 2],
  ['$[*]', 'null', 'the document is a single value, not a list', 1, 1],
  [
    '$.results[*]',
    '{"data":"SECRET","x":{"results":[1]}}',
    'the document is an object with "data", "x"',
    1,
    1,
  ],
  ['$.results[*]', '{}', 'an object without members', 1, 1],
  ['$.results[*]', '[{"results":[]}]', 'the document is a list, not an object', 1, 1],
  ['$.data.results[*]', '{"data":{"SECRET":1}}', '$.data is an object without "results"', 1, 9],
  ['$.data.results[*]', '{"data":[]}', '$.data is a list, not an object', 1, 9],
  ['$.data[*]', '{"data":"SECRET"}', '$.data is a single value, not a list', 1, 9],
  ['$.data[*]', '{"é":1,\n"x":tru,"data":[1]}', 'not JSON: it breaks off', 2, 5],
  ['$.data[*]', '{"x":["\\q"],"data":[1]}', 'not JSON: it breaks off', 1, 8],
  ['$.data[*]', '{"x":[1,],"data":[1]}', 'not JSON: it breaks off', 1, 9],
  ['$.data[*]', '{"x":01,"data":[1]}', 'not JSON: it breaks off', 1, 6],
  ['$.data[*]', '{"x":1', 'it ends too early', 1, 7],
  ['$.data[*]', '{"x":"SECRET', 'it ends too early', 1, 13],
])('%s in %s is refused when it is opened', async (records, content, message, line, column) => {
  const path = await exportFile(content)
  const opening = openExport(path, list(records))
  await expect(opening).rejects.toMatchObject({
    code: 'export-unreadable',
    message: expect.stringContaining(message),
    place: { file: path, line, column },
  })
  await expect(opening).rejects.not.toMatchObject({ message: expect.stringMatching(/SECRET/) })
})

test.each(['', ' \n\t', '\ufeff'])('%j is empty', async (content) => {
  await expect(openExport(await exportFile(content), TOP)).rejects.toMatchObject({ code: 'export-empty' })
})

describe('what cannot be read', () => {
  test.each([
    ['[{"a":NaN},2]', 'row-json-invalid', 'breaks off at line 1, column 7'],
    ['[\n {"é":1,\n "b":undefined}\n,2]', 'row-json-invalid', 'breaks off at line 3, column 6'],
    ["[{'a':1},2]", 'row-json-invalid', 'breaks off at line 1, column 3'],
    ['[{"a":1,},2]', 'row-json-invalid', 'breaks off at line 1, column 9'],
    ['[{"a":1 "b":2},2]', 'row-json-invalid', 'breaks off at line 1, column 9', 'lost'],
    ['[01,2]', 'row-json-invalid', 'breaks off at line 1, column 3'],
    ['["\\q",2]', 'row-json-invalid', 'breaks off at line 1, column 2'],
    ['[{"a":1,"a":2},2]', 'row-json-invalid', 'names a key twice'],
    [Buffer.from('[{"a":"\u00e9"},2]', 'latin1'), 'row-encoding-invalid', 'UTF-8'],
  ])('%s costs one element, where it ends for certain', async (content, fault, message, lost?: string) => {
    const rows = await rowsOf(content, TOP)
    expect(rows[0]).toMatchObject({ fault: lost === undefined ? fault : 'rest-unreadable' })
    if (lost === undefined) {
      expect(rows[0]).toMatchObject({ message: expect.stringContaining(message) })
      expect(rows[1]).toMatchObject({ row: 2, value: '2' })
    }
    expect(rows).toHaveLength(lost === undefined ? 2 : 1)
  })

  test.each([
    // A quote too many, a quote too few, brackets that do not match, a comma too few or too many, a cut, garbage behind.
    ['[1,{"a":"5"10"},{"b":1}]', ['1'], 'line 1, column 12'],
    ['[1,{"a":"x},{"b":1}]', ['1'], 'line 1, column 15'],
    ['[1,{"a":"x},\n{"b":1}]', ['1'], 'line 1, column 9'],
    ['[1,{"a":[1},{"b":1}]', ['1'], 'line 1, column 11'],
    ['[1,2\n 3]', ['1'], 'line 2, column 2'],
    ['[1,,2]', ['1'], 'line 1, column 4'],
    ['[1,\n]', ['1'], 'line 2, column 1'],
    ['[1,2}', ['1'], 'line 1, column 5'],
    ['[1,{"a":[', ['1'], 'line 1, column 10'],
    ['[1,', ['1'], 'line 1, column 4'],
    ['[1,2', ['1'], 'line 1, column 5'],
    ['[', [], 'line 1, column 2'],
    ['[1] x', ['1'], 'line 1, column 5'],
    ['[1]]', ['1'], 'line 1, column 4'],
    ['[1] {"a":1}', ['1'], 'line 1, column 5'],
  ])('%s ends the reading with one row for all that follows', async (content, before, place) => {
    const rows = await rowsOf(content, TOP)
    expect(rows.map(brief)).toEqual([...before, 'rest-unreadable'])
    expect(rows.at(-1)).toMatchObject({ row: rows.length, message: expect.stringContaining(`(${place})`) })
  })

  test.each([
    ['{"rows":[1],"rows":[2]}', 'has "rows" twice (line 1, column 13)'],
    ['{"rows":[1],"x":[1,}}', 'breaks off (line 1, column 20)'],
    ['{"rows":[1]', 'ends too early (line 1, column 12)'],
    ['{"rows":[1]}{"x":2}', 'the document is an object with "x" (line 1, column 13)'],
  ])('%s behind the list is found', async (content, message) => {
    const rows = await rowsOf(content, list('$.rows[*]'))
    expect(rows.map(brief)).toEqual(['1', 'rest-unreadable'])
    expect(rows[1]).toMatchObject({ message: expect.stringContaining(message) })
  })

  test('an element without the member that is its row is counted', async () => {
    const rows = await rowsOf('{"entry":[{"resource":1},{"x":1},7]}', list('$.entry[*].resource'))
    expect(rows.map(brief)).toEqual(['1', 'row-member-missing', 'row-member-missing'])
    expect(rows[1]).toMatchObject({ row: 2, text: '{"x":1}' })
  })

  test.each([2, 100_000])(
    'columns count from the line’s start, %d bytes before the element',
    async (before) => {
      const content = `{"x":1,\n"y":"${'z'.repeat(before)}","rows":[7,{"a":NaN}]}`
      const opened = await openExport(await exportFile(content), list('$.rows[*]'))
      const rows = await collect(opened.rows())
      const message = `not JSON: it breaks off at line 2, column ${before + 23}`
      expect(rows[1]).toMatchObject({ message })
      expect(await collect(opened.rows(rows[1]))).toEqual(rows.slice(1))
    },
  )

  test('no message holds a value', async () => {
    for (const content of [
      '[{"a":SECRET}]',
      '[{"a":"SECRET"SECRET}]',
      '["SECRET',
      '[1]SECRET',
      '[{"a":1 "SECRET":1}]',
    ]) {
      const rows = await rowsOf(content, TOP)
      for (const row of rows) if (row.kind === 'unreadable') expect(row.message).not.toContain('SECRET')
      expect(rows.at(-1)?.kind).toBe('unreadable')
    }
  })
})

describe('size', () => {
  test('an element of 16 MiB is read, a larger one passed over without being held', async () => {
    const text = (bytes: number) => `{"v":"${'x'.repeat(bytes - 8)}"}`
    const content = `[${text(16 * MIB)},\n${text(17 * MIB)} ,{"a":"y"}]`
    const opened = await openExport(await exportFile(content), TOP)
    const rows = await collect(opened.rows())
    expect(rows.map((row) => (row.kind === 'json' ? row.text.length : brief(row)))).toEqual([
      16 * MIB,
      'row-too-large',
      9,
    ])
    expect(rows[1]).toMatchObject({ text: text(17 * MIB).slice(0, 64 * 1024) })
    expect(rows[2]).toMatchObject({ row: 3, line: 2, byteOffset: 33 * MIB + 5 })
    expect(await collect(opened.rows(rows[1]))).toEqual(rows.slice(1))
  })

  test('texts and lists around the rows are passed over, whatever their size', async () => {
    const long = `"${'é\\n'.repeat(MIB / 4)}"`
    const content = `{"pdf":${long},"all":[${'[1,{"a":null}],'.repeat(25_000)}0],"rows":[1,2],"more":${long}}`
    const rows = await rowsOf(content, list('$.rows[*]'))
    expect(rows.map(brief)).toEqual(['1', '2'])
  })

  test('nesting deeper than the stack does not end the reading', async () => {
    const deep = 200_000
    const nested = '['.repeat(deep) + ']'.repeat(deep)
    expect((await rowsOf(`[${nested},1]`, TOP)).map((row) => row.kind)).toEqual(['unreadable', 'json'])
    await expect(rowsOf(`{"x":${nested},"rows":[1]}`, list('$.rows[*]'))).rejects.toMatchObject({
      code: 'export-unreadable',
    })
  })

  test('takes linear time in one element and in many', async () => {
    const time = async (content: string) => {
      const path = await exportFile(content)
      return processorMs(async () => {
        for await (const _ of (await openExport(path, TOP)).rows());
      })
    }
    await time(`[${'{"a":"x"},'.repeat(1000)}1]`)
    expect(await time(`[{"a":[${'"\\"",'.repeat(MIB / 2)}1]}]`)).toBeLessThan(4_000)
    expect(await time(`[${'{"a":NaN},'.repeat(50_000)}1]`)).toBeLessThan(4_000)
    expect(await time(`[${'{"a":[[[['.repeat(50_000)}`)).toBeLessThan(4_000)
  })
})

test.each([
  [{ records: '$.a' }, 'must name a list'],
  [{ records: '$.a[*].b[*]' }, 'two lists'],
  [{ records: '$..a[*]' }, 'names of members'],
  [{ records: '$[0]' }, 'names of members'],
  [{ records: "$['a','b'][*]" }, 'names of members'],
  [{ records: 'a[*]' }, ''],
  [{ context: { a: '$.a' } }, 'elements of a list'],
  [{ records: '$', context: { a: '$.a' } }, 'elements of a list'],
  [{ records: '$.r[*]', context: { a: '$' } }, 'name a member'],
  [{ records: '$.r[*]', context: { a: '$.x[*]' } }, 'names alone'],
  [{ records: '$.r[*]', context: { 'a b': '$.x' } }, 'named by a word'],
])('%j is refused', (read, message) => {
  const parsed = readDefinition.safeParse({ format: 'json', ...read })
  expect(parsed.success).toBe(false)
  expect(JSON.stringify(parsed.error?.issues)).toContain(message)
})

const space = fc.string({ unit: fc.constantFrom(' ', '\n', '\r', '\t'), maxLength: 3 })

describe('properties', () => {
  test('any values, with any white space, read back the same with numbers as text', async () => {
    const content = fc
      .array(fc.tuple(fc.jsonValue({ maxDepth: 4 }), space, space, fc.constantFrom(0, 1, 2)))
      .map((values) => {
        const texts = values.map(([value, , , indent]) => JSON.stringify(value, null, indent))
        return { texts, list: texts.map((text, at) => values[at]?.[1] + text + values[at]?.[2]).join(',') }
      })
    await fc.assert(
      fc.asyncProperty(content, space, fc.json(), async ({ texts, list: inner }, around, other) => {
        const expected = texts.map((text) => JSON.parse(text, numberSource))
        const top = await rowsOf(`${around}[${inner}${around}]${around}`, TOP)
        expect(top.map(brief)).toEqual(expected)
        expect(top.map((row) => row.kind === 'json' && row.text)).toEqual(texts)
        const deep = `{"x":${other},${around}"d":{"r":[${inner}],"z":${other}}}`
        expect((await rowsOf(deep, list('$.d.r[*]'))).map(brief)).toEqual(expected)
      }),
      { numRuns: 45 },
    )
  })

  const piece = fc.oneof(
    fc.json({ maxDepth: 2 }),
    fc.constantFrom(
      '{"r":[',
      ']}',
      ',',
      '[',
      ']',
      '{"r":',
      '}',
      '{"a":NaN}',
      '{"a":"5"6"}',
      '"',
      '\n',
      ' ',
      'null',
      '1',
      ',',
    ),
  )

  test('from any row on, the rows are the same, whatever the bytes and however packed', async () => {
    const content = fc.tuple(
      fc.constantFrom('[', '{"r":[', '{"r":', '{"x":1,\n"r":['),
      fc.array(piece, { maxLength: 14 }),
    )
    await fc.assert(
      fc.asyncProperty(content, fc.boolean(), async ([head, parts], zipped) => {
        const text = head + parts.join('')
        const path = await exportFile(zipped ? gzipSync(text) : text)
        const opened = await openExport(path, head === '[' ? TOP : list('$.r[*]')).catch(() => undefined)
        if (opened === undefined) return
        const rows = await collect(opened.rows())
        expect(rows.map(({ row }) => row)).toEqual(rows.map((_, at) => at + 1))
        for (const [at, row] of rows.entries())
          expect(await collect(opened.rows(row))).toEqual(rows.slice(at))
        expect(rows.slice(0, -1).map(brief)).not.toContain('rest-unreadable')
        if (!endsWell(text)) expect(rows.map((row) => row.kind)).toContain('unreadable')
      }),
      { numRuns: 60 },
    )
  })

  test('blocks and borders of what is read at once change nothing', async () => {
    const elements = Array.from({ length: 30_000 }, (_, at) => `{"no":${at},"é":"${'😀'.repeat(at % 7)}"}`)
    const content = Buffer.from(`{"x":"${'é'.repeat(200_000)}","r":[\n${elements.join(' ,\n')}\n]}`)
    const opened = await openExport(await exportFile(content), list('$.r[*]'))
    const rows = await collect(opened.rows())
    expect(rows.length).toBe(elements.length)
    for (const [at, row] of rows.entries()) {
      const { byteOffset, line } = row
      const text = elements[at] ?? ''
      if (row.kind !== 'json' || row.text !== text || line !== at + 2) expect.fail(`row ${row.row}`)
      const found = content.subarray(byteOffset, byteOffset + Buffer.byteLength(text)).toString()
      if (found !== text) expect.fail(`offset of row ${row.row}`)
    }
    const tail: Row[] = await collect(opened.rows(rows[29_000]))
    expect(tail).toEqual(rows.slice(29_000))
  })
})

/** Whether a text is JSON documents one after another: each as long as one can be. */
function endsWell(text: string): boolean {
  let rest = text.trim()
  while (rest !== '') {
    const end = Array.from({ length: rest.length }, (_, at) => rest.length - at).find((length) => {
      try {
        JSON.parse(rest.slice(0, length))
        return true
      } catch {
        return false
      }
    })
    if (end === undefined) return false
    rest = rest.slice(end).trim()
  }
  return true
}
