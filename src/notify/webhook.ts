/** Posts notices as JSON, signed by Standard Webhooks (github.com/standard-webhooks/standard-webhooks, spec 1.0.0). */
import { Webhook } from 'standardwebhooks'
import { demandSuccess } from './http-status.ts'
import { type Channel, payloadOf } from './notice.ts'

interface WebhookOptions {
  readonly url: string
  readonly secret: string
  readonly timeoutMs: number
  readonly now: () => number
}

export function createWebhook({ url, secret, timeoutMs, now }: WebhookOptions): Channel {
  const webhook = new Webhook(secret)
  return {
    async deliver(message) {
      const body = payloadOf(message)
      const at = new Date(now())
      await demandSuccess({
        method: 'POST',
        url,
        receiver: 'the webhook',
        headers: {
          'content-type': 'application/json',
          'webhook-id': message.id,
          'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
          'webhook-signature': webhook.sign(message.id, at, body),
        },
        body,
        timeoutMs,
      })
    },
  }
}
