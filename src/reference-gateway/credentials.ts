import type { FastifyRequest } from 'fastify'
import { Refusal } from './refusal.ts'

/** The bulk sample of conditions carries no Authorization header, so none is asked for there. */
const WITHOUT_BEARER = '/health-profile/conditions/bulk'

/** Section "Authentication": X-API-Key on every endpoint. Any key passes where none is given; a missing one never does. */
export function requireApiKey(apiKeys: readonly string[] | undefined) {
  return async (request: FastifyRequest): Promise<void> => {
    const key = request.headers['x-api-key']
    if (typeof key !== 'string' || key === '') throw refused('X-API-Key: the header is missing')
    if (apiKeys !== undefined && !apiKeys.includes(key)) throw refused('X-API-Key: the key is not known')
  }
}

/** Section "Authentication": a bearer token on health-profile endpoints, but for the bulk call of conditions. */
export function requireBearer(tokens: readonly string[] | undefined) {
  return async (request: FastifyRequest): Promise<void> => {
    if (request.routeOptions.url === WITHOUT_BEARER) return
    const token = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
    if (token === undefined) throw refused('Authorization: a bearer token is missing')
    if (tokens !== undefined && !tokens.includes(token))
      throw refused('Authorization: the token is not known')
  }
}

const refused = (message: string) => new Refusal(401, [{ message }])
