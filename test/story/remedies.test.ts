import { describe, expect, it } from 'vitest'
import { REMEDIES, remedyFor } from '../../src/story/remedies.ts'
import { codeRows, page } from '../docs/pages.ts'

/** Rows that name several codes, too. */
const documented = [...page('docs/reasons.md').matchAll(/^\| (`[^|]*`) \|/gm)].flatMap(([, cell = '']) =>
  [...cell.matchAll(/`([a-z-]+)`/g)].map(([, code = '']) => code),
)

describe('what puts a reason right', () => {
  it('is known of every code that is documented, and of no other', () => {
    expect(documented.length).toBeGreaterThan(codeRows(page('docs/reasons.md')).length)
    const ofField = documented.filter((code) => documented.includes(`registration-${code}`))
    const ofRegistration = ofField.map((code) => `registration-${code}`)
    expect(ofRegistration).toHaveLength(10)
    expect([...REMEDIES.keys(), ...ofRegistration].sort()).toEqual(documented.sort())
    for (const code of ofField)
      expect(remedyFor({ code: `registration-${code}`, outcome: 'rejected' })).toBe(REMEDIES.get(code))
  })

  it.each([
    ['unit-unknown', 'rejected', 'mapping'],
    ['npi-invalid', 'rejected', 'data'],
    ['date-invalid', 'rejected', 'either'],
    ['in-doubt', 'in-doubt', 'doubt'],
    // The profile has shown since that it is not stored.
    ['in-doubt', 'rejected', 'send-again'],
    ['of-another-version', 'rejected', 'either'],
  ])('%s that is %s: %s', (code, outcome, remedy) => {
    expect(remedyFor({ code, outcome })).toBe(remedy)
  })
})
