/** Channel of a target. Loads its code with the first message: most runs have none. */

import type { NotifySettings, Target } from '../definitions/notify-definition.ts'
import { shown } from '../system/shown-text.ts'
import { type Attach, type Channel, NotDelivered } from './notice.ts'

const WEBHOOK_MS = 5_000
const EMAIL_MS = 8_000
const COMMAND_MS = 10_000

interface ChannelOptions {
  /** Upper bound for the timeout of one try, in milliseconds. */
  readonly withinMs?: number
  /** Makes the attachments of mails. */
  readonly attach?: Attach | undefined
}

/** Opens a channel. Every channel gets a notice with escaped lines. @throws NotDelivered for a missing setting */
export async function openChannel(
  target: Target,
  settings: NotifySettings,
  now: () => number,
  options?: ChannelOptions,
): Promise<Channel> {
  const channel = await channelOf(target, settings, now, options)
  return {
    deliver({ id, notice }) {
      const { title, text } = notice
      return channel.deliver({ id, notice: { ...notice, title: shown(title), text: text.map(shown) } })
    },
  }
}

async function channelOf(
  target: Target,
  { webhookSecret, smtpUrl, smtpFrom, commandEnvironment: environment }: NotifySettings,
  now: () => number,
  { withinMs = Number.POSITIVE_INFINITY, attach }: ChannelOptions = {},
): Promise<Channel> {
  const within = (limit: number): { readonly timeoutMs: number } => ({ timeoutMs: Math.min(limit, withinMs) })
  if ('webhook' in target) {
    if (webhookSecret === undefined) throw new NotDelivered('WAYBILL_WEBHOOK_SECRET is not set', false)
    const { createWebhook } = await import('./webhook.ts')
    return createWebhook({ url: target.webhook, secret: webhookSecret, ...within(WEBHOOK_MS), now })
  }
  if ('email' in target) {
    if (smtpUrl === undefined || smtpFrom === undefined)
      throw new NotDelivered('WAYBILL_SMTP_URL and WAYBILL_SMTP_FROM are not set', false)
    const { createEmail } = await import('./email.ts')
    const more = attach === undefined ? {} : { attach }
    return createEmail({ smtpUrl, from: smtpFrom, to: target.email, ...within(EMAIL_MS), ...more })
  }
  const { createCommand } = await import('./command.ts')
  return createCommand({ ...target, environment, ...within(COMMAND_MS) })
}
