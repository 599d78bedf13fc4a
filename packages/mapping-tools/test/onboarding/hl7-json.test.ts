/** Drafts of HL7 v2 as JSON in many spellings, finished by answering yes to all that they ask: no record is wrong, and none is missing. */
import { expect, test } from 'vitest'
import { finished } from './finished.ts'
import { inventHl7, inventMuddle } from './hl7-json.ts'

test.each([20260302, 7].flatMap((seed) => inventHl7(seed).map((one) => [one.name, seed, one] as const)))(
  '%s, seed %i',
  async (_, __, { name, content, truth, registers }) => {
    const { records, registered, rejected } = await finished(name, content)
    expect([...records].sort()).toEqual([...truth].sort())
    expect(rejected).toEqual([])
    expect(registered.length > 0).toBe(registers)
    for (const person of registered)
      expect(person).toMatch(/^195(\d)-0\d-12 Given\1 (?:FEMALE|MALE) Reed\1 MRN\1 0488\1$/)
  },
)

test('where orders stand beside results, those of several orders are rejected, and none is dated by another', async () => {
  const { content, truth } = inventMuddle(20260302)
  const { records, rejected } = await finished('muddle.ndjson', content)
  expect(records.length).toBeGreaterThan(0)
  expect(records.filter((one) => !truth.includes(one))).toEqual([])
  expect(rejected.length).toBeGreaterThan(0)
})
