/** Random histories of one account's care team: exports of three jobs, what somebody else does at the gateway, and what befalls requests and processes. */
import fc from 'fast-check'

/** Row of an export about the account: a provider, a practice, and the word on the mark. */
export interface TeamLine {
  readonly provider: number
  readonly practice: number
  readonly primary: boolean | 'unsaid'
  /** Visit of the day, by which rows of one provider and one date are told apart. */
  readonly visit?: number
}

export type TeamStep =
  /** An export of a new day, or of a day before the last ones, comes to a job. */
  | {
      readonly what: 'deliver'
      readonly job: number
      readonly isLate: boolean
      readonly lines: readonly TeamLine[]
      /** True where the process is killed as soon as it has claimed the account, or a neighbour of it alone. */
      readonly dies?: boolean
      /** All creates of the run are without an answer, and looks cannot tell; or no list can be read; or all deletions and marks are refused. */
      readonly lacks?: 'answers' | 'lists' | 'follow-ups'
    }
  /** The job's last export comes again under its name: with other lines, or with its first bytes. */
  | {
      readonly what: 'correct'
      readonly job: number
      readonly lines: readonly TeamLine[]
      readonly dies?: boolean
    }
  | { readonly what: 'first again'; readonly job: number; readonly dies?: boolean }
  /** A person corrects a rejected row of the job's last export. */
  | { readonly what: 'correct reject'; readonly job: number; readonly line: Omit<TeamLine, 'provider'> }
  /** A job reads all its exports again, looks once more for what is in doubt, sends that again, or runs without an export. */
  | { readonly what: 'night' | 'look' | 'resend' | 'no export'; readonly job: number }
  /**
   * A look that sends nothing; a person says that the gateway has what is in doubt, and is right; an interrupted run is given up, and what it has
   * sent is looked for by the next one.
   */
  | { readonly what: 'reconcile' | 'accept' | 'give up'; readonly job: number }
  /** Somebody else enters a provider, or marks one. */
  | { readonly what: 'others enter'; readonly provider: number; readonly practice: number }
  | { readonly what: 'others mark'; readonly provider: number }

export interface TeamHistory {
  readonly changed: 'add' | 'replace' | 'keep'
  /** Of the second and the third job, where it differs. */
  readonly changedOfOthers?: TeamHistory['changed']
  /** One job alone, whose exports list the whole care team. */
  readonly missing: 'keep' | 'delete'
  readonly keepsIds: boolean
  readonly hasOthers: boolean
  /** True where the gateway's id of the account is known; else only a chunk can do what is owed. */
  readonly hasId: boolean
  /** True where one step follows another before a list is sure to show what the first has stored. */
  readonly isHurried: boolean
  readonly steps: readonly TeamStep[]
  /** What befalls each request, in order. */
  readonly faults: readonly number[]
}

const line: fc.Arbitrary<TeamLine> = fc.record({
  provider: fc.constantFrom(0, 0, 1),
  practice: fc.nat(1),
  primary: fc.constantFrom(true, true, false, 'unsaid' as const),
  visit: fc.constantFrom(0, 0, 0, 1),
})

const job = fc.nat(2)
const lines = fc.array(line, { maxLength: 3 })
const dies = fc.constantFrom(false, false, false, true)
const lacks = fc.constantFrom(
  undefined,
  undefined,
  'answers' as const,
  'lists' as const,
  'follow-ups' as const,
)
const step: fc.Arbitrary<TeamStep> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      what: fc.constant('deliver' as const),
      job,
      isLate: fc.oneof(
        { weight: 4, arbitrary: fc.constant(false) },
        { weight: 1, arbitrary: fc.constant(true) },
      ),
      lines,
      dies,
    }),
  },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('correct' as const), job, lines, dies }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('first again' as const), job, dies }) },
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constantFrom('night' as const, 'night', 'night', 'look', 'look', 'no export', 'resend'),
      job,
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constantFrom('reconcile' as const, 'reconcile', 'accept', 'give up', 'give up'),
      job,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      what: fc.constant('correct reject' as const),
      job,
      line: fc.record({ practice: fc.nat(1), primary: fc.constantFrom(true, false, 'unsaid' as const) }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      what: fc.constant('others enter' as const),
      provider: fc.nat(1),
      practice: fc.nat(2),
    }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('others mark' as const), provider: fc.nat(1) }) },
)

/** A provider is listed again and again, with other fields, while answers are lost or lists cannot be read; what is in doubt is looked for in between. */
const aroundDoubt: fc.Arbitrary<readonly TeamStep[]> = fc
  .record({
    jobs: fc.tuple(job, job, job),
    isLate: fc.constantFrom(false, false, true),
    rows: fc.tuple(line, line, line).map((rows) => rows.map((row) => ({ ...row, provider: 0 }))),
    lacks: fc.tuple(lacks, lacks, lacks),
    ended: fc.constantFrom(
      undefined,
      'reconcile' as const,
      'look' as const,
      'give up' as const,
      'night' as const,
    ),
  })
  .map(({ jobs, isLate, rows, lacks: failing, ended }) =>
    rows.flatMap((row, at): TeamStep[] => {
      const [job = 0, lacking] = [jobs[at], failing[at]]
      const deliver = { what: 'deliver', job, isLate: isLate && at === 2, lines: [row] } as const
      const step = lacking === undefined ? deliver : { ...deliver, lacks: lacking }
      return at === 1 && ended !== undefined ? [step, { what: ended, job }] : [step]
    }),
  )

const some = fc.oneof(
  { weight: 12, arbitrary: step.map((one): readonly TeamStep[] => [one]) },
  { weight: 1, arbitrary: aroundDoubt },
)

const changed = fc.constantFrom('add' as const, 'replace', 'replace', 'keep')
const team = fc.record({
  changed,
  changedOfOthers: fc.oneof(
    { weight: 1, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: changed },
  ),
  missing: fc.constantFrom('keep', 'keep', 'delete'),
  keepsIds: fc.boolean(),
  hasOthers: fc.boolean(),
  hasId: fc.boolean(),
  isHurried: fc.boolean(),
  steps: fc.array(some, { minLength: 1, maxLength: 8 }).map((steps) => steps.flat()),
  faults: fc.array(fc.nat(19), { maxLength: 30 }),
})

export const teamHistories: fc.Arbitrary<TeamHistory> = team.map(({ changedOfOthers, ...history }) => ({
  ...history,
  ...(changedOfOthers === undefined ? {} : { changedOfOthers }),
}))
