import { timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { AccountReference } from '../../../src/gateway/contract/account.ts'
import { ENDPOINTS, type Endpoint } from '../../../src/gateway/contract/endpoints.ts'
import { Refusal } from './refusal.ts'

/** User of a bearer token. */
export type TokenOwner = Pick<AccountReference, 'reference' | 'type'>

/** Compares texts in constant time for a given length. */
export function isSame(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}

/** Bearer tokens of the gateway: valid tokens, their users, and expired tokens. */
export type TokenBook = ReturnType<typeof createTokenBook>

/** Creates the book of tokens. @param given the valid tokens; undefined for any */
export function createTokenBook(
  given: readonly string[] | undefined,
  bound: Readonly<Record<string, TokenOwner>> = {},
) {
  const owners = new Map(Object.entries(bound))
  const expired = new Set<string>()
  return {
    /** True if the token is valid: given or bound, or any token if none was given. An expired token is not valid. */
    passes: (token: string): boolean =>
      !expired.has(token) &&
      (given === undefined || given.some((known) => isSame(token, known)) || owners.has(token)),
    /** Returns the user whose paged test the token opens; undefined if the token is bound to nobody. */
    ownerOf: (token: string): TokenOwner | undefined => owners.get(token),
    /** Binds the token to a user and makes it valid. */
    bind(token: string, owner: TokenOwner): void {
      owners.set(token, owner)
      expired.delete(token)
    },
    /** Expires the token until it is bound again. */
    expire: (token: string): unknown => expired.add(token),
  }
}

/**
 * Checks the headers of sections "Authentication" and "Versioning". 401 if a documented header is missing, or a key or token is not valid;
 * 400 if X-API-Version is missing or wrong. Ignores headers that are not documented for a call. Does not require a bearer token if the
 * document leaves open whether the call needs one.
 */
export function checkCredentials(apiKeys: readonly string[] | undefined, tokens: TokenBook) {
  return async (request: FastifyRequest): Promise<void> => {
    const { endpoint } = request.routeOptions.config
    if (endpoint === undefined) return
    const { apiKey, bearer, version }: Endpoint = ENDPOINTS[endpoint]
    if (apiKey) checkApiKey(request, apiKeys)
    if (bearer === 'required' && !tokens.passes(bearerOf(request))) {
      throw refused('Authorization: the token is not known')
    }
    if (version !== undefined && request.headers['x-api-version'] !== version) {
      throw new Refusal(400, [{ message: `X-API-Version: expected ${version}` }])
    }
  }
}

/** Checks `X-Control-Secret` on paths outside the interface, as they show all stored data. 401 if missing or wrong. */
export function checkControlSecret(secret: string) {
  return async (request: FastifyRequest): Promise<void> => {
    const given = request.headers['x-control-secret']
    if (request.routeOptions.config.endpoint !== undefined) return
    if (typeof given !== 'string' || !isSame(given, secret))
      throw refused('X-Control-Secret: missing or wrong')
  }
}

/** Returns the bearer token of a request (RFC 6750 section 2.1). 401 if there is none. */
export function bearerOf(request: FastifyRequest): string {
  const token = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
  if (token === undefined) throw refused('Authorization: a bearer token is missing')
  return token
}

function checkApiKey(request: FastifyRequest, apiKeys: readonly string[] | undefined): void {
  const key = request.headers['x-api-key']
  if (typeof key !== 'string' || key === '') throw refused('X-API-Key: the header is missing')
  if (apiKeys !== undefined && !apiKeys.some((known) => isSame(key, known)))
    throw refused('X-API-Key: the key is not known')
}

const refused = (message: string) => new Refusal(401, [{ message }])
