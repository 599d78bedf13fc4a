/** People at gateways, as readers see them: accounts, collections, requests for medical records, care teams. Hashes stand for the people. */
import type { Acting } from './audit.ts'
import type {
  CareTeamListing,
  KnownAccount,
  KnownCareTeam,
  KnownRequest,
  MissingCareTeam,
} from './run-writes.ts'

export interface People {
  accounts(gateway: string, references: readonly string[]): Promise<Map<string, KnownAccount>>
  /** Account ids shared by several people: the gateway has reassigned the id since. */
  sharedIds(gateway: string, accountIds: readonly string[]): Promise<Set<string | null>>
  /** Returns the references whose accounts the run has registered. */
  registeredBy(gateway: string, references: readonly string[], runId: string): Promise<Set<string>>
  /** Account ids of a gateway, sorted by reference, those after the reference `after`. Null if another key has sealed the id. */
  knownAccounts(
    gateway: string,
    after: string,
    limit: number,
  ): Promise<readonly { readonly reference: string; readonly accountId: string | null }[]>
  /**
   * Number of times each person was forgotten, for people who were forgotten.
   * @param references called only if anybody was forgotten
   */
  forgotten(gateway: string, references: () => readonly string[]): Promise<ReadonlyMap<string, number>>
  /** Hashed references shared by people with different birth dates, among the given references. */
  sharedReferences(gateway: string, references: readonly string[]): Promise<ReadonlySet<string>>
  /**
   * Confirms that each reference stands for a single person, despite earlier findings.
   * @param people by hashed reference, with the keyed hash of the birth date; null: the next birth date that an export gives
   * @param acting for the audit, a record for each person
   * @returns how many references were shared by several people
   */
  confirm(gateway: string, people: ReadonlyMap<string, number | null>, acting?: Acting): Promise<number>
  /**
   * Forgets a person at a gateway: crosswalk, care teams, collected data of jobs. Deliveries to the person count as not delivered.
   * @param references hashes of the person's references
   * @param accountId finds further references of the person in the crosswalk
   * @param acting for the audit, with the action: the first reference stands for the person
   */
  forget(
    gateway: string,
    references: readonly string[],
    accountId: string | null,
    acting?: Acting & { readonly action: 'accounts-erase' | 'accounts-forget' },
  ): Promise<void>
  /**
   * Erases account ids of forgotten people from the bytes of the ledger's files.
   * @returns false if another process was reading: the log may hold account ids until the reader has ended
   */
  scrub(): Promise<boolean>
  /** Latest collection by hashed reference: the run, and a hash of the content. */
  collected(jobId: number, people: readonly string[]): Promise<ReadonlyMap<string, CollectedBefore>>
  /** Requests for medical records sent to the gateway, by hashed reference number. */
  medicalRequests(gateway: string, references: readonly string[]): Promise<Map<string, KnownRequest>>
}

interface CollectedBefore {
  readonly run: string
  readonly content: string | null
}

export interface CareTeams {
  /** Care-team entries by account, for accounts with known entries. */
  ofAccounts(gateway: string, accounts: readonly string[]): Promise<Map<string, KnownCareTeam[]>>
  /** Providers listed by the job's exports, for accounts that the exports list. */
  listed(jobId: number, accounts: readonly string[]): Promise<Map<string, CareTeamListing>>
  /**
   * First providers that the export of this arrival no longer lists, of people with usable rows only.
   * @returns `unreadable` if a row of the export cannot be read: the row may have listed anybody
   */
  missing(jobId: number, arrival: number, limit: number): Promise<readonly MissingCareTeam[] | 'unreadable'>
  /** Hashes of accounts with a mark or a deletion owed by the job, those after `after`. */
  owed(gateway: string, jobId: number, after: string, limit: number): Promise<string[]>
}
