/** Settles open and in-doubt records of a run by read-back: reads the exports again, with their original mapping, and the profiles. */
import { hash } from 'node:crypto'
import { z } from 'zod'
import type { Job } from '../definitions/definition-files.ts'
import {
  type ChunkRecord,
  type ExceptionRecord,
  type ExportRecord,
  type KnownCareTeam,
  type Ledger,
  type LeftEvent,
  NO_SUSPICION,
  originOf,
} from '../ledger/ledger.ts'
import { type Held, unpackHolds } from '../ledger/packed-records.ts'
import { SampleSize as Size } from '../ledger/tickets.ts'
import { resolveAccounts } from '../load/accounts.ts'
import { lookUp } from '../load/delivery.ts'
import { createEntries, type Entry, sentUnder } from '../model/entry.ts'
import type { Identity } from '../model/ids.ts'
import type { AccountIds, Verdict } from '../model/outcome.ts'
import { isOfProfile } from '../model/record.ts'
import type { Origin } from '../model/row.ts'
import { type ProfileRecord, readProfile } from '../reconcile/match.ts'
import {
  COMPARED_FIELDS,
  type Comparison,
  compareWithProfile,
  type ExpectedOfCareTeam,
} from '../reconcile/verify.ts'
import { type Arrival, createArrival, spoolFolder } from '../run/arrival.ts'
import { kindOf } from '../run/backfill-range.ts'
import type { RunDependencies } from '../run/events.ts'
import { keptMapping, rejoin } from '../run/joined-exports.ts'
import { type LoadingDependencies, loadContext } from '../run/loading.ts'
import { receiptsOfSent } from '../run/receipts.ts'
import { namingCredential } from '../run/refused-credential.ts'
import { isGivenUp, settlementOf, stillHeld, unansweredOf } from '../run/resume.ts'
import { type OpenRows, openAll, openRows, selectRows } from '../run/rows.ts'
import { senderOfRun } from '../run/senders.ts'
import { releaseDoubts, sentIds } from '../run/settle-doubts.ts'
import type { Amending, RunOfJob } from './amend-run.ts'
import { receiveOriginal } from './take-up.ts'

export type SampleSize = Readonly<z.infer<typeof Size>>

const RECORDS_AT_ONCE = 500

export interface Reconciled {
  /** Records in doubt found stored, so accepted. */
  found: number
  /** Records in doubt found absent, so rejected and free to be sent. */
  missed: number
  /** Batches in flight of an interrupted run with every record now known. */
  batches: number
}

/** Settles the open batches and the doubts of a run. @throws `export-gone`, `gateway-unreachable` … */
export async function reconcileRun(again: RunAgain): Promise<Reconciled> {
  const reconciled: Reconciled = { found: 0, missed: 0, batches: 0 }
  for (const record of await again.ledger.exports.ofRun(again.run.id)) {
    reconciled.batches += await settleOpen(again, record)
    await settleDoubts(again, record, reconciled)
  }
  return reconciled
}

/**
 * Settles unanswered batches of open chunks. Absent records are sent when the run resumes, or when they come again. A batch with an unknown record
 * stays as it is.
 */
async function settleOpen(again: RunAgain, record: ExportRecord): Promise<number> {
  const { ledger, now } = again
  let settled = 0
  let rows: OpenRows | undefined
  for await (const { chunk, batches } of unansweredOf(ledger, record.id)) {
    const key = { exportRow: record.id, chunk: chunk.number }
    rows ??= await again.openRows(record)
    const entries = new Map<string, Entry>()
    for await (const ofRow of again.entriesOfChunk(record.export_id, rows, chunk))
      for (const entry of ofRow) entries.set(positionOf(heldOf(entry)), entry)
    for (const batch of batches) {
      const givenUp = isGivenUp(again.run)
      const open = givenUp ? await stillHeld(ledger, again.run.job_id, batch) : unpackHolds(batch.holds)
      const sent = open.flatMap((held) => {
        const entry = entries.get(positionOf(held))
        return entry === undefined ? [] : [{ held, entry }]
      })
      const verdicts = await again.readBack(sent.map(({ entry }) => entry))
      const isUnknown = ({ entry }: (typeof sent)[number]): boolean =>
        !['stored', 'absent'].includes(verdicts.get(entry) ?? 'hidden')
      if (open.length === 0 || sent.length < open.length || sent.some(isUnknown)) continue
      const stored = sent.filter(({ entry }) => verdicts.get(entry) === 'stored').map(({ held }) => held)
      // In a run that can resume, the chunk gets its receipts when settled.
      if (givenUp) await learn(again, open, new Set(stored))
      await again.runLedger.settleBatch({ ...key, ...settlementOf(batch, stored), at: now() })
      settled += 1
    }
  }
  return settled
}

/** Records the findings at once: the chunks of a run that was given up are never settled. */
async function learn(
  { ledger, now, run, runLedger, receipt }: RunAgain,
  sent: readonly Held[],
  stored: ReadonlySet<Held>,
): Promise<void> {
  const events = new Map(
    sent.map((one): [string, LeftEvent] => [one.content, stored.has(one) ? 'find' : 'miss']),
  )
  const { ruling, sentAs } = await releaseDoubts(ledger, run.job_id, events)
  await runLedger.rule({ ...ruling, ...(await receipt(receiptsOfSent(sentAs, 'read-back'))) }, now())
}

const heldOf = ({ row, rule, content }: Entry): Held => ({
  row: row.row,
  rule,
  content,
})

const positionOf = ({ row, rule, content }: Pick<ExceptionRecord, 'row' | 'rule' | 'content'>): string =>
  `${row}\n${rule}\n${content}`

async function settleDoubts(again: RunAgain, record: ExportRecord, reconciled: Reconciled): Promise<void> {
  const { ledger, now, run, runLedger } = again
  const places = (after: number, limit: number) =>
    ledger.left.rows({ exportRow: record.id, selection: 'in-doubt', runId: run.id }, after, limit)
  if ((await places(-1, 1)).length === 0) return
  const { opened, mapper } = await again.openAll(record)
  let open = new Map<string, Entry>()
  const judge = async (): Promise<void> => {
    const left = await ledger.left.inDoubtWith(run.job_id, [...open.keys()])
    const doubtful = new Set(left.map(({ content }) => content))
    const sent = sentIds(left)
    const held = await ledger.left.heldWith(run.job_id, [...open.keys()])
    const events = new Map<string, LeftEvent>()
    // A profile has shown these; newer records may hide them.
    for (const { content, sentUntil } of held)
      if (sentUntil === 0 && doubtful.delete(content)) events.set(content, 'find')
    const entries = [...open.values()].flatMap((entry) =>
      doubtful.has(entry.content) ? [sentUnder(entry, sent.get(entry.content) ?? entry.transactionId)] : [],
    )
    open = new Map()
    for (const [entry, verdict] of await again.readBack(entries)) {
      if (verdict === 'stored') events.set(entry.content, 'find')
      if (verdict === 'absent') events.set(entry.content, 'miss')
    }
    const { ruling, sentAs } = await releaseDoubts(ledger, run.job_id, events)
    const found = receiptsOfSent(sentAs, 'read-back')
    await runLedger.rule({ ...ruling, ...(await again.receipt(found)) }, now())
    const own = new Set(left.filter(({ exportRow }) => exportRow === record.id).map(({ id }) => id))
    for (const { exception, event } of ruling.decisions) {
      if (!own.has(exception)) continue
      if (event === 'miss') reconciled.missed += 1
      else reconciled.found += 1
    }
  }
  for await (const entries of again.entries(record.export_id, {
    opened: selectRows(opened, places),
    mapper,
  })) {
    for (const entry of entries) open.set(entry.content, entry)
    if (open.size >= RECORDS_AT_ONCE) await judge()
  }
  await judge()
}

type RunAgain = ReturnType<typeof connectAgain>

/** Parts that read the exports of a run again, and the profiles of its people. */
type ReadingAgain = LoadingDependencies & Pick<RunDependencies, 'dispatcher' | 'home' | 'sources'>

/** Connects a run to read its exports again. Nothing made here sends a record or registers a person. */
export async function withRunAgain<Result>(
  deps: ReadingAgain,
  job: Job,
  run: RunOfJob,
  amending: Amending,
  work: (again: RunAgain) => Promise<Result>,
): Promise<Result> {
  const sources = { ...deps.sources, signal: amending.signal }
  const arrival = createArrival(spoolFolder(deps.home, run.job_id, kindOf(run)), sources)
  try {
    return await work(connectAgain(deps, job, run, amending, arrival))
  } catch (error) {
    throw await namingCredential(error, deps.gateway)
  } finally {
    const unfinished = await deps.ledger.runs.unfinished(run.job_id, kindOf(run))
    await arrival.close(unfinished !== undefined)
  }
}

/** Next step for a run that was given up and whose file is gone. */
const withoutFile = ({ id }: RunOfJob): string =>
  `later runs look for its unanswered records. If you know that the gateway has them: waybill resolve ${id} --accept`

/** Finds an export of the run, with the mapping that the run used. @throws `export-gone` */
async function findAgain(
  ledger: Pick<Ledger, 'exports'>,
  arrival: Arrival,
  job: Job,
  run: RunOfJob,
  record: ExportRecord,
) {
  const otherwise = isGivenUp(run) ? withoutFile(run) : undefined
  const { file, version, limits, beside } = await receiveOriginal(arrival, job, record, otherwise)
  const content = await keptMapping(ledger, record)
  const mapping = await rejoin(content, record.name, arrival.kept, beside)
  return { record: { ...record, path: file, version }, mapping, limits }
}

/** Entries of an export, those of a row each; none for a rejected row. */
async function* entriesOf(
  identity: Identity,
  signal: AbortSignal,
  exportId: string,
  { opened, mapper }: OpenRows,
  from?: Origin,
): AsyncGenerator<Entry[]> {
  for await (const block of opened.rows(from)) {
    for (const source of block) {
      signal.throwIfAborted()
      const outcome = mapper(source)
      yield outcome.outcome === 'mapped' ? createEntries(identity, exportId, outcome) : []
    }
  }
}

async function* firstOf<One>(all: AsyncIterable<One>, most: number): AsyncGenerator<One> {
  let left = most
  for await (const one of all) {
    yield one
    if (--left <= 0) return
  }
}

function connectAgain(
  deps: ReadingAgain,
  job: Job,
  run: RunOfJob,
  { runLedger, receipt, signal }: Amending,
  arrival: Arrival,
) {
  const { ledger, identity, gateway, now } = deps
  const origin = originOf(run)
  const { sending } = senderOfRun(deps, job, runLedger, signal)
  const load = loadContext(deps, job, { runLedger, sending, signal, origin, suspicion: NO_SUSPICION })
  // A run with a dead process may have sent a moment ago.
  const overAt = run.state === 'running' ? deps.now() : (run.ended_at ?? deps.now())
  const found = (record: ExportRecord) => findAgain(ledger, arrival, job, run, record)
  const accountIds = async (entries: readonly Entry[]): Promise<AccountIds> =>
    (await resolveAccounts({ ...load.accounts, register: 'never' }, entries)).accountIds
  const entries = (exportId: string, rows: OpenRows, from?: Origin): AsyncGenerator<Entry[]> =>
    entriesOf(identity, signal, exportId, rows, from)
  return {
    ledger,
    now,
    run,
    runLedger,
    receipt,
    /** All rows of the file; for selected rows, all rows of the file they come from. @throws `export-gone` */
    async openAll(export_: ExportRecord): Promise<OpenRows> {
      const { record, mapping, limits } = await found(export_)
      return openAll(ledger, record, mapping, limits, run.started_at)
    },
    /** Rows read by the run. @throws `export-gone` */
    async openRows(export_: ExportRecord): Promise<OpenRows> {
      const { record, mapping, limits } = await found(export_)
      const opening = { ledger, runLedger, identity, startedAt: run.started_at, origin }
      return openRows(opening, record, mapping, limits)
    },
    entries,
    /** Entries from the first row of a chunk on. @param most rows to read; default: the rows of the chunk */
    entriesOfChunk(exportId: string, rows: OpenRows, chunk: ChunkRecord, most = chunk.rows) {
      const from = { row: chunk.first_row, line: chunk.first_line, byteOffset: chunk.byte_offset }
      return firstOf(entries(exportId, rows, from), most)
    },
    readBack: async (entries: readonly Entry[]): Promise<Map<Entry, Verdict>> =>
      lookUp({ ...load, stale: undefined }, entries, await accountIds(entries), overAt),
    /** Profile of the account shared by all entries; undefined if unreadable. */
    readProfile: (entries: readonly Entry[], ids: AccountIds): Promise<ProfileRecord[] | undefined> =>
      readProfile(gateway, load.sending.read, entries, ids),
    accountIds,
    accountOf: (entry: Entry): string => identity.account(entry.account),
    npiOf: identity.npi,
    /** True if the job replaces changed care-team entries. */
    replaces: load.careTeams.changed === 'replace',
    get reads(): number {
      return runLedger.tallies.requests.readBack
    },
  }
}

const LISTED = 100
/** Profiles in memory, for people with records in several chunks. */
const PROFILES_HELD = 1_000

const whole = z.int()
const VerifiedCounts = z.object({ equal: whole, differs: whole, hidden: whole, missing: whole })
type VerifiedCounts = z.infer<typeof VerifiedCounts>

const VerifiedForm = z.object({
  sample: Size,
  seed: z.string(),
  records: z.object({ biometric: VerifiedCounts, condition: VerifiedCounts, careTeam: VerifiedCounts }),
  fields: z.partialRecord(z.enum(COMPARED_FIELDS), whole),
  listed: z.array(
    z.object({
      transactionId: z.string(),
      verdict: z.string(),
      fields: z.array(z.string()).readonly().optional(),
    }),
  ),
})
export type Verified = Readonly<z.infer<typeof VerifiedForm>>

/** Findings of `waybill reconcile`, as a worker reports them. */
export const Findings = z.object({
  found: whole,
  missed: whole,
  batches: whole,
  reads: whole,
  verified: VerifiedForm.optional(),
})

/** @throws `export-gone`, `gateway-unreachable` … */
export async function verifyRun(again: RunAgain, sample: SampleSize, seed: string): Promise<Verified> {
  const chosen = await choosePeople(again, sample, seed)
  const verified: Verified = {
    sample,
    seed,
    records: { biometric: noneVerified(), condition: noneVerified(), careTeam: noneVerified() },
    fields: {},
    listed: [],
  }
  const profiles = new Map<string, ProfileRecord[] | undefined>()
  for await (const accepted of acceptedByChunk(again)) {
    const entries = accepted.filter((entry) => chosen(again.accountOf(entry)))
    const accountIds = await again.accountIds(entries)
    const groups = Map.groupBy(entries, (entry) => `${entry.kind}\n${again.accountOf(entry)}`)
    await Promise.all(
      [...groups].map(async ([key, group]) => {
        const profile = profiles.has(key) ? profiles.get(key) : await again.readProfile(group, accountIds)
        profiles.delete(key)
        profiles.set(key, profile)
        const expectedOf = await expectedOfGroup(again, group)
        for (const entry of group)
          count(verified, entry, compareWithProfile(entry, profile, expectedOf(entry)))
      }),
    )
    for (const oldest of profiles.keys()) {
      if (profiles.size <= PROFILES_HELD) break
      profiles.delete(oldest)
    }
  }
  return verified
}

const noneVerified = (): VerifiedCounts => ({ equal: 0, differs: 0, hidden: 0, missing: 0 })

/** Expected state of an account's entries of a kind, according to the ledger. */
async function expectedOfGroup(
  again: RunAgain,
  group: readonly Entry[],
): Promise<(entry: Entry) => ExpectedOfCareTeam | undefined> {
  const { ledger } = again
  const [first] = group
  if (first?.kind !== 'careTeam') return () => undefined
  const account = again.accountOf(first)
  const known = (await ledger.careTeams.ofAccounts(again.run.gateway, [account])).get(account) ?? []
  const bearer = bearerOf(again, group, known)
  const listing = (await ledger.careTeams.listed(again.run.job_id, [account])).get(account)
  return (entry) => {
    const own = again.npiOf(entry.evidence.npi ?? '')
    const ofProvider = known.find(({ npi }) => npi === own)
    return {
      isBearer: entry === bearer,
      ...(again.replaces && ofProvider !== undefined ? { newest: ofProvider.observedAt } : {}),
      owesDeletion: ofProvider !== undefined && ofProvider.deletions.length > 0,
      isRemoved: listing !== undefined && !listing.npis.has(own),
    }
  }
}

/** Care-team entry of an account whose provider should bear the mark: the latest marked entry, unless the ledger knows a newer mark. */
function bearerOf(
  again: RunAgain,
  group: readonly Entry[],
  known: readonly KnownCareTeam[],
): Entry | undefined {
  const [bearer] = group
    .filter((entry) => entry.primary === true)
    .toSorted((a, b) => b.observedAt - a.observedAt || b.row.row - a.row.row)
  if (bearer === undefined) return undefined
  const { observedAt, evidence } = bearer
  const own = again.npiOf(evidence.npi ?? '')
  const hasOther = known.some(
    ({ npi, mark, observedAt: at }) => npi !== own && mark === 'set' && at >= observedAt,
  )
  const isWithdrawn = known.some(
    ({ npi, mark, observedAt: at }) => npi === own && mark !== 'set' && at > observedAt,
  )
  return hasOther || isWithdrawn ? undefined : bearer
}

function count(verified: Verified, entry: Entry, comparison: Comparison): void {
  const { verdict } = comparison
  const { kind } = entry
  if (!isOfProfile(kind)) return
  verified.records[kind][verdict] += 1
  if (verdict === 'equal' || verdict === 'hidden') return
  const fields = comparison.verdict === 'differs' ? comparison.fields : undefined
  for (const field of fields ?? []) verified.fields[field] = (verified.fields[field] ?? 0) + 1
  const { transactionId } = entry
  if (verified.listed.length < LISTED)
    verified.listed.push({ transactionId, verdict, ...(fields === undefined ? {} : { fields }) })
}

/** Chooses a sample of people. A sample by number needs a first reading, to find the people with the lowest draws. */
async function choosePeople(
  again: RunAgain,
  sample: SampleSize,
  seed: string,
): Promise<(account: string) => boolean> {
  if (sample.kind === 'all') return () => true
  if (sample.kind === 'share') return (account) => drawOf(seed, account) < sample.share
  const lowest = createLowestDraws(sample.people)
  for await (const entries of acceptedByChunk(again))
    for (const entry of entries) lowest.add(drawOf(seed, again.accountOf(entry)))
  return (account) => drawOf(seed, account) <= lowest.highest
}

async function* acceptedByChunk(again: RunAgain): AsyncGenerator<Entry[]> {
  const { ledger } = again
  for (const record of await ledger.exports.ofRun(again.run.id)) {
    let rows: OpenRows | undefined
    for (const chunk of await ledger.chunks.ofExport(record.id)) {
      const accepted = await acceptedOf(again, record, chunk)
      if (accepted.size === 0) continue
      rows ??= await openAccepted(again, record)
      yield await acceptedEntries(again, record, rows, chunk, accepted)
    }
  }
}

/** Opens the rows of an export. For a rerun: the rows that the origin left behind, whatever their current state. */
async function openAccepted(again: RunAgain, record: ExportRecord): Promise<OpenRows> {
  const { opened, mapper } = await again.openAll(record)
  const { origin_export: exportRow } = record
  if (exportRow === null) return { opened, mapper }
  const places = (after: number, limit: number) =>
    again.ledger.left.rows({ exportRow, selection: 'any', runId: again.run.id }, after, limit)
  return { opened: selectRows(opened, places), mapper }
}

async function acceptedOf(
  { ledger }: RunAgain,
  { id }: ExportRecord,
  chunk: ChunkRecord,
): Promise<Set<string>> {
  const key = { exportRow: id, chunk: chunk.number }
  const accepted = new Set<string>()
  if (chunk.state !== 'settled') return accepted
  for (const batch of await ledger.chunks.batches(key)) {
    // Profiles do not hold tests.
    if (batch.state !== 'settled' || batch.kind === 'assessment') continue
    for (const held of unpackHolds(batch.holds)) accepted.add(positionOf(held))
  }
  for (const exception of await ledger.chunks.exceptions(key))
    if (exception.state === 'accepted' && exception.batch_id !== null) accepted.add(positionOf(exception))
  return accepted
}

async function acceptedEntries(
  again: RunAgain,
  { export_id: exportId, reading }: ExportRecord,
  opened: OpenRows,
  chunk: ChunkRecord,
  accepted: Set<string>,
): Promise<Entry[]> {
  const found: Entry[] = []
  const most = reading === 'selected' ? Number.POSITIVE_INFINITY : chunk.rows
  for await (const entries of again.entriesOfChunk(exportId, opened, chunk, most)) {
    for (const entry of entries) {
      if (accepted.delete(positionOf(heldOf(entry)))) found.push(entry)
    }
    if (accepted.size === 0) break
  }
  return found
}

/** @returns the draw of a person, in [0, 1) */
export function drawOf(seed: string, account: string): number {
  return Number.parseInt(hash('sha256', `${seed}\n${account}`, 'hex').slice(0, 12), 16) / 2 ** 48
}

/** Lowest draws of a number of people, found in a single pass and in bounded memory. */
export function createLowestDraws(people: number): { add(draw: number): void; readonly highest: number } {
  const lowest: number[] = []
  return {
    add(draw) {
      if (lowest.length === people && draw >= (lowest.at(-1) ?? 1)) return
      const at = lowest.findIndex((one) => one >= draw)
      if (at >= 0 && lowest[at] === draw) return
      lowest.splice(at < 0 ? lowest.length : at, 0, draw)
      if (lowest.length > people) lowest.pop()
    },
    get highest() {
      return lowest.at(-1) ?? -1
    },
  }
}
