import { describe, expect, it } from 'vitest'
import { createCatalog } from '../../src/transform/catalog.ts'
import { CompileContext } from '../../src/transform/compile-context.ts'
import { compileCondition, compileField } from '../../src/transform/field.ts'
import type { ConditionDefinition, FieldDefinition } from '../../src/transform/mapping-definition.ts'
import { jsonNames } from '../../src/transform/scope.ts'
import { createUnits } from '../../src/transform/units.ts'

const resources = {
  catalog: createCatalog({}, {}),
  units: createUnits(new Map()),
  tables: new Map([['sexes', new Map([['F', 'FEMALE']])]]),
}
const context = () =>
  new CompileContext(
    resources,
    jsonNames({}, () => undefined),
    () => ({}),
  )
const field = (definition: FieldDefinition, a: string | string[] | null) =>
  compileField(context(), definition, []).read([{ a }])
const holds = (definition: ConditionDefinition, a: string | string[] | null) =>
  compileCondition(context(), definition, []).holds([{ a }])

describe('fields', () => {
  it.each([
    ['$.a', ' x ', { ok: true, text: 'x' }],
    ['$.a', null, { ok: true, text: '' }],
    ['$.a', ['x'], { ok: false, code: 'field-not-scalar' }],
    [{ constant: 'c' }, 'x', { ok: true, text: 'c' }],
    [{ from: '$.a', emptyWhen: ['ND', '-'] }, ' - ', { ok: true, text: '' }],
    [{ from: '$.a', emptyWhen: ['ND'] }, 'nd', { ok: true, text: 'nd' }],
    [{ from: '$.a', table: { x: 'y' } }, 'x', { ok: true, text: 'y' }],
    [{ from: '$.a', table: { x: 'y' } }, 'X', { ok: false, code: 'value-not-in-table' }],
    [{ from: '$.a', table: { x: 'y' } }, 'constructor', { ok: false, code: 'value-not-in-table' }],
    [{ from: '$.a', table: { x: 'y' } }, '', { ok: true, text: '' }],
    [{ from: '$.a', table: 'sexes' }, 'F', { ok: true, text: 'FEMALE' }],
  ] as const)('%j of %j is %j', (definition, a, expected) => {
    expect(field(definition as FieldDefinition, a as string)).toEqual(expected)
  })
})

describe('conditions', () => {
  it.each([
    [{ '$.a': 'Y' }, 'Y', true],
    [{ '$.a': 'Y' }, ' Y ', true],
    [{ '$.a': 'Y' }, 'y', false],
    [{ '$.a': ['Y', '1'] }, '1', true],
    [{ '$.a': 'present' }, 'x', true],
    [{ '$.a': 'present' }, ' ', false],
    [{ '$.a': 'absent' }, null, true],
    [{ '$.a': 'absent' }, 'x', false],
    [{ '$.a': ['present'] }, 'x', false],
    [{ '$.a': 'Y', '$.b': 'absent' }, 'Y', true],
    [{ '$.a': 'Y', '$.b': 'present' }, 'Y', false],
  ] as [ConditionDefinition, string | null, boolean][])('%j of %j: %s', (definition, a, expected) => {
    expect(holds(definition, a)).toBe(expected)
  })

  it('a list or an object is present, and equal to nothing', () => {
    expect(holds({ '$.a': 'present' }, ['Y'])).toBe(true)
    expect(holds({ '$.a': 'Y' }, ['Y'])).toBe(false)
  })
})
