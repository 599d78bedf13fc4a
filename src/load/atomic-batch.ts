/**
 * Of a gateway that stores a batch whole or not at all: one record that was found, or was not, speaks for those of which nobody can
 * tell. Pure.
 */
import type { Entry, Verdict } from '../model/entry.ts'

/**
 * @param batch all records of one request, and no others
 * @param verdicts those that contradict each other speak for themselves alone: then the gateway is not what it was taken for
 */
export function speakForBatch(
  batch: readonly Entry[],
  verdicts: ReadonlyMap<Entry, Verdict>,
): Map<Entry, Verdict> {
  const own = batch.map((entry) => [entry, verdicts.get(entry) ?? 'hidden'] as const)
  const known = new Set(
    own.map(([, verdict]) => verdict).filter((one) => one === 'stored' || one === 'absent'),
  )
  const [only] = known
  if (known.size !== 1 || only === undefined) return new Map(own)
  return new Map(batch.map((entry) => [entry, only]))
}

/** @param job whether its gateway is known to be such */
export const spokenFor = (
  job: { readonly batchesAreAtomic: boolean },
  entries: readonly Entry[],
  verdicts: ReadonlyMap<Entry, Verdict>,
): ReadonlyMap<Entry, Verdict> => (job.batchesAreAtomic ? speakForBatch(entries, verdicts) : verdicts)
