/**
 * What a chunk means for what earlier runs left behind: of a run that takes up their rows; and of any run, for what was under way in a run
 * that was given up.
 */
import type { ExportRecord, Ledger, LeftEvent, LeftRecord, Ruling, RunOrigin } from '../ledger/ledger.ts'
import type { LoadContext } from '../load/load-chunk.ts'
import type { EntryOutcome } from '../model/entry.ts'
import type { ChunkRow } from './chunks.ts'
import type { SentAs } from './receipts.ts'
import { ruleOf } from './rejected-line.ts'
import { releaseDoubts } from './settle-doubts.ts'

interface RulingContext {
  readonly ledger: Ledger
  readonly runLedger: { readonly lease: { readonly runId: string; readonly jobId: number } }
  readonly load: Pick<LoadContext, 'held' | 'perhapsSent'>
  readonly origin: Pick<RunOrigin, 'selection'> | undefined
}

/** The ruling is undefined where it says nothing of what others have left; the records are those that were found. */
export async function rulingOf(
  context: RulingContext,
  record: ExportRecord,
  rows: readonly ChunkRow[],
  outcomes: readonly EntryOutcome[],
): Promise<{ readonly ruling: Ruling | undefined; readonly sentAs: SentAs }> {
  const { ledger, runLedger, load, origin } = context
  const { jobId, runId } = runLedger.lease
  // What is held is not touched; what a run that was given up may have sent is looked for by whoever meets it.
  const isAsked = ({ entry }: EntryOutcome): boolean =>
    load.held !== 'hold' || load.perhapsSent.unanswered.has(entry.content)
  const events = eventsOf(outcomes.filter(isAsked))
  if (record.reading === 'whole' && events.size === 0) return { ruling: undefined, sentAs: new Map() }
  const { ruling: doubts, sentAs } = await releaseDoubts(ledger, jobId, events, runId)
  if (record.reading === 'whole')
    return { ruling: { run: runId, decisions: doubts.decisions, released: doubts.released }, sentAs }
  const rejects =
    origin?.selection === 'decided'
      ? []
      : settledRejects(
          await ledger.left.rejected({ jobId, exportId: record.export_id, before: record.id }, [
            ...new Set(rows.map(({ source }) => source.row)),
          ]),
          rows,
          outcomes,
        )
  const settled = rejects.map(({ id }) => ({ exception: id, event: 'deliver' as const }))
  const decisions = [...doubts.decisions, ...settled]
  return { ruling: { run: runId, decisions, released: doubts.released }, sentAs }
}

/** What has befallen records that may have been in doubt, by their content. */
function eventsOf(outcomes: readonly EntryOutcome[]): Map<string, LeftEvent> {
  const events = new Map<string, LeftEvent>()
  for (const one of outcomes) {
    const event = doubtEvent(one)
    // A twin shares the fate of the first, which stands before it.
    if (event !== undefined && !events.has(one.entry.content)) events.set(one.entry.content, event)
  }
  return events
}

function doubtEvent(one: EntryOutcome): LeftEvent | undefined {
  switch (one.outcome) {
    case 'accepted':
      return 'deliver'
    case 'unchanged':
      return one.found ? 'find' : undefined
    case 'rejected':
      return 'refuse'
    case 'in-doubt':
      return undefined
  }
}

/**
 * A reject is settled where its row was taken up, and nothing of what was rejected then is left behind now. Of a rejects file a line
 * stands for its own rule alone.
 */
function settledRejects(
  earlier: readonly LeftRecord[],
  rows: readonly ChunkRow[],
  outcomes: readonly EntryOutcome[],
): readonly LeftRecord[] {
  const taken = new Set<string>()
  const left = new Set<string>()
  const leftRows = new Set<number>()
  const leave = (row: number, rule: string | undefined): void => {
    left.add(placeOf(row, rule))
    leftRows.add(row)
  }
  for (const { source, outcome } of rows) {
    taken.add(placeOf(source.row, ruleOf(source)))
    if (outcome.outcome === 'rejected') leave(source.row, ruleOf(source))
    if (outcome.outcome === 'mapped') for (const { rule } of outcome.rejected) leave(source.row, rule)
  }
  for (const { outcome, entry } of outcomes) {
    if (outcome === 'rejected' || outcome === 'in-doubt') leave(entry.row.row, entry.record.rule)
  }
  return earlier.filter(({ row, rule }) => {
    const whole = taken.has(placeOf(row, undefined))
    if (rule === null) return whole && !leftRows.has(row)
    if (whole && left.has(placeOf(row, undefined))) return false
    return (whole || taken.has(placeOf(row, rule))) && !left.has(placeOf(row, rule))
  })
}

/** The row as a whole has no rule. */
const placeOf = (row: number, rule: string | undefined): string => `${row}\n${rule ?? ''}`
