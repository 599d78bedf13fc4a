/** Outcomes of entries, and meaning of answers and profiles for entries. */
import type { Entry } from './entry.ts'
import type { AccountKey, Stage } from './record.ts'

/** Reason why a record was not accepted. */
export interface Reason {
  readonly stage: Stage
  readonly code: string
  readonly field?: string
  /** For the rejects file: may hold the gateway's own words. */
  readonly message: string
  /** For the ledger and all else: only words of the gateway that are known to hold no personal data. */
  readonly scrubbed: string
}

/** Reason in words of Waybill alone: these concern nobody. */
export const ownReason = (stage: Stage, code: string, message: string): Reason => ({
  stage,
  code,
  message,
  scrubbed: message,
})

/**
 * Reason why a record is not sent although the gateway does not have it. `care-team-kept`, `care-team-outdated`: the job keeps the entry
 * that the gateway has for the NPI, or that entry is newer. `outdated`: a later export holds a newer value.
 */
export type PassedOver = 'care-team-kept' | 'care-team-outdated' | 'outdated'

export interface AcceptedOutcome {
  readonly entry: Entry
  readonly outcome: 'accepted'
  /** Null for an account: each is registered separately. */
  readonly batchId: string | null
  readonly status: number | null
  /** Id of the record at the gateway, if the answer has one. */
  readonly gatewayId?: string
  /** Learned from the profile, not from the answer. */
  readonly readBack?: true
  /** Age result of a test, for the receipt. */
  readonly ageResult?: object
}

/** Outcome of an entry. Each entry has exactly one. */
export type EntryOutcome = { readonly entry: Entry } & (
  | AcceptedOutcome
  | { readonly outcome: 'rejected'; readonly batchId: string | null; readonly reason: Reason }
  | {
      readonly outcome: 'in-doubt'
      readonly batchId: string | null
      readonly reason: Reason
      /** The profile cannot be read now, perhaps later. Newer records of the series wait, since a newer record would hide this one. */
      readonly isAsked?: true
      /** True where another record is in doubt: this one was not sent, or is stored as far as known, and is not held. */
      readonly isBehind?: true
    }
  | {
      readonly outcome: 'unchanged'
      /** Known as delivered from now on, and not before. */
      readonly found?: true
      /** Sent before, and shown by the profile. */
      readonly readBack?: true
      /** Transaction id under which the record was sent, if from another export. */
      readonly storedAs?: string
      /** The profile shows the equal entry of another record; this record need not be stored as well. */
      readonly isOthers?: true
      /** The gateway does not have the record, and the job does not send it. */
      readonly passedOver?: PassedOver
    }
)

/** Account ids of the crosswalk; reads and some answers name the account by id only. */
export type AccountIds = (account: AccountKey) => string | undefined

/** Finding of a profile about a record without an answer. */
export type Verdict =
  | 'stored'
  /** Not shown, and would be if accepted. */
  | 'absent'
  /** Hidden by a newer record of the kind: unknown. */
  | 'hidden'
  /** The profile cannot be read now, perhaps later. */
  | 'unreadable'

/** A record of a profile. */
export interface ShownRecord {
  /** `source.meta.persistentRecordId`, if the gateway keeps it. */
  readonly persistentId: string | undefined
  readonly sourceType: string | undefined
  /** Id of the account, if the record names the account by id. */
  readonly accountId?: string | undefined
}

/** The profile shows a different record of the instant, by its id, and none newer. */
export interface InItsPlace {
  readonly inItsPlace: string
}

/** The profile shows the record with the transaction id of an earlier export. */
export interface StoredAs {
  readonly storedAs: string
}

/** Sign against the account id of the ledger: an answer names a different id, denies the account, or is an ambiguous 404. */
export type AccountSign = 'other-id' | 'no-account' | 'not-found'

/** Judges a sign; resolves to true if the account id is stale. */
export type OnAccountSign = (entry: Entry, sign: AccountSign) => Promise<boolean>

/** Meaning of a success answer for the records of the request. */
export interface Matched {
  /** Accepted records, each with the gateway's id if present. */
  readonly accepted: ReadonlyMap<Entry, string | undefined>
  /** Records that an error of the answer concerns, or may concern, with the text of the error, possibly empty. */
  readonly doubted: ReadonlyMap<Entry, string>
  /** Records whose echo matches except for the account id. */
  readonly elsewhere: readonly Entry[]
  /** Doubted records that an error names and no echo confirms, with the error code. */
  readonly named: ReadonlyMap<Entry, string>
  /** Account ids learned from several agreeing echoes, by reference. */
  readonly learned: ReadonlyMap<string, string>
  /** Accepted records with a single echo that names an unknown account by an id. */
  readonly unconfirmed: ReadonlyMap<Entry, string>
}

/** Outcomes of a chunk's entries so far, by place. */
export class Outcomes {
  readonly #byPlace: (EntryOutcome | undefined)[]
  #count = 0

  /** @param places of the chunk: an array that grows from its end would become a hash table */
  constructor(places = 0) {
    this.#byPlace = new Array(places)
  }

  note(ended: readonly EntryOutcome[]): void {
    for (let at = 0; at < ended.length; at++) {
      const outcome = ended[at]
      if (outcome === undefined) continue
      const { place } = outcome.entry
      if (this.#byPlace[place] === undefined) this.#count++
      this.#byPlace[place] = outcome
    }
  }

  of({ place }: Entry): EntryOutcome | undefined {
    return this.#byPlace[place]
  }

  /** Returns the entries without an outcome. */
  without(entries: readonly Entry[]): readonly Entry[] {
    return this.#count === 0 ? entries : entries.filter((entry) => this.of(entry) === undefined)
  }

  /** Outcomes in the order of the chunk. */
  all(): readonly EntryOutcome[] {
    return this.#count === 0 ? [] : this.#byPlace.filter((outcome) => outcome !== undefined)
  }
}
