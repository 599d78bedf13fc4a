import type { z } from 'zod'
import { WaybillError } from '../model/errors.ts'
import { type Assessment, createAgeAssessment, createAssessment } from './age-assessment.ts'
import { type Asking, checkNumber, pages, readItems, UnreadableAnswer } from './answer.ts'
import { checkCredential } from './connection-settings.ts'
import {
  type Account,
  accountQuery,
  RegistrationAnswer,
  type RegistrationRequest,
} from './contract/account.ts'
import { ContentDetail, type ContentId, ContentListItem } from './contract/content.ts'
import { Envelope } from './contract/shared-objects.ts'
import { createBiometrics, createCareTeams, createConditions } from './health-profile.ts'
import { createMedicalRecords, type Spelling } from './medical-records.ts'
import { createTransport, type Transport, type TransportOptions } from './transport.ts'

/** Returns the person's bearer token. @throws `gateway-refused-credentials` if there is no token */
export type UserToken = (account: Account) => Promise<string>

export interface GatewayOptions extends TransportOptions {
  /** Spelling of fields with two documented spellings. */
  readonly spelling?: Spelling
  /** Returns a person's bearer token for the paged test (section "Age assessment"). */
  readonly userToken?: UserToken | undefined
}

/** Typed client of the gateway's interface. Every call sends a single request and never retries. */
export interface Gateway extends Readonly<ReturnType<typeof sectionsOver>> {
  /**
   * Returns a gateway with the same connections whose calls end with the signal, like calls without an answer: `ambiguous` if bytes may
   * have left.
   */
  during(signal: AbortSignal): Gateway
  /** Fetches a new access token, after a call failed with the class `stale-token`. */
  renewToken(): Promise<void>
  /** Closes the connections; calls in flight fail as ambiguous. */
  close(): void
}

/** Creates the client. @throws `settings-invalid` if an address or a credential cannot be used */
export function createGateway(options: GatewayOptions): Gateway {
  return gatewayOver(createTransport(options), options)
}

type OverTransport = Pick<GatewayOptions, 'userToken' | 'spelling'>

function gatewayOver(transport: Transport, options: OverTransport): Gateway {
  return {
    ...sectionsOver(transport, options),
    during: (signal) =>
      gatewayOver({ ...transport, send: (call, read) => transport.send({ ...call, signal }, read) }, options),
    renewToken: transport.renewToken,
    close: transport.close,
  }
}

function sectionsOver(transport: Transport, options: OverTransport) {
  return {
    accounts: createAccounts(transport),
    biometrics: createBiometrics(transport),
    conditions: createConditions(transport),
    careTeams: createCareTeams(transport),
    ageAssessment: createAgeAssessment(transport),
    assessment: createAssessment(transport),
    /**
     * Opens the paged test for a person.
     *
     * @throws `settings-invalid` without a source of personal tokens; errors of `userToken`
     */
    async assessmentAs(account: Account): Promise<Assessment> {
      if (options.userToken === undefined)
        throw new WaybillError(
          'settings-invalid',
          "the test needs the person's own token, and no command for tokens is set",
          {
            remedy:
              'Set WAYBILL_USER_TOKEN_COMMAND to a command that prints the token of WAYBILL_ACCOUNT_REFERENCE.',
          },
        )
      return createAssessment(
        transport,
        checkCredential(await options.userToken(account), 'WAYBILL_USER_TOKEN_COMMAND'),
      )
    },
    content: createContent(transport),
    medicalRecords: createMedicalRecords(transport, options.spelling),
  }
}

export interface Registration {
  /** Needed by user-centric calls, so keep it. Undefined if the gateway knows the account and does not return its id. */
  readonly accountId: string | undefined
  /** True if the gateway reports a known account (409). A 2xx does not distinguish known from new accounts. */
  readonly known: boolean
}

/** Accounts, called with the API key alone (section "Authentication"). */
export type Accounts = ReturnType<typeof createAccounts>

function createAccounts(transport: Transport) {
  return {
    /** Registers an account. @throws GatewayError; `ambiguous` also if the answer names another partner account */
    register: (request: RegistrationRequest): Promise<Registration> =>
      transport.send(
        { endpoint: 'registerAccount', body: JSON.stringify(request), alsoAnswers: [409] },
        (answer) => {
          if (answer.status !== 409) {
            return { accountId: idFor(request, answer.read(RegistrationAnswer)), known: false }
          }
          const named = RegistrationAnswer.safeParse(answer.json())
          return { accountId: named.success ? idFor(request, named.data) : undefined, known: true }
        },
      ),
    /** Deletes an account. Status and body of the answer are not documented: any 2xx counts. @throws GatewayError */
    delete: (account: Account): Promise<void> =>
      transport.send({ endpoint: 'deleteAccount', query: accountQuery(account) }, () => undefined),
  }
}

/** An id from another partner's account would store data under the wrong person. */
function idFor(request: RegistrationRequest, answer: z.infer<typeof RegistrationAnswer>): string {
  const { accountId, partnerAccountId = request.partnerAccountId } = answer
  if (partnerAccountId === request.partnerAccountId) return accountId
  throw new UnreadableAnswer('it names another partner account')
}

const ListEnvelope = Envelope(ContentListItem)
const DetailEnvelope = Envelope(ContentDetail)

/** Filters and page for the list of articles, as query parameters. Their names are not documented; an array repeats its name. */
export type ContentQuery = Readonly<Record<string, string | number | readonly (string | number)[]>>

/** Articles, called with the API key alone (section "Content"). */
export type Content = ReturnType<typeof createContent>

function createContent(transport: Transport) {
  /** Reads a page of the list. Neither the page length nor the last page is documented. @throws GatewayError */
  const listArticles = (query: ContentQuery = {}): Promise<readonly ContentListItem[]> =>
    transport.send({ endpoint: 'listArticles', query: parametersOf(query) }, (answer) =>
      readItems(answer, ListEnvelope),
    )
  return {
    listArticles,
    /**
     * Lists all articles, page by page. @param page parameter for the page, and number of the first page (1); without it, the list is a
     * single page.
     * @param asking makes each call, with retries. @throws GatewayError
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
    /** Reads an article with its text; undefined if there is none with the id (404, or no item). @throws GatewayError */
    article: (id: ContentId) =>
      transport.send(
        { endpoint: 'readArticle', parameters: { contentId: String(id) }, alsoAnswers: [404] },
        (answer) => {
          if (answer.status === 404) return undefined
          const items = readItems(answer, DetailEnvelope)
          checkNumber(1, items)
          if (items.some((item) => String(item.id) !== String(id)))
            throw new UnreadableAnswer('it holds another article', 'refused')
          return items[0]
        },
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
