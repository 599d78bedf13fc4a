/**
 * Divides the limits of a gateway among the sending processes: requests at once, the learned rate, and holds. Pure; instants are milliseconds by
 * the clock of the database. The slots of all processes never exceed the ceiling: a process gets slots only after others have released them at
 * their own renewal.
 */
import { z } from 'zod'

/** Time for which a process may send after a renewal. */
export const SHARE_MS = 5_000
/** Interval of renewals. */
export const RENEW_MS = 1_000
/** Interval of renewals while slots change hands. */
export const SHORT_MS = 250
/** Time for which the slots of a silent process stay taken: the last requests may still be under way. */
const KEPT_MS = 10_000
/** Several processes hear of one refusal: cuts of the rate within this time count once. */
const CUT_MS = 1_000
/** Interval at which indivisible slots go to the next process. */
const ROTATE_MS = 4_000
/** Slowest rate of all processes, in requests a second. */
const SLOWEST = 1
/** Delay of the try in processes that heard of the hold from others: the first try decides for all. */
const HEARSAY_MS = 1_500

const Hold = z.object({
  /** Earliest request of any process. */
  until: z.number(),
  /** Part that the gateway has requested. */
  notBefore: z.number(),
  openings: z.number(),
})

const Owner = z.object({
  ceiling: z.number(),
  /** Most requests under way, as far as granted. */
  slots: z.number(),
  /** False while the process has nothing to send. */
  busy: z.boolean(),
  until: z.number(),
})

/** State of a gateway, for all processes. */
export const Pot = z.object({
  /** Learned requests a second; null: none. */
  rate: z.number().nullable(),
  cutAt: z.number(),
  hold: Hold.nullable(),
  owners: z.record(z.string(), Owner),
})
export type Pot = z.infer<typeof Pot>

export const EMPTY_POT: Pot = { rate: null, cutAt: 0, hold: null, owners: {} }

/** Hold in milliseconds from now: the clocks of two machines differ. */
interface HoldLeft {
  readonly forMs: number
  readonly askedForMs: number
  readonly openings: number
}

export interface Asked {
  /** Requests under way of all processes together, as the jobs of this process permit. */
  readonly ceiling: number
  readonly underWay: number
  readonly busy: boolean
  /** Rate in use; undefined: none was learned. */
  readonly rate: number | undefined
  /** Rate of the last grant. */
  readonly grantedRate: number | undefined
  /** Hold from an answer to this process. */
  readonly hold: HoldLeft | undefined
}

export interface Granted {
  readonly slots: number
  readonly rate: number | undefined
  readonly hold: HoldLeft | undefined
  /** True while slots change hands: others have some due to this process, or wait for the end of its requests. */
  readonly isUneven: boolean
}

/** @param isGone true for a process that has surely ended, with its connections */
export function divide(
  pot: Pot,
  owner: string,
  asked: Asked,
  now: number,
  isGone: (owner: string) => boolean,
): { pot: Pot; granted: Granted } {
  const others = Object.entries(pot.owners).filter(
    ([name, { until }]) => name !== owner && until + KEPT_MS > now && !isGone(name),
  )
  const alive = others.filter(([, { until }]) => until > now)
  const { busy, underWay } = asked
  const ceiling = Math.max(asked.ceiling, ...alive.map(([, one]) => one.ceiling))
  const taken = others.reduce((sum, [, { slots }]) => sum + slots, 0)
  const due = dueTo(owner, busy, alive, ceiling, now)
  const slots = Math.max(0, Math.min(due, ceiling - taken))
  const had = pot.owners[owner]?.slots ?? slots
  const { rate, cutAt } = ratesOf(pot, asked, had / ceiling, now)
  const hold = latest(pot.hold, asked.hold, now)
  const own = { ceiling: asked.ceiling, slots: Math.max(slots, underWay), busy, until: now + SHARE_MS }
  return {
    pot: { rate, cutAt, hold, owners: { ...Object.fromEntries(others), [owner]: own } },
    granted: {
      slots,
      rate: rate === null ? undefined : (rate * Math.max(1, slots)) / ceiling,
      hold: hold === null ? undefined : heardOf(hold, asked.hold, now),
      isUneven: slots < due || underWay > slots,
    },
  }
}

/** Releases the share of a process. The last process takes the learned rate along. */
export function leave(pot: Pot, owner: string, now: number): Pot {
  const owners = Object.fromEntries(
    Object.entries(pot.owners).filter(([name, { until }]) => name !== owner && until + KEPT_MS > now),
  )
  return Object.keys(owners).length > 0 ? { ...pot, owners } : { ...EMPTY_POT, hold: pot.hold }
}

/** Equal parts for busy processes, one slot for idle ones; the rest goes round. */
function dueTo(
  owner: string,
  busy: boolean,
  alive: readonly (readonly [string, { busy: boolean }])[],
  ceiling: number,
  now: number,
): number {
  const idle = alive.filter(([, one]) => !one.busy).length + (busy ? 0 : 1)
  const names = alive.flatMap(([name, one]) => (one.busy ? [name] : []))
  if (!busy) return Math.min(1, Math.max(0, ceiling - names.length))
  const all = [...names, owner].sort()
  const free = Math.max(0, ceiling - idle)
  const place = (all.indexOf(owner) + Math.floor(now / ROTATE_MS)) % all.length
  return Math.floor(free / all.length) + (place < free % all.length ? 1 : 0)
}

/** @param part of the ceiling that the process had */
function ratesOf(
  { rate, cutAt }: Pot,
  { rate: own, grantedRate: granted }: Asked,
  part: number,
  now: number,
): Pick<Pot, 'rate' | 'cutAt'> {
  if (own === undefined) return { rate, cutAt }
  // First learned rate: the other processes are assumed to send as much.
  if (rate === null) return { rate: Math.max(SLOWEST, own / Math.max(part, 0.01)), cutAt: now }
  if (granted === undefined || own === granted) return { rate, cutAt }
  if (own > granted) return { rate: rate + own - granted, cutAt }
  if (now - cutAt < CUT_MS) return { rate, cutAt }
  return { rate: Math.max(SLOWEST, rate * (own / granted)), cutAt: now }
}

function latest(hold: Pot['hold'], heard: HoldLeft | undefined, now: number): Pot['hold'] {
  const known = hold !== null && hold.until > now ? hold : null
  if (heard === undefined || heard.forMs <= 0) return known
  const { forMs, askedForMs, openings } = heard
  return {
    until: Math.max(known?.until ?? 0, now + forMs),
    notBefore: Math.max(known?.notBefore ?? 0, now + askedForMs),
    openings: Math.max(known?.openings ?? 0, openings),
  }
}

function heardOf(
  { until, notBefore, openings }: NonNullable<Pot['hold']>,
  own: HoldLeft | undefined,
  now: number,
): HoldLeft {
  const isOwn = own !== undefined && now + own.forMs >= until
  return { forMs: until - now + (isOwn ? 0 : HEARSAY_MS), askedForMs: notBefore - now, openings }
}
