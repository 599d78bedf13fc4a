/**
 * Reproducible chance: mulberry32 (Tommy Ettinger, public domain), one generator for each purpose and person. What one
 * person draws does not move what the next one gets, so any row can be made without those before it.
 */

/** Streams of chance that must not depend on each other. */
export const STREAM = { person: 1, health: 2, visit: 3, laboratory: 4, provider: 5 } as const

export class Random {
  #state: number

  constructor(seed: number, stream: number, ordinal: number) {
    this.#state = scatter(scatter(scatter(seed) ^ stream) ^ ordinal)
  }

  /** Uniform in [0, 1). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }

  /** Whole number from low to high, both included. */
  integer(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1))
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  /** About normal (the sum of three uniforms), so never further than three standard deviations from the mean. */
  normal(mean: number, deviation: number): number {
    return mean + (this.next() + this.next() + this.next() - 1.5) * 2 * deviation
  }

  pick<Item>(list: readonly [Item, ...Item[]]): Item {
    return list[Math.floor(this.next() * list.length)] ?? list[0]
  }
}

/** Finalizer of MurmurHash3 (32 bits): neighbouring ordinals get unrelated states. */
function scatter(value: number): number {
  let mixed = (value + 0x9e3779b9) | 0
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return mixed ^ (mixed >>> 16)
}
