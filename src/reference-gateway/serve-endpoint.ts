import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ENDPOINTS, type EndpointName } from '../gateway/contract/endpoints.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Which call of the interface the route serves; undefined for what the interface does not have. */
    readonly endpoint?: EndpointName
  }
}

/** Serves one call of the interface on its documented method and path. What the handler returns is the answer's body. */
export function serveEndpoint(
  app: FastifyInstance,
  endpoint: EndpointName,
  handler: (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>,
): void {
  const { method, path } = ENDPOINTS[endpoint]
  app.route({ method, url: path.replace(/\{(\w+)\}/g, ':$1'), config: { endpoint }, handler })
}
