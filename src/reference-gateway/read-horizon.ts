import { AsyncLocalStorage } from 'node:async_hooks'

/**
 * Epoch milliseconds up to which the reads of a request see what was stored: what was stored later is not there for them.
 * Requests for which it was not set see everything.
 */
export const readHorizon = new AsyncLocalStorage<number>()

/** Bound of `stored_ms` for a read under way. */
export const visibleUntilMs = (): number => readHorizon.getStore() ?? Number.MAX_SAFE_INTEGER
