import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { MedicalRecordsRequestChange } from '../../../src/gateway/contract/medical-records.ts'
import { applyChange, parseRequestTypes, readRequestTypes } from '../src/medical-records.ts'

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

/** Effect of a change on a field: a value, null, or nothing where the path is not there. */
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

describe('the request types that are served', () => {
  it('are found by id and by name, the subtype within its type', async () => {
    const types = await readRequestTypes()
    const [first, second] = types.items
    if (first === undefined || second === undefined) throw new Error('two types at least')
    expect([types.typeIdOf(first.id), types.typeIdOf(first.name), types.typeIdOf('none')]).toEqual([
      first.id,
      first.id,
      undefined,
    ])
    const [subtype] = second.requestSubType
    if (subtype === undefined) throw new Error('a subtype at least')
    expect(types.subtypeIdOf(second.name, subtype.name)).toBe(subtype.id)
    expect(types.subtypeIdOf(second.id, subtype.id)).toBe(subtype.id)
    expect(types.subtypeIdOf(first.id, subtype.id)).toBeUndefined()
  })

  it('have a subtype that is disabled, one that is not, and one that says nothing of it', async () => {
    const { items } = await readRequestTypes()
    const said = new Set(
      items.flatMap(({ requestSubType }) => requestSubType.map(({ disabled }) => disabled)),
    )
    expect(said).toEqual(new Set([true, false, null]))
  })
})

const file = (more: string) =>
  `requestTypes:\n  - id: "1"\n    name: One\n    requestSubType:\n      - { id: "11", name: A, disabled: null }\n${more}`

it.each([
  ['an unknown key', file('    colour: red\n'), 'requestTypes[0].colour'],
  [
    'a subtype without disabled',
    file('      - { id: "12", name: B }\n'),
    'requestTypes[0].requestSubType[1].disabled',
  ],
  ['an id twice', file('      - { id: "11", name: B, disabled: null }\n'), 'requestTypes[0].requestSubType'],
  [
    'a name that is the id of another',
    file('      - { id: "12", name: "11", disabled: null }\n'),
    'requestTypes[0].requestSubType',
  ],
  ['no type', 'requestTypes: []\n', 'requestTypes'],
])('a definition with %s is refused, naming the key', (_, text, key) => {
  expect(() => parseRequestTypes(text)).toThrow(
    expect.objectContaining({
      code: 'usage-wrong',
      findings: [expect.objectContaining({ place: expect.objectContaining({ key }) })],
    }),
  )
})
