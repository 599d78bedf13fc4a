import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { readDefinition } from '../../src/extract/read-definition.ts'
import { allRows, brief, numberSource, rowsOf } from '../extract/export-file.ts'
import { NEEDS_CORPUS } from '../needed.ts'
import { corpusPath, WITHOUT_CORPUS } from './corpus-file.ts'

const DOCUMENT = readDefinition.parse({ format: 'json' })
const TOP = readDefinition.parse({ format: 'json', records: '$[*]' })

const folder = corpusPath('json-datetime/JSONTestSuite/test_parsing')
const cases = (verdict: string): string[] =>
  WITHOUT_CORPUS
    ? []
    : readdirSync(folder).filter((name) => name.startsWith(verdict) && name.endsWith('.json'))
const content = (name: string): Buffer => readFileSync(`${folder}/${name}`)

// RFC 8259 lets a key occur twice; Waybill does not, since one of the values would be lost.
const TWICE = ['y_object_duplicated_key.json', 'y_object_duplicated_key_and_value.json']
const NOTHING = ['n_structure_UTF8_BOM_no_data.json', 'n_structure_no_data.json']

/** What JSON.parse gives, with numbers as text; undefined where it refuses. */
function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes), numberSource)
  } catch {
    return undefined
  }
}

describe('JSONTestSuite', NEEDS_CORPUS, () => {
  test('what must be accepted is read as it is', async () => {
    const names = cases('y_').filter((name) => !TWICE.includes(name))
    expect(names.length).toBeGreaterThan(90)
    for (const name of names) {
      const expected = parsed(content(name))
      expect(expected, name).toBeDefined()
      expect((await allRows(`${folder}/${name}`, DOCUMENT)).map(brief), name).toEqual([expected])
    }
    for (const name of TWICE)
      expect((await rowsOf(content(name), DOCUMENT)).map(brief)).toEqual(['row-json-invalid'])
  })

  test('what must be rejected is, with line and column', async () => {
    const names = cases('n_').filter((name) => !NOTHING.includes(name))
    expect(names.length).toBeGreaterThan(180)
    for (const name of names) {
      const rows = await allRows(`${folder}/${name}`, DOCUMENT)
      expect(rows, name).toHaveLength(1)
      expect(rows[0], name).toMatchObject({
        kind: 'unreadable',
        message: expect.stringMatching(/line \d+, column \d+/),
      })
    }
    for (const name of NOTHING)
      await expect(allRows(`${folder}/${name}`, DOCUMENT)).rejects.toMatchObject({ code: 'export-empty' })
  })

  test('what is left open is read as it is, or rejected', async () => {
    const names = cases('i_')
    expect(names.length).toBeGreaterThan(30)
    for (const name of names) {
      const [row, ...others] = await allRows(`${folder}/${name}`, DOCUMENT)
      expect(others, name).toEqual([])
      const utf16 = /utf-?16/i.test(name)
      if (row?.kind === 'json') expect(row.value, name).toEqual(utf16 ? ['é'] : parsed(content(name)))
      else
        expect(row?.kind === 'unreadable' && row.message, name).toMatch(
          /line \d+, column \d+|nested deeper than 200 levels/,
        )
    }
  })

  test('each has its verdict as an element of a list, too', async () => {
    for (const name of [...cases('y_'), ...cases('n_'), ...cases('i_')]) {
      const bytes = content(name)
      // A mark, NULs that make UTF-16 of it, or nothing: not what an element can be.
      if (/utf-?16|BOM|no_data|single_space|whitespace_U\+2060|null-byte/i.test(name)) continue
      const list = Buffer.concat([Buffer.from('["before",'), bytes, Buffer.from(',"behind"]')])
      const rows = await rowsOf(list, TOP)
      // Depth has a bound.
      const isRejected = TWICE.includes(name) || name === 'i_structure_500_nested_arrays.json'
      const expected = isRejected ? undefined : parsed(bytes)
      if (expected !== undefined) expect(rows.map(brief), name).toEqual(['before', expected, 'behind'])
      // What is no document alone may be two elements: 1,2.
      else if (!/comma|extra|more/.test(name))
        expect(
          rows.map((row) => row.kind),
          name,
        ).toContain('unreadable')
    }
  })
})

describe('the big list of naughty strings', NEEDS_CORPUS, () => {
  test('survives as values, and its texts byte for byte', async () => {
    const file = corpusPath('json-datetime/blns/blns.json')
    const source = readFileSync(file)
    const expected: unknown = JSON.parse(source.toString())
    const rows = await allRows(file, TOP)
    expect(rows.length).toBeGreaterThan(500)
    expect(rows.map(brief)).toEqual(expected)
    for (const row of rows) {
      const text = row.kind === 'json' ? Buffer.from(row.text) : Buffer.of()
      expect(source.subarray(row.byteOffset, row.byteOffset + text.length).equals(text)).toBe(true)
    }
    // As names of members, too.
    const keyed = JSON.stringify(Object.fromEntries(rows.map((row, at) => [String(brief(row)), at])))
    const [whole] = await rowsOf(keyed, DOCUMENT)
    expect(whole && brief(whole)).toEqual(JSON.parse(keyed, numberSource))
  })
})
