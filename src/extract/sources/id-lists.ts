/**
 * Lists of ids as sources of rows: the people known to the ledger, and the articles of the content service. A list is made when a run fetches it; the
 * spool keeps it until the run has ended well, so a resumption reads the same list.
 */
import { fileURLToPath } from 'node:url'
import { receiveWhole } from './receive-file.ts'
import {
  type ArticleQuery,
  type Delivery,
  type ExportSource,
  type IdLists,
  listingOf,
  notArchived,
  type SourcePlace,
} from './source.ts'

type Pages = AsyncIterable<readonly object[]> | Iterable<readonly object[]>

/** A list, with the mapping that reads it. */
export interface IdList {
  readonly place: SourcePlace
  readonly name: string
  readonly mapping: string
}

const besideThis = (file: string): string => fileURLToPath(new URL(file, import.meta.url))

/** @param begin called for a listing; the result gives the lines of the file */
const idList = (
  from: string,
  name: string,
  mapping: string,
  begin: (lists: IdLists) => Promise<() => Pages>,
): IdList => {
  const open: SourcePlace['open'] = async ({ lists }) => createIdSource(from, name, lists, begin)
  return { name, mapping, place: { shown: from, isMade: true, open } }
}

export const KNOWN_PEOPLE: IdList = idList(
  'ledger:',
  'known-people.ndjson',
  besideThis('known-people.yaml'),
  async (lists) => () => lists.people(),
)

export const listedArticles = (query: ArticleQuery = {}): IdList =>
  idList('gateway:', 'known-articles.ndjson', besideThis('known-articles.yaml'), async (lists) => {
    const listed = await lists.articles(query)
    return () => [listed]
  })

/** Lists nothing without access to the lists: only a run has it. */
function createIdSource(
  from: string,
  name: string,
  lists: IdLists | undefined,
  begin: (lists: IdLists) => Promise<() => Pages>,
): ExportSource {
  const address = (one: string): string => `${from}/${one}`
  let pages: () => Pages = () => []
  return {
    address,
    async list() {
      if (lists === undefined) return listingOf([])
      pages = await begin(lists)
      const modifiedAt = lists.now()
      return listingOf([{ name, bytes: 0, modifiedAt, version: String(modifiedAt) }])
    },
    fetch: (_delivery, file, { signal, room } = {}) =>
      receiveWhole(file, async (out) => {
        for await (const page of pages()) {
          signal?.throwIfAborted()
          const text = page.map((one) => `${JSON.stringify(one)}\n`).join('')
          room?.(Buffer.byteLength(text))
          await out.appendFile(text)
        }
      }),
    archive: async (delivery: Delivery) => {
      throw notArchived(address(delivery.name), 'it is a list of Waybill', undefined)
    },
    close: async () => {},
  }
}
