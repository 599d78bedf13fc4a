/** Random histories of one person's exports, and of what befalls ledger, gateway and process meanwhile. */
import fc from 'fast-check'

/** Visits of the person: both are of one series, of which the gateway shows the later one alone. */
export const VISITS = 2

/** One row: what it says of a visit. */
export interface Line {
  readonly visit: number
  /** From 1; 0: the result is withdrawn. */
  readonly value: number
  /** 0 preliminary, 1 final, 2 corrected. */
  readonly rank: number
  /** Time of issue; 0 without one. */
  readonly issued: number
}

export type Step =
  /** A file arrives under one of a few names, and a night follows. */
  | { readonly what: 'deliver'; readonly name: number; readonly lines: readonly Line[] }
  /** A night that reads all files that lie there, or one of them. */
  | { readonly what: 'night'; readonly only: number | undefined }
  /** A run that looks once more for what is in doubt, or sends it again. */
  | { readonly what: 'look' | 'resend' }
  /** A file that no night has read, with the day in its name; or the same file once more. */
  | { readonly what: 'backfill'; readonly day: number | undefined; readonly lines: readonly Line[] }
  /** One nightly file is read by a backfill. */
  | { readonly what: 'read again'; readonly name: number }
  | {
      readonly what:
        | 'give up'
        | 'back up'
        | 'restore'
        | 'lose ledger'
        | 'change mapping'
        | 'change mapping back'
        | 'rename rule'
        | 'erase person'
        | 'reissue account'
        | 'other job registers'
        | 'change key'
    }

export interface History {
  readonly steps: readonly Step[]
  /** What befalls each request, write and answer, in their order (`faultOf`). */
  readonly faults: readonly number[]
}

const line: fc.Arbitrary<Line> = fc
  .record({
    visit: fc.nat(VISITS - 1),
    value: fc.oneof(
      { weight: 9, arbitrary: fc.integer({ min: 1, max: 3 }) },
      { weight: 1, arbitrary: fc.constant(0) },
    ),
    rank: fc.oneof({ weight: 8, arbitrary: fc.constant(1) }, { weight: 2, arbitrary: fc.constantFrom(0, 2) }),
    issued: fc.oneof(
      { weight: 7, arbitrary: fc.constant(0) },
      { weight: 3, arbitrary: fc.constantFrom(1, 2) },
    ),
  })
  .map((one) => (one.value === 0 ? { ...one, rank: 1 } : one))
const lines = (most: number): fc.Arbitrary<Line[]> => fc.array(line, { minLength: 1, maxLength: most })

/** Nights have even days, so that a backfilled day lies before, between or behind them. */
export const dayOfName = (name: number): number => 2 * name + 10
const backfilledDay = fc.option(fc.constantFrom(9, 11, 13, 15), { nil: undefined, freq: 5 })

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.record({ what: fc.constant('deliver' as const), name: fc.nat(2), lines: lines(4) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constant('night' as const),
      only: fc.option(fc.nat(2), { nil: undefined }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ what: fc.constantFrom('look' as const, 'look', 'resend') }) },
  {
    weight: 2,
    arbitrary: fc.record({ what: fc.constant('backfill' as const), day: backfilledDay, lines: lines(3) }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('read again' as const), name: fc.nat(2) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      what: fc.constantFrom(
        ...([
          'give up',
          'back up',
          'restore',
          'lose ledger',
          'change mapping',
          'change mapping back',
        ] as const),
        ...(['rename rule', 'erase person', 'reissue account', 'other job registers', 'change key'] as const),
        ...(['back up', 'restore'] as const),
      ),
    }),
  },
)

export const histories: fc.Arbitrary<History> = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 10 }),
  faults: fc.array(fc.nat(19), { maxLength: 25 }),
})
