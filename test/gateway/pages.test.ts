/** A list is read page by page, and ends: a gateway that lists without end is refused. */
import { expect, it } from 'vitest'
import { pages } from '../../src/gateway/answer.ts'

const listed = async (of: (page: number) => readonly string[], first: number): Promise<number> =>
  (await Array.fromAsync(pages(async (page) => of(page), { first, keyOf: (item) => item }))).length

it.each([0, 1])('a list of 1,000 pages is read, and none of more: the first is %i', async (first) => {
  const upTo = (last: number) => (page: number) => (page < first + last ? [`item-${page}`] : [])
  expect(await listed(upTo(999), first)).toBe(999)
  await expect(listed(upTo(1_001), first)).rejects.toMatchObject({ class: 'refused' })
})

it('a list of 100,000 items is read, and none of more', async () => {
  const page = (items: number) => () => Array.from({ length: items }, (_, at) => `item-${at}`)
  expect(await listed(page(100_000), 1).catch(() => 'refused')).toBe('refused')
  expect(await listed((at) => (at === 1 ? page(100_000)() : []), 1)).toBe(100_000)
  await expect(listed(page(100_001), 1)).rejects.toMatchObject({ class: 'refused' })
})
