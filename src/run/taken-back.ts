/** Rows with withdrawn results that the gateway has: these are rejected, not left out. Pure. */
import type { TakenBack } from '../load/chunk-decisions.ts'
import { asMapped } from '../model/entry.ts'
import type { Issue, RejectedRecord } from '../model/record.ts'
import type { ChunkRow } from './chunks.ts'

export const WITHDRAWN: Issue = {
  stage: 'transform',
  code: 'withdrawn',
  message:
    'the source withdrew the result, and the gateway has, or may have, it; Waybill cannot delete it there',
}

const rejectedAs = ({ entry: { kind, rule }, sentAs }: TakenBack): RejectedRecord => ({
  kind,
  rule,
  sentAs,
  issue: WITHDRAWN,
})

export function withTakenBack(
  rows: readonly ChunkRow[],
  takenBack: readonly TakenBack[],
): readonly ChunkRow[] {
  if (takenBack.length === 0) return rows
  const byRow = Map.groupBy(takenBack, ({ entry }) => entry.row)
  return rows.map((one) => {
    const mapped = asMapped(one.outcome)
    const taken = mapped && byRow.get(mapped)
    if (mapped === undefined || taken === undefined) return one
    const leftOut = [...mapped.leftOut]
    for (const { entry } of taken) leftOut.splice(leftOut.indexOf(entry.leftOut), 1)
    const rejected = [...mapped.rejected, ...taken.map(rejectedAs)]
    return { source: one.source, outcome: { ...mapped, leftOut, rejected } }
  })
}
