import type { FastifyInstance } from 'fastify'
import { ArticleQuery } from './content.ts'
import { describeInterface } from './openapi.ts'

/**
 * `GET /openapi.json`: the interface as it is served here. It is not of the interface itself, and asks for no
 * credentials. Written when it is first asked for.
 */
export function serveOpenApi(app: FastifyInstance, version: string): void {
  let text: string | undefined
  app.get('/openapi.json', async (_, reply) => {
    text ??= JSON.stringify(describeInterface({ version, queries: { listArticles: ArticleQuery } }))
    return reply.type('application/json; charset=utf-8').send(text)
  })
}
