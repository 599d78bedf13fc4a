/** Tables of what the ledger knows of people: accounts, care teams, requests, what was collected. */
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
  /** The run that registered the person; null where the gateway said that it knew them. */
  registered_by: string | null
  /** Until when something may have been sent of which this ledger does not know; null where nothing was. */
  sent_before: number | null
  /** Keyed hash of the birth date; null where no export has given it. */
  born: number | null
  /** Keyed hash of first and last name, likewise. */
  named: number | null
}

/** References that stand for people with several birth dates: nothing is sent under them. */
interface SharedReferenceTable {
  gateway: string
  /** Hashed reference. */
  reference: Uint8Array
}

/** Accounts that a job reads and is about to write; good for as long as the lease with that token. */
interface ClaimTable {
  gateway: string
  /** Hashed reference of the person. */
  account: Uint8Array
  job_id: number
  token: number
}

/** People whose account was erased, or holds no longer: what was delivered to it counts as not delivered. */
interface ForgottenTable {
  gateway: string
  /** Hashed reference. */
  reference: Uint8Array
  /** How often: part of the hashes of their row keys from then on. */
  times: number
}

/** Care-team entries that accounts are known to have: when they were observed last, and whether they bear the mark. */
interface CareTeamTable {
  gateway: string
  /** Hashed reference of the person. */
  account: Uint8Array
  /** Hashed NPI. */
  npi: Uint8Array
  observed_at: number
  /** When it was learned that it is stored; a list may be late with what is newer. */
  stored_at: number
  mark: CareTeamMark
  /** The gateway's id of the person, by which a mark that is owed can be set without the export; null where it gave none. */
  account_id: SealedId | null
  /** The place of the latest row that was heard: exports in the order of their arrival, and rows within them. */
  heard_at: number
  /** Of a mark that waits for a record in doubt: hash of its content. */
  content: Uint8Array | null
  /** `OwedDeletion[]` as JSON, the newest last; null where nothing is to be deleted. */
  deletions: string | null
  /** The jobs that owe the mark, and the deletions. */
  mark_by: number | null
  deletions_by: number | null
}

/**
 * Of the primary care physician. `none`: not to bear it, or another entry of the account does. `withdrawn`: the newest word is that it is not,
 * or no longer, to bear it. `to-set`, `to-unset`: owed, as it could not be done when the export said so.
 */
export type CareTeamMark = 'none' | 'set' | 'withdrawn' | 'to-set' | 'to-unset'

/** Which providers a job's exports list of whom, where they list all. */
interface CareTeamListedTable {
  job_id: number
  /** Hashed reference of the person; empty: of a row that cannot be read, nobody knows of whom. */
  account: Uint8Array
  /** Hashed NPI. Empty: that the export has the person; one byte: that it says something of them that is of no use. */
  npi: Uint8Array
  /** Of the export that has said so last. */
  arrival: number
  /** When the newest entry was observed: milliseconds since the epoch. */
  at: number
}

/** Of whom a job has collected, and a hash of what: no health data. */
interface CollectedTable {
  job_id: number
  /** Hashed reference. */
  person: Uint8Array
  /** Hash of what was collected; null where there was nothing. */
  content: Uint8Array | null
  /** The run that has asked last. */
  run_id: string
}

/** Requests for medical records that a gateway was sent. */
interface MedicalRequestTable {
  gateway: string
  /** Hashed reference number. */
  reference: Uint8Array
  /** Hash of the request as it was sent. */
  content: Uint8Array
  state: MedicalRequestState
  /** The place of the latest row that was heard: exports in the order of their arrival, and rows within them. */
  heard_at: number
  /** The run that has brought it about; null where a later row has said it again. */
  run_id: string | null
}

/** `awaiting`: it is sent, and its authorization is not. */
export type MedicalRequestState = 'awaiting' | 'complete' | 'withdrawn'
