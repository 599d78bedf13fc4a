/** Ids stand in ledgers for years: each is the hash of what its documentation says, and no other. */
import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  contentDigits,
  createIdentity,
  hasSameContent,
  recordOfId,
  sipHash24,
  wordsOf,
} from '../../src/model/ids.ts'

const KEY = 'a key'
const identity = createIdentity(KEY)
const sha = (text: string | Uint8Array): string => createHash('sha256').update(text).digest('hex')
const of = (domain: string, text: string): string => sha(`${KEY}\n${domain}\n${text}`)

it.each([
  ['fingerprint', identity.fingerprint, of('fingerprint', 'waybill').slice(0, 32)],
  ['row key', identity.rowKey('k|ü'), of('row-key', 'k|ü').slice(0, 32)],
  ['row key of a person never erased', identity.rowKey('k', 0), of('row-key', 'k').slice(0, 32)],
  ['row key of a person erased once', identity.rowKey('k', 1), of('row-key 1', 'k').slice(0, 32)],
  ['row key of a person erased twice', identity.rowKey('k', 2), of('row-key 2', 'k').slice(0, 32)],
  ['rule', identity.rule('hba1c'), of('rule', 'hba1c').slice(0, 8)],
  ['rule, again', identity.rule('hba1c'), of('rule', 'hba1c').slice(0, 8)],
  ['rule, another', identity.rule('bmi'), of('rule', 'bmi').slice(0, 8)],
  ['place in a list', identity.listed('a\n1\n2'), of('listed', 'a\n1\n2').slice(0, 8)],
  ['series', identity.series('s'), of('series', 's').slice(0, 16)],
  [
    'account',
    identity.account({ type: 'accountId', reference: 'r' }),
    of('account', 'accountId\nr').slice(0, 32),
  ],
  ['provider', identity.npi('1234567893'), of('npi', '1234567893').slice(0, 32)],
  ['request', identity.request('R-1'), of('request', 'R-1').slice(0, 32)],
  ['body of a request', identity.requestBody('{}'), of('request-body', '{}').slice(0, 16)],
  ['what is collected', identity.collected('[]'), of('collected', '[]').slice(0, 16)],
  [
    'batch',
    identity.batchId('0123456789abcdef', 12, 'condition', Buffer.from('ab')),
    `0123456789abcdef-00012-condition-${sha(Buffer.from(`${KEY}\nbatch\nab`)).slice(0, 8)}`,
  ],
])('%s', (_, id, expected) => {
  expect(id).toBe(expected)
})

const words = (hex: string): [number, number, number, number] => {
  const word = (at: number): number => Number.parseInt(hex.slice(at, at + 8), 16) | 0
  return [word(0), word(8), word(16), word(24)]
}
const sip = (domain: string, message: Uint8Array): number | undefined =>
  sipHash24(words(of(domain, '')), message, message.length)[0]

describe('facts about a person', () => {
  const account = identity.account({ type: 'accountId', reference: 'r' })
  const day = 86_400_000

  it('are the hash of the account and the day of birth', () => {
    for (const days of [0, 1, -1, 20_000, -25_567]) {
      const number = Buffer.alloc(4)
      number.writeInt32LE(days)
      const message = Buffer.concat([Buffer.from(account), number])
      expect(identity.born(account, days * day)).toBe(sip('born', message))
      expect(identity.born(account, days * day + day - 1)).toBe(sip('born', message))
    }
  })

  it('are the hash of the start of the account and the name', () => {
    for (const name of ['Ann|Person', 'Ünïté', ''])
      expect(identity.named(account, name)).toBe(sip('named', Buffer.from(account.slice(0, 8) + name)))
    // 256 bytes are hashed, with the 8 of the account.
    const long = 'x'.repeat(248)
    expect(identity.named(account, `${long}a`)).toBe(identity.named(account, `${long}b`))
    expect(identity.named(account, long)).not.toBe(identity.named(account, long.slice(1)))
  })
})

describe('a content hash', () => {
  it.each(['0123456789abcdef', 'ffffffff00000000', '00000000ffffffff', '80000000_7fffffff'.replace('_', '')])(
    'is the same as two words: %s',
    (hex) => {
      expect(contentDigits(wordsOf(hex))).toBe(hex)
    },
  )

  it('is another where either word differs', () => {
    const one = wordsOf('0123456789abcdef')
    expect(hasSameContent(one, wordsOf('0123456789abcdef'))).toBe(true)
    expect(hasSameContent(one, wordsOf('0123456789abcdee'))).toBe(false)
    expect(hasSameContent(one, wordsOf('0123456689abcdef'))).toBe(false)
  })
})

it('a record has the same name in every export, and a foreign id has none', () => {
  expect(recordOfId('0123456789abcdef-000001-hba1c-2-9c41d2aa')).toBe('hba1c-2-9c41d2aa')
  expect(recordOfId('fedcba9876543210-123456789-hba1c-2-9c41d2aa')).toBe('hba1c-2-9c41d2aa')
  expect(recordOfId('an id of somebody else')).toBeUndefined()
})
