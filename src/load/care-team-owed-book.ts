/**
 * Counts what a run leaves owed on care teams, each once however many chunks come upon it: the mark of an account, and the deletion of a
 * provider's replaced entries.
 */
import type { CareTeamMark, KnownCareTeam, Tallies } from '../ledger/ledger.ts'
import type { ChangedCareTeam } from './care-team-state.ts'

export interface OwedBook {
  /** @param isOwed whether the mark of the account is owed by now */
  mark(account: string, isOwed: boolean): void
  /** @param npi hash of it */
  deletion(account: string, npi: string, isOwed: boolean): void
}

export const isMarkOwed = ({ mark }: { readonly mark: CareTeamMark }): boolean =>
  mark === 'to-set' || mark === 'to-unset'

/** Deletions are the affair of jobs that replace: no other deletes anything. */
export const owesDeletion = (
  { deletions }: Pick<KnownCareTeam, 'deletions'>,
  changed: ChangedCareTeam,
): boolean => changed === 'replace' && deletions.length > 0

export function createOwedBook(tallies: Pick<Tallies, 'primaryCare' | 'careTeams'>): OwedBook {
  const owed = new Set<string>()
  const note = (key: string, isNow: boolean): number => {
    if (isNow === owed.has(key)) return 0
    if (isNow) owed.add(key)
    else owed.delete(key)
    return isNow ? 1 : -1
  }
  return {
    mark(account, isOwed) {
      const change = note(account, isOwed)
      tallies.primaryCare.owed += change
      tallies.careTeams.owed += change
    },
    deletion(account, npi, isOwed) {
      tallies.careTeams.owed += note(`${account} ${npi}`, isOwed)
    },
  }
}

/** Takes up what an earlier process has written down. */
export function noteOwed(book: OwedBook, known: readonly KnownCareTeam[], changed: ChangedCareTeam): void {
  for (const one of known) {
    if (isMarkOwed(one)) book.mark(one.account, true)
    if (owesDeletion(one, changed)) book.deletion(one.account, one.npi, true)
  }
}
