import assert, { AssertionError } from 'node:assert/strict'

/** Content of a call besides method and path. */
export interface Sent {
  readonly json?: unknown
  /** Values for `{names}` in the path. */
  readonly path?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string | readonly string[]>>
  readonly headers?: Readonly<Record<string, string>>
  /** Documented headers of the call to leave out. */
  readonly without?: readonly HeaderName[]
  /** Replaces the client's own token. */
  readonly token?: string
}

type HeaderName = 'X-API-Key' | 'Authorization' | 'X-API-Version' | 'accept' | 'Accept-Language'

/** Thrown if no answer began: the connection failed, or ended before. */
export class NoConnection extends AssertionError {}

/** Whole answer. */
export interface Answer {
  /** Method and path as in the document, for messages. */
  readonly call: string
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** Client for a single gateway that follows the document, with a key and a token. Independent of Waybill's own client. */
export interface Client {
  /**
   * Sends a call with the headers of the sections "Authentication" and "Versioning". Does not follow redirects.
   *
   * @param path as in the section "Endpoints", with `{names}`
   * @throws AssertionError if no whole answer arrives within the time limit, or the answer is too long; `NoConnection`
   */
  send(method: string, path: string, sent?: Sent): Promise<Answer>
  /** Puts a PDF to the address from an upsert, without key and token. */
  upload(address: string, pdf: string): Promise<Answer>
  /** Returns an unused identifier. */
  unique(what: string): string
  /** Path of the get-care-teams call. The document does not show this path. */
  readonly careTeamsPath: string
}

export interface ClientOptions {
  /** The interface's {base_url}. */
  readonly baseUrl: string
  readonly apiKey: string
  /** Key for the medical-records requester, if different. */
  readonly requesterApiKey?: string | undefined
  readonly accessToken: string
  /** For each call, including the body of the answer. */
  readonly timeLimitMs: number
  /** Ends calls in flight: they reject with the signal's reason. */
  readonly signal: AbortSignal
  readonly makeId: () => string
  /** Default: the path of the create call. */
  readonly careTeamsPath?: string | undefined
}

/** Maximum length of an answer in bytes; longer than any answer in the suite. */
const LONGEST_ANSWER = 4 * 1024 * 1024

export function createClient(options: ClientOptions): Client {
  const base = options.baseUrl.replace(/\/+$/, '')

  const exchange = async (call: string, url: string, init: RequestInit): Promise<Answer> => {
    const timeLimit = AbortSignal.timeout(options.timeLimitMs)
    const signal = AbortSignal.any([options.signal, timeLimit])
    let begun = false
    try {
      const answer = await fetch(url, { ...init, redirect: 'manual', signal })
      begun = true
      const text = await textOf(answer, call)
      return { call, status: answer.status, headers: answer.headers, text }
    } catch (cause) {
      options.signal.throwIfAborted()
      if (cause instanceof AssertionError) throw cause
      if (timeLimit.aborted) assert.fail(`${call}: no whole answer within ${options.timeLimitMs / 1000} s`)
      const message = `${call}: ${begun ? 'the answer broke off' : 'no answer'} (${reasonOf(cause)})`
      throw begun ? new AssertionError({ message }) : new NoConnection({ message })
    }
  }

  return {
    async send(method, path, sent = {}) {
      const { path: parameters = {}, query = {}, json } = sent
      const filled = path.replace(/\{(\w+)\}/g, (_, name: string) =>
        encodeURIComponent(parameters[name] ?? ''),
      )
      const url = new URL(base + filled)
      for (const [name, value] of Object.entries(query))
        for (const one of [value].flat()) url.searchParams.append(name, one)
      return exchange(`${method} ${path}`, url.href, {
        method,
        headers: headersOf(path, sent, options),
        ...(json === undefined ? {} : { body: JSON.stringify(json) }),
      })
    },
    async upload(address, pdf) {
      assert.ok(URL.canParse(address), 'authorizationUploadUrl: expected an address; got other text')
      return exchange('PUT authorizationUploadUrl', address, {
        method: 'PUT',
        headers: { 'Content-Type': 'application/pdf' },
        body: pdf,
      })
    },
    careTeamsPath: options.careTeamsPath ?? '/health-profile/care-teams',
    unique: (what) => `conformance-${what}-${options.makeId()}`,
  }
}

/** Sections "Authentication" and "Versioning". */
function headersOf(path: string, sent: Sent, options: ClientOptions): Headers {
  const profile = path.startsWith('/health-profile/')
  const test = path === '/assessments/bioage'
  const requester = path.startsWith('/medical-records/') ? options.requesterApiKey : undefined
  const headers = new Headers({ 'X-API-Key': requester ?? options.apiKey, accept: 'application/json' })
  if (profile || test) headers.set('Authorization', `Bearer ${sent.token ?? options.accessToken}`)
  if (test) headers.set('X-API-Version', '1.0')
  if (/^\/(content|medical-records)\//.test(path)) headers.set('X-API-Version', '1.0.0')
  if (path.includes('/recommendations')) headers.set('Accept-Language', 'en-US')
  if (sent.json !== undefined)
    headers.set('Content-Type', profile ? 'application/json;charset=UTF-8' : 'application/json')
  for (const [name, value] of Object.entries(sent.headers ?? {})) headers.set(name, value)
  for (const name of sent.without ?? []) headers.delete(name)
  return headers
}

/** Reads the body as text, up to the maximum length. */
async function textOf(answer: Response, call: string): Promise<string> {
  const pieces: Uint8Array[] = []
  let length = 0
  for await (const piece of answer.body ?? []) {
    pieces.push(piece)
    length += piece.length
    assert.ok(length <= LONGEST_ANSWER, `${call}: the answer is longer than ${LONGEST_ANSWER} bytes`)
  }
  return Buffer.concat(pieces).toString('utf8')
}

/** Returns the system's code of a network failure, which undici keeps in the cause; without a code (a barred port), the message. */
function reasonOf(failure: unknown): string {
  const cause = failure instanceof Error && failure.cause instanceof Error ? failure.cause : failure
  if (cause instanceof Error && 'code' in cause) return String(cause.code)
  return cause instanceof Error ? cause.message : 'unknown'
}
