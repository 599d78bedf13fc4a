import { Agent as HttpAgent } from 'node:http'
import type { Agent as HttpsAgent } from 'node:https'
import { z } from 'zod'
import { type Answer, createAnswer, UnreadableAnswer } from './answer.ts'
import {
  type AccessTokenSource,
  checkCredential,
  parseBaseUrl,
  parseUploadAddress,
  resolvePath,
} from './connection-settings.ts'
import { ENDPOINTS, type Endpoint, type EndpointName } from './contract/endpoints.ts'
import { innerRefusalOf } from './contract/medical-records.ts'
import { documented, EnvelopeError, ErrorEnvelope } from './contract/shared-objects.ts'
import {
  createAnswerRoom,
  ENDED,
  ExchangeFailure,
  exchangeOverGot,
  exchangeOverHttp,
  type Timeouts,
  unpack,
  type WholeAnswer,
} from './exchange.ts'
import {
  type AnswerClass,
  classifyStatus,
  classifyTransportFailure,
  codeOfErrorBody,
  GatewayError,
  type GatewayErrorDetails,
  parseRetryAfter,
} from './gateway-error.ts'

const TIMEOUTS: Timeouts = {
  lookup: 5_000,
  connect: 10_000,
  secureConnect: 10_000,
  send: 60_000,
  response: 60_000,
  request: 120_000,
}

/** Calls that a load makes by the thousand. They use the cheapest client that keeps every rule of this file. */
const HOT: ReadonlySet<EndpointName> = new Set([
  'registerAccount',
  'createBiometricsBulk',
  'createConditionsBulk',
  'createCareTeams',
  'setPrimaryCare',
  'readBiometrics',
  'readConditions',
  'listCareTeams',
  'readAgeResult',
  'listRecommendations',
  'listCompletedQuestions',
])

const MAX_ANSWER_BYTES = 32 * 1024 * 1024
/** Bound of all arriving answers together, as a number of longest answers. */
const LONGEST_AT_ONCE = 2
/** Bound of an answer that echoes the request: a multiple of the bytes sent, at least `ECHO_BYTES`. */
const ECHO_TIMES = 16
const ECHO_BYTES = 4 * 1024 * 1024
const MAX_SOCKETS = 16

/**
 * Milliseconds until this side closes an idle connection. Servers commonly close theirs after 5 seconds. A request sent at that moment is
 * lost without an answer, and costs a read-back.
 */
const IDLE_SOCKET_MS = 4_000

/** Event of a completed request. Holds no health data: `path` has its parameters unfilled, and no query. */
export interface RequestEvent {
  readonly operation: string
  readonly method: string
  readonly path: string
  readonly status: number | undefined
  /** `accepted` for every readable answer. The transport does not know whether each record was echoed. */
  readonly class: AnswerClass
  readonly durationMs: number
  readonly requestId: string
  /** Date header (RFC 9110, section 6.6.1) of a whole answer. */
  readonly date?: string | undefined
}

export interface TransportOptions extends AccessTokenSource {
  readonly baseUrl: string
  readonly apiKey: string
  /** Key of the medical-records requester, if different (section "Authentication"). */
  readonly requesterApiKey?: string
  /** Paths below the base URL that differ from the document; `{name}` is a parameter. */
  readonly paths?: Partial<Record<EndpointName, string>>
  /** Send a bearer token to POST /health-profile/conditions/bulk, whose sample has none (default true). */
  readonly bearerOnConditionsBulk?: boolean
  /** Epoch milliseconds. */
  readonly now: () => number
  /** Returns a new id for errors and logs at each call. */
  readonly nextRequestId: () => string
  /** Maximum number of connections (default 16). */
  readonly maxSockets?: number
  readonly timeouts?: Partial<Timeouts>
  /**
   * Maximum length of an answer in bytes, before and after decompression (default 32 MiB). All arriving answers together may use twice as
   * much.
   */
  readonly maxAnswerBytes?: number
  readonly onRequest?: (event: RequestEvent) => void
}

/** JSON as text or as UTF-8. */
export type BodyContent = string | Uint8Array

interface Call {
  /** Determines method, path and headers, and names the call in errors and events: `createBiometrics` is `create biometrics`. */
  readonly endpoint: EndpointName
  /** Values for `{name}` in the path. */
  readonly parameters?: Readonly<Record<string, string>>
  readonly query?: URLSearchParams
  /** Body as sent on the wire; bytes must not change before the call is over. */
  readonly body?: BodyContent
  /** Locale tag for the header Accept-Language. */
  readonly language?: string | undefined
  /** Person's bearer token, replacing the token of all calls. */
  readonly token?: string | undefined
  /** Ends the call immediately; the call fails as one without an answer. */
  readonly signal?: AbortSignal | undefined
  /** Upload address from the gateway, replacing the path. */
  readonly address?: string
  /** Hosts allowed for `address`, besides the gateway's own. */
  readonly hosts?: readonly string[] | undefined
  /** Statuses outside 2xx that count as an answer. */
  readonly alsoAnswers?: readonly number[]
}

export interface Transport {
  /**
   * Sends a request once. `read` turns the answer into the result.
   *
   * @throws GatewayError unless the answer is readable and has status 2xx or a status in `alsoAnswers`
   */
  send<Result>(call: Call, read: (answer: Answer) => Result): Promise<Result>
  renewToken(): Promise<void>
  /** Closes the connections; calls in flight fail as ambiguous. */
  close(): void
}

/** Credential, headers, path and address of each call. @throws `settings-invalid`: see `parseBaseUrl` and `checkCredential` */
function createCallForms(options: TransportOptions) {
  const base = parseBaseUrl(options.baseUrl)
  const apiKey = checkCredential(options.apiKey, 'WAYBILL_API_KEY')
  const requesterApiKey = checkCredential(options.requesterApiKey ?? apiKey, 'WAYBILL_REQUESTER_API_KEY')
  const token = holdAccessToken(options)
  const bearerOnConditionsBulk = options.bearerOnConditionsBulk ?? true

  /** Returns the credential of a call (section "Authentication"). */
  const carriedBy = (call: Call) => {
    const endpoint: Endpoint = ENDPOINTS[call.endpoint]
    const { bearer, path } = endpoint
    if (bearer === 'required' || (bearer === 'not-shown' && bearerOnConditionsBulk)) return 'token'
    if (!endpoint.apiKey) return undefined
    return path.startsWith('/medical-records/') ? 'requester-key' : 'key'
  }

  /** Builds the headers of a call (sections "Authentication" and "Versioning"). */
  const headersOf = async (call: Call, body: Uint8Array | undefined): Promise<Record<string, string>> => {
    const { contentType, version, localised }: Endpoint = ENDPOINTS[call.endpoint]
    const carried = carriedBy(call)
    return {
      ...(carried === undefined
        ? {}
        : { 'x-api-key': carried === 'requester-key' ? requesterApiKey : apiKey }),
      ...(carried === 'token' ? { authorization: `Bearer ${call.token ?? (await token.current())}` } : {}),
      ...(version === undefined ? {} : { 'x-api-version': version }),
      ...(localised === true && call.language !== undefined ? { 'accept-language': call.language } : {}),
      ...(body === undefined || contentType === undefined ? {} : { 'content-type': contentType }),
      ...(body === undefined ? {} : { 'content-length': String(body.byteLength) }),
    }
  }

  const pathOf = (call: Call): string => options.paths?.[call.endpoint] ?? ENDPOINTS[call.endpoint].path

  /** Returns the address of a call; undefined if a parameter is not a path segment. */
  const addressOf = (call: Call): URL | undefined => {
    if (call.address !== undefined) return parseUploadAddress(call.address, base, call.hosts ?? [])
    const path = fillPath(pathOf(call), call.parameters)
    return path === undefined ? undefined : resolvePath(base, path, call.query)
  }

  return { carriedBy, headersOf, pathOf, addressOf, token }
}

/** Connections, and the exchange of a call over them. */
function createExchanges(
  options: TransportOptions,
  { headersOf, addressOf }: Pick<ReturnType<typeof createCallForms>, 'headersOf' | 'addressOf'>,
) {
  const maxAnswerBytes = options.maxAnswerBytes ?? MAX_ANSWER_BYTES
  const pool = { keepAlive: true, maxSockets: options.maxSockets ?? MAX_SOCKETS, timeout: IDLE_SOCKET_MS }
  let secure: HttpsAgent | undefined
  const agent = {
    http: new HttpAgent(pool),
    /** Created at the first call over TLS, because TLS takes long to load. */
    get https() {
      secure ??= new (process.getBuiltinModule('node:https').Agent)(pool)
      return secure
    },
  }

  const room = createAnswerRoom(LONGEST_AT_ONCE * maxAnswerBytes)
  const over = { agent, timeouts: { ...TIMEOUTS, ...options.timeouts }, room }
  const hot = exchangeOverHttp(over)
  const others = exchangeOverGot(over)

  /** Sends a call. @throws GatewayError if no complete answer arrives */
  const exchange = async (call: Call, fail: Fail): Promise<WholeAnswer> => {
    const content = call.body
    const body = typeof content === 'string' ? Buffer.from(content) : content
    const headers = await headersOf(call, body)
    const address = addressOf(call)
    if (address === undefined)
      throw fail('was not sent: a parameter is empty, or leads to another path', { class: 'refused' })
    const { method } = ENDPOINTS[call.endpoint]
    const echo = body === undefined ? maxAnswerBytes : Math.max(ECHO_BYTES, ECHO_TIMES * body.byteLength)
    const longest = Math.min(maxAnswerBytes, echo)
    if (call.signal?.aborted === true) throw fail(`failed: ${ENDED}`, { class: 'not-sent' })
    try {
      const outgoing = { address, method, headers, body, signal: call.signal, maxAnswerBytes: longest }
      const answer = await (HOT.has(call.endpoint) ? hot : others)(outgoing)
      return { ...answer, body: unpack(answer, longest) }
    } catch (error) {
      if (!(error instanceof ExchangeFailure)) throw error
      const { connected, status, retryAfter, what, cause } = error
      const retryAfterMs = parseRetryAfter(retryAfter, options.now())
      // A refusing status line counts even if the body broke off; a success counts only with its body.
      const refusal = status === undefined ? 'accepted' : classifyStatus(status, retryAfterMs !== undefined)
      // An upload address is a credential, so it is not shown.
      const where = call.address === undefined ? `, at ${address.origin}` : ''
      throw fail(
        status !== undefined && status < 200 ? `was answered ${status}` : `failed: ${what}${where}`,
        {
          class: refusal === 'accepted' ? classifyTransportFailure({ connected }) : refusal,
          status,
          retryAfterMs,
          cause,
        },
      )
    }
  }

  const close = (): void => {
    agent.http.destroy()
    secure?.destroy()
  }
  return { exchange, close }
}

function readResult<Result>(
  answer: Answer,
  reader: (answer: Answer) => Result,
  method: string,
  fail: Fail,
): Result {
  try {
    return reader(answer)
  } catch (error) {
    if (!(error instanceof UnreadableAnswer)) throw error
    const { status } = answer
    // A read answered with no content gets the same answer on a retry.
    const tells = error.class ?? (method === 'GET' && status === 204 ? 'refused' : 'ambiguous')
    throw fail(`was answered ${status}, but ${error.message}`, { class: tells, status })
  }
}

/** Creates the transport. @throws `settings-invalid`: see `parseBaseUrl` and `checkCredential` */
export function createTransport(options: TransportOptions): Transport {
  const forms = createCallForms(options)
  const { carriedBy, pathOf, token } = forms
  const { exchange, close } = createExchanges(options, forms)
  return {
    send: async (call, reader) => {
      const requestId = options.nextRequestId()
      const startedAt = options.now()
      const { method } = ENDPOINTS[call.endpoint]
      const operation = OPERATIONS.get(call.endpoint) ?? call.endpoint
      const path = pathOf(call)
      const fail: Fail = (what, details) =>
        new GatewayError(`${operation}: ${method} ${path} ${what}`, { ...details, requestId })
      let date: string | undefined
      const tell = (outcome: AnswerClass, status: number | undefined): void => {
        const durationMs = options.now() - startedAt
        options.onRequest?.({ operation, method, path, status, class: outcome, durationMs, requestId, date })
      }
      try {
        const response = await exchange(call, fail)
        const { status } = response
        date = response.headers.date
        const answer = createAnswer(status, requestId, response.body)
        const retryAfterMs = parseRetryAfter(response.headers['retry-after'], options.now())
        const outcome = classifyStatus(status, retryAfterMs !== undefined)
        if (outcome !== 'accepted' && call.alsoAnswers?.includes(status) !== true) {
          const body = answer.json()
          throw fail(`was answered ${status}`, {
            class: outcome,
            status,
            retryAfterMs,
            gatewayMessage: wordsOfErrorBody(body),
            envelopeCode: codeOfErrorBody(body),
            refusal: body,
            carried: carriedBy(call),
          })
        }
        const result = readResult(answer, reader, method, fail)
        tell('accepted', status)
        return result
      } catch (error) {
        if (error instanceof GatewayError) tell(error.class, error.status)
        throw error
      }
    },
    renewToken: () => token.renew().then(() => undefined),
    close,
  }
}

type Fail = (what: string, details: Omit<GatewayErrorDetails, 'requestId'>) => GatewayError

/** Names of the endpoints as words: `create biometrics bulk`. */
const OPERATIONS: ReadonlyMap<string, string> = new Map(
  Object.keys(ENDPOINTS).map((name) => [
    name,
    name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`),
  ]),
)

/** Token in use: fetched at the first call that needs it, kept until renewed. */
interface AccessToken {
  current(): Promise<string>
  /** Fetches a new token. Concurrent calls share a single fetch. */
  renew(): Promise<string>
}

function holdAccessToken(source: AccessTokenSource): AccessToken {
  let held: Promise<string> | undefined
  let renewal: Promise<string> | undefined

  const hold = (fetched: Promise<string>): Promise<string> => {
    const token = fetched.then((text) => checkCredential(text, 'WAYBILL_ACCESS_TOKEN'))
    held = token
    // A failed fetch is not kept: the next call fetches again.
    token.catch(() => {
      if (held === token) held = undefined
    })
    return token
  }

  return {
    current: () => held ?? hold(source.accessToken()),
    renew: () => {
      renewal ??= hold((source.renewAccessToken ?? source.accessToken)()).finally(() => {
        renewal = undefined
      })
      return renewal
    },
  }
}

/**
 * Fills in the parameters of a path, each as one segment (RFC 3986 section 2.1).
 *
 * @returns undefined if a parameter is empty, `.` or `..` (section 5.2.4), which would lead to another path; or if it has half a surrogate
 * pair
 */
function fillPath(path: string, parameters: Readonly<Record<string, string>> = {}): string | undefined {
  const isSegment = (value = ''): boolean => value.isWellFormed() && !/^\.{0,2}$/.test(value)
  const wanted = [...path.matchAll(/\{(\w+)\}/g)]
  if (!wanted.every(([, name = '']) => isSegment(parameters[name]))) return undefined
  return path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(parameters[name] ?? ''))
}

/** Maximum length of the gateway's message, in characters. */
const MESSAGE_LIMIT = 500

/**
 * Returns `message` and `errors[].message` of an error body (section "Errors"), each once; undefined if there are none. For a text with an
 * inner envelope, its reasons come first, then the phrase around them.
 */
function wordsOfErrorBody(body: unknown): string | undefined {
  const envelope = documented(ErrorEnvelope, body)
  if (envelope === undefined) return undefined
  const text = [...new Set([textOf(envelope), ...errorsOf(envelope)].flatMap(unwrap))].join('; ')
  return text === '' ? undefined : text.slice(0, MESSAGE_LIMIT)
}

/** Returns the messages inside a text, innermost first; the text itself if it wraps no envelope with messages. */
function unwrap(text: string): string[] {
  const inner = innerRefusalOf({ message: text })
  const reasons = inner === undefined ? [] : [...errorsOf(inner), textOf(inner)].flatMap(unwrap)
  if (reasons.length === 0) return [text].filter((words) => words !== '')
  // Cut before the search: a long run of blanks would take quadratic time.
  const phrase = text.slice(0, Math.min(text.indexOf('{'), MESSAGE_LIMIT)).replace(/[\s:]+$/, '')
  return [...reasons, phrase].filter((words) => words !== '')
}

const errorsOf = ({ errors }: ErrorEnvelope): string[] =>
  (documented(z.array(EnvelopeError), errors) ?? []).map(textOf)

function textOf(error: EnvelopeError | ErrorEnvelope): string {
  const text = typeof error === 'string' ? error : error.message
  return typeof text === 'string' ? text : ''
}
