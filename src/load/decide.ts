/**
 * Decides what is done with a record, by the slot that it belongs to. A slot is a row key and a rule: all that exports say of one measurement over
 * time. One pure function; the first line of its table that holds gives the step. The table with its reasons: docs/delivery.md.
 */

/** Hash of a record as sent, 16 hex digits; `WITHDRAWN` for a result that the source has taken back. */
export type Content = string
export const WITHDRAWN: Content = ''

/** Place of a word among all that the job has read: export, then state, then time of issue, then row. */
export interface Place {
  /** Row of the nightly export that a word of it is as new as; its own where it is one. */
  readonly anchor: number
  /** Days since 1970 in the name of a backfilled export, which orders it among others with its anchor; 0 of a nightly one. */
  readonly day: number
  /** Row of the export in the ledger. */
  readonly arrival: number
  /** State of the result: 0 preliminary, 1 final, 2 corrected. */
  readonly rank: number
  /** Time of issue, milliseconds since the epoch; 0 without one, which is older than any. */
  readonly issued: number
  /** Row in the export, from 1. */
  readonly row: number
}

/** The newest word of an export, whatever became of it. */
export interface Word {
  readonly content: Content
  readonly place: Place
  /** The export was read before, or is one of a backfill: nightly exports may have said the same without a trace. */
  readonly isLate: boolean
  /** Another word was said before it in the same chunk, or in its place before. Not kept. */
  readonly isNews?: true
}

/** A content that the gateway may have, though no answer says so. */
export interface Doubt {
  readonly content: Content
  /** `sent`: nobody has looked since. `unreadable`: the profile could not be read, and may tell later. `hidden`: it was read, and cannot tell. */
  readonly state: 'sent' | 'unreadable' | 'hidden'
  /** It was in doubt before, and has been sent once more. */
  readonly isAgain?: true
}

/** All that is remembered of a slot. */
export interface Slot {
  /** What the gateway has, by an answer or a profile. */
  readonly stored: Content | undefined
  readonly latest: Word | undefined
  readonly doubts: readonly Doubt[]
  /**
   * What has been learned of it since the ledger is under suspicion. `stored`: nothing speaks against what is stored, which a newer record hides.
   * `whole`: an answer, or a profile that shows it, has told what the gateway has.
   */
  readonly seen: 'nothing' | 'stored' | 'whole'
  /** Another rule of its row was sent, and this one not said: the mapping may have given it another name. */
  readonly isLapsed: boolean
}

export const EMPTY: Slot = {
  stored: undefined,
  latest: undefined,
  doubts: [],
  seen: 'nothing',
  isLapsed: false,
}

/** A record, or the withdrawal of one, as an export says it. */
export interface Incoming extends Word {
  /** The export is read by another mapping than last, or was corrected by hand: the same row may say something else. */
  readonly isRenewed: boolean
}

/** What is known beside the slot. */
export interface Surroundings {
  /** The ledger may not know all that was sent of it: it is a copy, or the gateway knew the person before the ledger did. */
  readonly isSuspect: boolean
  /** The profile was read for it since the chunk began, and is learned. */
  readonly isAsked: boolean
  /** An older record of its series is in doubt, and the profile may tell of it later: a newer one would hide that. */
  readonly isBehindDoubt: boolean
  /** Another rule of the row says the content as well, and it is stored. */
  readonly isTwin: boolean
  /** A person was told of the withdrawal before. */
  readonly isTold: boolean
  /** Nothing can be sent for the person. */
  readonly isRefused: boolean
  /** What the run does about doubts: leaves them, looks once more, or sends again what nobody can tell. */
  readonly doubts: 'hold' | 'look' | 'resend'
}

export type Step =
  | 'ask'
  | 'hold'
  | 'outdated'
  | 'nothing'
  | 'withdrawn'
  | 'unchanged'
  | 'refuse'
  | 'wait'
  | 'send'

/** The profile may still tell of it. */
export const isOpen = ({ state }: Doubt): boolean => state !== 'hidden'

const isSeen = ({ seen, stored }: Slot, content: Content): boolean =>
  seen === 'whole' || (seen === 'stored' && content === stored)

/** @param content that a line of the chunk says: all of them are learned as said before one is decided, so that any other than the latest is older */
export function decide(slot: Slot, content: Content, around: Surroundings): Step {
  const { isAsked, doubts } = around
  const own = slot.doubts.find((one) => one.content === content)
  const hasOpen = slot.doubts.some(isOpen)
  const isOlder = content !== slot.latest?.content
  if (own?.state === 'sent') return 'ask'
  if (own !== undefined && doubts !== 'hold' && !isAsked) return 'ask'
  if (own !== undefined && doubts !== 'resend') return 'hold'
  if (isOlder && content !== slot.stored) return 'outdated'
  if (content === WITHDRAWN) {
    const isThere = slot.stored !== undefined || slot.doubts.length > 0
    return isThere && !around.isTold ? 'withdrawn' : 'nothing'
  }
  if ((around.isSuspect || slot.isLapsed) && !isSeen(slot, content) && !isAsked) return 'ask'
  if (isOlder) return 'unchanged'
  if (content === slot.stored && slot.doubts.length === 0) return 'unchanged'
  if (around.isTwin) return 'unchanged'
  if (around.isRefused) return 'refuse'
  if (hasOpen && !isAsked) return 'ask'
  if ((hasOpen || around.isBehindDoubt || content === slot.stored) && doubts !== 'resend') return 'wait'
  return 'send'
}
