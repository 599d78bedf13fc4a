import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonValue } from '../../src/model/row.ts'
import type { FieldText } from '../../src/transform/compile-context.ts'
import { compileField } from '../../src/transform/compile-field.ts'
import { FieldDefinition } from '../../src/transform/mapping-definition.ts'
import { processorMs } from '../processor-time.ts'
import { contextUnderTest, type csvMapper, csvRules, faults, mapped } from './mapping-under-test.ts'

/** What a field, as written in a mapping, reads of a row. */
function read(written: unknown, row: JsonValue): FieldText {
  return compileField(contextUnderTest(), FieldDefinition.parse(written), []).read([row])
}
const text = (of: string): FieldText => of
const fault = (code: string): object => expect.objectContaining({ code })

describe('a field', () => {
  it.each([
    ['$.a', ' x ', text('x')],
    ['$.a', null, text('')],
    ['$.a', ['x'], fault('field-not-scalar')],
    [{ constant: 'c' }, 'x', text('c')],
    [{ constant: 5 }, 'x', text('5')],
    [{ from: '$.a', emptyWhen: ['ND', '-'] }, ' - ', text('')],
    [{ from: '$.a', emptyWhen: ['ND'] }, 'nd', text('nd')],
    [{ from: '$.a', table: { x: 'y' } }, 'x', text('y')],
    [{ from: '$.a', table: { x: 'y' } }, 'X', fault('value-not-in-table')],
    [{ from: '$.a', table: { x: 'y' } }, 'constructor', fault('value-not-in-table')],
    [{ from: '$.a', table: { x: 'y' } }, '', text('')],
    [{ from: '$.a', table: { x: 'y' }, otherwise: 'z' }, 'w', text('z')],
    [{ from: '$.a', table: { x: 'y' }, otherwise: 'z' }, 'x', text('y')],
    [{ from: '$.a', table: { x: 'y' }, otherwise: 'z' }, '', text('')],
    [{ from: '$.a', table: 'sexes' }, 'F', text('FEMALE')],
    [{ from: '$.a', case: 'upper' }, 'straße', text('STRASSE')],
    [{ from: '$.a', case: 'lower' }, 'MmHg', text('mmhg')],
    [{ from: '$.a', split: { by: '^', take: 2 } }, 'CD:289^mg/dL^x', text('mg/dL')],
    [{ from: '$.a', split: { by: '^', take: -1 } }, 'a^b^ c ', text('c')],
    [{ from: '$.a', split: { by: '^', take: 2 } }, 'mg/dL', text('')],
    [{ from: '$.a', split: { by: '.*', take: 2 } }, 'a.*b', text('b')],
    [{ from: '$.a', extract: '([0-9.]+) mg' }, 'about 5.10 mg', text('5.10')],
    [{ from: '$.a', extract: '[0-9]+' }, 'A12B3', text('12')],
    [{ from: '$.a', extract: '^(?:a|(b))' }, 'a', text('')],
    [{ from: '$.a', extract: '(?i)^val: *(.*)$' }, 'VAL:  x ', text('x')],
    [{ from: '$.a', extract: '^[0-9]+$' }, 'x', fault('value-not-extracted')],
    [{ from: '$.a', extract: '^[0-9]+$' }, '', text('')],
  ] as const)('%j of %j is %j', (written, a, expected) => {
    expect(read(written, { a: a as JsonValue })).toEqual(expected)
  })

  const row = { first: ' Ann ', middle: null, last: 'Reed', day: '2026-02-04', list: ['x'], none: '-' }
  it.each([
    [{ firstOf: ['$.middle', '$.first', '$.last'] }, text('Ann')],
    [{ firstOf: ['$.middle', '$.absent'] }, text('')],
    [{ firstOf: ['$.middle', { constant: 'unknown' }] }, text('unknown')],
    [{ firstOf: [{ from: '$.none', emptyWhen: ['-'] }, '$.last'] }, text('Reed')],
    // What is there and cannot be used is never passed over.
    [{ firstOf: ['$.list', '$.last'] }, fault('field-not-scalar')],
    [{ firstOf: ['$.first', '$.list'] }, text('Ann')],
    [{ firstOf: [{ from: '$.last', table: {} }, '$.first'] }, fault('value-not-in-table')],
    [{ concat: ['$.first', '$.middle', '$.last'], separator: ' ' }, text('Ann Reed')],
    [{ concat: ['$.first', '$.last'] }, text('AnnReed')],
    [{ concat: ['$.middle', '$.absent'], separator: '-' }, text('')],
    [{ concat: ['$.first', '$.list'] }, fault('field-not-scalar')],
    [{ concat: [{ constant: 'Dr.' }, '$.last'], separator: ' ', case: 'upper' }, text('DR. REED')],
    [{ firstOf: [{ concat: ['$.middle', '$.absent'] }, '$.day'], split: { by: '-', take: 1 } }, text('2026')],
  ] as const)('%j is %j', (written, expected) => {
    expect(read(written, row)).toEqual(expected)
  })

  it('does what it does in one order, whatever that of its keys', () => {
    const written = {
      table: { 'MG/DL': 'mg/dL' },
      case: 'upper',
      extract: '^u:(.*)$',
      split: { by: '^', take: 2 },
      emptyWhen: ['x^u:y'],
      from: '$.a',
    }
    expect(read(written, { a: 'CD:289^u:mg/dl' })).toEqual(text('mg/dL'))
    expect(read(written, { a: 'x^u:y' })).toEqual(text(''))
    expect(read(written, { a: 'CD:289^mg/dl' })).toEqual(fault('value-not-extracted'))
    expect(read(written, { a: 'CD:289^u:g' })).toEqual(fault('value-not-in-table'))
  })

  it('names what it reads', () => {
    const from = (written: unknown): string | undefined =>
      compileField(contextUnderTest(), FieldDefinition.parse(written), []).from
    expect(from({ concat: ['$.a', { constant: ' ' }, { firstOf: ['$.b', '$.c'] }] })).toBe('$.a, $.b, $.c')
    expect(from({ constant: 'x' })).toBeUndefined()
  })

  it('reads what the row block calls empty as empty, wherever it stands', () => {
    const context = contextUnderTest({ emptyWhen: ['ND', '""'] })
    const field = compileField(context, { concat: ['$.a', '$.b'], separator: '/' }, [])
    expect(field.read([{ a: 'ND', b: '5' }])).toEqual(text('5'))
    expect(field.read([{ a: '""', b: ' ND ' }])).toEqual(text(''))
  })

  it.each([
    [{}, 'from: is missing'],
    [{ table: {} }, 'from: is missing'],
    [{ from: '$.a', otherwise: 'x' }, 'otherwise: belongs to table'],
    [{ from: 'a', concat: ['b'] }, 'concat: excludes from'],
    [{ from: 'a', separator: ' ' }, 'separator: belongs to concat'],
    [{ from: 'a', split: { by: '^', take: 0 } }, 'split.take: counts parts from 1'],
    [{ from: 'a', split: { by: '', take: 1 } }, 'split.by'],
    [{ from: 'a', extract: '(a' }, 'extract: is no regular expression: missing closing ): `(a`'],
    [{ from: 'a', extract: '(?=a)' }, 'extract: is no regular expression: '],
    [{ from: 'a', extract: '(a)\\1' }, 'extract: is no regular expression: '],
    [{ firstOf: [] }, 'firstOf'],
    [{ firstOf: ['a', { from: 'b', concat: ['c'] }] }, 'firstOf.1.concat: excludes from'],
  ])('%j is refused: %s', (written, part) => {
    const { error } = FieldDefinition.safeParse(written)
    const issues = (error?.issues ?? []).map(({ path, message }) => `${path.join('.')}: ${message}`)
    expect(issues).toHaveLength(1)
    expect(issues[0]).toContain(part)
  })
})

describe('laws', () => {
  it('a concatenation splits into its parts again', () => {
    const part = fc.stringMatching(/^[a-z]{1,5}$/)
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 6 }), (parts) => {
        const paths = parts.map((_, at) => `$[${at}]`)
        for (const [at, expected] of parts.entries()) {
          const split = { by: '^', take: at + 1 }
          expect(read({ concat: paths, separator: '^', split }, parts)).toEqual(text(expected))
          expect(
            read({ concat: paths, separator: '^', split: { ...split, take: at - parts.length } }, parts),
          ).toEqual(text(expected))
        }
      }),
    )
  })

  it('an expression takes time that grows with the text alone', async () => {
    const evil = compileField(contextUnderTest(), { from: '$.a', extract: '^(a*)*(.*)(.*)(.*)b$' }, [])
    const read = () => expect(evil.read([{ a: 'a'.repeat(50_000) }])).toEqual(fault('value-not-extracted'))
    expect(await processorMs(read)).toBeLessThan(2000)
  })
})

const COLUMNS = ['id', 'day', 'time', 'site', 'v']
/** A mapper of rows with such a date. */
const mapper = (observedAt: string): ReturnType<typeof csvMapper> =>
  csvRules(COLUMNS, 'biometrics: { bmi: v }', '', observedAt)
type Cells = Record<string, string>

/** When the record was observed, or why the row was rejected. */
function observed(map: ReturnType<typeof csvMapper>, cells: Cells): string | undefined {
  const outcome = map({ id: '1', v: '22', ...cells })
  if (outcome.outcome === 'rejected') return faults(outcome)[0]
  return mapped(outcome).records.map(({ observedAt }) => new Date(observedAt).toISOString())[0]
}

describe('a date that is a field', () => {
  it('may stand in two columns', () => {
    const map = mapper(
      '{ concat: [day, time], separator: " ", format: [MM/dd/yyyy HH:mm, MM/dd/yyyy], zone: UTC }',
    )
    expect(observed(map, { day: '02/04/2026', time: '09:10' })).toBe('2026-02-04T09:10:00.000Z')
    expect(observed(map, { day: '02/04/2026' })).toBe('2026-02-04T00:00:00.000Z')
    expect(observed(map, { time: '09:10' })).toBe('row: date-invalid day, time')
    expect(observed(map, {})).toBe('row: date-missing day, time')
  })

  it('may be the first of several, or a part of a text', () => {
    const map = mapper('{ firstOf: [day, time], extract: "on ([0-9-]+)", format: yyyy-MM-dd, zone: UTC }')
    expect(observed(map, { time: 'seen on 2026-02-04' })).toBe('2026-02-04T00:00:00.000Z')
    expect(observed(map, { day: 'never' })).toBe('row: value-not-extracted day, time')
  })
})

describe('a zone that is a field', () => {
  const map = mapper(
    '{ from: day, format: [MM/dd/yyyy HH:mm, ISO], zone: { from: site, table: { NY: America/New_York, LA: America/Los_Angeles} } }',
  )
  it.each([
    [{ day: '02/04/2026 09:10', site: 'NY' }, '2026-02-04T14:10:00.000Z'],
    [{ day: '02/04/2026 09:10', site: 'LA' }, '2026-02-04T17:10:00.000Z'],
    [{ day: '2026-02-04T09:10Z', site: 'LA' }, '2026-02-04T09:10:00.000Z'],
    [{ day: '03/08/2026 02:30', site: 'NY' }, 'row: date-skipped-by-daylight-saving day'],
    [{ day: '02/04/2026 09:10', site: '' }, 'row: zone-unknown site'],
    [{ day: '02/04/2026 09:10', site: 'SF' }, 'row: zone-unknown site'],
    [{ day: '', site: '' }, 'row: date-missing day'],
  ])('%j: %s', (cells, expected) => {
    // Twice, as parsers of a zone are kept.
    expect(observed(map, cells)).toBe(expected)
    expect(observed(map, cells)).toBe(expected)
  })

  it('goes along with the rules for daylight saving', () => {
    const ruled = mapper('{ from: day, format: MM/dd/yyyy HH:mm, zone: { from: site }, doubled: later }')
    expect(observed(ruled, { day: '11/01/2026 01:30', site: 'America/New_York' })).toBe(
      '2026-11-01T06:30:00.000Z',
    )
  })
})
