/** Which people a verification looks at: all, a share of them, or so many; the same for the same seed. Pure. */
import { hash } from 'node:crypto'

export type SampleSize =
  | { readonly kind: 'all' }
  | { readonly kind: 'share'; readonly share: number }
  | { readonly kind: 'people'; readonly people: number }

/** @returns where the person stands by chance, in [0, 1) */
export function drawOf(seed: string, account: string): number {
  return Number.parseInt(hash('sha256', `${seed}\n${account}`, 'hex').slice(0, 12), 16) / 2 ** 48
}

/** The draws of the so-and-so many people that come first, found in one pass, without holding more than those. */
export function createLowestDraws(people: number): { add(draw: number): void; readonly highest: number } {
  const lowest: number[] = []
  return {
    add(draw) {
      if (lowest.length === people && draw >= (lowest.at(-1) ?? 1)) return
      const at = lowest.findIndex((one) => one >= draw)
      if (at >= 0 && lowest[at] === draw) return
      lowest.splice(at < 0 ? lowest.length : at, 0, draw)
      if (lowest.length > people) lowest.pop()
    },
    get highest() {
      return lowest.at(-1) ?? -1
    },
  }
}
