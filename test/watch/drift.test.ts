import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { comparesDrift, DriftDefinition } from '../../src/definitions/job-definition.ts'
import { driftOf, readDrift, toLookAt } from '../../src/watch/drift-watch.ts'
import { type ColumnProfile, ExportProfile } from '../../src/watch/export-profile.ts'

const column = (name: string, fields: Partial<ColumnProfile> = {}): ColumnProfile => ({
  name,
  values: 100,
  empty: 0,
  sample: { values: 100, numbers: 0, characters: 500 },
  ...fields,
})
const profile = (fields: Partial<ExportProfile> = {}): ExportProfile => ({
  rows: 100,
  columns: [],
  taken: 100,
  skipped: 0,
  warnings: {},
  rules: {},
  codes: {},
  units: {},
  measured: {},
  rejectedRows: 0,
  ...fields,
})
const earlier = (...profiles: ExportProfile[]) => profiles.map((one) => ({ profile: one, accepted: false }))
const rules = (written: object = {}) => DriftDefinition.parse(written)
type Compared = [now: ExportProfile, before: ReturnType<typeof earlier>, rules: DriftDefinition]
const ofMeasures = (measures: readonly string[], isCsv: boolean, ...compared: Compared) =>
  driftOf(...compared, { isCsv, suspicions: [] }).filter(({ measure }) => measures.includes(measure))
const columnDrift = (...compared: Compared) => ofMeasures(['columns'], true, ...compared)
const pathDrift = (...compared: Compared) => ofMeasures(['columns'], false, ...compared)
const valueDrift = (...compared: Compared) =>
  ofMeasures(['rows', 'skipped', 'empty', 'mix'], true, ...compared)
const rowDrift = (rows: number, before: Compared[1], limits: DriftDefinition) =>
  ofMeasures(['rows'], true, profile({ rows }), before, limits)
const told = (findings: readonly { measure: string; level: string; message: string }[]): string[] =>
  findings.map(({ measure, level, message }) => `${level} ${measure}: ${message}`)

describe('the columns of a header', () => {
  const named = (names: string): ExportProfile =>
    profile({
      columns: [...names].map((name) => column(name, { sample: { values: 0, numbers: 0, characters: 0 } })),
    })
  const compare = (now: string, ...before: string[]): string[] =>
    columnDrift(named(now), earlier(...before.map(named)), rules()).map(({ message }) => message)

  it.each([
    { was: 'abc', is: 'abc', messages: [] },
    { was: 'abc', is: 'ac', messages: ['missing: "b"'] },
    { was: 'abc', is: 'abxc', messages: ['new: "x"'] },
    { was: 'abc', is: 'axc', messages: ['"b" was probably renamed "x" (same position)'] },
    { was: 'abc', is: 'xbc', messages: ['"a" was probably renamed "x" (same position)'] },
    {
      was: 'abcd',
      is: 'axyd',
      messages: [
        '"b" was probably renamed "x" (same position)',
        '"c" was probably renamed "y" (same position)',
      ],
    },
    { was: 'abc', is: 'axyc', messages: ['missing: "b"', 'new: "x", "y"'] },
    { was: 'abc', is: 'acx', messages: ['missing: "b"', 'new: "x"'] },
    { was: 'abc', is: 'acb', messages: ['in another order, from "c" on'] },
    { was: 'abc', is: 'cb', messages: ['missing: "a"', 'in another order, from "c" on'] },
  ])('$was, then $is', ({ was, is, messages }) => {
    expect(compare(is, was)).toEqual(messages)
  })

  it('are compared with the latest delivery, unless an earlier one had them all', () => {
    expect(compare('abx', 'abx', 'abc')).toEqual([])
    expect(compare('abc', 'abx', 'abc')).toEqual([])
    expect(compare('ab', 'abx', 'abc')).toEqual(['missing: "x"'])
    expect(compare('abc')).toEqual([])
  })

  it('are known by their values where they moved', () => {
    const numbers = { values: 100, numbers: 98, characters: 300 }
    const words = { values: 100, numbers: 0, characters: 900 }
    const before = [
      column('a'),
      column('b', { sample: numbers }),
      column('c', { sample: words }),
      column('d'),
    ]
    const now = [column('a'), column('d'), column('y', { sample: words }), column('x', { sample: numbers })]
    expect(
      columnDrift(profile({ columns: now }), earlier(profile({ columns: before })), rules()),
    ).toMatchObject([
      { message: '"b" was probably renamed "x" (similar values)' },
      { message: '"c" was probably renamed "y" (similar values)' },
    ])
  })

  it.each<[string, Partial<ColumnProfile>]>([
    ['empty more often', { empty: 11 }],
    ['numbers more often', { sample: { values: 100, numbers: 11, characters: 500 } }],
    ['longer', { sample: { values: 100, numbers: 0, characters: 601 } }],
    ['seen too seldom', { sample: { values: 19, numbers: 0, characters: 95 } }],
  ])('are not known by values that are %s', (_, fields) => {
    const compare = (one: ColumnProfile) =>
      columnDrift(
        profile({ columns: [column('a'), column('d'), one] }),
        earlier(profile({ columns: [column('a'), column('b'), column('d')] })),
        rules(),
      )
    expect(compare(column('x'))).toHaveLength(1)
    expect(compare(column('x', fields))).toHaveLength(2)
  })

  it('are not paired where two look alike', () => {
    const before = [column('a'), column('b'), column('d')]
    const now = [column('a'), column('d'), column('x'), column('y')]
    const found = columnDrift(profile({ columns: now }), earlier(profile({ columns: before })), rules())
    expect(told(found)).toEqual(['warn columns: missing: "b"', 'warn columns: new: "x", "y"'])
    const back = columnDrift(profile({ columns: before }), earlier(profile({ columns: now })), rules())
    expect(told(back)).toEqual(['warn columns: missing: "x", "y"', 'warn columns: new: "b"'])
  })

  it('are listed twenty at most, and stop or not as the job says', () => {
    const many = profile({ columns: Array.from({ length: 25 }, (_, at) => column(`c${at}`)) })
    const [finding] = columnDrift(profile(), earlier(many), rules({ columns: 'stop' }))
    expect(finding).toMatchObject({ level: 'stop', message: expect.stringMatching(/"c19" and 5 more$/) })
    expect(columnDrift(profile(), earlier(many), rules({ columns: 'off' }))).toEqual([])
  })
})

test('names are listed up to twenty, each with its first eighty characters', () => {
  const of = (names: readonly string[]) => profile({ columns: names.map((name) => column(name)) })
  const messages = (...names: string[]) =>
    columnDrift(profile(), earlier(of(names)), rules()).map((one) => one.message)
  const twenty = Array.from({ length: 20 }, (_, at) => `c${at}`)
  expect(messages(...twenty)).toEqual([`missing: ${twenty.map((name) => `"${name}"`).join(', ')}`])
  const long = 'x'.repeat(80)
  expect(messages(long)).toEqual([`missing: "${long}"`])
  expect(messages(`${long}y`)).toEqual([`missing: "${long}…"`])
})

test('findings are kept in the ledger, and those of a run that continued are for a person', () => {
  const of = (level: 'warn' | 'stop' | 'accepted') => ({ measure: 'rows' as const, level, message: level })
  const found = [of('stop'), of('warn'), of('accepted')]
  expect(readDrift(JSON.stringify(found))).toEqual(found)
  expect(readDrift(null)).toEqual([])
  expect(toLookAt(found)).toEqual([of('warn')])
})

describe('the paths of JSON', () => {
  const filled = (empty: number): ExportProfile => profile({ columns: [column('$.a', { empty })] })
  it.each([
    { was: [0, 40, 99], is: 100, messages: ['missing: "$.a"'] },
    { was: [0, 40, 100], is: 100, messages: [] },
    { was: [100, 100, 100], is: 3, messages: ['new: "$.a"'] },
    { was: [0, 0], is: 100, messages: [] },
    { was: [100, 100, 100], is: 100, messages: [] },
  ])('$was of 100 empty, then $is', ({ was, is, messages }) => {
    const found = pathDrift(filled(is), earlier(...was.map(filled)), rules())
    expect(found.map(({ message }) => message)).toEqual(messages)
  })

  it('are told at the level of the job, of twenty values or more', () => {
    const few = (values: number) => profile({ columns: [column('$.a', { values, empty: values })] })
    const before = earlier(filled(0), filled(0), filled(0))
    const of = (now: ExportProfile, columns: string) =>
      pathDrift(now, before, rules({ columns })).map((one) => one.level)
    expect([of(few(20), 'stop'), of(few(19), 'stop'), of(few(20), 'off')]).toEqual([['stop'], [], []])
  })
})

describe('the number of rows', () => {
  const limits = rules({ rows: { warn: '30%', stop: '80%' } })
  it.each([
    { was: [100, 100, 100], is: 70, level: undefined },
    { was: [100, 100, 100], is: 69, level: 'warn' },
    { was: [100, 100, 100], is: 131, level: 'warn' },
    { was: [100, 100, 100], is: 20, level: 'warn' },
    { was: [100, 100, 100], is: 19, level: 'stop' },
    { was: [100, 100, 100], is: 200, level: 'stop' },
    { was: [10, 100, 1000], is: 100, level: undefined },
    { was: [90, 110, 90, 110], is: 130, level: undefined },
    { was: [90, 110, 90, 110], is: 131, level: 'warn' },
    { was: [100, 100], is: 1, level: undefined },
    { was: [0, 0, 0], is: 1, level: 'stop' },
    { was: [0, 0, 0], is: 0, level: undefined },
  ])('$is after $was: $level', ({ was, is, level }) => {
    const found = rowDrift(is, earlier(...was.map((rows) => profile({ rows }))), limits)
    expect(found.map((one) => one.level)).toEqual(level === undefined ? [] : [level])
  })

  it('that was accepted is no drift any more, nor is what is like it', () => {
    const before = [
      ...earlier(...[100, 100, 100].map((rows) => profile({ rows }))),
      { profile: profile({ rows: 10 }), accepted: true },
    ]
    expect(rowDrift(12, before, limits)).toEqual([])
    // Four rows more than the ten that were accepted; a tenth of the usual hundred would be 0.86 away.
    expect(rowDrift(14, before, limits)).toMatchObject([{ level: 'warn', change: 0.4 }])
  })
})

test('other numbers of rows are told until so many in a row had them as the job compares', () => {
  const of = (...rows: number[]) => earlier(...rows.map((one) => profile({ rows: one })))
  const limits = rules({ after: 3 })
  expect(rowDrift(3, of(3, 3, 80, 80, 80, 80), limits)).toHaveLength(1)
  expect(rowDrift(3, of(3, 3, 3, 80, 80, 80, 80), limits)).toEqual([])
  expect(rowDrift(3, of(80, 3, 3, 80, 80, 80, 80), limits)).toHaveLength(1)
})

describe('shares', () => {
  const usual = profile({
    columns: [column('a', { empty: 10 })],
    rules: { pulse: 100 },
    codes: { hba1c: 50 },
    units: { weight: { kg: 90, '': 10 } },
  })
  const before = earlier(usual, usual, usual)
  const limits = rules({
    rows: 'off',
    empty: { warn: '10%', stop: '50%' },
    mix: { warn: '20%', stop: '60%' },
  })
  const compare = (fields: Partial<ExportProfile>, known = before): string[] =>
    told(valueDrift({ ...usual, ...fields }, known, limits))

  it.each<{ what: string; now: Partial<ExportProfile>; found: string[] }>([
    { what: 'as ever', now: {}, found: [] },
    { what: 'empty, as far as allowed', now: { columns: [column('a', { empty: 20 })] }, found: [] },
    {
      what: 'empty',
      now: { columns: [column('a', { empty: 21 })] },
      found: ['warn empty: empty "a" 21.0 %, usually 10.0 %'],
    },
    {
      what: 'all empty',
      now: { columns: [column('a', { empty: 100 })] },
      found: ['stop empty: empty "a" 100.0 %, usually 10.0 %'],
    },
    { what: 'a new column', now: { columns: [column('b', { empty: 100 })] }, found: [] },
    {
      what: 'a rule',
      now: { rules: { pulse: 39 } },
      found: ['stop mix: rows with pulse 39.0 %, usually 100.0 %'],
    },
    { what: 'a rule that the mapping no longer has', now: { rules: {} }, found: [] },
    { what: 'a rule that it did not have', now: { rules: { pulse: 100, bmi: 100 } }, found: [] },
    {
      what: 'a code that is gone',
      now: { codes: {} },
      found: ['warn mix: rows with hba1c 0.0 %, usually 50.0 %'],
    },
    {
      what: 'a code that is new',
      now: { codes: { hba1c: 50, bmi: 25 } },
      found: ['warn mix: rows with bmi 25.0 %, usually 0.0 %'],
    },
    {
      what: 'unknown codes',
      now: { codes: { hba1c: 50, '*': 25 } },
      found: ['warn mix: rows with another value 25.0 %, usually 0.0 %'],
    },
    {
      what: 'units',
      now: { units: { weight: { kg: 60, '*': 40 } } },
      found: [
        'warn mix: weight in another value 40.0 %, usually 0.0 %',
        'warn mix: weight in kg 60.0 %, usually 90.0 %',
      ],
    },
    {
      what: 'no unit',
      now: { units: { weight: { '': 100 } } },
      found: [
        'stop mix: weight without unit 100.0 %, usually 10.0 %',
        'stop mix: weight in kg 0.0 %, usually 90.0 %',
      ],
    },
    {
      what: 'skipped rows',
      now: { skipped: 100 },
      found: ['warn skipped: rows skipped 100.0 %, usually 0.0 %'],
    },
    { what: 'skipped rows, as far as allowed', now: { skipped: 20 }, found: [] },
    {
      what: 'units of just enough values',
      now: { units: { weight: { '[lb_av]': 20 } } },
      found: [
        'stop mix: weight in [lb_av] 100.0 %, usually 0.0 %',
        'stop mix: weight in kg 0.0 %, usually 90.0 %',
      ],
    },
    { what: 'units of too few values', now: { units: { weight: { '[lb_av]': 19 } } }, found: [] },
    { what: 'too few rows', now: { taken: 19, codes: {}, rules: { pulse: 0 } }, found: [] },
  ])('$what', ({ now, found }) => {
    expect(compare(now)).toEqual(found)
  })

  it('that stay changed are told once, and again where they change further, or come back after a usual one', () => {
    const pounds = (share: number): ExportProfile =>
      profile({ ...usual, units: { weight: { kg: 100 - share, '[lb_av]': share } } })
    const measures = (now: number, ...latest: number[]): number =>
      compare(pounds(now), [...earlier(...latest.map(pounds)), ...earlier(...Array(9).fill(pounds(0)))])
        .length
    expect(measures(30)).toBe(2)
    expect(measures(30, 30)).toBe(0)
    expect(measures(55, 30)).toBe(2)
    expect(measures(30, 0, 30)).toBe(2)
    // By steps that were small enough not to be told.
    expect(measures(30, 15)).toBe(2)
    // What the job stops for is never usual.
    expect(measures(70, 70)).toBe(2)
  })

  it('are compared once there are deliveries enough that can be compared', () => {
    const few = profile({ taken: 10 })
    expect(compare({ codes: {} }, earlier(usual, usual, few))).toEqual([])
    expect(compare({ codes: {} }, earlier(usual, usual, few, usual))).toHaveLength(1)
  })
})

describe('a profile', () => {
  const count = fc.nat(1000)
  const name = fc.string({ maxLength: 5 })
  const counts = fc.dictionary(name, count, { noNullPrototype: true })
  const anyColumn = fc.record({
    name,
    values: count,
    empty: count,
    sample: fc.record({ values: count, numbers: count, characters: count }),
  })
  const number = fc.integer({ min: -1000, max: 1000 })
  const quartiles = fc.tuple(number, number, number)
  const measured = fc.record(
    { found: count, rejected: count, values: count, quartiles: quartiles },
    { requiredKeys: ['found', 'rejected', 'values'], noNullPrototype: true },
  )
  const anyProfile = fc.record({
    rows: count,
    columns: fc.uniqueArray(anyColumn, { selector: (one) => one.name }),
    taken: count,
    skipped: count,
    warnings: counts,
    rules: counts,
    codes: counts,
    units: fc.dictionary(name, counts, { noNullPrototype: true }),
    measured: fc.dictionary(name, measured, { noNullPrototype: true }),
    rejectedRows: fc.nat({ max: 1_000 }),
    daysSpanned: fc.nat({ max: 30_000 }),
  })

  it('never drifts from itself, and survives the ledger', () => {
    const strictest = { warn: '0%', stop: '0%' }
    const strict = rules({
      columns: 'stop',
      rows: strictest,
      empty: strictest,
      mix: strictest,
      values: strictest,
      rejects: strictest,
      after: 1,
    })
    fc.assert(
      fc.property(anyProfile, fc.integer({ min: 1, max: 20 }), (one, times) => {
        const kept = ExportProfile.parse(JSON.parse(JSON.stringify(one)))
        const known = earlier(...Array.from({ length: times }, () => kept))
        for (const isCsv of [true, false])
          expect(driftOf(one, known, strict, { isCsv, suspicions: [] })).toEqual([])
      }),
    )
  })
})

describe('the drift block', () => {
  const all = ['columns', 'rows', 'empty', 'mix', 'values', 'rejects', 'fit', 'skipped', 'checks']
  const OFF = Object.fromEntries(all.map((measure) => [measure, 'off']))
  it.each([
    [{}, true],
    [{ columns: 'off' }, true],
    [OFF, false],
    [{ ...OFF, rows: { warn: 'off' } }, false],
    [{ ...OFF, rows: { warn: 'off', stop: '5%' } }, true],
    [{ ...OFF, values: {} }, true],
    [{ ...OFF, rejects: { warn: 'off' } }, true],
    [{ ...OFF, fit: 'warn' }, true],
    [{ ...OFF, skipped: { warn: '5%' } }, true],
    [{ ...OFF, checks: 'warn' }, true],
  ])('%j compares: %s', (written, compares) => {
    expect(comparesDrift(rules(written))).toBe(compares)
  })

  it.each([
    [{ columns: 'maybe' }, 'columns'],
    [{ rows: '30%' }, 'rows'],
    [{ after: 0 }, 'after'],
    [{ rwos: {} }, ''],
  ])('%j is refused at %s', (written, path) => {
    expect(DriftDefinition.safeParse(written).error?.issues.map((issue) => issue.path.join('.'))).toEqual([
      path,
    ])
  })
})
