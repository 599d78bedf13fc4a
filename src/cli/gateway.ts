/** `waybill gateway`: serves the reference gateway until it is interrupted, or checks another one. */
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { DURATION } from '../definitions/quantity.ts'
import { createGateway } from '../gateway/gateway.ts'
import { EXIT, WaybillError } from '../model/errors.ts'
import { readFaultPlan } from '../reference-gateway/fault-plan.ts'
import { startReferenceGateway } from '../reference-gateway/server.ts'
import { attach } from '../runs/connect-gateway.ts'
import { readPeople, type Seeded, seedGateway } from '../runs/seed-gateway.ts'
import { shellWord } from '../shown-text.ts'
import type { Action, Options } from './commands.ts'

export const gateway: Action<'gateway'> = async (context, options) => {
  if (options.check !== undefined) {
    const { gatewayCheck } = await import('./gateway-check.ts')
    return gatewayCheck(context, options.check, options)
  }
  const given = [
    ...(options.account === undefined ? [] : ['--account']),
    ...(options.knownAccount ? ['--known-account'] : []),
    ...(options.madeUpUsers ? ['--made-up-users'] : []),
  ][0]
  if (given !== undefined) throw new WaybillError('usage-wrong', `${given} is given without --check`)
  const people = options.seed === undefined ? [] : readPeople(options.seed)
  const faults = options.faults === undefined ? undefined : await readFaultPlan(options.faults)
  const tie = options.attached ? await attach(context.input?.()) : undefined
  const served = await startReferenceGateway({
    port: options.port,
    version: context.version,
    clock: context.now,
    makeId: randomUUID,
    open: options.open ?? false,
    uploadLifetimeMs: durationOf(options.uploadLifetime),
    ...{ dataFile: options.data, apiKeys: options.apiKey, tokens: options.token },
    ...{ tokenOwners: options.bind, assessmentFile: options.assessment },
    faults: options.seed === undefined ? faults : undefined,
    ...tie?.credentials,
  })
  let seeded: Seeded | undefined
  try {
    if (options.seed !== undefined) seeded = await seed(served.url, people, options, context.now)
    // What is made up comes to be without failures.
    if (seeded !== undefined && faults !== undefined) await control(served.url, 'PUT', 'faults', faults)
  } catch (error) {
    await served.close()
    throw error
  }
  if (options.json) context.out(JSON.stringify({ url: served.url, ...(seeded && { seeded }) }))
  else {
    const key = options.apiKey?.[0] ?? 'any-key'
    const token = options.token?.[0] ?? 'any-token'
    context.out([
      `The reference gateway listens on ${served.url} (${options.data ?? 'in memory'}). Ctrl-C ends it.`,
      ...(seeded === undefined ? [] : [madeUp(seeded)]),
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

const madeUp = ({
  people,
  biometrics,
  conditions,
  careTeams,
  tests,
  requests,
  authorizations,
}: Seeded): string =>
  `Made up of ${people} people: ${biometrics} biometrics, ${conditions} conditions, ${careTeams} care-team entries, ${tests} completed tests, ${requests} requests for medical records, ${authorizations} of them authorized.`

async function control(baseUrl: string, method: string, what: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const { ok } = await fetch(`${baseUrl}/_reference/${what}`, { method, headers, body: JSON.stringify(body) })
  if (!ok) throw new TypeError(`/_reference/${what} was refused`)
}

async function seed(
  baseUrl: string,
  people: Parameters<typeof seedGateway>[1],
  options: Options<'gateway'>,
  now: () => number,
): Promise<Seeded> {
  const gateway = createGateway({
    ...{ baseUrl, now, nextRequestId: randomUUID },
    apiKey: options.apiKey?.[0] ?? 'seed',
    accessToken: async () => options.token?.[0] ?? 'seed',
    userToken: async (account) => {
      const token = `seed-${randomUUID()}`
      await control(baseUrl, 'POST', 'tokens', { token, account })
      return token
    },
  })
  try {
    return await seedGateway(gateway, people, now())
  } finally {
    gateway.close()
  }
}

function durationOf(text: string): number {
  const ms = DURATION.read(text)
  if (ms !== undefined) return ms
  throw new WaybillError('usage-wrong', `--upload-lifetime ${DURATION.demand('30m')}`)
}
