/** What is told of a run while nothing gets through to the gateway: to whoever watches it, and by the ledger to any other process. */
import { z } from 'zod'
import type { RunLedger } from '../ledger/ledger.ts'
import type { ToldOutage } from '../load/sending.ts'
import { present } from '../shown-text.ts'
import type { OutageProgress } from './events.ts'

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
