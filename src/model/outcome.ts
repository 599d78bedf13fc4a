/** What became of entries, and what answers and profiles say of them. */
import type { Entry } from './entry.ts'
import type { AccountKey, Stage } from './record.ts'

/** Why a record did not get through. */
export interface Reason {
  readonly stage: Stage
  readonly code: string
  readonly field?: string
  /** For the rejects file: may hold the gateway's own words. */
  readonly message: string
  /** For the ledger and all else: the same with those of the gateway's words alone that are known to be of nobody. */
  readonly scrubbed: string
}

/**
 * Why a record is not sent though the gateway does not have it. Of a care-team entry: the job keeps what is there of its NPI, or that is
 * newer. `outdated`: a later export has said something else in its place.
 */
export type PassedOver = 'care-team-kept' | 'care-team-outdated' | 'outdated'

export interface AcceptedOutcome {
  readonly entry: Entry
  readonly outcome: 'accepted'
  /** Null of an account: it is registered by itself. */
  readonly batchId: string | null
  readonly status: number | null
  /** The gateway's id of the record, where the answer gave one. */
  readonly gatewayId?: string
  /** Learned from reading the profile, not from the answer. */
  readonly readBack?: true
  /** Of a test: the age result, for its receipt. */
  readonly ageResult?: object
}

/** What became of an entry. Exactly one for each. */
export type EntryOutcome = { readonly entry: Entry } & (
  | AcceptedOutcome
  | { readonly outcome: 'rejected'; readonly batchId: string | null; readonly reason: Reason }
  | {
      readonly outcome: 'in-doubt'
      readonly batchId: string | null
      readonly reason: Reason
      /** The profile cannot be read now, and may tell later: newer records of the series wait, as they would hide this one. */
      readonly isAsked?: true
      /** By what is known it stands at the gateway; something that was said in its place since is in doubt. */
      readonly isUnclear?: true
    }
  | {
      readonly outcome: 'unchanged'
      /** It was not known as delivered, and is known now. */
      readonly found?: true
      /** It was sent before, and the profile shows it. */
      readonly readBack?: true
      /** The transaction id under which it was sent, where that is of another export. */
      readonly storedAs?: string
      /** What was found is the equal entry of another record: this one need not be there as well. */
      readonly isOthers?: true
      /** The gateway does not have it, and is not to have it. */
      readonly passedOver?: PassedOver
    }
)

/** Account ids as the crosswalk knows them; reads and some answers name the account by its id only. */
export type AccountIds = (account: AccountKey) => string | undefined

/** What a profile says of a record whose answer never came. */
export type Verdict =
  | 'stored'
  /** It is not there and would be if it had been taken. */
  | 'absent'
  /** A newer record of its kind hides it: nobody can tell. */
  | 'hidden'
  /** The profile cannot be read, and may tell later. */
  | 'unreadable'

/** A record that a profile shows. */
export interface ShownRecord {
  /** `source.meta.persistentRecordId`, where the gateway keeps it. */
  readonly persistentId: string | undefined
  readonly sourceType: string | undefined
  /** Of the account, where the record names it so. */
  readonly accountId?: string | undefined
}

/** The profile shows another record of the same instant, by its id, and none that is newer. */
export interface InItsPlace {
  readonly inItsPlace: string
}

/** The profile shows the record under the transaction id that it had in another export. */
export interface StoredAs {
  readonly storedAs: string
}

/** Sign against the account id that the ledger has: an answer names another id, denies the account, or is a 404 that may mean anything. */
export type AccountSign = 'other-id' | 'no-account' | 'not-found'

/** Judges a sign; resolves to true where the account is stale. */
export type OnAccountSign = (entry: Entry, sign: AccountSign) => Promise<boolean>

/** Meaning of an answer of success, for the records that it is about. */
export interface Matched {
  /** Taken, each with the gateway's id where it gives one. */
  readonly accepted: ReadonlyMap<Entry, string | undefined>
  /** Perhaps not taken: an error that the answer lists is about the record, or may be. With its words, which may be none. */
  readonly doubted: ReadonlyMap<Entry, string>
  /** Not accepted only as their echo names the account by another id than the known one. */
  readonly elsewhere: readonly Entry[]
  /** Doubted records that an error names and no echo has, with the code of the error. */
  readonly named: ReadonlyMap<Entry, string>
  /** By reference, ids of accounts that nobody knew, on which several echoes agree. */
  readonly learned: ReadonlyMap<string, string>
  /** Of what is accepted: the echo alone names its account, by an id that nobody can compare. */
  readonly unconfirmed: ReadonlyMap<Entry, string>
}

/** What has become of a chunk's entries so far, by their places. */
export class Outcomes {
  readonly #byPlace: (EntryOutcome | undefined)[]
  #count = 0

  /** @param places of the chunk: an array that grows from its end would become a table of hashes */
  constructor(places = 0) {
    this.#byPlace = new Array(places)
  }

  note(ended: readonly EntryOutcome[]): void {
    for (const outcome of ended) {
      const { place } = outcome.entry
      if (this.#byPlace[place] === undefined) this.#count++
      this.#byPlace[place] = outcome
    }
  }

  of({ place }: Entry): EntryOutcome | undefined {
    return this.#byPlace[place]
  }

  /** Those that have none yet. */
  without(entries: readonly Entry[]): readonly Entry[] {
    return this.#count === 0 ? entries : entries.filter((entry) => this.of(entry) === undefined)
  }

  /** In the order of the chunk. */
  all(): readonly EntryOutcome[] {
    return this.#byPlace.filter((outcome) => outcome !== undefined)
  }
}
