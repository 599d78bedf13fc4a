/** What the reference gateway holds in the end, read from its own SQLite file: the authority on what was stored, and how often. */
import { DatabaseSync } from 'node:sqlite'
import type { ProfileKind } from '../src/model/record.ts'
import { textOf } from './expected-records.ts'

export interface StoredRecord {
  readonly kind: ProfileKind
  /** The transaction id, which stands in `source.meta.persistentRecordId` of every kind. */
  readonly id: string
  readonly person: string
  /** As in `ExpectedRecord`. */
  readonly text: string
  readonly primary: boolean
}

const TABLES: readonly (readonly [ProfileKind, string, string])[] = [
  ['biometric', 'biometrics', '0'],
  ['condition', 'conditions', '0'],
  ['careTeam', 'care_teams', 'pcp'],
]

export function readStore(file: string): StoredRecord[] {
  const database = new DatabaseSync(file)
  try {
    return TABLES.flatMap(([kind, table, primary]) =>
      database
        .prepare(`select body, ${primary} as marked from ${table} order by seq`)
        .all()
        .map((row) => toStored(kind, String(row['body']), row['marked'] === 1)),
    )
  } finally {
    database.close()
  }
}

/** Registered people. */
export function countAccounts(file: string): number {
  const database = new DatabaseSync(file)
  try {
    return Number(database.prepare('select count(*) as n from accounts').get()?.['n'])
  } finally {
    database.close()
  }
}

interface Body {
  readonly transactionId?: string
  readonly account: { readonly reference: string }
  readonly source: { readonly meta: Readonly<Record<string, string>> }
}

function toStored(kind: ProfileKind, body: string, primary: boolean): StoredRecord {
  const { transactionId, ...record } = JSON.parse(body) as Body
  const { batchId: _, persistentRecordId = '', ...meta } = record.source.meta
  const { account } = record
  if (transactionId !== undefined && transactionId !== persistentRecordId)
    throw new Error(`a stored record has two ids, ${transactionId} and ${persistentRecordId}`)
  const text = textOf({ ...record, source: { ...record.source, meta } })
  return { kind, id: persistentRecordId, person: account.reference, text, primary }
}
