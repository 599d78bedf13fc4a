/** What everything that people do with runs is handed: settings, clock, chance, and the parts that are built when they are asked for. */
import type { Gateway } from '../gateway/gateway.ts'
import type { TransportOptions } from '../gateway/transport.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Identity } from '../model/ids.ts'
import type { RunDependencies } from '../run/dependencies.ts'
import type { Settings } from '../settings.ts'
import type { Logger } from '../telemetry/logger.ts'

export interface GatewayConnection {
  readonly gateway: Gateway
  /** Names it in the ledger: its address, or `built-in`. */
  readonly name: string
  /** For people: where the records go. */
  readonly describe: string
  close(): Promise<void>
}

/** Built by `src/application.ts` alone. */
export interface Application
  extends Pick<RunDependencies, 'now' | 'random' | 'sleep' | 'owner' | 'isDead' | 'interrupt'> {
  /** Of the program. */
  readonly version: string
  readonly settings: Settings
  /** Who has begun this process, as the operating system knows them. */
  readonly user: string
  readonly logger: Logger
  readonly randomHex: (bytes: number) => string
  readonly openLedger: () => Promise<Ledger>
  /**
   * @param name of the gateway, as `chooseGateway` gives it
   * @param onRequest told of every request
   */
  readonly connectGateway: (
    name: string,
    onRequest?: TransportOptions['onRequest'],
  ) => Promise<GatewayConnection>
  /** @param hadRuns whether the ledger already holds what was hashed with its key, which must then be there */
  readonly identity: (hadRuns?: boolean) => Promise<Identity>
}
