/** What commands that send, or read back, have in common: ledger, gateway and the rest of what a run is handed. */
import type { TransportOptions } from '../gateway/transport.ts'
import type { SourceSettings } from '../run/arrival.ts'
import type { RunDependencies } from '../run/dependencies.ts'
import { createRunEvents, type RunListener } from '../run/events.ts'
import type { Settings } from '../settings.ts'
import type { Application, GatewayConnection } from './application.ts'

/** What runs at any gateway are handed. */
export type Surroundings = Omit<RunDependencies, 'gateway' | 'gatewayName'>

/**
 * Opens ledger and gateway, and closes them when the work is done, however it ends.
 * @param gateway as `chooseGateway` gives it
 */
export function withRunDependencies<Result>(
  application: Application,
  watch: RunWatch,
  gateway: string,
  work: (deps: RunDependencies) => Promise<Result>,
): Promise<Result> {
  return withGateways(application, watch, async (_, at) => work(await at(gateway)))
}

export interface RunWatch {
  /** Told of every event of the runs. */
  readonly listener: RunListener
  /** Told, for people, where the records go. */
  readonly onConnected?: (words: string) => void
  /** Told of every request to a gateway. */
  readonly onRequest?: TransportOptions['onRequest'] | undefined
}

/**
 * The same for runs at several gateways.
 * @param work given what leads to a gateway: it is connected when it is first asked for
 */
export async function withGateways<Result>(
  application: Application,
  { listener, onConnected, onRequest }: RunWatch,
  work: (common: Surroundings, at: (gateway: string) => Promise<RunDependencies>) => Promise<Result>,
): Promise<Result> {
  const { settings } = application
  const ledger = await application.openLedger()
  const connections = new Map<string, Promise<GatewayConnection>>()
  try {
    const connect = async (name: string): Promise<GatewayConnection> => {
      const connection = await application.connectGateway(name, onRequest)
      onConnected?.(`Records go to ${connection.describe}.`)
      return connection
    }
    const common: Surroundings = {
      ledger,
      identity: await application.identity((await ledger.runs(1)).length > 0),
      folders: settings,
      home: settings.home,
      sources: sourceSettings(settings),
      events: createRunEvents(listener),
      now: application.now,
      random: application.random,
      sleep: application.sleep,
      newRunId: () => newRunId(application),
      owner: application.owner,
      isDead: application.isDead,
      interrupt: application.interrupt,
    }
    return await work(common, async (name) => {
      const connecting = connections.get(name) ?? connect(name)
      connections.set(name, connecting)
      // What could not be begun is begun anew when it is asked for again.
      connecting.catch(() => connections.delete(name))
      const { gateway } = await connecting
      return { ...common, gateway, gatewayName: name }
    })
  } finally {
    for (const connection of connections.values()) await connection.then((one) => one.close()).catch(() => {})
    await ledger.close()
  }
}

export const sourceSettings = (settings: Settings): SourceSettings => ({
  sftpPassword: settings.sftpPassword,
  keyFile: settings.pgpKeyFile,
  passphraseFile: settings.pgpPassphraseFile,
  verifyKeyFile: settings.pgpVerifyKeyFile,
})

/** `20260302T071500Z-4f2a9c`: sorts by time, and is told apart by chance. */
const newRunId = ({ now, randomHex }: Application): string =>
  `${new Date(now()).toISOString().replaceAll(/[-:]|\.\d+/g, '')}-${randomHex(3)}`
