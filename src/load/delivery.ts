/** What a batch is delivered with, and how it stands in the ledger when it is settled. */
import type { Gateway } from '../gateway/gateway.ts'
import type { ChunkKey, RunLedger } from '../ledger/ledger.ts'
import type { AccountIds, Entry, EntryOutcome } from '../model/entry.ts'
import type { Identity } from '../model/ids.ts'
import type { RecordKind } from '../model/record.ts'
import type { BatchWatch } from './batch-answer.ts'
import type { SizeLimits } from './batches.ts'
import { toException, toHeld } from './gateway-words.ts'
import type { Reconciler } from './look-up.ts'
import type { BodyBuffers } from './record-text.ts'
import type { Cause } from './retry-policy.ts'
import type { Sending } from './sending.ts'

export interface Delivery extends BatchWatch {
  readonly gateway: Gateway
  readonly ledger: RunLedger
  readonly sending: Sending
  readonly reconciler: Reconciler
  readonly identity: Identity
  readonly buffers: BodyBuffers
  /** What the gateway was found to take in one batch. */
  readonly sizes: SizeLimits
  readonly inDoubt: 'hold' | 'resend'
  /** Whether the gateway is known to store a batch whole or not at all. */
  readonly batchesAreAtomic: boolean
  /** How late a profile may show what the gateway has stored; milliseconds. */
  readonly readLagMs: number
  /** Waits, however impatient the job is; throws where the run is stopped. */
  readonly pause: (ms: number) => Promise<void>
  /** When the gateway last took a batch: what still fails after that fails by itself. */
  readonly progress: { takenAt: number }
  readonly random: () => number
}

/** One batch and where it belongs. */
export interface BatchToDeliver extends ChunkKey {
  readonly exportId: string
  readonly kind: RecordKind
  readonly entries: readonly Entry[]
  readonly accountIds: AccountIds
}

/** A batch that went out. */
export interface SentBatch {
  readonly batch: BatchToDeliver
  readonly batchId: string
  /** Its row in the ledger. */
  readonly row: number
  readonly attempts: number
  /** When it, or the batch of which it is the rest, went out first. */
  readonly firstSentAt: number
  /** HTTP status of the last try that failed and was answered. */
  readonly failedWith?: number | undefined
  readonly resends: number
}

/** What an answer says of a batch. */
export interface PartlyKnown {
  readonly answer: string
  readonly status: number | null
  readonly outcomes: readonly EntryOutcome[]
  /** Of these nothing is known yet. */
  readonly open: readonly Entry[]
  /** The words of errors that the gateway listed in an answer of success, for each record that they may be about. */
  readonly words?: ReadonlyMap<Entry, string>
  /** Where nobody knows whether the batch was taken: why. */
  readonly cause?: Cause
}

export async function settle(
  delivery: Delivery,
  sent: SentBatch,
  answer: string,
  status: number | null,
  outcomes: readonly EntryOutcome[],
): Promise<void> {
  const { exportRow, chunk } = sent.batch
  await delivery.ledger.settleBatch({
    id: sent.row,
    exportRow,
    chunk,
    answer,
    status,
    attempts: sent.attempts,
    accepted: outcomes.filter(({ outcome }) => outcome === 'accepted').map(({ entry }) => toHeld(entry)),
    exceptions: outcomes.flatMap((outcome) => toException(outcome) ?? []),
    at: delivery.now(),
  })
}
