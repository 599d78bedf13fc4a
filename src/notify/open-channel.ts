/** The channel of a target. What a channel needs is loaded with the first message: most runs have none. */
import { type Attach, type Channel, NotDelivered } from './channel.ts'
import type { NotifySettings, Target } from './target.ts'

/** Milliseconds that one try may take. */
const WEBHOOK_MS = 5_000
const EMAIL_MS = 8_000
const COMMAND_MS = 30_000

/** @throws NotDelivered where a setting is missing */
export async function openChannel(
  target: Target,
  { webhookSecret, smtpUrl, smtpFrom }: NotifySettings,
  now: () => number,
  attach?: Attach,
): Promise<Channel> {
  if ('webhook' in target) {
    if (webhookSecret === undefined) throw new NotDelivered('WAYBILL_WEBHOOK_SECRET is not set', false)
    const { createWebhook } = await import('./webhook.ts')
    return createWebhook({ url: target.webhook, secret: webhookSecret, timeoutMs: WEBHOOK_MS, now })
  }
  if ('email' in target) {
    if (smtpUrl === undefined || smtpFrom === undefined)
      throw new NotDelivered('WAYBILL_SMTP_URL and WAYBILL_SMTP_FROM are not set', false)
    const { createEmail } = await import('./email.ts')
    const more = attach === undefined ? {} : { attach }
    return createEmail({ smtpUrl, from: smtpFrom, to: target.email, timeoutMs: EMAIL_MS, ...more })
  }
  const { createCommand } = await import('./command.ts')
  return createCommand({ command: target.command, folder: target.folder, timeoutMs: COMMAND_MS })
}
