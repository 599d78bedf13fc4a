import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { WaybillError } from '../../src/model/errors.ts'
import type { JsonValue } from '../../src/model/row.ts'
import { csvNames, jsonNames, type Located, refuseMissing, rootScope } from '../../src/transform/scope.ts'
import { refusalOf } from './mapping-under-test.ts'

const noReport = (level: string, message: string): never => expect.fail(`${level}: ${message}`)

const root = (value: JsonValue, context?: JsonValue) =>
  rootScope({
    kind: 'json',
    row: 1,
    line: 1,
    byteOffset: 0,
    text: '',
    value,
    ...(context === undefined ? {} : { context }),
  })

/** What a path reads in a document without levels. */
const read = (document: JsonValue, path: string): string | null =>
  jsonNames({}, noReport).locate(path).read(root(document))

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
    none: [],
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
    ['$.yes', 'true'],
    ['$.no', 'false'],
    ['$.umlaut_ü', 'ü'],
    ["$['']", 'empty name'],
    ["$['\\u2603']", 'snow'],
    // A lone value stands for a list of one, as converters write it.
    ['$.yes[0]', 'true'],
    ['$.PID[-1]["it\'s"]', 'quoted'],
    // A filter that holds for one element.
    ["$.list[?@.name == 'second'].name", 'second'],
    ["$.list[?@ == 'last']", 'last'],
    ["$.list[?@ != 'x'].name", 'second'],
    ["$.PID[?@['a\"b'] == 'double']['PID.3']['PID.3.1']", '94000000000000000001'],
  ])('%s', (path, expected) => {
    expect(read(document, path)).toBe(expected)
  })

  it.each([
    ...[
      ...['$.list[9]', '$.nothing', '$.blank', '$.nothing[0]', '$.none.name'],
      ...["$.list[?@.name == 'third'].name"],
    ],
    // A parent that is not there, is null, or is no object.
    ...['$.absent.deeper.still', '$.nothing.deeper', '$.yes.deeper', '$.blank.length', '$.yes[1]'],
    // Not what JavaScript adds.
    ...['$.blank[?@.constructor]', '$.__proto__', "$['constructor']['name']", '$.toString'],
  ])('%s is empty', (path) => expect(read(document, path)).toBe(''))

  // Which element of a list a name asks for cannot be told: that is no absence. Nor is an object or a list a single value.
  it.each([...['$.list.length', '$.list.name', "$.list[?@ != 'x']", '$.PID', '$.list', '$']])(
    '%s is no single value',
    (path) => expect(read(document, path)).toBeNull(),
  )

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
    ['context.sentAt', 'is not a name of read.context'],
    ['context', 'is not a name of read.context'],
    ['$.', ''],
    ["$['open", ''],
    ['$.PID.PID.3', ''],
  ])('%j is refused', (path, part) => {
    expect(() => jsonNames({}, noReport).locate(path)).toThrow(part)
  })
})

describe('levels', () => {
  const names = jsonNames({ each: { order: '$.ORDERS[*]', obx: 'order.OBX[*]' } }, noReport)
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
    expect([id.branch, order.branch, value.branch]).toEqual([0b00, 0b01, 0b11])
    const scopes = names.scopes(root(document), value.branch)
    expect(scopes.map((scope) => [id.read(scope), order.read(scope), value.read(scope)])).toEqual([
      ['m1', '1', 'a'],
      ['m1', '1', 'b'],
      ['m1', '2', 'c'],
    ])
    expect(names.scopes(root(document), order.branch).map((scope) => order.read(scope))).toEqual([
      '1',
      '2',
      '3',
      '4',
    ])
  })

  it('can hold bare values', () => {
    const values = jsonNames({ each: { value: '$.values[*]' } }, noReport)
    const one = values.locate('value')
    expect(values.scopes(root({ values: ['1', null, '2'] }), 1).map((scope) => one.read(scope))).toEqual([
      '1',
      '',
      '2',
    ])
  })

  it('can be chosen by a filter, which leaves lists whole', () => {
    const obx = jsonNames({ each: { obx: "$[?@[0] == 'OBX']" } }, noReport)
    const message: JsonValue = [['PID', ['a']], ['OBX', ['1', '62']], ['NTE'], ['OBX', ['2', '72']]]
    const value = obx.locate('obx[1][1]')
    expect(obx.scopes(root(message), 1).map((scope) => value.read(scope))).toEqual(['62', '72'])
  })

  it('lose nothing where a list stands for an object on the way', () => {
    const found = jsonNames({ each: { obx: '$.GROUP.ORDER.OBX[*]' } }, noReport)
    const value = found.locate('obx.v')
    const groups: JsonValue = {
      GROUP: [{ ORDER: { OBX: [{ v: '1' }, { v: '2' }] } }, { ORDER: [{ OBX: { v: '3' } }, {}] }, {}],
    }
    expect(found.scopes(root(groups), 1).map((scope) => value.read(scope))).toEqual(['1', '2', '3'])
  })

  it('stand beside what was read of the document around the rows', () => {
    const batch = jsonNames(
      { each: { obx: '$.OBX[*]' }, context: { sentAt: '$.sentAt', by: '$.by' } },
      noReport,
    )
    const [sentAt, site, value] = ['context.sentAt', "context.by['site']", 'obx'].map((path) =>
      batch.locate(path),
    )
    expect([sentAt?.branch, site?.branch, value?.branch]).toEqual([0, 0, 1])
    const scopes = batch.scopes(root({ OBX: ['1', '2'] }, { sentAt: '2026', by: { site: 'A' } }), 1)
    expect(scopes.map((scope) => [sentAt, site, value].map((one) => one?.read(scope)))).toEqual([
      ['2026', 'A', '1'],
      ['2026', 'A', '2'],
    ])
  })

  it('may stand side by side, and are not entered together', () => {
    const each = {
      visit: '$.visits[*]',
      lab: 'visit.labs[*]',
      dx: 'visit.dx[*]',
      drug: { from: 'dx.drugs', by: '+' },
    }
    const visits = jsonNames({ each }, noReport)
    const [no, lab, dx, drug] = ['visit.no', 'lab', 'dx.code', 'drug'].map((path) => visits.locate(path))
    expect([no, lab, dx, drug].map((one) => one?.branch)).toEqual([0b0001, 0b0011, 0b0101, 0b1101])
    const document: JsonValue = {
      visits: [
        {
          no: '1',
          labs: ['a', 'b'],
          dx: [
            { code: 'E11', drugs: 'x + y' },
            { code: 'I10', drugs: '' },
          ],
        },
        { no: '2', labs: ['c'] },
      ],
    }
    const told = (one: Located | undefined) =>
      one && visits.scopes(root(document), one.branch).map((scope) => `${no?.read(scope)} ${one.read(scope)}`)
    expect(told(lab)).toEqual(['1 a', '1 b', '2 c'])
    expect(told(dx)).toEqual(['1 E11', '1 I10'])
    expect(told(drug)).toEqual(['1 x', '1 y'])
    expect([0b0001, 0b0011, 0b1101].map((branch) => visits.apart(branch))).toEqual([
      undefined,
      undefined,
      undefined,
    ])
    expect(visits.apart(0b0111)).toEqual(['lab', 'dx'])
  })

  it('of CSV are the parts of a cell, which hold something, and stand before a column of their name', () => {
    const missing = new Set<string>()
    const each = {
      dx: { from: 'dx', by: ';' },
      code: { from: 'dx', by: '^' },
      other: { from: 'gone', by: ',' },
    }
    const names = csvNames(['id', 'dx'], missing, new Set(), each)
    const [id, dx, code] = ['id', 'dx', 'code'].map((name) => names.locate(name))
    const row = rootScope({
      kind: 'cells',
      row: 1,
      line: 2,
      byteOffset: 9,
      cells: ['7', ' E11.9^x ;; I10 ;'],
    })
    const told = (one: Located | undefined) =>
      one && names.scopes(row, one.branch).map((scope) => [id?.read(scope), one.read(scope)])
    expect(told(dx)).toEqual([
      ['7', 'E11.9^x'],
      ['7', 'I10'],
    ])
    expect(told(code)?.map(([, text]) => text)).toEqual(['E11.9', 'x', 'I10'])
    expect([...missing]).toEqual(['gone'])
    expect(names.scopes(row, names.locate('other').branch)).toEqual([])
  })

  it.each([[null], ['text'], [{}], [{ ORDERS: [] }], [{ ORDERS: null }]])('of %j are none', (without) => {
    expect(names.scopes(root(without), 0b11)).toEqual([])
  })

  it.each([
    [{ obx: '$.OBX' }, ['obx'], 'must end in [*]'],
    [{ obx: 'order.OBX[*]' }, ['obx'], 'none here'],
    [{ obx: '$.OBX[[*]' }, ['obx'], ''],
    [{ obx: '$.A[*].B[*]' }, ['obx'], 'several'],
    [{ a: '$.A', b: '$.B' }, ['a', 'b'], '[*]'],
    [{ context: '$.A[*]' }, ['context'], 'another name'],
    [{ a: 'context.A[*]' }, ['a'], 'is not a name of read.context'],
    [{ b: 'a.B[*]', a: '$.A[*]' }, ['b'], 'none here'],
  ])('%j are refused', (each, levels, part) => {
    const reports: [string, string][] = []
    jsonNames({ each }, (level, message) => reports.push([level, message]))
    expect(reports.map(([level]) => level)).toEqual(levels)
    expect(reports[0]?.[1]).toContain(part)
  })
})

describe('a law', () => {
  it('reading never throws, whatever the document', () => {
    const names = jsonNames({ each: { order: '$.ORDERS[*]', obx: 'order.OBX[*]' } }, noReport)
    const located = ['$.ORDERS', 'order.no', "obx['v'][0]", '$', '$[?@.no].v', '$[?@ == "x"][?@.v][0]'].map(
      (path) => names.locate(path),
    )
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
        for (const [depth, branch] of [0b00, 0b01, 0b11].entries()) {
          for (const scope of names.scopes(root(value), branch)) {
            expect(scope).toHaveLength(depth + 2)
            for (const one of located) expect(['string', 'object']).toContain(typeof one.read(scope))
          }
        }
      }),
    )
  })
})

/** A row, in the place of a header. */
const ROW_AS_HEADER = ['P17', 'Ann Rowan', '1961-02-03']

describe('columns that an export lacks', () => {
  const refusal = (found: readonly string[]): WaybillError =>
    refusalOf(() =>
      refuseMissing(
        { missing: new Set(['id', 'dob']), found: new Set(found) },
        'day.csv',
        ROW_AS_HEADER,
        'the mapping acme',
      ),
    )

  it('what the export has is told where something of it is a column that is read', () => {
    expect(refusal(['P17'])).toMatchObject({
      code: 'columns-missing',
      message: 'day.csv has no column "id", "dob", which the mapping acme reads',
      remedy: expect.stringContaining('Unread columns: Ann Rowan, 1961-02-03.'),
    })
  })

  it('the name that is meant is one of those that no other rule reads', () => {
    const { message } = refusalOf(() =>
      refuseMissing(
        { missing: new Set(['hdl']), found: new Set(['id', 'ldl']) },
        'day.csv',
        ['id', 'ldl', 'hdl_c'],
        'the mapping acme',
      ),
    )
    expect(message).toContain('did you mean "hdl_c"?')
  })

  it('where nothing is, the first line may be a row: nothing of it is told', () => {
    const { message, remedy } = refusal([])
    for (const cell of ROW_AS_HEADER) expect(message + remedy).not.toContain(cell)
    expect(remedy).toContain('check that the first line is the header')
  })
})
