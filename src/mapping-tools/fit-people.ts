/**
 * People of an export by reference, and by name and birth; their sexes.
 *
 * A sample of the different items in a stream, such as keys or people: an item is sampled by its hash, so that all rows of an
 * item are seen, or none. Memory does not grow with the stream.
 */
import { DDSketch } from '@datadog/sketches-js'
import type { MappedRow } from '../model/entry.ts'

export interface PeopleFacts {
  readonly people: {
    readonly different: number
    readonly registered: number
    /** Why people cannot be registered: rows by reason code. */
    readonly incomplete: Readonly<Record<string, number>>
    /** References sampled that stand in several rows, and how many of them stand for several people by name and birth. */
    readonly repeated: number
    readonly mixed: number
    /** People by name and birth that stand in several rows, and how many of them have several references. */
    readonly met: number
    readonly split: number
    /** Different first and last names of those who can be registered, estimated where there are many. */
    readonly names: { readonly first: number; readonly last: number }
  }
  /** Rows by registered gender. */
  readonly sexes: Readonly<Record<string, number>>
  /** Medians of measurements by catalog key and gender, where they are many enough. */
  readonly bySex: Readonly<Record<string, Readonly<Record<string, number>>>>
}

/** Fewer values than this prove nothing, and their quantiles are values of people rather than of a group. */
export const FEWEST_VALUES = 20

/** Higher in men than in women in any population of adults: by them an inverted table of sexes is seen. */
export const HIGHER_IN_MEN = ['body-height', 'hemoglobin', 'hematocrit', 'creatinine'] as const

/** Told by name; a column that is none of the gender could hold anything. */
const SEXES = ['FEMALE', 'MALE', 'OTHER', 'UNKNOWN'] as const

/** People by reference, and by name and birth. */
export function createPeople() {
  const byReference = new HashSample<{ rows: number; identity: number; mixed: boolean }>()
  const byIdentity = new HashSample<{ rows: number; reference: number; split: boolean }>()
  const incomplete: Record<string, number> = {}
  const sexes: Record<string, number> = {}
  const bySex = new Map<string, DDSketch>()
  const names = { first: new HashSample<true>(), last: new HashSample<true>() }
  let registered = 0
  return {
    /** @returns the day of birth, milliseconds since the epoch, where it is known */
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
        // Names are spelled and change; somebody else is born on another day as well.
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

/** Items that are remembered at most. */
const SAMPLED = 1_000

/** Items that are sampled by their hash: all that is seen of an item is seen, or nothing. */
export class HashSample<Item> {
  #bound = 2 ** 32
  readonly kept = new Map<number, Item>()

  /** Undefined where it is not one of the sample. */
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

  /** How many different ones there are, estimated once not all are kept. */
  different(): number {
    return Math.round((this.kept.size * 2 ** 32) / this.#bound)
  }
}

/** FNV-1a with the finish of murmur3: even enough to sample by. */
export function hashOf(text: string, seed = 0x811c9dc5): number {
  let hash = seed
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
