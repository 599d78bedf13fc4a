/**
 * Divides what a gateway permits among the processes that send to it: requests at once, the learned rate, and holds. Pure; instants are
 * milliseconds by the clock of the database. The slots noted for all processes never exceed the ceiling: a process gets what the others have
 * given up by their own renewal, not what is due to it.
 */
import { z } from 'zod'

/** Time for which a process may send after a renewal. */
export const SHARE_MS = 5_000
/** Interval of renewals. */
export const RENEW_MS = 1_000
/** Interval of renewals of a process that waits for slots of others. */
export const SHORT_MS = 250
/** Slots of a process that renews no more stay taken: its last requests may still be under way. */
const KEPT_MS = 10_000
/** One refusal is heard by several processes: cuts of the rate so close to each other are one. */
const CUT_MS = 1_000
/** Interval at which the slots that cannot be divided go to another process. */
const ROTATE_MS = 4_000
/** Slowest rate of all processes, in requests a second. */
const SLOWEST = 1
/** Delay of the try of a process that has not heard the refusal itself: the try of the one that has decides for all. */
const HEARSAY_MS = 1_500

const Hold = z.object({
  /** Nobody sends before. */
  until: z.number(),
  /** Part that the gateway has requested. */
  notBefore: z.number(),
  openings: z.number(),
})

const Owner = z.object({
  ceiling: z.number(),
  /** Most requests under way, as far as granted. */
  slots: z.number(),
  /** False for a process that has nothing to send. */
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

/** Hold as the milliseconds that are left: clocks of two machines differ. */
export interface HoldLeft {
  readonly forMs: number
  readonly askedForMs: number
  readonly openings: number
}

export interface Asked {
  /** Requests that all processes together may have under way, according to the jobs of this one. */
  readonly ceiling: number
  readonly underWay: number
  readonly busy: boolean
  /** Rate that this process sends by; undefined: none was learned. */
  readonly rate: number | undefined
  /** Rate of the last grant. */
  readonly grantedRate: number | undefined
  /** Hold that this process has heard of by itself. */
  readonly hold: HoldLeft | undefined
}

export interface Granted {
  readonly slots: number
  readonly rate: number | undefined
  readonly hold: HoldLeft | undefined
  /** True where other processes have slots that are due to this one. */
  readonly isShort: boolean
}

/** @param isGone true for a process that has surely ended, with its connections */
export function divide(
  pot: Pot,
  owner: string,
  asked: Asked,
  now: number,
  isGone: (owner: string) => boolean,
): { readonly pot: Pot; readonly granted: Granted } {
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
      isShort: slots < due,
    },
  }
}

/** Gives the share of a process back. What was learned goes with the last one. */
export function leave(pot: Pot, owner: string, now: number): Pot {
  const owners = Object.fromEntries(
    Object.entries(pot.owners).filter(([name, { until }]) => name !== owner && until + KEPT_MS > now),
  )
  return Object.keys(owners).length > 0 ? { ...pot, owners } : { ...EMPTY_POT, hold: pot.hold }
}

/** Equal parts for all that have something to send, and one slot for the others; the rest goes round. */
function dueTo(
  owner: string,
  busy: boolean,
  alive: readonly (readonly [string, { readonly busy: boolean }])[],
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
  // The first to learn a rate: the others are taken to send as much.
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
