/** Reasons as people read them, on the page and in the terminal: what befell many rules or exports in the same words is one line. Pure. */
import type { Reason } from '../ledger/ledger.ts'
import { addKnown } from '../reconcile/new-and-known.ts'

export interface MergedReason
  extends Pick<
    Reason,
    'outcome' | 'stage' | 'code' | 'field' | 'message' | 'count' | 'settled' | 'known' | 'knownSince'
  > {
  /** Null stands for the row as a whole. */
  readonly rules: readonly (string | null)[]
  readonly exports: readonly string[]
}

/** Most frequent first. */
export function mergeReasons(reasons: readonly Reason[]): MergedReason[] {
  const same = Map.groupBy(reasons, ({ outcome, stage, code, field, message }) =>
    JSON.stringify([outcome, stage, code, field, message]),
  )
  return [...same.values()]
    .flatMap((group) => {
      const [first] = group
      if (first === undefined) return []
      const { outcome, stage, code, field, message } = first
      return [
        {
          ...{ outcome, stage, code, field, message },
          ...addKnown(group),
          settled: group.reduce((sum, { settled }) => sum + settled, 0),
          rules: [...new Set(group.map(({ rule }) => rule))],
          exports: [...new Set(group.map(({ exportName }) => exportName))],
        },
      ]
    })
    .sort((a, b) => b.count - a.count)
}
