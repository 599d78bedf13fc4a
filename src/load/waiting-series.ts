/** Records that must wait: behind an older record of their series, or until the gateway can no longer be late. */
import type { HeldDoubt, Slots, Suspicion } from '../ledger/ledger.ts'
import type { Entry } from '../model/entry.ts'
import type { EntryOutcome } from '../model/outcome.ts'
import type { Delivery } from './delivery.ts'

interface WaitContext extends Pick<Delivery, 'identity' | 'inDoubt' | 'readLagMs' | 'pause' | 'now'> {
  readonly memory: { readonly slots: Pick<Slots, 'heldSeries'> }
  readonly jobId: number
  readonly held: 'hold' | 'look' | 'resend'
  readonly suspicion: Suspicion
}

interface WaitingSeries {
  readonly isEmpty: () => boolean
  readonly has: (entry: Entry) => boolean
  /** Learns records in doubt with an unreadable profile. */
  readonly add: (outcomes: readonly EntryOutcome[]) => void
}

/**
 * Series with an older record still in question. The gateway returns only the latest record, so a newer record would hide the older for good
 * (interface, "the service: biometrics").
 */
export async function seriesThatWait(
  { memory, jobId, identity, held, inDoubt }: WaitContext,
  outcomes: readonly EntryOutcome[],
): Promise<WaitingSeries> {
  const own = new Set<string>()
  const before = held === 'hold' ? await memory.slots.heldSeries(jobId) : new Set<string>()
  const add = (ended: readonly EntryOutcome[]): void => {
    if (inDoubt === 'resend') return
    for (const one of ended) if (one.outcome === 'in-doubt' && one.isAsked) own.add(one.entry.series)
  }
  add(outcomes)
  return {
    isEmpty: () => own.size + before.size === 0,
    has: (entry) => own.has(entry.series) || (before.size > 0 && before.has(identity.series(entry.series))),
    add,
  }
}

/**
 * Waits until the gateway can no longer be late with records sent without a known result.
 * @param held doubts of the rows
 */
export async function waitForLate(
  context: WaitContext,
  unsent: readonly Entry[],
  held: ReadonlyMap<string, readonly HeldDoubt[]>,
): Promise<void> {
  const { suspicion, readLagMs } = context
  if (unsent.length === 0) return
  const sent = [...held.values()].flatMap((doubts) => doubts.flatMap(({ sentUntil }) => sentUntil ?? []))
  const since = suspicion.until === undefined ? sent : [suspicion.until, ...sent]
  const lateMs = Math.max(...since) + readLagMs - context.now()
  if (lateMs > 0) await context.pause(Math.min(lateMs, readLagMs))
}
