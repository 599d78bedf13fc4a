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

/** @throws WaybillError `gateway-refused-credentials` where there is none of this person */
export type UserToken = (account: Account) => Promise<string>

export interface GatewayOptions extends TransportOptions {
  /** How fields with two spellings are sent. */
  readonly spelling?: Spelling
  /** Gives a person's own bearer token, with which the paged test is answered (section "Age assessment"). */
  readonly userToken?: UserToken | undefined
}

/** The gateway's interface as a typed client. Every call sends one request and retries nothing. */
export interface Gateway extends Readonly<ReturnType<typeof sectionsOver>> {
  /** The same gateway and connections, whose calls end with the signal: as those without an answer do, `ambiguous` where bytes may have left. */
  during(signal: AbortSignal): Gateway
  /** Fetches the access token anew, after a call failed with the class `stale-token`. */
  renewToken(): Promise<void>
  /** Closes the connections; what is under way fails as ambiguous. */
  close(): void
}

/** @throws WaybillError `settings-invalid`: an address or a credential that cannot be used */
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
     * The paged test as that person.
     * @throws WaybillError `settings-invalid` where nothing gives tokens of persons; what `userToken` throws
     */
    async assessmentAs(account: Account): Promise<Assessment> {
      if (options.userToken === undefined)
        throw new WaybillError(
          'settings-invalid',
          'the test is answered as the person, and nothing gives tokens of persons',
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
  /** To be kept: user-centric calls need it. Undefined where the gateway knows the account and does not name its id. */
  readonly accountId: string | undefined
  /** The gateway says that it knew the account (409). A 2xx for an account it knew cannot be told from a new one. */
  readonly known: boolean
}

/** Accounts, called with the API key alone (section "Authentication"). */
export type Accounts = ReturnType<typeof createAccounts>

function createAccounts(transport: Transport) {
  return {
    /** @throws GatewayError; `ambiguous` also where the answer names another partner account than the one registered */
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
    /** Status and body of the answer are not documented: any 2xx counts. @throws GatewayError */
    delete: (account: Account): Promise<void> =>
      transport.send({ endpoint: 'deleteAccount', query: accountQuery(account) }, () => undefined),
  }
}

/** An id that came with another partner's account would put one person's data on another. */
function idFor(request: RegistrationRequest, answer: RegistrationAnswer): string {
  const { accountId, partnerAccountId = request.partnerAccountId } = answer
  if (partnerAccountId === request.partnerAccountId) return accountId
  throw new UnreadableAnswer('it names another partner account')
}

const ListEnvelope = Envelope(ContentListItem)
const DetailEnvelope = Envelope(ContentDetail)

/** Filters and page of a list of articles, as query parameters. Their names are not documented; an array repeats its name. */
export type ContentQuery = Readonly<Record<string, string | number | readonly (string | number)[]>>

/** Articles, called with the API key alone (section "Content"). */
export type Content = ReturnType<typeof createContent>

function createContent(transport: Transport) {
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
