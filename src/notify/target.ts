/** Who is told: told apart by a digest and named without secrets, as an address may be a secret and a command may hold one. */
import { hash } from 'node:crypto'
import type { Finding } from '../model/errors.ts'
import type { TargetDefinition } from './notify-definition.ts'

export type Target = TargetDefinition & {
  /** That of the job file: commands are run in it. */
  readonly folder: string
}

/** Settings that channels need; docs/settings.md. */
export interface NotifySettings {
  /** `whsec_` and base64, or base64 alone. */
  readonly webhookSecret: string | undefined
  /** `smtp://` or `smtps://`; it may hold a password. */
  readonly smtpUrl: string | undefined
  /** Sender of mails; there wherever `smtpUrl` is. */
  readonly smtpFrom: string | undefined
  /** Variables that commands find. */
  readonly commandEnvironment: Readonly<Record<string, string>>
}

/** Sixteen hex digits: the same for the same address or command, wherever it stands in the list. */
export const keyOf = (target: TargetDefinition): string =>
  hash('sha256', JSON.stringify([kindOf(target), addressOf(target)]), 'hex').slice(0, 16)

/** `webhook hooks.example`, `mail to oncall@hospital.example`, `command ./page-oncall.sh` */
export function nameOf(target: TargetDefinition): string {
  if ('webhook' in target) return `webhook ${new URL(target.webhook).host}`
  if ('email' in target) return `mail to ${target.email}`
  const [word = ''] = target.command.trim().split(/\s/)
  // A variable that is set for the command may be a password.
  return /^[\w./-]+$/.test(word) ? `command ${word}` : 'command'
}

const kindOf = (target: TargetDefinition): string =>
  'webhook' in target ? 'webhook' : 'email' in target ? 'email' : 'command'
const addressOf = (target: TargetDefinition): string =>
  'webhook' in target ? target.webhook : 'email' in target ? target.email : target.command

/** Settings without which some of the targets cannot be told, each once. */
export function missingSettings(
  targets: readonly TargetDefinition[],
  { webhookSecret, smtpUrl }: Pick<NotifySettings, 'webhookSecret' | 'smtpUrl'>,
): Finding[] {
  const needed = (key: string, what: string): Finding => ({
    place: { key },
    message: `is needed to tell ${what} (or ${key}_FILE)`,
  })
  const webhook = targets.find((target) => 'webhook' in target)
  const email = targets.find((target) => 'email' in target)
  return [
    ...(webhook !== undefined && webhookSecret === undefined
      ? [needed('WAYBILL_WEBHOOK_SECRET', `the ${nameOf(webhook)}`)]
      : []),
    ...(email !== undefined && smtpUrl === undefined
      ? [needed('WAYBILL_SMTP_URL', `by ${nameOf(email)}`)]
      : []),
  ]
}
