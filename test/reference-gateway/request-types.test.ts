import { describe, expect, it } from 'vitest'
import { parseRequestTypes, readRequestTypes } from '../../src/reference-gateway/medical-records-rules.ts'

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
