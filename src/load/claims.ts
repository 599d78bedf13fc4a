/**
 * Claims of accounts: what is read of an account, and then written, is serialised over all jobs of a home. A claim hangs on the lease of its job.
 *
 * Nobody waits while it holds a claim: what is free is claimed, worked on and let go, then the rest is asked for again. So two jobs never wait for
 * each other. Two chunks of a run never meet at an account (run/chunks.ts).
 */

import type { KnownCareTeam, RunLedger } from '../ledger/ledger.ts'
import type { Delivery } from './delivery.ts'

export interface Claims {
  /** Claims those of the accounts, by their hashes, that are free. The others go on being another job's. */
  take(accounts: readonly string[]): Promise<ReadonlySet<string>>
  /** Releases accounts. @param known care teams of the accounts now, for the next job that claims them */
  letGo(accounts: Iterable<string>, known?: readonly KnownCareTeam[]): Promise<void>
  /** Waits before the next attempt. @throws the reason of a stop */
  pause(): Promise<void>
}

/** A claim lasts for some requests. */
const ASK_EVERY_MS = 100

/** @param isDead tells of an owner on this machine whether its process is gone */
export function createClaims(
  runLedger: Pick<RunLedger, 'claimAccounts' | 'saveCareTeams'>,
  gateway: string,
  isDead: (owner: string) => boolean,
  { now, pause, readLagMs }: Pick<Delivery, 'now' | 'pause' | 'readLagMs'>,
): Claims {
  return {
    async take(accounts) {
      if (accounts.length === 0) return new Set()
      const claimed = await runLedger.claimAccounts({ gateway, accounts, now: now() }, isDead)
      // The last requests of a dead process are in no ledger, and a list may be late with them.
      if (claimed.isTakenOver) await pause(readLagMs)
      return claimed.accounts
    },
    async letGo(accounts, known = []) {
      const hashes = [...accounts]
      if (hashes.length + known.length > 0) await runLedger.saveCareTeams(gateway, known, hashes)
    },
    pause: () => pause(ASK_EVERY_MS),
  }
}
