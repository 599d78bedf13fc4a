/**
 * Who is told: told apart by a digest and named without secrets, as an address may be a secret and a command may hold one. Also the key
 * `notify` of a job (docs/notifications.md).
 */
import { hash } from 'node:crypto'
import { z } from 'zod'
import type { Finding } from '../model/errors.ts'

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

/** A target as it is told: each recipient of a mail is one, so that none is told twice where another cannot be reached. */
export type TargetDefinition = { readonly on: 'failure' | 'always' | 'news' } & (
  | { readonly webhook: string }
  | { readonly email: string }
  | { readonly command: string }
)

const Address = z.email('is no mail address; write it like oncall@hospital.example')

const Entry = z
  .strictObject({
    webhook: z
      .string()
      .refine(
        isSafeAddress,
        'must be an https address, like https://hooks.example/waybill; plain http is for loopback addresses only',
      )
      .optional()
      .meta({ description: 'Address that notices are posted to as JSON, signed.' }),
    email: z
      .union([Address.transform((one) => [one]), z.array(Address).min(1, 'names nobody')])
      .optional()
      .meta({ description: 'Who gets a mail: an address, or a list of them.' }),
    command: z
      .string()
      .refine((text) => text.trim() !== '', 'is empty; write it like "./page-oncall.sh"')
      .optional()
      .meta({
        description:
          'A shell command, run in the folder of the job file, with the notice on its standard input.',
      }),
    on: z.enum(['failure', 'always', 'news'], 'is none of failure, always, news').default('failure').meta({
      description:
        'Whether it is told of what a person should look at alone, of every end of a run, or of what a person should look at and no earlier run had left so.',
    }),
  })
  .superRefine(({ webhook, email, command }, context) => {
    const given = [webhook, email, command].filter((one) => one !== undefined)
    if (given.length === 1) return
    context.addIssue({
      code: 'custom',
      message:
        'has one of webhook, email, command; write it like { webhook: https://hooks.example/waybill, on: always }',
    })
  })
  .transform(({ webhook, email = [], command, on }): TargetDefinition[] => [
    ...(webhook === undefined ? [] : [{ webhook, on }]),
    ...email.map((one) => ({ email: one, on })),
    ...(command === undefined ? [] : [{ command, on }]),
  ])

export const NotifyDefinition = z
  .union([Entry, z.array(Entry).transform((entries) => entries.flat())])
  .meta({ description: 'Who is told how runs end: one target or a list.' })

/** The address itself may be the secret of who may post to it: no message shows it. */
function isSafeAddress(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname } = new URL(text)
  const loopback = ['127.0.0.1', 'localhost', '[::1]'].includes(hostname)
  return protocol === 'https:' || (protocol === 'http:' && loopback)
}
