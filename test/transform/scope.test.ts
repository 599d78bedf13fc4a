import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonValue } from '../../src/extract/row.ts'
import { csvNames, jsonNames } from '../../src/transform/scope.ts'

const noReport = (level: string, message: string): never => expect.fail(`${level}: ${message}`)

/** What a path reads in a document without levels. */
const read = (document: JsonValue, path: string): string | null =>
  jsonNames({}, noReport).locate(path).read([document])

describe('columns', () => {
  it('are read by name, trimmed', () => {
    const missing = new Set<string>()
    const names = csvNames(['id', ' odd name', '__proto__'], missing)
    const row = ['  A 1 ', 'x', 'y']
    expect(names.locate('id').read(row)).toBe('A 1')
    expect(names.locate(' odd name').read(row)).toBe('x')
    expect(names.locate('__proto__').read(row)).toBe('y')
    expect(names.scopes(row, 0)).toEqual([row])
    expect(missing).toEqual(new Set())
  })

  it('that are not there are collected, and read as empty', () => {
    const missing = new Set<string>()
    const names = csvNames(['id'], missing)
    expect(names.locate('constructor').read(['A'])).toBe('')
    names.locate('weight')
    expect(missing).toEqual(new Set(['constructor', 'weight']))
  })
})

describe('paths (RFC 9535)', () => {
  const document: JsonValue = {
    PID: { 'PID.3': { 'PID.3.1': '94000000000000000001' }, "it's": 'quoted', 'a"b': 'double' },
    list: ['first', { name: 'second' }, 'last'],
    yes: true,
    no: false,
    nothing: null,
    blank: '   ',
    umlaut_ü: 'ü',
    '': 'empty name',
    '☃': 'snow',
  }

  it.each([
    ["$.PID['PID.3']['PID.3.1']", '94000000000000000001'],
    ['$["PID"]["PID.3"]["PID.3.1"]', '94000000000000000001'],
    ["$.PID['it\\'s']", 'quoted'],
    ['$.PID["a\\"b"]', 'double'],
    ['$.list[0]', 'first'],
    ['$.list[1].name', 'second'],
    ['$.list[-1]', 'last'],
    ['$.list[9]', ''],
    ['$.yes', 'true'],
    ['$.no', 'false'],
    ['$.nothing', ''],
    ['$.blank', ''],
    ['$.umlaut_ü', 'ü'],
    ["$['']", 'empty name'],
    ["$['\\u2603']", 'snow'],
    // A parent that is not there, is null, or is no object.
    ['$.absent.deeper.still', ''],
    ['$.nothing.deeper', ''],
    ['$.yes.deeper', ''],
    ['$.list.length', ''],
    ['$.blank.length', ''],
    ['$.PID[0]', ''],
    // Not what JavaScript adds.
    ['$.__proto__', ''],
    ["$['constructor']['name']", ''],
    ['$.toString', ''],
    // An object or a list is no single value.
    ['$.PID', null],
    ['$.list', null],
    ['$', null],
  ])('%s', (path, expected) => {
    expect(read(document, path)).toBe(expected)
  })

  it('read own keys named like those of every object', () => {
    expect(
      read(JSON.parse('{"__proto__":{"constructor":"kept"}}') as JsonValue, '$.__proto__.constructor'),
    ).toBe('kept')
  })

  it.each([
    ['PID', 'must start with $'],
    ['', 'must start with $'],
    ['obx.value', 'must start with $'],
    ['$.list[*]', 'several'],
    ['$..name', 'several'],
    ['$.list[0:1]', 'several'],
    ["$['a','b']", 'several'],
    ['$.list[?@.name]', 'several'],
    ['$.', ''],
    ["$['open", ''],
    ['$.PID.PID.3', ''],
  ])('%j is refused', (path, part) => {
    expect(() => jsonNames({}, noReport).locate(path)).toThrow(part)
  })
})

describe('levels', () => {
  const names = jsonNames({ order: '$.ORDERS[*]', obx: 'order.OBX[*]' }, noReport)
  const document: JsonValue = {
    id: 'm1',
    ORDERS: [
      { no: '1', OBX: [{ v: 'a' }, { v: 'b' }] },
      { no: '2', OBX: { v: 'c' } },
      { no: '3' },
      { no: '4', OBX: null },
    ],
  }

  it('give their elements in document order, a single object as a list of one', () => {
    const value = names.locate('obx.v')
    const order = names.locate('order.no')
    const id = names.locate('$.id')
    expect([id.depth, order.depth, value.depth]).toEqual([0, 1, 2])
    const scopes = names.scopes([document], 2)
    expect(scopes.map((scope) => [id.read(scope), order.read(scope), value.read(scope)])).toEqual([
      ['m1', '1', 'a'],
      ['m1', '1', 'b'],
      ['m1', '2', 'c'],
    ])
    expect(names.scopes([document], 1).map((scope) => order.read(scope))).toEqual(['1', '2', '3', '4'])
  })

  it('can hold bare values', () => {
    const values = jsonNames({ value: '$.values[*]' }, noReport)
    const one = values.locate('value')
    expect(values.scopes([{ values: ['1', null, '2'] }], 1).map((scope) => one.read(scope))).toEqual([
      '1',
      '',
      '2',
    ])
  })

  it.each([[null], ['text'], [{}], [{ ORDERS: [] }], [{ ORDERS: null }]])('of %j are none', (without) => {
    expect(names.scopes([without], 2)).toEqual([])
  })

  it.each([
    [{ obx: '$.OBX' }, ['obx'], 'must end in [*]'],
    [{ obx: 'order.OBX[*]' }, ['obx'], 'none here'],
    [{ obx: '$.OBX[[*]' }, ['obx'], ''],
    [{ obx: '$.A[*].B[*]' }, ['obx'], 'several'],
    [{ order: '$.ORDERS[*]', note: '$.NOTES[*]' }, ['note'], 'within the one before it'],
    [{ a: '$.A', b: '$.B' }, ['a', 'b'], '[*]'],
  ])('%j are refused', (each, levels, part) => {
    const reports: [string, string][] = []
    jsonNames(each, (level, message) => reports.push([level, message]))
    expect(reports.map(([level]) => level)).toEqual(levels)
    expect(reports[0]?.[1]).toContain(part)
  })
})

describe('a law', () => {
  it('reading never throws, whatever the document', () => {
    const names = jsonNames({ order: '$.ORDERS[*]', obx: 'order.OBX[*]' }, noReport)
    const located = ['$.ORDERS', 'order.no', "obx['v'][0]", '$'].map((path) => names.locate(path))
    const key = fc.constantFrom('ORDERS', 'OBX', 'no', 'v', '__proto__', '')
    const { document } = fc.letrec<{ document: JsonValue }>((tie) => ({
      document: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom<JsonValue>(null, true, 'x', ''),
        fc.array(tie('document'), { maxLength: 3 }),
        fc.dictionary(key, tie('document'), { maxKeys: 4 }),
      ),
    }))
    fc.assert(
      fc.property(document, (value) => {
        for (const depth of [0, 1, 2]) {
          for (const scope of names.scopes([value], depth)) {
            expect(scope).toHaveLength(depth + 1)
            for (const one of located) expect(['string', 'object']).toContain(typeof one.read(scope))
          }
        }
      }),
    )
  })
})
