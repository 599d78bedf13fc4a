/** The key `notify` of a job as written (docs/notifications.md): who is told, and of what. */
import { z } from 'zod'

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
