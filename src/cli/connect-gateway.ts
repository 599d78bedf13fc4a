/** The gateway that was chosen: one with an address, or the built-in reference gateway in a process of its own. */
import { join } from 'node:path'
import { createGateway } from '../gateway/gateway.ts'
import type { TransportOptions } from '../gateway/transport.ts'
import { BUILT_IN, type Settings } from '../settings.ts'
import { accessTokenOf } from './access-token-command.ts'
import { startAttached } from './attached-gateway.ts'
import type { GatewayConnection } from './context.ts'

/** As many as a job may send at once; the job's own ceiling is what holds. */
const MOST_CONNECTIONS = 64

/** Bytes of chance in each credential of the built-in gateway. */
const CREDENTIAL_BYTES = 32

export interface ConnectionParts extends Pick<TransportOptions, 'now' | 'nextRequestId' | 'onRequest'> {
  readonly randomHex: (bytes: number) => string
}

/** @param name of the gateway: an address, or `built-in` */
export async function connectGateway(
  name: string,
  settings: Settings,
  { randomHex, ...watch }: ConnectionParts,
): Promise<GatewayConnection> {
  const { careTeamsPath, bearerOnConditionsBulk } = settings
  const options = {
    ...watch,
    bearerOnConditionsBulk,
    maxSockets: MOST_CONNECTIONS,
    paths: careTeamsPath === undefined ? {} : { listCareTeams: careTeamsPath },
  }
  if (name === BUILT_IN) {
    const dataFile = join(settings.home, 'reference-gateway.sqlite')
    const [apiKey = '', token = '', controlSecret = ''] = [1, 2, 3].map(() => randomHex(CREDENTIAL_BYTES))
    const served = await startAttached(['--data', dataFile], {
      apiKeys: [apiKey],
      tokens: [token],
      controlSecret,
    })
    const gateway = createGateway({
      ...options,
      baseUrl: served.url,
      apiKey,
      accessToken: async () => token,
    })
    return {
      gateway,
      name,
      describe: `the built-in gateway, a stand-in on this machine (${dataFile}): no export is archived`,
      async close() {
        gateway.close()
        await served.stop()
      },
    }
  }
  const gateway = createGateway({
    ...options,
    baseUrl: name,
    apiKey: settings.apiKey ?? '',
    ...accessTokenOf(settings),
  })
  return { gateway, name, describe: name, close: async () => gateway.close() }
}
