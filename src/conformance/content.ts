import { type ConformanceCase, inSection, NothingToJudge } from './case.ts'
import type { Client } from './client.ts'
import {
  assertForm,
  assertKept,
  assertStatus,
  at,
  type Form,
  INTEGER,
  jsonOf,
  LIST,
  listAt,
  OBJECT,
  TEXT,
} from './values.ts'

const item = inSection('Content item')
const endpoints = inSection('Endpoints: Content')

const LIST_PATH = '/content/distribution/article'

/** The envelope of the list, and its first items. */
async function articles(client: Client): Promise<readonly unknown[]> {
  const answer = await client.send('GET', LIST_PATH)
  assertStatus(answer, 200)
  const found = listAt(jsonOf(answer), 'data')
  if (found.length === 0) throw new NothingToJudge('the gateway has no articles')
  return found
}

/** The envelope of the first article's detail. */
async function detail(client: Client): Promise<unknown> {
  const [first] = await articles(client)
  const answer = await client.send('GET', `${LIST_PATH}/{contentId}`, {
    path: { contentId: String(at(first, 'id')) },
  })
  assertStatus(answer, 200)
  return jsonOf(answer)
}

/** Fields of the list's items; an id may be a string or a number, the document does not say. */
function assertFields(article: unknown, fields: Readonly<Record<string, Form | 'id'>>): void {
  for (const [field, form] of Object.entries(fields)) {
    const value = at(article, field)
    if (form !== 'id') assertForm(value, form, field)
    else if (!INTEGER.holds(value)) assertForm(value, TEXT, field)
  }
}

/** Sections "Content item" and "Endpoints: Content". */
export const CONTENT_CASES: readonly ConformanceCase[] = [
  item.nothing('List item: id, resourceId, type, title, uri, primaryTag (type, id).', async (client) => {
    for (const article of await articles(client))
      assertFields(article, {
        id: 'id',
        resourceId: 'id',
        type: TEXT,
        title: TEXT,
        uri: TEXT,
        primaryTag: OBJECT,
        'primaryTag.type': TEXT,
        'primaryTag.id': 'id',
      })
  }),
  item.nothing(
    'Detail item adds body (string, HTML), attribution (byLine, option, byLineUrl) and image (id, title, url).',
    async (client) => {
      assertFields(at(await detail(client), 'data.0'), {
        body: TEXT,
        attribution: OBJECT,
        'attribution.byLine': TEXT,
        'attribution.option': TEXT,
        'attribution.byLineUrl': TEXT,
        image: OBJECT,
        'image.id': 'id',
        'image.title': TEXT,
        'image.url': TEXT,
      })
    },
  ),
  item.nothing('The content envelope has code (integer), message and data (array).', async (client) => {
    const body = jsonOf(await client.send('GET', LIST_PATH))
    assertForm(at(body, 'code'), INTEGER, 'code')
    assertForm(at(body, 'message'), TEXT, 'message')
    assertForm(at(body, 'data'), LIST, 'data')
  }),
  endpoints.nothing('GET /content/distribution/article', async (client) => {
    const answer = await client.send('GET', LIST_PATH)
    assertStatus(answer, 200)
    assertForm(at(jsonOf(answer), 'data'), LIST, 'data')
  }),
  endpoints.nothing('GET /content/distribution/article/{contentId}', async (client) => {
    const [first] = await articles(client)
    const body = await detail(client)
    assertKept(listAt(body, 'data').length, 1, 'the number of items in data')
    assertKept(at(body, 'data.0.id'), at(first, 'id'), 'data[].id')
  }),
]
