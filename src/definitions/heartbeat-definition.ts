/** Heartbeat of a job, key `heartbeat` (docs/notifications.md): the address of a monitor that notices silence. The address may be a secret. */
import { z } from 'zod'
import { isSafeAddress } from './notify-definition.ts'

const Address = z
  .string()
  .refine(
    isSafeAddress,
    'must be an https address, like https://hc-ping.com/UUID; plain http is for loopback addresses only',
  )

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
