import {
  allFormed,
  at,
  type ConformanceCase,
  type Form,
  formed,
  INTEGER,
  inSection,
  jsonOf,
  kept,
  LIST,
  listAt,
  NothingToJudge,
  OBJECT,
  read,
  TEXT,
} from './case.ts'
import type { Client } from './client.ts'

export const ARTICLES = '/content/distribution/article'

/** An id may be a string or a number, the document does not say. */
const ID: Form = { words: TEXT.words, holds: (value) => INTEGER.holds(value) || TEXT.holds(value) }

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
      const fields = { id: ID, resourceId: ID, type: TEXT, title: TEXT, uri: TEXT }
      const tag = { primaryTag: OBJECT, 'primaryTag.type': TEXT, 'primaryTag.id': ID }
      for (const article of await articles(client)) allFormed(article, { ...fields, ...tag })
    },
    'Detail item adds body (string, HTML), attribution (byLine, option, byLineUrl) and image (id, title, url).':
      async (client) =>
        allFormed(at(await detail(client), 'data.0'), {
          body: TEXT,
          attribution: OBJECT,
          'attribution.byLine': TEXT,
          'attribution.option': TEXT,
          'attribution.byLineUrl': TEXT,
          image: OBJECT,
          'image.id': ID,
          'image.title': TEXT,
          'image.url': TEXT,
        }),
    'The content envelope has code (integer), message and data (array).': async (client) =>
      allFormed(jsonOf(await client.send('GET', ARTICLES)), { code: INTEGER, message: TEXT, data: LIST }),
  }),
  ...inSection('Endpoints: Content').nothing({
    'GET /content/distribution/article': async (client) =>
      formed(at(await read(client, ARTICLES), 'data'), LIST, 'data'),
    'GET /content/distribution/article/{contentId}': async (client) => {
      const [first] = await articles(client)
      const body = await detail(client)
      kept(listAt(body, 'data').length, 1, 'the number of items in data')
      kept(at(body, 'data.0.id'), at(first, 'id'), 'data[].id')
    },
  }),
]
