/**
 * What transform hands to load: for each row its records, or the reasons why there are none.
 */
import type { PreparedRecord } from './prepared-record.ts'
import type { CsvRow, JsonRow, Origin } from './row.ts'

/** The three kinds of record that the gateway stores (interface, "Resources and their fields"). */
export type RecordKind = 'biometric' | 'condition' | 'careTeam'

export const RECORD_KINDS = ['biometric', 'condition', 'careTeam'] as const satisfies readonly RecordKind[]

/** Whose record it is, as the export names the person (interface, "Account reference"). */
export interface AccountKey {
  readonly reference: string
  readonly type: 'accountId' | 'partnerAccountId'
}

/** What POST /account/register takes (interface, "Registration"). */
export interface Registration {
  readonly dateOfBirth: string
  readonly firstName: string
  readonly gender: string
  readonly lastName: string
  readonly partnerAccountId: string
  readonly postalCode: string
}

/** Stages at which a row or record can be found wanting. */
export type Stage = 'extract' | 'transform' | 'register' | 'submit' | 'read-back' | 'replace' | 'primary-care'

/** Why a row gave no records, or a rule no record. Holds no cell content. */
export interface Issue {
  readonly stage: Stage
  readonly code: string
  /** Column or path concerned. */
  readonly field?: string
  readonly message: string
}

/** Why a value, code or field of a row is of no use. Holds no cell content. */
export type Fault = Pick<Issue, 'code' | 'message'>

export const fault = (code: string, message: string): Fault => ({ code, message })

/** A rule that applied to the row but whose record could not be made: counted as made and rejected. */
export interface RejectedRecord {
  readonly kind: RecordKind
  readonly rule: string
  readonly issue: Issue
}

/** What a check found in a record that goes on all the same, or in its row: then kind and rule are null. */
export interface Warning {
  readonly kind: RecordKind | null
  readonly rule: string | null
  readonly issue: Issue
}

/** Registration data of the row's person; an issue where it cannot be made, of interest only if the person is not registered yet. */
export type RegistrationDraft =
  | { readonly ok: true; readonly registration: Registration }
  | { readonly ok: false; readonly issue: Issue }

export interface MappedRow extends Origin {
  readonly outcome: 'mapped'
  /** The row as it came: for whoever must keep what it holds out of a message. */
  readonly source: CsvRow | JsonRow
  /** The row's key for the vendor, its parts joined by `|`. */
  readonly key: string
  readonly account: AccountKey
  /** Makes the registration data, which is needed only where the person is not known yet; undefined if the mapping has none. */
  readonly register: () => RegistrationDraft | undefined
  readonly records: readonly PreparedRecord[]
  readonly rejected: readonly RejectedRecord[]
  /** What the mapping leaves out of the row on purpose: why, once for each element or rule. */
  readonly leftOut: readonly string[]
  readonly warnings: readonly Warning[]
}

export interface SkippedRow extends Origin {
  readonly outcome: 'skipped'
  /** Which condition of the mapping left it out. */
  readonly reason: string
  /** The same for each element of the row. */
  readonly leftOut: readonly string[]
  readonly warnings: readonly Warning[]
}

export interface RejectedRow extends Origin {
  readonly outcome: 'rejected'
  readonly issue: Issue
}

/** Exactly one outcome for each row read: rows read = mapped + skipped + rejected. */
export type RowOutcome = MappedRow | SkippedRow | RejectedRow
