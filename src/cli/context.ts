/** What commands are handed: settings, streams, and the parts that main.ts builds when they are asked for. */
import type { Readable } from 'node:stream'
import type { Gateway } from '../gateway/gateway.ts'
import type { TransportOptions } from '../gateway/transport.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Finding } from '../model/errors.ts'
import type { Identity } from '../model/ids.ts'
import type { Settings } from '../settings.ts'
import type { Lines } from '../shown-text.ts'
import type { Logger } from '../telemetry/logger.ts'

export interface GatewayConnection {
  readonly gateway: Gateway
  /** Names it in the ledger: its address, or `built-in`. */
  readonly name: string
  /** For people: where the records go. */
  readonly describe: string
  close(): Promise<void>
}

export interface CommandContext {
  /** Of the program. */
  readonly version: string
  readonly settings: Settings
  /** Who has begun this process, as the operating system knows them. */
  readonly user: string
  /** What is wrong with them; empty but for commands that are performed all the same. */
  readonly settingsFindings: readonly Finding[]
  readonly logger: Logger
  /** Prints lines to standard output, each as one line, whatever it holds. */
  readonly out: (lines: Lines) => void
  /** The same to standard error. */
  readonly err: (lines: Lines) => void
  /** Standard error as it is: for log and progress, which see to it themselves what they show. */
  readonly writeError: (text: string) => void
  /** Columns of the terminal that standard error is, as it is now; false: it is none. */
  readonly terminal: false | (() => number)
  /** Columns of the terminal that standard output is; undefined where it is none: then nothing is fitted to a width. */
  readonly columns?: number | undefined
  readonly now: () => number
  readonly random: () => number
  readonly randomHex: (bytes: number) => string
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  readonly interrupt: AbortSignal
  /** Opens standard input; undefined where there is none. */
  readonly input?: (() => Readable) | undefined
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

/** A command's action: returns its exit code. */
export type Action<Options> = (context: CommandContext, options: Options) => Promise<number>
