/**
 * Decides the step for a record by its slot. A slot is a row key and a rule: all words of exports on one measurement over time. The first
 * matching line of the table in docs/delivery.md gives the step.
 */

/** Hash of a record as sent, 16 hex digits; `WITHDRAWN` for a result withdrawn by the source. */
export type Content = string
export const WITHDRAWN: Content = ''

/** Place of a word among all that the job has read: export, then state, then time of issue, then row. */
export interface Place {
  /** Ledger row of the nightly export with equal recency; the export's own row if nightly. */
  readonly anchor: number
  /** Days since 1970 in the name of a backfilled export, to order exports of equal anchor; 0 for a nightly export. */
  readonly day: number
  /** Row of the export in the ledger. */
  readonly arrival: number
  /** State of the result: 0 preliminary, 1 final, 2 corrected. */
  readonly rank: number
  /** Time of issue, milliseconds since the epoch; 0 without one: older than any time. */
  readonly issued: number
  /** Row in the export, from 1. */
  readonly row: number
}

/** Newest word of an export, delivered or not. */
export interface Word {
  readonly content: Content
  readonly place: Place
  /** True for an export read before, or of a backfill: nightly exports may have repeated the word without a trace. */
  readonly isLate: boolean
  /** True after a different word earlier in the chunk, or earlier in the slot. Not kept. */
  readonly isNews?: true
}

/** Content that the gateway may have, without an answer to prove it. */
export interface Doubt {
  readonly content: Content
  /**
   * `sent`: nobody has looked since. `unreadable`: the profile could not be read, and may tell later. `hidden`: the profile was read, and cannot
   * tell.
   */
  readonly state: 'sent' | 'unreadable' | 'hidden'
  /** True for a record in doubt that was sent once more. Not kept. */
  readonly isAgain?: true
  /** True for a doubt new in this chunk. Not kept. */
  readonly isNew?: true
}

/** Memory of a slot. */
export interface Slot {
  /** Content at the gateway, by an answer or a profile. */
  readonly stored: Content | undefined
  readonly latest: Word | undefined
  readonly doubts: readonly Doubt[]
  /**
   * Evidence since the ledger came under suspicion. `stored`: nothing contradicts the stored content, which a newer record hides. `whole`: an answer,
   * or a profile that shows the slot, has told the gateway's content.
   */
  readonly seen: 'nothing' | 'stored' | 'whole'
  /** True where another rule of the row was sent, and this rule was absent: the mapping may have renamed it. */
  readonly isLapsed: boolean
}

export const EMPTY: Slot = {
  stored: undefined,
  latest: undefined,
  doubts: [],
  seen: 'nothing',
  isLapsed: false,
}

/** Record, or withdrawal of a record, in an export. */
export interface Incoming extends Word {
  /** True for an export read with another mapping than last, or corrected by hand: a row may have changed. */
  readonly isRenewed: boolean
}

/** Facts beside the slot. */
export interface Surroundings {
  /** True where the ledger may lack sent records: it is a copy, or the gateway knew the person before the ledger did. */
  readonly isSuspect: boolean
  /** True once the profile was read for the record in this chunk, and the result learned. */
  readonly isAsked: boolean
  /** True where an older record of the series is in doubt, and the profile may decide the doubt later: a newer record would hide the older one. */
  readonly isBehindDoubt: boolean
  /** True where another rule of the row has equal content, already stored. */
  readonly isTwin: boolean
  /** True where a person was notified of the withdrawal before. */
  readonly isReported: boolean
  /** True where nothing can be sent for the person. */
  readonly isRefused: boolean
  /** Handling of doubts in this run: leave them, look once more, or resend the undecidable ones. */
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

/** True where the profile may still decide the doubt. */
export const isOpen = ({ state }: Doubt): boolean => state !== 'hidden'

const isSeen = ({ seen, stored }: Slot, content: Content): boolean =>
  seen === 'whole' || (seen === 'stored' && content === stored)

/** @param content of a line of the chunk. All lines are learned before any is decided, so that content other than the latest is older */
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
    return isThere && !around.isReported ? 'withdrawn' : 'nothing'
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
