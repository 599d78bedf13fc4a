/**
 * Decides the step for each record of a chunk by its slot, and reads profiles where a decision needs one. Finds the ids of withdrawn
 * results: the gateway deletes no biometrics and no conditions, so a person must be notified of a delivered result.
 */
import type { HeldRecord, Ledger, Suspicion } from '../ledger/ledger.ts'
import { unpackHolds } from '../ledger/packed-records.ts'
import type { Entry, MappedRow, WithdrawnEntry } from '../model/entry.ts'
import { parseTransactionId, transactionId } from '../model/ids.ts'
import { type EntryOutcome, type InItsPlace, Outcomes, ownReason, type StoredAs } from '../model/outcome.ts'
import type { ResolvedAccounts } from './accounts.ts'
import type { Listing } from './care-team-owed.ts'
import { type Content, type Doubt, decide, type Step, type Surroundings, WITHDRAWN } from './decide.ts'
import type { Reconciler, StaleAccounts } from './delivery.ts'
import { unclearByStale } from './gateway-words.ts'
import { type ChunkSlots, isSuspect } from './slots.ts'

interface DecisionContext {
  readonly suspicion: Suspicion
  readonly reconciler: Pick<Reconciler, 'readBackAny'>
  readonly memory: { exports: Pick<Ledger['exports'], 'withContent'> }
  /** True for the id of an export read after the export of the chunk. */
  readonly comesLater: (exportId: string) => Promise<boolean>
  readonly stale: StaleAccounts
  readonly held: Surroundings['doubts']
}

/** Withdrawn result to report to a person. */
interface Withdrawal {
  readonly entry: WithdrawnEntry
  /** Contents at the gateway, certain or possible. */
  readonly contents: readonly Content[]
  /** Arrival of the last export about the result before this chunk; undefined without one. */
  readonly arrival: number | undefined
}

type Accounts = Pick<ResolvedAccounts, 'accountIds' | 'areUsual' | 'isPerhapsSent' | 'refusalOf'>

const OUTDATED = { passedOver: 'outdated' } as const

export class ChunkDecisions {
  readonly outcomes: Outcomes
  private readonly context: DecisionContext
  private readonly slots: ChunkSlots
  /** Entries perhaps sent before: the profile decides. */
  private readonly uncertain = new Set<Entry>()
  private readonly asked = new Set<Entry>()
  /** Care teams deleted as missing, and listed again. */
  private readonly listedAgain = new Set<Entry>()
  /** Rows with a known key and different content. */
  private readonly corrected = new Set<MappedRow>()
  private accounts: Accounts | undefined

  /** @param places number of places in the chunk */
  constructor(context: DecisionContext, slots: ChunkSlots, places: number) {
    this.outcomes = new Outcomes(places)
    this.context = context
    this.slots = slots
  }

  /** Decides entries as far as possible without reading about their people. */
  begin(entries: readonly Entry[], listing?: Listing): void {
    for (const entry of entries) {
      const step = this.stepOf(entry)
      const isNews = step === 'send' || step === 'ask'
      if (isNews || step === 'outdated') this.noteCorrected(entry)
      if (isNews && listing?.isUnlisted(entry)) {
        // No read has followed the run that was given up: the doubt stays.
        const passedOver = this.doubtBefore(entry) === 'sent' ? 'outdated' : 'care-team-outdated'
        this.outcomes.note([{ entry, outcome: 'unchanged', passedOver }])
      } else if (step === 'unchanged' && listing?.isListedAgain(entry)) this.listedAgain.add(entry)
      else this.end(entry, step)
    }
  }

  /** @returns entries without an outcome */
  open(entries: readonly Entry[]): readonly Entry[] {
    return this.outcomes.without(entries)
  }

  readonly isUnchanged = (entry: Entry): boolean => {
    const outcome = this.outcomes.of(entry)
    return outcome?.outcome === 'unchanged' && outcome.found !== true
  }

  readonly isUncertain = (entry: Entry): boolean => this.uncertain.has(entry)

  /** Decides open entries once the people are known. Reads each needed profile once. */
  async look(entries: readonly Entry[], accounts: Accounts): Promise<void> {
    this.judge(entries, accounts)
    const { reconciler, stale } = this.context
    // The whole list of care teams tells more than a look for each entry.
    const asking = this.open(entries).filter(
      (one) => one.kind !== 'careTeam' && this.uncertain.has(one) && !this.asked.has(one),
    )
    if (asking.length === 0) return
    const verdicts = await reconciler.readBackAny(asking, accounts.accountIds, stale.judge)
    for (const entry of asking) {
      const verdict = verdicts.get(entry) ?? 'hidden'
      if (verdict === 'unreadable' && stale.has(entry)) {
        this.outcomes.note([unclearByStale(entry, null)])
        continue
      }
      this.asked.add(entry)
      if (typeof verdict === 'object' && (await this.isOfUnread(entry, verdict))) {
        const passedOver = this.slots.isStored(entry) && 'storedAs' in verdict ? {} : OUTDATED
        this.outcomes.note([{ entry, outcome: 'unchanged', ...passedOver }])
        continue
      }
      if (verdict === 'stored' || (typeof verdict === 'object' && 'storedAs' in verdict)) {
        this.outcomes.note([this.shown(entry, verdict === 'stored' ? undefined : verdict)])
        continue
      }
      const { content } = entry
      const what = typeof verdict === 'object' ? await this.inItsPlace(entry, verdict.inItsPlace) : verdict
      if (what === 'other' && this.slots.isAgain && this.slots.isStored(entry)) {
        // The stored record comes from an export later than this repeated one.
        this.outcomes.note([{ entry, outcome: 'unchanged' }])
        continue
      }
      const isLost = this.isSuspect(entry) || this.isDoubted(entry)
      this.slots.learn(entry, what === 'absent' ? { what } : { what, content, isSuspect: isLost })
      this.end(entry, this.stepOf(entry), what === 'unreadable')
    }
  }

  private shown(entry: Entry, storedAs?: StoredAs): EntryOutcome {
    const wasStored = this.slots.isStored(entry)
    this.slots.learn(entry, { what: 'shown', content: entry.content })
    const found = wasStored ? {} : { found: true as const, readBack: true as const, ...storedAs }
    return { entry, outcome: 'unchanged', ...found }
  }

  /** Records in doubt that a profile has shown. */
  get doubtsShown(): HeldRecord[] {
    return [...this.asked].flatMap((entry) => {
      const { rowKey, ruleHash: rule, content } = entry
      const isShown = this.doubtBefore(entry) !== undefined && this.slots.isStored(entry)
      return isShown ? [{ rowKey, rule, content, series: null }] : []
    })
  }

  /** True where the shown record comes from an unread, newer export. The slot learns nothing before the export comes. */
  private async isOfUnread(entry: Entry, shown: InItsPlace | StoredAs): Promise<boolean> {
    if (this.isDoubted(entry)) return false
    const { exportId } = parseTransactionId('storedAs' in shown ? shown.storedAs : shown.inItsPlace) ?? {}
    if (exportId === undefined) return false
    return (await this.isUnknown(exportId)) && this.context.comesLater(exportId)
  }

  /**
   * Judges a different record of an equal instant by the id. The record may belong to another row, as of a second visit on one day. A record of an
   * export unknown to the ledger was sent without the ledger's knowledge; a rule renamed meanwhile was sent under the former name.
   */
  private async inItsPlace(entry: Entry, id: string): Promise<'other' | 'hidden'> {
    const { exportId, content } = parseTransactionId(id) ?? {}
    if (exportId === undefined || content === undefined) return 'hidden'
    if (this.slots.isOfOtherName(entry, content)) return 'other'
    return (await this.isUnknown(exportId)) ? 'other' : 'hidden'
  }

  private async isUnknown(exportId: string): Promise<boolean> {
    return (await this.context.memory.exports.withContent(exportId)).length === 0
  }

  private judge(entries: readonly Entry[], accounts: Accounts): void {
    this.accounts = accounts
    const open = this.open(entries)
    if (!accounts.areUsual) this.slots.hearRowsOf(open.filter(accounts.isPerhapsSent))
    open.forEach((entry) => {
      this.end(entry, this.stepOf(entry))
    })
  }

  /**
   * @returns records that repeat a record of the row key, each with the record to send: the first; for care-team entries the last, since the later
   * entry counts
   */
  twins(entries: readonly Entry[]): ReadonlyMap<Entry, Entry> {
    const sent = new Map<string, Entry>()
    const twins = new Map<Entry, Entry>()
    const note = (entry: Entry): void => {
      const key = `${entry.rowKey} ${entry.content}`
      const other = sent.get(key)
      if (other === undefined) sent.set(key, entry)
      else twins.set(entry, other)
    }
    const open = this.open(entries).filter((entry) => this.slots.usualOf(entry) === undefined)
    for (const entry of open) if (entry.kind !== 'careTeam') note(entry)
    for (const entry of open.reverse()) if (entry.kind === 'careTeam') note(entry)
    return twins
  }

  shareFates(twins: ReadonlyMap<Entry, Entry>): void {
    for (const [entry, first] of twins) {
      const fate = this.outcomes.of(first)
      if (fate !== undefined && this.outcomes.of(entry) === undefined)
        this.outcomes.note([shareFate(entry, fate)])
    }
  }

  /**
   * @returns the outcome of a care-team entry perhaps sent, where the account's list is unreadable; undefined where the entry is sent anyway
   */
  unlisted(entry: Entry): EntryOutcome | undefined {
    // The gateway accepted the entry; mark and deletions are still due.
    if (this.slots.isStored(entry)) return { entry, outcome: 'unchanged', found: true }
    return this.context.held === 'resend' ? undefined : this.inDoubt(entry, true)
  }

  private inDoubt(entry: Entry, isAsked: boolean): EntryOutcome {
    const isHeld = (this.doubtBefore(entry) ?? 'sent') !== 'sent'
    const outcome = notSent(entry, isHeld ? 'held' : 'perhaps-sent')
    return isAsked ? { ...outcome, isAsked } : outcome
  }

  get rowsCorrected(): number {
    return this.corrected.size
  }

  /** Withdrawn results at the gateway, certain or possible, without a notification yet. */
  takenBack(withdrawn: readonly WithdrawnEntry[], isTakenUp: boolean): readonly Withdrawal[] {
    const last = new Map(withdrawn.map((entry) => [`${entry.rowKey}${entry.ruleHash}`, entry]))
    return [...last.values()].flatMap((entry) => {
      const slot = this.slots.of(entry)
      const around = { ...this.around(entry), isReported: !isTakenUp && this.slots.isReported(entry) }
      if (decide(slot, WITHDRAWN, around) !== 'withdrawn') return []
      const contents = [
        ...(slot.stored === undefined ? [] : [slot.stored]),
        ...slot.doubts.map(({ content }) => content),
      ]
      return [{ entry, contents, arrival: this.slots.before(entry).latest?.place.arrival }]
    })
  }

  private stepOf(entry: Entry): Step {
    const usual = this.slots.usualOf(entry)
    if (usual === 'known' && !this.listedAgain.has(entry)) return 'unchanged'
    if (usual !== undefined || this.listedAgain.has(entry))
      return this.accounts?.refusalOf(entry) === undefined ? 'send' : 'refuse'
    return decide(this.slots.of(entry), entry.content, this.around(entry))
  }

  private around(entry: Entry): Surroundings {
    return {
      isSuspect: this.isSuspect(entry),
      isAsked: this.asked.has(entry),
      // False: no batch of a waiting series is sent.
      isBehindDoubt: false,
      isTwin: this.slots.isTwin(entry),
      isReported: false,
      isRefused: this.accounts?.refusalOf(entry) !== undefined,
      doubts: this.context.held,
    }
  }

  private isSuspect(entry: Entry): boolean {
    return isSuspect(this.context.suspicion, entry) || this.accounts?.isPerhapsSent(entry) === true
  }

  private doubtBefore(entry: Entry): Doubt['state'] | undefined {
    return this.slots.before(entry).doubts.find(({ content }) => content === entry.content)?.state
  }

  private isDoubted(entry: Entry): boolean {
    return this.slots.of(entry).doubts.some(({ content }) => content === entry.content)
  }

  /** Notes the outcome of a step. A record to send, or to ask about, has no outcome yet. */
  private end(entry: Entry, step: Step, isUnreadable = false): void {
    const outcome = this.outcomeOf(entry, step, isUnreadable)
    if (outcome !== undefined) this.outcomes.note([outcome])
    else if (step === 'ask') this.uncertain.add(entry)
  }

  private outcomeOf(entry: Entry, step: Step, isUnreadable: boolean): EntryOutcome | undefined {
    switch (step) {
      case 'ask':
        return this.slots.wasShown(entry) ? this.shown(entry) : undefined
      case 'send':
        return undefined
      case 'hold':
        return this.inDoubt(entry, isUnreadable)
      case 'outdated':
        // Care teams keep the place of later entries in a separate state.
        return {
          entry,
          outcome: 'unchanged',
          ...(entry.kind === 'careTeam' ? {} : OUTDATED),
        }
      case 'refuse': {
        const reason = this.accounts?.refusalOf(entry)
        return reason && { entry, outcome: 'rejected', batchId: null, reason }
      }
      case 'wait':
        return waitsForOlder(entry)
      case 'unchanged':
      case 'nothing':
      case 'withdrawn':
        return this.slots.isStored(entry)
          ? { entry, outcome: 'unchanged' }
          : { entry, outcome: 'unchanged', found: true }
    }
  }

  private noteCorrected(entry: Entry): void {
    if (this.slots.isCorrection(entry)) this.corrected.add(entry.row)
  }
}

/**
 * Outcome of a twin. A twin of an accepted record is unchanged: the gateway has the record, and a second send is omitted. The ledger keeps the twin
 * as delivered under the twin's row and rule.
 */
export function shareFate(entry: Entry, fate: EntryOutcome): EntryOutcome {
  // The gateway has the first record. The twin with different content merely need not be there as well.
  const isOthers = fate.entry.content === entry.content ? {} : { isOthers: true as const }
  if (fate.outcome === 'accepted') return { entry, outcome: 'unchanged', found: true, ...isOthers }
  if (fate.outcome !== 'unchanged') return { ...fate, entry, batchId: null }
  const { readBack, ...rest } = fate
  // One receipt for both, by the id at the gateway.
  const stored = { readBack: true as const, storedAs: fate.storedAs ?? fate.entry.transactionId }
  return { ...rest, entry, ...('isOthers' in isOthers ? isOthers : readBack === true ? stored : {}) }
}

const NOT_SENT = {
  held: 'the record has been in doubt since an earlier run, and is not sent until the doubt is settled',
  'perhaps-sent': 'not sent: an earlier run may have sent the record, and the profile cannot tell',
  'waits-for-older': 'not sent: an older record of the series is in doubt, and this record would hide it',
}

const notSent = (
  entry: Entry,
  code: keyof typeof NOT_SENT,
): Extract<EntryOutcome, { outcome: 'in-doubt' }> => ({
  entry,
  outcome: 'in-doubt',
  batchId: null,
  reason: ownReason('submit', code, NOT_SENT[code]),
})

/** Outcome of a record that would hide an older record in doubt. The next run decides again. */
export const waitsForOlder = (entry: Entry): EntryOutcome => ({
  ...notSent(entry, 'waits-for-older'),
  isAsked: true,
  isBehind: true,
})

/** Withdrawn result at the gateway, certain or possible. */
export interface TakenBack {
  readonly entry: WithdrawnEntry
  /** Transaction id of the sent record; undefined where the ledger has lost it. */
  readonly sentAs: string | undefined
}

type TakenBackLedger = Pick<Ledger, 'exports' | 'chunks' | 'left'>

export async function takenBackOf(
  ledger: TakenBackLedger,
  jobId: number,
  withdrawals: readonly Withdrawal[],
): Promise<TakenBack[]> {
  if (withdrawals.length === 0) return []
  const ids = new Map<string, string>()
  const all = withdrawals.flatMap(({ contents }) => contents)
  for (const { content, exportId, row, rule } of await ledger.left.inDoubtWith(jobId, all))
    if (content !== null) ids.set(content, transactionId(exportId, row, rule ?? '', content))
  for (const [arrival, some] of Map.groupBy(withdrawals, (one) => one.arrival))
    if (arrival !== undefined)
      await findSent(
        ledger,
        arrival,
        some.flatMap(({ contents }) => contents),
        ids,
      )
  return withdrawals.map(({ entry, contents }) => ({
    entry,
    sentAs: contents.map((content) => ids.get(content)).find((id) => id !== undefined),
  }))
}

/** Searches the sent batches of an export. @param ids by content: found ids are added */
async function findSent(
  ledger: TakenBackLedger,
  arrival: number,
  contents: readonly string[],
  ids: Map<string, string>,
): Promise<void> {
  const record = await ledger.exports.find(arrival)
  if (record === undefined) return
  const open = new Set(contents)
  for (const { id } of await ledger.exports.withContent(record.export_id))
    for (const { number: chunk } of await ledger.chunks.ofExport(id))
      for (const { holds } of await ledger.chunks.batches({ exportRow: id, chunk })) {
        if (open.size === 0) return
        const packed = Buffer.from(holds.buffer, holds.byteOffset, holds.byteLength)
        if (![...open].some((content) => packed.includes(Buffer.from(content, 'hex')))) continue
        for (const { row, rule, content } of unpackHolds(holds)) {
          if (!open.delete(content)) continue
          ids.set(content, transactionId(record.export_id, row, rule, content))
        }
      }
}
