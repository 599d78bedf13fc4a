import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { WaybillError } from '../../src/model/errors.ts'
import { didYouMean } from '../../src/system/schema-problems.ts'
import { parseYaml, refusal } from '../../src/system/yaml-file.ts'

const Schema = z.strictObject({
  name: z.string().min(1),
  rules: z
    .record(
      z.string(),
      z.union([z.string().min(1), z.strictObject({ from: z.string(), sizes: z.array(z.int()).optional() })]),
    )
    .optional(),
})

function refusalOf(text: string, schema: z.ZodType = Schema): WaybillError {
  try {
    parseYaml(text, 'mappings/x.yaml', schema, 'mapping-invalid')
  } catch (error) {
    if (error instanceof WaybillError) return error
    throw error
  }
  return expect.fail('was accepted')
}

describe('a file that fits', () => {
  it('is given with the place of each key', () => {
    const file = parseYaml(
      '# heading\nname: x\nrules:\n  a: b\n  c: { from: d, sizes: [1, 2] }\n',
      'x.yaml',
      Schema,
      'job-invalid',
    )
    expect(file.value).toEqual({ name: 'x', rules: { a: 'b', c: { from: 'd', sizes: [1, 2] } } })
    expect(file.locate(['rules', 'c', 'sizes', 1])).toEqual({
      file: 'x.yaml',
      line: 5,
      column: 28,
      key: 'rules.c.sizes[1]',
    })
    // A key that is not there: the nearest one around it that is.
    expect(file.locate(['rules', 'a', 'from'])).toEqual({
      file: 'x.yaml',
      line: 4,
      column: 6,
      key: 'rules.a.from',
    })
    expect(file.locate([])).toMatchObject({ line: 2, column: 1 })
  })

  it('keeps aliases, and words that YAML 1.1 took for booleans', () => {
    const file = parseYaml(
      'name: &n no\nrules: { a: *n, b: Y, c: 2026-01-01 }',
      'x.yaml',
      Schema,
      'job-invalid',
    )
    expect(file.value).toEqual({ name: 'no', rules: { a: 'no', b: 'Y', c: '2026-01-01' } })
  })

  it('may start with a byte order mark, and end its lines with CR LF', () => {
    expect(parseYaml('\uFEFFname: x\r\n', 'x.yaml', Schema, 'job-invalid').value).toEqual({ name: 'x' })
  })
})

describe('a file that does not fit', () => {
  it('is refused with all findings, in the order of their lines', () => {
    const error = refusalOf('rules:\n  a: { form: b }\n  b: { from: c, sizes: [1, two] }\n  c: 3\nnome: x\n')
    expect(error.code).toBe('mapping-invalid')
    expect(error.message).toBe('mappings/x.yaml: 6 problems')
    expect(error.findings.map(({ place }) => [place.line, place.column, place.key])).toEqual([
      [1, 1, 'name'],
      [2, 6, 'rules.a.from'],
      [2, 14, 'rules.a.form'],
      [3, 28, 'rules.b.sizes[1]'],
      [4, 6, 'rules.c'],
      [5, 7, 'nome'],
    ])
  })

  it.each([
    ['name: a\nname: b', 2],
    ['name: [a', 1],
    ['name: "a', 1],
    ['\tname: a', 1],
    ['name: a\n---\nname: b', 2],
    ['rules:\n  a: b\n c: d', 3],
  ])('%j is a fault of syntax', (text, line) => {
    const error = refusalOf(text)
    expect(error.findings.length).toBeGreaterThan(0)
    expect(error.findings[0]?.place).toMatchObject({ file: 'mappings/x.yaml', line })
  })

  it.each([
    ['\tname: a', 'begins with a tab; indent with blanks'],
    [
      'name: a: b',
      'a key within a value: put a text that holds ": " in quotes, or begin the block of keys on the next line',
    ],
    ['name: @a', 'a text that begins with @ must stand in quotes'],
    ['name: *.csv', '*.csv refers to no anchor in this file; put a text that begins with * in quotes'],
    ['name: "\\d+"', '\\d means nothing in double quotes; put the text in single quotes'],
    ['name: a\nname: b', 'the key appears twice in its block'],
    ['name: a\n---\nname: b', 'a second document begins with ---; a file holds one'],
    ['name: [a', 'the list or block before it is not closed with ]'],
    ['name: { a: b', 'the list or block before it is not closed with }'],
    ['rules:\n  a: b\n c: d', 'must begin in the same column as the line above it in its block'],
    ['name: "a', 'the quote before it is not closed'],
    ['name: a\nrules', 'no colon and value follow the key'],
    ['name: a\nrules\nx: d', 'no colon with a blank behind it follows on this line'],
    ['name: - a', 'begin the list on a line of its own, or write it in [ ]'],
    ["name: 'it's'", 'follows a value that has ended; write a single quote within single quotes twice'],
    ['name: |x\n a', 'Block scalar header includes extra characters: |x'],
  ])('%j is told in plain words', (text, told) => {
    const [finding] = refusalOf(text).findings
    expect(finding?.message).toBe(told)
    expect(finding?.place.line).toBeGreaterThan(0)
  })

  it('tells of one slip once', () => {
    expect(refusalOf('name: a\n rules: d').findings).toHaveLength(1)
  })

  it.each([
    ['name: &a [*a]', 'itself'],
    [
      `a0: &a0 [x, x]\n${Array.from({ length: 30 }, (_, at) => `a${at + 1}: &a${at + 1} [*a${at}, *a${at}]`).join('\n')}`,
      'alias',
    ],
  ])('%.20j has an alias that cannot be resolved', (text, part) => {
    expect(refusalOf(text, z.unknown()).findings[0]?.message).toContain(part)
  })

  it.each(['', '# nothing', '[]', 'text', '3'])('%j is no map', (text) => {
    const [finding] = refusalOf(text).findings
    expect(finding?.message).toBe('must be a block of keys')
    expect(finding?.place.file).toBe('mappings/x.yaml')
  })

  it('of several forms, is told by the form that was meant', () => {
    const forms = z.strictObject({ a: z.union([z.string().min(3), z.array(z.string()).min(2)]) })
    expect(refusalOf('a: xy', forms).findings[0]?.message).toBe('must have 3 characters or more')
    expect(refusalOf('a: [x]', forms).findings[0]?.message).toBe('must have 2 entries or more')
    expect(refusalOf('a: [x, 3]', forms).findings[0]).toMatchObject({
      place: { key: 'a[1]', line: 1, column: 8 },
    })
    expect(refusalOf('a: 3', forms).findings[0]?.message).toBe('must be a text, or must be a list')
  })
})

describe('words', () => {
  it('the key of a place is written as people do', () => {
    const keyOf = (...path: (string | number)[]) =>
      parseYaml('name: a', 'f', z.unknown(), 'job-invalid').locate(path).key
    expect(keyOf('biometrics', 'hba1c', 'emptyWhen', 2)).toBe('biometrics.hba1c.emptyWhen[2]')
    expect(keyOf(0, 'code')).toBe('[0].code')
    expect(keyOf()).toBe('')
  })

  it('refusal counts', () => {
    expect(refusal('f', 'job-invalid', [{ place: {}, message: 'm' }]).message).toBe('f: 1 problem')
    expect(
      refusal('f', 'job-invalid', [
        { place: {}, message: 'm' },
        { place: {}, message: 'n' },
      ]).message,
    ).toBe('f: 2 problems')
  })
})

describe('what a schema says in its own words', () => {
  const schema = z.strictObject({
    level: z.enum(['off', 'warn', 'stop']).optional(),
    form: z
      .discriminatedUnion('kind', [
        z.strictObject({ kind: z.literal('csv') }),
        z.strictObject({ kind: z.literal('json') }),
      ])
      .optional(),
    only: z.literal('post').optional(),
    text: z.string().min(1).optional(),
    flag: z.boolean().optional(),
    whole: z.int().min(2).max(9).optional(),
    share: z.number().gt(0).lt(1).optional(),
    list: z.array(z.string()).min(1).max(2).optional(),
    at: z.iso.datetime({ offset: true }).optional(),
    inner: z.strictObject({ needed: z.string() }).optional(),
    step: z.number().multipleOf(5).optional(),
    named: z.record(z.string().regex(/^x/, 'begins with x'), z.string()).optional(),
  })
  it.each([
    ['level: warm', 'level: must be one of off, warn, stop; did you mean "warn"?'],
    ['level: 3', 'level: must be one of off, warn, stop'],
    ['form: { kind: jsno }', 'form.kind: must be one of csv, json; did you mean "json"?'],
    ['form: {}', 'form.kind: is missing'],
    ['only: put', 'only: must be post'],
    ['text: ""', 'text: must not be empty'],
    ['text: [a]', 'text: must be a text'],
    ['flag: yes', 'flag: must be true or false'],
    ['whole: 2.5', 'whole: must be a whole number'],
    ['whole: 1', 'whole: must be 2 or more'],
    ['whole: 10', 'whole: must be 9 or less'],
    ['share: 0', 'share: must be more than 0'],
    ['share: 1', 'share: must be less than 1'],
    ['list: []', 'list: must not be an empty list'],
    ['list: [a, b, c]', 'list: must have 2 entries or less'],
    ['at: yesterday', 'at: must be a time with its offset, like 2026-03-02T07:15:00Z'],
    ['inner: {}', 'inner.needed: is missing'],
    ['inner: { neded: x, needed: y }', 'inner.neded: unknown key "neded"; did you mean "needed"?'],
    ['step: 3', 'step: must be a multiple of 5'],
    ['named: { a: b }', 'named.a: begins with x'],
    ['zzz: 1', 'zzz: unknown key "zzz"'],
    ['needed: x', 'needed: unknown key "needed"; it belongs in inner'],
  ])('%s → %s', (text, told) => {
    const [finding] = refusalOf(text, schema).findings
    expect(`${finding?.place.key}: ${finding?.message}`).toBe(told)
  })
})

describe('a word that is not known', () => {
  const words = ['hba1c', 'hba1c-ifcc', 'total-cholesterol', 'America/New_York', 'body-weight']
  it.each([
    ['hb1ac', 'hba1c'],
    ['a1c', 'hba1c'],
    ['cholesterol', 'total-cholesterol'],
    ['america/new_york', 'America/New_York'],
    ['body_weigth', 'body-weight'],
    ['glucose', undefined],
    ['ab', undefined],
  ])('%s: %s', (word, meant) => {
    expect(didYouMean(word, words)).toBe(meant === undefined ? '' : `; did you mean "${meant}"?`)
  })
})
