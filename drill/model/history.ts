/** Random histories of one person's exports, of two jobs of one home, and of what befalls ledger, gateway and process meanwhile. */
import fc from 'fast-check'

/** Visits of the person in the exports of each job. All are of one series, of which the gateway shows the latest one alone. */
export const VISITS = 2
export const JOBS = 2

/** Visits of the jobs take turns in time, so that each job hides what the other has stored. */
export const visitOf = (job: number, { visit }: Line): number => JOBS * visit + job

/** One row: what it says of a visit. */
export interface Line {
  /** Of its job, from 0. */
  readonly visit: number
  /** From 1; 0: the result is withdrawn. */
  readonly value: number
  /** 0 preliminary, 1 final, 2 corrected. */
  readonly rank: number
  /** Time of issue; 0 without one. */
  readonly issued: number
  /** True where the mapping rejects the row. */
  readonly isUnreadable?: true
}

export type Step =
  /** A file arrives under one of a few names, and a night follows. */
  | {
      readonly what: 'deliver'
      readonly job: number
      readonly name: number
      readonly lines: readonly Line[]
      /** All answers of the night are lost: records are stored, and profiles cannot be read. */
      readonly isUnanswered?: boolean
      /** The process of the night is killed before it settles a chunk. */
      readonly dies?: boolean
    }
  /** A night that reads all files that lie there, or one of them. */
  | { readonly what: 'night'; readonly job: number; readonly only: number | undefined }
  /** A run that looks once more for what is in doubt, or sends it again. */
  | { readonly what: 'look' | 'resend'; readonly job: number }
  /** A file that no night has read, with the day in its name; or the same file once more. */
  | {
      readonly what: 'backfill'
      readonly job: number
      readonly day: number | undefined
      readonly lines: readonly Line[]
    }
  /** One nightly file is read by a backfill. */
  | { readonly what: 'read again'; readonly job: number; readonly name: number }
  | {
      readonly what: 'give up' | 'change mapping' | 'change mapping back' | 'rename rule'
      readonly job: number
    }
  /** A look that sends nothing; or a person says that the gateway has what is in doubt, and is right. */
  | { readonly what: 'reconcile' | 'accept'; readonly job: number }
  /** A person corrects what was rejected of a nightly file, and runs the rejects file. */
  | {
      readonly what: 'correct rejects'
      readonly job: number
      readonly name: number
      readonly lines: readonly Line[]
    }
  /** A nightly file that was read is put away. */
  | { readonly what: 'archive'; readonly job: number; readonly name: number }
  | {
      readonly what:
        | 'back up'
        | 'restore'
        | 'lose ledger'
        | 'erase person'
        | 'reissue account'
        | 'other job registers'
        | 'change key'
        | 'lose records'
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
const unreadable = line.map((one): Line => ({ ...one, isUnreadable: true }))
const lines = (most: number): fc.Arbitrary<Line[]> =>
  fc.array(fc.oneof({ weight: 15, arbitrary: line }, { weight: 1, arbitrary: unreadable }), {
    minLength: 1,
    maxLength: most,
  })

/** Nights have even days, so that a backfilled day lies before, between or behind them. */
export const dayOfName = (name: number): number => 2 * name + 10
const backfilledDay = fc.option(fc.constantFrom(9, 11, 13, 15), { nil: undefined, freq: 5 })

/** One job has most of the steps: a history of both is hardly longer than one of a single job. */
const job = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(JOBS - 1) })

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.record({ what: fc.constant('deliver' as const), job, name: fc.nat(2), lines: lines(4) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constant('night' as const),
      job,
      only: fc.option(fc.nat(2), { nil: undefined }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ what: fc.constantFrom('look' as const, 'look', 'resend'), job }) },
  {
    weight: 2,
    arbitrary: fc.record({
      what: fc.constant('backfill' as const),
      job,
      day: backfilledDay,
      lines: lines(3),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ what: fc.constantFrom('read again' as const, 'archive'), job, name: fc.nat(2) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      what: fc.constant('correct rejects' as const),
      job,
      name: fc.nat(2),
      lines: fc.array(line, { minLength: 1, maxLength: 2 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ what: fc.constantFrom('reconcile' as const, 'reconcile', 'accept'), job }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      what: fc.constantFrom('give up' as const, 'change mapping', 'change mapping back', 'rename rule'),
      job,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      what: fc.constantFrom(
        ...(['back up', 'restore', 'back up', 'restore', 'lose ledger', 'erase person'] as const),
        ...(['reissue account', 'other job registers', 'change key', 'lose records'] as const),
      ),
    }),
  },
)

/**
 * A delivery under another name of the rule, its run often given up or its doubts settled, and the first delivery once more under the former name: too
 * rare among steps drawn one at a time.
 */
const underOtherName: fc.Arbitrary<readonly Step[]> = fc
  .record({
    job,
    first: lines(2),
    second: lines(2),
    ended: fc.constantFrom(undefined, 'give up' as const, 'reconcile' as const, 'accept' as const),
    isUnanswered: fc.boolean(),
    isBack: fc.boolean(),
    name: fc.nat(1),
    last: fc.option(lines(2), { nil: undefined, freq: 2 }),
  })
  .map(({ job, first, second, ended, isUnanswered, isBack, name, last }) => [
    { what: 'deliver', job, name: 0, lines: first },
    { what: 'rename rule', job },
    { what: 'deliver', job, name: 0, lines: second, isUnanswered },
    ...(ended === undefined ? [] : [{ what: ended, job }]),
    ...(isBack ? [{ what: 'rename rule' as const, job }] : []),
    { what: 'deliver', job, name, lines: last ?? first },
  ])

/** A night repeats what a backfill has brought behind the night before, and is put away; then another file of the backfill comes. */
const aroundBackfill: fc.Arbitrary<readonly Step[]> = fc
  .record({
    job,
    first: lines(2),
    repeated: lines(2),
    late: lines(2),
    days: fc.tuple(backfilledDay, backfilledDay),
  })
  .map(({ job, first, repeated, late, days: [before, after] }) => [
    { what: 'deliver', job, name: 0, lines: first },
    { what: 'backfill', job, day: before, lines: repeated },
    { what: 'deliver', job, name: 1, lines: repeated },
    { what: 'archive', job, name: 1 },
    { what: 'backfill', job, day: after, lines: late },
  ])

/** A backup between the first and the next night, which the restored ledger has lost; its file is often put away. */
const aroundBackup: fc.Arbitrary<readonly Step[]> = fc
  .record({
    job,
    kept: lines(2),
    dies: fc.boolean(),
    lost: lines(2),
    name: fc.nat(1),
    isArchived: fc.boolean(),
    isGivenUp: fc.constantFrom(false, false, true),
    next: fc.option(lines(2), { nil: undefined }),
  })
  .map(({ job, kept, dies, lost, name, isArchived, isGivenUp, next }) => [
    { what: 'deliver', job, name: 0, lines: kept, dies },
    { what: 'back up' },
    { what: 'deliver', job, name, lines: lost },
    ...(isArchived ? [{ what: 'archive' as const, job, name }] : []),
    { what: 'restore' },
    ...(isGivenUp ? [{ what: 'give up' as const, job }] : []),
    ...(next === undefined ? [] : [{ what: 'deliver' as const, job, name, lines: next }]),
  ])

/** A row that the mapping rejects is corrected once the rest of its file was read. */
const aroundRejects: fc.Arbitrary<readonly Step[]> = fc
  .record({ job, name: fc.nat(1), unread: unreadable, others: lines(3), corrected: line })
  .map(({ job, name, unread, others, corrected }) => [
    { what: 'deliver', job, name, lines: [unread, ...others] },
    { what: 'correct rejects', job, name, lines: [corrected] },
  ])

const steps = fc.oneof(
  { weight: 60, arbitrary: step.map((one): readonly Step[] => [one]) },
  { weight: 4, arbitrary: underOtherName },
  { weight: 3, arbitrary: aroundBackfill },
  { weight: 3, arbitrary: aroundBackup },
  { weight: 2, arbitrary: aroundRejects },
)

export const histories: fc.Arbitrary<History> = fc.record({
  steps: fc.array(steps, { minLength: 1, maxLength: 10 }).map((some) => some.flat()),
  faults: fc.array(fc.nat(19), { maxLength: 25 }),
})
