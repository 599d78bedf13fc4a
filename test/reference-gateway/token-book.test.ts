import { describe, expect, it } from 'vitest'
import { bindingOf, createTokenBook } from '../../src/reference-gateway/credentials.ts'

const OWNER = { reference: 'p-1', type: 'partnerAccountId' } as const

describe('a token book', () => {
  it('passes any token where none was given, and only those given or bound otherwise', () => {
    expect(createTokenBook(undefined).passes('any')).toBe(true)
    const book = createTokenBook(['given'], { bound: OWNER })
    expect(['given', 'bound', 'other', '__proto__'].map(book.passes)).toEqual([true, true, false, false])
    book.bind('other', OWNER)
    expect(book.passes('other')).toBe(true)
  })

  it('knows the user of a bound token alone', () => {
    const book = createTokenBook(undefined, { bound: OWNER })
    expect([book.ownerOf('bound'), book.ownerOf('any'), book.ownerOf('constructor')]).toEqual([
      OWNER,
      undefined,
      undefined,
    ])
    const other = { reference: 'id-7', type: 'accountId' } as const
    book.bind('bound', other)
    expect(book.ownerOf('bound')).toEqual(other)
  })

  it('passes an expired token no more until it is bound anew', () => {
    const book = createTokenBook(undefined)
    book.expire('t')
    expect([book.passes('t'), book.passes('u')]).toEqual([false, true])
    book.bind('t', OWNER)
    expect(book.passes('t')).toBe(true)
  })
})

it.each([
  ['t=p-1', 't', { reference: 'p-1', type: 'partnerAccountId' }],
  ['a.b-c_d~e+f/==', undefined, undefined],
  ['dG9rZW4===p=1', 'dG9rZW4==', { reference: 'p=1', type: 'partnerAccountId' }],
  ['t=accountId:4711', 't', { reference: '4711', type: 'accountId' }],
  ['t=participant 17', 't', { reference: 'participant 17', type: 'partnerAccountId' }],
  ['t=accountId:', undefined, undefined],
  ['t=', undefined, undefined],
  ['=p-1', undefined, undefined],
  ['t', undefined, undefined],
  ['a b=p-1', undefined, undefined],
])('reads the binding %s', (text, token, owner) => {
  expect(bindingOf(text)).toEqual(token === undefined ? undefined : { token, owner })
})
