/**
 * Claims of accounts serialise reading and then writing an account, over all jobs of a home. A claim depends on the lease of its job. A job never
 * waits with claims: the job claims free accounts, works, releases the claims, then asks for the rest.
 * Two chunks of a run never work on an account at the same time: common people wait for the end of the chunk before (run/chunks.ts).
 */

import type { KnownCareTeam, RunLedger } from '../ledger/ledger.ts'
import type { Delivery } from './delivery.ts'

export interface Claims {
  /** Claims the free accounts among the given hashes. The rest stays with another job. */
  take(accounts: readonly string[]): Promise<ReadonlySet<string>>
  /** Releases accounts. @param known care teams of the accounts now, for the next job that claims them */
  letGo(accounts: Iterable<string>, known?: readonly KnownCareTeam[]): Promise<void>
  /** True for a claimed account that a dead process of another run abandoned: only that run can find out about its requests. */
  isAbandoned(account: string): boolean
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
  const ofDead = new Set<string>()
  return {
    isAbandoned: (account) => ofDead.has(account),
    async take(accounts) {
      if (accounts.length === 0) return new Set()
      const request = { gateway, accounts, now: now() }
      const { accounts: claimed, abandoned } = await runLedger.claimAccounts(request, isDead)
      for (const account of abandoned.keys()) ofDead.add(account)
      // A list may show the last requests of a dead process late. The clock may have been set back.
      const waitMs = Math.min(readLagMs, readLagMs - Math.min(...abandoned.values()))
      if (waitMs > 0) await pause(waitMs)
      return claimed
    },
    async letGo(accounts, known = []) {
      const hashes = [...accounts]
      for (const account of hashes) ofDead.delete(account)
      if (hashes.length + known.length > 0) await runLedger.saveCareTeams(gateway, known, hashes)
    },
    pause: () => pause(ASK_EVERY_MS),
  }
}
