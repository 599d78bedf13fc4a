/** An export of a round, and the book that is kept while it is written: rows by outcome, records by kind. */
import { createHash } from 'node:crypto'
import type { ProfileKind } from '../src/model/record.ts'
import type { ExpectedRecord } from './expected-records.ts'

export interface RowCounts {
  read: number
  mapped: number
  skipped: number
  rejected: number
}

/** A record that must be at the gateway, and the rows of the export that say so. */
export interface Told extends ExpectedRecord {
  readonly row: number
}

export interface DrillExport {
  /** Several deliveries may bear one name. */
  readonly name: string
  readonly text: string
  readonly sha256: string
  readonly rows: RowCounts
  /** Records that the mapping makes or fails to make, by kind. */
  readonly made: Record<ProfileKind, number>
  readonly told: readonly Told[]
}

/** Counts rows and keeps what they tell. */
export function createBook(name: string) {
  const rows: RowCounts = { read: 0, mapped: 0, skipped: 0, rejected: 0 }
  const made: Record<ProfileKind, number> = { biometric: 0, condition: 0, careTeam: 0 }
  const told: Told[] = []
  return {
    skipped() {
      rows.read++
      rows.skipped++
    },
    rejected() {
      rows.read++
      rows.rejected++
    },
    /** @param failed measurements of the row of which no record can be made */
    mapped(records: readonly ExpectedRecord[], failed: number) {
      rows.read++
      rows.mapped++
      made.biometric += failed
      for (const record of records) {
        made[record.kind]++
        told.push({ ...record, row: rows.read })
      }
    },
    close: (text: string): DrillExport => ({
      ...{ name, text, rows, made, told },
      sha256: createHash('sha256').update(text).digest('hex'),
    }),
  }
}
