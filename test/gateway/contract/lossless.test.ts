import fc from 'fast-check'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { ENDPOINTS, type Endpoint } from '../../../src/gateway/contract/endpoints.ts'
import { OTHER_SPELLINGS } from '../../../src/gateway/contract/medical-records.ts'

/** Texts of which every text field of the contract takes one at least. */
const TEXTS = [
  '',
  'x',
  '2024-03-01',
  '2024-03-01T00:00:00.000Z',
  '1709251200000',
  '1.10',
  'https://example.org/a',
]

/** But what `__proto__` names, which zod never copies, and a field that is read under its other spelling. */
const respelled = new Set<string>(Object.values(OTHER_SPELLINGS))
const anyName = fc.string().filter((name) => name !== '__proto__' && !respelled.has(name))
const anything = fc.jsonValue({ maxDepth: 2 }).filter((value) => !JSON.stringify(value).includes('__proto__'))

/**
 * Values that the schema takes: with and without optional fields, with fields that are not documented at every depth, and with anything
 * where another type is tolerated.
 */
function takenBy(schema: z.core.$ZodType): fc.Arbitrary<unknown> {
  const takes = (value: unknown): boolean => z.safeParse(schema, value).success
  const { def } = (schema as z.core.$ZodTypes)._zod
  switch (def.type) {
    case 'object': {
      const fields = Object.entries<z.core.$ZodType>(def.shape)
      const requiredKeys = fields.filter(([, field]) => !z.safeParse(field, undefined).success)
      const known = fc.record(Object.fromEntries(fields.map(([name, field]) => [name, takenBy(field)])), {
        requiredKeys: requiredKeys.map(([name]) => name),
      })
      return fc
        .tuple(fc.dictionary(anyName, anything, { maxKeys: 3 }), known)
        .map(([extra, documented]) => ({ ...extra, ...documented }))
        .filter(takes)
    }
    case 'array':
      return fc.array(takenBy(def.element), { minLength: 1, maxLength: 2 })
    case 'record':
      return fc.dictionary(anyName, takenBy(def.valueType), { maxKeys: 2 }).filter(takes)
    case 'union':
      return fc.oneof(...def.options.map(takenBy))
    case 'catch':
      return fc.oneof(takenBy(def.innerType), anything)
    case 'optional':
    case 'default':
      return takenBy(def.innerType)
    case 'nullable':
      return fc.oneof(takenBy(def.innerType), fc.constant(null))
    case 'pipe':
      return takenBy(def.out)
    case 'unknown':
      return anything
    case 'enum':
      return fc.constantFrom(...Object.values(def.entries))
    default:
      return fc.constantFrom(...[...TEXTS, 0, 7, true].filter(takes))
  }
}

const BODIES = Object.entries<Endpoint>(ENDPOINTS).flatMap(([name, { request, success }]) => [
  ...(request === undefined ? [] : [[`request of ${name}`, request] as const]),
  ...(success.body === undefined ? [] : [[`answer of ${name}`, success.body] as const]),
])

it.each(BODIES)('%s: every field and value comes through, documented or not', (_name, schema) => {
  fc.assert(
    fc.property(takenBy(schema), (value) => {
      const sent: unknown = JSON.parse(JSON.stringify(value))
      expect(schema.parse(sent)).toMatchObject(Object(sent))
    }),
    { numRuns: 60 },
  )
})
