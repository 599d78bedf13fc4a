/** The gateway that the settings name; without one, the built-in reference gateway in a process of its own. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { WaybillError } from '../errors.ts'
import { createGateway } from '../gateway/gateway.ts'
import type { TransportOptions } from '../gateway/transport.ts'
import type { Settings } from '../settings.ts'
import { printedToken } from './access-token-command.ts'
import type { GatewayConnection } from './context.ts'

/** Any will do: a reference gateway that names none takes every one. */
const BUILT_IN_CREDENTIAL = 'built-in'

/** As many as a job may send at once; the job's own ceiling is what holds. */
const MOST_CONNECTIONS = 64

/** @param watch clock, and what is told of each request */
export async function connectGateway(
  settings: Settings,
  watch: Pick<TransportOptions, 'now' | 'nextRequestId' | 'onRequest'>,
): Promise<GatewayConnection> {
  const { careTeamsPath, bearerOnConditionsBulk } = settings
  const options = {
    ...watch,
    bearerOnConditionsBulk,
    paths: careTeamsPath === undefined ? {} : { listCareTeams: careTeamsPath },
  }
  if (settings.gatewayUrl === undefined) {
    const dataFile = join(settings.home, 'reference-gateway.sqlite')
    const served = await serveBuiltIn(dataFile)
    const gateway = createGateway({
      ...options,
      baseUrl: served.url,
      maxSockets: MOST_CONNECTIONS,
      apiKey: BUILT_IN_CREDENTIAL,
      accessToken: async () => BUILT_IN_CREDENTIAL,
    })
    return {
      gateway,
      name: 'built-in',
      describe: `the built-in reference gateway on this machine (${dataFile}), as WAYBILL_GATEWAY_URL is not set`,
      async close() {
        gateway.close()
        await served.stop()
      },
    }
  }
  const gateway = createGateway({
    ...options,
    baseUrl: settings.gatewayUrl,
    maxSockets: MOST_CONNECTIONS,
    apiKey: settings.apiKey ?? '',
    ...tokenSource(settings),
  })
  return {
    gateway,
    name: settings.gatewayUrl,
    describe: settings.gatewayUrl,
    close: async () => gateway.close(),
  }
}

/** A token that is given is used as it is; a command is run for the first, and again when one is refused. */
function tokenSource({ accessToken, accessTokenCommand }: Settings): {
  accessToken: () => Promise<string>
  renewAccessToken?: () => Promise<string>
} {
  if (accessTokenCommand === undefined) return { accessToken: async () => accessToken ?? '' }
  const run = () => printedToken(accessTokenCommand)
  return { accessToken: accessToken === undefined ? run : async () => accessToken, renewAccessToken: run }
}

/** Starts `waybill gateway` beside this process; it ends with it, however that ends. */
async function serveBuiltIn(dataFile: string): Promise<{ url: string; stop(): Promise<void> }> {
  const entry = fileURLToPath(new URL('../../bin/waybill.js', import.meta.url))
  const child = fork(entry, ['gateway', '--port', '0', '--data', dataFile, '--json'], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    // Its settings are on the command line; what is meant for the run is not for it.
    // What the environment says is meant for the run; what the gateway needs is on its command line.
    env: {},
    // A Ctrl-C in the terminal is for the run, which still needs it to finish what is under way.
    detached: true,
  })
  let said = ''
  child.stderr?.on('data', (text: Buffer) => {
    said += text.toString()
  })
  const ended = once(child, 'exit')
  const [message] = await Promise.race([
    once(child, 'message'),
    ended.then(() => {
      throw new WaybillError(
        'gateway-unreachable',
        `the built-in reference gateway could not be started: ${said.trim()}`,
      )
    }),
  ])
  const url = typeof message === 'object' && message !== null && 'url' in message ? String(message.url) : ''
  child.channel?.unref()
  child.unref()
  return {
    url,
    async stop() {
      child.ref()
      if (child.connected) child.disconnect()
      await ended
    },
  }
}
