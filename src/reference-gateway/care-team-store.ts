import type { DatabaseSync } from 'node:sqlite'
import { visibleUntilMs } from './read-horizon.ts'
import { inTransaction } from './store.ts'

/** A care team entry in the store. */
export interface CareTeamEntry {
  readonly seq: number
  readonly id: string
  readonly npi: string | undefined
  readonly pcp: boolean
  /** Epoch milliseconds. */
  readonly storedMs: number
  /** Epoch milliseconds; 0 for an entry whose PCP flag was never moved. */
  readonly updatedMs: number
  /** JSON text of the record as it was sent. */
  readonly body: string
}

/** What names an entry of a user: its id, its npi, or both, which must then fit together. */
export interface EntryName {
  readonly id?: string | undefined
  readonly npi?: string | undefined
}

/** The table of care team entries. An npi sent twice is there twice; at most one entry of an account is the PCP. */
export function createCareTeamStore(store: DatabaseSync) {
  const insert = store.prepare(
    'INSERT INTO care_teams (id, account, npi, persistent_id, stored_ms, body) VALUES (?, ?, ?, ?, ?, ?)',
  )
  const select = store.prepare(
    'SELECT seq, id, npi, pcp, stored_ms, updated_ms, body FROM care_teams WHERE account = ? AND stored_ms <= ? ORDER BY seq',
  )
  const setPcp = store.prepare('UPDATE care_teams SET pcp = ?, updated_ms = ? WHERE seq = ?')
  const remove = store.prepare('DELETE FROM care_teams WHERE seq = ?')

  const entriesOf = (account: number): CareTeamEntry[] =>
    select.all(account, visibleUntilMs()).map((row) => ({
      seq: Number(row['seq']),
      id: String(row['id']),
      npi: row['npi'] === null ? undefined : String(row['npi']),
      pcp: row['pcp'] === 1,
      storedMs: Number(row['stored_ms']),
      updatedMs: Number(row['updated_ms']),
      body: String(row['body']),
    }))

  return {
    entriesOf,

    /** Stores a record; the caller holds the transaction of the batch. */
    add(entry: {
      readonly id: string
      readonly account: number
      readonly npi: string | undefined
      readonly persistentRecordId: string | undefined
      readonly storedMs: number
      readonly body: string
    }): void {
      const { id, account, npi, persistentRecordId, storedMs, body } = entry
      insert.run(id, account, npi ?? null, persistentRecordId ?? null, storedMs, body)
    },

    /** Deletes the account's entries that bear one of the ids or one of the npis; says how many there were. */
    remove(account: number, ids: readonly string[], npis: readonly string[]): number {
      const doomed = entriesOf(account).filter(
        ({ id, npi }) => ids.includes(id) || (npi !== undefined && npis.includes(npi)),
      )
      inTransaction(store, () => {
        for (const { seq } of doomed) remove.run(seq)
      })
      return doomed.length
    },

    /**
     * Marks the entry as PCP and unmarks the account's others, or unmarks it. Of several entries of one npi it is the one
     * stored last, and for unmarking the one that is marked. Returns the entry, or undefined where there is none.
     */
    markPcp(account: number, name: EntryName, pcp: boolean, nowMs: number): CareTeamEntry | undefined {
      const entries = entriesOf(account)
      const named = entries.filter(
        ({ id, npi }) => (name.id ?? id) === id && (name.npi === undefined || name.npi === npi),
      )
      const entry = (pcp ? undefined : named.find((candidate) => candidate.pcp)) ?? named.at(-1)
      if (entry === undefined) return undefined
      inTransaction(store, () => {
        const unmarked = entries.filter((other) => other.pcp && (pcp ? other !== entry : other === entry))
        for (const { seq } of unmarked) setPcp.run(0, nowMs, seq)
        if (pcp && !entry.pcp) setPcp.run(1, nowMs, entry.seq)
      })
      return entry
    },
  }
}
