/** A request to a receiver of notices or heartbeats: its status alone counts. */
import type { OptionsInit } from 'got'
import { NotDelivered, secondsOf } from './notice.ts'

interface StatusRequest {
  readonly method: 'GET' | 'POST'
  readonly url: string
  /** Name of the receiver in messages: `the webhook`. */
  readonly receiver: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly timeoutMs: number
}

/** True for an answer that another try within seconds may change. */
const isPassing = (status: number): boolean => status === 408 || status === 429 || status >= 500

/** Sends the request once; follows no redirect. @throws NotDelivered for any answer but a 2xx; its message never shows the address */
export async function demandSuccess(request: StatusRequest): Promise<void> {
  const { receiver, timeoutMs, headers, body, method } = request
  const statusCode = await statusOf(request.url, {
    method,
    headers: { 'user-agent': 'Waybill', ...headers },
    ...(body === undefined ? {} : { body }),
    retry: { limit: 0 },
    followRedirect: false,
    throwHttpErrors: false,
    timeout: { request: timeoutMs },
  }).catch(async (error: unknown) => {
    throw await failureOf(error, receiver, timeoutMs)
  })
  if (statusCode >= 200 && statusCode < 300) return
  const redirect = statusCode >= 300 && statusCode < 400 ? '; redirects are not followed' : ''
  throw new NotDelivered(`${receiver} answered ${statusCode}${redirect}`, isPassing(statusCode))
}

/** Loaded with the first request: most commands send none. */
const loadGot = () => import('got')

/** Status of the answer. Drops the body: it is not awaited and fills no memory. */
async function statusOf(url: string, options: OptionsInit): Promise<number> {
  const { default: got } = await loadGot()
  return new Promise((resolve, reject) => {
    const request = got.stream(url, options)
    request.on('error', reject)
    request.once('response', ({ statusCode }: { readonly statusCode: number }) => {
      resolve(statusCode)
      request.destroy()
    })
  })
}

/** Failure by codes alone: messages of the client show the address. */
async function failureOf(error: unknown, receiver: string, timeoutMs: number): Promise<unknown> {
  const { RequestError, TimeoutError } = await loadGot()
  if (error instanceof TimeoutError)
    return new NotDelivered(`${receiver} did not answer within ${secondsOf(timeoutMs)}`, true)
  if (error instanceof RequestError)
    return new NotDelivered(`${receiver} cannot be reached (${error.code})`, true)
  return error
}
