import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import got, { type RequestPromise, type Response } from 'got'
import { type AccessTokenSource, checkCredential, holdAccessToken } from './access-token.ts'
import { type Answer, createAnswer, UnreadableAnswer } from './answer.ts'
import {
  type AnswerClass,
  classifyStatus,
  classifyTransportFailure,
  parseRetryAfter,
} from './answer-class.ts'
import { parseBaseUrl, resolvePath } from './base-url.ts'
import { GatewayError, type GatewayErrorDetails, wordsOfErrorBody } from './gateway-error.ts'
import { readTransportFailure } from './transport-failure.ts'

/** Longest time, in milliseconds, that each phase of a request may take; `request` is the whole of it. */
export interface Timeouts {
  readonly lookup: number
  readonly connect: number
  readonly secureConnect: number
  readonly send: number
  /** From the last byte sent to the first byte of the answer. */
  readonly response: number
  readonly request: number
}

const TIMEOUTS: Timeouts = {
  lookup: 5_000,
  connect: 10_000,
  secureConnect: 10_000,
  send: 60_000,
  response: 60_000,
  request: 120_000,
}

const MAX_ANSWER_BYTES = 32 * 1024 * 1024
const MAX_SOCKETS = 16

/**
 * Milliseconds after which an idle connection is closed from this side. Servers commonly close theirs after 5 seconds;
 * a request sent at that very moment is lost without a trace, and costs a read-back.
 */
const IDLE_SOCKET_MS = 4_000

/** One request, told once it is over. It holds no health data: `path` comes without its query. */
export interface RequestEvent {
  readonly operation: string
  readonly method: string
  readonly path: string
  readonly status: number | undefined
  /** `accepted` for every answer that could be read; whether each record was echoed is not the transport's to know. */
  readonly class: AnswerClass
  readonly durationMs: number
  readonly requestId: string
}

export interface TransportOptions extends AccessTokenSource {
  readonly baseUrl: string
  readonly apiKey: string
  /** Epoch milliseconds. */
  readonly now: () => number
  /** An id for errors and logs, new at each call. */
  readonly nextRequestId: () => string
  /** Connections at once (default 16). */
  readonly maxSockets?: number
  readonly timeouts?: Partial<Timeouts>
  /** Longest answer that is read, in bytes after decompression (default 32 MiB). */
  readonly maxAnswerBytes?: number
  readonly onRequest?: (event: RequestEvent) => void
}

/** JSON as text or as UTF-8. */
export type BodyContent = string | Uint8Array

export interface Call {
  /** Names the call in errors and events: `create biometrics`. */
  readonly operation: string
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Path below the base URL, with its leading slash. */
  readonly path: string
  readonly query?: URLSearchParams
  /** The body as it goes onto the wire; bytes must not change before the call is over. */
  readonly body?: { readonly content: BodyContent; readonly contentType: string }
  /** Whether the bearer token is sent (section "Authentication"). */
  readonly bearer: boolean
  /** Statuses outside 2xx that answer the call rather than fail it. */
  readonly alsoAnswers?: readonly number[]
}

export interface Transport {
  /**
   * Sends one request, once. `read` turns the answer into what the caller wants.
   * @throws GatewayError for everything but a readable answer of 2xx or of a status in `alsoAnswers`
   */
  send<Result>(call: Call, read: (answer: Answer) => Result): Promise<Result>
  renewToken(): Promise<void>
  /** Closes the connections; what is under way fails as ambiguous. */
  close(): void
}

/** @throws WaybillError `settings-invalid`: see `parseBaseUrl` and `checkCredential` */
export function createTransport(options: TransportOptions): Transport {
  const base = parseBaseUrl(options.baseUrl)
  const secure = base.protocol === 'https:'
  const apiKey = checkCredential(options.apiKey, 'WAYBILL_API_KEY')
  const token = holdAccessToken(options)
  const maxAnswerBytes = options.maxAnswerBytes ?? MAX_ANSWER_BYTES
  const pool = { keepAlive: true, maxSockets: options.maxSockets ?? MAX_SOCKETS, timeout: IDLE_SOCKET_MS }
  const agent = { http: new HttpAgent(pool), https: new HttpsAgent(pool) }

  const client = got.extend({
    agent,
    timeout: { ...TIMEOUTS, ...options.timeouts },
    retry: { limit: 0 },
    followRedirect: false,
    throwHttpErrors: false,
    https: { rejectUnauthorized: true },
    decompress: true,
    responseType: 'buffer',
    headers: { 'user-agent': 'waybill', accept: 'application/json', 'x-api-key': apiKey },
  })

  const headersOf = async (call: Call, body: Uint8Array | undefined): Promise<Record<string, string>> => ({
    ...(call.bearer ? { authorization: `Bearer ${await token.current()}` } : {}),
    ...(call.body === undefined ? {} : { 'content-type': call.body.contentType }),
    ...(body === undefined ? {} : { 'content-length': String(body.byteLength) }),
  })

  /** @throws GatewayError where no complete answer came */
  const exchange = async (call: Call, fail: Fail): Promise<Response<Uint8Array>> => {
    const content = call.body?.content
    const body = typeof content === 'string' ? Buffer.from(content) : content
    const headers = await headersOf(call, body)
    const tooLong = new AbortController()
    const exchanged: RequestPromise<Response<Uint8Array>> = client(resolvePath(base, call.path, call.query), {
      method: call.method,
      headers,
      signal: tooLong.signal,
      // One piece, with its length: got cuts a string or buffer into pieces of 64 KiB, and drops the connection where
      // the answer comes between the last piece and the end of the request, so that a stored batch goes unanswered.
      ...(body === undefined ? {} : { body: [body] }),
    })
    exchanged.on('downloadProgress', ({ transferred, total = 0 }) => {
      if (Math.max(transferred, total) > maxAnswerBytes) tooLong.abort()
    })
    try {
      return await exchanged
    } catch (error) {
      const { connected, status, retryAfter, what, cause } = readTransportFailure(error, secure)
      const broken = tooLong.signal.aborted ? `an answer longer than ${maxAnswerBytes} bytes` : what
      const retryAfterMs = parseRetryAfter(retryAfter, options.now())
      // A status line that refuses stands, even if the words behind it broke off; one of success is worth nothing alone.
      const refusal = status === undefined ? 'accepted' : classifyStatus(status, retryAfterMs !== undefined)
      throw fail(`failed: ${broken}`, {
        class: refusal === 'accepted' ? classifyTransportFailure({ connected }) : refusal,
        status,
        retryAfterMs,
        cause,
      })
    }
  }

  const read = <Result>(answer: Answer, reader: (answer: Answer) => Result, fail: Fail): Result => {
    try {
      return reader(answer)
    } catch (error) {
      if (!(error instanceof UnreadableAnswer)) throw error
      const { status } = answer
      throw fail(`was answered ${status}, but ${error.message}`, { class: 'ambiguous', status })
    }
  }

  return {
    send: async (call, reader) => {
      const requestId = options.nextRequestId()
      const startedAt = options.now()
      const fail: Fail = (what, details) =>
        new GatewayError(`${call.operation}: ${call.method} ${call.path} ${what}`, { ...details, requestId })
      const tell = (outcome: AnswerClass, status: number | undefined): void => {
        options.onRequest?.({
          operation: call.operation,
          method: call.method,
          path: call.path,
          status,
          class: outcome,
          durationMs: options.now() - startedAt,
          requestId,
        })
      }
      try {
        const response = await exchange(call, fail)
        const status = response.statusCode
        const answer = createAnswer(status, response.rawBody)
        const retryAfterMs = parseRetryAfter(response.headers['retry-after'], options.now())
        const outcome = classifyStatus(status, retryAfterMs !== undefined)
        if (outcome !== 'accepted' && call.alsoAnswers?.includes(status) !== true) {
          const gatewayMessage = wordsOfErrorBody(answer.json())
          throw fail(`was answered ${status}`, { class: outcome, status, retryAfterMs, gatewayMessage })
        }
        const result = read(answer, reader, fail)
        tell('accepted', status)
        return result
      } catch (error) {
        if (error instanceof GatewayError) tell(error.class, error.status)
        throw error
      }
    },
    renewToken: async () => {
      await token.renew()
    },
    close: () => {
      agent.http.destroy()
      agent.https.destroy()
    },
  }
}

type Fail = (what: string, details: Omit<GatewayErrorDetails, 'requestId'>) => GatewayError
