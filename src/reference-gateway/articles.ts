import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { parseYaml } from '../yaml-file.ts'

const FILE = fileURLToPath(new URL('definitions/articles.yaml', import.meta.url))

const text = z.string().min(1)

/** An article as the definition file has it: section "Content item" but for `uri`, which follows from the id. */
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
      'an id stands twice',
    ),
})

/**
 * Reads the articles that the gateway serves, in their order. Throws `usage-wrong`, naming the lines, where the file does
 * not hold articles.
 */
export async function readArticles(file = FILE): Promise<readonly Article[]> {
  return parseYaml(await readFile(file, 'utf8'), file, Definitions, 'usage-wrong').value.articles
}
