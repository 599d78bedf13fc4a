/** `waybill gateway`: serves the reference gateway until it is interrupted, or checks another one. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { DURATION } from '../definitions/quantity.ts'
import { EXIT, WaybillError } from '../model/errors.ts'
import { readFaultPlan } from '../reference-gateway/fault-plan.ts'
import { startReferenceGateway } from '../reference-gateway/server.ts'
import type { TokenOwner } from '../reference-gateway/token-binding.ts'
import { attach } from '../runs/connect-gateway.ts'
import { shellWord } from '../shown-text.ts'
import type { Action } from './context.ts'

export interface GatewayCommandOptions {
  readonly port: number
  readonly data?: string
  readonly apiKey?: readonly string[]
  readonly token?: readonly string[]
  readonly bind?: Readonly<Record<string, TokenOwner>>
  readonly assessment?: string
  readonly faults?: string
  /** As written: `30m`. */
  readonly uploadLifetime: string
  readonly open?: true
  readonly attached?: true
  readonly check?: string
  readonly account?: string
  readonly json?: true
}

export const gateway: Action<GatewayCommandOptions> = async (context, options) => {
  if (options.check !== undefined) {
    const { gatewayCheck } = await import('./gateway-check.ts')
    return gatewayCheck(context, { ...options, check: options.check })
  }
  if (options.account !== undefined)
    throw new WaybillError('usage-wrong', '--account is given without --check')
  const tie = options.attached ? await attach(context.input?.()) : undefined
  const served = await startReferenceGateway({
    port: options.port,
    version: context.version,
    clock: context.now,
    makeId: randomUUID,
    open: options.open ?? false,
    uploadLifetimeMs: durationOf(options.uploadLifetime),
    ...(options.data === undefined ? {} : { dataFile: options.data }),
    ...(options.apiKey === undefined ? {} : { apiKeys: [...options.apiKey] }),
    ...(options.token === undefined ? {} : { tokens: [...options.token] }),
    ...(options.bind === undefined ? {} : { tokenOwners: options.bind }),
    ...(options.assessment === undefined ? {} : { assessmentFile: options.assessment }),
    ...(options.faults === undefined ? {} : { faults: await readFaultPlan(options.faults) }),
    ...(tie === undefined ? {} : tie.credentials),
  })
  if (options.json) context.out(JSON.stringify({ url: served.url }))
  else {
    const key = options.apiKey?.[0] ?? 'any-key'
    const token = options.token?.[0] ?? 'any-token'
    context.out([
      `The reference gateway listens on ${served.url} (${options.data ?? 'in memory'}). Ctrl-C ends it.`,
      '',
      'To point a job at it, in another terminal:',
      `  export WAYBILL_GATEWAY_URL=${served.url} WAYBILL_API_KEY=${shellWord(key)} WAYBILL_ACCESS_TOKEN=${shellWord(token)}`,
      '  waybill run JOB   # one that names no other gateway',
      '',
      `What it holds: ${served.url}/_reference/counts. Its interface: ${served.url}/openapi.json`,
    ])
  }
  await Promise.race([once(context.interrupt, 'abort'), ...(tie === undefined ? [] : [tie.ended])])
  await served.close()
  return EXIT.ok
}

function durationOf(text: string): number {
  const ms = DURATION.read(text)
  if (ms !== undefined) return ms
  throw new WaybillError('usage-wrong', `--upload-lifetime ${DURATION.demand('30m')}`)
}
