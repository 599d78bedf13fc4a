import { timingSafeEqual } from 'node:crypto'
import type { AccountReference } from '../gateway/contract/account.ts'

/** Whom a bearer token stands for. */
export type TokenOwner = Pick<AccountReference, 'reference' | 'type'>

/** The bearer tokens of the gateway: which pass, whom they stand for, and which have expired. */
export interface TokenBook {
  /** Whether the token passes: any that has not expired where none was given, else those given or bound. */
  passes(token: string): boolean
  /** The user whose paged test the token opens; undefined where it was bound to none. */
  ownerOf(token: string): TokenOwner | undefined
  /** Lets the token stand for a user; it passes from now on. */
  bind(token: string, owner: TokenOwner): void
  /** The token passes no more, until it is bound anew. */
  expire(token: string): void
}

/** Takes as long wherever two texts of one length differ. */
export function isSame(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}

/**
 * Reads a binding as the command line has it: `TOKEN=REFERENCE`, where REFERENCE is a partner account id or
 * `accountId:ID`; the token may end in `=` (RFC 6750 section 2.1). Undefined where it has another form.
 */
export function bindingOf(text: string): { readonly token: string; readonly owner: TokenOwner } | undefined {
  const [, token, accountId, partnerAccountId] = /^([^\s=]+=*)=(?:accountId:(.+)|([^=].*))$/s.exec(text) ?? []
  if (token === undefined) return undefined
  if (accountId !== undefined) return { token, owner: { reference: accountId, type: 'accountId' } }
  if (partnerAccountId === undefined || partnerAccountId === 'accountId:') return undefined
  return { token, owner: { reference: partnerAccountId, type: 'partnerAccountId' } }
}

/** @param given the tokens that pass; any where undefined */
export function createTokenBook(
  given: readonly string[] | undefined,
  bound: Readonly<Record<string, TokenOwner>> = {},
): TokenBook {
  const owners = new Map(Object.entries(bound))
  const expired = new Set<string>()
  return {
    passes: (token) =>
      !expired.has(token) &&
      (given === undefined || given.some((known) => isSame(token, known)) || owners.has(token)),
    ownerOf: (token) => owners.get(token),
    bind: (token, owner) => {
      owners.set(token, owner)
      expired.delete(token)
    },
    expire: (token) => {
      expired.add(token)
    },
  }
}
