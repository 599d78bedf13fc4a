/**
 * Loads one chunk: recognise, register, cut, deliver, mark. Gives exactly one outcome for each of its records, or throws because
 * the run must stop; the chunk then stays open and is taken up again by the next run.
 */

import { unpackHolds } from '../ledger/holds.ts'
import type {
  BatchRecord,
  ChunkKey,
  ExceptionRecord,
  KnownCareTeam,
  Ledger,
  PerhapsSent,
} from '../ledger/ledger.ts'
import { RECORD_KINDS, type Stage } from '../transform/record.ts'
import { type AccountsContext, resolveAccounts } from './accounts.ts'
import { allDone } from './all-done.ts'
import { type BatchLimits, planBatches } from './batches.ts'
import { deliver } from './deliver.ts'
import type { Delivery } from './delivery.ts'
import type { Entry, EntryOutcome } from './entry.ts'
import { type CareTeamContext, type FollowUpFailure, knowCareTeams } from './known-care-teams.ts'
import { recognise } from './recognise.ts'
import { followUpCareTeams, selectCareTeams } from './settle-care-teams.ts'
import { settleUnanswered } from './unanswered-batches.ts'

export interface LoadContext extends Delivery {
  readonly memory: Pick<Ledger, 'delivered' | 'held' | 'batchesOf' | 'exceptionsOf'>
  readonly accounts: AccountsContext
  readonly careTeams: CareTeamContext
  readonly jobId: number
  readonly limits: BatchLimits
  /** Whether the gateway is known to take care teams of several accounts in one request. */
  readonly careTeamsAcrossAccounts: boolean
  /**
   * What is done with records that are in doubt since an earlier run. `hold`: they are not sent. `look`: the profile is read once more; what
   * it shows is not sent, what it lacks is. `resend`: as `look`, and what nobody can tell is sent, too.
   */
  readonly held: 'hold' | 'look' | 'resend'
  /**
   * Until when more may have been sent than the ledger, being a copy, knows. Then profiles are read before anything is sent that it does
   * not know, once the gateway can no longer be late with that.
   */
  readonly behindSince: number | undefined
  /** By runs that were given up: what was taken is not sent, and for what was never answered profiles are read, likewise. */
  readonly perhapsSent: PerhapsSent
}

export interface ChunkToLoad extends ChunkKey {
  readonly exportId: string
  readonly entries: readonly Entry[]
  /** Whether an earlier process may have sent some of it. */
  readonly resumed: boolean
}

export interface LoadedChunk {
  /** One for each entry, in the order of the entries. */
  readonly outcomes: readonly EntryOutcome[]
  readonly followUpFailures: readonly FollowUpFailure[]
  /** What accounts have of care teams now, as far as the chunk was about it. */
  readonly careTeams: readonly KnownCareTeam[]
  /** Rows whose key was delivered, or stood before in the chunk, with other content. */
  readonly rowsCorrected: number
}

/** @throws WaybillError where the run must stop */
export async function loadChunk(context: LoadContext, chunk: ChunkToLoad): Promise<LoadedChunk> {
  const { entries } = chunk
  const rowKeys = [...new Set(entries.map((entry) => entry.rowKey))]
  const held = await context.memory.held(context.jobId, rowKeys)
  const recognised = recognise(entries, {
    delivered: await context.memory.delivered(context.jobId, rowKeys),
    held: context.held === 'hold' ? held : new Map(),
  })
  const outcomes = new Map<Entry, EntryOutcome>()
  for (const entry of recognised.unchanged) outcomes.set(entry, { entry, outcome: 'unchanged' })
  for (const entry of recognised.held) outcomes.set(entry, stillInDoubt(entry))

  const earlier = chunk.resumed
    ? await recallChunk(context.memory, chunk, recognised.fresh)
    : nothingEarlier(recognised.fresh)
  for (const outcome of earlier.outcomes) outcomes.set(outcome.entry, outcome)

  const { taken, unanswered } = context.perhapsSent
  const unsent: Entry[] = []
  for (const entry of earlier.unsent) {
    if (taken.has(entry.content)) outcomes.set(entry, { entry, outcome: 'unchanged', found: true })
    else unsent.push(entry)
  }
  const open = [...earlier.unanswered.flatMap((batch) => batch.entries), ...earlier.unsent]
  const accounts = await resolveAccounts(context.accounts, open)
  await waitForLate(context, unsent)
  const doubtful =
    context.behindSince !== undefined
      ? unsent
      : unsent.filter(
          ({ rowKey, content }) => unanswered.has(content) || held.get(rowKey)?.has(content) === true,
        )
  const verdicts =
    doubtful.length === 0
      ? undefined
      : await context.reconciler.readBack(doubtful, accounts.accountIds, 'any')
  const sendable: Entry[] = []
  for (const entry of unsent) {
    const verdict = verdicts?.get(entry)
    const reason = accounts.refusalOf(entry)
    if (verdict === 'stored') outcomes.set(entry, { entry, outcome: 'unchanged', found: true })
    else if (verdict === 'unknown' && context.held !== 'resend')
      outcomes.set(
        entry,
        held.get(entry.rowKey)?.has(entry.content) ? stillInDoubt(entry) : perhapsSent(entry),
      )
    else if (reason !== undefined) outcomes.set(entry, { entry, outcome: 'rejected', batchId: null, reason })
    else sendable.push(entry)
  }

  const place = {
    exportRow: chunk.exportRow,
    chunk: chunk.chunk,
    exportId: chunk.exportId,
    accountIds: accounts.accountIds,
  }
  // What an earlier process left open is judged first: sending newer records of the same series would hide it.
  const settled = await settleUnanswered(
    context,
    earlier.unanswered.map(({ batch, kind, entries: sent }) => ({
      batch: { ...place, kind, entries: sent },
      row: batch.id,
      batchId: batch.batch_id,
      records: batch.records,
    })),
    accounts.accountIds,
  )
  const careTeams = await knowCareTeams(
    context.careTeams,
    entries.filter(({ record }) => record.kind === 'careTeam'),
    accounts,
  )
  const selected = await selectCareTeams(context.careTeams, careTeams, sendable)
  for (const outcome of selected.outcomes) outcomes.set(outcome.entry, outcome)
  const plan = planBatches(selected.sendable, context.limits, context.careTeamsAcrossAccounts)
  const deliveries: Promise<EntryOutcome[]>[] = []
  for (const { kind, entries: planned, after } of plan) {
    const before = after.flatMap((position) => deliveries[position] ?? [])
    deliveries.push(
      before.length === 0
        ? deliver(context, { ...place, kind, entries: planned })
        : Promise.all(before).then(() => deliver(context, { ...place, kind, entries: planned })),
    )
  }
  const delivered = await allDone(deliveries)
  for (const outcome of [...settled, ...delivered.flat()]) outcomes.set(outcome.entry, outcome)
  for (const { entry, first } of selected.twins) {
    const fate = outcomes.get(first)
    if (fate !== undefined) outcomes.set(entry, shareStored(entry, fate))
  }
  for (const { entry, first } of recognised.twins) {
    const fate = outcomes.get(first)
    if (fate !== undefined) outcomes.set(entry, shareFate(entry, fate))
  }

  const { failures, careTeams: known } = await followUpCareTeams(
    context.careTeams,
    careTeams,
    [...outcomes.values()],
    accounts,
  )
  return {
    outcomes: entries.flatMap((entry) => outcomes.get(entry) ?? []),
    followUpFailures: failures,
    careTeams: known,
    rowsCorrected: recognised.rowsCorrected,
  }
}

/** Until the gateway can no longer be late with what was sent without the ledger's knowing what has become of it. */
async function waitForLate(context: LoadContext, unsent: readonly Entry[]): Promise<void> {
  const { behindSince, perhapsSent, readLagMs } = context
  const perhaps = unsent.some(({ content }) => perhapsSent.unanswered.has(content))
  const since = [
    ...(behindSince !== undefined && unsent.length > 0 ? [behindSince] : []),
    ...(perhapsSent.until !== undefined && perhaps ? [perhapsSent.until] : []),
  ]
  const lateMs = Math.max(...since) + readLagMs - context.now()
  if (lateMs > 0) await context.pause(Math.min(lateMs, readLagMs))
}

interface Earlier {
  readonly outcomes: readonly EntryOutcome[]
  readonly unanswered: readonly {
    batch: BatchRecord
    kind: Entry['record']['kind']
    entries: readonly Entry[]
  }[]
  readonly unsent: readonly Entry[]
}

const nothingEarlier = (fresh: readonly Entry[]): Earlier => ({ outcomes: [], unanswered: [], unsent: fresh })

const positionOf = (row: number, rule: string, content: string): string => `${row}\n${rule}\n${content}`

/** What an earlier process did with these records, by the ledger. */
async function recallChunk(
  memory: LoadContext['memory'],
  key: ChunkKey,
  fresh: readonly Entry[],
): Promise<Earlier> {
  const byPosition = new Map(
    fresh.map((entry) => [positionOf(entry.row.row, entry.record.rule, entry.content), entry]),
  )
  const outcomes: EntryOutcome[] = []
  const unanswered: { batch: BatchRecord; kind: Entry['record']['kind']; entries: Entry[] }[] = []
  const take = (row: number, rule: string, content: string): Entry | undefined => {
    const position = positionOf(row, rule, content)
    const entry = byPosition.get(position)
    byPosition.delete(position)
    return entry
  }
  for (const exception of await memory.exceptionsOf(key)) {
    if (exception.outcome === 'warning') continue
    const entry = take(exception.row, exception.rule ?? '', exception.content ?? '')
    if (entry !== undefined) outcomes.push(recalled(entry, exception, exception.outcome))
  }
  for (const batch of await memory.batchesOf(key)) {
    if (batch.state === 'split') continue
    const entries = unpackHolds(batch.holds).flatMap(
      ({ row, rule, content }) => take(row, rule, content) ?? [],
    )
    const kind = RECORD_KINDS.find((one) => one === batch.kind)
    if (kind === undefined || entries.length === 0) continue
    if (batch.state === 'sending') unanswered.push({ batch, kind, entries })
    else
      for (const entry of entries)
        outcomes.push({ entry, outcome: 'accepted', batchId: batch.batch_id, status: batch.status })
  }
  return { outcomes, unanswered, unsent: [...byPosition.values()] }
}

function recalled(entry: Entry, exception: ExceptionRecord, outcome: 'rejected' | 'in-doubt'): EntryOutcome {
  const { code, field, message, batch_id: batchId } = exception
  const stage = exception.stage as Stage
  const reason = { stage, code, message, scrubbed: message, ...(field === null ? {} : { field }) }
  return { entry, outcome, batchId, reason }
}

const HELD = 'the record is in doubt since an earlier run; it is not sent again until that is decided'

const PERHAPS_SENT =
  'not sent: a run of the job was given up, or the ledger is a copy, so that it may have been sent before; and the profile cannot tell'

const notSent = (entry: Entry, code: 'held' | 'perhaps-sent', message: string): EntryOutcome => ({
  entry,
  outcome: 'in-doubt',
  batchId: null,
  reason: { stage: 'submit', code, message, scrubbed: message },
})

const stillInDoubt = (entry: Entry): EntryOutcome => notSent(entry, 'held', HELD)

const perhapsSent = (entry: Entry): EntryOutcome => notSent(entry, 'perhaps-sent', PERHAPS_SENT)

/** A twin of a record that was accepted is unchanged: the gateway has it, and it is not sent a second time. */
function shareFate(entry: Entry, fate: EntryOutcome): EntryOutcome {
  const given = fate.outcome === 'accepted' || fate.outcome === 'unchanged'
  return given ? { entry, outcome: 'unchanged' } : { ...fate, entry, batchId: null }
}

/** As a twin, but of another row: what the gateway has is known as delivered under that row's key, too. */
function shareStored(entry: Entry, fate: EntryOutcome): EntryOutcome {
  const shared = shareFate(entry, fate)
  return shared.outcome === 'unchanged' ? { ...shared, found: true } : shared
}
