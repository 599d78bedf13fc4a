/** `waybill gateway`: serves the reference gateway until it is interrupted. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { EXIT } from '../errors.ts'
import { startReferenceGateway } from '../reference-gateway/server.ts'
import type { Action } from './context.ts'

export interface GatewayCommandOptions {
  readonly port: number
  readonly data?: string
  readonly apiKey?: readonly string[]
  readonly token?: readonly string[]
  readonly open?: true
  readonly json?: true
}

export const gateway: Action<GatewayCommandOptions> = async (context, options) => {
  const served = await startReferenceGateway({
    port: options.port,
    clock: context.now,
    makeId: randomUUID,
    open: options.open ?? false,
    ...(options.data === undefined ? {} : { dataFile: options.data }),
    ...(options.apiKey === undefined ? {} : { apiKeys: [...options.apiKey] }),
    ...(options.token === undefined ? {} : { tokens: [...options.token] }),
  })
  if (options.json) context.out(`${JSON.stringify({ url: served.url })}\n`)
  else {
    const key = options.apiKey?.[0] ?? 'any-key'
    const token = options.token?.[0] ?? 'any-token'
    context.out(
      `The reference gateway listens on ${served.url} (${options.data ?? 'in memory'}). Ctrl-C ends it.\n\n` +
        'To point a job at it, in another terminal:\n' +
        `  export WAYBILL_GATEWAY_URL=${served.url} WAYBILL_API_KEY=${key} WAYBILL_ACCESS_TOKEN=${token}\n` +
        '  waybill run nightly-screenings\n\n' +
        `What it holds: ${served.url}/_reference/counts\n`,
    )
  }
  const over: Promise<unknown>[] = [once(context.interrupt, 'abort')]
  if (process.send !== undefined) {
    // Started by a run: it must not outlive it.
    over.push(once(process, 'disconnect'))
    process.send({ url: served.url })
  }
  await Promise.race(over)
  await served.close()
  return EXIT.ok
}
