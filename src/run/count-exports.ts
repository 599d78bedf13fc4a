/** Carries out a plan that counts records: exports take the path of a run up to mapping. Nothing is sent. */

import type { KeptSlot, Ledger } from '../ledger/ledger.ts'
import { NAME_CHANGED, renamedPeople } from '../load/accounts.ts'
import { renewRowKeys } from '../load/stale-accounts.ts'
import {
  addCounts,
  type CodeCount,
  type Counts,
  countChunk,
  leftOutCounts,
  noCounts,
  warningCounts,
} from '../model/balance.ts'
import { type Entry, RequestEntry, rowKeysOf } from '../model/entry.ts'
import { isExportProblem, type WaybillError } from '../model/errors.ts'
import { hasSameContent, type Identity } from '../model/ids.ts'
import type { Issue } from '../model/record.ts'
import type { ExportDrift } from '../watch/drift-watch.ts'
import { withoutFew } from '../watch/fit-facts.ts'
import { createFitWatch, type FitReport } from '../watch/judge-fit.ts'
import { type Chunk, type ChunkRow, cutChunks } from './chunks.ts'
import { bringExports, withoutAside } from './exports-of-run.ts'
import type { CountPlan, CountWorld, DeliveredBefore } from './plan.ts'
import { assertReadWhole, openReading } from './rows.ts'
import { WITHDRAWN } from './taken-back.ts'

export interface Counted extends Omit<Counts, 'warnings' | 'leftOut'> {
  readonly exports: readonly { name: string; readonly sha256: string; rows: number }[]
  /** Records to be sent that were delivered unchanged before; undefined if the ledger knows of none. */
  readonly deliveredBefore?: number
  /** Exports of which nothing would be sent; the rest would continue. */
  readonly failed: readonly { name: string; error: WaybillError }[]
  /** Findings of checks that would stop nothing, most frequent first. */
  readonly warnings: readonly CodeCount[]
  /** Deliberate omissions of the mapping, by code, most frequent first. */
  readonly leftOut: readonly CodeCount[]
  /** Differences from delivered exports. */
  readonly drift: readonly ExportDrift[]
  /** Fit of the mapping, for each export read. */
  readonly fit: readonly ExportFit[]
  /** Reasons for rejects before anything is sent, most frequent first. */
  readonly reasons: readonly MappingReason[]
}

interface ExportFit extends FitReport {
  readonly export: string
}

interface MappingReason {
  readonly code: string
  /** Null for a whole row. */
  readonly rule: string | null
  readonly message: string
  readonly count: number
}

/** Counts the exports of a plan. Records that would be sent count as pending. */
export async function countExports(plan: CountPlan, world: CountWorld): Promise<Counted> {
  const { job, limit, exports } = plan
  const { ledger, events, arrival, identity } = world
  const { found, mappings, acceptDrift: accept } = exports
  const now = world.now()
  const whole = limit === Number.POSITIVE_INFINITY
  const { job: name, drift: rules } = job.definition
  const memory = ledger && { ledger, job: name, rules, accept, mayStop: false, whole, now }
  const range = { number: 1, skip: 0, limit, cutBefore: new Map<number, number>() }
  const total = noCounts()
  const read: Counted['exports'][number][] = []
  const failed: Counted['failed'][number][] = []
  const drift: ExportDrift[] = []
  const fits: ExportFit[] = []
  const reasons = new Map<string, MappingReason>()
  let deliveredBefore = 0
  /** People with a changed name: a run reports each person once. */
  const people = new Set<string>()
  const brought = bringExports(events, arrival, found, mappings, memory)
  for await (const { start, watch, here } of withoutAside(events, brought, world.aside)) {
    const { name, sha256, exportId } = start
    try {
      if ('error' in here) throw here.error
      const { received, mapping } = here
      const reading = start.reading === 'rejects' ? 'rejects' : 'whole'
      const { opened, mapper } = await openReading(reading, received, mapping, received.limits, now)
      const { notes = [] } = opened
      if (notes.length > 0) events.emit({ type: 'exportNoted', name, notes })
      const counts = noCounts()
      const fit = createFitWatch(mapping, opened.columns, world.doubts.get(mapping.name))
      for await (const chunk of cutChunks(opened.rows(), mapper, identity, exportId, range)) {
        const { rows } = chunk
        addCounts(counts, countChunk(rows, [], 0))
        const { records, withdrawn, renamed } = (await world.countDelivered?.(chunk)) ?? NONE_DELIVERED
        deliveredBefore += records
        for (const { rule } of withdrawn) noteReason(reasons, WITHDRAWN, rule)
        for (const one of renamed) people.add(one)
        watch?.look(rows)
        for (const row of rows) {
          noteReasons(reasons, row)
          fit.add(row.outcome)
        }
      }
      await assertReadWhole(opened, start, counts)
      for (const finding of watch?.compare() ?? []) drift.push({ export: name, ...finding })
      addCounts(total, counts)
      const { facts, suspicions } = fit.report()
      fits.push({ export: name, facts: withoutFew(facts), suspicions })
      read.push({ name, sha256, rows: counts.rows.read })
    } catch (error) {
      if (!isExportProblem(error)) throw error
      failed.push({ name, error })
    }
  }
  if (people.size > 0) total.warnings[NAME_CHANGED.code] = people.size
  return {
    exports: read,
    failed,
    ...total,
    drift,
    fit: fits,
    ...(world.countDelivered === undefined ? {} : { deliveredBefore }),
    warnings: warningCounts(total),
    leftOut: leftOutCounts(total),
    reasons: [...reasons.values()].sort((a, b) => b.count - a.count),
  }
}

function noteReasons(reasons: Map<string, MappingReason>, { outcome }: ChunkRow): void {
  if (outcome.outcome === 'rejected') noteReason(reasons, outcome.issue, null)
  if (outcome.outcome === 'mapped')
    for (const { rule, issue } of outcome.rejected) noteReason(reasons, issue, rule)
}

function noteReason(
  reasons: Map<string, MappingReason>,
  { code, message }: Issue,
  rule: string | null,
): void {
  const key = JSON.stringify([code, rule, message])
  reasons.set(key, { code, rule, message, count: (reasons.get(key)?.count ?? 0) + 1 })
}

const isStored = (slot: KeptSlot | undefined, entry: Entry): boolean =>
  slot?.word.isStored === true && hasSameContent(slot, entry)

const NONE_DELIVERED: DeliveredBefore = { records: 0, withdrawn: [], renamed: [] }

/** @returns a counter of delivered records in a chunk; each kind of record has its own memory */
export const countDelivered =
  (
    ledger: Pick<Ledger, 'slots' | 'people'>,
    identity: Identity,
    { jobId, gateway }: { jobId: number; gateway: string },
  ) =>
  async ({ entries, withdrawn }: Pick<Chunk, 'entries' | 'withdrawn'>): Promise<DeliveredBefore> => {
    const counted = (records: number): DeliveredBefore => ({ ...NONE_DELIVERED, records })
    const renamedAmong = (some: readonly Entry[]) => renamedPeople(ledger, gateway, identity, some)
    const kind = entries[0]?.kind
    if (kind === 'account') {
      const hashes = entries.map((entry) => identity.account(entry.account))
      const known = await ledger.people.accounts(gateway, [...new Set(hashes)])
      const renamed = await renamedAmong(entries)
      return { ...counted(hashes.filter((one) => known.has(one)).length), renamed }
    }
    if (kind === 'medicalRecords') {
      const requests = entries.flatMap((entry) => (entry instanceof RequestEntry ? entry.request : []))
      const hashes = requests.map(({ reference }) => identity.request(reference))
      const known = await ledger.people.medicalRequests(gateway, [...new Set(hashes)])
      const isDone = requests.filter(({ body, isWithdrawn }, at) => {
        const { state, content } = known.get(hashes[at] ?? '') ?? {}
        return isWithdrawn
          ? state === 'withdrawn'
          : state === 'complete' && content === identity.requestBody(body)
      })
      return counted(isDone.length)
    }
    const all = [...entries, ...withdrawn]
    await renewRowKeys(ledger, gateway, identity, all)
    const delivered = await ledger.slots.delivered(jobId, rowKeysOf(all))
    const slotOf = ({ rowKey, ruleHash }: Entry): KeptSlot | undefined =>
      delivered.get(rowKey)?.find((slot) => slot.ruleHash === ruleHash)
    const open = entries.filter((entry) => !isStored(slotOf(entry), entry))
    return {
      records: entries.length - open.length,
      renamed: await renamedAmong(open),
      withdrawn: withdrawn.filter((entry) => {
        const slot = slotOf(entry)
        return slot?.word.isStored === true && slot.latest !== 'withdrawn'
      }),
    }
  }
