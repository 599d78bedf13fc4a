/**
 * People of an export by reference, and by name and birth date, with their sexes. Items are sampled by hash, all rows of an item or none,
 * so memory is bounded.
 */
import { DDSketch } from '@datadog/sketches-js'
import type { MappedRow } from '../model/entry.ts'

export interface PeopleFacts {
  readonly people: {
    readonly different: number
    readonly registered: number
    /** Rows of people who cannot be registered, by reason code. */
    readonly incomplete: Readonly<Record<string, number>>
    /** Sampled references in several rows; references with several people by name and birth date. */
    readonly repeated: number
    readonly mixed: number
    /** People by name and birth date in several rows; people with several references. */
    readonly met: number
    readonly split: number
    /** Different names of people who can be registered, estimated for many. */
    readonly names: { readonly first: number; readonly last: number }
  }
  readonly sexes: Readonly<Record<string, number>>
  /** Medians of measurements by catalog key and gender, given enough values. */
  readonly bySex: Readonly<Record<string, Readonly<Record<string, number>>>>
}

/** Minimum number of values: fewer prove nothing, and their quantiles would reveal values of people. */
export const FEWEST_VALUES = 20

/** Measurements higher in men than in women in any adult population. They reveal an inverted table of sexes. */
export const HIGHER_IN_MEN = ['body-height', 'hemoglobin', 'hematocrit', 'creatinine'] as const

/** Values that a message may show; a wrong column could hold anything. */
const SEXES = ['FEMALE', 'MALE', 'OTHER', 'UNKNOWN'] as const

export function createPeople() {
  const byReference = new HashSample<{ rows: number; identity: number; mixed: boolean }>()
  const byIdentity = new HashSample<{ rows: number; reference: number; split: boolean }>()
  const incomplete: Record<string, number> = {}
  const sexes: Record<string, number> = {}
  const bySex = new Map<string, DDSketch>()
  const names = { first: new HashSample<true>(), last: new HashSample<true>() }
  let registered = 0
  return {
    /** Counts a row. @returns the day of birth, milliseconds since the epoch, if known */
    add(row: MappedRow, isLookedAt: boolean): number | undefined {
      const reference = hashOf(row.account.reference)
      const person = byReference.of(reference, () => ({ rows: 0, identity: -1, mixed: false }))
      if (person !== undefined) person.rows++
      const draft = isLookedAt ? row.register() : undefined
      if (draft === undefined) return undefined
      if (!draft.ok) {
        increase(incomplete, draft.issue.code)
        return undefined
      }
      registered++
      const { firstName, lastName, dateOfBirth, gender } = draft.registration
      names.first.of(hashOf(firstName), seen)
      names.last.of(hashOf(lastName), seen)
      const identity = hashOf(`${firstName}|${lastName}|${dateOfBirth}`)
      if (person !== undefined) {
        // Spellings of names vary; another person usually has another birth date.
        const born = hashOf(dateOfBirth)
        if (person.identity === -1) person.identity = born
        else if (person.identity !== born) person.mixed = true
      }
      const met = byIdentity.of(identity, () => ({ rows: 0, reference, split: false }))
      if (met !== undefined) {
        met.rows++
        if (met.reference !== reference) met.split = true
      }
      const sex = SEXES.find((one) => one === gender) ?? 'another value'
      increase(sexes, sex)
      for (const { rule, evidence } of row.records) {
        if (evidence.value === undefined) continue
        const key = HIGHER_IN_MEN.find((one) => rule === one || rule.startsWith(one))
        if (key === undefined) continue
        const name = `${key} ${sex}`
        const sketch = bySex.get(name) ?? new DDSketch({ relativeAccuracy: 0.001 })
        bySex.set(name, sketch)
        sketch.accept(Number(evidence.value))
      }
      const born = Date.parse(dateOfBirth)
      return Number.isNaN(born) ? undefined : born
    },
    facts(): PeopleFacts {
      const repeated = [...byReference.kept.values()].filter((one) => one.rows > 1)
      const met = [...byIdentity.kept.values()].filter((one) => one.rows > 1)
      const medians: Record<string, Record<string, number>> = {}
      for (const [name, sketch] of bySex) {
        const [key = '', gender = ''] = name.split(' ')
        if (sketch.count < FEWEST_VALUES) continue
        medians[key] = { ...medians[key], [gender]: sketch.getValueAtQuantile(0.5) }
      }
      return {
        people: {
          different: byReference.different(),
          registered,
          incomplete: { ...incomplete },
          repeated: repeated.length,
          mixed: repeated.filter(({ mixed }) => mixed).length,
          met: met.length,
          split: met.filter(({ split }) => split).length,
          names: { first: names.first.different(), last: names.last.different() },
        },
        sexes: { ...sexes },
        bySex: medians,
      }
    },
  }
}

const seen = (): true => true

export const increase = (counts: Record<string, number>, code: string): void => {
  counts[code] = (counts[code] ?? 0) + 1
}

/** Maximum number of remembered items. */
const SAMPLED = 1_000

/** Sample of items by hash: an item is counted completely, or not at all. */
export class HashSample<Item> {
  #bound = 2 ** 32
  readonly kept = new Map<number, Item>()

  /** Returns the item; undefined if it is not in the sample. */
  of(hash: number, create: () => Item): Item | undefined {
    if (hash >= this.#bound) return undefined
    const known = this.kept.get(hash)
    if (known !== undefined) return known
    const item = create()
    this.kept.set(hash, item)
    while (this.kept.size > SAMPLED) {
      this.#bound /= 2
      for (const one of this.kept.keys()) if (one >= this.#bound) this.kept.delete(one)
    }
    return item
  }

  /** Number of different items, estimated once some are dropped. */
  different(): number {
    return Math.round((this.kept.size * 2 ** 32) / this.#bound)
  }
}

/** Hash FNV-1a with the finish of murmur3: even enough for sampling. */
export function hashOf(text: string, seed = 0x811c9dc5): number {
  let hash = seed
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
