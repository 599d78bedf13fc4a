import { z } from 'zod'
import { ENDPOINT_NAMES, GROUPS, isGroup, suits, targetsOf } from './fault-targets.ts'

const count = z.int().min(1)
const milliseconds = z.int().min(0)
const share = z.number().gt(0).max(1)
const status = z.int().min(200).max(599)

const Scalar = z.union([z.string(), z.number(), z.boolean(), z.null()])
/** Dotted path in a record to the value it holds; all must hold. */
const Fields = z
  .record(z.string().min(1), Scalar)
  .refine((fields) => Object.keys(fields).length > 0, 'names no field')

/** Which of the matching requests a fault strikes; they are numbered from 1. All that is given must hold. */
export const When = z.strictObject({
  nth: z.union([count, z.array(count).min(1)]).optional(),
  every: count.optional(),
  /** So many are let pass before. */
  after: z.int().min(0).optional(),
  /** None behind this one. */
  first: count.optional(),
  /** Probability, 0 to 1. */
  chance: z.number().min(0).max(1).optional(),
  /** At most so many strikes. */
  times: count.optional(),
  /** At most so many strikes for one body; of a request without body, for one method and URL. */
  perBody: count.optional(),
  /** Only requests whose body, a record of it, or query holds these values; others do not match. */
  having: Fields.optional(),
})
export type When = z.infer<typeof When>

/** Names of endpoints or groups. One message for every wrong form, since what zod says of unions says nothing. */
const Target = z.enum([...GROUPS, ...ENDPOINT_NAMES], {
  error: 'expected `writes`, `reads`, `all` or the name of an endpoint (docs/faults.md lists them)',
})
const COMMON = {
  on: z.preprocess((given) => (Array.isArray(given) ? given : [given]), z.array(Target).min(1)),
  when: When.prefault({}),
}

/** Retry-After (RFC 9110 section 10.2.3): seconds, or the HTTP date so many seconds from the gateway's clock. */
const RetryAfter = z.union([z.int().min(0), z.strictObject({ date: z.int() })])

/** An answer in place of the gateway's own. */
const ANSWER = {
  retryAfter: RetryAfter.optional(),
  message: z.string().min(1).optional(),
  body: z.enum(['envelope', 'html', 'empty']).default('envelope'),
}
/** Of a batch: a share of its records, rounded, or a count. */
const AMOUNT = { share: share.optional(), count: count.optional() }

/** What an echo can have in place of what was sent. */
const OTHER = ['altered', 'other-account', 'other-id'] as const
export type Other = (typeof OTHER)[number]

const Refuse = z.strictObject({
  do: z.literal('refuse'),
  ...COMMON,
  status: status.default(503),
  ...ANSWER,
})
const StoreThenAnswer = z.strictObject({
  do: z.literal('store-then-answer'),
  ...COMMON,
  status: status.default(500),
  ...ANSWER,
})
const StoreThenReset = z.strictObject({ do: z.literal('store-then-reset'), ...COMMON })
const StoreThenHang = z.strictObject({ do: z.literal('store-then-hang'), ...COMMON })
const Reset = z.strictObject({ do: z.literal('reset'), ...COMMON })
const Hang = z.strictObject({ do: z.literal('hang'), ...COMMON })
const StorePart = z.strictObject({
  do: z.literal('store-part'),
  ...COMMON,
  ...AMOUNT,
  say: z.enum(['which', 'nothing', 'all', 'both', ...OTHER]).default('which'),
})
const Poison = z.strictObject({
  do: z.literal('poison'),
  ...COMMON,
  record: Fields.optional(),
  share: share.optional(),
  status: z.int().min(400).max(599).default(400),
  say: z.enum(['position', 'nothing']).default('position'),
})
const Slow = z.strictObject({
  do: z.literal('slow'),
  ...COMMON,
  ms: z.union([milliseconds, z.tuple([milliseconds, milliseconds])]),
  before: z.enum(['storing', 'answering']).default('answering'),
})
const Garble = z.strictObject({
  do: z.literal('garble'),
  ...COMMON,
  as: z.enum([
    'truncated',
    'broken-json',
    'html',
    'empty',
    'wrong-type',
    'wrong-shape',
    'empty-object',
    'bare-array',
    'endless',
  ]),
})
const Profile = z.strictObject({
  do: z.literal('profile'),
  ...COMMON,
  as: z.enum(['not-found', 'no-data', 'null-data', 'other-account']),
})
const Echo = z.strictObject({
  do: z.literal('echo'),
  ...COMMON,
  as: z.enum(['shuffled', 'missing', 'doubled', 'foreign', 'accused', ...OTHER]),
  ...AMOUNT,
})
const ExpireToken = z.strictObject({ do: z.literal('expire-token'), ...COMMON })
const RateLimit = z.strictObject({
  do: z.literal('rate-limit'),
  ...COMMON,
  requests: count,
  perMs: count,
})
const Outage = z.strictObject({
  do: z.literal('outage'),
  ...COMMON,
  fromMs: milliseconds.default(0),
  forMs: count,
  as: z.enum(['refuse', 'reset', 'hang']).default('refuse'),
  status: status.default(503),
  ...ANSWER,
})
const Lag = z.strictObject({ do: z.literal('lag'), ...COMMON, ms: count })

export const Fault = z.discriminatedUnion(
  'do',
  [
    Refuse,
    StoreThenAnswer,
    StoreThenReset,
    StoreThenHang,
    Reset,
    Hang,
    StorePart,
    Poison,
    Slow,
    Garble,
    Profile,
    Echo,
    ExpireToken,
    RateLimit,
    Outage,
    Lag,
  ],
  { error: 'expected a kind of fault in `do` (docs/faults.md lists them)' },
)
export type Fault = z.infer<typeof Fault>
export type FaultKind = Fault['do']
/** A fault of one kind. */
export type FaultOf<Kind extends FaultKind> = Extract<Fault, { do: Kind }>

interface Problem {
  readonly key: readonly string[]
  readonly message: string
}

/** What a schema of one fault does not see: keys that exclude each other, and calls that the kind says nothing about. */
function problemsOf(fault: Fault): Problem[] {
  const problems: Problem[] = []
  for (const name of fault.on) {
    if (!isGroup(name) && !suits(fault.do, name)) {
      problems.push({ key: ['on'], message: `\`${fault.do}\` has no meaning for ${name}` })
    }
  }
  const named = fault.on.length > 0 && problems.length === 0
  if (named && targetsOf(fault.do, fault.on).size === 0) {
    problems.push({ key: ['on'], message: `\`${fault.do}\` has no meaning for any of these calls` })
  }
  const both = 'share' in fault && fault.share !== undefined && 'count' in fault && fault.count !== undefined
  if (both) problems.push({ key: ['count'], message: 'give `share` or `count`, not both' })
  if (fault.do === 'poison' && (fault.record === undefined) === (fault.share === undefined)) {
    problems.push({ key: ['record'], message: 'give either `record` or `share`' })
  }
  if (fault.do === 'echo' && fault.as === 'shuffled' && (fault.share ?? fault.count) !== undefined) {
    problems.push({ key: ['as'], message: 'what is shuffled is shuffled as a whole: no `share`, no `count`' })
  }
  if (fault.do === 'slow' && Array.isArray(fault.ms) && fault.ms[0] > fault.ms[1]) {
    problems.push({ key: ['ms'], message: 'the least stands before the most' })
  }
  if (fault.do === 'outage' && fault.as !== 'refuse' && (fault.retryAfter ?? fault.message) !== undefined) {
    problems.push({ key: ['as'], message: `an outage that ends in \`${fault.as}\` answers nothing` })
  }
  return problems
}

/** A fault plan: the faults in the order in which they are asked whether they strike. */
export const FaultPlan = z
  .strictObject({ seed: z.int().default(0), faults: z.array(Fault).min(1) })
  .superRefine(({ faults }, context) => {
    for (const [index, fault] of faults.entries()) {
      for (const { key, message } of problemsOf(fault)) {
        context.addIssue({ code: 'custom', path: ['faults', index, ...key], message })
      }
    }
  })
export type FaultPlan = z.infer<typeof FaultPlan>
