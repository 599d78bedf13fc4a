/**
 * The pages of a list, one after the other. Not documented, of articles and of requests for medical records alike: whether the first page is 0
 * or 1, how long a page is, and whether a total is told. So pages are asked for until one is not full, or says nothing new.
 */
export interface Paging<Item> {
  /** Number of the first page (default 1). */
  readonly first?: number | undefined
  /** Items of a full page, where that is known: behind a page with fewer there is none. */
  readonly full?: number | undefined
  /** What tells one item from another. */
  readonly keyOf: (item: Item) => string
}

/** Each item once. @param pageOf asks for one page. @throws what it throws */
export async function* pages<Item>(
  pageOf: (page: number) => Promise<readonly Item[]>,
  { first = 1, full = 1, keyOf }: Paging<Item>,
): AsyncGenerator<Item> {
  const seen = new Set<string>()
  for (let page = first; ; page++) {
    const items = await pageOf(page)
    const before = seen.size
    for (const item of items) {
      const key = keyOf(item)
      if (seen.has(key)) continue
      seen.add(key)
      yield item
    }
    if (items.length < full || seen.size === before) return
  }
}
