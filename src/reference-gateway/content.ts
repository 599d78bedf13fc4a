import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { ENDPOINTS } from '../gateway/contract/endpoints.ts'
import { type Article, readArticles } from './articles.ts'
import { faultAt, faultsOf, Refusal } from './refusal.ts'
import { serveEndpoint } from './serve-endpoint.ts'

/** A whole number in a query, written in digits alone. */
const digits = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((sent) => (typeof sent === 'string' && /^\d{1,15}$/.test(sent) ? Number(sent) : sent), schema)

/**
 * Query of the article list. The interface says that the list is filtered and paged, and names no parameter: these are
 * ours. `tag` is the id of the primary tag; pages count from 1; what is not named here is not looked at.
 */
export const ArticleQuery = z.object({
  type: z.string().min(1).optional(),
  tag: z.string().min(1).optional(),
  page: digits(z.int().min(1).default(1)),
  limit: digits(z.int().min(1).max(100).default(10)),
})

/** Section "Content". A page past the end is empty; `uri` is the path of the detail; an unknown id gets 404. */
export function serveContent(app: FastifyInstance): void {
  let reading: Promise<readonly Article[]> | undefined
  const articles = () => {
    reading ??= readArticles()
    return reading
  }

  serveEndpoint(app, 'listArticles', async (request) => {
    const result = ArticleQuery.safeParse(request.query)
    if (!result.success) throw new Refusal(400, faultsOf(result.error, 'query'))
    const { type, tag, page, limit } = result.data
    const matching = (await articles()).filter(
      (article) =>
        (type === undefined || article.type === type) && (tag === undefined || article.primaryTag.id === tag),
    )
    return success(matching.slice((page - 1) * limit, page * limit).map(listItem))
  })

  const { parameters } = ENDPOINTS.readArticle
  serveEndpoint(app, 'readArticle', async (request) => {
    const { data } = parameters.safeParse(request.params)
    const article = (await articles()).find(({ id }) => id === data?.contentId)
    if (article === undefined) throw new Refusal(404, [faultAt('contentId', 'no such article')])
    const { body, attribution, image } = article
    return success([{ ...listItem(article), body, attribution, image }])
  })
}

/** Section "Content item": "the content envelope has `code` (integer), `message` and `data`", and no `errors`. */
const success = <Item>(data: Item[]) => ({ code: 200, message: '200 OK', data })

const listItem = ({ id, resourceId, type, title, primaryTag }: Article) => ({
  id,
  resourceId,
  type,
  title,
  uri: ENDPOINTS.readArticle.path.replace('{contentId}', id),
  primaryTag,
})
