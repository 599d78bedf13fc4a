/** Settles a chunk: writes rejects and receipts, then, in one transaction, all entries in the ledger. */
import type {
  DoubtRecord,
  Exception,
  ExportRecord,
  Ledger,
  LeftEvent,
  LeftRecord,
  Ruled,
  Ruling,
  RunLedger,
  RunOrigin,
} from '../ledger/ledger.ts'
import { packEntries } from '../ledger/packed-records.ts'
import { NAME_CHANGED } from '../load/accounts.ts'
import { listedBy } from '../load/care-team-owed.ts'
import { heldBy, toException } from '../load/gateway-words.ts'
import type { LoadContext, LoadedChunk } from '../load/load-chunk.ts'
import { allRecords, assertBalanced, type Counts } from '../model/balance.ts'
import { type Entry, type MappedRow, rowKeysOf } from '../model/entry.ts'
import { WaybillError } from '../model/errors.ts'
import { type Identity, transactionId } from '../model/ids.ts'
import type { EntryOutcome } from '../model/outcome.ts'
import type { Chunk, ChunkRow } from './chunks.ts'
import type { LeftBehind } from './events.ts'
import { type AppendedFile, receiptsOf, receiptsText, type SentAs } from './receipts.ts'
import { rejectsHeader, rejectsText, ruleOf } from './rejects.ts'
import { releaseDoubts } from './settle-doubts.ts'
import type { WorkedChunk } from './worker.ts'

/** Settlement of chunks: the parts that are equal for all chunks of a run. */
export interface Settling {
  readonly ledger: Pick<Ledger, 'left' | 'slots'>
  readonly runLedger: Pick<RunLedger, 'lease' | 'settleChunk'>
  readonly identity: Identity
  readonly receipts: AppendedFile
  readonly gatewayName: string
  readonly held: LoadContext['held']
  readonly origin: Pick<RunOrigin, 'selection'> | undefined
  /** True for old exports: none takes anything back. */
  readonly isBackfill: boolean
  readonly now: () => number
}

interface SettledExport {
  readonly record: ExportRecord
  /** Columns in front in the rejects file. */
  readonly inFront: readonly string[]
  readonly arrival: number
  /** True if the export lists all care teams of a person and is read as a whole: teams no longer listed are then missing. */
  readonly listsTeams: boolean
}

/** Writes rejects and receipts, then, in one transaction, everything that the ledger must know of the chunk. */
export async function settleChunk(
  context: Settling,
  { record, inFront, arrival, listsTeams }: SettledExport,
  rejects: AppendedFile,
  chunk: Pick<Chunk, 'number'>,
  worked: WorkedChunk,
): Promise<Counts> {
  const { rows, counts } = worked
  const renamed = renamedIn(worked)
  if (renamed.length > 0) counts.warnings[NAME_CHANGED.code] = renamed.length
  assertBalanced(counts, `chunk ${chunk.number} of ${record.name}`)
  const { pending } = allRecords(counts)
  if (pending > 0)
    throw new WaybillError(
      'not-balanced',
      `chunk ${chunk.number} of ${record.name} has ${pending} records without an outcome`,
    )
  const rejected = rejectsText({ name: record.name, exportId: record.export_id }, inFront, rows, worked)
  if (rejected !== '') {
    const header = rejects.length === 0 ? rejectsHeader(inFront) : ''
    await rejects.append(Buffer.from(header + rejected))
  }
  const { ruling, sentAs } = await rulingOf(context, { record, arrival }, rows, worked)
  await context.receipts.append(await receiptsText(receiptsOf(worked.outcomes, sentAs)))
  // A name in an older export is reported, and not kept.
  const isOlder = record.reading !== 'whole' || arrival !== record.id || context.isBackfill
  const names = isOlder ? undefined : worked.names
  const collected = await worked.settle?.()
  const withoutBatch = worked.outcomes.filter((one) => !('batchId' in one) || one.batchId === null)
  await context.runLedger.settleChunk({
    exportRow: record.id,
    chunk: chunk.number,
    counts: JSON.stringify(counts),
    receiptsLength: context.receipts.length,
    rejectsLength: rejects.length,
    delivered: worked.learned.delivered,
    renamed: worked.learned.renamed,
    accepted: acceptedAmong(withoutBatch),
    held: heldBy(context.identity, worked.outcomes),
    arrival,
    exceptions: exceptionsOf(context.identity, { ...worked, outcomes: withoutBatch }),
    listed: listsTeams
      ? listedBy(
          context.identity,
          rows.map(({ outcome }) => outcome),
        )
      : undefined,
    ruling,
    // If a chunk is worked again after a kill, the last time counts.
    tallies: { accounts: worked.accounts },
    names: names && {
      gateway: context.gatewayName,
      named: new Map([...names].map(([hashed, { named }]) => [hashed, named])),
    },
    collected,
    at: context.now(),
  })
  return counts
}

/** Rows in which the name of a person changed, one for each person, in row order. */
export const renamedIn = ({ names }: LoadedChunk): MappedRow[] =>
  [...(names?.values() ?? [])].flatMap(({ changedAt }) => changedAt ?? []).sort((a, b) => a.row - b.row)

/** Accepted records sent without a batch: registrations and requests for medical records. Batches hold the rest. */
function acceptedAmong(withoutBatch: readonly EntryOutcome[]): Uint8Array | undefined {
  const entries = withoutBatch.flatMap(({ outcome, entry }) => (outcome === 'accepted' ? [entry] : []))
  return entries.length === 0 ? undefined : packEntries(entries)
}

/** True for a record only now known to be with the gateway. */
const isWithGateway = (one: EntryOutcome): boolean =>
  one.outcome === 'accepted' || (one.outcome === 'unchanged' && one.found === true)

/** Exceptions of the rows, of the outcomes given, and of marks that could not be set. */
function exceptionsOf(
  identity: Pick<Identity, 'account'>,
  { rows, outcomes, followUpFailures }: Pick<WorkedChunk, 'rows' | 'outcomes' | 'followUpFailures'>,
): Exception[] {
  const exceptions: Exception[] = []
  for (const { outcome } of rows) {
    if (outcome.outcome === 'skipped') continue
    const { row, line, byteOffset } = outcome
    const lost =
      outcome.outcome === 'rejected'
        ? [{ kind: null, rule: null, issue: outcome.issue, sentAs: undefined }]
        : outcome.rejected
    if (lost.length === 0) continue
    const place = { row, line, byteOffset, content: null, batchId: null, outcome: 'rejected' as const }
    const person = outcome.account && identity.account(outcome.account)
    for (const { kind, rule, issue, sentAs } of lost) {
      const { stage, code, field = null, message } = issue
      exceptions.push({ ...place, kind, rule, stage, code, field, message, sentAs, person })
    }
  }
  const failures = followUpFailures.map((one) => ({ ...one, outcome: 'warning' as const, batchId: null }))
  for (const one of [...outcomes, ...failures]) {
    const exception = toException(identity, one)
    if (exception !== undefined) exceptions.push(exception)
  }
  return exceptions
}

/** Ruling on records left by other readings; undefined if there is nothing to rule. `sentAs` holds the found records. */
async function rulingOf(
  context: Pick<Settling, 'ledger' | 'runLedger' | 'held' | 'origin'>,
  { record, arrival }: Pick<SettledExport, 'record' | 'arrival'>,
  rows: readonly ChunkRow[],
  { outcomes, learned }: Pick<LoadedChunk, 'outcomes' | 'learned'>,
): Promise<{ ruling: Ruling | undefined; sentAs: SentAs }> {
  const { ledger, runLedger, held, origin } = context
  const { jobId, runId } = runLedger.lease
  // Held records are not touched. The run that meets a record, perhaps sent by a given-up run, looks for it.
  const asked =
    held !== 'hold'
      ? outcomes
      : learned.asked.size === 0
        ? []
        : outcomes.filter(({ entry }) => learned.asked.has(entry.content))
  const events = new Map<string, LeftEvent>([...learned.ended, ...eventsOf(asked)])
  const outdated = await waitingWith(ledger, jobId, learned.outdated)
  if (record.reading === 'whole' && events.size + outdated.length === 0)
    return { ruling: undefined, sentAs: new Map() }
  const isRivalled = events.size === 0 ? () => false : await rivalled(ledger, jobId, outcomes)
  // A doubt of a later export stays open if another record may be in its place by now: the later export has yet to deliver.
  const isOpen = ({ content, arrival: heldArrival }: DoubtRecord): boolean =>
    heldArrival > arrival && content !== null && isRivalled(content)
  const { ruling: doubts, sentAs } = await releaseDoubts(ledger, jobId, events, runId, isOpen)
  const ended = [...doubts.decisions, ...outdated]
  if (record.reading === 'whole')
    return { ruling: { run: runId, decisions: ended, released: doubts.released }, sentAs }
  const rejects =
    origin?.selection === 'decided'
      ? []
      : settledRejects(
          await ledger.left.ofEarlierReadings(
            { jobId, exportId: record.export_id, before: record.id, selection: 'rejected' },
            [...new Set(rows.map(({ source }) => source.row))],
          ),
          rows,
          outcomes,
        )
  const settled = rejects.map(({ id }) => ({ exception: id, event: 'deliver' as const }))
  const decisions = [...ended, ...settled]
  return { ruling: { run: runId, decisions, released: doubts.released }, sentAs }
}

/** Ends the wait of records with a newer word. An equal content in doubt elsewhere stays so. */
async function waitingWith(
  { left }: Pick<Ledger, 'left'>,
  jobId: number,
  contents: ReadonlySet<string>,
): Promise<Ruled[]> {
  if (contents.size === 0) return []
  const found = await left.inDoubtWith(jobId, [...contents])
  return found.flatMap(({ id, code }) =>
    code === 'waits-for-older' ? [{ exception: id, event: 'supersede' }] : [],
  )
}

/** Contents superseded later in the chunk, or with another record in doubt in the same place. */
async function rivalled(
  ledger: Pick<Ledger, 'slots'>,
  jobId: number,
  outcomes: readonly EntryOutcome[],
): Promise<(content: string) => boolean> {
  const taken = outcomes.filter(isWithGateway)
  const held = await ledger.slots.held(jobId, rowKeysOf(taken.map(({ entry }) => entry)))
  const placeOfRule = ({ rowKey, ruleHash }: Entry): string => `${rowKey}${ruleHash}`
  const last = new Map(taken.map(({ entry }) => [placeOfRule(entry), entry.content]))
  const found = taken.filter(
    ({ entry }) =>
      last.get(placeOfRule(entry)) !== entry.content ||
      (held.get(entry.rowKey) ?? []).some(
        ({ content, rule }) => content !== entry.content && rule === entry.ruleHash,
      ),
  )
  const contents = new Set(found.map(({ entry }) => entry.content))
  return (content) => contents.has(content)
}

/** Events of records that may have been in doubt, by content. */
function eventsOf(outcomes: readonly EntryOutcome[]): Map<string, LeftEvent> {
  const events = new Map<string, LeftEvent>()
  for (const one of outcomes) {
    const event = doubtEvent(one)
    // A twin shares the fate of the record that was sent: of care-team entries the last, of others the first.
    if (event !== undefined && (one.outcome === 'accepted' || !events.has(one.entry.content)))
      events.set(one.entry.content, event)
  }
  return events
}

function doubtEvent(one: EntryOutcome): LeftEvent | undefined {
  switch (one.outcome) {
    case 'accepted':
      return 'deliver'
    case 'unchanged':
      // A look at the care team has decided against the entry, stored or not: a stored one is deleted, as a deletion is owed.
      if (one.passedOver !== undefined) return one.passedOver === 'outdated' ? undefined : 'supersede'
      // The gateway has the record, from whatever run.
      if (!one.found) return 'deliver'
      return one.isOthers ? 'deliver' : 'find'
    case 'rejected':
      return 'refuse'
    case 'in-doubt':
      return undefined
  }
}

/**
 * Settles a reject if its row was taken up, and if nothing rejected then is left behind now. A line of a rejects file counts for its own rule alone.
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
    if (outcome === 'rejected' || outcome === 'in-doubt') leave(entry.row.row, entry.rule)
  }
  return earlier.filter(({ row, rule }) => {
    const whole = taken.has(placeOf(row, undefined))
    if (rule === null) return whole && !leftRows.has(row)
    if (whole && left.has(placeOf(row, undefined))) return false
    return (whole || taken.has(placeOf(row, rule))) && !left.has(placeOf(row, rule))
  })
}

/** Key of a row and a rule; a whole row has no rule. */
const placeOf = (row: number, rule: string | undefined): string => `${row}\n${rule ?? ''}`

/** Rows and records of the chunk that did not get through, for listeners. */
export function leftBehind(
  identity: Pick<Identity, 'account'>,
  record: ExportRecord,
  worked: Pick<WorkedChunk, 'rows' | 'outcomes' | 'followUpFailures'>,
): LeftBehind[] {
  return exceptionsOf(identity, worked).map((one) => {
    const { row, line, rule, content, outcome, stage, code, batchId, sentAs } = one
    const transaction =
      rule === null || content === null ? sentAs : transactionId(record.export_id, row, rule, content)
    return { row, line, rule, outcome, stage, code, batchId, transaction }
  })
}
