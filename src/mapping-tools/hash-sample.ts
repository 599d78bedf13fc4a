/**
 * A sample of the different items in a stream, such as keys or people: an item is sampled by its hash, so that all rows of an
 * item are seen, or none. Memory does not grow with the stream.
 */

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
