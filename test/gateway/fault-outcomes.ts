import type { AnswerClass } from '../../src/gateway/answer-class.ts'
import type { FaultGiven } from '../reference-gateway/faults/struck-gateway.ts'
import type { StruckWrite } from './struck-write.ts'

/** How a struck call must end. */
export interface Outcome {
  readonly class: AnswerClass
  /** What the gateway holds of the call then: of a batch of four, half is two. */
  readonly stored: 'nothing' | 'half' | 'all'
  /** Of a failure: its HTTP status, undefined where no status line came. Not looked at where the key is missing. */
  readonly status?: number | undefined
  /** Of a failure: what a Retry-After asks for; none where the key is missing. */
  readonly retryAfterMs?: number
  /** Of a failure: part of the gateway's words; null where there are none. */
  readonly words?: string | null
  /** Of a batch: how many echoes, and how many errors were listed (0). */
  readonly echoes?: number
  readonly errors?: number
  /** The gateway lies, and no client can see it: what the class says does not hold; or not of what is known by the ids that are echoed. */
  readonly lie?: true | 'of-ids'
}

export type Struck = FaultGiven extends infer One ? (One extends unknown ? Omit<One, 'on'> : never) : never

/** A variant of a fault, with what it must lead to: for every write, or by what the call answers. */
export interface Row {
  readonly fault: Struck
  readonly outcome: Outcome | Readonly<Record<StruckWrite['answer'], Outcome>>
  /** Equal calls that are let pass before the one that is struck. */
  readonly letPass?: number
  /** No answer comes in the time that the client waits for one. */
  readonly late?: true
}

/**
 * The class of each status without Retry-After, and with one where that is another. A redirect is never followed: it would
 * carry health data and the key to an address that nobody configured.
 */
const STATUSES: readonly (readonly [number, AnswerClass, AnswerClass?])[] = [
  [302, 'not-allowed'],
  [400, 'refused'],
  [401, 'stale-token'],
  [403, 'not-allowed'],
  [404, 'refused'],
  [408, 'not-taken'],
  [409, 'refused'],
  [413, 'too-large'],
  [422, 'refused'],
  [429, 'not-taken'],
  [500, 'ambiguous'],
  [502, 'ambiguous'],
  [503, 'ambiguous', 'not-taken'],
  [504, 'ambiguous'],
]
const RETRY_AFTER = [
  [undefined, undefined],
  [2, 2_000],
  [{ date: 90 }, 90_000],
] as const

const REFUSALS = STATUSES.flatMap(([status, without, withRetryAfter = without]) =>
  RETRY_AFTER.map(([retryAfter, retryAfterMs]) => ({
    status,
    given: { status, ...(retryAfter === undefined ? {} : { retryAfter }) },
    class: retryAfter === undefined ? without : withRetryAfter,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  })),
)

const NO_STATUS = { class: 'ambiguous', status: undefined, words: null } as const
const LOST = { ...NO_STATUS, stored: 'nothing' } as const
const LOST_AFTER = { ...NO_STATUS, stored: 'all' } as const
const ACCEPTED = { class: 'accepted', stored: 'all' } as const
const UNREADABLE = { class: 'ambiguous', stored: 'all' } as const

/** 200, with an envelope that has no data and lists an error; of a call whose answer has no documented body, the status counts. */
const successWithErrors = (stored: 'nothing' | 'all'): Row['outcome'] => ({
  echo: { class: 'accepted-in-part', stored, echoes: 0, errors: 1 },
  body: { class: 'ambiguous', stored, status: 200 },
  none: { class: 'accepted', stored, ...(stored === 'nothing' ? { lie: true } : {}) },
})

/** What an answer means (section "What an answer means" of the design), for every kind of fault in each of its variants. */
export const ROWS: readonly Row[] = [
  ...REFUSALS.map(
    ({ given, ...outcome }): Row => ({
      fault: { do: 'refuse', ...given, message: 'not this time' },
      outcome: { ...outcome, stored: 'nothing', words: 'not this time' },
    }),
  ),
  { fault: { do: 'refuse', status: 200 }, outcome: successWithErrors('nothing') },
  {
    fault: { do: 'refuse', status: 400, body: 'html' },
    outcome: { class: 'refused', stored: 'nothing', status: 400, words: null },
  },
  {
    fault: { do: 'refuse', status: 429, retryAfter: 0, body: 'empty' },
    outcome: { class: 'not-taken', stored: 'nothing', status: 429, retryAfterMs: 0, words: null },
  },

  // A status that says that nothing was taken is believed: behind any other, what was stored is found by a read-back.
  ...REFUSALS.filter(({ status, retryAfterMs = 0 }) => retryAfterMs === 0 || status === 503).map(
    ({ given, ...outcome }): Row => ({
      fault: { do: 'store-then-answer', ...given },
      outcome: { ...outcome, stored: 'all', ...(outcome.class === 'ambiguous' ? {} : { lie: true }) },
    }),
  ),
  { fault: { do: 'store-then-answer', status: 200 }, outcome: successWithErrors('all') },
  {
    fault: { do: 'store-then-answer', status: 504, body: 'html' },
    outcome: { ...UNREADABLE, status: 504, words: null },
  },
  {
    fault: { do: 'store-then-answer', body: 'empty' },
    outcome: { ...UNREADABLE, status: 500, words: null },
  },

  { fault: { do: 'store-then-reset' }, outcome: LOST_AFTER },
  { fault: { do: 'store-then-hang' }, outcome: LOST_AFTER, late: true },
  { fault: { do: 'reset' }, outcome: LOST },
  { fault: { do: 'hang' }, outcome: LOST, late: true },

  {
    fault: { do: 'store-part', count: 2, say: 'which' },
    outcome: { class: 'accepted-in-part', stored: 'half', echoes: 2, errors: 2 },
  },
  {
    fault: { do: 'store-part', share: 0.5, say: 'nothing' },
    outcome: { class: 'accepted-in-part', stored: 'half', echoes: 2 },
  },
  {
    fault: { do: 'store-part', say: 'all' },
    outcome: { class: 'accepted', stored: 'half', echoes: 4, lie: true },
  },

  // Which records the errors name is for whoever knows the records to say.
  {
    fault: { do: 'store-part', say: 'both' },
    outcome: { class: 'accepted-in-part', stored: 'half', echoes: 4, errors: 2, lie: true },
  },

  // Echoes of something else than was sent: a client that counts them sees nothing wrong.
  ...(['altered', 'other-account', 'other-id'] as const).map((say) => ({
    fault: { do: 'store-part' as const, say },
    outcome: { class: 'accepted' as const, stored: 'half' as const, echoes: 4, lie: true as const },
  })),

  {
    fault: { do: 'poison', share: 1 },
    outcome: { class: 'refused', stored: 'nothing', status: 400, words: 'records[0]: cannot be stored' },
  },
  {
    fault: { do: 'poison', share: 1, say: 'nothing', status: 422 },
    outcome: { class: 'refused', stored: 'nothing', status: 422, words: 'a record cannot be stored' },
  },
  {
    fault: { do: 'poison', share: 1, status: 500 },
    outcome: { class: 'ambiguous', stored: 'nothing', status: 500 },
  },

  { fault: { do: 'slow', ms: 2 }, outcome: ACCEPTED },
  { fault: { do: 'slow', ms: [1, 4], before: 'storing' }, outcome: ACCEPTED },
  { fault: { do: 'slow', ms: 5_000 }, outcome: LOST_AFTER, late: true },
  { fault: { do: 'slow', ms: 600, before: 'storing' }, outcome: LOST_AFTER, late: true },

  { fault: { do: 'garble', as: 'truncated' }, outcome: UNREADABLE },
  { fault: { do: 'garble', as: 'broken-json' }, outcome: UNREADABLE },
  { fault: { do: 'garble', as: 'html' }, outcome: UNREADABLE },
  { fault: { do: 'garble', as: 'empty' }, outcome: UNREADABLE },
  // Whole and readable, under another type: what counts is what it says.
  { fault: { do: 'garble', as: 'wrong-type' }, outcome: ACCEPTED },
  { fault: { do: 'garble', as: 'wrong-shape' }, outcome: UNREADABLE },
  { fault: { do: 'garble', as: 'empty-object' }, outcome: UNREADABLE },
  { fault: { do: 'garble', as: 'bare-array' }, outcome: UNREADABLE },
  { fault: { do: 'garble', as: 'endless' }, outcome: UNREADABLE },

  { fault: { do: 'echo', as: 'shuffled' }, outcome: { ...ACCEPTED, echoes: 4 } },
  {
    fault: { do: 'echo', as: 'missing' },
    outcome: { class: 'accepted-in-part', stored: 'all', echoes: 3 },
  },
  {
    fault: { do: 'echo', as: 'missing', share: 1 },
    outcome: { class: 'accepted-in-part', stored: 'all', echoes: 0 },
  },
  // More echoes than records: which stand for what was sent is for whoever knows the records to say.
  {
    fault: { do: 'echo', as: 'doubled', count: 2 },
    outcome: { class: 'accepted-in-part', stored: 'all', echoes: 6 },
  },
  {
    fault: { do: 'echo', as: 'foreign' },
    outcome: { class: 'accepted-in-part', stored: 'all', echoes: 5 },
  },

  // Whose echo it is, and whether it says what was sent, is for whoever knows the records to say, too.
  ...(['altered', 'other-account'] as const).map((as) => ({
    fault: { do: 'echo' as const, as, share: 1 },
    outcome: { ...ACCEPTED, echoes: 4 },
  })),
  { fault: { do: 'echo', as: 'other-id', share: 1 }, outcome: { ...ACCEPTED, echoes: 4, lie: 'of-ids' } },
  {
    fault: { do: 'echo', as: 'accused', count: 1 },
    outcome: { class: 'accepted-in-part', stored: 'all', echoes: 4, errors: 1 },
  },

  {
    fault: { do: 'expire-token' },
    outcome: { class: 'stale-token', stored: 'nothing', status: 401, words: 'expired' },
  },
  {
    fault: { do: 'rate-limit', requests: 1, perMs: 5_000 },
    outcome: { class: 'not-taken', stored: 'nothing', status: 429, retryAfterMs: 5_000 },
    letPass: 1,
  },

  {
    fault: { do: 'outage', forMs: 1_000 },
    outcome: { class: 'ambiguous', stored: 'nothing', status: 503 },
  },
  {
    fault: { do: 'outage', forMs: 1_000, retryAfter: 3, message: 'closed' },
    outcome: { class: 'not-taken', stored: 'nothing', status: 503, retryAfterMs: 3_000, words: 'closed' },
  },
  {
    fault: { do: 'outage', forMs: 1_000, status: 502, body: 'html' },
    outcome: { class: 'ambiguous', stored: 'nothing', status: 502, words: null },
  },
  {
    fault: { do: 'outage', forMs: 1_000, status: 503, retryAfter: { date: 7 }, body: 'empty' },
    outcome: { class: 'not-taken', stored: 'nothing', status: 503, retryAfterMs: 7_000, words: null },
  },
  { fault: { do: 'outage', forMs: 1_000, as: 'reset' }, outcome: LOST },
  { fault: { do: 'outage', forMs: 1_000, as: 'hang' }, outcome: LOST, late: true },
]
