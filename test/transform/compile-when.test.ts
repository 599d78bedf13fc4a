import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonValue } from '../../src/model/row.ts'
import { CellWithoutValue } from '../../src/transform/compile-context.ts'
import { compileWhen } from '../../src/transform/compile-field.ts'
import { WhenDefinition } from '../../src/transform/mapping-definition.ts'
import { csvNames } from '../../src/transform/scope.ts'
import { contextUnderTest, csvMapper, faults, mapped } from './mapping-under-test.ts'

const holds = (written: unknown, row: JsonValue): boolean =>
  compileWhen(contextUnderTest(), WhenDefinition.parse(written), ['when']).holds([row])

const findings = (written: unknown, conventions = {}): string[] => {
  const context = contextUnderTest(conventions)
  compileWhen(context, WhenDefinition.parse(written), ['when'])
  return context.findings.map(({ place, message }) => `${place.key}: ${message}`)
}

describe('a line', () => {
  it.each([
    [{ '$.a': 'Y' }, 'Y', true],
    [{ '$.a': 'Y' }, ' Y ', true],
    [{ '$.a': 'Y' }, 'x', false],
    [{ '$.a': ['Y', '1'] }, '1', true],
    [{ '$.a': ['Y', 1] }, '1', true],
    [{ '$.a': 'present' }, 'x', true],
    [{ '$.a': 'present' }, ' ', false],
    [{ '$.a': 'absent' }, null, true],
    [{ '$.a': 'absent' }, 'x', false],
    [{ '$.a': ['present'] }, 'x', false],
    [{ '$.a': { is: 'present' } }, 'present', true],
    [{ '$.a': { is: 'present' } }, 'x', false],
    [{ '$.a': { in: ['a', 'b'] } }, 'b', true],
    [{ '$.a': { matches: '^E1[01]' } }, 'E11.9', true],
    [{ '$.a': { matches: '^E1[01]' } }, 'I10', false],
    [{ '$.a': { matches: '' } }, null, true],
    [{ '$.a': { '>': 5 } }, '5.0', false],
    [{ '$.a': { '>': 5 } }, '5.01', true],
    [{ '$.a': { '>=': 5 } }, '5.0', true],
    [{ '$.a': { '<': -1 } }, '-1.5', true],
    [{ '$.a': { '<=': -1 } }, '-1.0', true],
    [{ '$.a': { '>=': 18, '<': 65 } }, '64.99', true],
    [{ '$.a': { '>=': 18, '<': 65 } }, '65', false],
    // Not by way of a double.
    [{ '$.a': { '<': '0.30000000000000001' } }, '0.3', true],
    [{ '$.a': { '>': '94000000000000000001' } }, '94000000000000000002', true],
    [{ '$.a': { '>': '94000000000000000001' } }, '94000000000000000001', false],
    // What is no number compares with nothing.
    [{ '$.a': { '<': 5 } }, '', false],
    [{ '$.a': { '>=': 5 } }, 'x', false],
    [{ '$.a': { '<': 5 } }, '<5', false],
    [{ '$.a': { '>=': '2026-01-01', format: 'MM/dd/yyyy' } }, '01/01/2026', true],
    [{ '$.a': { '>=': '2026-01-01', format: 'MM/dd/yyyy' } }, '12/31/2025', false],
    [{ '$.a': { '<': '2026-01-01T12:00', format: ['HL7', 'ISO'] } }, '202601011159', true],
    [
      { '$.a': { '<': '2026-01-01T12:00', format: 'ISO', zone: 'America/New_York' } },
      '2026-01-01T16:59Z',
      true,
    ],
    [
      { '$.a': { '<': '2026-01-01T12:00', format: 'ISO', zone: 'America/New_York' } },
      '2026-01-01T17:00Z',
      false,
    ],
    [{ '$.a': { '<': '2026-01-01', format: 'ISO' } }, 'soon', false],
  ] as const)('%j of %j: %s', (written, a, expected) => {
    expect(holds(written, { a })).toBe(expected)
  })

  it('a list or an object is present, and equal to nothing', () => {
    expect(holds({ '$.a': 'present' }, { a: ['Y'] })).toBe(true)
    expect(holds({ '$.a': 'Y' }, { a: ['Y'] })).toBe(false)
    expect(holds({ '$.a': { matches: '' } }, { a: ['Y'] })).toBe(false)
  })

  it('of a vendor who writes a decimal comma is compared as such', () => {
    const context = contextUnderTest({ number: { decimal: ',' } })
    const over = compileWhen(context, WhenDefinition.parse({ '$.a': { '>': 5.5 } }), [])
    expect(over.holds([{ a: '5,6' }])).toBe(true)
    expect(over.holds([{ a: '5.6' }])).toBe(false)
  })
})

describe('lines together', () => {
  it.each([
    [{ '$.a': 'Y', '$.b': 'absent' }, true],
    [{ '$.a': 'Y', '$.b': 'present' }, false],
    [{ any: [{ '$.a': 'N' }, { '$.c': '3' }] }, true],
    [{ any: [{ '$.a': 'N' }, { '$.c': '4' }] }, false],
    [{ all: [{ '$.a': 'Y' }, { '$.c': '3' }] }, true],
    [{ all: [{ '$.a': 'Y' }, { '$.a': { is: 'N' } }] }, false],
    [{ not: { '$.a': 'N' } }, true],
    [{ not: { '$.a': 'Y', '$.c': '3' } }, false],
    [{ not: { '$.a': 'Y', '$.c': '4' } }, true],
    [{ '$.a': 'Y', not: { any: [{ '$.b': 'present' }, { '$.c': { '>': 3 } }] } }, true],
  ] as const)('%j: %s', (written, expected) => {
    expect(holds(written, { a: 'Y', c: '3' })).toBe(expected)
  })

  it('are as deep as the deepest of them', () => {
    expect(compileWhen(contextUnderTest(), undefined, [])).toMatchObject({ branch: 0 })
    expect(holds({ any: [{ '$.a': 'Y' }] }, {})).toBe(false)
  })
})

describe('a wrong condition', () => {
  it.each([
    [{}, 'names no column'],
    [{ '$.a': {} }, '$.a: is empty'],
    [{ '$.a': { format: 'ISO' } }, 'is empty'],
    [{ '$.a': { is: 'x', format: 'ISO' } }, '$.a.format: belongs to comparisons of dates'],
    [{ '$.a': { '>': 5, zone: 'UTC' } }, '$.a.zone: belongs to dates'],
    [{ '$.a': { matches: '(' } }, '$.a.matches: is no regular expression'],
    [{ '$.a': { equals: 'x' } }, 'equals'],
    [{ '$.a': [] }, '$.a'],
    [{ any: [] }, 'any'],
    [{ not: {} }, 'not'],
  ])('%j is refused: %s', (written, part) => {
    const { error } = WhenDefinition.safeParse(written)
    const text = (error?.issues ?? [])
      .map((issue) => `${issue.path.join('.')}: ${issue.message} ${JSON.stringify(issue)}`)
      .join('\n')
    expect(text).toContain(part)
  })

  it.each([
    [{ '$.a': { '>': 'high' } }, {}, 'when.$.a.>: needs a number'],
    [{ '$.a': { '>': '01/31/2026', format: 'ISO' } }, {}, 'when.$.a.>: needs a date like'],
    [{ any: [{ '$.a': 'ND' }] }, { emptyWhen: ['ND'] }, 'when.any.0.$.a: "ND" is empty by row.emptyWhen'],
    [{ not: { '$.a': { in: ['x', 'ND'] } } }, { emptyWhen: ['ND'] }, 'when.not.$.a.in: "ND" is empty'],
    [{ a: 'Y' }, {}, 'when.a: "a" must start with $'],
  ] as const)('%j is told: %s', (written, conventions, expected) => {
    const found = findings(written, conventions)
    expect(found).toHaveLength(1)
    expect(found[0]).toContain(expected)
  })
})

describe('laws', () => {
  const line = fc.record({ a: fc.constantFrom('x', 'y', 'absent') }).map(({ a }) => ({ '$.a': a }))
  const row = fc.record({ a: fc.constantFrom('x', 'y', 'z', '') })

  it('of De Morgan', () => {
    fc.assert(
      fc.property(fc.array(line, { minLength: 1, maxLength: 4 }), row, (lines, of) => {
        const negated = lines.map((one) => ({ not: one }))
        expect(holds({ not: { any: lines } }, of)).toBe(holds({ all: negated }, of))
        expect(holds({ not: { all: lines } }, of)).toBe(holds({ any: negated }, of))
      }),
    )
  })

  it('of numbers any two of which are smaller, the same or greater', () => {
    const decimal = fc.stringMatching(/^-?[0-9]{1,25}(\.[0-9]{1,25})?$/)
    fc.assert(
      fc.property(decimal, decimal, (a, b) => {
        const is = (comparison: string): boolean => holds({ '$.a': { [comparison]: b } }, { a })
        expect([is('<'), is('>'), is('<=') && is('>=')].filter(Boolean)).toHaveLength(1)
        expect(is('<=')).toBe(!is('>'))
      }),
    )
  })
})

describe('a word of a flag', () => {
  const COLUMNS = ['flag', 'other']
  /** `true`, `false`, or the code of the fault that leaves the condition open. */
  const decided = (written: unknown, flag: string, beside: readonly unknown[] = []): boolean | string => {
    const context = contextUnderTest({}, csvNames(COLUMNS, new Set()))
    const condition = compileWhen(context, WhenDefinition.parse(written), ['when'])
    for (const one of beside) compileWhen(context, WhenDefinition.parse(one), ['when'])
    try {
      return condition.holds([flag, ''])
    } catch (error) {
      return error instanceof CellWithoutValue ? error.fault.code : expect.fail(String(error))
    }
  }

  it.each([
    [['Y', '1'], 'Y', true],
    [['Y', '1'], '1', true],
    [['Y', '1'], 'N', false],
    [['Y', '1'], '0', false],
    [['Y', '1'], '', false],
    [['Y', '1'], '2', false],
    [['Y', '1'], 'maybe', false],
    [['Y', '1'], 'y', 'spelling-unlisted'],
    [['Y', '1'], 'Yes', 'spelling-unlisted'],
    [['Y', '1'], 'TRUE', 'spelling-unlisted'],
    // A table with a missing number, written by a program that turns the others into decimals.
    [['Y', '1'], '1.0', 'spelling-unlisted'],
    [['Y'], '1', 'spelling-unlisted'],
    [['N', ''], 'no', 'spelling-unlisted'],
    [['N', ''], '0.0', 'spelling-unlisted'],
    [['N', ''], 'Y', false],
    [['007'], '7', 'spelling-unlisted'],
    [['Type 2'], 'TYPE\u00a02', 'spelling-unlisted'],
    [['Type 2'], 'Type 20', false],
    [['2'], '20', false],
    [['10'], '1', false],
    [{ is: 'Annual' }, 'ANNUAL', 'spelling-unlisted'],
    [{ in: ['a'] }, 'A', 'spelling-unlisted'],
    // An expression compares as written.
    [{ matches: '^Y$' }, 'y', false],
  ] as const)('%j against %j is %j', (line, flag, expected) => {
    expect(decided({ flag: line }, flag)).toBe(expected)
  })

  it('is passed over where another condition on the column lists the spelling', () => {
    expect(decided({ flag: 'Y' }, 'y', [{ flag: ['y'] }])).toBe(false)
    expect(decided({ flag: 'Y' }, 'y', [{ other: ['y'] }])).toBe('spelling-unlisted')
  })

  it('costs its record alone, or the row that skipWhen would decide', () => {
    const row = csvMapper(
      `mapping: tried
read: { format: csv }
row:
  key: [id]
  account: { reference: id }
  observedAt: { from: day, format: ISO, zone: UTC }
  source: { name: Tried, type: screening }
  skipWhen: { void: Y }
biometrics:
  glucose-fasting: { from: glucose, when: { fasting: Y } }
  glucose: { from: glucose, when: { fasting: [N, ""] } }
  heart-rate: pulse
conditions:
  hypertension: { when: { dx: [Y, "1"] }, status: active }
`,
      ['id', 'day', 'void', 'glucose', 'fasting', 'pulse', 'dx'],
    )
    const good = { id: 'a', day: '2026-03-02', glucose: '90', pulse: '61' }
    const outcome = row({ ...good, fasting: 'y', dx: '1.0' })
    expect(faults(outcome)).toEqual([
      'glucose-fasting: spelling-unlisted fasting',
      'hypertension: spelling-unlisted dx',
    ])
    expect(mapped(outcome).records.map(({ rule }) => rule)).toEqual(['heart-rate'])
    // Nothing is lost where the value is empty.
    expect(faults(row({ ...good, glucose: '', fasting: 'y' }))).toEqual([])
    expect(faults(row({ ...good, void: 'yes' }))).toEqual(['row: spelling-unlisted void'])
  })
})
