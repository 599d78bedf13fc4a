import { timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { AccountReference } from '../gateway/contract/account.ts'
import { ENDPOINTS, type Endpoint } from '../gateway/contract/endpoints.ts'
import { Refusal } from './refusal.ts'

/** Whom a bearer token stands for. */
export type TokenOwner = Pick<AccountReference, 'reference' | 'type'>

/** Takes as long wherever two texts of one length differ. */
export function isSame(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}

/** The bearer tokens of the gateway: which pass, whom they stand for, and which have expired. */
export type TokenBook = ReturnType<typeof createTokenBook>

/** @param given the tokens that pass; any where undefined */
export function createTokenBook(
  given: readonly string[] | undefined,
  bound: Readonly<Record<string, TokenOwner>> = {},
) {
  const owners = new Map(Object.entries(bound))
  const expired = new Set<string>()
  return {
    /** Whether the token passes: any that has not expired where none was given, else those given or bound. */
    passes: (token: string): boolean =>
      !expired.has(token) &&
      (given === undefined || given.some((known) => isSame(token, known)) || owners.has(token)),
    /** The user whose paged test the token opens; undefined where it was bound to none. */
    ownerOf: (token: string): TokenOwner | undefined => owners.get(token),
    /** Lets the token stand for a user; it passes from now on. */
    bind(token: string, owner: TokenOwner): void {
      owners.set(token, owner)
      expired.delete(token)
    },
    /** The token passes no more, until it is bound anew. */
    expire: (token: string): unknown => expired.add(token),
  }
}

/**
 * Sections "Authentication" and "Versioning": 401 where a call lacks a header it is documented with, or holds a key or
 * token that does not pass; 400 where X-API-Version is missing or another. A header that is not documented for a call is
 * not looked at, and the bearer token is not asked for where the document leaves open whether it is required.
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

/** 401 for what is not of the interface and lacks the secret in `X-Control-Secret`: it shows all that is stored. */
export function checkControlSecret(secret: string) {
  return async (request: FastifyRequest): Promise<void> => {
    const given = request.headers['x-control-secret']
    if (request.routeOptions.config.endpoint !== undefined) return
    if (typeof given !== 'string' || !isSame(given, secret))
      throw refused('X-Control-Secret: missing, or another one')
  }
}

/** The bearer token of a request (RFC 6750 section 2.1). 401 where there is none. */
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
