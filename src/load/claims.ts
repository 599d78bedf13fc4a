/**
 * Claims of accounts serialise reading and then writing an account, over all jobs of a home. A claim depends on the lease of its job. Nobody waits
 * while holding a claim: a job claims free accounts, works on them and releases them, then asks for the rest. So two jobs never wait for each other.
 * Two chunks of a run never share an account (run/chunks.ts).
 */

import type { KnownCareTeam, RunLedger } from '../ledger/ledger.ts'
import type { Delivery } from './delivery.ts'

export interface Claims {
  /** Claims the free accounts among the given hashes. The rest stays with another job. */
  take(accounts: readonly string[]): Promise<ReadonlySet<string>>
  /** Releases accounts. @param known care teams of the accounts now, for the next job that claims them */
  letGo(accounts: Iterable<string>, known?: readonly KnownCareTeam[]): Promise<void>
  /** True for an account taken over from a dead process: requests of that process may be in no ledger. */
  wasTakenOver(account: string): boolean
  /** Waits before the next attempt. @throws the reason of a stop */
  pause(): Promise<void>
}

/** Interval between attempts: a claim lasts for some requests. */
const ASK_EVERY_MS = 100

/** @param isDead true for an owner on this machine whose process is gone */
export function createClaims(
  runLedger: Pick<RunLedger, 'claimAccounts' | 'saveCareTeams'>,
  gateway: string,
  isDead: (owner: string) => boolean,
  { now, pause, readLagMs }: Pick<Delivery, 'now' | 'pause' | 'readLagMs'>,
): Claims {
  const takenOver = new Set<string>()
  return {
    wasTakenOver: (account) => takenOver.has(account),
    async take(accounts) {
      if (accounts.length === 0) return new Set()
      const claimed = await runLedger.claimAccounts({ gateway, accounts, now: now() }, isDead)
      if (!claimed.isTakenOver) return claimed.accounts
      for (const account of claimed.accounts) takenOver.add(account)
      // A list may show the last requests of a dead process late.
      await pause(readLagMs)
      return claimed.accounts
    },
    async letGo(accounts, known = []) {
      const hashes = [...accounts]
      for (const account of hashes) takenOver.delete(account)
      if (hashes.length + known.length > 0) await runLedger.saveCareTeams(gateway, known, hashes)
    },
    pause: () => pause(ASK_EVERY_MS),
  }
}
