/**
 * Recognises rows read before with equal cells under an equal mapping, before the records are made. Such a row has a print in the ledger, beside the
 * slots: each slot holds the stored record of these cells, and any change of a slot drops the print. The records are then unchanged, as `decide`
 * would find record by record.
 */
import type { Ledger } from '../ledger/ledger.ts'
import type { CellsHash } from '../load/slots.ts'
import { keyOfPerson, type MappedRow } from '../model/entry.ts'
import { hasSameContent, type Identity } from '../model/ids.ts'
import type { AccountKey } from '../model/record.ts'
import type { Row } from '../model/row.ts'
import type { Recogniser } from '../transform/compile.ts'

/** Rows looked up together: the keys are spread over all blocks of the ledger, and each block is then read once. */
const ROWS_AT_ONCE = 5_000

/** Joins blocks of rows until they are worth a look-up. */
export async function* joinBlocks(blocks: AsyncIterable<readonly Row[]>): AsyncGenerator<readonly Row[]> {
  let joined: Row[] = []
  try {
    for await (const block of blocks) {
      for (const row of block) joined.push(row)
      if (joined.length < ROWS_AT_ONCE) continue
      yield joined
      joined = []
    }
  } catch (error) {
    // The rows before an unreadable part are delivered.
    yield joined
    throw error
  }
  yield joined
}

export interface KnownRows {
  /** @returns by position the rows recognised as a whole, without records; undefined for a row to map */
  find(rows: readonly Row[]): Promise<readonly (MappedRow | undefined)[]>
}

interface KnownRowsContext {
  readonly ledger: Pick<Ledger, 'slots' | 'people'>
  readonly identity: Identity
  readonly jobId: number
  readonly gatewayName: string
}

export function createKnownRows(
  { ledger, identity, jobId, gatewayName }: KnownRowsContext,
  { identify, complete }: Recogniser,
  hashOf: CellsHash,
): KnownRows {
  /** People whose account was forgotten have other row keys since. */
  const forgottenOf = async (people: readonly AccountKey[]): Promise<(person: AccountKey) => boolean> => {
    const forgotten = await ledger.people.forgotten(gatewayName, () => people.map(identity.account))
    return forgotten.size === 0 ? () => false : (person) => forgotten.has(identity.account(person))
  }
  return {
    async find(rows) {
      const named = rows.map((row) => (row.kind === 'cells' ? identify(row) : undefined))
      const rowKeys = named.map((one) => (one === undefined ? '' : identity.rowKey(keyOfPerson(one))))
      const asked = rowKeys.filter((key) => key !== '')
      const prints = await ledger.slots.prints(jobId, asked)
      if (prints.size === 0) return []
      const held = await ledger.slots.held(jobId, asked)
      const isForgotten = await forgottenOf(named.flatMap((one) => one?.account ?? []))
      return rows.map((row, at) => {
        const [person, rowKey = ''] = [named[at], rowKeys[at]]
        const print = prints.get(rowKey)
        if (row.kind !== 'cells' || person === undefined || print === undefined) return undefined
        if (!hasSameContent(print, hashOf(row.cells))) return undefined
        return held.has(rowKey) || isForgotten(person.account) ? undefined : complete(row, person, print)
      })
    },
  }
}
