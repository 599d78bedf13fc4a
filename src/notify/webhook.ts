/** Posts notices as JSON, signed by Standard Webhooks (github.com/standard-webhooks/standard-webhooks, spec 1.0.0). */
import type { OptionsInit } from 'got'
import { Webhook } from 'standardwebhooks'
import { type Channel, NotDelivered, payloadOf, secondsOf } from './notice.ts'

export interface WebhookOptions {
  readonly url: string
  /** `whsec_` and base64, or base64 alone. */
  readonly secret: string
  /** Milliseconds for the whole request. */
  readonly timeoutMs: number
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

/** True for an answer that another try within seconds may change. */
const isPassing = (status: number): boolean => status === 408 || status === 429 || status >= 500

export function createWebhook({ url, secret, timeoutMs, now }: WebhookOptions): Channel {
  const webhook = new Webhook(secret)
  return {
    async deliver(message) {
      const body = payloadOf(message)
      const at = new Date(now())
      const statusCode = await statusOf(url, {
        body,
        headers: {
          'content-type': 'application/json',
          'user-agent': 'Waybill',
          'webhook-id': message.id,
          'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
          'webhook-signature': webhook.sign(message.id, at, body),
        },
        retry: { limit: 0 },
        followRedirect: false,
        throwHttpErrors: false,
        timeout: { request: timeoutMs },
      }).catch(async (error: unknown) => {
        throw await failureOf(error, timeoutMs)
      })
      if (statusCode >= 200 && statusCode < 300) return
      const redirect = statusCode >= 300 && statusCode < 400 ? '; redirects are not followed' : ''
      throw new NotDelivered(`the webhook answered ${statusCode}${redirect}`, isPassing(statusCode))
    },
  }
}

/** Loaded with the first notice: most commands send none. */
const loadGot = () => import('got')

/** Status of the answer. Drops the body: it is not awaited and fills no memory. */
async function statusOf(url: string, options: OptionsInit): Promise<number> {
  const { default: got } = await loadGot()
  return new Promise((resolve, reject) => {
    const request = got.stream.post(url, options)
    request.on('error', reject)
    request.once('response', ({ statusCode }: { readonly statusCode: number }) => {
      resolve(statusCode)
      request.destroy()
    })
  })
}

/** Failure by codes alone: messages of the client show the address. */
async function failureOf(error: unknown, timeoutMs: number): Promise<unknown> {
  const { RequestError, TimeoutError } = await loadGot()
  if (error instanceof TimeoutError)
    return new NotDelivered(`the webhook did not answer within ${secondsOf(timeoutMs)}`, true)
  if (error instanceof RequestError)
    return new NotDelivered(`the webhook cannot be reached (${error.code})`, true)
  return error
}
