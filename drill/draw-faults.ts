/**
 * Draws the fault plan of a round: every kind of docs/faults.md over the calls that a run makes, within what Waybill promises. Left
 * out is what no loader could notice: a refusal (4xx, or 503 with Retry-After) of what was stored all the same, and an echo of
 * what was not stored.
 */

import type { Fault, FaultKind } from '../packages/reference-gateway/src/fault-plan.ts'
import type { Random } from '../samples/random.ts'
import { MARK } from './exports.ts'
import type { KillPoint } from './kill-points.ts'

const CREATES = ['createBiometricsBulk', 'createConditionsBulk', 'createCareTeams'] as const
const READS = ['readBiometrics', 'readConditions', 'listCareTeams'] as const
const CALLS = ['registerAccount', ...CREATES, 'setPrimaryCare', ...READS] as const
/** Calls that need a bearer token. */
const WITH_TOKEN = ['createBiometricsBulk', 'createCareTeams', 'setPrimaryCare', ...READS] as const
type Call = (typeof CALLS)[number]

/** What a fault may cost a record, beside time. */
export interface Harm {
  /** Records may be refused for good. */
  readonly refuses: boolean
  /** Registrations may be. */
  readonly refusesPeople: boolean
  /** Profiles may not be readable. */
  readonly hidesProfiles: boolean
}

export interface DrawnFault {
  readonly kind: FaultKind
  /** As it stands in the plan. */
  readonly fault: Readonly<Record<string, unknown>>
  readonly harm: Harm
  /** Whom alone it befalls. */
  readonly person?: string
}

export interface Pace {
  /** Milliseconds that Waybill waits for an answer; undefined: a minute, so that nothing may hang. */
  readonly answerWithin: number | undefined
  /** By how many milliseconds a read may lag behind, or storing behind its time-out. */
  readonly late: number
}

const HARMLESS: Harm = { refuses: false, refusesPeople: false, hidesProfiles: false }

const AMBIGUOUS = [500, 502, 503, 504] as const

export const FAULT_KINDS = [
  'refuse',
  'reset',
  'hang',
  'poison',
  'expire-token',
  'rate-limit',
  'outage',
  'store-then-answer',
  'store-then-reset',
  'store-then-hang',
  'store-part',
  'garble',
  'profile',
  'echo',
  'slow',
  'lag',
] as const satisfies readonly FaultKind[]

/** Kinds that make Waybill wait for its time limit. */
const SLOW_KINDS: ReadonlySet<FaultKind> = new Set(['hang', 'store-then-hang'])

/** A fault, with another one where it needs one to show. */
export function drawFaults(random: Random, pace: Pace): DrawnFault[] {
  const kind = random.pick(FAULT_KINDS)
  if (SLOW_KINDS.has(kind) && pace.answerWithin === undefined) return drawFaults(random, pace)
  const fault = draw[kind](random, pace)
  // A lag shows where profiles are read.
  return kind === 'lag' ? [fault, draw['store-then-reset'](random, pace)] : [fault]
}

/** What makes a run come to the point, where nothing else does: a refusal, or an answer that never comes. */
export function faultsBefore(point: KillPoint): DrawnFault[] {
  const on = 'createBiometricsBulk'
  // The halves of a batch that is refused were not planned: each is an intent of its own.
  if (point.endsWith('-split') || point.endsWith('-intent'))
    return [drawn('refuse', { on, status: 400, when: { nth: [1, 2] } }, harmOf(on, 400))]
  return point.endsWith('-read-back') ? [drawn('store-then-reset', { on, when: { first: 2 } })] : []
}

/** What was stored and is not answered cannot be looked for: reads give what is no answer of the gateway, or none. */
export function unreadable(random: Random): DrawnFault[] {
  const on = random.pick<readonly [string, ...string[]]>([
    [...CREATES],
    ['createBiometricsBulk'],
    ['createCareTeams'],
  ])
  const lost = random.pick<readonly [FaultKind, object]>([
    ['store-then-answer', { status: 500, body: random.pick(['envelope', 'html']) }],
    ['store-then-answer', { status: 502, body: 'html' }],
    ['store-then-reset', {}],
    ['reset', {}],
  ])
  const read = random.pick<readonly [FaultKind, object]>([
    ['refuse', { status: 404, body: random.pick(['envelope', 'html', 'empty']) }],
    ['refuse', { status: 404, body: random.pick(['envelope', 'html', 'empty']) }],
    ['refuse', { status: 204, body: 'empty' }],
    ['refuse', { status: 200, body: random.pick(['html', 'empty']) }],
    ['garble', { as: random.pick(['html', 'empty', 'wrong-shape', 'truncated']) }],
    ['refuse', { status: 503 }],
    ['reset', {}],
  ])
  // What looks like an outage is waited for, and excuses no doubt: it must end before the sixth try of a read, which is the last
  // (docs/delivery.md), and before the process takes too long.
  const isOutage = read[0] === 'reset' || ('status' in read[1] && read[1].status === 503)
  const isLost = { chance: random.pick([0.4, 0.8]), times: Math.min(random.pick([3, 20]), isOutage ? 3 : 20) }
  const times = isOutage ? 5 : read[0] === 'refuse' ? 40 : 6
  const isUnread = { chance: random.pick([0.6, 1]), times }
  return [
    drawn(lost[0], { on, ...lost[1], when: isLost }),
    drawn(read[0], { on: [...READS], ...read[1], when: isUnread }, isOutage ? HARMLESS : HIDING),
  ]
}

const HIDING: Harm = { ...HARMLESS, hidesProfiles: true }

/** Answers of success that contradict themselves, or what was sent. */
export function strangeEchoes(random: Random): DrawnFault[] {
  const when = { chance: random.pick([0.4, 0.8]), times: random.pick([2, 10]) }
  const on = random.pick([...CREATES])
  const others = ['other-account', 'other-id', ...(on === 'createBiometricsBulk' ? ['altered'] : [])] as const
  const other = random.pick(others as readonly [string, ...string[]])
  const share = random.pick([0.3, 0.6, 0.9])
  const refuses = { ...HARMLESS, refuses: true }
  return random.pick<() => DrawnFault[]>([
    () => [drawn('store-part', { on, say: 'both', share, when }, refuses)],
    () => [drawn('store-part', { on, say: other, share, when }, refuses)],
    () => [drawn('echo', { on, as: 'accused', share, when })],
    () => [drawn('echo', { on, as: other, share, when })],
  ])()
}

/** One whom the gateway never serves, at one call, while it serves all others. */
export function failingPerson(random: Random): DrawnFault[] {
  const person = 'DR00001'
  const status = random.pick([500, 500, 502])
  const account = { 'account.reference': person }
  const [on, having, harm] = random.pick<readonly [Call, object, Partial<Harm>]>([
    ['registerAccount', { partnerAccountId: person }, { refuses: true, refusesPeople: true }],
    ['setPrimaryCare', account, {}],
    ['createBiometricsBulk', { ...account, code: '8867-4' }, { refuses: true }],
    ['createCareTeams', account, { refuses: true }],
  ])
  const fault = drawn('refuse', { on, status, when: { having } }, { ...HIDING, ...harm })
  return [{ ...fault, person }]
}

/** Deletions of replaced care-team entries fail. A 404 in an envelope is left out: that is the gateway's word that the entry is gone. */
export function undeletable(random: Random): DrawnFault[] {
  const [kind, fault] = random.pick<readonly [FaultKind, object]>([
    ['refuse', { status: 400 }],
    ['refuse', { status: 409 }],
    ['refuse', { status: 404, body: random.pick(['html', 'empty']) }],
    ['refuse', { status: 500, body: random.pick(['envelope', 'html']) }],
    ['reset', {}],
    ['store-then-reset', {}],
    ['store-then-answer', { status: 500, body: 'html' }],
  ])
  const when = random.pick<object>([
    { first: random.integer(1, 9) },
    { chance: 0.6, times: 40 },
    { times: 100 },
  ])
  return [drawn(kind, { on: 'deleteCareTeams', ...fault, when })]
}

interface Refusal {
  readonly status: number
  readonly [key: string]: unknown
}

/** Now and then, and not forever: every run comes to its end. */
const sometimes = (random: Random): { when: Record<string, number> } => ({
  when: random.pick<Record<string, number>>([
    { chance: 0.3, times: 5 },
    { nth: random.integer(1, 4) },
    { every: random.integer(2, 4), times: 4 },
    { first: random.integer(1, 3) },
    { perBody: 1, chance: 0.5, times: 8 },
  ]),
})

const drawn = (
  kind: FaultKind,
  fault: Readonly<Record<string, unknown>>,
  harm: Harm = HARMLESS,
): DrawnFault => ({
  kind,
  fault: { do: kind, ...fault },
  harm,
})

const draw: { readonly [Kind in Fault['do']]: (random: Random, pace: Pace) => DrawnFault } = {
  refuse(random) {
    const on = random.pick(CALLS)
    const answer: Refusal = random.pick<Refusal>([
      { status: 503, retryAfter: 1 },
      { status: 503, retryAfter: { date: 1 } },
      { status: 429, retryAfter: 1 },
      { status: 429 },
      { status: 408 },
      { status: 413 },
      { status: 500, body: 'html' },
      { status: 502, body: 'empty' },
      { status: 401 },
      { status: 403 },
      { status: 307 },
      { status: 400 },
      { status: 404 },
      { status: 422, message: `Record for Ada${MARK} Alder${MARK} born 1950-02-03 is not to be` },
    ])
    const { when } = sometimes(random)
    // One batch may meet it three times while others get through: then it fails by itself (docs/delivery.md).
    const failsAlone = [500, 502].includes(answer.status) && !('nth' in when) && on.startsWith('create')
    const harm = failsAlone ? { ...HARMLESS, refuses: true } : harmOf(on, answer.status)
    return drawn('refuse', { on, ...answer, when }, harm)
  },
  reset: (random) => drawn('reset', { on: random.pick(CALLS), ...sometimes(random) }),
  hang: (random) => drawn('hang', { on: random.pick(CALLS), when: { chance: 0.3, times: 3 } }),
  poison(random) {
    const status = random.pick([400, 404, 422])
    const say = random.pick(['position', 'nothing'])
    return drawn('poison', { on: [...CREATES], share: 0.04, status, say }, { ...HARMLESS, refuses: true })
  },
  'expire-token': (random) =>
    drawn('expire-token', { on: random.pick(WITH_TOKEN), when: { nth: random.integer(1, 4) } }),
  'rate-limit': (random) =>
    drawn('rate-limit', { on: 'all', requests: random.integer(8, 30), perMs: 100, when: { times: 60 } }),
  outage: (random, { answerWithin }) =>
    drawn('outage', {
      on: 'all',
      // Processes take their time to begin where ten rounds are played at once.
      fromMs: random.integer(300, 5000),
      forMs: random.integer(300, 2500),
      as: random.pick(['refuse', 'reset', answerWithin === undefined ? 'reset' : 'hang']),
    }),
  'store-then-answer': (random) =>
    drawn('store-then-answer', {
      on: random.pick([...CREATES, 'registerAccount', 'setPrimaryCare']),
      status: random.pick(AMBIGUOUS),
      body: random.pick(['envelope', 'html', 'empty']),
      ...sometimes(random),
    }),
  'store-then-reset': (random) =>
    drawn('store-then-reset', {
      on: random.pick([...CREATES, 'registerAccount', 'setPrimaryCare']),
      ...sometimes(random),
    }),
  'store-then-hang': (random) =>
    drawn('store-then-hang', {
      on: random.pick([...CREATES, 'registerAccount', 'setPrimaryCare']),
      when: { chance: 0.3, times: 3 },
    }),
  'store-part': (random) =>
    drawn(
      'store-part',
      {
        on: random.pick(['createBiometricsBulk', 'createConditionsBulk']),
        share: random.pick([0.1, 0.5, 0.9]),
        say: random.pick(['which', 'nothing', 'both']),
        ...sometimes(random),
      },
      { ...HARMLESS, refuses: true },
    ),
  garble: (random) =>
    drawn('garble', {
      on: random.pick([...CALLS]),
      as: random.pick(['truncated', 'broken-json', 'html', 'empty', 'wrong-type', 'wrong-shape', 'endless']),
      ...sometimes(random),
    }),
  profile: (random) =>
    drawn(
      'profile',
      {
        on: random.pick(READS),
        as: random.pick(['not-found', 'no-data', 'null-data', 'other-account']),
        ...sometimes(random),
      },
      { ...HARMLESS, hidesProfiles: true },
    ),
  echo(random) {
    const as = random.pick(['shuffled', 'missing', 'doubled', 'foreign', 'altered'])
    return drawn('echo', {
      on: random.pick(CREATES),
      as,
      ...(as === 'shuffled' ? {} : { share: random.pick([0.1, 0.6, 1]) }),
      ...sometimes(random),
    })
  },
  slow: (random, { answerWithin, late }) =>
    drawn('slow', {
      on: random.pick(CALLS),
      ms: [5, answerWithin === undefined ? 200 : answerWithin + late],
      before: random.pick(['storing', 'answering']),
      ...sometimes(random),
    }),
  // The mark is moved by what a list shows; one that is late may show too little.
  lag: (random, { late }) =>
    drawn('lag', { on: 'reads', ms: random.integer(Math.ceil(late / 10), late) }, { ...HARMLESS }),
}

function harmOf(on: Call, status: number): Harm {
  const definite = status >= 400 && status < 500 && ![401, 403, 408, 429].includes(status)
  if (!definite) return HARMLESS
  return {
    refuses: on.startsWith('create'),
    refusesPeople: on === 'registerAccount',
    hidesProfiles: on.startsWith('read') || on.startsWith('list'),
  }
}
