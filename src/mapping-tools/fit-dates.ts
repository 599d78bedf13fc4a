/** Days and times of day of an export, as far as they tell whether the mapping reads the right date, form and zone. */
import { IANAZone } from 'luxon'
import type { Entry } from '../model/entry.ts'
import type { MappingDefinition } from '../transform/mapping-definition.ts'

export interface DateFacts {
  readonly rows: number
  /** Milliseconds since the epoch; undefined without rows. */
  readonly first: number | undefined
  readonly last: number | undefined
  /** Different days, and different months; days are those of the mapping's zone. */
  readonly days: number
  readonly months: number
  /** Days from the 5th to the 95th percentile. */
  readonly span: number
  /** Rows on the first twelve days of months. */
  readonly firstTwelve: number
  readonly midnight: number
  /** From 21:00 to 5:59, midnight left out. */
  readonly night: number
  /** Rows of which the person was born within a year before; `aged`: rows whose person's birth is known. */
  readonly newborn: number
  readonly aged: number
}

/** Days and hours that are told apart at most. */
const KEPT = 5_000

const DAY = 86_400_000
const HOUR = 3_600_000
/** The last hour of the evening and the first of the morning that are no night. */
const [EVENING, MORNING] = [21, 6]
const ADULT_DAYS = 366

const zoneOf = ({ row: { observedAt } }: MappingDefinition): IANAZone | undefined => {
  const zone = typeof observedAt === 'object' && 'zone' in observedAt ? observedAt.zone : undefined
  return typeof zone === 'string' && IANAZone.isValidZone(zone) ? IANAZone.create(zone) : undefined
}

/** Days and times of day, in the zone of the mapping; without one, in UTC. */
export function createDates(mapping: MappingDefinition) {
  const zone = zoneOf(mapping)
  const offsets = new Map<number, number>()
  const days = new Map<number, number>()
  const facts = { rows: 0, firstTwelve: 0, midnight: 0, night: 0, newborn: 0, aged: 0 }
  let first = Number.POSITIVE_INFINITY
  let last = Number.NEGATIVE_INFINITY
  const offsetAt = (at: number): number => {
    if (zone === undefined) return 0
    const hour = Math.floor(at / HOUR)
    const known = offsets.get(hour)
    if (known !== undefined) return known
    const offset = zone.offset(at) * 60_000
    if (offsets.size < KEPT) offsets.set(hour, offset)
    return offset
  }
  return {
    add([record]: readonly Entry[], born: number | undefined): void {
      if (record === undefined) return
      const at = record.observedAt
      facts.rows++
      first = Math.min(first, at)
      last = Math.max(last, at)
      const local = at + offsetAt(at)
      const day = Math.floor(local / DAY)
      const time = local - day * DAY
      if (days.size < KEPT || days.has(day)) days.set(day, (days.get(day) ?? 0) + 1)
      if (new Date(local).getUTCDate() <= 12) facts.firstTwelve++
      if (time === 0) facts.midnight++
      else if (time >= EVENING * HOUR || time < MORNING * HOUR) facts.night++
      if (born === undefined) return
      facts.aged++
      if (Math.abs(day - Math.floor(born / DAY)) < ADULT_DAYS) facts.newborn++
    },
    facts(): DateFacts {
      const sorted = [...days].sort(([a], [b]) => a - b)
      const total = sorted.reduce((sum, [, count]) => sum + count, 0)
      const dayAt = (share: number): number => {
        let passed = 0
        const reached = sorted.find(([, count]) => {
          passed += count
          return passed >= total * share
        })
        return reached?.[0] ?? 0
      }
      const months = new Set(sorted.map(([day]) => new Date(day * DAY).toISOString().slice(0, 7)))
      const known = facts.rows === 0 ? undefined : { first, last }
      return {
        ...facts,
        first: known?.first,
        last: known?.last,
        days: days.size,
        months: months.size,
        span: dayAt(0.95) - dayAt(0.05),
      }
    },
  }
}
