/**
 * Plays a history of one account's care team through the chunks and ends of runs (`care-teams.ts`, `care-team-owed.ts`), against
 * a small gateway and a small ledger. Laws:
 *
 * 1. The gateway never gets an entry that it has from here.
 * 2. A replaced entry goes only while the gateway has a newer one of its provider, or one as new; of a missing provider only entries of ours go.
 * 3. A mark is taken away only by a job whose chunk says so, or that owes it.
 * 4. An owed deletion needs no export: once nothing fails, the end of a run carries it out.
 * 5. In the end the gateway has what the newest words say, and nothing is owed, or a run has said why not (each excuse is counted).
 * 6. An entry is in doubt only where a read of the list has failed, and where it may have been sent: by this job, by a run that has abandoned the
 *    account, or as an entry of a provider whom the ledger knows.
 * 7. An entry has no more receipts than it was stored, where nobody else enters an equal one. One more by read-back is counted: of an entry that its
 *    row has taken back, and says again behind an unreadable list.
 */

import { gunzipSync } from 'node:zlib'
import { GatewayError } from '../../src/gateway/gateway-error.ts'
import {
  type ClaimRequest,
  type ExportRecord,
  type KnownCareTeam,
  type Lease,
  type Ledger,
  type LeftEvent,
  NO_SUSPICION,
  noTallies,
} from '../../src/ledger/ledger.ts'
import { packEntries } from '../../src/ledger/packed-records.ts'
import { listingOf, noteMissing, settleOwed } from '../../src/load/care-team-owed.ts'
import { isMarkOwed, isMissing } from '../../src/load/care-team-slot.ts'
import { type CareTeamContext, createOwedBook } from '../../src/load/care-team-work.ts'
import { type CareTeamsOfChunk, careTeamsOf, careTeamsToClaim } from '../../src/load/care-teams.ts'
import { ChunkDecisions } from '../../src/load/chunk-decisions.ts'
import { createClaims } from '../../src/load/claims.ts'
import type { Surroundings } from '../../src/load/decide.ts'
import { type LoadedChunk, waitForLate } from '../../src/load/load-chunk.ts'
import { recallChunk } from '../../src/load/recall.ts'
import { ChunkSlots } from '../../src/load/slots.ts'
import { countChunk } from '../../src/model/balance.ts'
import { type Entry, rowKeysOf, sentUnder } from '../../src/model/entry.ts'
import { transactionId as idOf } from '../../src/model/ids.ts'
import type { EntryOutcome } from '../../src/model/outcome.ts'
import { leftByGivingUp } from '../../src/run/give-up.ts'
import { type AppendedFile, type Receipt, receiptsOfSent } from '../../src/run/receipts.ts'
import { releaseDoubts, sentIds } from '../../src/run/settle-doubts.ts'
import { settleChunk } from '../../src/run/settlement.ts'
import {
  careTeam,
  DAY_MS,
  EXPORT_ID,
  entryOf,
  IDENTITY,
  OBSERVED_AT,
} from '../../test/load/made-up-entries.ts'
import { type TeamEntry, TeamGateway } from './care-team-gateway.ts'
import type { TeamHistory, TeamLine, TeamStep } from './care-team-history.ts'
import { TeamLedger } from './care-team-ledger.ts'
import type { JobMemory } from './care-team-memory.ts'

export class TeamViolation extends Error {}
class Killed extends Error {}

const LAG = 5_000
const NPIS = ['1234567893', '1003000126'] as const
const PRACTICES = ['Test Practice', 'New Practice', 'Practice of others'] as const
const ACCOUNT = { reference: 'person-1', type: 'partnerAccountId' as const }
const HASH = IDENTITY.account(ACCOUNT)
/** Somebody else of every chunk. */
const NEIGHBOUR = 'neighbour'

interface Export {
  readonly arrival: number
  readonly day: number
  readonly lines: readonly TeamLine[]
  readonly entries: readonly Entry[]
  /** The export that has come first under its name; undefined for that one. */
  readonly first?: Export
  /** True for corrected rejects: they speak of single rows. */
  readonly isCorrected?: true
}

interface Said {
  readonly job: Job
  readonly entry: Entry
  readonly line: TeamLine
  readonly arrival: number
}

/** What a process has sent of an open chunk; `found`: a look has shown it since. */
type Sent = Map<Entry, 'unanswered' | 'accepted' | 'found' | 'rejected'>

interface Job {
  readonly id: number
  /** Exports that lie there, and all that have come: a name is delivered again with other bytes. */
  exports: readonly Export[]
  readonly said: Export[]
  readonly memory: JobMemory
  /** Exports that were read to their end. */
  readonly read: Set<Export>
  /** Entries whose last outcome is a reject. */
  readonly rejected: Set<Entry>
  /** Newest word by row key. */
  readonly latest: Map<string, Newest>
  open: OpenChunk | undefined
}

interface OpenChunk {
  readonly file: Export
  readonly sent: Sent
  readonly isResumed: boolean
  /** Policy of the run: it goes on as it began. */
  readonly policy: Surroundings['doubts']
}

interface Newest {
  readonly arrival: number
  /** True where the gateway had taken the content before the export. */
  readonly isAgain: boolean
  readonly row: number
  readonly content: string
  /** True where a person has corrected the row. */
  readonly isCorrected: boolean
}

interface Sendable {
  readonly decisions: ChunkDecisions
  readonly entries: readonly Entry[]
  readonly mayBeSent: (entry: Entry) => boolean
}

export type TeamCounts = Record<string, number>

export async function playTeam(history: TeamHistory): Promise<TeamCounts> {
  const world = new TeamWorld(history)
  for (const step of history.steps) await world.take(step)
  await world.end()
  return world.counts
}

class TeamWorld {
  readonly counts: TeamCounts = {}
  private readonly history: TeamHistory
  private readonly gateway: TeamGateway
  private readonly ledger = new TeamLedger(HASH)
  private readonly jobs: readonly Job[]
  private now = 1_700_000_000_000
  private faultAt = 0
  private arrivals = 0
  private policy: Surroundings['doubts'] = 'hold'
  /** True where the process is killed once it has its claims. */
  private dies = false
  /** Fails in the whole step. */
  private lacks: 'answers' | 'lists' | 'follow-ups' | undefined
  private hasOthersMarked = false
  /** A word on the mark was learned behind a newer one: its export came late, or its record was refused or in doubt at first. */
  private hasLateWord = false
  private newestHeard = 0
  private newestArrival = 0
  /** Last row of an export of which anything was heard, by its arrival. */
  private readonly heardRows = new Map<number, number>()
  /** True where a read of the list has failed in the chunk. */
  private isUnread = false
  /** Begin of the chunk. */
  private begunAt = 0
  /** Times that an entry was stored, less its receipts, by our id. */
  private readonly unreceipted = new Map<string, number>()
  /** Ids with a receipt. */
  private readonly receipted = new Set<string>()
  /** Entries that the gateway has refused at first. */
  private readonly refused = new Set<Entry>()
  private readonly heard = new Set<Entry>()
  /** Entries with an outcome that no later reading can change: of an export that is not there any more, the others are left as reported. */
  private readonly settled = new Set<Entry>()
  /** Says what may be taken away now: the chunk under way. */
  private current: { readonly job: number; readonly lines: readonly TeamLine[] } = { job: 0, lines: [] }

  constructor(history: TeamHistory) {
    this.history = history
    this.gateway = new TeamGateway(history.keepsIds)
    this.jobs = [1, 2, 3].map((id) => ({
      id,
      exports: [],
      said: [],
      memory: this.ledger.memoryOf(id),
      read: new Set(),
      rejected: new Set(),
      latest: new Map(),
      open: undefined,
    }))
  }

  private count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1
  }

  private fault(): number {
    return this.history.faults[this.faultAt++] ?? 0
  }

  private ruleOf({ id }: Job): TeamHistory['changed'] {
    const { changed, changedOfOthers = changed } = this.history
    return id === 1 ? changed : changedOfOthers
  }

  private jobOf(step: { readonly job: number }): Job {
    const job = this.jobs[this.history.missing === 'delete' ? 0 : step.job]
    if (job === undefined) throw new Error('no such job')
    return job
  }

  async take(step: TeamStep): Promise<void> {
    this.now += this.history.isHurried ? LAG / 5 : 60_000
    switch (step.what) {
      case 'deliver':
      case 'correct':
      case 'first again': {
        const job = this.jobOf(step)
        this.dies = step.dies === true
        this.lacks = 'lacks' in step ? step.lacks : undefined
        await this.attempt(job, async () => {
          const file = this.export(job, step)
          if (file !== undefined) await this.read(job, file)
        })
        this.dies = false
        this.lacks = undefined
        return
      }
      case 'night':
      case 'look':
      case 'resend':
        this.policy = step.what === 'night' ? 'hold' : step.what
        await this.night(this.jobOf(step))
        this.policy = 'hold'
        return
      case 'correct reject':
        await this.correctReject(this.jobOf(step), step.line)
        return
      case 'reconcile':
        await this.reconcile(this.jobOf(step))
        return
      case 'accept':
        await this.accept(this.jobOf(step))
        return
      case 'give up':
        await this.giveUp(this.jobOf(step))
        return
      case 'no export':
        await this.attempt(this.jobOf(step), async () => {})
        return
      case 'others enter': {
        if (!this.history.hasOthers) return
        const fields = fieldsOf(step)
        const day = 2 * this.arrivals + 1
        if (!this.gateway.entries.some(({ npi, name }) => npi === fields.npi && name === fields.name))
          this.gateway.store({ observedAt: dateOf(day) }, fields, undefined, this.now)
        return
      }
      case 'others mark': {
        const marked = this.gateway.find({ npi: NPIS[step.provider] ?? '' })
        if (!this.history.hasOthers || marked === undefined) return
        this.gateway.marked = marked.id
        this.hasOthersMarked = true
      }
    }
  }

  private export(
    job: Job,
    step: Extract<TeamStep, { readonly what: 'deliver' | 'correct' | 'first again' }>,
  ): Export | undefined {
    const last = job.exports.at(-1)
    if (step.what !== 'deliver' && last === undefined) return undefined
    const arrival = ++this.arrivals
    const file =
      step.what === 'first again' ? this.firstAgain(last, arrival) : this.newExport(job, step, arrival)
    if (file === undefined) return undefined
    if (step.what !== 'deliver') job.exports = job.exports.slice(0, -1)
    job.exports = [...job.exports, file]
    job.said.push(file)
    return file
  }

  private newExport(
    { id, exports, said }: Job,
    step: Extract<TeamStep, { readonly what: 'deliver' | 'correct' }>,
    arrival: number,
  ): Export {
    const { lines } = step
    const last = exports.at(-1)
    // Days differ between jobs: of equal dates nobody can tell which is newer.
    const ownDay =
      2 * this.jobs.length * (step.what === 'deliver' && step.isLate ? Math.max(arrival - 3, 0) : arrival)
    const day =
      step.what === 'correct' && last !== undefined ? last.day : apart(ownDay + 2 * (id - 1), step, said)
    const entries = lines.map((line, at) => entryFor(line, day, at + 1, `${id}-${arrival}`))
    const first = step.what === 'correct' ? (last?.first ?? last) : undefined
    return { arrival, day, lines, entries, ...(first === undefined ? {} : { first }) }
  }

  /** The same bytes, so that the entries have the ids that they had. */
  private firstAgain(last: Export | undefined, arrival: number): Export | undefined {
    return last?.first === undefined ? undefined : { ...last.first, first: last.first, arrival }
  }

  /** Corrected rows keep their place in the export. */
  private async correctReject(job: Job, { practice, primary }: Omit<TeamLine, 'provider'>): Promise<void> {
    const last = job.exports.at(-1)
    const at = last?.entries.findIndex((entry) => job.rejected.has(entry)) ?? -1
    const line = last?.lines[at]
    if (last === undefined || line === undefined || job.open !== undefined) return
    const corrected = { ...line, practice, primary }
    const entry = entryFor(corrected, last.day, at + 1, `${job.id}-${last.arrival}`)
    const { arrival, day } = last
    const file = { arrival, day, lines: [corrected], entries: [entry], isCorrected: true } as const
    job.said.push(file)
    await this.attempt(job, () => this.read(job, file))
    this.count('a reject is corrected')
  }

  /** A look at what is in doubt. An interrupted run stays so: what is found is settled when it goes on. */
  private async reconcile(job: Job): Promise<void> {
    this.now += LAG
    for (const [entry, state] of job.open?.sent ?? []) {
      if (state !== 'unanswered') continue
      const outcome = this.lookFor(entry)
      if (outcome === undefined) job.open?.sent.delete(entry)
      else if (outcome.outcome === 'accepted') job.open?.sent.set(entry, 'found')
    }
    // While a run is unfinished, no other one is looked for.
    if (job.open !== undefined) return
    await this.release(job, 'read-back', (entry) => {
      const outcome = this.lookFor(entry)
      return outcome === undefined ? 'miss' : outcome.outcome === 'accepted' ? 'find' : undefined
    })
  }

  /** A person who is right says that the gateway has what is in doubt. */
  private async accept(job: Job): Promise<void> {
    if (job.open === undefined)
      await this.release(job, 'decision', (entry) => (this.isThere(entry) ? 'accept' : undefined))
  }

  private async release(
    job: Job,
    learnedFrom: 'read-back' | 'decision',
    judge: (entry: Entry) => LeftEvent | undefined,
  ): Promise<void> {
    const { ledger } = job.memory
    const contents = job.memory.inDoubt()
    const ids = sentIds(await ledger.left.inDoubtWith(job.id, [...contents]))
    const all = [...job.exports, ...job.said.filter(({ isCorrected }) => isCorrected)]
    const events = new Map<string, LeftEvent>()
    for (const entry of all.flatMap(({ entries }) => entries)) {
      const { content, transactionId } = entry
      if (!contents.has(content) || events.has(content)) continue
      const sent = job.memory.sentByGivenUp.get(content)
      const sentAs = sent && idOf(sent.exportId, sent.row, sent.rule ?? '', content)
      const event = judge(sentUnder(entry, ids.get(content) ?? sentAs ?? transactionId))
      if (event !== undefined) events.set(content, event)
      if (event === 'find' || event === 'accept') this.settled.add(entry)
      this.count(`${learnedFrom}: ${event ?? 'unknown'}`)
    }
    if (events.size === 0) return
    const { ruling, sentAs } = await releaseDoubts(ledger, job.id, events)
    for (const receipt of receiptsOfSent(sentAs, learnedFrom)) this.receipt(receipt)
    job.memory.rule(ruling)
  }

  private async giveUp(job: Job): Promise<void> {
    const { open, memory } = job
    if (open === undefined) return
    const record = { id: open.file.arrival, export_id: EXPORT_ID }
    const ledger = {
      ...memory.ledger,
      exports: {
        ofRun: async () => [record],
        arrivalOf: async () => open.file.arrival,
        orders: async () => new Map(),
      },
      chunks: { ...memoryOf(open.sent).chunks, ofExport: async () => [{ number: 1, state: 'open' }] },
    } as unknown as Parameters<typeof leftByGivingUp>[0]
    const run = { id: 'run', job_id: job.id } as Parameters<typeof leftByGivingUp>[1]
    const { receipts, left } = await leftByGivingUp(ledger, run)
    for (const receipt of receipts) this.receipt(receipt)
    memory.rule(left.ruling)
    for (const [entry, state] of open.sent) {
      if (state === 'unanswered') {
        const { row, rule, content } = entry
        const place = { exportId: EXPORT_ID, row: row.row, rule, content, batchId: 'batch' }
        memory.sentByGivenUp.set(content, place)
      }
    }
    for (const one of left.sent) memory.hold([one], one.isTaken ? 0 : this.now)
    job.open = undefined
    this.ledger.giveUp(job.id, this.now)
    this.count('given up')
  }

  private async night(job: Job): Promise<void> {
    await this.attempt(job, async () => {
      for (const file of job.exports) await this.read(job, file)
    })
  }

  /** One run: what was left open goes first, what is owed last. */
  private async attempt(job: Job, work: () => Promise<void>): Promise<void> {
    if (!this.history.isHurried || job.open !== undefined) this.now += LAG
    this.ledger.abandon(job.id, this.now)
    const context = this.contextOf(job)
    try {
      const { open } = job
      if (open !== undefined) {
        const { policy } = this
        this.policy = open.policy
        job.open = { ...open, isResumed: true }
        await this.finishExport(context, job, open.file).finally(() => {
          this.policy = policy
        })
      }
      await work()
      this.current = { job: job.id, lines: [] }
      await settleOwed(context)
      this.ledger.finish(job.id)
    } catch (error) {
      if (!(error instanceof Killed)) throw error
      this.count('killed')
    }
  }

  private async read(job: Job, file: Export): Promise<void> {
    job.open = { file, sent: new Map(), isResumed: false, policy: this.policy }
    await this.finishExport(this.contextOf(job), job, file)
  }

  private async finishExport(context: CareTeamContext, job: Job, file: Export): Promise<void> {
    await this.chunk(context, job, file)
    const runLedger = {
      noteMissing: async (_gateway: string, missing: never, owing: never) => {
        this.ledger.save(owing)
        this.ledger.forgetListed(job.id, missing)
      },
    }
    if (this.listsTeams(file)) await noteMissing({ ...context, runLedger }, job.id, file.arrival)
    job.open = undefined
    job.read.add(file)
  }

  private async chunk(context: CareTeamContext, job: Job, file: Export): Promise<void> {
    const { entries, arrival, lines } = file
    this.current = { job: job.id, lines }
    this.isUnread = false
    this.begunAt = this.now
    for (const [place, entry] of entries.entries()) Object.assign(entry, { place })
    const { identity } = context
    const listing = await listingOf(
      { memory: this.ledger, careTeams: context, identity, jobId: job.id },
      entries,
      { arrival, isBackfill: false },
    )
    for (const entry of entries) noteLatest(job, file, entry)
    const keys = rowKeysOf(entries)
    const [delivered, held] = [job.memory.rowsOf(keys), job.memory.heldOf(keys)]
    const isAgain = job.read.has(file) || file.isCorrected === true
    const speaks = {
      ...{ arrival, isAgain, isBackfill: false, isRenewed: file.isCorrected === true },
      ...{ orders: new Map(), hashOf: () => ({ first: 0, last: 0 }) },
    }
    const slots = new ChunkSlots({ delivered, held }, entries, speaks, NO_SUSPICION)
    const decisions = new ChunkDecisions(this.decisionContext(context), slots, entries.length)
    const { outcomes } = decisions
    const { sent = new Map(), isResumed: resumed = false } = job.open ?? {}
    const recalled = await recallChunk(memoryOf(sent), { exportRow: 1, chunk: 1, resumed }, entries, held)
    outcomes.note(recalled.outcomes)
    slots.hear(entries, [])
    slots.learnOutcomes(recalled.outcomes, () => false)
    decisions.begin(recalled.unsent, listing)
    const said = {
      entries: entries.filter((entry) => !listing?.isUnlisted(entry)),
      listed: this.listsTeams(file) ? [ACCOUNT] : [],
      arrival,
      isStored: (entry: Entry) => slots.isStored(entry),
      isReplaced: (entry: Entry) => slots.isReplaced(entry),
    }
    const claimed = await careTeamsToClaim(context, said, decisions.isUnchanged)
    await context.claims.take([...claimed, NEIGHBOUR])
    if (this.dies) {
      this.dies = false
      throw new Killed('holding its claims')
    }
    const accounts = {
      accountIds: () => (this.history.hasId ? 'account-1' : undefined),
      registered: new Set<string>(),
      claimed,
      areUsual: true,
      isPerhapsSent: () => false,
      refusalOf: () => undefined,
    }
    await waitForLate(waiting(context), decisions.open(recalled.unsent), held)
    await decisions.look(recalled.unsent, accounts)
    const settled = recalled.unanswered.flatMap((batch) =>
      batch.entries.flatMap((one) => this.lookFor(one) ?? []),
    )
    outcomes.note(settled)
    slots.learnOutcomes(settled, () => false)
    await decisions.look(entries, accounts)
    const { perhapsSent } = recalled
    const isUncertain = (entry: Entry): boolean => perhapsSent.has(entry) || decisions.isUncertain(entry)
    const teams = await careTeamsOf(context, said, accounts, isUncertain)
    const mayBeSent = (entry: Entry): boolean =>
      isUncertain(entry) ||
      this.ledger.isAbandonedBefore(job.id, HASH) ||
      this.ledger.row(identity.npi(entry.evidence.npi ?? '')) !== undefined
    await this.send(context, job, teams, { decisions, entries, mayBeSent })
    const { known, failures } = await teams.finish(outcomes)
    await context.claims.letGo([...claimed, NEIGHBOUR], known)
    slots.learnOutcomes(outcomes.all(), () => false)
    await this.settle(job, file, {
      ...{ outcomes: outcomes.all(), learned: slots.toKeep(), followUpFailures: failures },
      ...{ rowsCorrected: decisions.rowsCorrected, accounts: { known: 0, refused: 0 } },
    })
  }

  private listsTeams({ isCorrected }: Export): boolean {
    return this.history.missing === 'delete' && isCorrected !== true
  }

  private decisionContext({ stale }: CareTeamContext): ConstructorParameters<typeof ChunkDecisions>[0] {
    return {
      ...{ suspicion: NO_SUSPICION, stale, held: this.policy },
      reconciler: { readBackAny: async () => new Map() },
      memory: { exports: { withContent: async () => [] } },
      comesLater: async () => false,
    }
  }

  private async send(
    context: CareTeamContext,
    job: Job,
    teams: CareTeamsOfChunk,
    { decisions, entries, mayBeSent }: Sendable,
  ): Promise<void> {
    const { outcomes } = decisions
    const own = decisions.twins(entries)
    let open: readonly Entry[] = decisions.open(entries).filter((entry) => !own.has(entry))
    while (open.length > 0) {
      const selected = await teams.select(open, outcomes)
      outcomes.note(selected.outcomes)
      if (selected.doubtful.length > 0 && !this.isUnread)
        throw new TeamViolation('law 6: an entry is in doubt, although every list was read')
      if (!selected.doubtful.every(mayBeSent))
        throw new TeamViolation('law 6: an entry is in doubt that nobody can have sent')
      outcomes.note(selected.doubtful.flatMap((entry) => decisions.unlisted(entry) ?? []))
      const twins = new Map(selected.twins.map(({ entry, first }) => [entry, first]))
      const later = selected.behind
      for (const entry of decisions.open(open))
        if (!twins.has(entry) && !later.includes(entry))
          outcomes.note([await this.create(context, job, entry)])
      decisions.shareFates(twins)
      open = later
    }
    decisions.shareFates(own)
  }

  private async create(context: CareTeamContext, job: Job, entry: Entry): Promise<EntryOutcome> {
    const sent = job.open?.sent ?? new Map()
    const fault = this.lacks === 'answers' ? 2 + (this.fault() % 2) : this.fault() % 10
    if (fault === 9) throw new Killed('before its bytes leave')
    sent.set(entry, 'unanswered')
    if (fault === 1) {
      sent.set(entry, 'rejected')
      return rejected(entry)
    }
    const id = fault === 3 ? undefined : this.store(entry)
    if (fault === 4) throw new Killed('stored, and not answered')
    if (fault === 2 || fault === 3) {
      await context.pause(LAG)
      return this.lookFor(entry) ?? { ...accepted(entry), gatewayId: this.store(entry) }
    }
    if (fault === 5) throw new Killed('answered, and not written down')
    sent.set(entry, 'accepted')
    if (fault === 6) throw new Killed('written down, and the chunk is not settled')
    return { ...accepted(entry), ...(id === undefined ? {} : { gatewayId: id }) }
  }

  /** What the list says of an entry without an answer; undefined where it is not there. */
  private lookFor(entry: Entry): EntryOutcome | undefined {
    if (this.lacks === 'answers' || this.fault() % 4 === 1) return inDoubt(entry)
    return this.isThere(entry) ? { ...accepted(entry), readBack: true } : undefined
  }

  private isThere(entry: Entry): boolean {
    const { npi, name } = textOf(entry)
    const { keepsIds } = this.history
    const isIt = (one: TeamEntry): boolean =>
      keepsIds
        ? one.ours === entry.transactionId
        : one.npi === npi && one.name === name && one.observedAt === entry.observedAt
    return this.gateway.entries.some(isIt)
  }

  private store(entry: Entry): string {
    const fields = textOf(entry)
    const same = this.gateway.entries.filter(({ npi, name }) => npi === fields.npi && name === fields.name)
    if (same.some(({ ours }) => ours !== undefined) && this.policy === 'resend')
      this.count('sent again: a person has told so')
    else if (same.some(({ ours }) => ours !== undefined))
      throw new TeamViolation(`law 1: ${fields.name} is stored while it stands`)
    this.countReceipts(entry.transactionId, 1)
    return this.gateway.store(entry, fields, entry.transactionId, this.now)
  }

  private countReceipts(id: string, change: 1 | -1): void {
    const left = (this.unreceipted.get(id) ?? 0) + change
    if (left < 0 && !this.history.hasOthers) throw new TeamViolation(`law 7: a second receipt of ${id}`)
    this.unreceipted.set(id, left)
  }

  private receipt({ transactionId: id, learnedFrom }: Receipt): void {
    this.receipted.add(id)
    const entry = this.jobs
      .flatMap(({ said }) => said.flatMap(({ entries }) => entries))
      .find(({ transactionId }) => transactionId === id)
    const isLike = (one: TeamEntry): boolean =>
      entry !== undefined &&
      one.npi === textOf(entry).npi &&
      one.name === textOf(entry).name &&
      one.observedAt === entry.observedAt
    const isAlike = learnedFrom !== undefined && !this.history.keepsIds && this.gateway.entries.some(isLike)
    if (isAlike && (this.unreceipted.get(id) ?? 0) === 0)
      this.count('a receipt of an entry that a gateway without ids shows as an equal one of its date')
    else this.countReceipts(id, -1)
  }

  private async settle(job: Job, file: Export, loaded: LoadedChunk): Promise<void> {
    const { arrival, entries } = file
    const doubts = job.memory.inDoubt()
    const isTakenBack = (entry: Entry): boolean => {
      const stored = job.memory.stored(entry)
      return stored !== undefined && stored !== entry.content && doubts.has(entry.content)
    }
    const takenBack = new Set(entries.filter(isTakenBack).map(({ transactionId }) => transactionId))
    const receipts = receiptsFile((receipt) => {
      const { transactionId, learnedFrom } = receipt
      if (
        learnedFrom !== undefined &&
        takenBack.has(transactionId) &&
        this.unreceipted.get(transactionId) === 0
      )
        this.count('a receipt by read-back of an entry that its row has taken back and says again')
      else this.receipt(receipt)
    })
    const rows = [...new Set(entries.map(({ row }) => row))].map((row) => ({
      source: row.source,
      outcome: row,
    }))
    const record = {
      id: arrival,
      export_id: EXPORT_ID,
      name: 'export',
      reading: file.isCorrected ? 'rejects' : 'whole',
    }
    const listsTeams = this.listsTeams(file)
    await settleChunk(
      {
        ...{ ledger: job.memory.ledger, identity: IDENTITY, gatewayName: 'gateway', held: this.policy },
        ...{ receipts, origin: undefined, isBackfill: false, now: () => this.now },
        runLedger: {
          lease: { jobId: job.id, runId: 'run' } as Lease,
          settleChunk: async (settlement) => {
            job.memory.settle(settlement, { arrival, outcomes: loaded.outcomes })
            if (settlement.listed !== undefined) this.ledger.noteListed(job.id, arrival, settlement.listed)
          },
        },
      },
      { record: record as ExportRecord, inFront: [], arrival, listsTeams },
      receiptsFile(() => {}),
      { number: 1 },
      { ...loaded, rows, counts: countChunk(rows, loaded.outcomes, loaded.rowsCorrected) },
    )
    if (loaded.outcomes.length < entries.length) throw new TeamViolation('a row has no outcome')
    for (const outcome of loaded.outcomes) this.hear(job, file, outcome)
    this.noteOrder(arrival, loaded.outcomes)
  }

  /** Notes words that a chunk learns behind a newer one. */
  private noteOrder(arrival: number, outcomes: readonly EntryOutcome[]): void {
    const refused = outcomes.flatMap(({ entry, outcome }) => (outcome === 'rejected' ? [entry] : []))
    for (const one of refused) this.refused.add(one)
    for (const one of outcomes) {
      if (one.outcome === 'rejected') continue
      const { entry } = one
      const { row } = entry.row
      if (this.heardRows.get(arrival) === undefined || !this.refused.has(entry)) continue
      this.hasLateWord ||= row < (this.heardRows.get(arrival) ?? 0)
    }
    const rows = outcomes.flatMap(({ entry, outcome }) => (outcome === 'rejected' ? [] : [entry.row.row]))
    this.heardRows.set(arrival, Math.max(this.heardRows.get(arrival) ?? 0, ...rows))
  }

  /** Notes for the judgement in the end what a run has made of an entry. */
  private hear(job: Job, { arrival }: Export, outcome: EntryOutcome): void {
    const { entry } = outcome
    const { rowKey, content, observedAt } = entry
    if (outcome.outcome === 'rejected') job.rejected.add(entry)
    else job.rejected.delete(entry)
    if (outcome.outcome !== 'rejected' && !this.heard.has(entry)) {
      this.hasLateWord ||= observedAt < this.newestHeard || arrival < this.newestArrival
      this.newestHeard = Math.max(this.newestHeard, observedAt)
      this.newestArrival = Math.max(this.newestArrival, arrival)
    }
    if (outcome.outcome === 'accepted' || outcome.outcome === 'unchanged') this.settled.add(entry)
    // Until it is decided, its word is said again and again.
    if (outcome.outcome === 'in-doubt') this.hasLateWord = true
    if (outcome.outcome !== 'rejected' && job.latest.get(rowKey)?.content === content) this.heard.add(entry)
    if (outcome.outcome === 'unchanged' && outcome.passedOver === 'care-team-kept' && this.isShown(entry))
      throw new TeamViolation('law 8: an entry that the list shows is passed over for another one')
    this.count(outcome.outcome === 'unchanged' ? `unchanged ${outcome.passedOver ?? ''}` : outcome.outcome)
  }

  /** True where the lists that were read show an equal entry, however late. */
  private isShown(entry: Entry): boolean {
    const { npi, name } = textOf(entry)
    return (
      !this.isUnread &&
      this.gateway.entries.some(
        (one) => one.npi === npi && one.name === name && one.storedAt < this.begunAt - LAG,
      )
    )
  }

  private contextOf(job: Job): CareTeamContext {
    const tallies = noTallies()
    const { missing } = this.history
    const changed = this.ruleOf(job)
    const { gateway, ledger } = this
    const pause = async (ms: number) => {
      this.now += ms
    }
    const runLedger = {
      claimAccounts: async ({ accounts, now }: ClaimRequest) => ledger.claim(job.id, accounts, now),
      saveCareTeams: async (
        _gateway: string,
        known: readonly KnownCareTeam[],
        accounts: readonly string[] = [],
      ) => {
        ledger.save(known)
        ledger.letGo(job.id, accounts)
      },
    }
    const fake = {
      careTeams: {
        list: async () => gateway.list(this.now - (this.fault() % 4 === 2 ? LAG : 0)),
        delete: async (_account: unknown, { id }: { readonly id: readonly string[] }) => this.delete(job, id),
        setPrimary: async (which: { readonly id?: string; readonly npi?: string }) => {
          gateway.marked = gateway.find(which)?.id
        },
        unsetPrimary: async (which: { readonly id?: string; readonly npi?: string }) =>
          this.unmark(job, which),
      },
    }
    return {
      ...{
        gateway: fake,
        gatewayName: 'gateway',
        ledger: this.ledger,
        jobId: job.id,
        tallies,
        changed,
        missing,
      },
      ...{ identity: IDENTITY, readLagMs: LAG, now: () => this.now, owed: createOwedBook(tallies) },
      pause,
      stale: { has: () => false, judge: async () => false },
      claims: createClaims(runLedger, 'gateway', () => false, { now: () => this.now, pause, readLagMs: LAG }),
      sending: {
        read: (_operation: string, call: () => Promise<unknown>) =>
          (this.lacks === 'lists' ? Promise.reject(failed()) : this.request(call, 4)).catch(
            (error: unknown) => {
              this.isUnread = true
              throw error
            },
          ),
        idempotent: (_operation: string, call: () => Promise<unknown>) =>
          this.lacks === 'follow-ups' ? Promise.reject(failed()) : this.request(call, 5),
      },
    } as unknown as CareTeamContext
  }

  private async request(call: () => Promise<unknown>, most: number): Promise<unknown> {
    const fault = this.fault() % (2 * most)
    if (fault === 8) throw new Killed('before a request')
    if (fault === 1) throw failed()
    const answer = await call()
    if (fault === 9) throw new Killed('behind a request')
    if (fault === 3) throw failed()
    return answer
  }

  private delete(job: Job, ids: readonly string[]): void {
    const { gateway } = this
    const removed = gateway.entries.filter(({ id }) => ids.includes(id))
    const isOfMissing = (npi: string) =>
      this.ledger.row(IDENTITY.npi(npi))?.deletions.some(isMissing) === true
    gateway.delete(ids)
    for (const { npi, ours, observedAt, name } of removed) {
      // A job takes over the deletions that another one owes for its provider.
      const said = this.jobs.flatMap(({ said: exports }) =>
        exports.flatMap(({ entries }) => entries.filter((one) => one.evidence.npi === npi)),
      )
      if (!said.some((one) => one.observedAt >= observedAt))
        throw new TeamViolation(`law 2: ${name} of ${npi} is newer than all that the jobs have said`)
      const isNewer = (one: TeamEntry) =>
        one.observedAt >= observedAt ||
        said.some((entry) => entry.observedAt >= observedAt && textOf(entry).name === one.name)
      if (gateway.entries.some((one) => one.npi === npi && isNewer(one))) continue
      const isOurs = ours !== undefined || !this.history.keepsIds
      if (isOfMissing(npi) && this.ledger.isListed(job.id, IDENTITY.npi(npi)))
        throw new TeamViolation(`law 2: ${name} of ${npi} goes as missing, and is listed again`)
      if (!isOfMissing(npi) || !isOurs)
        throw new TeamViolation(`law 2: ${name} of ${npi} goes, and nothing stands for it`)
    }
    this.count('deleted')
  }

  private unmark(job: Job, which: { readonly id?: string; readonly npi?: string }): void {
    const { gateway, current } = this
    const found = gateway.find(which)
    const row = this.ledger.row(IDENTITY.npi(found?.npi ?? which.npi ?? ''))
    const isSaid = current.job === job.id && current.lines.some(({ primary }) => primary !== 'unsaid')
    if (!isSaid && !(row?.mark === 'to-unset' && row.markBy === job.id))
      throw new TeamViolation('law 3: a mark is taken away by a job that has not said so and does not owe it')
    if (gateway.marked === found?.id) gateway.marked = undefined
    this.count('unmarked')
  }

  /** Nothing fails any more; all that lies there is read, and looked for. */
  async end(): Promise<void> {
    this.faultAt = Number.POSITIVE_INFINITY
    for (const job of this.jobs) await this.attempt(job, async () => {})
    this.judgeDebts()
    this.policy = 'look'
    for (let left = 3; left > 0; left--)
      for (const job of this.jobs) {
        this.now += 60_000
        await this.night(job)
      }
    this.judge()
  }

  private judgeDebts(): void {
    for (const { npi, deletions, accountId } of this.ledger.all()) {
      const owed = deletions.at(-1)
      // Without ids of ours, and for a record in doubt, nobody can tell which entry stands.
      if (owed === undefined || owed.inDoubt.length > 0 || accountId === null || !this.history.keepsIds)
        continue
      throw new TeamViolation(`law 4: a deletion waits for an export: ${npi} ${JSON.stringify(deletions)}`)
    }
  }

  private judge(): void {
    for (const row of this.ledger.all()) {
      const { npi, mark, deletions } = row
      if (!isMarkOwed(row) && deletions.length === 0) continue
      if (this.isStranded(row)) {
        this.count('end: owed for a row that no export has any more')
        continue
      }
      if (!isMarkOwed(row) && this.hasUnidentified(npi))
        this.count(
          'end: a lost answer was taken for an equal entry of somebody else, and the gateway keeps no ids',
        )
      else throw new TeamViolation(`law 5: owed in the end: ${mark} ${JSON.stringify(deletions)}`)
    }
    for (const npi of NPIS) this.judgeProvider(npi)
    this.judgeMark()
    this.judgeReceipts()
  }

  /** True where an owing job waits for a row with the person's reference, or anybody for a record in doubt, and no export has it any more. */
  private isStranded({ markBy, deletionsBy }: KnownCareTeam): boolean {
    const { hasId, missing } = this.history
    const owing = this.jobs.filter(({ id }) => id === markBy || id === deletionsBy)
    const isRowless = owing.some(({ exports }) => exports.every(({ entries }) => entries.length === 0))
    return (isRowless && !hasId && missing === 'keep') || this.hasLostDoubt()
  }

  private hasLostDoubt(): boolean {
    return this.jobs.some(({ id, exports }) => {
      const contents = new Set(exports.flatMap(({ entries }) => entries.map(({ content }) => content)))
      return [...this.ledger.memoryOf(id).inDoubt()].some((content) => !contents.has(content))
    })
  }

  /** True where only an entry of somebody else has the fields of the newest word, and the gateway keeps no ids that would tell. */
  private hasUnidentified(npi: string): boolean {
    const own = this.gateway.entries.filter((one) => IDENTITY.npi(one.npi) === npi)
    const newest = this.words(isLatest).findLast(
      ({ entry }) => IDENTITY.npi(entry.evidence.npi ?? '') === npi,
    )
    const name = newest === undefined ? undefined : textOf(newest.entry).name
    const same = own.filter((one) => one.name === name)
    return !this.history.keepsIds && same.length > 0 && same.every(({ ours }) => ours === undefined)
  }

  /** All that was said, oldest first. */
  private words(isWanted: (job: Job, file: Export, entry: Entry) => boolean): readonly Said[] {
    return this.jobs
      .flatMap((job) =>
        job.said.flatMap((file) =>
          file.entries.flatMap((entry, at) => {
            const line = file.lines[at]
            return line !== undefined && isWanted(job, file, entry)
              ? [{ job, entry, arrival: file.arrival, line }]
              : []
          }),
        ),
      )
      .sort(
        (a, b) =>
          a.entry.observedAt - b.entry.observedAt ||
          a.arrival - b.arrival ||
          a.entry.row.row - b.entry.row.row,
      )
  }

  private judgeProvider(npi: string): void {
    const { missing } = this.history
    const has = this.gateway.entries.filter((one) => one.npi === npi)
    const words = this.words(
      (job, file, entry) =>
        isLatest(job, file, entry) && (job.exports.includes(file) || this.settled.has(entry)),
    ).filter(({ entry }) => entry.evidence.npi === npi)
    const newest = words.at(-1)
    const last = this.jobs[0]?.exports.at(-1)
    if (newest === undefined) return
    const listed = last?.entries.filter((entry) => entry.evidence.npi === npi) ?? []
    if (missing === 'delete' && listed.length === 0) {
      const told = this.ledger.lastListed(1, IDENTITY.npi(npi))
      if (has.some((one) => one.observedAt > told)) {
        this.count('end: an entry is newer than the last listing of its provider who is missing')
        return
      }
      const ours = has.filter((one) => one.ours !== undefined)
      if (ours.length > 0)
        throw new TeamViolation(`law 5: ${npi} is missing, and stands: ${JSON.stringify(ours)}`)
      if (ours.length === 0) this.count('end: a missing provider is gone')
      return
    }
    const names = new Set(has.map(({ name }) => name))
    const newestName = textOf(newest.entry).name
    if (this.areRight(names, newest)) {
      this.count('end: right')
      return
    }
    const { hasOthers } = this.history
    if (hasOthers && has.some((one) => one.ours === undefined && one.observedAt > newest.entry.observedAt)) {
      this.count('end: somebody else has entered a newer one')
      return
    }
    if (this.hasLostDoubt()) {
      this.count('end: a record in doubt that no export has any more')
      return
    }
    // The ledger keeps of a provider one date and place, and not which entry has them.
    const ofDate = words.filter(({ entry }) => entry.observedAt === newest.entry.observedAt)
    const isAgain = newest.job.latest.get(newest.entry.rowKey)?.isAgain === true
    if (
      isAgain &&
      ofDate.some((word) => word.entry.rowKey !== newest.entry.rowKey && this.areRight(names, word))
    ) {
      this.count('end: a row says again what another row of its date has replaced')
      return
    }
    throw new TeamViolation(`law 5: ${npi} has ${[...names]}, the newest word is ${newestName}`)
  }

  /** True where the entries of a provider are as the newest word wants them, by the rule of its job; beside it stand those that no job replaces. */
  private areRight(names: ReadonlySet<string>, { job, entry }: Said): boolean {
    const { missing, hasOthers } = this.history
    const { npi } = entry.evidence
    // Of a whole care team the last export says which providers stand; an entry that went with its provider may not come again behind another one.
    const isThere = names.has(textOf(entry).name) || (missing === 'delete' && names.size > 0)
    const rule = this.ruleOf(job)
    if (rule !== 'replace') return rule === 'keep' ? names.size > 0 : isThere
    const added = new Set(
      this.words((by, _file, one) => this.ruleOf(by) !== 'replace' && one.evidence.npi === npi).map(
        (one) => textOf(one.entry).name,
      ),
    )
    return isThere && (hasOthers || names.difference(added).size <= 1)
  }

  private judgeReceipts(): void {
    const { hasOthers, keepsIds } = this.history
    if (hasOthers || !keepsIds) return
    const inDoubt = new Set(this.jobs.flatMap(({ memory }) => [...memory.inDoubt()]))
    const all = this.words(isLatest)
    for (const { ours, name } of this.gateway.entries) {
      if (ours === undefined || this.receipted.has(ours)) continue
      const entry = all.find((one) => one.entry.transactionId === ours)?.entry
      // Of a row that was corrected, nobody asks for an earlier word.
      if (entry === undefined) continue
      if (inDoubt.has(entry.content)) this.count('end: no receipt, and in doubt')
      else if (this.jobs.some(({ memory }) => memory.superseded.has(entry.content)))
        this.count('end: no receipt, as a later word has ended the doubt')
      else throw new TeamViolation(`law 7: ${name} has no receipt: ${ours}`)
    }
  }

  private judgeMark(): void {
    let bearer: string | undefined
    let saidAt = 0
    for (const { entry, line } of this.words((_job, _file, one) => this.heard.has(one))) {
      const { npi = '' } = entry.evidence
      if (line.primary === true) {
        bearer = npi
        saidAt = entry.observedAt
      } else if (line.primary === false && bearer === npi) bearer = undefined
    }
    const has = this.gateway.entries.find(({ id }) => id === this.gateway.marked)?.npi
    if (has === bearer) {
      this.count('end: the mark is right')
      return
    }
    if (this.hasOthersMarked) {
      this.count('end: somebody else has marked')
      return
    }
    if (this.ledger.all().some((row) => isMarkOwed(row) && this.isStranded(row))) {
      this.count('end: the mark is owed for a row that no export has any more')
      return
    }
    if (this.history.missing === 'delete') {
      this.count('end: the mark of a provider who was missing')
      return
    }
    const newest = Math.max(
      ...this.words((_job, _file, one) => this.heard.has(one)).map(({ entry }) => entry.observedAt),
    )
    if (
      this.history.hasOthers &&
      this.gateway.entries.some((one) => one.npi === has && one.ours === undefined && one.observedAt > newest)
    ) {
      this.count('end: the mark stays on an entry of somebody else that is newer')
      return
    }
    const hadTheMark = (one: TeamEntry) =>
      one.npi !== bearer && one.ours === undefined && one.observedAt > saidAt
    if (has === undefined && this.history.hasOthers && this.gateway.entries.some(hadTheMark)) {
      this.count(
        'end: the mark stayed on an entry of somebody else that is newer, until its provider lost it',
      )
      return
    }
    // Of older words the ledger keeps one date, place and mark a provider.
    if (this.hasLateWord) {
      this.count('end: a word on the mark came behind newer ones')
      return
    }
    throw new TeamViolation(`law 5: the mark is at ${has}, the newest word says ${bearer}`)
  }
}

/** A moment later where another export has the day, and rows of several visits: of equal dates and different visits nobody can tell which is newer. */
function apart(
  day: number,
  { lines }: { readonly lines: readonly TeamLine[] },
  said: readonly Export[],
): number {
  const ofDay = said.filter((one) => one.day === day)
  const hasVisits = [...ofDay, { lines }].some((one) => one.lines.some(({ visit = 0 }) => visit > 0))
  return ofDay.length > 0 && hasVisits ? day + said.length / 100 : day
}

/** As the slot does: of one export the later row counts, and of a row its correction. */
function noteLatest({ latest, memory }: Job, { arrival, isCorrected }: Export, entry: Entry): void {
  const { rowKey, content } = entry
  const { row } = entry.row
  const isAgain = memory.stored(entry) === content
  const before = latest.get(rowKey)
  const isOlder =
    before !== undefined &&
    (before.arrival > arrival ||
      (before.arrival === arrival && before.isCorrected && !isCorrected && row <= before.row))
  if (!isOlder) latest.set(rowKey, { arrival, isAgain, row, content, isCorrected: isCorrected === true })
}

/** A file whose text goes to a listener, line by line. */
const receiptsFile = (note: (receipt: Receipt) => void): AppendedFile => ({
  ...{ path: '', length: 0, close: async () => {} },
  append: async (bytes) => {
    const text = bytes[0] === 0x1f ? gunzipSync(bytes).toString() : ''
    for (const line of text.split('\n')) if (line !== '') note(JSON.parse(line))
    return 0
  },
})

/** Records in doubt of care teams hide no others. */
const waiting = (context: CareTeamContext) =>
  ({ ...context, suspicion: NO_SUSPICION }) as unknown as Parameters<typeof waitForLate>[0]

/** True for the newest word of its row key. */
const isLatest = ({ latest }: Job, { arrival }: Export, { rowKey, content }: Entry): boolean =>
  latest.get(rowKey)?.arrival === arrival && latest.get(rowKey)?.content === content

const failed = (): GatewayError =>
  new GatewayError('failed', { class: 'refused', requestId: 'request', status: 500 } as ConstructorParameters<
    typeof GatewayError
  >[1])

/** Batches of an open chunk, one for each entry. */
function memoryOf(sent: Sent): Pick<Ledger, 'chunks'> {
  const batches = [...sent].map(([entry, state], id) => ({
    ...{ id, batch_id: 'batch', kind: 'careTeam', records: 1, status: 200 },
    answer: state === 'found' ? 'ambiguous' : 'accepted',
    state: state === 'unanswered' ? 'sending' : 'settled',
    holds: packEntries(state === 'rejected' ? [] : [entry]),
  }))
  const exceptions = [...sent].flatMap(([{ row, rule, content }, state]) =>
    state === 'rejected'
      ? [{ row: row.row, rule, content, outcome: 'rejected', batch_id: 'batch', field: null, ...REASON }]
      : [],
  )
  const chunks = { exceptions: async () => exceptions, batches: async () => batches }
  return { chunks: chunks as unknown as Ledger['chunks'] }
}

const REASON = { stage: 'submit', code: 'test', message: '', scrubbed: '' } as const
const accepted = (entry: Entry) => ({ entry, outcome: 'accepted', batchId: 'batch', status: 200 }) as const
const rejected = (entry: Entry) => ({ entry, outcome: 'rejected', batchId: 'batch', reason: REASON }) as const
const inDoubt = (entry: Entry) =>
  ({ entry, outcome: 'in-doubt', batchId: 'batch', reason: REASON, isAsked: true }) as const

const dateOf = (day: number): number => OBSERVED_AT + day * DAY_MS
const fieldsOf = ({ provider, practice }: Pick<TeamLine, 'provider' | 'practice'>) => ({
  npi: NPIS[provider] ?? '',
  name: PRACTICES[practice] ?? '',
})
const textOf = (entry: Entry): { readonly npi: string; readonly name: string } => ({
  npi: entry.evidence.npi ?? '',
  name: PRACTICES.find((name) => entry.text.includes(`"${name}"`)) ?? '',
})

const made = new Map<string, Entry>()
function entryFor(line: TeamLine, day: number, row: number, file: string): Entry {
  const text = JSON.stringify([line, day, row, file])
  const fields = fieldsOf(line)
  const entry =
    made.get(text) ??
    entryOf(careTeam, {
      ...fields,
      row,
      primary: line.primary,
      observedAt: dateOf(day),
      key: `${day}|${fields.npi}|${line.visit ?? 0}`,
    })
  made.set(text, entry)
  return entry
}
