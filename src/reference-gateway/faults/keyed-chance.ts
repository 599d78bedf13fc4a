import { hash } from 'node:crypto'

/**
 * A number in [0, 1) that the key alone decides (48 bits of its SHA-256), evenly spread over keys. There is no state, so
 * what one fault draws never moves what another draws.
 */
export function drawnBy(...key: readonly (string | number)[]): number {
  return Number.parseInt(hash('sha256', JSON.stringify(key)).slice(0, 12), 16) / 2 ** 48
}

/** The numbers 0 … length - 1 in an order that the key decides. */
export function orderedBy(length: number, ...key: readonly (string | number)[]): number[] {
  return Array.from({ length }, (_, position) => ({ position, drawn: drawnBy(...key, position) }))
    .sort((a, b) => a.drawn - b.drawn)
    .map(({ position }) => position)
}
