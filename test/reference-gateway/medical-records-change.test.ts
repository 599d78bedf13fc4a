import fc from 'fast-check'
import { expect, it } from 'vitest'
import type { MedicalRecordsRequestChange } from '../../src/gateway/contract/medical-records.ts'
import { applyChange } from '../../src/reference-gateway/medical-records-rules.ts'

/** The fields of the generated requests, each by its path; what stands before the last dot is the block it is in. */
const PATHS = [
  'patient.zip',
  'patient.firstName',
  'provider.city',
  'provider.unlisted',
  'request.type',
  'request.disclosures',
  'request.datesOfService.start',
  'request.datesOfService.end',
  'webhook.sendStatusChange',
]

/** What a change does to a field: a value, null, or nothing where the path is not there. */
type Flat = ReadonlyMap<string, unknown>

function nested(flat: Flat): MedicalRecordsRequestChange {
  const root: Record<string, unknown> = { referenceNumber: 'r' }
  for (const [path, value] of flat) {
    const names = path.split('.')
    let block = root
    for (const name of names.slice(0, -1)) {
      block[name] ??= {}
      block = Object(block[name])
    }
    block[names.at(-1) ?? ''] = value
  }
  return Object(root)
}

/** Every field of a request by its path; an array is a field. */
function flattened(value: object, prefix = ''): [string, unknown][] {
  return Object.entries(value).flatMap(([name, field]): [string, unknown][] =>
    typeof field === 'object' && field !== null && !Array.isArray(field)
      ? flattened(field, `${prefix}${name}.`)
      : [[prefix + name, field]],
  )
}

const field = fc.oneof(fc.string(), fc.constant(null), fc.array(fc.string(), { maxLength: 2 }), fc.boolean())
const change = fc
  .subarray(PATHS)
  .chain((paths) =>
    fc
      .tuple(...paths.map(() => field))
      .map((values): Flat => new Map(paths.map((path, at) => [path, values[at]]))),
  )

it('after any changes, a field has the last value sent for it, and is absent where that was null or none', () => {
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 6 }), (changes) => {
      const merged = changes.reduce<Readonly<Record<string, unknown>> | undefined>(
        (kept, flat) => applyChange(kept, nested(flat)),
        undefined,
      )
      const expected = PATHS.flatMap((path): [string, unknown][] => {
        const last = changes
          .filter((flat) => flat.has(path))
          .at(-1)
          ?.get(path)
        return last === undefined || last === null ? [] : [[path, last]]
      })
      expect(new Map(flattened(merged ?? {}))).toEqual(new Map([['referenceNumber', 'r'], ...expected]))
    }),
    { numRuns: 500 },
  )
})

it('leaves what it was given alone, and replaces an object that is no block whole', () => {
  const kept = { provider: { unlisted: { a: 1 } }, patient: { zip: '1' } }
  const merged = applyChange(kept, { referenceNumber: 'r', provider: { unlisted: { b: 2 } }, patient: {} })
  expect(merged).toEqual({ referenceNumber: 'r', provider: { unlisted: { b: 2 } }, patient: { zip: '1' } })
  expect(kept).toEqual({ provider: { unlisted: { a: 1 } }, patient: { zip: '1' } })
})

it('takes names of the prototype for plain fields', () => {
  const provider = JSON.parse('{"__proto__":{"city":"x"},"constructor":"y"}')
  const merged = applyChange(undefined, { referenceNumber: 'r', provider })
  expect(JSON.stringify(merged)).toBe(
    '{"referenceNumber":"r","provider":{"__proto__":{"city":"x"},"constructor":"y"}}',
  )
  expect(({} as { city?: string }).city).toBeUndefined()
})
