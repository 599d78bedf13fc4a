import type { FaultGiven } from '../../packages/reference-gateway/test/struck-gateway.ts'
import type { AnswerClass } from '../../src/gateway/gateway-error.ts'
import type { StruckWrite } from './struck-writes.ts'

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
  /** Read alike for every call: one of each client over HTTP and one of each way of answering show it. */
  readonly once?: true
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
const HALF = { class: 'accepted-in-part', stored: 'half' } as const
const PART = { class: 'accepted-in-part', stored: 'all' } as const
const REFUSED = { class: 'refused', stored: 'nothing' } as const
const NOT_TAKEN = { class: 'not-taken', stored: 'nothing' } as const
const NOT_STORED = { class: 'ambiguous', stored: 'nothing' } as const
const UNREADABLE = { class: 'ambiguous', stored: 'all' } as const

/** 200, with an envelope that has no data and lists an error; of a call whose answer has no documented body, the status counts. */
const successWithErrors = (stored: 'nothing' | 'all'): Row['outcome'] => ({
  echo: { class: 'accepted-in-part', stored, echoes: 0, errors: 1 },
  body: { class: 'ambiguous', stored, status: 200 },
  none: { class: 'accepted', stored, ...(stored === 'nothing' ? { lie: true } : {}) },
})

const row = (
  fault: Struck,
  outcome: Row['outcome'],
  more: Pick<Row, 'letPass' | 'late' | 'once'> = {},
): Row => {
  return { fault, outcome, ...more }
}
const LATE = { late: true } as const

/** What an answer means (section "What an answer means" of the design), for every kind of fault in each of its variants. */
export const ROWS: readonly Row[] = [
  ...REFUSALS.map(({ given, ...outcome }) =>
    row(
      { do: 'refuse', ...given, message: 'not this time' },
      { ...outcome, stored: 'nothing', words: 'not this time' },
      'retryAfter' in given ? { once: true } : {},
    ),
  ),
  row({ do: 'refuse', status: 200 }, successWithErrors('nothing')),
  row({ do: 'refuse', status: 400, body: 'html' }, { ...REFUSED, status: 400, words: null }),
  row(
    { do: 'refuse', status: 429, retryAfter: 0, body: 'empty' },
    { ...NOT_TAKEN, status: 429, retryAfterMs: 0, words: null },
  ),

  // A status that says that nothing was taken is believed: behind any other, what was stored is found by a read-back.
  ...REFUSALS.filter(({ status, retryAfterMs = 0 }) => retryAfterMs === 0 || status === 503).map(
    ({ given, ...outcome }): Row => ({
      fault: { do: 'store-then-answer', ...given },
      outcome: { ...outcome, stored: 'all', ...(outcome.class === 'ambiguous' ? {} : { lie: true }) },
      once: true,
    }),
  ),
  row({ do: 'store-then-answer', status: 200 }, successWithErrors('all')),
  row({ do: 'store-then-answer', status: 504, body: 'html' }, { ...UNREADABLE, status: 504, words: null }),
  row({ do: 'store-then-answer', body: 'empty' }, { ...UNREADABLE, status: 500, words: null }),

  row({ do: 'store-then-reset' }, LOST_AFTER),
  row({ do: 'store-then-hang' }, LOST_AFTER, LATE),
  row({ do: 'reset' }, LOST),
  row({ do: 'hang' }, LOST, LATE),

  row({ do: 'store-part', count: 2, say: 'which' }, { ...HALF, echoes: 2, errors: 2 }),
  row({ do: 'store-part', share: 0.5, say: 'nothing' }, { ...HALF, echoes: 2 }),
  row({ do: 'store-part', say: 'all' }, { class: 'accepted', stored: 'half', echoes: 4, lie: true }),

  // Which records the errors name is for whoever knows the records to say.
  row({ do: 'store-part', say: 'both' }, { ...HALF, echoes: 4, errors: 2, lie: true }),

  // Echoes of something else than was sent: a client that counts them sees nothing wrong.
  ...(['altered', 'other-account', 'other-id'] as const).map((say) =>
    row({ do: 'store-part', say }, { class: 'accepted', stored: 'half', echoes: 4, lie: true }),
  ),

  row({ do: 'poison', share: 1 }, { ...REFUSED, status: 400, words: 'records[0]: cannot be stored' }),
  row(
    { do: 'poison', share: 1, say: 'nothing', status: 422 },
    { ...REFUSED, status: 422, words: 'a record cannot be stored' },
  ),
  row({ do: 'poison', share: 1, status: 500 }, { ...NOT_STORED, status: 500 }),

  row({ do: 'slow', ms: 2 }, ACCEPTED),
  row({ do: 'slow', ms: [1, 4], before: 'storing' }, ACCEPTED),
  row({ do: 'slow', ms: 5_000 }, LOST_AFTER, LATE),
  row({ do: 'slow', ms: 600, before: 'storing' }, LOST_AFTER, LATE),

  ...(['truncated', 'broken-json', 'html', 'empty', 'wrong-shape', 'empty-object'] as const).map((as) =>
    row({ do: 'garble', as }, UNREADABLE, { once: true }),
  ),
  row({ do: 'garble', as: 'bare-array' }, UNREADABLE),
  row({ do: 'garble', as: 'endless' }, UNREADABLE),
  // Whole and readable, under another type: what counts is what it says.
  row({ do: 'garble', as: 'wrong-type' }, ACCEPTED),

  row({ do: 'echo', as: 'shuffled' }, { ...ACCEPTED, echoes: 4 }),
  row({ do: 'echo', as: 'missing' }, { ...PART, echoes: 3 }),
  row({ do: 'echo', as: 'missing', share: 1 }, { ...PART, echoes: 0 }),
  // More echoes than records: which stand for what was sent is for whoever knows the records to say.
  row({ do: 'echo', as: 'doubled', count: 2 }, { ...PART, echoes: 6 }),
  row({ do: 'echo', as: 'foreign' }, { ...PART, echoes: 5 }),

  // Whose echo it is, and whether it says what was sent, is for whoever knows the records to say, too.
  ...(['altered', 'other-account'] as const).map((as) =>
    row({ do: 'echo', as, share: 1 }, { ...ACCEPTED, echoes: 4 }),
  ),
  row({ do: 'echo', as: 'other-id', share: 1 }, { ...ACCEPTED, echoes: 4, lie: 'of-ids' }),
  row({ do: 'echo', as: 'accused', count: 1 }, { ...PART, echoes: 4, errors: 1 }),

  row({ do: 'expire-token' }, { class: 'stale-token', stored: 'nothing', status: 401, words: 'expired' }),
  row(
    { do: 'rate-limit', requests: 1, perMs: 5_000 },
    { ...NOT_TAKEN, status: 429, retryAfterMs: 5_000 },
    { letPass: 1 },
  ),

  row({ do: 'outage', forMs: 1_000 }, { ...NOT_STORED, status: 503 }),
  row(
    { do: 'outage', forMs: 1_000, retryAfter: 3, message: 'closed' },
    { ...NOT_TAKEN, status: 503, retryAfterMs: 3_000, words: 'closed' },
  ),
  row({ do: 'outage', forMs: 1_000, status: 502, body: 'html' }, { ...NOT_STORED, status: 502, words: null }),
  row(
    { do: 'outage', forMs: 1_000, status: 503, retryAfter: { date: 7 }, body: 'empty' },
    { ...NOT_TAKEN, status: 503, retryAfterMs: 7_000, words: null },
  ),
  row({ do: 'outage', forMs: 1_000, as: 'reset' }, LOST),
  row({ do: 'outage', forMs: 1_000, as: 'hang' }, LOST, LATE),
]
