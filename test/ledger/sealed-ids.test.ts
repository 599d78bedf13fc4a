/** Sealed ids by the form that ledgers have: NIST SP 800-38D, with 96 bits of IV and 128 bits of tag in front of the text. */
import { createDecipheriv, hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { createAccountIdCipher } from '../../src/ledger/sealed-ids.ts'

const cipher = createAccountIdCipher(() => 'key')

test.each(['a', 'member 4711', 'Zoë'])('%s is sealed as other programs would open it', (id) => {
  const bytes = Buffer.from(String(cipher.seal(id)), 'base64url')
  expect(bytes).toHaveLength(12 + 16 + Buffer.byteLength(id))
  const secret = hash('sha256', 'key\naccount-id secret\n', 'buffer')
  const opening = createDecipheriv('aes-256-gcm', secret, bytes.subarray(0, 12), { authTagLength: 16 })
  opening.setAuthTag(bytes.subarray(12, 28))
  expect(opening.update(bytes.subarray(28), undefined, 'utf8') + opening.final('utf8')).toBe(id)
})

test('equal ids are sealed alike, others and those of another key are not; null stays null', () => {
  expect(cipher.seal('a')).toBe(cipher.seal('a'))
  expect(cipher.seal('a')).not.toBe(cipher.seal('b'))
  const other = createAccountIdCipher(() => 'other')
  expect([other.open(cipher.seal('a')), cipher.open(cipher.seal('a'))]).toEqual([null, 'a'])
  expect([cipher.seal(null), cipher.open(null)]).toEqual([null, null])
})
