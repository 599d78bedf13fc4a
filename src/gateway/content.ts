import { type Asking, pages, readItems } from './answer.ts'
import { ContentDetail, type ContentId, ContentListItem } from './contract/content.ts'
import { Envelope } from './contract/shared-objects.ts'
import type { Transport } from './transport.ts'

const ListEnvelope = Envelope(ContentListItem)
const DetailEnvelope = Envelope(ContentDetail)

/** Filters and page of a list of articles, as query parameters. Their names are not documented; an array repeats its name. */
export type ContentQuery = Readonly<Record<string, string | number | readonly (string | number)[]>>

/** Articles, called with the API key alone (section "Content"). */
export type Content = ReturnType<typeof createContent>

export function createContent(transport: Transport) {
  /** One page of the list; how long it is, and whether there is another, is not documented. @throws GatewayError */
  const listArticles = (query: ContentQuery = {}): Promise<readonly ContentListItem[]> =>
    transport.send({ endpoint: 'listArticles', query: parametersOf(query) }, (answer) =>
      readItems(answer, ListEnvelope),
    )
  return {
    listArticles,
    /**
     * All articles of the list, page after page. @param page the parameter that says which, and the number of the first one (1); without it there is
     * one page. @param asking makes each of the calls, where it is to be made again after a failure. @throws GatewayError
     */
    articles(
      filter?: ContentQuery,
      page?: { readonly parameter: string; readonly first?: number | undefined },
      asking: Asking = (ask) => ask(),
    ): AsyncGenerator<ContentListItem> {
      const keyOf = ({ id }: ContentListItem): string => String(id)
      return page === undefined
        ? pages(() => asking(() => listArticles(filter)), { keyOf, full: Number.POSITIVE_INFINITY })
        : pages((at) => asking(() => listArticles({ ...filter, [page.parameter]: at })), {
            keyOf,
            first: page.first,
          })
    },
    /** The article with its text; undefined where there is none of that id (404, or no item). @throws GatewayError */
    article: (id: ContentId) =>
      transport.send(
        { endpoint: 'readArticle', parameters: { contentId: String(id) }, alsoAnswers: [404] },
        (answer) => (answer.status === 404 ? undefined : readItems(answer, DetailEnvelope)[0]),
      ),
  }
}

function parametersOf(query: ContentQuery): URLSearchParams {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value].flat()) parameters.append(name, String(one))
  }
  return parameters
}
