import {
  allFormed,
  at,
  type ConformanceCase,
  formed,
  inSection,
  jsonOf,
  kept,
  listAt,
  NothingToJudge,
  read,
} from './case.ts'
import type { Client } from './client.ts'

export const ARTICLES = '/content/distribution/article'

/** The first items of the list. */
async function articles(client: Client): Promise<readonly unknown[]> {
  const found = listAt(await read(client, ARTICLES), 'data')
  if (found.length === 0) throw new NothingToJudge('the gateway has no articles')
  return found
}

/** The envelope of the first article's detail. */
async function detail(client: Client): Promise<unknown> {
  const [first] = await articles(client)
  return read(client, `${ARTICLES}/{contentId}`, { path: { contentId: String(at(first, 'id')) } })
}

/** Sections "Content item" and "Endpoints: Content". */
export const CONTENT_CASES: readonly ConformanceCase[] = [
  ...inSection('Content item').nothing({
    'List item: id, resourceId, type, title, uri, primaryTag (type, id).': async (client) => {
      for (const article of await articles(client))
        allFormed(article, {
          ...{ id: 'id', resourceId: 'id', type: 'text', title: 'text', uri: 'text' },
          ...{ primaryTag: 'object', 'primaryTag.type': 'text', 'primaryTag.id': 'id' },
        })
    },
    'Detail item adds body (string, HTML), attribution (byLine, option, byLineUrl) and image (id, title, url).':
      async (client) =>
        allFormed(at(await detail(client), 'data.0'), {
          ...{ body: 'text', attribution: 'object', 'attribution.byLine': 'text' },
          ...{ 'attribution.option': 'text', 'attribution.byLineUrl': 'text' },
          ...{ image: 'object', 'image.id': 'id', 'image.title': 'text', 'image.url': 'text' },
        }),
    'The content envelope has code (integer), message and data (array).': async (client) =>
      allFormed(jsonOf(await client.send('GET', ARTICLES)), {
        code: 'integer',
        message: 'text',
        data: 'list',
      }),
  }),
  ...inSection('Endpoints: Content').nothing({
    'GET /content/distribution/article': async (client) =>
      formed(at(await read(client, ARTICLES), 'data'), 'list', 'data'),
    'GET /content/distribution/article/{contentId}': async (client) => {
      const [first] = await articles(client)
      const body = await detail(client)
      kept(listAt(body, 'data').length, 1, 'the number of items in data')
      kept(at(body, 'data.0.id'), at(first, 'id'), 'data[].id')
    },
  }),
]
