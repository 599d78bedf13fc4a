/**
 * Reads profiles back and compares the accepted records of a run with the current state of the gateway: for all people, or for a sample.
 * Equal seeds give equal samples.
 */

import { hash } from 'node:crypto'
import type { ChunkRecord, ExportRecord, KnownCareTeam } from '../ledger/ledger.ts'
import { unpackHolds } from '../ledger/packed-records.ts'
import type { Entry } from '../model/entry.ts'
import { isOfProfile, PROFILE_KINDS, type ProfileKind } from '../model/record.ts'
import type { ProfileRecord } from '../reconcile/read-back.ts'
import {
  type ComparedField,
  type Comparison,
  compareWithProfile,
  type ExpectedOfCareTeam,
} from '../reconcile/verify.ts'
import { type OpenRows, selectRows } from '../run/rows.ts'
import { heldOf, positionOf, type RunAgain } from './reconcile.ts'

/** Limit of listed transaction ids of differing or missing records. */
const LISTED = 100
/** Profiles in memory, for people with records in several chunks. */
const PROFILES_HELD = 1_000

export interface Verified {
  readonly sample: SampleSize
  readonly seed: string
  readonly records: Record<ProfileKind, VerifiedCounts>
  /** Differing fields, with counts. */
  readonly fields: Partial<Record<ComparedField, number>>
  /** First differing or missing records. */
  readonly listed: {
    readonly transactionId: string
    readonly verdict: string
    readonly fields?: readonly string[]
  }[]
}

interface VerifiedCounts {
  equal: number
  differs: number
  hidden: number
  missing: number
}

/** @throws WaybillError `export-gone`, `gateway-unreachable` … */
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

/** Accepted records of the run, chunk by chunk. */
async function* acceptedByChunk(again: RunAgain): AsyncGenerator<Entry[]> {
  const { ledger } = again
  for (const record of await ledger.exports.ofRun(again.run.id)) {
    let rows: OpenRows | undefined
    for (const chunk of await ledger.chunks.ofExport(record.id)) {
      const accepted = await acceptedOf(again, record, chunk)
      if (accepted.size === 0) continue
      rows ??= await openAccepted(again, record)
      yield await entriesOf(again, record, rows, chunk, accepted)
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

async function entriesOf(
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

export const verifiedBadly = ({ records }: Verified): boolean =>
  PROFILE_KINDS.some((kind) => records[kind].differs + records[kind].missing > 0)

export type SampleSize =
  | { readonly kind: 'all' }
  | { readonly kind: 'share'; readonly share: number }
  | { readonly kind: 'people'; readonly people: number }

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
