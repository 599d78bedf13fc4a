/**
 * What a run is handed, and what it tells, as one stream of typed events: log, progress, metrics, notices and programs subscribe. Names,
 * positions, counts and codes; no health data. While nothing gets through to the gateway, whoever watches the run is told, and by the ledger
 * any other process.
 */
import { z } from 'zod'
import type { DefinitionFolders } from '../definitions/definition-files.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Exception, Ledger, RunEnd, RunLedger, Tallies } from '../ledger/ledger.ts'
import type { BatchAnswer } from '../load/batch-watch.ts'
import type { ToldOutage } from '../load/outage.ts'
import type { Counts } from '../model/balance.ts'
import type { WaybillError } from '../model/errors.ts'
import type { Identity } from '../model/ids.ts'
import { present } from '../shown-text.ts'
import type { SourceSettings } from './arrival.ts'
import type { DriftFinding } from './drift.ts'
import type { SmallDelivery } from './find-exports.ts'

/** Of an export, so far; `counts` goes on counting, and holds what an earlier process has settled of it. */
export interface ExportProgress {
  readonly name: string
  readonly counts: Counts
  /** Of the file, from 0 to 1, that is settled. */
  readonly share: number
}

/** Where a delivery stands among those of a backfill. Bytes are those of the files as delivered. */
export interface RangePosition {
  readonly number: number
  readonly of: number
  readonly bytes: number
  readonly bytesBefore: number
  readonly bytesOfAll: number
}

/** A row or record that did not get through, or a warning about one that did. */
export interface LeftBehind
  extends Pick<Exception, 'row' | 'line' | 'rule' | 'outcome' | 'stage' | 'code' | 'batchId'> {
  /** Undefined for a row that was rejected as a whole, and a record that could not be made. */
  readonly transaction: string | undefined
}

export interface OutageProgress extends ToldOutage {
  /** Records in hand. */
  readonly pending: number
}

export interface RunStarted {
  readonly id: string
  readonly job: string
  readonly gateway: string
  readonly resumed: boolean
  /** Goes on counting, and holds what earlier processes have counted of a run that is resumed. */
  readonly tallies: Readonly<Tallies>
  /** Whether no more than what it has under way is settled, so that another run of its job can begin. */
  readonly settledOnly?: boolean | undefined
  /** Whether the ledger has no other run. */
  readonly isFirst?: boolean | undefined
}

export interface GatewayWait {
  readonly operation: string
  readonly waitMs: number
  readonly class: string
  /** What happened last: the call, and its answer or what was wrong with the connection. */
  readonly what: string
  readonly givesUpAt: number
}

export interface OtherRun {
  readonly job: string
  /** Undefined where that one waits, too, and has no run yet. */
  readonly run?: string
  /** `host:pid` */
  readonly owner: string
  /** Milliseconds since the epoch. */
  readonly since: number
  /** Whether that is a backfill, which lets this run go first. */
  readonly givesWay?: boolean | undefined
}

export interface DriftedExport {
  readonly name: string
  readonly sha256: string
  readonly findings: readonly DriftFinding[]
  /** That its file is strangely small is told: fewer rows than usual are no news. */
  readonly isSmall: boolean
}

export type RunEvent =
  | ({ readonly type: 'runStarted' } & RunStarted)
  /** Before it begins, a run that takes up what another one left looks for the exports of that one. */
  | { readonly type: 'lookingAgain'; readonly run: string; readonly number: number; readonly of: number }
  /** The run looks again then, for exports that may still change. */
  | { readonly type: 'lookingTwice'; readonly againInMs: number }
  /** Exports that are there and not complete, each with what it waits for. */
  | { readonly type: 'exportsWaiting'; readonly job: string; readonly waiting: readonly string[] }
  /** An export is strangely small against earlier ones of its source; nobody was told of it before. It is run as any other. */
  | ({ readonly type: 'exportSmall' } & SmallDelivery)
  /** What was seen around its rows (`OpenFormat.notes`), and the first person whose name changed. */
  | { readonly type: 'exportNoted'; readonly name: string; readonly notes: readonly string[] }
  /** `position`: of a backfill, which of its deliveries it is in, where that is known. */
  | ({
      readonly type: 'exportStarted'
      readonly bytes: number
      readonly position?: RangePosition | undefined
    } & ExportProgress)
  /** A chunk is settled. `left`: what of it did not get through, put together when it is asked for. */
  | ({ readonly type: 'exportAdvanced'; readonly left: () => readonly LeftBehind[] } & ExportProgress)
  /** It was read to its end, and differs from earlier deliveries by what a person should look at. */
  | ({ readonly type: 'exportDrifted' } & DriftedExport)
  | { readonly type: 'exportEnded'; readonly name: string; readonly counts: Counts }
  /** It was not read to its end. What chunks before have delivered stays delivered. */
  | { readonly type: 'exportFailed'; readonly name: string; readonly error: WaybillError }
  /** It was run, and stays where it is. */
  | { readonly type: 'exportNotArchived'; readonly name: string; readonly error: WaybillError }
  /** A request that carried records came to an end. */
  | ({ readonly type: 'batchAnswered' } & BatchAnswer)
  | ({ readonly type: 'waiting' } & GatewayWait)
  /**
   * Nothing gets through to the gateway, or something does again. Told when that begins, when it has another cause, and when it is over; not
   * where the run ends first.
   */
  | ({ readonly type: 'outage' } & OutageProgress)
  /** Before the first records go to a gateway: so many of the people whose profiles were read have records of another Waybill. */
  | { readonly type: 'othersFound'; readonly people: number; readonly of: number }
  /** This run waits for another one. Told once for each that is waited for. */
  | ({ readonly type: 'waitingForRun' } & OtherRun)
  /** `workedMs`: at work since it was begun or resumed. */
  | ({ readonly type: 'runEnded'; readonly workedMs: number } & Omit<RunEnd, 'endedAt' | 'detail'>)

type EventType = RunEvent['type']
type EventOf<Type extends EventType> = Omit<Extract<RunEvent, { readonly type: Type }>, 'type'>

/** What is done with events of those types that it names; or with each. */
export type RunListener =
  | { readonly [Type in EventType]?: ((event: EventOf<Type>) => void) | undefined }
  | ((event: RunEvent) => void)

export interface RunEvents {
  /** Hands it to all listeners, in the order in which they were named. */
  emit(event: RunEvent): void
  /** Whether anybody listens: for what costs something to put together. */
  has(type: EventType): boolean
  /** The same stream, to one more listener. */
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

/** An outage as the lease of the run has it while it lasts; instants in milliseconds since the epoch. */
const NotedOutage = z.object({
  since: z.int(),
  givesUpAt: z.int(),
  class: z.string(),
  status: z.int().optional(),
  what: z.string(),
  pending: z.int(),
})

/** Why a run waits: nothing gets through to the gateway. Instants in ISO 8601, UTC. */
export interface WaitsForGateway {
  /** When the first of the requests failed, of which none has got through since. */
  readonly since: string
  /** When the run ends, unless something gets through. */
  readonly givesUpAt: string
  /** Class of the latest answer, its HTTP status where there was one, and the call with what came of it. */
  readonly class: string
  readonly status?: number
  readonly what: string
  /** Records that the run has in hand; more may stand in what it has not read yet. */
  readonly pending: number
}

/** Undefined where it does not wait, or another version has written how. */
export function readOutage(noted: string | null): WaitsForGateway | undefined {
  if (noted === null) return undefined
  const { success, data } = NotedOutage.safeParse(JSON.parse(noted))
  if (!success) return undefined
  const { since, givesUpAt, status, ...rest } = data
  return { since: iso(since), givesUpAt: iso(givesUpAt), ...rest, ...present({ status }) }
}

export interface OutageWatch {
  told(outage: ToldOutage): void
  /** @param more records that the run has begun with; fewer, where it has settled some */
  inHand(more: number): void
}

/** The ledger is written to when an outage begins and ends, has another cause, or a chunk begins while it lasts: never by the batch. */
export function watchOutages(
  runLedger: Pick<RunLedger, 'noteOutage'>,
  tell: (outage: OutageProgress) => void,
): OutageWatch {
  let pending = 0
  let current: ToldOutage | undefined
  let isMissed = false
  const note = (): void => {
    const noted = current && JSON.stringify(NotedOutage.parse({ ...current, pending }))
    // It tells those who look on and nothing hangs on it: a ledger that cannot be written ends the run where something does.
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
    told(outage) {
      current = outage.isOver ? undefined : outage
      note()
      tell({ ...outage, pending })
    },
    inHand(more) {
      pending += more
      // A run that goes on is not to be shown as one that waits.
      if (current !== undefined || isMissed) note()
    },
  }
}

const iso = (at: number): string => new Date(at).toISOString()
