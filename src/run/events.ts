/**
 * Dependencies of a run, and its stream of typed events: log, progress, metrics, notices and programs subscribe. Events hold names, positions, counts
 * and codes; no health data. An outage of the gateway is reported to the watcher of the run, and through the ledger to any other process.
 */
import { z } from 'zod'
import type { DefinitionFolders } from '../definitions/definition-files.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Exception, Ledger, PartOf, RunEnd, RunLedger, Tallies } from '../ledger/ledger.ts'
import type { SizeLimits } from '../load/batches.ts'
import type { BatchAnswer } from '../load/delivery.ts'
import type { Dispatcher } from '../load/dispatcher.ts'
import type { ReportedOutage } from '../load/outage.ts'
import type { Counts } from '../model/balance.ts'
import type { WaybillError } from '../model/errors.ts'
import type { Identity } from '../model/ids.ts'
import { iso, present } from '../system/shown-text.ts'
import type { DriftFinding } from '../watch/drift-watch.ts'
import type { SourceSettings } from './arrival.ts'
import type { SmallDelivery } from './find-exports.ts'

/** Progress of an export. `counts` keeps counting, and includes rows settled by an earlier process. */
export interface ExportProgress {
  readonly name: string
  readonly counts: Counts
  /** Settled share of the file, from 0 to 1. */
  readonly share: number
}

/** Position of a delivery in a backfill. Bytes are bytes of the files as delivered. */
export interface RangePosition {
  readonly number: number
  readonly of: number
  readonly bytes: number
  readonly bytesBefore: number
  readonly bytesOfAll: number
}

/** Row or record left behind, or a warning about an accepted row or record. */
export interface LeftBehind
  extends Pick<Exception, 'row' | 'line' | 'rule' | 'outcome' | 'stage' | 'code' | 'batchId'> {
  /** Undefined for a row that was rejected as a whole, and for a record that could not be made. */
  readonly transaction: string | undefined
}

export interface OutageProgress extends ReportedOutage {
  /** Records in hand. */
  readonly pending: number
}

interface RunStarted {
  readonly id: string
  readonly job: string
  readonly gateway: string
  readonly resumed: boolean
  /** Keeps counting, and includes the counts of earlier processes if the run is resumed. */
  readonly tallies: Readonly<Tallies>
  /** True if only work in flight is settled, so that another run of the job can begin. */
  readonly settledOnly?: boolean | undefined
  /** True if the ledger has no other run. */
  readonly isFirst?: boolean | undefined
}

interface GatewayWait {
  readonly operation: string
  readonly waitMs: number
  readonly class: string
  /** Latest event: the call, and its answer or the error of the connection. */
  readonly what: string
  readonly givesUpAt: number
}

export interface OtherRun {
  readonly job: string
  /** Undefined if the other process also waits, without a run yet. */
  readonly run?: string
  /** `host:pid` */
  readonly owner: string
  /** Milliseconds since the epoch. */
  readonly since: number
  /** True for a backfill, which lets this run go first. */
  readonly givesWay?: boolean | undefined
}

interface DriftedExport {
  readonly name: string
  readonly sha256: string
  readonly findings: readonly DriftFinding[]
  /** True if the small file was already reported: fewer rows than usual are then no news. */
  readonly isSmall: boolean
}

export type RunEvent =
  | ({ type: 'runStarted' } & RunStarted)
  /** A worker has a part of an export. `part`: `2 of 4`. */
  | { type: 'partStarted'; run: string; job: string; part: string }
  /** `code`: undefined for a part read to its end. */
  | { type: 'partEnded'; code: string | undefined }
  /** Search for the exports of another run, before a run takes up the records left behind there. */
  | { type: 'lookingAgain'; run: string; number: number; of: number }
  /** Wait before a second look, for exports that may still change. */
  | { type: 'lookingTwice'; againInMs: number }
  /** Exports present but incomplete, each with the missing condition. */
  | { type: 'exportsWaiting'; job: string; waiting: readonly string[] }
  /** Export unusually small against earlier exports of its source, not reported before. It runs like any other. */
  | ({ type: 'exportSmall' } & SmallDelivery)
  /** Notes on the text around the rows (`OpenFormat.notes`), and on the first person whose name changed. */
  | { type: 'exportNoted'; name: string; notes: readonly string[] }
  /** `position`: position of the delivery in a backfill, if known. */
  | ({
      readonly type: 'exportStarted'
      readonly bytes: number
      readonly position?: RangePosition | undefined
    } & ExportProgress)
  /** Chunk settled. `left`: rows and records left behind, computed on request. */
  | ({ type: 'exportAdvanced'; left: () => readonly LeftBehind[] } & ExportProgress)
  /** Export read to its end, with differences from earlier deliveries for a person to look at. */
  | ({ type: 'exportDrifted' } & DriftedExport)
  | { type: 'exportEnded'; name: string; counts: Counts }
  /** Export not read to its end. Records delivered by earlier chunks stay delivered. */
  | { type: 'exportFailed'; name: string; error: WaybillError }
  /** Export run, but not archived: it stays in place. */
  | { type: 'exportNotArchived'; name: string; error: WaybillError }
  /** Request with records ended. */
  | ({ type: 'batchAnswered' } & BatchAnswer)
  | ({ type: 'waiting' } & GatewayWait)
  /** Start, change of cause, or end of an outage: nothing gets through to the gateway. No end is reported if the run ends first. */
  | ({ type: 'outage' } & OutageProgress)
  /** People with records of another Waybill, out of the people whose profiles were read before the first records go to a gateway. */
  | { type: 'othersFound'; people: number; of: number }
  /** This run waits for another run. Emitted once for each awaited run. */
  | ({ type: 'waitingForRun' } & OtherRun)
  /** `workedMs`: working time since the start or resumption. */
  | ({ type: 'runEnded'; workedMs: number } & Omit<RunEnd, 'endedAt' | 'detail'>)

type EventType = RunEvent['type']
type EventOf<Type extends EventType> = Omit<Extract<RunEvent, { type: Type }>, 'type'>

/** Handlers by event type, or one handler for all events. */
export type RunListener =
  | { readonly [Type in EventType]?: ((event: EventOf<Type>) => void) | undefined }
  | ((event: RunEvent) => void)

export interface RunEvents {
  /** Passes the event to all listeners, in the order given. */
  emit(event: RunEvent): void
  /** True if anybody listens: checked before costly preparation of an event. */
  has(type: EventType): boolean
  /** The stream with one more listener. */
  with(listener: RunListener): RunEvents
}

export function createRunEvents(...listeners: readonly RunListener[]): RunEvents {
  const handOn = <Type extends EventType>(listener: RunListener, type: Type, event: EventOf<Type>): void => {
    if (typeof listener !== 'function') listener[type]?.(event)
  }
  return {
    emit(event) {
      for (const listener of listeners)
        if (typeof listener === 'function') listener(event)
        else handOn(listener, event.type, event)
    },
    has: (type) =>
      listeners.some((listener) => typeof listener === 'function' || listener[type] !== undefined),
    with: (listener) => createRunEvents(...listeners, listener),
  }
}

/** Dependencies of a run that are not pure; built in main.ts. */
export interface RunDependencies {
  readonly ledger: Ledger
  readonly gateway: Gateway
  /** Names the gateway in the ledger. */
  readonly gatewayName: string
  /** Sends all requests of this process to the gateway. */
  readonly dispatcher: Dispatcher
  /** Size limits of a batch, learned by all runs of this process at the gateway. */
  readonly sizes: SizeLimits
  readonly identity: Identity
  /** Version of the program. */
  readonly version: string
  readonly folders: DefinitionFolders
  readonly home: string
  /** Bytes of the disk that must be free for a run to begin. */
  readonly minFree: number
  /** Credentials and keys for the sources of exports. */
  readonly sources: SourceSettings
  readonly events: RunEvents
  readonly now: () => number
  readonly random: () => number
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
  /** Creates a run id that was never used before. */
  readonly newRunId: () => string
  /** Id of this process alone; `processName` turns it into `host:pid`. */
  readonly owner: string
  /** True if nobody works any more on the leases of the process, as far as is known. */
  readonly isDead: (owner: string) => boolean
  /** Aborted when the operator wants the run to stop: work in flight finishes, nothing new begins. */
  readonly interrupt: AbortSignal
  /** Has a worker read a part of an export; undefined without workers: this process then reads the parts, one after another. */
  readonly sendPart?: ((job: string, run: string, part: PartOf) => Promise<void>) | undefined
}

/** Outage, as stored with the lease of the run; instants in milliseconds since the epoch. */
const NotedOutage = z.object({
  since: z.int(),
  givesUpAt: z.int(),
  class: z.string(),
  status: z.int().optional(),
  what: z.string(),
  pending: z.int(),
})

/** Reason for waiting: nothing gets through to the gateway. Instants in ISO 8601, UTC. */
export interface WaitsForGateway {
  /** Time of the first failed request since the last success. */
  readonly since: string
  /** Time at which the run ends, unless something gets through. */
  readonly givesUpAt: string
  /** Class of the latest answer, HTTP status if any, and the call with its result. */
  readonly class: string
  readonly status?: number
  readonly what: string
  /** Records in hand of the run; rows not yet read may add more. */
  readonly pending: number
}

/** Outage noted in a lease; undefined if there is none, or if another version wrote it. */
export function readOutage(noted: string | null): WaitsForGateway | undefined {
  if (noted === null) return undefined
  const { success, data } = NotedOutage.safeParse(JSON.parse(noted))
  if (!success) return undefined
  const { since, givesUpAt, status, ...rest } = data
  return { since: iso(since), givesUpAt: iso(givesUpAt), ...rest, ...present({ status }) }
}

interface OutageWatch {
  changed(outage: ReportedOutage): void
  /** @param more records begun; negative for settled records */
  inHand(more: number): void
}

/** Writes to the ledger when an outage begins, ends or changes cause, and when a chunk begins meanwhile: never once a batch. */
export function watchOutages(
  runLedger: Pick<RunLedger, 'noteOutage'>,
  tell: (outage: OutageProgress) => void,
): OutageWatch {
  let pending = 0
  let current: ReportedOutage | undefined
  let isMissed = false
  const note = (): void => {
    const noted = current && JSON.stringify(NotedOutage.parse({ ...current, pending }))
    // The note only informs observers. An unwritable ledger ends the run where a write matters.
    runLedger.noteOutage(noted ?? null).then(
      () => {
        isMissed = false
      },
      () => {
        isMissed = true
      },
    )
  }
  return {
    changed(outage) {
      current = outage.isOver ? undefined : outage
      note()
      tell({ ...outage, pending })
    },
    inHand(more) {
      pending += more
      // A run that continues must not appear as waiting.
      if (current !== undefined || isMissed) note()
    },
  }
}
