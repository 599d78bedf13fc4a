/** What everything that people do with runs is handed: settings, clock, chance, and the parts that are built when they are asked for. */
import type { Gateway } from '../gateway/gateway.ts'
import type { TransportOptions } from '../gateway/transport.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Identity } from '../model/ids.ts'
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
export interface Application {
  /** Of the program. */
  readonly version: string
  readonly settings: Settings
  /** Who has begun this process, as the operating system knows them. */
  readonly user: string
  readonly logger: Logger
  readonly now: () => number
  readonly random: () => number
  readonly randomHex: (bytes: number) => string
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  readonly interrupt: AbortSignal
  /** Of this process alone; `processName` of it is `host:pid`. */
  readonly owner: string
  /** Whether nobody is at work any more on what that process holds, as far as that is known. */
  readonly isDead: (owner: string) => boolean
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
