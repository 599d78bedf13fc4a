/** A small ledger of one account's care team, for all jobs of a home. */
import {
  type CareTeamListing,
  type Claimed,
  type KnownCareTeam,
  type Ledger,
  type ListedCareTeam,
  type MissingCareTeam,
  THE_PERSON,
} from '../../src/ledger/ledger.ts'
import { JobMemory } from './care-team-memory.ts'

export class TeamLedger {
  private rows = new Map<string, KnownCareTeam>()
  private readonly memories = new Map<number, JobMemory>()
  private readonly listed = new Map<
    number,
    { arrival: number; npis: Map<string, MissingCareTeam & { arrival: number }> }
  >()
  /** Job that holds an account, and times at which jobs have abandoned it. */
  private readonly holders = new Map<string, number>()
  private readonly abandoned = new Map<string, Map<number, number>>()
  private readonly lastDates = new Map<string, number>()
  /** Account that all rows are about. */
  private readonly account: string

  readonly careTeams: Ledger['careTeams'] = {
    ofAccounts: async (_gateway, accounts) =>
      new Map(
        accounts.includes(this.account) && this.rows.size > 0
          ? [[this.account, [...this.rows.values()]]]
          : [],
      ),
    listed: async (jobId) => this.listedBy(jobId),
    missing: async (jobId, arrival) => this.missingOf(jobId, arrival),
    owed: async (_gateway, jobId, after) => this.owedBy(jobId, after),
  }
  readonly people = { sharedIds: async () => new Set<string>() }
  readonly slots = { heldContents: async (contents: readonly string[]) => this.heldContents(contents) }

  constructor(account: string) {
    this.account = account
  }

  memoryOf(job: number): JobMemory {
    const memory = this.memories.get(job) ?? new JobMemory()
    this.memories.set(job, memory)
    return memory
  }

  row(npi: string): KnownCareTeam | undefined {
    return this.rows.get(npi)
  }

  all(): readonly KnownCareTeam[] {
    return [...this.rows.values()]
  }

  /** As the real one saves them: an account has one mark, and dates never go back. */
  save(saved: readonly KnownCareTeam[]): void {
    const marked = saved.some(({ mark }) => mark === 'set')
    for (const row of this.all())
      if (marked && row.mark === 'set') this.rows.set(row.npi, { ...row, mark: 'none' })
    for (const row of saved) {
      const before = this.rows.get(row.npi)
      const observedAt = Math.max(before?.observedAt ?? row.observedAt, row.observedAt)
      if (row.isGone === true) this.rows.delete(row.npi)
      else
        this.rows.set(row.npi, { ...row, observedAt, heardAt: Math.max(before?.heardAt ?? 0, row.heardAt) })
    }
  }

  /** Claims accounts for a job. All other jobs are without a process: what they have claimed, they abandon. */
  claim(job: number, accounts: readonly string[], now: number): Claimed {
    const holders = new Set(accounts.flatMap((account) => this.holders.get(account) ?? []))
    for (const holder of holders) if (holder !== job) this.abandon(holder, now)
    for (const account of accounts) this.holders.set(account, job)
    const abandoned = accounts.flatMap((account) => {
      const times = [...(this.abandoned.get(account) ?? [])].flatMap(([by, at]) => (by === job ? [] : [at]))
      return times.length === 0 ? [] : [[account, now - Math.max(...times)] as const]
    })
    return { accounts: new Set(accounts), abandoned: new Map(abandoned) }
  }

  abandon(job: number, now: number): void {
    for (const [account, holder] of this.holders) {
      if (holder !== job) continue
      this.holders.delete(account)
      const by = this.abandoned.get(account) ?? new Map()
      this.abandoned.set(account, by.set(job, now))
    }
  }

  letGo(
    job: number,
    accounts: Iterable<string> = new Set([...this.holders.keys(), ...this.abandoned.keys()]),
  ): void {
    for (const account of accounts) {
      if (this.holders.get(account) === job) this.holders.delete(account)
      this.abandoned.get(account)?.delete(job)
    }
  }

  /** Later runs of the job are others than the one that is given up: it keeps what it has abandoned. */
  giveUp(job: number, now: number): void {
    this.abandon(job, now)
    for (const by of this.abandoned.values()) {
      const at = by.get(job)
      by.delete(job)
      if (at !== undefined) by.set(givenUp(job), at)
    }
    this.finish(job)
  }

  /** Ends all claims of a run that has finished. */
  finish(job: number): void {
    this.letGo(job)
  }

  isAbandonedBefore(job: number, account: string): boolean {
    return [...(this.abandoned.get(account)?.keys() ?? [])].some((by) => by !== job)
  }

  private owedBy(jobId: number, after: string): string[] {
    const owes = this.all().some(
      ({ mark, markBy, deletions, deletionsBy }) =>
        (['to-set', 'to-unset'].includes(mark) || deletions.length > 0) &&
        [markBy, deletionsBy].includes(jobId),
    )
    return owes && after < this.account ? [this.account] : []
  }

  private heldContents(contents: readonly string[]): Set<string> {
    const memories = [...this.memories.values()]
    return new Set(contents.filter((content) => memories.some((one) => one.isHeld(content))))
  }

  noteListed(job: number, arrival: number, listed: readonly ListedCareTeam[]): void {
    const before = this.listed.get(job)
    if (before !== undefined && before.arrival > arrival) return
    const now = { arrival, npis: before?.npis ?? new Map() }
    this.listed.set(job, now)
    for (const { npi, at } of listed) this.lastDates.set(`${job} ${npi}`, at)
    for (const { npi, at } of listed)
      if (npi !== THE_PERSON)
        now.npis.set(npi, {
          account: this.account,
          npi,
          arrival,
          at: Math.max(at, now.npis.get(npi)?.at ?? at),
        })
  }

  private listedBy(jobId: number): Map<string, CareTeamListing> {
    const listed = this.listed.get(jobId)
    if (listed === undefined) return new Map()
    return new Map([[this.account, { arrival: listed.arrival, npis: new Set(listed.npis.keys()) }]])
  }

  private missingOf(jobId: number, arrival: number): readonly MissingCareTeam[] {
    const listed = this.listed.get(jobId)
    if (listed?.arrival !== arrival) return []
    return [...listed.npis.values()].filter((one) => one.arrival < arrival)
  }

  /** Date with which the job has listed a provider last. */
  lastListed(jobId: number, npi: string): number {
    return this.lastDates.get(`${jobId} ${npi}`) ?? Number.NEGATIVE_INFINITY
  }

  isListed(jobId: number, npi: string): boolean {
    const listed = this.listed.get(jobId)
    return listed?.npis.get(npi)?.arrival === listed?.arrival && listed !== undefined
  }

  forgetListed(jobId: number, missing: readonly MissingCareTeam[]): void {
    for (const { npi } of missing) this.listed.get(jobId)?.npis.delete(npi)
  }
}

/** Runs of a job that were given up, as one. */
const givenUp = (job: number): number => -job
