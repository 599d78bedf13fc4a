import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readArticles } from '../src/content.ts'
import { startGateway } from './gateway-under-test.ts'

const PATH = '/content/distribution/article'
const HEADERS = { 'x-api-key': 'key', 'x-api-version': '1.0.0' }

const DEFINITIONS = readFileSync('packages/reference-gateway/src/definitions/articles.yaml', 'utf8')

/** Parts of an article for the tests. */
interface Article {
  readonly id: string
  readonly type: string
  readonly uri: string
  readonly primaryTag: { readonly type: string; readonly id: string }
}

async function contentGateway() {
  const { call } = await startGateway()
  const read = (path: string) => call('GET', path, undefined, HEADERS)
  const list = async (query = ''): Promise<Article[]> =>
    JSON.parse((await read(`${PATH}?${query}`)).text).data
  return { read, list }
}

it('lists ten articles where no limit is given, in an envelope without errors', async () => {
  const { read } = await contentGateway()
  const { status, text } = await read(PATH)
  const { data, ...rest } = JSON.parse(text)
  expect([status, rest, data.length]).toEqual([200, { code: 200, message: '200 OK' }, 10])
})

it('reads an article by its id and on its uri, with a body of HTML', async () => {
  const { read, list } = await contentGateway()
  const articles = await list('limit=100')
  expect(articles.length).toBeGreaterThanOrEqual(12)
  for (const article of articles) {
    const { text } = await read(`${PATH}/${article.id}`)
    expect(JSON.parse(text).data).toMatchObject([{ ...article, body: expect.stringMatching(/^<.*>\s*$/s) }])
    expect((await read(article.uri)).text).toBe(text)
  }
})

it.each(['unknown', '%00', '__proto__'])('answers 404 for an article that is not there', async (id) => {
  const { read } = await contentGateway()
  expect(await read(`${PATH}/${id}`)).toMatchObject({
    status: 404,
    body: { code: 404, errors: [{ message: 'contentId: no such article' }] },
  })
})

describe('filters and pages', () => {
  it('filters by type, by primary tag, and by both', async () => {
    const { list } = await contentGateway()
    const all = await list('limit=100')
    for (const { type, primaryTag } of all) {
      const ofType = all.filter((article) => article.type === type)
      const ofTag = all.filter((article) => article.primaryTag.id === primaryTag.id)
      expect(ofType.length).toBeLessThan(all.length)
      expect(ofTag.length).toBeLessThan(all.length)
      expect(await list(`limit=100&type=${type}`)).toEqual(ofType)
      expect(await list(`limit=100&tag=${primaryTag.id}`)).toEqual(ofTag)
      expect(await list(`limit=100&type=${type}&tag=${primaryTag.id}`)).toEqual(
        ofType.filter((article) => ofTag.includes(article)),
      )
    }
    expect(await list('type=none-such')).toEqual([])
  })

  it.each([1, 3, 10, 100])('pages of %i hold every article once, in the order of the list', async (limit) => {
    const { list } = await contentGateway()
    const all = await list('limit=100')
    const pages: Article[][] = []
    for (let page = 1; ; page++) {
      const articles = await list(`page=${page}&limit=${limit}`)
      if (articles.length === 0) break
      pages.push(articles)
    }
    expect(pages.flat()).toEqual(all)
    expect(pages.slice(0, -1).every((page) => page.length === limit)).toBe(true)
    expect(await list(`limit=${limit}`)).toEqual(pages[0])
  })

  it.each([
    ['page=0', 'page'],
    ['page=-1', 'page'],
    ['page=1.5', 'page'],
    ['page=', 'page'],
    ['page=1&page=2', 'page'],
    ['page=99999999999999999999', 'page'],
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['limit=ten', 'limit'],
    ['limit=0x10', 'limit'],
    ['type=', 'type'],
    ['type=article&type=guide', 'type'],
    ['tag=', 'tag'],
  ])('refuses %s, naming the parameter', async (query, field) => {
    const { read } = await contentGateway()
    const { status, body } = await read(`${PATH}?${query}`)
    expect([status, body.code, body.errors.map((error) => error.field)]).toEqual([400, 400, [field]])
    expect(body.errors[0]?.message).toMatch(new RegExp(`^query\\.${field}: `))
  })
})

describe('a definition file', () => {
  it.each([
    ['an unknown field', 'articles:\n  - id: "1"\n    typ: article\n'],
    ['no list', 'articles: none\n'],
    ['an id that stands twice', `${DEFINITIONS}${DEFINITIONS.slice(DEFINITIONS.indexOf('  - id'))}`],
  ])('with %s is refused', async (_, text) => {
    const file = join(mkdtempSync(join(tmpdir(), 'articles-')), 'articles.yaml')
    writeFileSync(file, text)
    await expect(readArticles(file)).rejects.toMatchObject({ code: 'usage-wrong', place: { file } })
  })
})
