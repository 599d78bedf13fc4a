import type { DatabaseSync } from 'node:sqlite'
import { visibleUntilMs } from './read-horizon.ts'
import { buildIndex } from './store.ts'

/** A biometric or a condition, ready to be stored. */
export interface Observation {
  readonly id: string
  /** `seq` of the account. */
  readonly account: number
  /** The record's first code with its code system: what "per code" means in reads. */
  readonly codeKey: string
  readonly sourceType: string | undefined
  /** Epoch milliseconds. */
  readonly observedMs: number
  readonly transactionId: string
  readonly persistentRecordId: string | undefined
  readonly storedMs: number
  /** JSON text of the record as it was sent. */
  readonly body: string
}

/** A record found by a read. */
export interface LatestObservation {
  readonly id: string
  readonly observedMs: number
  readonly storedMs: number
  readonly body: string
}

/** Section "Biometrics": code and code system of a record's first code. */
export const codeKeyOf = (
  code: { readonly code: string; readonly codeSystem?: string | undefined } | undefined,
) => `${code?.codeSystem ?? ''}|${code?.code ?? ''}`

/** The table of biometrics or that of conditions. Nothing in it is ever updated or merged: what is sent twice is there twice. */
export function createObservationStore(store: DatabaseSync, table: 'biometrics' | 'conditions') {
  const insert = store.prepare(
    `INSERT INTO ${table} (id, account, code_key, source_type, observed_ms, transaction_id, persistent_id, stored_ms, body)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const latest = store.prepare(
    `SELECT id, observed_ms, stored_ms, body FROM (
       SELECT *, row_number() OVER (PARTITION BY code_key, source_type ORDER BY observed_ms DESC, seq DESC) AS place
       FROM ${table} WHERE account = ? AND stored_ms <= ?)
     WHERE place = 1 ORDER BY seq`,
  )

  return {
    /** Stores a record; the caller holds the transaction of the batch. */
    add(record: Observation): void {
      const { persistentRecordId, transactionId } = record
      insert.run(
        record.id,
        record.account,
        record.codeKey,
        record.sourceType ?? null,
        record.observedMs,
        transactionId,
        persistentRecordId === undefined || persistentRecordId === transactionId ? null : persistentRecordId,
        record.storedMs,
        record.body,
      )
    },

    /** The latest record by observation date per code and source type; of equal dates the one stored later. */
    latestOf(account: number): LatestObservation[] {
      buildIndex(store, table, 'account')
      return latest.all(account, visibleUntilMs()).map((row) => ({
        id: String(row['id']),
        observedMs: Number(row['observed_ms']),
        storedMs: Number(row['stored_ms']),
        body: String(row['body']),
      }))
    },
  }
}

export type ObservationStore = ReturnType<typeof createObservationStore>
