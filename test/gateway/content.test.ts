import { expect, it } from 'vitest'
import { client, failureOf, json, serve } from './loopback.ts'

const ARTICLE = {
  id: 17,
  type: 'article',
  title: 'Sleep',
  uri: '/sleep',
  primaryTag: { type: 'topic', id: 's' },
}

it('lists articles, without a query where none is given', async () => {
  const server = await serve(() => json(200, { code: 200, message: 'ok', data: [ARTICLE], total: 1 }))
  const { content } = client(server.url)
  expect(await content.listArticles()).toEqual([ARTICLE])
  await content.listArticles({})
  expect(server.seen.map((seen) => seen.url)).toEqual(Array(2).fill('/content/distribution/article'))
})

it('gives an article with its text', async () => {
  const detail = { ...ARTICLE, body: '<p>Sleep.</p>', attribution: { byLine: 'Desk' }, image: { id: 'i-1' } }
  const server = await serve(() => json(200, { code: 200, data: [detail] }))
  expect(await client(server.url).content.article('17')).toEqual(detail)
})

it.each([
  ['a 404', json(404, { code: 404, message: 'No such article.' })],
  ['no item', json(200, { code: 200, data: [] })],
])('gives no article where the answer is %s', async (_, reply) => {
  const server = await serve(() => reply)
  expect(await client(server.url).content.article('17')).toBeUndefined()
})

it('a list that is not found is a refusal: its path is wrong', async () => {
  const server = await serve(() => json(404, {}))
  expect((await failureOf(client(server.url).content.listArticles())).class).toBe('refused')
})
