/** Drafts of FHIR Bundles, finished by answering yes to all that they ask: no record is wrong, and none is missing. */
import { expect, test } from 'vitest'
import { inventBundles } from './bundles.ts'
import { finished } from './finished.ts'

test.each([20260302, 7].flatMap((seed) => inventBundles(seed).map((one) => [one.name, seed, one] as const)))(
  '%s, seed %i',
  async (_, __, { name, content, truth, people }) => {
    const { text, asked, records, registered, rejected } = await finished(name, content)
    expect([...records].sort()).toEqual([...truth].sort())
    expect(rejected).toEqual([])
    expect(registered).toEqual(people)
    const { length } = people
    for (const question of [
      'Which of them do you use for people?',
      'Other identifiers: urn:hospital:mrn',
      'which time zone',
      'source: {',
      `left out (unknown: skip), with counts: 8339-4 (${length}`,
      `73595000 (${length})`,
    ])
      expect(asked.join('\n')).toContain(question)
    expect(text).toContain('within: "$.entry[?@.resource.resourceType == \'Practitioner\']"')
  },
)
