/**
 * Notification targets of a job, key `notify`, and the monitor that notices its silence, key `heartbeat` (docs/notifications.md). A digest identifies a
 * target. Its name holds no secrets, because an address may be a secret and a command may contain one.
 */
import { hash } from 'node:crypto'
import { z } from 'zod'
import type { Finding } from '../model/errors.ts'

export type Target = TargetDefinition & {
  /** Folder of the job file. Commands run there. */
  readonly folder: string
}

/** Settings that channels need; docs/settings.md. */
export interface NotifySettings {
  /** `whsec_` and base64, or base64 alone. */
  readonly webhookSecret: string | undefined
  /** `smtp://` or `smtps://`; it may hold a password. */
  readonly smtpUrl: string | undefined
  /** Sender of mails; set whenever `smtpUrl` is. */
  readonly smtpFrom: string | undefined
  readonly commandEnvironment: Readonly<Record<string, string>>
}

/** Key of a target by address or command, regardless of the position in the list: sixteen hex digits. */
export const keyOf = (target: TargetDefinition): string =>
  hash('sha256', JSON.stringify([kindOf(target), addressOf(target)]), 'hex').slice(0, 16)

/** Name of a target: `webhook hooks.example`, `mail to oncall@hospital.example`, `command ./page-oncall.sh` */
export function nameOf(target: TargetDefinition): string {
  if ('webhook' in target) return `webhook ${new URL(target.webhook).host}`
  if ('email' in target) return `mail to ${target.email}`
  const [word = ''] = target.command.trim().split(/\s/)
  // A variable assignment before the command may hold a password.
  return /^[\w./-]+$/.test(word) ? `command ${word}` : 'command'
}

const kindOf = (target: TargetDefinition): string =>
  'webhook' in target ? 'webhook' : 'email' in target ? 'email' : 'command'
const addressOf = (target: TargetDefinition): string =>
  'webhook' in target ? target.webhook : 'email' in target ? target.email : target.command

/** Missing settings of the targets, each once. */
export function missingSettings(
  targets: readonly TargetDefinition[],
  { webhookSecret, smtpUrl }: Pick<NotifySettings, 'webhookSecret' | 'smtpUrl'>,
): Finding[] {
  const needed = (key: string, what: string): Finding => ({
    place: { key },
    message: `is needed to notify ${what} (or ${key}_FILE)`,
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

/** Single target. Each mail recipient is one: a failed mail goes to nobody else again. */
type TargetDefinition = { readonly on: 'failure' | 'always' | 'news' } & (
  | { readonly webhook: string }
  | { readonly email: string }
  | { readonly command: string }
)

const On = z.enum(['failure', 'always', 'news'], 'must be failure, always or news')

const MailAddress = z.email('is not a mail address; write it like oncall@hospital.example')

const Entry = z
  .strictObject({
    webhook: safeAddress('https://hooks.example/waybill')
      .optional()
      .meta({ description: 'Address for signed notices, posted as JSON.' }),
    email: z
      .union([MailAddress.transform((one) => [one]), z.array(MailAddress).min(1, 'names nobody')])
      .optional()
      .meta({ description: 'Mail address, or a list of addresses.' }),
    command: z
      .string()
      .refine((text) => text.trim() !== '', 'is empty; write it like "./page-oncall.sh"')
      .optional()
      .meta({
        description:
          'A shell command, run in the folder of the job file, with the notice on its standard input.',
      }),
    on: On.default('failure').meta({
      description:
        'Occasions: problems that need a person (failure), every end of a run (always), or new problems only (news).',
    }),
  })
  .superRefine(({ webhook, email, command }, context) => {
    const given = [webhook, email, command].filter((one) => one !== undefined)
    if (given.length === 1) return
    context.addIssue({
      code: 'custom',
      message:
        'needs exactly one of webhook, email, command; write it like { webhook: https://hooks.example/waybill, on: always }',
    })
  })
  .transform(({ webhook, email = [], command, on }): TargetDefinition[] => [
    ...(webhook === undefined ? [] : [{ webhook, on }]),
    ...email.map((one) => ({ email: one, on })),
    ...(command === undefined ? [] : [{ command, on }]),
  ])

export const NotifyDefinition = z
  .union([Entry, z.array(Entry).transform((entries) => entries.flat())])
  .meta({ description: 'Targets of notices about runs: one target or a list.' })

const Stored = z.array(
  z.union([
    z.strictObject({ webhook: z.string(), on: On, folder: z.string() }),
    z.strictObject({ email: z.string(), on: On, folder: z.string() }),
    z.strictObject({ command: z.string(), on: On, folder: z.string() }),
  ]),
)

/** Text of targets, to be encrypted: addresses may hold secrets. */
export const storedTargets = (targets: readonly Target[]): string => JSON.stringify(targets)

/** Empty for a text of another version. */
export function readStoredTargets(text: string): Target[] {
  const { data } = Stored.safeParse(JSON.parse(text))
  return data ?? []
}

/** Address, a possible secret: messages do not show the text. */
function safeAddress(example: string) {
  const isSafe = (text: string): boolean => {
    const { protocol, hostname = '' } = URL.parse(text) ?? {}
    return (
      protocol === 'https:' ||
      (protocol === 'http:' && ['127.0.0.1', 'localhost', '[::1]'].includes(hostname))
    )
  }
  const message = `must be an https address, like ${example}; plain http is for loopback addresses only`
  return z.string().refine(isSafe, message)
}

const Address = safeAddress('https://hc-ping.com/UUID')

const SERVICES = ['healthchecks', 'cronitor'] as const

const serviceOf = (url: string): (typeof SERVICES)[number] =>
  new URL(url).hostname === 'cronitor.link' ? 'cronitor' : 'healthchecks'

export const HeartbeatDefinition = z
  .union([
    Address.transform((url) => ({ url, service: undefined })),
    z.strictObject({
      url: Address.meta({ description: 'Address of the monitor.' }),
      service: z.enum(SERVICES).optional().meta({
        description:
          'Form of the outcome: healthchecks (in the path) or cronitor (in the query). Default: by the host.',
      }),
    }),
  ])
  .transform(({ url, service = serviceOf(url) }) => ({ url, service }))
  .meta({ description: 'Address of a monitor, asked by GET after each run and each minute of the schedule.' })

export type Heartbeat = Readonly<z.infer<typeof HeartbeatDefinition>>
