import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { ENDPOINTS } from '../../../src/gateway/contract/endpoints.ts'
import { parseYaml } from '../../../src/system/yaml-file.ts'
import { checked, faultAt, Refusal, serveEndpoint, success } from './refusal.ts'

const FILE = fileURLToPath(new URL('definitions/articles.yaml', import.meta.url))

const text = z.string().min(1)

/** Article of the definition file: section "Content item" without `uri`, which follows from the id. */
const ArticleDefinition = z.strictObject({
  id: text,
  resourceId: text,
  type: text,
  title: text,
  primaryTag: z.strictObject({ type: text, id: text }),
  attribution: z.strictObject({ byLine: text, option: text, byLineUrl: z.url() }),
  image: z.strictObject({ id: text, title: text, url: z.url() }),
  body: text,
})
export type Article = z.infer<typeof ArticleDefinition>

const Definitions = z.strictObject({
  articles: z
    .array(ArticleDefinition)
    .refine(
      (articles) => new Set(articles.map(({ id }) => id)).size === articles.length,
      'an id occurs twice',
    ),
})

/** Reads the articles to serve, in order. @throws WaybillError `usage-wrong` with the lines of all problems */
export async function readArticles(file = FILE): Promise<readonly Article[]> {
  return parseYaml(await readFile(file, 'utf8'), file, Definitions, 'usage-wrong').value.articles
}

/** Whole number in a query, as digits only. */
const digits = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess((sent) => (typeof sent === 'string' && /^\d{1,15}$/.test(sent) ? Number(sent) : sent), schema)

/**
 * Query of the article list. The interface has filters and pages but names no parameters: these are ours. `tag` is the id of the primary
 * tag; pages count from 1; other parameters are ignored.
 */
export const ArticleQuery = z.object({
  type: z.string().min(1).optional(),
  tag: z.string().min(1).optional(),
  page: digits(z.int().min(1).default(1)),
  limit: digits(z.int().min(1).max(100).default(10)),
})

/** Serves section "Content". A page past the end is empty; `uri` is the path of the detail; an unknown id gets 404. */
export function serveContent(app: FastifyInstance): void {
  let reading: Promise<readonly Article[]> | undefined
  const articles = () => {
    reading ??= readArticles()
    return reading
  }

  serveEndpoint(app, 'listArticles', async (request) => {
    const { type, tag, page, limit } = checked(ArticleQuery, request.query, 'query')
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

const listItem = ({ id, resourceId, type, title, primaryTag }: Article) => ({
  id,
  resourceId,
  type,
  title,
  uri: ENDPOINTS.readArticle.path.replace('{contentId}', id),
  primaryTag,
})
