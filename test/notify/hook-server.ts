/** A receiver of webhooks, which verifies what it gets as any receiver would. */
import { Webhook } from 'standardwebhooks'
import { z } from 'zod'
import { type Loopback, type Reply, serve } from '../gateway/loopback.ts'

const Received = z.object({
  type: z.string(),
  timestamp: z.iso.datetime(),
  data: z.looseObject({
    id: z.string(),
    job: z.string(),
    gateway: z.string(),
    subject: z.string(),
    failure: z.boolean(),
    title: z.string(),
    text: z.array(z.string()),
    details: z.record(z.string(), z.unknown()),
  }),
})
export type Received = z.infer<typeof Received>

export const SECRET = `whsec_${Buffer.alloc(32, 42).toString('base64')}`

export interface HookServer extends Loopback {
  /** What was posted and bore a good signature; throws where one did not. */
  received(): Received[]
  /** `type title` of each. */
  titles(): string[]
  /** What it answers from now on. */
  answer(status: number): void
}

export async function startHookServer(status = 204): Promise<HookServer> {
  let current = status
  const server = await serve((): Reply => ({ status: current }))
  const received = (): Received[] =>
    server.seen.map(({ body, headers }) => {
      const given = Object.entries(headers).map(([name, value]) => [name, String(value)])
      return Received.parse(new Webhook(SECRET).verify(body, Object.fromEntries(given)))
    })
  return {
    ...server,
    received,
    titles: () => received().map(({ type, data }) => `${type} ${data.title}`),
    answer(next) {
      current = next
    },
  }
}
