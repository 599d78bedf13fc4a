/** Random histories of one account's care team: exports of three jobs, what somebody else does at the gateway, and what befalls requests and processes. */
import fc from 'fast-check'

/** Row of an export about the account: a provider, a practice, and the word on the mark. */
export interface TeamLine {
  readonly provider: number
  readonly practice: number
  readonly primary: boolean | 'unsaid'
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
  provider: fc.nat(1),
  practice: fc.nat(1),
  primary: fc.constantFrom(true, true, false, 'unsaid' as const),
})

const job = fc.nat(2)
const lines = fc.array(line, { maxLength: 3 })
const dies = fc.constantFrom(false, false, false, true)
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

export const teamHistories: fc.Arbitrary<TeamHistory> = fc.record({
  changed: fc.constantFrom('add', 'replace', 'replace', 'keep'),
  missing: fc.constantFrom('keep', 'keep', 'delete'),
  keepsIds: fc.boolean(),
  hasOthers: fc.boolean(),
  hasId: fc.boolean(),
  isHurried: fc.boolean(),
  steps: fc.array(step, { minLength: 1, maxLength: 8 }),
  faults: fc.array(fc.nat(19), { maxLength: 30 }),
})
