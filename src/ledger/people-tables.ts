/** Tables about people: accounts, care teams, requests, collections. */
import type { SealedId } from './sealed-ids.ts'

export interface PeopleTables {
  account: AccountTable
  claim: ClaimTable
  forgotten: ForgottenTable
  shared_reference: SharedReferenceTable
  care_team: CareTeamTable
  care_team_listed: CareTeamListedTable
  collected: CollectedTable
  medical_request: MedicalRequestTable
}

/** The crosswalk: hashed reference → account id. */
interface AccountTable {
  gateway: string
  reference: Uint8Array
  account_id: SealedId | null
  registered_at: number
  /** The run that registered the person; null if the gateway already knew the person. */
  registered_by: string | null
  /** Time until which records unknown to this ledger may have been sent; null if none were. */
  sent_before: number | null
  /** Keyed hash of the birth date; null if no export gives a date. */
  born: number | null
  /** Keyed hash of first and last name; null if no export gives a name. */
  named: number | null
}

/** References shared by people with different birth dates: nothing is sent under them. */
interface SharedReferenceTable {
  gateway: string
  /** Hashed reference. */
  reference: Uint8Array
}

/** Accounts that a job reads and is about to write. A claim is valid as long as the lease with this token. */
interface ClaimTable {
  gateway: string
  /** Hashed reference of the person. */
  account: Uint8Array
  job_id: number
  token: number
}

/** People whose account was erased or is no longer valid: deliveries to the account count as not delivered. */
interface ForgottenTable {
  gateway: string
  /** Hashed reference. */
  reference: Uint8Array
  /** Number of times: part of the hashes of the person's row keys from then on. */
  times: number
}

/** Known care-team entries of accounts: newest date, and mark. */
interface CareTeamTable {
  gateway: string
  /** Hashed reference of the person. */
  account: Uint8Array
  /** Hashed NPI. */
  npi: Uint8Array
  observed_at: number
  /** When the ledger learned that the entry is stored. A list may show newer entries late. */
  stored_at: number
  mark: CareTeamMark
  /** The person's id at the gateway, which lets a run set an owed mark without the export; null if the gateway gave none. */
  account_id: SealedId | null
  /** Place of the latest row about the provider: exports in order of arrival, then rows. */
  heard_at: number
  /** Hash of the content of a record in doubt that the mark waits for. */
  content: Uint8Array | null
  /** `OwedDeletion[]` as JSON, newest last; null if nothing is to be deleted. */
  deletions: string | null
  /** Jobs that owe the mark and the deletions. */
  mark_by: number | null
  deletions_by: number | null
}

/**
 * Mark of the primary care physician. `none`: no mark, or another entry of the account has the mark. `withdrawn`: the newest word is that the
 * entry has no mark, or no longer. `to-set`, `to-unset`: owed, as the change failed when the export asked for the mark.
 */
export type CareTeamMark = 'none' | 'set' | 'withdrawn' | 'to-set' | 'to-unset'

/** Providers of each person in a job's exports, if the exports list all care teams. */
interface CareTeamListedTable {
  job_id: number
  /** Hashed reference of the person; empty for an unreadable row of an unknown person. */
  account: Uint8Array
  /** Hashed NPI. Empty: the export has the person. One byte: an unusable row of the person. */
  npi: Uint8Array
  /** Arrival of the latest export with this row. */
  arrival: number
  /** Time of the newest entry: milliseconds since the epoch. */
  at: number
}

/** Collections of a job by person, with a hash of the content: no health data. */
interface CollectedTable {
  job_id: number
  /** Hashed reference. */
  person: Uint8Array
  /** Hash of the collected content; null if nothing was found. */
  content: Uint8Array | null
  /** The latest run that asked. */
  run_id: string
}

/** Requests for medical records sent to a gateway. */
interface MedicalRequestTable {
  gateway: string
  /** Hashed reference number. */
  reference: Uint8Array
  /** Hash of the request as sent. */
  content: Uint8Array
  state: MedicalRequestState
  /** Place of the latest row about the request: exports in order of arrival, then rows. */
  heard_at: number
  /** The run that sent the current state; null once a later row has repeated the state. */
  run_id: string | null
}

/** `awaiting`: the request is sent, the authorization is not. */
export type MedicalRequestState = 'awaiting' | 'complete' | 'withdrawn'
