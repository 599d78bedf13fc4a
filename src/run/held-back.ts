/**
 * Rows of the chunk in which `stopWhen` stopped a run: none was sent, and the ledger settles none. The ledger keeps the reasons, counted; the rejects
 * file keeps a sample of the rows.
 */
import { z } from 'zod'
import type { Issue } from '../model/record.ts'
import type { Chunk, ChunkRow } from './chunks.ts'
import type { AppendedFile } from './receipts.ts'
import { type RejectsOrigin, rejectsHeader, rejectsText } from './rejects.ts'

/** Rows in the sample at most. */
const SAMPLE = 100

/** Different reasons counted at most. */
const REASONS_KEPT = 200

const HeldBack = z.strictObject({
  /** Reasons of rejected and skipped rows, and of rejected records in the rest: most frequent first. */
  reasons: z.array(
    z.strictObject({
      stage: z.string(),
      code: z.string(),
      rule: z.string().nullable(),
      field: z.string().nullable(),
      message: z.string(),
      count: z.int(),
    }),
  ),
  /** Rows of the sample in the rejects file. */
  sample: z.int(),
})
type HeldBack = z.infer<typeof HeldBack>

/** Reads the entry kept with the export; undefined if nothing was held back. */
export const readHeldBack = (text: string | null): HeldBack | undefined =>
  text === null ? undefined : HeldBack.parse(JSON.parse(text))

/** Appends the sample to the rejects file, behind the settled rows. @returns the entry for the ledger */
export async function holdBack(
  origin: RejectsOrigin,
  inFront: readonly string[],
  rejects: AppendedFile,
  { rows }: Pick<Chunk, 'rows'>,
): Promise<string> {
  const sample = rows.filter(isLeftBehind).slice(0, SAMPLE)
  const text = rejectsText(origin, inFront, sample, { outcomes: [], followUpFailures: [] })
  const header = rejects.length === 0 ? rejectsHeader(inFront) : ''
  if (text !== '') await rejects.append(Buffer.from(header + text))
  const held: HeldBack = { reasons: countReasons(rows), sample: sample.length }
  return JSON.stringify(held)
}

const isLeftBehind = ({ outcome }: ChunkRow): boolean =>
  outcome.outcome === 'rejected' || (outcome.outcome === 'mapped' && outcome.rejected.length > 0)

function countReasons(rows: readonly ChunkRow[]): HeldBack['reasons'] {
  const reasons = new Map<string, HeldBack['reasons'][number]>()
  const add = (
    { stage, code, field = null, message }: Omit<Issue, 'field'> & { field?: string | null },
    rule: string | null,
  ) => {
    const key = JSON.stringify([stage, code, rule, field, message])
    const known = reasons.get(key)
    if (known !== undefined) known.count++
    else if (reasons.size < REASONS_KEPT) reasons.set(key, { stage, code, rule, field, message, count: 1 })
  }
  for (const { outcome } of rows) {
    if (outcome.outcome === 'rejected') add(outcome.issue, null)
    else if (outcome.outcome === 'skipped')
      add({ stage: 'transform', code: outcome.reason, message: 'the mapping skips the row' }, null)
    else for (const { rule, issue } of outcome.rejected) add(issue, rule)
  }
  return [...reasons.values()].sort((a, b) => b.count - a.count)
}
