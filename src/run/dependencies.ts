/** What a run is handed. */
import type { DefinitionFolders } from '../definitions/definition-files.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Identity } from '../model/ids.ts'
import type { SourceSettings } from './arrival.ts'
import type { RunEvents } from './events.ts'

/** Everything a run needs that is not pure; built in main.ts. */
export interface RunDependencies {
  readonly ledger: Ledger
  readonly gateway: Gateway
  /** Names the gateway in the ledger. */
  readonly gatewayName: string
  readonly identity: Identity
  readonly folders: DefinitionFolders
  readonly home: string
  /** Bytes that must be free on its disk for a run to begin. */
  readonly minFree: number
  /** Credentials and keys for where exports come from. */
  readonly sources: SourceSettings
  readonly events: RunEvents
  readonly now: () => number
  readonly random: () => number
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  /** A run id that was not used before. */
  readonly newRunId: () => string
  /** Of this process alone; `processName` of it is `host:pid`. */
  readonly owner: string
  /** Whether nobody is at work any more on what that process holds, as far as that is known. */
  readonly isDead: (owner: string) => boolean
  /** Aborted when the operator wants the run to stop: what is under way is finished, nothing new begun. */
  readonly interrupt: AbortSignal
  /** Requests a second that may leave for the gateway at most; undefined: as many as it takes. */
  readonly requestsPerSecond?: number | undefined
}
