/**
 * What records are made of. Nearly all of a record's text is the same for all records of a rule: that is its frame. Of each record only what its
 * row says is kept (src/model/entry.ts).
 */
import { hash } from 'node:crypto'
import { type Piece, pieceOf } from './text-writer.ts'

/** Kinds of record that a profile shows (interface, "the service: biometrics", "conditions", "care teams"). */
export const PROFILE_KINDS = ['biometric', 'condition', 'careTeam'] as const
export type ProfileKind = (typeof PROFILE_KINDS)[number]

/** `medicalRecords`: a request for somebody's medical records. `assessment`: a person's answers to the paged test. `account`: a person who is to be registered, of a roster. */
export const RECORD_KINDS = [...PROFILE_KINDS, 'medicalRecords', 'assessment', 'account'] as const
export type RecordKind = (typeof RECORD_KINDS)[number]

/** As people call them. */
export const KIND_NAMES: Readonly<Record<RecordKind, string>> = {
  biometric: 'biometrics',
  condition: 'conditions',
  careTeam: 'care teams',
  medicalRecords: 'medical-records requests',
  assessment: 'answered tests',
  account: 'accounts',
}

export const isOfProfile = (kind: RecordKind): kind is ProfileKind =>
  PROFILE_KINDS.some((one) => one === kind)

/** Whose record it is, as the export names the person (interface, "Account reference"). */
export interface AccountKey {
  readonly reference: string
  readonly type: 'accountId' | 'partnerAccountId'
}

/** What writes name besides, where the export has it; it plays no part in who the person is. */
export interface SentAccount extends AccountKey {
  readonly sponsor?: string
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

/** What stands in a hole: the date in one of its forms, the value, or which of the texts that the row says. */
export type Hole = 'iso' | 'epochMs' | 'value' | number

/** What is the same for all records of a rule and an entry of the catalog. */
export interface RecordFrame {
  readonly kind: RecordKind
  /**
   * JSON text around what the row says: behind the account, between the holes, and behind the row's key, up to the opening quote of the batch id.
   * Two more than there are holes; the key stands before the last.
   */
  readonly pieces: readonly string[]
  /** The same in UTF-8, as it is written. */
  readonly written: readonly Piece[]
  readonly holes: readonly Hole[]
  /** Of all text, in UTF-8. */
  readonly bytes: number
  /** Eight bytes of a hash of kind and pieces. No key: it holds nothing of a person. */
  readonly digest: Uint8Array
  /** `source.type`. */
  readonly sourceType: string
  /** What a record is recognised by; of a care-team entry each record says it. */
  readonly codes: readonly string[]
  readonly name: string
  readonly unit: string | undefined
  /** What its records are counted by, of which a row can have any number: `hba1c-2` by `hba1c`. Undefined where there is one a row. */
  readonly listedAs: string | undefined
}

type FrameParts = Pick<RecordFrame, 'kind' | 'pieces' | 'holes' | 'sourceType' | 'codes' | 'name'> & {
  readonly unit?: string
  readonly listedAs?: string | undefined
}

export function createFrame(parts: FrameParts): RecordFrame {
  const written = parts.pieces.map((piece) => pieceOf(piece))
  return {
    ...{ unit: undefined, listedAs: undefined },
    ...parts,
    written,
    bytes: written.reduce((sum, { bytes }) => sum + bytes.length, 0),
    digest: hash('sha256', [parts.kind, ...parts.pieces].join('\u0000'), 'buffer').subarray(0, 8),
  }
}

/** When something was observed. */
export interface ObservedTime {
  /** Milliseconds since the epoch. */
  readonly at: number
  readonly iso: string
}

/** What all records of a row share. */
export interface RowFacts {
  readonly account: AccountKey
  /** As the member `account`, JSON text. */
  readonly accountJson: string
  /** The row's key, JSON text. */
  readonly keyJson: string
  /** Of both texts, in UTF-8. */
  readonly bytes: number
}

/** Whom a care-team entry names, as the row says it. */
export interface NamedProvider {
  readonly npi: string
  readonly name: string
  /** Whether it is the primary care physician; not there where the mapping does not say. */
  readonly primary?: boolean
}

/**
 * What identifies a record when an answer or a read does not carry our ids
 * (interface: reads carry no transactionId; the answers for conditions and care teams carry none at all).
 */
export interface Evidence {
  /** Every code the record is sent with; empty for care teams. */
  readonly codes: readonly string[]
  readonly name: string
  /** Biometrics: the value as it stands in the body, a JSON number. */
  readonly value: string | undefined
  readonly unit: string | undefined
  readonly npi: string | undefined
}

/** A request for medical records, by its reference number (interface, "Medical-records request"). */
export interface MedicalRequest {
  readonly reference: string
  /** JSON text of the request as it is sent; null where a field has nothing any more. */
  readonly body: string
  /** Whether it is to be withdrawn. */
  readonly isWithdrawn: boolean
  /** Name of the file with its authorization; undefined where the mapping has none. */
  readonly authorization: string | undefined
}

/** What a person has answered to a question of the paged test (interface, "Answer submission"). */
export interface TestAnswer {
  readonly question: string
  /** Undefined where the mapping does not say which. */
  readonly fact: string | undefined
  /** The option's id, value or text. */
  readonly option: string
}

/** Stages at which a row or record can be found wanting. */
export type Stage =
  | 'extract'
  | 'transform'
  | 'register'
  | 'submit'
  | 'read-back'
  | 'replace'
  | 'primary-care'
  | 'collect'

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
  /** Transaction id under which the gateway has a result that was withdrawn since, where the ledger knows. */
  readonly sentAs?: string | undefined
  /** Of a measurement that could be read and is implausible, in the catalog's unit: health data, for aggregates alone. */
  readonly value?: number
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
