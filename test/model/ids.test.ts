import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createIdentity, parseTransactionId, transactionId } from '../../src/model/ids.ts'
import { biometric, careTeam, condition, EXPORT_ID, OBSERVED_AT } from '../load/made-up-entries.ts'

const one = createIdentity('a key')
const same = createIdentity('a key')
const other = createIdentity('another key')
const account = (reference: string) => ({ reference, type: 'partnerAccountId' as const })

describe('identity', () => {
  it('is the same for the same input and key, and another under another key', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const ids = (identity: typeof one) => [
          identity.content(biometric({ person: text })),
          identity.rowKey(text),
          identity.account(account(text)),
          identity.batchId(EXPORT_ID, 1, 'biometric', Buffer.from(text)),
        ]
        expect(ids(same)).toEqual(ids(one))
        for (const [at, id] of ids(other).entries()) expect(id).not.toBe(ids(one)[at])
      }),
    )
  })

  it('is none of a record that has no place in a chunk yet', () => {
    const record = biometric()
    for (const ask of ['row', 'rowKey', 'content', 'transactionId', 'idLength'] as const)
      expect(() => record[ask], ask).toThrow('no place in a chunk')
  })

  it('tells contents, row keys and accounts of the same text apart', () => {
    const record = biometric()
    const hashes = [
      one.content(record),
      one.content(condition()),
      one.rowKey(record.text).slice(0, 16),
      one.account(account(record.text)).slice(0, 16),
      one.account({ reference: record.text, type: 'accountId' }).slice(0, 16),
    ]
    expect(new Set(hashes).size).toBe(hashes.length)
  })

  it('gives records the same hash where their text and mark are the same, and another where they are not', () => {
    const word = fc.oneof(fc.constantFrom('a', 'b', 'ü', '', '"', '\\u0000'), fc.string({ unit: 'binary' }))
    const observedAt = fc.constantFrom(OBSERVED_AT, OBSERVED_AT + 1)
    const made = fc.oneof(
      fc
        .record({ person: word, key: word, value: fc.constantFrom('1', '10', '1.0'), observedAt })
        .map((one) => biometric(one)),
      fc.record({ person: word, key: word, observedAt }).map((one) => condition(one)),
      fc
        .record({
          ...{ person: word, name: fc.oneof(word, fc.constant('ü'.repeat(2_000))) },
          primary: fc.constantFrom(true, false, 'unsaid' as const),
        })
        .map((one) => careTeam(one)),
    )
    fc.assert(
      fc.property(made, made, (a, b) => {
        const isSame = a.kind === b.kind && a.text === b.text && a.primary === b.primary
        expect(one.content(a) === same.content(b)).toBe(isSame)
      }),
    )
  })

  it('tells two instants of a row apart, whichever was asked for before', () => {
    const [early, late] = [biometric({ observedAt: OBSERVED_AT }), biometric({ observedAt: OBSERVED_AT + 1 })]
    expect(early.facts).toBe(late.facts)
    const [ofEarly, ofLate] = [same.content(early), one.content(late)]
    expect(ofEarly).not.toBe(ofLate)
    expect([one.content(early), one.content(late)]).toEqual([ofEarly, ofLate])
  })

  it('of contents stays as ledgers hold it: another hash would send all records again', () => {
    expect([biometric(), condition(), careTeam()].map((record) => one.content(record))).toEqual([
      '6d5667edae4b47eb',
      'c0a5ec67dd3645a7',
      '514b2c941c3045f5',
    ])
  })

  it('of cells tells apart where one cell ends, and each byte of a long one', () => {
    const hashOf = one.cellsUnder('mapping')
    const long = '漢'.repeat(800)
    const rows = [['a\u0000b', 'c'], ['a', 'b\u0000c'], ['a', 'b', 'c'], [`${long}1`], [`${long}2`]]
    expect(new Set(rows.map((cells) => JSON.stringify(hashOf(cells)))).size).toBe(rows.length)
  })

  it('has hashes of the promised length', () => {
    expect(one.content(condition())).toMatch(/^[0-9a-f]{16}$/)
    expect(one.rowKey('k')).toMatch(/^[0-9a-f]{32}$/)
    expect(one.account(account('p'))).toMatch(/^[0-9a-f]{32}$/)
    expect(one.batchId(EXPORT_ID, 7, 'careTeam', Buffer.from('ab'))).toMatch(
      /^0123456789abcdef-00007-careTeam-[0-9a-f]{8}$/,
    )
    expect(one.batchId(EXPORT_ID, 7, 'careTeam', Buffer.from('ab'))).not.toBe(
      one.batchId(EXPORT_ID, 7, 'careTeam', Buffer.from('ba')),
    )
  })
})

describe('a transaction id', () => {
  it('has the documented form', () => {
    expect(transactionId('3f9a1c0b2d4e5f60', 123, 'systolic-bp', '9c41d2aa00000000')).toBe(
      '3f9a1c0b2d4e5f60-000123-systolic-bp-9c41d2aa',
    )
  })

  it('gives back its parts', () => {
    fc.assert(
      fc.property(
        fc.stringMatching(/^[0-9a-f]{16}$/),
        fc.integer({ min: 1, max: 2 ** 40 }),
        fc.stringMatching(/^[a-z0-9]{1,8}(-[a-z0-9]{1,8}){0,4}$/),
        fc.stringMatching(/^[0-9a-f]{16}$/),
        (exportId, row, rule, content) => {
          expect(parseTransactionId(transactionId(exportId, row, rule, content))).toEqual({
            exportId,
            row,
            rule,
            content: content.slice(0, 8),
          })
        },
      ),
    )
  })

  it.each([
    '',
    'x',
    '3f9a1c0b2d4e5f60-123-systolic-bp-9c41d2aa',
    '3F9A1C0B2D4E5F60-000123-systolic-bp-9c41d2aa',
    '3f9a1c0b2d4e5f60-000123--9c41d2aa',
  ])('is not read out of %j', (text) => {
    expect(parseTransactionId(text)).toBeUndefined()
  })
})
