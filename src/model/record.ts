/**
 * Parts of a record. Most of a record's text is the same for all records of a rule, and makes up the frame. Of each record, only the fields
 * from its row are kept (src/model/entry.ts).
 */
import { hash } from 'node:crypto'
import { type Piece, pieceOf } from './text-writer.ts'

/** Kinds of record in a profile (interface, "the service: biometrics", "conditions", "care teams"). */
export const PROFILE_KINDS = ['biometric', 'condition', 'careTeam'] as const
export type ProfileKind = (typeof PROFILE_KINDS)[number]

/**
 * `medicalRecords`: a request for a person's medical records. `assessment`: a person's answers to the paged test. `account`: a person of a
 * roster, to be registered.
 */
export const RECORD_KINDS = [...PROFILE_KINDS, 'medicalRecords', 'assessment', 'account'] as const
export type RecordKind = (typeof RECORD_KINDS)[number]

/** Names of kinds in texts for people. */
export const KIND_NAMES: Readonly<Record<RecordKind, string>> = {
  biometric: 'biometrics',
  condition: 'conditions',
  careTeam: 'care teams',
  medicalRecords: 'medical-records requests',
  assessment: 'answered tests',
  account: 'accounts',
}

const OF_PROFILE: ReadonlySet<string> = new Set(PROFILE_KINDS)

export const isOfProfile = (kind: RecordKind): kind is ProfileKind => OF_PROFILE.has(kind)

/** Person of a record, as the export names the person (interface, "Account reference"). */
export interface AccountKey {
  readonly reference: string
  readonly type: 'accountId' | 'partnerAccountId'
}

/** Account in writes, with the sponsor if the export has one; the sponsor is not part of the identity. */
export interface SentAccount extends AccountKey {
  readonly sponsor?: string
}

/** Body of POST /account/register (interface, "Registration"). */
export interface Registration {
  readonly dateOfBirth: string
  readonly firstName: string
  readonly gender: string
  readonly lastName: string
  readonly partnerAccountId: string
  readonly postalCode: string
}

/** Content of a hole: the date in either form, the value, or the index of a text of the row. */
type Hole = 'iso' | 'epochMs' | 'value' | number

/** Text common to all records of a rule and a catalog entry. */
export interface RecordFrame {
  readonly kind: RecordKind
  /**
   * JSON text around the fields of the row: behind the account, between the holes, and behind the row's key up to the opening quote of the
   * batch id. Two more pieces than holes; the key stands before the last piece.
   */
  readonly pieces: readonly string[]
  /** `pieces` in UTF-8, ready to write. */
  readonly written: readonly Piece[]
  readonly holes: readonly Hole[]
  /** Length of all pieces in UTF-8. */
  readonly bytes: number
  /** First eight bytes of a hash of kind and pieces. No key needed: a frame holds no personal data. */
  readonly digest: Uint8Array
  /** `source.type`. */
  readonly sourceType: string
  /** Codes that identify the record; in a care-team entry each record has its own. */
  readonly codes: readonly string[]
  readonly name: string
  readonly unit: string | undefined
  /** Name by which to count records that a row may repeat: `hba1c-2` counts by `hba1c`. Undefined for a single record a row. */
  readonly listedAs: string | undefined
}

type FrameParts = Pick<RecordFrame, 'kind' | 'pieces' | 'holes' | 'sourceType' | 'codes' | 'name'> & {
  readonly unit?: string
  readonly listedAs?: string | undefined
}

export function createFrame(parts: FrameParts): RecordFrame {
  const written = parts.pieces.map((piece) => pieceOf(piece))
  return {
    unit: undefined,
    listedAs: undefined,
    ...parts,
    written,
    bytes: written.reduce((sum, { bytes }) => sum + bytes.length, 0),
    digest: hash('sha256', [parts.kind, ...parts.pieces].join('\u0000'), 'buffer').subarray(0, 8),
  }
}

/** Time of an observation. */
export interface ObservedTime {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly iso: string
}

/** Facts shared by all records of a row. */
export interface RowFacts {
  readonly account: AccountKey
  /** JSON text of the member `account`. */
  readonly accountJson: string
  /** JSON text of the row's key. */
  readonly keyJson: string
  /** Length of both texts in UTF-8. */
  readonly bytes: number
}

/** Provider of a care-team entry, as named in the row. */
export interface NamedProvider {
  readonly npi: string
  readonly name: string
  /** Primary care physician; absent if the mapping does not say. */
  readonly primary?: boolean
}

/**
 * Identifies a record when an answer or a read lacks our ids (interface: reads carry no transactionId; neither do the answers for
 * conditions and care teams).
 */
export interface Evidence {
  /** Every code sent with the record; empty for care teams. */
  readonly codes: readonly string[]
  readonly name: string
  /** Biometrics: the value as written in the body, a JSON number. */
  readonly value: string | undefined
  readonly unit: string | undefined
  readonly npi: string | undefined
}

/** A request for medical records, by its reference number (interface, "Medical-records request"). */
export interface MedicalRequest {
  readonly reference: string
  /** JSON text of the request as sent; null where a field is empty now. */
  readonly body: string
  /** True if the request is to be withdrawn. */
  readonly isWithdrawn: boolean
  /** Name of the authorization file; undefined if the mapping has none. */
  readonly authorization: string | undefined
}

/** Answer of a person to a question of the paged test (interface, "Answer submission"). */
export interface TestAnswer {
  readonly question: string
  /** Undefined if the mapping does not name the fact. */
  readonly fact: string | undefined
  /** Id, value or text of the option. */
  readonly option: string
}

/** Stages that can reject a row or record. */
export type Stage =
  | 'extract'
  | 'transform'
  | 'register'
  | 'submit'
  | 'read-back'
  | 'replace'
  | 'primary-care'
  | 'collect'

/** Reason why a row gave no records, or a rule no record. Holds no cell content. */
export interface Issue {
  readonly stage: Stage
  readonly code: string
  /** Column or path concerned. */
  readonly field?: string
  readonly message: string
}

/** Reason why a value, code or field of a row is unusable. Holds no cell content. */
export interface Fault extends Pick<Issue, 'code' | 'message'> {
  /** True where a text is there that cannot be read: no condition on it can be decided. */
  readonly hidesText?: true
}

export const fault = (code: string, message: string, more?: Pick<Fault, 'hidesText'>): Fault => ({
  code,
  message,
  ...more,
})

export const HIDES_TEXT = { hidesText: true } as const

/** A record that an applicable rule could not make: counted as made and rejected. */
export interface RejectedRecord {
  readonly kind: RecordKind
  readonly rule: string
  readonly issue: Issue
  /** Transaction id of a result that the gateway has and the source has withdrawn since, if known to the ledger. */
  readonly sentAs?: string | undefined
  /** Readable but implausible measurement, in the catalog's unit: health data, for aggregates only. */
  readonly value?: number
}

/** Problem found in an accepted record; in a row if kind and rule are null. */
export interface Warning {
  readonly kind: RecordKind | null
  readonly rule: string | null
  readonly issue: Issue
}

/** Registration data of the row's person, or an issue if the data cannot be made. The issue matters only for an unregistered person. */
export type RegistrationDraft =
  | { readonly ok: true; readonly registration: Registration }
  | { readonly ok: false; readonly issue: Issue }
