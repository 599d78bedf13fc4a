/** Rows of 13 records with random keys, as the ledger keeps delivered rows. */
import { hash } from 'node:crypto'
import type { DeliveredRow } from '../src/ledger/ledger.ts'
import { wordsOf } from '../src/model/ids.ts'

export const RULES = Array.from({ length: 13 }, (_, at) => hash('sha256', `rule ${at}`).slice(0, 8))

export const keyOf = (row: number): string => hash('md5', `row ${row}`)
export function rowOf(row: number): DeliveredRow {
  const contents = Array.from({ length: 4 }, (_, at) => hash('sha256', `content ${row} ${at}`)).join('')
  const word = {
    ...{ arrival: 1, row, rank: 1, issued: 0, isLate: false, isStored: true, isLapsed: false },
    ...{ seen: 'whole' as const, copy: 0 },
  }
  const records = RULES.map((rule, at) => ({
    ...{ ruleHash: rule, ...wordsOf(contents.slice(at * 16, (at + 1) * 16)), word },
  }))
  return { rowKey: keyOf(row), records }
}
